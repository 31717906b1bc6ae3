//! WebP pictures, whose decoder needs many bytes and much time for each pixel: their size is known before it begins.

use std::io::{self, BufRead, Read};

use forecourt_files::{PictureError, PictureSource};
use forecourt_kernel::bounds::MAX_WEBP_PIXELS;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, metadata::Orientation};

use crate::read::{Decoded, MAX_DECODED, MAX_SIDE, refused, unreadable};

/// The maximum number of chunks of a picture: each part of its metadata and each frame is one.
const MAX_CHUNKS: usize = 10_000;
/// The bytes of a chunk that contain the size of a picture or a frame, and those before the chunks of a frame.
const SIZE_BYTES: u64 = 10;
const FRAME_BYTES: u64 = 16;

/// Decodes a picture; of an animated one the first frame.
pub(crate) fn decode(mut content: Box<dyn PictureSource>) -> Result<Decoded, PictureError> {
    let pixels = most_pixels(&mut *content).map_err(unreadable)?;
    if pixels > MAX_WEBP_PIXELS as u64 {
        return Err(PictureError::TooLarge(MAX_WEBP_PIXELS as u64));
    }
    content.rewind().map_err(unreadable)?;
    let mut reader = ImageReader::with_format(content, ImageFormat::WebP);
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_DECODED);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(refused)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let profile = decoder.icc_profile().unwrap_or_default();
    Ok(Decoded {
        pixels: DynamicImage::from_decoder(decoder).map_err(refused)?,
        orientation,
        profile,
    })
}

/// Returns the number of pixels of the largest picture, frame or canvas that the file names. They need not be the same: a
/// decoder makes the pixels of a frame before it compares them with the canvas.
fn most_pixels(content: &mut dyn PictureSource) -> io::Result<u64> {
    let mut head = [0; 12];
    content.read_exact(&mut head)?;
    let [_, _, _, _, a, b, c, d, ..] = head;
    // The decoder reads a little beyond the end that the file names, by less than the head of a picture.
    let length = u64::from(u32::from_le_bytes([a, b, c, d])) + 64;
    most_pixels_of(&mut content.take(length), &mut { MAX_CHUNKS }, true)
}

/// Returns the same for some chunks. The chunks of a frame are inside its own.
fn most_pixels_of(chunks: &mut dyn BufRead, allowed: &mut usize, may_have_frames: bool) -> io::Result<u64> {
    let mut most = 0;
    loop {
        let mut head = [0; 8];
        match chunks.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(most),
            Err(error) => return Err(error),
        }
        *allowed = allowed.checked_sub(1).ok_or(io::ErrorKind::InvalidData)?;
        let [name @ .., a, b, c, d] = head;
        let length = u32::from_le_bytes([a, b, c, d]);
        let mut chunk = Read::take(&mut *chunks, length.saturating_add(length & 1).into());
        let size_bytes = match &name {
            b"VP8 " | b"VP8L" | b"VP8X" => SIZE_BYTES,
            b"ANMF" if may_have_frames => FRAME_BYTES,
            _ => 0,
        };
        let mut size = Vec::new();
        chunk.by_ref().take(size_bytes).read_to_end(&mut size)?;
        most = most.max(pixels(&name, &size));
        if size_bytes == FRAME_BYTES {
            most = most.max(most_pixels_of(&mut chunk, allowed, false)?);
        }
        skip(&mut chunk)?;
    }
}

/// Returns the number of pixels that a chunk declares (RFC 9649).
fn pixels(chunk: &[u8; 4], bytes: &[u8]) -> u64 {
    let side = |low: u8, high: u8| u64::from(u16::from_le_bytes([low, high]) & 0x3fff);
    let wide_side = |bytes: [u8; 3]| u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])) + 1;
    match (chunk, bytes) {
        (b"VP8 ", [_, _, _, _, _, _, a, b, c, d, ..]) => side(*a, *b) * side(*c, *d),
        (b"VP8L", [_, a, b, c, d, ..]) => {
            let sides = u32::from_le_bytes([*a, *b, *c, *d]);
            u64::from((sides & 0x3fff) + 1) * u64::from(((sides >> 14) & 0x3fff) + 1)
        }
        (b"VP8X", [_, _, _, _, a, b, c, d, e, f, ..]) | (b"ANMF", [_, _, _, _, _, _, a, b, c, d, e, f, ..]) => {
            wide_side([*a, *b, *c]) * wide_side([*d, *e, *f])
        }
        _ => 0,
    }
}

/// Skips the rest of the content.
fn skip(content: &mut impl BufRead) -> io::Result<()> {
    loop {
        let part = content.fill_buf()?.len();
        if part == 0 {
            return Ok(());
        }
        content.consume(part);
    }
}
