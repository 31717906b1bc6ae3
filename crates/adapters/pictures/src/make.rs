//! Makes the renditions of a picture.

use std::{
    borrow::Cow,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Sender, channel},
    },
    thread::Builder,
};

use async_trait::async_trait;
use bytes::Bytes;
use fast_image_resize::images::TypedImage;
use fast_image_resize::pixels::{U8x3, U8x4};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};
use forecourt_files::{FileKind, MadePicture, PictureError, PictureMaker, PictureSource, Renditions, THUMBNAIL_WIDTHS};
use forecourt_kernel::BoxError;
use image::{DynamicImage, Rgb, RgbImage, RgbaImage, codecs::jpeg::JpegEncoder};
use tokio::sync::{Semaphore, oneshot};
use webp::WebPConfig;

use crate::{
    abandoned::Abandoned,
    png,
    read::{read, unreadable},
};

/// The quality of JPEG pictures, and of smaller copies in JPEG and WebP, on a scale to 100.
const PHOTO_QUALITY: u8 = 90;
const COPY_QUALITY: u8 = 82;
const COPY_WEBP_QUALITY: f32 = 80.0;
/// The compression effort for WebP pictures and copies, on a scale to 6: a large picture takes a second less and becomes a
/// little longer.
const PHOTO_WEBP_EFFORT: i32 = 2;
const COPY_WEBP_EFFORT: i32 = 4;

/// The maximum number of pixels whose transparency is compressed in WebP; in a larger picture it takes a byte for each pixel.
const MAX_COMPRESSED_ALPHA: u64 = 2_000_000;

/// The number of pictures that are made at the same time: a large one does not hold up another caller's. Each takes up to 100
/// MB.
const THREADS: usize = 2;

/// Makes pictures on threads of its own. A thread keeps the memory of its last picture for the next, so the same thread is used
/// as long as there is one picture at a time.
#[derive(Debug)]
pub struct Pictures {
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Thread>>>,
}

/// A thread that runs the work sent to it. It ends when this is dropped.
type Thread = Sender<Box<dyn FnOnce() + Send>>;

impl Pictures {
    /// Starts the threads, which end with this value.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start() -> io::Result<Self> {
        let thread = |_| {
            let (thread, work) = channel::<Box<dyn FnOnce() + Send>>();
            let run = move || work.into_iter().for_each(|work| work());
            Builder::new().name("pictures".to_owned()).spawn(run)?;
            Ok(thread)
        };
        let threads: io::Result<_> = (0..THREADS).map(thread).collect();
        Ok(Self {
            permits: Arc::new(Semaphore::new(THREADS)),
            idle: Arc::new(Mutex::new(threads?)),
        })
    }

    /// Runs `work` on a thread. If the caller disconnects, the work is notified, and keeps the thread until it ends.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Abandoned) -> Result<T, PictureError> + Send + 'static,
    ) -> Result<T, PictureError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let idle = Arc::clone(&self.idle);
        let thread = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let thread = thread.ok_or_else(|| failed("there is no thread"))?;
        let (finished, outcome) = oneshot::channel();
        let abandoned = Abandoned::default();
        let _caller = abandoned.set_on_drop();
        let own = thread.clone();
        let work = Box::new(move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&abandoned)));
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(own);
            drop(permit);
            drop(finished.send(done.unwrap_or_else(|_| Err(unreadable("a decoder gave it up")))));
        });
        thread.send(work).map_err(|_| failed("the thread has ended"))?;
        drop(thread);
        outcome.await.map_err(failed)?
    }
}

#[async_trait]
impl PictureMaker for Pictures {
    async fn make(&self, kind: FileKind, content: Box<dyn PictureSource>) -> Result<Renditions, PictureError> {
        self.run(move |abandoned| {
            let mut picture = read(kind, abandoned.watch(content))?;
            make(kind, &mut picture, abandoned)
        })
        .await
    }

    async fn check(&self, kind: FileKind, content: Box<dyn PictureSource>) -> Result<(), PictureError> {
        self.run(move |abandoned| read(kind, abandoned.watch(content)).map(drop))
            .await
    }
}

/// Returns the picture, encoded again, and its copies.
fn make(kind: FileKind, picture: &mut DynamicImage, abandoned: &Abandoned) -> Result<Renditions, PictureError> {
    let (width, height) = (picture.width(), picture.height());
    // The copies come first: their encoders take much memory, and so may the encoded picture.
    let mut thumbnails = Vec::new();
    for widest in THUMBNAIL_WIDTHS {
        if widest >= width && widest != THUMBNAIL_WIDTHS[0] {
            break;
        }
        let copy = if width > widest {
            Cow::Owned(smaller(picture, widest)?)
        } else {
            Cow::Borrowed(&*picture)
        };
        for kind in [FileKind::Jpeg, FileKind::Webp] {
            abandoned.check()?;
            let content = match kind {
                FileKind::Jpeg => jpeg(&on_white(&copy), COPY_QUALITY, abandoned)?,
                _ => webp(&copy, COPY_WEBP_QUALITY, COPY_WEBP_EFFORT)?,
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
    abandoned.check()?;
    let content = match kind {
        FileKind::Jpeg => jpeg(&on_white(picture), PHOTO_QUALITY, abandoned)?,
        FileKind::Webp => webp(picture, f32::from(PHOTO_QUALITY), PHOTO_WEBP_EFFORT)?,
        _ => png::encode(picture, abandoned)?,
    };
    Ok(Renditions {
        picture: MadePicture {
            kind,
            content,
            width,
            height,
        },
        thumbnails,
    })
}

/// Returns the picture at that width, which is below its own.
fn smaller(picture: &mut DynamicImage, width: u32) -> Result<DynamicImage, PictureError> {
    let height = f64::from(picture.height()) * f64::from(width) / f64::from(picture.width());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is below the height of the picture"
    )]
    let height = (height.round() as u32).max(1);
    let size = (picture.width(), picture.height());
    let mut opaque;
    let pixels: &mut [u8] = match picture {
        DynamicImage::ImageRgba8(pixels) => {
            let mut copy = RgbaImage::new(width, height);
            resize::<U8x4>(size, pixels, (width, height), &mut copy)?;
            return Ok(copy.into());
        }
        DynamicImage::ImageRgb8(pixels) => pixels,
        other => {
            opaque = on_white(other).into_owned();
            &mut opaque
        }
    };
    let mut copy = RgbImage::new(width, height);
    resize::<U8x3>(size, pixels, (width, height), &mut copy)?;
    Ok(copy.into())
}

/// Fills `copy` with the picture, scaled to the dimensions of `copy`; the picture itself stays unchanged. It is compiled once
/// for each kind of pixels: `Resizer::resize` would be compiled for fifteen kinds of pixels, and again for each kind of
/// picture. A picture that is not borrowed mutably is of another kind than the resizer's own ones.
fn resize<P: PixelTrait>(
    (width, height): (u32, u32),
    pixels: &mut [u8],
    (copy_width, copy_height): (u32, u32),
    copy: &mut [u8],
) -> Result<(), PictureError> {
    let pixels = TypedImage::<P>::from_buffer(width, height, pixels).map_err(failed)?;
    let mut copy = TypedImage::<P>::from_buffer(copy_width, copy_height, copy).map_err(failed)?;
    let filter = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::CatmullRom));
    Resizer::new().resize_typed(&pixels, &mut copy, &filter).map_err(failed)
}

/// Returns the picture without transparency, which JPEG does not have.
fn on_white(picture: &DynamicImage) -> Cow<'_, RgbImage> {
    if let DynamicImage::ImageRgb8(pixels) = picture {
        return Cow::Borrowed(pixels);
    }
    let picture = picture.to_rgba8();
    let mixed = |colour: u8, alpha: u8| {
        let (colour, alpha) = (u16::from(colour), u16::from(alpha));
        u8::try_from((colour * alpha + 255 * (255 - alpha)) / 255).unwrap_or(u8::MAX)
    };
    Cow::Owned(RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let [red, green, blue, alpha] = picture.get_pixel(x, y).0;
        Rgb([mixed(red, alpha), mixed(green, alpha), mixed(blue, alpha)])
    }))
}

pub(crate) fn failed(error: impl Into<BoxError>) -> PictureError {
    PictureError::Failed(error.into())
}

fn jpeg(picture: &RgbImage, quality: u8, abandoned: &Abandoned) -> Result<Bytes, PictureError> {
    let mut content = Vec::new();
    let encoder = JpegEncoder::new_with_quality(abandoned.watch_output(&mut content), quality);
    picture.write_with_encoder(encoder).map_err(failed)?;
    Ok(content.into())
}

/// Encodes a picture as WebP. The data that the encoder could keep for a second pass takes more memory than the picture, and the
/// compression of a large transparency takes ten times as much. The encoder cannot be interrupted.
fn webp(picture: &DynamicImage, quality: f32, effort: i32) -> Result<Bytes, PictureError> {
    let mut config = WebPConfig::new().map_err(|()| failed("the WebP encoder is of another version"))?;
    config.quality = quality;
    config.method = effort;
    config.low_memory = 1;
    let (width, height) = (picture.width(), picture.height());
    config.alpha_compression = (u64::from(width) * u64::from(height) <= MAX_COMPRESSED_ALPHA).into();
    let encoded = match picture {
        DynamicImage::ImageRgba8(pixels) => webp::Encoder::from_rgba(pixels, width, height).encode_advanced(&config),
        picture => webp::Encoder::from_rgb(&on_white(picture), width, height).encode_advanced(&config),
    };
    let encoded = encoded.map_err(|error| failed(format!("the WebP encoder reports {error:?}")))?;
    Ok(Bytes::copy_from_slice(&encoded))
}
