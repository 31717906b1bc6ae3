//! PNG pictures, read and written row by row, so that a large one is never in memory as a whole.

use std::io::Write as _;

use bytes::Bytes;
use forecourt_files::{PictureError, PictureSource};
use image::{DynamicImage, GrayAlphaImage, GrayImage, RgbImage, RgbaImage, metadata::Orientation};
use png::{BitDepth, ColorType, Decoder, DeflateCompression, Filter, Limits, Reader, Transformations};

use crate::{
    abandoned::Abandoned,
    make::failed,
    read::{Decoded, MAX_DECODED, MAX_IN_FULL, MAX_SIDE, unreadable, within_bounds},
};

/// The number of bytes of compressed data that are held before they are written.
const PART_BYTES: usize = 64 * 1024;
/// The number of bytes of pixels that are encoded before it is checked that the caller still waits.
const CHECKED_BYTES: usize = 1024 * 1024;
/// The compression level of pictures, on a scale to 9. Level 6 makes a photo a fifth smaller, and takes ten times as long.
const COMPRESSION: u8 = 1;

/// Decodes a picture. One that takes much memory is made smaller while it is read; an interlaced one must fit at its own size.
pub(crate) fn decode(content: Box<dyn PictureSource>) -> Result<Decoded, PictureError> {
    let limits = Limits {
        bytes: usize::try_from(MAX_DECODED).unwrap_or(usize::MAX),
    };
    let mut decoder = Decoder::new_with_limits(content, limits);
    // Eight bits for each colour, and colours in place of a palette's indices.
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(unreadable)?;
    let info = reader.info();
    let (width, height, is_interlaced) = (info.width, info.height, info.interlaced);
    let orientation = info.exif_metadata.as_deref().and_then(Orientation::from_exif_chunk);
    let profile = info.icc_profile.as_deref().map(<[u8]>::to_vec);
    if width.max(height) > MAX_SIDE {
        return Err(PictureError::TooLarge(u64::from(MAX_SIDE) * u64::from(MAX_SIDE)));
    }
    let channels = reader.output_color_type().0.samples();
    let pixels = u64::from(width) * u64::from(height);
    let bytes = pixels * channels as u64;
    let divisor = match bytes {
        0..=MAX_IN_FULL => 1,
        _ if is_interlaced => 1,
        bytes if bytes / 4 <= MAX_IN_FULL => 2,
        _ => 4,
    };
    within_bounds(pixels, bytes / (divisor * divisor))?;
    let divisor = usize::try_from(divisor).map_err(unreadable)?;
    let (shown, samples) = match divisor {
        1 => ((width, height), whole(&mut reader)?),
        _ => shrunk(&mut reader, width as usize, channels, divisor)?,
    };
    Ok(Decoded {
        pixels: image_of(reader.output_color_type(), shown, samples)?,
        orientation: orientation.unwrap_or(Orientation::NoTransforms),
        profile,
    })
}

fn whole(reader: &mut Reader<Box<dyn PictureSource>>) -> Result<Vec<u8>, PictureError> {
    let length = reader
        .output_buffer_size()
        .ok_or_else(|| unreadable("it is too large"))?;
    let mut samples = vec![0; length];
    reader.next_frame(&mut samples).map_err(unreadable)?;
    Ok(samples)
}

/// Returns a picture with one pixel, their mean, for each square of this number of pixels a side; the rest at the edges is
/// dropped.
fn shrunk(
    reader: &mut Reader<Box<dyn PictureSource>>,
    width: usize,
    channels: usize,
    divisor: usize,
) -> Result<((u32, u32), Vec<u8>), PictureError> {
    let square = divisor * divisor;
    let columns = width / divisor;
    let mut sums = vec![0_usize; columns * channels];
    let mut samples = Vec::new();
    let (mut rows, mut read) = (0, 0);
    while let Some(row) = reader.next_row().map_err(unreadable)? {
        for (column, pixels) in row.data().chunks_exact(channels * divisor).enumerate() {
            let sums = &mut sums[column * channels..][..channels];
            for pixel in pixels.chunks_exact(channels) {
                for (sum, sample) in sums.iter_mut().zip(pixel) {
                    *sum += usize::from(*sample);
                }
            }
        }
        read += 1;
        if read % divisor == 0 {
            samples.extend(sums.iter().map(|sum| u8::try_from(sum / square).unwrap_or(u8::MAX)));
            sums.fill(0);
            rows += 1;
        }
    }
    let columns = u32::try_from(columns).map_err(unreadable)?;
    Ok(((columns, rows), samples))
}

fn image_of(
    (colour, depth): (ColorType, BitDepth),
    (width, height): (u32, u32),
    samples: Vec<u8>,
) -> Result<DynamicImage, PictureError> {
    let image = match (colour, depth) {
        (ColorType::Grayscale, BitDepth::Eight) => GrayImage::from_raw(width, height, samples).map(DynamicImage::from),
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => {
            GrayAlphaImage::from_raw(width, height, samples).map(DynamicImage::from)
        }
        (ColorType::Rgb, BitDepth::Eight) => RgbImage::from_raw(width, height, samples).map(DynamicImage::from),
        (ColorType::Rgba, BitDepth::Eight) => RgbaImage::from_raw(width, height, samples).map(DynamicImage::from),
        _ => None,
    };
    image.ok_or_else(|| unreadable("it has not the pixels that it says"))
}

/// Encodes a picture of eight bits for each colour.
pub(crate) fn encode(picture: &DynamicImage, abandoned: &Abandoned) -> Result<Bytes, PictureError> {
    let samples = picture.as_bytes();
    // Data that cannot be compressed becomes a little longer. A buffer that has to grow is in memory twice; unused capacity is
    // not in memory at all.
    let mut content = Vec::with_capacity(samples.len() + samples.len() / 64 + PART_BYTES);
    let mut encoder = png::Encoder::new(&mut content, picture.width(), picture.height());
    encoder.set_color(if picture.color().has_alpha() {
        ColorType::Rgba
    } else {
        ColorType::Rgb
    });
    encoder.set_depth(BitDepth::Eight);
    encoder.set_deflate_compression(DeflateCompression::Level(COMPRESSION));
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header().map_err(failed)?;
    let mut stream = writer.stream_writer_with_size(PART_BYTES).map_err(failed)?;
    for part in samples.chunks(CHECKED_BYTES) {
        abandoned.check()?;
        stream.write_all(part).map_err(failed)?;
    }
    stream.finish().map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(content.into())
}
