//! Pictures come out upright, without metadata, and in the sizes that websites use.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use std::io::Cursor;

use bytes::Bytes;
use forecourt_files::{FileKind, PictureError, PictureMaker as _, Renditions};
use forecourt_pictures::{Pictures, draw_car};
use image::{DynamicImage, ImageEncoder as _, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage, codecs::jpeg::JpegEncoder};

/// Returns a picture that is red on its left half, blue on its right, and white at its top left.
fn picture(width: u32, height: u32) -> DynamicImage {
    DynamicImage::from(RgbImage::from_fn(width, height, |x, y| {
        match (x < width / 2, y < height / 2) {
            (true, true) => Rgb([250, 250, 250]),
            (true, false) => Rgb([220, 20, 20]),
            (false, _) => Rgb([20, 20, 220]),
        }
    }))
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut content = Cursor::new(Vec::new());
    picture.write_to(&mut content, format).unwrap();
    content.into_inner()
}

/// Returns a JPEG picture with an orientation in its Exif data.
fn lying(orientation: u8) -> Vec<u8> {
    let photo = encoded(&picture(64, 32), ImageFormat::Jpeg);
    let mut tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    tiff.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
    tiff.extend(b"GPS 51.5007N");
    let mut exif = b"\xff\xe1".to_vec();
    exif.extend(u16::try_from(tiff.len() + 8).unwrap().to_be_bytes());
    exif.extend(b"Exif\0\0");
    exif.extend(tiff);
    [&photo[..2], &exif, &photo[2..]].concat()
}

async fn made(kind: FileKind, content: Vec<u8>) -> Result<Renditions, PictureError> {
    Pictures::start()
        .unwrap()
        .make(kind, Box::new(Cursor::new(content)))
        .await
}

fn has(content: &Bytes, needle: &[u8]) -> bool {
    content.windows(needle.len()).any(|part| part == needle)
}

#[tokio::test]
async fn each_kind_comes_out_as_it_was_with_copies_in_both_formats() {
    for (kind, format) in [
        (FileKind::Jpeg, ImageFormat::Jpeg),
        (FileKind::Png, ImageFormat::Png),
        (FileKind::Webp, ImageFormat::WebP),
    ] {
        let Renditions { picture, thumbnails } = made(kind, encoded(&picture(1000, 500), format)).await.unwrap();
        assert_eq!((picture.kind, picture.width, picture.height), (kind, 1000, 500));
        let seen = image::load_from_memory_with_format(&picture.content, format).unwrap();
        assert_eq!((seen.width(), seen.height()), (1000, 500));
        let sizes: Vec<_> = thumbnails
            .iter()
            .map(|(width, copy)| (*width, copy.kind, copy.width, copy.height))
            .collect();
        assert_eq!(
            sizes,
            [
                (320, FileKind::Jpeg, 320, 160),
                (320, FileKind::Webp, 320, 160),
                (800, FileKind::Jpeg, 800, 400),
                (800, FileKind::Webp, 800, 400),
            ]
        );
        for (_, copy) in thumbnails {
            assert_eq!(FileKind::of(&copy.content), Some(copy.kind));
            assert_eq!(image::load_from_memory(&copy.content).unwrap().width(), copy.width);
        }
    }
}

#[tokio::test]
async fn a_small_picture_has_its_least_copy_in_its_own_size() {
    let made = made(FileKind::Png, encoded(&picture(40, 20), ImageFormat::Png))
        .await
        .unwrap();
    let widths: Vec<_> = made
        .thumbnails
        .iter()
        .map(|(width, copy)| (*width, copy.width))
        .collect();
    assert_eq!(widths, [(320, 40), (320, 40)]);
}

#[tokio::test]
async fn photos_are_turned_upright_and_lose_what_they_say_of_themselves() {
    // The corner of the white quarter, and the shape of the picture, by the orientation.
    let corners = [
        (1, (8, 8), (64, 32)),
        (2, (56, 8), (64, 32)),
        (3, (56, 24), (64, 32)),
        (4, (8, 24), (64, 32)),
        (5, (8, 8), (32, 64)),
        (6, (24, 8), (32, 64)),
        (7, (24, 56), (32, 64)),
        (8, (8, 56), (32, 64)),
    ];
    for (orientation, (x, y), size) in corners {
        let Renditions { picture, .. } = made(FileKind::Jpeg, lying(orientation)).await.unwrap();
        assert_eq!((picture.width, picture.height), size, "{orientation}");
        let seen = image::load_from_memory(&picture.content).unwrap().to_rgb8();
        let corner = seen.get_pixel(x, y).0;
        assert!(corner.iter().all(|part| *part > 200), "{orientation}: {corner:?}");
        assert!(!has(&picture.content, b"Exif") && !has(&picture.content, b"GPS"));
    }
}

#[tokio::test]
async fn bytes_behind_a_picture_are_dropped() {
    for (kind, format) in [(FileKind::Jpeg, ImageFormat::Jpeg), (FileKind::Png, ImageFormat::Png)] {
        let mut content = encoded(&picture(40, 20), format);
        content.extend(b"<html><script>alert(1)</script>PK\x03\x04");
        let Renditions { picture, .. } = made(kind, content).await.unwrap();
        assert!(!has(&picture.content, b"<script>"));
    }
}

#[tokio::test]
async fn what_is_damaged_or_of_another_kind_is_refused() {
    let photo = encoded(&picture(200, 100), ImageFormat::Jpeg);
    let drawing = encoded(&picture(200, 100), ImageFormat::Png);
    for (kind, content) in [
        (FileKind::Jpeg, photo[..photo.len() / 2].to_vec()),
        (FileKind::Png, drawing[..drawing.len() / 2].to_vec()),
        (FileKind::Jpeg, drawing),
        (FileKind::Webp, photo),
        (FileKind::Pdf, b"%PDF-1.4".to_vec()),
        (FileKind::Jpeg, Vec::new()),
    ] {
        let refused = made(kind, content.clone()).await;
        assert!(matches!(refused, Err(PictureError::Unreadable(_))), "{kind:?}");
        assert!(
            Pictures::start()
                .unwrap()
                .check(kind, Box::new(Cursor::new(content)))
                .await
                .is_err()
        );
    }
}

#[tokio::test]
async fn a_bomb_is_refused_by_its_header() {
    for (width, height) in [(60_000_u32, 60_000_u32), (16_000, 16_000), (20_000, 10)] {
        let mut content = encoded(&picture(8, 8), ImageFormat::Png);
        content[16..20].copy_from_slice(&width.to_be_bytes());
        content[20..24].copy_from_slice(&height.to_be_bytes());
        // The header's checksum is computed again, so that the header is valid.
        let sum = crc(&content[12..29]);
        content[29..33].copy_from_slice(&sum.to_be_bytes());
        let refused = made(FileKind::Png, content).await;
        assert!(
            matches!(refused, Err(PictureError::TooLarge(_))),
            "{width}x{height}: {refused:?}"
        );
    }
}

/// Returns a JPEG picture whose header declares another size and another coding.
fn claiming(marker: u8, width: u16, height: u16) -> Vec<u8> {
    let mut photo = encoded(&picture(64, 32), ImageFormat::Jpeg);
    let frame = photo.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    photo[frame + 1] = marker;
    photo[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
    photo[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
    photo
}

#[tokio::test]
async fn photos_that_would_take_too_much_memory_are_refused_by_their_header() {
    // A picture in many passes is held in memory until the last one.
    for (marker, width, height) in [(0xc0, 16_000, 16_000), (0xc0, 20_000, 10), (0xc2, 8000, 5000)] {
        let refused = made(FileKind::Jpeg, claiming(marker, width, height)).await;
        assert!(
            matches!(refused, Err(PictureError::TooLarge(_))),
            "{marker:x} {width}x{height}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn photos_of_more_passes_than_encoders_make_are_refused() {
    let mut photo = encoded(&picture(64, 32), ImageFormat::Jpeg);
    let end = photo.len() - 2;
    photo.splice(end..end, [0xff, 0xda, 0, 2].repeat(100));
    let refused = made(FileKind::Jpeg, photo).await;
    assert!(matches!(refused, Err(PictureError::Unreadable(_))), "{refused:?}");
}

#[tokio::test]
async fn large_photos_are_shown_smaller_and_upright() {
    let mut photo = lying(6);
    let large = encoded(&picture(6400, 4800), ImageFormat::Jpeg);
    let small = encoded(&picture(64, 32), ImageFormat::Jpeg);
    let exif = photo.len() - small.len();
    photo.splice(2 + exif.., large[2..].iter().copied());
    let Renditions { picture, .. } = made(FileKind::Jpeg, photo).await.unwrap();
    assert_eq!((picture.width, picture.height), (2400, 3200));
    let seen = image::load_from_memory(&picture.content).unwrap().to_rgb8();
    assert!(seen.get_pixel(2300, 100).0.iter().all(|part| *part > 200));
    assert!(seen.get_pixel(2300, 3100).0[0] < 50 && seen.get_pixel(100, 3100).0[2] > 200);
}

#[tokio::test]
async fn large_drawings_become_smaller_as_they_are_read() {
    let large = encoded(&picture(6401, 4800), ImageFormat::Png);
    let cut = large[..large.len() / 2].to_vec();
    let Renditions { picture, thumbnails } = made(FileKind::Png, large).await.unwrap();
    assert_eq!(
        (picture.kind, picture.width, picture.height),
        (FileKind::Png, 3200, 2400)
    );
    assert_eq!(thumbnails.len(), 6);
    let seen = image::load_from_memory(&picture.content).unwrap().to_rgb8();
    for ((x, y), colour) in [
        ((0, 0), [250, 250, 250]),
        ((10, 2390), [220, 20, 20]),
        ((3199, 2399), [20, 20, 220]),
    ] {
        assert_eq!(seen.get_pixel(x, y).0, colour, "{x},{y}");
    }
    let refused = made(FileKind::Png, cut).await;
    assert!(matches!(refused, Err(PictureError::Unreadable(_))), "{refused:?}");
}

#[tokio::test]
async fn colours_become_those_of_screens() {
    let photo = DynamicImage::from(RgbImage::from_pixel(400, 300, Rgb([200, 100, 100])));
    let mut content = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut content, 95);
    let profile = moxcms::ColorProfile::new_display_p3().encode().unwrap();
    encoder.set_icc_profile(profile).unwrap();
    photo.write_with_encoder(encoder).unwrap();
    let made = made(FileKind::Jpeg, content).await.unwrap();
    for content in [&made.picture.content, &made.thumbnails[0].1.content] {
        let seen = image::load_from_memory(content).unwrap().to_rgb8();
        let [red, green, _] = seen.get_pixel(100, 100).0;
        // The same red is further from grey in sRGB, which reaches less far.
        assert!(red > 206 && green < 98, "{red} {green}");
    }
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 {
                (sum >> 1) ^ 0xedb8_8320
            } else {
                sum >> 1
            }
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[tokio::test]
async fn transparency_becomes_white_in_jpeg() {
    let clear = DynamicImage::from(RgbaImage::from_pixel(400, 400, Rgba([0, 0, 0, 0])));
    let made = made(FileKind::Png, encoded(&clear, ImageFormat::Png)).await.unwrap();
    let (_, copy) = &made.thumbnails[0];
    let seen = image::load_from_memory(&copy.content).unwrap().to_rgb8();
    assert!(seen.get_pixel(100, 100).0.iter().all(|part| *part > 250));
    let seen = image::load_from_memory(&made.picture.content).unwrap().to_rgba8();
    assert_eq!(seen.get_pixel(100, 100).0[3], 0);
}

#[tokio::test]
async fn a_picture_of_which_nothing_is_transparent_is_kept_without_transparency() {
    let opaque = RgbaImage::from_pixel(40, 30, Rgba([1, 2, 3, 255]));
    let png = encoded(&opaque.into(), ImageFormat::Png);
    let made = made(FileKind::Png, png).await.unwrap().picture;
    let shown = image::load_from_memory(&made.content).unwrap();
    assert!(!shown.color().has_alpha());
    assert_eq!(shown.to_rgb8().get_pixel(0, 0), &Rgb([1, 2, 3]));
}

#[tokio::test]
async fn large_transparent_pictures_are_made_smaller() {
    let clear = RgbaImage::from_pixel(3_200, 2_400, Rgba([1, 2, 3, 0]));
    let png = encoded(&clear.into(), ImageFormat::Png);
    let made = made(FileKind::Png, png).await.unwrap().picture;
    assert_eq!((made.width, made.height), (2_828, 2_121));
    let shown = image::load_from_memory(&made.content).unwrap();
    assert_eq!((shown.width(), shown.height()), (2_828, 2_121));
    assert!(shown.color().has_alpha());
}

#[tokio::test]
async fn what_is_longer_than_screens_are_is_made_smaller() {
    let made = made(FileKind::Png, encoded(&picture(5000, 100), ImageFormat::Png))
        .await
        .unwrap();
    assert_eq!(made.picture.width, 4096);
    assert_eq!(made.thumbnails.len(), 6);
}

#[test]
fn a_drawing_is_a_picture() {
    let drawing = draw_car([200, 20, 20]);
    let seen = image::load_from_memory(&drawing).unwrap().to_rgb8();
    assert_eq!(seen.dimensions(), (960, 640));
    assert_eq!(seen.get_pixel(480, 350).0, [200, 20, 20]);
    assert!(drawing.len() < 40_000, "{}", drawing.len());
}
