//! Reading pictures that anybody may have made, in bounded memory and time.

use forecourt_files::{FileKind, PictureError, PictureSource};
use forecourt_kernel::BoxError;
use image::{DynamicImage, metadata::Orientation};
use moxcms::{ColorProfile, DataColorSpace, Layout, TransformOptions};

use crate::{jpeg, png, webp};

/// How many pixels a picture may have.
pub const MAX_PIXELS: u64 = 100_000_000;
/// How many pixels a side of it may have.
pub const MAX_SIDE: u32 = 16_384;
/// How many bytes a decoder may take. Most kinds of pictures reach it before they have [`MAX_PIXELS`].
pub(crate) const MAX_DECODED: u64 = 96 << 20;
/// How many bytes a picture may take while it is decoded in full: a photo of 16 megapixels. What takes more is decoded at half or
/// a quarter of its size.
pub(crate) const MAX_IN_FULL: u64 = 48_000_000;
/// How long the longer side of what is shown is at most: a longer one is made smaller.
const SHOWN_SIDE: u32 = 4096;
/// How long a colour profile may be that is heeded; those of cameras and screens have some 3 KB.
const MAX_PROFILE: usize = 256 * 1024;

/// A picture as a decoder hands it over.
pub(crate) struct Decoded {
    pub(crate) pixels: DynamicImage,
    pub(crate) orientation: Orientation,
    pub(crate) profile: Option<Vec<u8>>,
}

/// The picture, upright, in the colours of screens (sRGB), with eight bits for each; of an animated one the first frame.
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
        true => DynamicImage::from(pixels.into_rgba8()),
        false => DynamicImage::from(pixels.into_rgb8()),
    };
    Ok(match profile {
        Some(profile) => in_srgb(pixels, &profile),
        None => pixels,
    })
}

/// Whether a picture of so many pixels, which take so many bytes while it is decoded, is read.
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

/// The same picture, if it says that its colours are others than those of screens. A profile that cannot be used is as none.
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
