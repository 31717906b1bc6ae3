//! What is made of a picture.

use std::io::Cursor;

use async_trait::async_trait;
use bytes::Bytes;
use forecourt_files::{FileKind, MadePicture, PictureError, PictureMaker, Renditions, THUMBNAIL_WIDTHS};
use forecourt_kernel::BoxError;
use image::{
    DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, Rgb, RgbImage, codecs::jpeg::JpegEncoder,
    metadata::Orientation,
};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// How many pixels a picture may have: while it is decoded, each takes three or four bytes.
pub const MAX_PIXELS: u64 = 36_000_000;
/// How many pixels a side of it may have.
pub const MAX_SIDE: u32 = 16_384;
/// How much a decoder may allocate.
const MAX_ALLOCATION: u64 = 4 * MAX_PIXELS + (16 << 20);
/// How long the longer side of what is shown is at most: a longer one is made smaller.
const SHOWN_SIDE: u32 = 4096;
/// The quality of JPEG pictures, and that of smaller copies, of 100.
const PHOTO_QUALITY: u8 = 90;
const COPY_QUALITY: u8 = 82;
const COPY_WEBP_QUALITY: f32 = 80.0;

/// Makes pictures, one at a time.
#[derive(Debug)]
pub struct Pictures {
    turn: Semaphore,
}

impl Default for Pictures {
    fn default() -> Self {
        Self {
            turn: Semaphore::new(1),
        }
    }
}

impl Pictures {
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, PictureError> + Send + 'static,
    ) -> Result<T, PictureError> {
        let _turn = self.turn.acquire().await;
        let done = spawn_blocking(work).await;
        done.map_err(|panicked| PictureError::Failed(panicked.into()))?
    }
}

#[async_trait]
impl PictureMaker for Pictures {
    async fn make(&self, kind: FileKind, content: Bytes) -> Result<Renditions, PictureError> {
        self.in_turn(move || {
            let picture = read(kind, &content)?;
            drop(content);
            make(kind, &picture)
        })
        .await
    }

    async fn check(&self, kind: FileKind, content: Bytes) -> Result<(), PictureError> {
        self.in_turn(move || read(kind, &content).map(drop)).await
    }
}

fn unreadable(error: impl Into<BoxError>) -> PictureError {
    PictureError::Unreadable(error.into())
}

const fn format_of(kind: FileKind) -> Option<ImageFormat> {
    match kind {
        FileKind::Jpeg => Some(ImageFormat::Jpeg),
        FileKind::Png => Some(ImageFormat::Png),
        FileKind::Webp => Some(ImageFormat::WebP),
        FileKind::Pdf | FileKind::Mp4 | FileKind::Mov => None,
    }
}

/// The picture, upright; of an animated one the first frame. It is refused by its header if it is too large.
fn read(kind: FileKind, content: &[u8]) -> Result<DynamicImage, PictureError> {
    let format = format_of(kind).ok_or_else(|| unreadable("it is no picture"))?;
    if kind == FileKind::Jpeg && !has_end(content) {
        return Err(unreadable("the picture is cut short"));
    }
    let mut reader = ImageReader::with_format(Cursor::new(content), format);
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_ALLOCATION);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(refused)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS || decoder.total_bytes() > MAX_ALLOCATION {
        return Err(PictureError::TooLarge(MAX_PIXELS));
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut picture = DynamicImage::from_decoder(decoder).map_err(refused)?;
    if width.max(height) > SHOWN_SIDE {
        picture = picture.thumbnail(SHOWN_SIDE, SHOWN_SIDE);
    }
    picture.apply_orientation(orientation);
    // Eight bits for each colour are what screens show.
    Ok(match picture.color().has_alpha() {
        true => DynamicImage::from(picture.into_rgba8()),
        false => DynamicImage::from(picture.into_rgb8()),
    })
}

/// Whether a JPEG picture has its end: the decoder shows one that is cut short as if it were whole.
fn has_end(content: &[u8]) -> bool {
    // The segments before the scan say how long they are; one of them may hold a picture with an end of its own.
    let mut rest = content.get(2..).unwrap_or_default();
    while let [0xff, marker, after @ ..] = rest {
        match (*marker, after) {
            (0xff, _) => rest = &rest[1..],
            (0xda, scan) => return scan.windows(2).any(|pair| pair == [0xff, 0xd9]),
            (_, [high, low, ..]) => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                rest = after.get(length..).unwrap_or_default();
            }
            _ => return false,
        }
    }
    false
}

fn refused(error: image::ImageError) -> PictureError {
    match error {
        image::ImageError::Limits(_) => PictureError::TooLarge(MAX_PIXELS),
        error => unreadable(error),
    }
}

fn make(kind: FileKind, picture: &DynamicImage) -> Result<Renditions, PictureError> {
    let (width, height) = (picture.width(), picture.height());
    let content = match kind {
        FileKind::Jpeg => jpeg(&on_white(picture), PHOTO_QUALITY)?,
        FileKind::Webp => webp(picture, f32::from(PHOTO_QUALITY))?,
        _ => png(picture)?,
    };
    let picture_made = MadePicture {
        kind,
        content,
        width,
        height,
    };
    let mut thumbnails = Vec::new();
    for widest in THUMBNAIL_WIDTHS {
        if widest >= width && widest != THUMBNAIL_WIDTHS[0] {
            break;
        }
        let copy = if width > widest {
            picture.thumbnail(widest, u32::MAX)
        } else {
            picture.clone()
        };
        for kind in [FileKind::Jpeg, FileKind::Webp] {
            let content = match kind {
                FileKind::Jpeg => jpeg(&on_white(&copy), COPY_QUALITY)?,
                _ => webp(&copy, COPY_WEBP_QUALITY)?,
            };
            let made = MadePicture {
                kind,
                content,
                width: copy.width(),
                height: copy.height(),
            };
            thumbnails.push((widest, made));
        }
    }
    Ok(Renditions {
        picture: picture_made,
        thumbnails,
    })
}

/// The picture without transparency, which JPEG does not have.
fn on_white(picture: &DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let picture = picture.to_rgba8();
    let mixed = |colour: u8, alpha: u8| {
        let (colour, alpha) = (u16::from(colour), u16::from(alpha));
        u8::try_from((colour * alpha + 255 * (255 - alpha)) / 255).unwrap_or(u8::MAX)
    };
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let [red, green, blue, alpha] = picture.get_pixel(x, y).0;
        Rgb([mixed(red, alpha), mixed(green, alpha), mixed(blue, alpha)])
    })
}

fn failed(error: impl Into<BoxError>) -> PictureError {
    PictureError::Failed(error.into())
}

fn jpeg(picture: &RgbImage, quality: u8) -> Result<Bytes, PictureError> {
    let mut content = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut content, quality);
    picture.write_with_encoder(encoder).map_err(failed)?;
    Ok(content.into())
}

fn png(picture: &DynamicImage) -> Result<Bytes, PictureError> {
    let mut content = Cursor::new(Vec::new());
    picture.write_to(&mut content, ImageFormat::Png).map_err(failed)?;
    Ok(content.into_inner().into())
}

fn webp(picture: &DynamicImage, quality: f32) -> Result<Bytes, PictureError> {
    let (width, height) = (picture.width(), picture.height());
    let encoded = match picture {
        DynamicImage::ImageRgba8(pixels) => {
            webp::Encoder::from_rgba(pixels, width, height).encode_simple(false, quality)
        }
        picture => webp::Encoder::from_rgb(&picture.to_rgb8(), width, height).encode_simple(false, quality),
    };
    let encoded = encoded.map_err(|error| failed(format!("the WebP encoder reports {error:?}")))?;
    Ok(Bytes::copy_from_slice(&encoded))
}
