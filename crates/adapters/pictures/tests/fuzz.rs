//! Fuzz tests: any file that begins as a picture is made or refused, quickly and in bounded memory.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use std::{fs, io::Cursor, time::Duration};

use forecourt_files::{FileKind, PictureMaker as _};
use forecourt_kernel::{
    stopwatch,
    testing::fuzz::{Fuzz, MAX_TIME},
};
use forecourt_pictures::Pictures;
use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};

/// The maximum growth of the process: what one picture may take (decisions, "Bounds"), and what the allocator keeps.
const MAX_GROWTH_KB: u64 = 160 * 1024;

/// Pictures that no encoder here makes: JPEG in many passes and without colours, PNG interlaced and with a palette, WebP lossy, with
/// transparency and animated.
const CORPUS: [&[u8]; 7] = [
    include_bytes!("corpus/progressive.jpg"),
    include_bytes!("corpus/grey.jpg"),
    include_bytes!("corpus/palette.png"),
    include_bytes!("corpus/grey16.png"),
    include_bytes!("corpus/lossy.webp"),
    include_bytes!("corpus/transparent.webp"),
    include_bytes!("corpus/animated.webp"),
];

const TOKENS: &[&[u8]] = &[
    b"\xff\xd8\xff",
    b"\xff\xd9",
    b"\xff\xda",
    b"\xff\xda\0\x0c\x03\x01\0\x02\x11\x03\x11\0\x3f\0",
    b"\xff\xc0\0\x11\x08\x40\0\x40\0\x03\x01\x22\0\x02\x11\x01\x03\x11\x01",
    b"\xff\xc2\0\x11\x08\xff\xff\x01\0\x03\x01\x44\0\x02\x11\x01\x03\x11\x01",
    b"\xff\xc4",
    b"\xff\xdb",
    b"\xff\xdd\0\x04\0\x01",
    b"\xff\xe1\0\x10Exif\0\0",
    b"\xff\xe2\0\x12ICC_PROFILE\0\x01\x01",
    b"IHDR\0\0\x40\0\0\0\x40\0\x08\x06\0\0\0",
    b"IHDR\0\0\x10\0\0\0\x10\0\x10\x06\0\0\x01",
    b"\0\0\0\x01tRNS\0",
    b"PLTE",
    b"IDAT",
    b"acTL",
    b"fcTL",
    b"iCCP",
    b"eXIf",
    b"\0\0\0\0IEND",
    b"RIFF",
    b"WEBPVP8 ",
    b"WEBPVP8L",
    b"VP8X\x0a\0\0\0\x12\0\0\0\xff\x0a\0\xff\x0a\0",
    b"ANMF",
    b"ANIM\x06\0\0\0\0\0\0\0\0\0",
    b"ALPH",
    b"\x9d\x01\x2a\xa0\x0f\xa0\x07",
    b"\x2f\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\0",
    b"\xff",
];

/// Returns the largest memory of this process so far, in KB; 0 where the system does not say.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Makes the picture, of the kind that the file begins as.
fn make(pictures: &Pictures, file: &[u8]) -> bool {
    let Some(kind) = FileKind::of(file).filter(|kind| kind.is_picture()) else {
        return false;
    };
    let mut file = file.to_vec();
    if kind == FileKind::Png {
        repair(&mut file);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime
        .block_on(pictures.make(kind, Box::new(Cursor::new(file))))
        .is_ok()
}

/// Sets the checksums of a PNG file, without which no decoder looks further.
fn repair(file: &mut [u8]) {
    let mut at = 8;
    while let Some(head) = file.get(at..at + 4) {
        let length = u32::from_be_bytes(head.try_into().unwrap()) as usize;
        let Some(end) = at.checked_add(length).and_then(|end| end.checked_add(8)) else {
            return;
        };
        let Some(content) = file.get(at + 4..end) else { return };
        let checksum = crc32fast::hash(content).to_be_bytes();
        let Some(place) = file.get_mut(end..end + 4) else {
            return;
        };
        place.copy_from_slice(&checksum);
        at = end + 4;
    }
}

fn encoded(format: ImageFormat) -> Vec<u8> {
    let picture = RgbaImage::from_fn(24, 18, |x, y| {
        let shade = |number: u32| u8::try_from(number * 10 % 256).unwrap();
        Rgba([shade(x), shade(y), shade(x * y), shade(x + y)])
    });
    let picture = match format {
        ImageFormat::Jpeg => DynamicImage::from(picture).into_rgb8().into(),
        _ => DynamicImage::from(picture),
    };
    let mut content = Cursor::new(Vec::new());
    picture.write_to(&mut content, format).unwrap();
    content.into_inner()
}

#[test]
fn the_corpus_is_made() {
    let pictures = Pictures::start().unwrap();
    for (number, file) in CORPUS.iter().enumerate() {
        assert!(make(&pictures, file), "number {number}");
    }
}

#[test]
fn prove_fuzz_pictures() {
    let pictures = Pictures::start().unwrap();
    let made = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP].map(encoded);
    let corpus: Vec<&[u8]> = CORPUS.into_iter().chain(made.iter().map(Vec::as_slice)).collect();
    let fuzz = Fuzz {
        corpus: &corpus,
        tokens: TOKENS,
        max_bytes: 256 * 1024,
    };
    let before = peak();
    fuzz.run(&stopwatch!(), |file| {
        make(&pictures, file);
        let growth = peak().saturating_sub(before);
        assert!(growth <= MAX_GROWTH_KB, "it took {growth} KB");
    });
}

/// Proves that the test can fail: here a picture is decoded without a bound on its pixels.
#[test]
#[should_panic(expected = "took")]
fn prove_fuzz_pictures_finds_what_is_too_large() {
    let mut large = Vec::new();
    let encoder = image::codecs::png::PngEncoder::new(&mut large);
    image::ImageEncoder::write_image(
        encoder,
        &vec![0; 6_500 * 6_500],
        6_500,
        6_500,
        image::ExtendedColorType::L8,
    )
    .unwrap();
    let before = peak();
    stopwatch!().within(MAX_TIME.max(Duration::from_secs(60)), &large, &mut |file| {
        let picture = image::load_from_memory(file).unwrap().into_rgba8();
        let growth = peak().saturating_sub(before);
        assert!(
            growth <= MAX_GROWTH_KB,
            "it took {growth} KB for {} pixels",
            picture.len()
        );
    });
}
