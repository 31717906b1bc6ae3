//! JPEG pictures: usually photos, which cameras make larger than memory should hold.

use std::io;

use forecourt_files::{PictureError, PictureSource};
use image::{DynamicImage, GrayImage, RgbImage, metadata::Orientation};
use zune_jpeg::{
    JpegDecoder,
    zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions},
};

use crate::read::{Decoded, MAX_DECODED, MAX_IN_FULL, MAX_SIDE, unreadable, within_bounds};

/// The maximum number of passes of a picture: encoders make about ten, and each costs a walk over the whole picture.
const MAX_SCANS: usize = 64;

/// The properties of a picture before it is decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Outline {
    width: u16,
    height: u16,
    /// The number of bytes of its coefficients, if all of them are held until the last pass.
    coefficients: u64,
}

impl Outline {
    fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

/// Decodes a picture, at a smaller size if only that fits into memory.
pub(crate) fn decode(mut content: Box<dyn PictureSource>) -> Result<Decoded, PictureError> {
    let outline = outline(&mut *content).map_err(unreadable)?;
    content.rewind().map_err(unreadable)?;
    let side = u32::from(outline.width.max(outline.height));
    if side > MAX_SIDE {
        return Err(PictureError::TooLarge(u64::from(MAX_SIDE) * u64::from(MAX_SIDE)));
    }
    let pixels = outline.pixels();
    if outline.coefficients + 3 * pixels <= MAX_IN_FULL {
        return in_full(content);
    }
    // The decoder that supports smaller sizes holds the colours twice: separate, and mixed.
    let taken_by = |divisor: u64| outline.coefficients + 6 * pixels / (divisor * divisor);
    let divisor = if taken_by(2) <= MAX_DECODED { 2 } else { 4 };
    within_bounds(pixels, taken_by(divisor.into()))?;
    smaller(content, outline, divisor)
}

fn in_full(mut content: Box<dyn PictureSource>) -> Result<Decoded, PictureError> {
    // This decoder seeks back and forth in its input.
    let mut file = Vec::new();
    content.read_to_end(&mut file).map_err(unreadable)?;
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX)
        .jpeg_set_max_scans(MAX_SCANS);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder
        .decode_headers()
        .map_err(|error| unreadable(error.to_string()))?;
    let is_grey = decoder.input_colorspace() == Some(ColorSpace::Luma);
    let colours = if is_grey { ColorSpace::Luma } else { ColorSpace::RGB };
    decoder.set_options(options.jpeg_set_out_colorspace(colours));
    let (width, height) = decoder.dimensions().ok_or_else(|| unreadable("it has no size"))?;
    let pixels = decoder.decode().map_err(|error| unreadable(error.to_string()))?;
    Ok(Decoded {
        pixels: image_of(pixels, width, height, is_grey)?,
        orientation: orientation(decoder.exif().map(Vec::as_slice)),
        profile: decoder.icc_profile(),
    })
}

fn smaller(content: Box<dyn PictureSource>, outline: Outline, divisor: u16) -> Result<Decoded, PictureError> {
    let mut decoder = jpeg_decoder::Decoder::new(content);
    let wanted = (outline.width / divisor, outline.height / divisor);
    let (width, height) = decoder.scale(wanted.0, wanted.1).map_err(unreadable)?;
    let pixels = decoder.decode().map_err(unreadable)?;
    let is_grey = match decoder.info().map(|info| info.pixel_format) {
        Some(jpeg_decoder::PixelFormat::RGB24) => false,
        Some(jpeg_decoder::PixelFormat::L8) => true,
        _ => return Err(unreadable("its colours are for print")),
    };
    Ok(Decoded {
        pixels: image_of(pixels, width.into(), height.into(), is_grey)?,
        orientation: orientation(decoder.exif_data()),
        profile: decoder.icc_profile(),
    })
}

fn image_of(pixels: Vec<u8>, width: usize, height: usize, is_grey: bool) -> Result<DynamicImage, PictureError> {
    let (width, height) = (u32::try_from(width).ok(), u32::try_from(height).ok());
    let image = width.zip(height).and_then(|(width, height)| match is_grey {
        true => GrayImage::from_raw(width, height, pixels).map(DynamicImage::from),
        false => RgbImage::from_raw(width, height, pixels).map(DynamicImage::from),
    });
    image.ok_or_else(|| unreadable("it has not the pixels that it says"))
}

fn orientation(exif: Option<&[u8]>) -> Orientation {
    exif.and_then(Orientation::from_exif_chunk)
        .unwrap_or(Orientation::NoTransforms)
}

/// Reads the properties of the picture from its segments. Fails for a picture without an end, which decoders show as if it were
/// complete.
fn outline(content: &mut dyn PictureSource) -> io::Result<Outline> {
    let [0xff, 0xd8] = next(content)? else {
        return Err(malformed());
    };
    let mut frame = None;
    // The segments before the first pass have lengths; one of them may contain a picture with an end of its own.
    loop {
        let [0xff, mut marker] = next(content)? else {
            return Err(malformed());
        };
        // Any number of these bytes may come before a marker.
        while marker == 0xff {
            [marker] = next(content)?;
        }
        if marker == 0xda {
            let scans = scans(content)?;
            let (outline, is_baseline) = frame.ok_or_else(malformed)?;
            return Ok(match (is_baseline, scans) {
                // It is decoded as it is read.
                (true, 1) => Outline {
                    coefficients: 0,
                    ..outline
                },
                _ => outline,
            });
        }
        let length = u16::from_be_bytes(next(content)?);
        let mut segment = vec![0; usize::from(length).checked_sub(2).ok_or_else(malformed)?];
        content.read_exact(&mut segment)?;
        match marker {
            0xc4 | 0xc8 | 0xcc => (),
            0xc0..=0xcf => {
                let outline = frame_of(&segment).ok_or_else(malformed)?;
                frame = Some((outline, matches!(marker, 0xc0 | 0xc1)));
            }
            _ => (),
        }
    }
}

fn next<const N: usize>(content: &mut dyn PictureSource) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    content.read_exact(&mut bytes).map(|()| bytes)
}

fn malformed() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Returns the number of passes until the end.
fn scans(content: &mut dyn PictureSource) -> io::Result<usize> {
    let mut scans = 1;
    let mut last = 0;
    loop {
        let part = content.fill_buf()?;
        if part.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // A byte 0xff among the coefficients is followed by a zero.
        for byte in part {
            match (last, byte) {
                (0xff, 0xd9) => return Ok(scans),
                (0xff, 0xda) if scans == MAX_SCANS => return Err(malformed()),
                (0xff, 0xda) => scans += 1,
                _ => (),
            }
            last = *byte;
        }
        let read = part.len();
        content.consume(read);
    }
}

/// Reads a frame header (ITU T.81, B.2.2).
fn frame_of(segment: &[u8]) -> Option<Outline> {
    let [
        _precision,
        height_high,
        height_low,
        width_high,
        width_low,
        _count,
        components @ ..,
    ] = segment
    else {
        return None;
    };
    let height = u16::from_be_bytes([*height_high, *height_low]);
    let width = u16::from_be_bytes([*width_high, *width_low]);
    let samplings = components
        .chunks_exact(3)
        .map(|component| (u64::from(component[1] >> 4), u64::from(component[1] & 15)));
    let most = samplings
        .clone()
        .fold((1, 1), |most: (u64, u64), (h, v)| (most.0.max(h), most.1.max(v)));
    let pixels = u64::from(width) * u64::from(height);
    let samples: u64 = samplings.map(|(h, v)| pixels * h * v / (most.0 * most.1)).sum();
    Some(Outline {
        width,
        height,
        coefficients: 2 * samples,
    })
}
