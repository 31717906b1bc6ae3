//! Reads pictures from untrusted sources in bounded memory and time.

use forecourt_files::{FileKind, PictureError, PictureSource};
use forecourt_kernel::BoxError;
use image::{DynamicImage, RgbaImage, metadata::Orientation};
use moxcms::{ColorProfile, DataColorSpace, Layout, TransformOptions};

use crate::{jpeg, png, webp};

/// The maximum number of pixels of a picture.
pub const MAX_PIXELS: u64 = 100_000_000;
/// The maximum number of pixels of a side.
pub const MAX_SIDE: u32 = 16_384;
/// The maximum number of bytes that a decoder may take. Most kinds of pictures reach it before they have [`MAX_PIXELS`].
pub(crate) const MAX_DECODED: u64 = 96 << 20;
/// The maximum number of bytes that a picture may take when it is decoded in full: a photo of 16 megapixels. A larger one is
/// decoded at half or a quarter of its size.
pub(crate) const MAX_IN_FULL: u64 = 48_000_000;
/// The maximum length of the longer side of a picture that is shown: a longer one is made smaller.
const SHOWN_SIDE: u32 = 4096;
/// The maximum number of pixels of a transparent picture that is shown: a larger one is made smaller. For its copies and for WebP
/// it is in memory several times.
const MAX_TRANSPARENT_PIXELS: u32 = 6_000_000;
/// The maximum length of a colour profile that is used; those of cameras and screens have some 3 KB.
const MAX_PROFILE: usize = 256 * 1024;

/// A picture from a decoder.
pub(crate) struct Decoded {
    pub(crate) pixels: DynamicImage,
    pub(crate) orientation: Orientation,
    pub(crate) profile: Option<Vec<u8>>,
}

/// Reads the picture, upright, in the colours of screens (sRGB), with eight bits for each; of an animated one the first frame.
pub(crate) fn read(kind: FileKind, content: Box<dyn PictureSource>) -> Result<DynamicImage, PictureError> {
    let decoded = match kind {
        FileKind::Jpeg => jpeg::decode(content),
        FileKind::Png => png::decode(content),
        FileKind::Webp => webp::decode(content),
        FileKind::Pdf | FileKind::Mp4 | FileKind::Mov => Err(unreadable("it is no picture")),
    };
    let Decoded {
        mut pixels,
        orientation,
        profile,
    } = decoded?;
    if pixels.width().max(pixels.height()) > SHOWN_SIDE {
        pixels = pixels.thumbnail(SHOWN_SIDE, SHOWN_SIDE);
    }
    pixels.apply_orientation(orientation);
    let pixels = match pixels.color().has_alpha() {
        true => transparent(pixels.into_rgba8()),
        false => DynamicImage::from(pixels.into_rgb8()),
    };
    Ok(match profile {
        Some(profile) => in_srgb(pixels, &profile),
        None => pixels,
    })
}

/// Returns a picture that may be transparent, small enough to be made with bounded memory. If nothing of it is transparent, it
/// loses its transparency instead.
fn transparent(pixels: RgbaImage) -> DynamicImage {
    let is_opaque = pixels.pixels().all(|pixel| pixel.0[3] == u8::MAX);
    let picture = DynamicImage::from(pixels);
    if is_opaque {
        return picture.into_rgb8().into();
    }
    let (width, height) = (picture.width(), picture.height());
    if u64::from(width) * u64::from(height) <= MAX_TRANSPARENT_PIXELS.into() {
        return picture;
    }
    let scale = (f64::from(MAX_TRANSPARENT_PIXELS) / f64::from(width) / f64::from(height)).sqrt();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is below the length of the side"
    )]
    let side = |length: u32| (f64::from(length) * scale) as u32;
    picture.thumbnail(side(width).max(1), side(height).max(1))
}

/// Checks that a picture with this number of pixels, which takes this number of bytes while it is decoded, may be read.
pub(crate) fn within_bounds(pixels: u64, bytes: u64) -> Result<(), PictureError> {
    let most = match bytes {
        0..=MAX_DECODED => MAX_PIXELS,
        _ => MAX_PIXELS.min(pixels.saturating_mul(MAX_DECODED) / bytes),
    };
    if pixels > most {
        return Err(PictureError::TooLarge(most));
    }
    Ok(())
}

/// Converts a picture whose profile has other colours than those of screens. A profile that cannot be used is ignored.
fn in_srgb(mut pixels: DynamicImage, profile: &[u8]) -> DynamicImage {
    if profile.len() > MAX_PROFILE {
        return pixels;
    }
    let (layout, width) = match pixels.color().has_alpha() {
        true => (Layout::Rgba, 4 * pixels.width() as usize),
        false => (Layout::Rgb, 3 * pixels.width() as usize),
    };
    let Ok(profile) = ColorProfile::new_from_slice(profile) else {
        return pixels;
    };
    if profile.color_space != DataColorSpace::Rgb || width == 0 {
        return pixels;
    }
    let srgb = ColorProfile::new_srgb();
    let Ok(transform) = profile.create_transform_8bit(layout, &srgb, layout, TransformOptions::default()) else {
        return pixels;
    };
    let bytes: Option<&mut [u8]> = match &mut pixels {
        DynamicImage::ImageRgb8(pixels) => Some(pixels),
        DynamicImage::ImageRgba8(pixels) => Some(pixels),
        _ => None,
    };
    let mut row = vec![0; width];
    for shown in bytes.into_iter().flat_map(|bytes| bytes.chunks_exact_mut(width)) {
        row.copy_from_slice(shown);
        if transform.transform(&row, shown).is_err() {
            break;
        }
    }
    pixels
}

pub(crate) fn unreadable(error: impl Into<BoxError>) -> PictureError {
    PictureError::Unreadable(error.into())
}

pub(crate) fn refused(error: image::ImageError) -> PictureError {
    match error {
        image::ImageError::Limits(_) => PictureError::TooLarge(MAX_PIXELS),
        error => unreadable(error),
    }
}
