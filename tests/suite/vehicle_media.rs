//! Photos, spins and YouTube videos of a vehicle: their addition, order and removal, the places where they show, and their
//! files.
//!
//! The pictures are made here; other modules that send files use these helpers too.

use std::collections::BTreeSet;
use std::io::{Cursor, Write as _};
use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use harness::{Answer, Client, Engine, Installation, Raw, Shop, both_engines, wait_for};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::listing_changes::{listing, published};
use crate::vehicles_record::{VEHICLES, path};

both_engines! {
    a_photo_is_added_by_json
    a_photo_is_added_by_a_data_url
    a_photo_is_added_by_multipart
    a_multipart_body_has_a_type
    a_multipart_body_has_all_that_json_has
    jpeg_png_and_webp_are_photos
    a_spin_frame_is_no_photo
    a_youtube_video_is_added_by_its_id
    what_was_created_has_a_location
    media_are_listed_with_their_place
    a_vehicle_shows_its_media_in_both_views
    photos_are_put_in_order
    an_order_of_what_is_not_there_is_refused
    an_item_is_deleted
    a_listing_shows_its_media
    every_change_of_media_changes_the_hash
    a_file_needs_no_credential
    a_file_that_is_known_is_not_sent_again
    a_part_of_a_file_is_sent
    a_part_beyond_the_end_cannot_be_sent
    head_answers_without_a_body
    an_unknown_file_does_not_exist
    no_path_leads_out_of_the_files
    the_name_of_a_file_is_not_guessed
    a_file_survives_a_restart
    the_metadata_of_a_jpeg_is_gone
    the_metadata_of_a_png_is_gone
    the_metadata_of_a_webp_is_gone
    a_turned_photo_is_upright
    a_thumbnail_is_smaller_and_has_the_same_shape
    a_small_photo_has_no_larger_thumbnail
    a_picture_that_claims_to_be_huge_is_refused
    a_picture_that_is_huge_takes_little_memory
    other_bytes_are_refused_whatever_their_name
    a_damaged_picture_is_refused
    a_film_is_no_photo
    a_body_needs_a_file
    a_multipart_body_needs_the_part_file
    a_multipart_body_is_bounded_in_parts_names_and_heads
    a_webp_picture_is_bounded_by_what_its_headers_say
    a_photo_needs_no_data_folder
    a_photo_has_at_most_25_megabytes
    each_change_is_an_event_and_a_version
    what_is_refused_changes_nothing
    the_file_of_a_deleted_item_is_gone
    of_two_equal_photos_one_can_be_deleted
    the_files_of_a_deleted_vehicle_are_gone
    the_files_of_a_deleted_business_are_gone
    a_retry_of_a_multipart_body_adds_one_photo
    photos_that_come_at_the_same_time_are_all_kept
}

/// The maximum time for due background work.
const TIMEOUT: Duration = Duration::from_secs(90);
/// The bytes of "25 MB"; docs/decisions.md counts them in this way.
pub(crate) const LARGEST: usize = 25 * 1024 * 1024;
/// The maximum growth of the process by one request.
const GROWTH: u64 = 100_000_000;
/// A text that only the metadata contains.
const MARKER: &str = "Quillfeather-Metadata-Marker";
/// A coordinate's seconds as stored in a GPS directory, a rational of two numbers.
const COORDINATE: [u8; 8] = [0x4e, 0x61, 0xbc, 0x01, 0x43, 0x42, 0x0f, 0x00];

// --- Pictures ---

/// Returns a picture whose left half is red and whose right half is blue, with a gradient.
pub(crate) fn picture(width: u32, height: u32) -> DynamicImage {
    let shade = |place: u32| u8::try_from(place % 40).unwrap();
    let picture = RgbImage::from_fn(width, height, |x, y| {
        if x < width / 2 {
            Rgb([200 + shade(y), 20, 20])
        } else {
            Rgb([20, 20, 200 + shade(y)])
        }
    });
    DynamicImage::ImageRgb8(picture)
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    picture.write_to(&mut file, format).unwrap();
    file.into_inner()
}

pub(crate) fn jpeg(width: u32, height: u32) -> Vec<u8> {
    encoded(&picture(width, height), ImageFormat::Jpeg)
}

pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    encoded(&picture(width, height), ImageFormat::Png)
}

pub(crate) fn webp(width: u32, height: u32) -> Vec<u8> {
    encoded(&picture(width, height), ImageFormat::WebP)
}

/// A GIF of one pixel.
pub(crate) const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff\x21\xf9\
    \x04\x01\x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";
/// A document without a page.
pub(crate) const PDF: &[u8] = b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n\
    2 0 obj\n<</Type/Pages/Kids[]/Count 0>>\nendobj\ntrailer\n<</Root 1 0 R>>\n%%EOF\n";
/// The beginning of a program for Windows.
pub(crate) const EXE: &[u8] = b"MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00\xb8\x00\x00\x00\
    \x00\x00\x00\x00\x40\x00\x00\x00This program cannot be run in DOS mode.";
/// A page with a script.
pub(crate) const HTML: &[u8] = b"<!DOCTYPE html><html><body><script>alert(1)</script></body></html>";
/// A drawing with a script.
pub(crate) const SVG: &[u8] = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";

/// Returns a video container of this brand, without content.
fn film(brand: &[u8; 4]) -> Vec<u8> {
    let mut file = Vec::new();
    let ftyp = [brand.as_slice(), &[0, 0, 2, 0], brand, brand].concat();
    for (kind, content) in [(b"ftyp", ftyp), (b"free", vec![]), (b"mdat", vec![7; 64])] {
        let length = u32::try_from(content.len() + 8).unwrap();
        file.extend_from_slice(&length.to_be_bytes());
        file.extend_from_slice(kind);
        file.extend_from_slice(&content);
    }
    file
}

pub(crate) fn mp4() -> Vec<u8> {
    film(b"isom")
}

pub(crate) fn mov() -> Vec<u8> {
    film(b"qt  ")
}

/// Returns a still picture in the container that videos use too.
pub(crate) fn heic() -> Vec<u8> {
    film(b"heic")
}

/// Returns the directories that a camera writes: its orientation, its owner, and the place.
fn exif(orientation: u16) -> Vec<u8> {
    let entry = |tag: u16, kind: u16, count: u32, value: [u8; 4]| {
        let numbers = [tag.to_le_bytes(), kind.to_le_bytes()].concat();
        [numbers.as_slice(), &count.to_le_bytes(), &value].concat()
    };
    let artist = format!("{MARKER}\0\0");
    let artist = artist.as_bytes();
    let artist_length = u32::try_from(artist.len()).unwrap();
    // The header has 8 bytes, a directory of three entries 42, and one of four 54.
    let artist_at = 8_u32 + 42;
    let gps_at = artist_at + artist_length;
    let coordinates_at = gps_at + 54;
    let number = u32::to_le_bytes;
    let degrees = [number(51), number(1), number(30), number(1)].concat();
    let degrees = [degrees.as_slice(), &COORDINATE].concat();
    [
        b"II*\0\x08\0\0\0".to_vec(),
        3_u16.to_le_bytes().to_vec(),
        entry(0x0112, 3, 1, number(u32::from(orientation))),
        entry(0x013b, 2, artist_length, number(artist_at)),
        entry(0x8825, 4, 1, number(gps_at)),
        number(0).to_vec(),
        artist.to_vec(),
        4_u16.to_le_bytes().to_vec(),
        entry(1, 2, 2, *b"N\0\0\0"),
        entry(2, 5, 3, number(coordinates_at)),
        entry(3, 2, 2, *b"W\0\0\0"),
        entry(4, 5, 3, number(coordinates_at + 24)),
        number(0).to_vec(),
        degrees.clone(),
        degrees,
    ]
    .concat()
}

/// Returns a segment of a JPEG.
fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 2).unwrap();
    [[0xff, marker].as_slice(), &length.to_be_bytes(), content].concat()
}

/// Returns a JPEG like those of telephones: with EXIF, XMP and a comment.
fn camera_jpeg(width: u32, height: u32, orientation: u16) -> Vec<u8> {
    let plain = jpeg(width, height);
    let exif = [b"Exif\0\0".as_slice(), &exif(orientation)].concat();
    let xmp = format!("http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">{MARKER}</x:xmpmeta>");
    [
        plain[..2].to_vec(),
        segment(0xe1, &exif),
        segment(0xe1, xmp.as_bytes()),
        segment(0xfe, MARKER.as_bytes()),
        plain[2..].to_vec(),
    ]
    .concat()
}

/// Returns a JPEG of exactly this length, filled with comments.
pub(crate) fn long_jpeg(length: usize) -> Vec<u8> {
    let plain = jpeg(120, 80);
    let mut missing = length - plain.len();
    let mut file = plain[..2].to_vec();
    while missing > 0 {
        // A segment has 4 to 65,537 bytes; the rest must not be shorter.
        let mut taken = missing.min(65_537);
        if (1..4).contains(&(missing - taken)) {
            taken -= 4;
        }
        file.extend_from_slice(&segment(0xfe, &vec![b'x'; taken - 4]));
        missing -= taken;
    }
    file.extend_from_slice(&plain[2..]);
    assert_eq!(file.len(), length);
    file
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0xedb8_8320
        } else {
            crc >> 1
        }
    };
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc))
    })
}

/// Returns a chunk of a PNG.
fn png_chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let named = [kind.as_slice(), content].concat();
    let length = u32::try_from(content.len()).unwrap();
    [length.to_be_bytes().as_slice(), &named, &crc32(&named).to_be_bytes()].concat()
}

const PNG_SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";

/// Returns a PNG of black and white pixels that declares this size and has these rows.
fn png_of_rows(width: u32, height: u32, rows: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(rows).unwrap();
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let header = [size.as_slice(), &[1, 0, 0, 0, 0]].concat();
    [
        PNG_SIGNATURE.to_vec(),
        png_chunk(b"IHDR", &header),
        png_chunk(b"IDAT", &packed.finish().unwrap()),
        png_chunk(b"IEND", &[]),
    ]
    .concat()
}

/// Returns a PNG whose header declares a size that it does not have.
pub(crate) fn png_bomb() -> Vec<u8> {
    png_of_rows(60_000, 60_000, &[0; 16])
}

/// Returns a PNG with a text and EXIF.
fn png_with_metadata() -> Vec<u8> {
    let plain = png(120, 80);
    // The signature has 8 bytes, the header's chunk 25.
    let (head, rest) = plain.split_at(33);
    let text = format!("Author\0{MARKER}");
    let added = [png_chunk(b"tEXt", text.as_bytes()), png_chunk(b"eXIf", &exif(1))].concat();
    [head, &added, rest].concat()
}

/// Returns a WebP with EXIF.
fn webp_with_metadata(width: u32, height: u32) -> Vec<u8> {
    let chunk = |kind: &[u8; 4], content: &[u8]| {
        let length = u32::try_from(content.len()).unwrap();
        let padding: &[u8] = if content.len() % 2 == 1 { &[0] } else { &[] };
        [kind.as_slice(), &length.to_le_bytes(), content, padding].concat()
    };
    let flags: [u8; 4] = [0x08, 0, 0, 0];
    let (width_bytes, height_bytes) = ((width - 1).to_le_bytes(), (height - 1).to_le_bytes());
    let extended = [flags.as_slice(), &width_bytes[..3], &height_bytes[..3]].concat();
    let plain = webp(width, height);
    let body = [
        b"WEBP".to_vec(),
        chunk(b"VP8X", &extended),
        plain[12..].to_vec(),
        chunk(b"EXIF", &exif(1)),
    ]
    .concat();
    chunk(b"RIFF", &body)
}

// --- Requests ---

pub(crate) fn base64(content: &[u8]) -> String {
    BASE64_STANDARD.encode(content)
}

pub(crate) fn data_url(kind: &str, content: &[u8]) -> String {
    format!("data:{kind};base64,{}", base64(content))
}

/// The content type of the forms made by [`multipart`].
pub(crate) const MULTIPART: &str = "multipart/form-data; boundary=forecourt-7MA4YWxkTrZu0gW";

/// A part of a form: its name, its file's name if it is a file, and its content.
pub(crate) type Part<'a> = (&'a str, Option<&'a str>, &'a [u8]);

/// Returns a form's body.
pub(crate) fn multipart(parts: &[Part<'_>]) -> Vec<u8> {
    let boundary = MULTIPART.split_once("boundary=").unwrap().1;
    let mut body = Vec::new();
    for (name, filename, content) in parts {
        let head = match filename {
            Some(filename) => format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{filename}\"\r\n\
                 Content-Type: application/octet-stream\r\n\r\n"
            ),
            None => format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n"),
        };
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}

/// Posts a form.
pub(crate) async fn post_form(client: &Client, path: &str, parts: &[Part<'_>]) -> Answer {
    let request = client.request("POST", path).header("Content-Type", MULTIPART);
    request.body(multipart(parts)).send().await
}

/// Asserts that a file was refused for its type: by its name in the body, or by a code of its own.
#[track_caller]
pub(crate) fn file_refused(answer: &Answer, code: &str) {
    let seen = answer.json()["error"]["code"].take();
    if seen == code {
        answer.refused(422, code);
    } else {
        answer.invalid(&["file"]);
    }
}

/// Returns the path of a file on the server, from the URL that a record shows.
pub(crate) fn file_path(url: &Value) -> String {
    let text = url.as_str().unwrap_or_else(|| panic!("no URL: {url}"));
    let start = text
        .find("/files/")
        .unwrap_or_else(|| panic!("not among the files: {url}"));
    text[start..].to_owned()
}

/// Returns the answer to a reader without a credential.
pub(crate) async fn fetch(shop: &Shop, url: &Value) -> Answer {
    shop.server.anonymous().get(&file_path(url)).await
}

/// Returns the same, with a header.
async fn fetch_with(shop: &Shop, url: &Value, name: &str, value: &str) -> Answer {
    let request = shop.server.anonymous().request("GET", &file_path(url));
    request.header(name, value).send().await
}

/// Returns the bytes of a file.
pub(crate) async fn file(shop: &Shop, url: &Value) -> Vec<u8> {
    let answer = fetch(shop, url).await;
    assert_eq!(answer.status, 200, "{url}");
    answer.body
}

/// Waits until a file is no longer served.
async fn until_gone(shop: &Shop, url: &Value) {
    wait_for("the file is gone", TIMEOUT, async || {
        fetch(shop, url).await.status == 404
    })
    .await;
}

/// Returns the width and height of the picture in these bytes.
#[track_caller]
fn size(file: &[u8]) -> (u32, u32) {
    let picture = image::load_from_memory(file).unwrap();
    (picture.width(), picture.height())
}

/// Creates a draft without data; returns its path.
async fn draft(shop: &Shop) -> String {
    path(shop, &json!({})).await
}

async fn add(shop: &Shop, path: &str, body: &Value) -> Answer {
    shop.api.post(&format!("{path}/media"), body).await
}

/// Adds a photo.
async fn photo(shop: &Shop, path: &str, content: &[u8]) -> Value {
    add(shop, path, &json!({"file": base64(content)})).await.created()
}

/// Adds this number of small photos; returns their ids.
async fn photos(shop: &Shop, path: &str, number: u32) -> Vec<String> {
    let mut ids = Vec::new();
    for extra in 0..number {
        ids.push(id(&photo(shop, path, &jpeg(40 + 2 * extra, 30)).await));
    }
    ids
}

#[track_caller]
fn id(item: &Value) -> String {
    item["id"]
        .as_str()
        .unwrap_or_else(|| panic!("no id: {item}"))
        .to_owned()
}

/// Returns a vehicle's media as the vehicle shows them.
async fn shown(shop: &Shop, path: &str) -> Value {
    shop.api.get(path).await.ok()["media"].take()
}

/// Returns the list of its media.
async fn listed(shop: &Shop, path: &str) -> Vec<Value> {
    let list = shop.api.get(&format!("{path}/media")).await.ok();
    list.as_array().unwrap_or_else(|| panic!("no list: {list}")).clone()
}

async fn put_in_order(shop: &Shop, path: &str, ids: &[&str]) -> Answer {
    shop.api
        .put(&format!("{path}/media/order"), &json!({"media": ids}))
        .await
}

async fn version(shop: &Shop, path: &str) -> i64 {
    shop.api.get(path).await.ok()["version"].as_i64().unwrap()
}

/// Returns all events so far.
async fn events(shop: &Shop) -> Vec<Value> {
    shop.api.walk("/2.0/events?per_page=500").await
}

fn nothing() -> Value {
    json!({"photo": [], "video": [], "youtube": [], "photo_spin": []})
}

// --- Adding ---

async fn a_photo_is_added_by_json(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let item = add(&shop, &path, &json!({"file": base64(&jpeg(120, 80))}))
        .await
        .created();
    assert_eq!(item["type"], "photo");
    assert_eq!(size(&file(&shop, &item["url"]).await), (120, 80));
    assert_eq!(shown(&shop, &path).await["photo"], json!([id(&item)]));
}

async fn a_photo_is_added_by_a_data_url(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let body = json!({"file": data_url("image/png", &png(120, 80)), "type": "photo"});
    let item = add(&shop, &path, &body).await.created();
    assert_eq!(size(&file(&shop, &item["url"]).await), (120, 80));
}

async fn a_photo_is_added_by_multipart(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let content = jpeg(120, 80);
    let form: [Part<'_>; 1] = [("file", Some("front.jpg"), &content)];
    let item = post_form(&shop.api, &format!("{path}/media"), &form).await.created();
    assert_eq!(item["type"], "photo");
    assert_eq!(size(&file(&shop, &item["url"]).await), (120, 80));
    assert_eq!(shown(&shop, &path).await["photo"], json!([id(&item)]));
}

async fn a_multipart_body_has_a_type(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let content = jpeg(120, 80);
    // The parts may come in any order.
    let first: [Part<'_>; 2] = [("type", None, b"spin"), ("file", Some("1.jpg"), &content)];
    let last: [Part<'_>; 2] = [("file", Some("2.jpg"), &content), ("type", None, b"spin")];
    for form in [first, last] {
        let item = post_form(&shop.api, &format!("{path}/media"), &form).await.created();
        assert_eq!(item["type"], "spin");
    }
    assert_eq!(shown(&shop, &path).await["photo"], json!([]));
}

async fn a_multipart_body_has_all_that_json_has(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let long = "a".repeat(256);
    let form: [Part<'_>; 2] = [("youtube", None, b"dQw4w9WgXcQ"), ("filename", None, long.as_bytes())];
    let answer = post_form(&shop.api, &format!("{path}/media"), &form).await;
    answer.invalid(&["filename"]);
    let [video, _] = form;
    let item = post_form(&shop.api, &format!("{path}/media"), &[video]).await.created();
    assert_eq!((&item["type"], &item["id"]), (&json!("youtube"), &json!("dQw4w9WgXcQ")));
}

async fn a_multipart_body_is_bounded_in_parts_names_and_heads(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = format!("{}/media", draft(&shop).await);
    let content = jpeg(120, 80);
    let file = |name| ("file", Some(name), content.as_slice());
    let (name, longer, far_longer) = ("a".repeat(255), "a".repeat(256), "a".repeat(1024 * 1024));
    let others = |count: usize| vec![("other", None, &b"x"[..]); count];

    let answer = async |form: Vec<Part<'_>>| post_form(&shop.api, &path, &form).await;
    answer([others(99), vec![file("1.jpg")]].concat()).await.created();
    answer([vec![file("1.jpg")], others(100)].concat())
        .await
        .invalid(&["body"]);
    answer(vec![file("1.jpg"), (&name, None, b"x")]).await.created();
    for name in [&longer, &far_longer] {
        answer(vec![file("1.jpg"), (name, None, b"x")]).await.invalid(&["body"]);
        answer(vec![(name, None, b"")]).await.invalid(&["body"]);
    }
    answer(vec![file(&name)]).await.created();
    answer(vec![file(&longer)]).await.invalid(&["file"]);
    let many = vec![("", None, &b""[..]); 200_000];
    answer(many).await.invalid(&["body"]);

    // A head that is long in another way.
    let form = multipart(&[file("1.jpg")]);
    let head = |length: usize| {
        let line = format!("X-Other: {}\r\nContent-Type: application", "a".repeat(length));
        let form: Vec<u8> = form.clone();
        let at = form.windows(12).position(|part| part == b"Content-Type").unwrap();
        [
            &form[..at],
            line.as_bytes(),
            &form[at + "Content-Type: application".len()..],
        ]
        .concat()
    };
    for (length, is_fine) in [(3_000, true), (4_096, false), (500_000, false)] {
        let request = shop.api.request("POST", &path).header("Content-Type", MULTIPART);
        let answer = request.body(head(length)).send().await;
        match is_fine {
            true => drop(answer.created()),
            false => {
                let field = answer.json()["error"]["details"]["field"].clone();
                answer.invalid(&[field.as_str().unwrap()]);
            }
        }
    }
}

async fn a_webp_picture_is_bounded_by_what_its_headers_say(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let chunk = |name: &[u8; 4], bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        [&name[..], &length, bytes].concat()
    };
    let picture = |chunks: &[u8]| {
        let length = u32::try_from(chunks.len() + 4).unwrap().to_le_bytes();
        [&b"RIFF"[..], &length, b"WEBP", chunks].concat()
    };
    let lossy = |width: u16, height: u16| {
        let sides = [width.to_le_bytes(), height.to_le_bytes()].concat();
        chunk(b"VP8 ", &[&[0x10, 0, 0, 0x9d, 1, 0x2a][..], &sides, &[0; 40]].concat())
    };
    let lossless = |width: u32, height: u32| {
        let sides = (width - 1) | ((height - 1) << 14);
        chunk(b"VP8L", &[&[0x2f][..], &sides.to_le_bytes(), &[0; 41]].concat())
    };
    let three = |number: u32| number.to_le_bytes()[..3].to_vec();
    let canvas = |flags: u8, width: u32, height: u32| {
        chunk(
            b"VP8X",
            &[vec![flags, 0, 0, 0], three(width - 1), three(height - 1)].concat(),
        )
    };
    let frame = |width: u32, height: u32, inner: &[u8]| {
        let head = [vec![0; 6], three(width - 1), three(height - 1), vec![0; 4]].concat();
        [chunk(b"ANIM", &[0; 6]), chunk(b"ANMF", &[&head, inner].concat())].concat()
    };
    for (what, content) in [
        ("lossy", picture(&lossy(4_000, 2_001))),
        ("lossless", picture(&lossless(4_600, 4_600))),
        (
            "a canvas",
            picture(&[canvas(0, 16_000, 16_000), lossless(10, 10)].concat()),
        ),
        (
            "a picture larger than its canvas",
            picture(&[canvas(0, 10, 10), lossy(16_000, 16_000)].concat()),
        ),
        (
            "a frame",
            picture(&[canvas(2, 10, 10), frame(16_000, 16_000, &lossless(10, 10))].concat()),
        ),
        (
            "a picture larger than its frame",
            picture(&[canvas(2, 10, 10), frame(10, 10, &lossy(16_000, 16_000))].concat()),
        ),
    ] {
        let answer = add(&shop, &path, &json!({"file": base64(&content)})).await;
        let message = answer.json()["error"]["message"].to_string();
        assert!(message.contains("8000000 pixels"), "{what}: {message}");
        answer.refused(422, "vehicle_media_upload_failed");
    }
}

async fn a_photo_needs_no_data_folder(engine: Engine) {
    let installation = Installation::new(engine).await;
    let files = format!("file://{}", installation.folder().join("elsewhere").display());
    // No file can be created there.
    let serve = installation.serve().env("FORECOURT_DATA_DIR", "/proc/nowhere");
    let shop = Shop::on(serve.env("FORECOURT_BLOB_URL", files).start().await).await;
    let path = draft(&shop).await;
    let content = jpeg(120, 80);
    assert_eq!(
        size(&file(&shop, &photo(&shop, &path, &content).await["url"]).await),
        (120, 80)
    );
    let form: [Part<'_>; 1] = [("file", Some("front.jpg"), &content)];
    post_form(&shop.api, &format!("{path}/media"), &form).await.created();
}

async fn jpeg_png_and_webp_are_photos(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    for content in [jpeg(120, 80), png(120, 80), webp(120, 80)] {
        let item = photo(&shop, &path, &content).await;
        assert_eq!(size(&file(&shop, &item["url"]).await), (120, 80));
    }
    assert_eq!(shown(&shop, &path).await["photo"].as_array().unwrap().len(), 3);
}

async fn a_spin_frame_is_no_photo(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let body = json!({"file": base64(&jpeg(120, 80)), "type": "spin"});
    let item = add(&shop, &path, &body).await.created();
    assert_eq!(item["type"], "spin");
    let mut expected = nothing();
    expected["photo_spin"] = json!([id(&item)]);
    assert_eq!(shown(&shop, &path).await, expected);
}

async fn a_youtube_video_is_added_by_its_id(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let long = json!({"youtube": "dQw4w9WgXcQ", "filename": "a".repeat(256)});
    add(&shop, &path, &long).await.invalid(&["filename"]);
    let item = add(&shop, &path, &json!({"youtube": "dQw4w9WgXcQ"})).await.created();
    assert_eq!(item["type"], "youtube");
    let mut expected = nothing();
    expected["youtube"] = json!(["dQw4w9WgXcQ"]);
    assert_eq!(shown(&shop, &path).await, expected);
}

async fn what_was_created_has_a_location(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let answer = add(&shop, &path, &json!({"file": base64(&jpeg(120, 80))})).await;
    let expected = format!("{path}/media/{}", id(&answer.created()));
    assert_eq!(answer.header("Location"), Some(expected.as_str()));
    let film = add(&shop, &path, &json!({"youtube": "dQw4w9WgXcQ"})).await;
    for made in [&answer, &film] {
        let path = made.header("Location").unwrap();
        assert_eq!(shop.api.get(path).await.ok(), made.created());
    }
    let read = shop.api.get(&expected).await;
    let tag = read.header("ETag").unwrap();
    assert_eq!(
        shop.api.get(&path).await.header("ETag"),
        Some(tag),
        "it is the vehicle's"
    );
    let known = shop.api.request("GET", &expected).header("If-None-Match", tag);
    assert_eq!(known.send().await.status, 304);
    let narrow = shop.api.get(&format!("{expected}?fields=position")).await.ok();
    assert_eq!(narrow, json!({"position": 1}));
    let writer = shop.client("vehicle-media:write").await;
    writer.get(&expected).await.refused(403, "scope_denied");
    shop.client("vehicles:read").await.get(&expected).await.ok();
    shop.api.delete(&expected).await.ok();
    shop.api.get(&expected).await.refused(404, "vehicle_media_not_found");
    let nowhere = expected.replace(&path, "/2.0/vehicles/987654321");
    shop.api.get(&nowhere).await.refused(404, "vehicle_not_found");
    // The remaining ones move up.
    assert_eq!(shop.api.get(film.header("Location").unwrap()).await.ok()["position"], 1);
}

// --- Showing ---

async fn media_are_listed_with_their_place(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    assert!(listed(&shop, &path).await.is_empty());
    let ids = photos(&shop, &path, 3).await;
    let list = listed(&shop, &path).await;
    assert_eq!(list.iter().map(id).collect::<Vec<_>>(), ids);
    for (item, position) in list.iter().zip(1..) {
        assert_eq!(
            (&item["type"], &item["position"]),
            (&json!("photo"), &json!(position)),
            "{item}"
        );
        file(&shop, &item["url"]).await;
    }
}

async fn a_vehicle_shows_its_media_in_both_views(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    assert_eq!(shown(&shop, &path).await, nothing());
    let ids = photos(&shop, &path, 2).await;
    add(&shop, &path, &json!({"youtube": "dQw4w9WgXcQ"})).await.created();
    let full = json!({"photo": ids, "video": [], "youtube": ["dQw4w9WgXcQ"], "photo_spin": []});
    assert_eq!(shown(&shop, &path).await, full);
    let simple = json!({"photo": ids});
    let single = shop.api.get(&format!("{path}?view=simple")).await.ok();
    assert_eq!(single["media"], simple);
    assert_eq!(shop.api.list(VEHICLES).await.items[0]["media"], simple);
    let list = shop.api.list(&format!("{VEHICLES}?view=full")).await;
    assert_eq!(list.items[0]["media"], full);
}

async fn photos_are_put_in_order(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let ids = photos(&shop, &path, 3).await;
    let order = [ids[2].as_str(), &ids[0], &ids[1]];
    put_in_order(&shop, &path, &order).await.ok();
    assert_eq!(shown(&shop, &path).await["photo"], json!(order));
    let list = listed(&shop, &path).await;
    assert_eq!(list.iter().map(id).collect::<Vec<_>>(), order);
    let positions: Vec<&Value> = list.iter().map(|item| &item["position"]).collect();
    assert_eq!(positions, [1, 2, 3]);
}

async fn an_order_of_what_is_not_there_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let ids = photos(&shop, &path, 2).await;
    put_in_order(&shop, &path, &[&ids[1], &ids[0], "nonsense"])
        .await
        .invalid(&["media.2"]);
    let order = format!("{path}/media/order");
    for body in [json!({}), json!({"media": null}), json!({"media": "all"})] {
        shop.api.put(&order, &body).await.invalid(&["media"]);
    }
    // Another vehicle's photo is not found either.
    let other = draft(&shop).await;
    let theirs = photos(&shop, &other, 1).await;
    put_in_order(&shop, &path, &[&ids[1], &ids[0], &theirs[0]])
        .await
        .invalid(&["media.2"]);
    assert_eq!(shown(&shop, &path).await["photo"], json!(ids));
}

async fn an_item_is_deleted(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let ids = photos(&shop, &path, 2).await;
    let video = add(&shop, &path, &json!({"youtube": "dQw4w9WgXcQ"})).await.created();
    for id in [&ids[0], &id(&video)] {
        let item = format!("{path}/media/{id}");
        assert_eq!(shop.api.delete(&item).await.ok(), json!({"id": id, "deleted": true}));
        shop.api.delete(&item).await.refused(404, "vehicle_media_not_found");
    }
    let expected = json!({"photo": [ids[1]], "video": [], "youtube": [], "photo_spin": []});
    assert_eq!(shown(&shop, &path).await, expected);
    let list = listed(&shop, &path).await;
    assert_eq!(
        (list.len(), id(&list[0]), &list[0]["position"]),
        (1, ids[1].clone(), &json!(1))
    );
}

async fn a_listing_shows_its_media(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, vehicle) = published(&shop, &json!({})).await;
    assert_eq!(listing(&shop, vehicle).await["media"], json!([]));
    photos(&shop, &path, 2).await;
    let spin = json!({"file": base64(&jpeg(120, 80)), "type": "spin"});
    add(&shop, &path, &spin).await.created();
    add(&shop, &path, &json!({"youtube": "dQw4w9WgXcQ"})).await.created();
    let media = listing(&shop, vehicle).await["media"].take();
    let media = media.as_array().unwrap();
    let positions: Vec<&Value> = media.iter().map(|item| &item["position"]).collect();
    assert_eq!(positions, [1, 2, 3, 4]);
    let mut kinds: Vec<&str> = media.iter().map(|item| item["type"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["photo", "photo", "spin", "youtube"]);
    for item in media {
        if item["type"] == "youtube" {
            let url = item["url"].as_str().unwrap();
            assert!(url.contains("dQw4w9WgXcQ"), "{item}");
        } else {
            size(&file(&shop, &item["url"]).await);
        }
    }
}

async fn every_change_of_media_changes_the_hash(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, vehicle) = published(&shop, &json!({})).await;
    let hash = async || listing(&shop, vehicle).await["hash"].as_str().unwrap().to_owned();
    let mut hashes = vec![hash().await];
    let ids = photos(&shop, &path, 2).await;
    hashes.push(hash().await);
    put_in_order(&shop, &path, &[&ids[1], &ids[0]]).await.ok();
    hashes.push(hash().await);
    add(&shop, &path, &json!({"youtube": "dQw4w9WgXcQ"})).await.created();
    hashes.push(hash().await);
    shop.api.delete(&format!("{path}/media/{}", ids[0])).await.ok();
    hashes.push(hash().await);
    let different: BTreeSet<&String> = hashes.iter().collect();
    assert_eq!(different.len(), 5, "{hashes:?}");
    // The same order again is no change.
    put_in_order(&shop, &path, &[&ids[1]]).await.not_our_fault();
    assert_eq!(hash().await, hashes[4]);
}

// --- Files ---

async fn a_file_needs_no_credential(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    for content in [jpeg(120, 80), png(120, 80), webp(120, 80)] {
        let item = photo(&shop, &path, &content).await;
        let answer = fetch(&shop, &item["url"]).await;
        assert_eq!(answer.status, 200);
        let format = image::guess_format(&answer.body).unwrap();
        assert_eq!(answer.header("Content-Type"), Some(format.to_mime_type()));
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"));
        assert_eq!(
            answer.number("Content-Length"),
            i64::try_from(answer.body.len()).unwrap()
        );
    }
}

async fn a_file_that_is_known_is_not_sent_again(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let url = photo(&shop, &path, &jpeg(120, 80)).await["url"].take();
    let first = fetch(&shop, &url).await;
    let tag = first.header("ETag").expect("a file has an ETag");
    for tags in [tag.to_owned(), format!("\"other\", {tag}"), "*".to_owned()] {
        let known = fetch_with(&shop, &url, "If-None-Match", &tags).await;
        assert_eq!((known.status, known.body.len()), (304, 0), "{tags}");
        assert_eq!(known.header("ETag"), Some(tag), "{tags}");
    }
    let other = fetch_with(&shop, &url, "If-None-Match", "\"other\"").await;
    assert_eq!((other.status, other.body), (200, first.body));
}

async fn a_part_of_a_file_is_sent(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let url = photo(&shop, &path, &jpeg(120, 80)).await["url"].take();
    let whole = file(&shop, &url).await;
    let length = whole.len();
    for (range, start, end) in [
        ("bytes=0-9".to_owned(), 0, 10),
        ("bytes=10-".to_owned(), 10, length),
        ("bytes=-5".to_owned(), length - 5, length),
        (format!("bytes=10-{}", length + 1_000), 10, length),
    ] {
        let part = fetch_with(&shop, &url, "Range", &range).await;
        assert_eq!(part.status, 206, "{range}");
        let expected = format!("bytes {start}-{}/{length}", end - 1);
        assert_eq!(part.header("Content-Range"), Some(expected.as_str()), "{range}");
        assert_eq!(part.body, whole[start..end], "{range}");
    }
    // A header that is not a range is ignored.
    let nonsense = fetch_with(&shop, &url, "Range", "pages=1-2").await;
    assert_eq!((nonsense.status, nonsense.body), (200, whole));
}

async fn a_part_beyond_the_end_cannot_be_sent(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let url = photo(&shop, &path, &jpeg(120, 80)).await["url"].take();
    let length = file(&shop, &url).await.len();
    for range in [format!("bytes={length}-"), "bytes=999999999-".to_owned()] {
        let answer = fetch_with(&shop, &url, "Range", &range).await;
        assert_eq!(answer.status, 416, "{range}");
        let expected = format!("bytes */{length}");
        assert_eq!(answer.header("Content-Range"), Some(expected.as_str()), "{range}");
    }
}

async fn head_answers_without_a_body(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let url = photo(&shop, &path, &jpeg(120, 80)).await["url"].take();
    let whole = fetch(&shop, &url).await;
    let head = shop.server.anonymous().request("HEAD", &file_path(&url)).send().await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["Content-Type", "Content-Length", "ETag"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
    let unknown = format!("{}x", file_path(&url));
    let unknown = shop.server.anonymous().request("HEAD", &unknown).send().await;
    assert_eq!((unknown.status, unknown.body.len()), (404, 0));
}

async fn an_unknown_file_does_not_exist(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let url = photo(&shop, &path, &jpeg(120, 80)).await["url"].take();
    let known = file_path(&url);
    let folder = &known[..=known.rfind('/').unwrap()];
    let unknown = ["/files/", "/files/unknown.jpg", folder];
    for path in unknown.map(str::to_owned).into_iter().chain([format!("{known}x")]) {
        let answer = shop.server.anonymous().get(&path).await;
        assert_eq!(answer.status, 404, "{path}");
    }
}

async fn no_path_leads_out_of_the_files(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    photo(&shop, &path, &jpeg(120, 80)).await;
    let secret = shop.installation().data_dir().join("outside.jpg");
    std::fs::write(secret, jpeg(120, 80)).unwrap();
    for target in [
        "/files/../outside.jpg",
        "/files/../../data/outside.jpg",
        "/files/%2e%2e/outside.jpg",
        "/files/..%2foutside.jpg",
        "/files/..%5coutside.jpg",
        "/files/..%252foutside.jpg",
        "/files/%2e%2e%2foutside.jpg",
        "/files//etc/passwd",
        "/files/%2fetc%2fpasswd",
        "/files/%00",
        "/files/%ff",
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n");
        let answer = Raw::exchange(&shop.server, request.as_bytes()).await;
        assert!((400..500).contains(&answer.status), "{target}: {}", answer.status);
    }
}

async fn the_name_of_a_file_is_not_guessed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let mut names = BTreeSet::new();
    for extra in 0..3 {
        let item = photo(&shop, &path, &jpeg(120 + extra, 80)).await;
        let name = file_path(&item["url"]);
        assert!(name.len() >= "/files/".len() + 20, "{name}");
        names.insert(name);
    }
    assert_eq!(names.len(), 3, "{names:?}");
}

async fn a_file_survives_a_restart(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let item = photo(&shop, &path, &jpeg(120, 80)).await;
    let before = fetch(&shop, &item["url"]).await;
    shop.server.restart().await;
    let after = fetch(&shop, &item["url"]).await;
    assert_eq!((after.status, after.header("ETag")), (200, before.header("ETag")));
    assert_eq!(after.body, before.body);
    assert_eq!(shown(&shop, &path).await["photo"], json!([id(&item)]));
}

// --- What becomes of a picture ---

/// Returns true if `file` contains `part`.
fn has(file: &[u8], part: &[u8]) -> bool {
    file.windows(part.len()).any(|window| window == part)
}

/// Uploads a picture with metadata, and asserts that neither it nor its thumbnail is served with any.
async fn metadata_are_gone(engine: Engine, content: &[u8]) {
    assert!(
        has(content, MARKER.as_bytes()) && has(content, &COORDINATE),
        "the test's own picture"
    );
    assert_eq!(size(content), (120, 80), "the test's own picture");
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let item = photo(&shop, &path, content).await;
    for url in [&item["url"], &item["thumbnail_url"]] {
        let served = file(&shop, url).await;
        size(&served);
        for part in [MARKER.as_bytes(), &COORDINATE, b"Exif\0\0", b"xmpmeta"] {
            assert!(!has(&served, part), "{:?} is in {url}", String::from_utf8_lossy(part));
        }
    }
}

async fn the_metadata_of_a_jpeg_is_gone(engine: Engine) {
    metadata_are_gone(engine, &camera_jpeg(120, 80, 1)).await;
}

async fn the_metadata_of_a_png_is_gone(engine: Engine) {
    metadata_are_gone(engine, &png_with_metadata()).await;
}

async fn the_metadata_of_a_webp_is_gone(engine: Engine) {
    metadata_are_gone(engine, &webp_with_metadata(120, 80)).await;
}

async fn a_turned_photo_is_upright(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    // The camera was turned by a quarter: the left half of its file is the upper half of the scene.
    let item = photo(&shop, &path, &camera_jpeg(120, 80, 6)).await;
    let served = image::load_from_memory(&file(&shop, &item["url"]).await).unwrap();
    assert_eq!((served.width(), served.height()), (80, 120));
    let pixels = served.to_rgb8();
    let (upper, lower) = (pixels.get_pixel(40, 15).0, pixels.get_pixel(40, 105).0);
    assert!(upper[0] > 150 && upper[2] < 100, "the upper half is red: {upper:?}");
    assert!(lower[2] > 150 && lower[0] < 100, "the lower half is blue: {lower:?}");
    let (width, height) = size(&file(&shop, &item["thumbnail_url"]).await);
    assert!(width < height, "{width} x {height}");
}

async fn a_thumbnail_is_smaller_and_has_the_same_shape(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    for (width, height) in [(1_600, 1_200), (900, 1_600)] {
        let item = photo(&shop, &path, &jpeg(width, height)).await;
        let thumbnail = file(&shop, &item["thumbnail_url"]).await;
        let seen = size(&thumbnail);
        assert!(seen.0 < width && seen.1 < height, "{seen:?}");
        let shape = f64::from(seen.0) / f64::from(seen.1);
        let expected = f64::from(width) / f64::from(height);
        assert!((shape / expected - 1.0).abs() < 0.02, "{seen:?}");
        assert!(thumbnail.len() < file(&shop, &item["url"]).await.len());
    }
}

async fn a_small_photo_has_no_larger_thumbnail(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let item = photo(&shop, &path, &jpeg(40, 30)).await;
    let (width, height) = size(&file(&shop, &item["thumbnail_url"]).await);
    assert!(width <= 40 && height <= 30, "{width} x {height}");
}

const UPLOAD_FAILED: &str = "vehicle_media_upload_failed";

async fn a_picture_that_claims_to_be_huge_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let body = json!({"file": base64(&png_bomb())});
    let (growth, answer) = shop.server.growth(add(&shop, &path, &body)).await;
    file_refused(&answer, UPLOAD_FAILED);
    assert!(growth < GROWTH, "{growth}");
    assert_eq!(shown(&shop, &path).await, nothing());
}

async fn a_picture_that_is_huge_takes_little_memory(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    // 400 million pixels, in less than a megabyte. Each row has a byte for its filter, and eight pixels a byte.
    let content = png_of_rows(20_000, 20_000, &vec![0; 20_000 * 2_501]);
    let body = json!({"file": base64(&content)});
    let (growth, answer) = shop.server.growth(add(&shop, &path, &body)).await;
    answer.not_our_fault();
    assert!(growth < GROWTH, "{growth}");
}

async fn other_bytes_are_refused_whatever_their_name(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let others: [&[u8]; 7] = [GIF, PDF, EXE, HTML, SVG, b"plain text", &[0; 4_096]];
    for content in others {
        let body = json!({"file": data_url("image/jpeg", content)});
        file_refused(&add(&shop, &path, &body).await, UPLOAD_FAILED);
        let form: [Part<'_>; 1] = [("file", Some("front.jpg"), content)];
        let answer = post_form(&shop.api, &format!("{path}/media"), &form).await;
        file_refused(&answer, UPLOAD_FAILED);
    }
    assert_eq!(shown(&shop, &path).await, nothing());
}

async fn a_damaged_picture_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let beginnings: [&[u8]; 3] = [
        b"\xff\xd8\xff\xe0\x00\x10JFIF\0",
        PNG_SIGNATURE,
        b"RIFF\x08\x02\x00\x00WEBPVP8L",
    ];
    for beginning in beginnings {
        let content = [beginning, &[0x5a; 512]].concat();
        let body = json!({"file": base64(&content)});
        file_refused(&add(&shop, &path, &body).await, UPLOAD_FAILED);
    }
    assert_eq!(shown(&shop, &path).await, nothing());
}

async fn a_film_is_no_photo(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    for content in [mp4(), mov(), heic()] {
        let body = json!({"file": base64(&content), "type": "photo"});
        file_refused(&add(&shop, &path, &body).await, UPLOAD_FAILED);
    }
    assert_eq!(shown(&shop, &path).await, nothing());
}

// --- Bodies ---

async fn a_body_needs_a_file(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    for body in [
        json!({}),
        json!({"type": "photo"}),
        json!({"file": null}),
        json!({"file": ""}),
        json!({"file": 5}),
        json!({"file": "%%% no base64 %%%"}),
        json!({"file": "data:image/jpeg;base64,%%%"}),
        json!({"file": "data:image/jpeg;base64"}),
        json!({"file": "https://example.com/front.jpg"}),
    ] {
        add(&shop, &path, &body).await.invalid(&["file"]);
    }
    assert_eq!(shown(&shop, &path).await, nothing());
}

async fn a_multipart_body_needs_the_part_file(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = format!("{}/media", draft(&shop).await);
    let content = jpeg(120, 80);
    let other: [Part<'_>; 1] = [("photo", Some("front.jpg"), &content)];
    post_form(&shop.api, &path, &other).await.invalid(&["file"]);
    let without: [Part<'_>; 1] = [("type", None, b"photo")];
    post_form(&shop.api, &path, &without).await.invalid(&["file"]);
    let empty: [Part<'_>; 1] = [("file", Some("front.jpg"), b"")];
    post_form(&shop.api, &path, &empty).await.invalid(&["file"]);
    let bad_type: [Part<'_>; 2] = [("file", Some("front.jpg"), &content), ("type", None, b"painting")];
    post_form(&shop.api, &path, &bad_type).await.invalid(&["type"]);
    // A body that ends in the middle of a part is malformed, in one way or another.
    let whole = multipart(&[("file", Some("front.jpg"), &content)]);
    let cut = whole[..whole.len() - 60].to_vec();
    let request = shop.api.request("POST", &path).header("Content-Type", MULTIPART);
    let answer = request.body(cut).send().await;
    assert!([400, 422].contains(&answer.status), "{answer:?}");
}

async fn a_photo_has_at_most_25_megabytes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let media = format!("{path}/media");
    let content = long_jpeg(LARGEST + 1);
    let form: [Part<'_>; 1] = [("file", Some("front.jpg"), &content)];
    post_form(&shop.api, &media, &form).await.invalid(&["file"]);
    add(&shop, &path, &json!({"file": base64(&content)}))
        .await
        .invalid(&["file"]);
    let content = long_jpeg(LARGEST);
    let form: [Part<'_>; 1] = [("file", Some("front.jpg"), &content)];
    post_form(&shop.api, &media, &form).await.created();
    add(&shop, &path, &json!({"file": base64(&content)})).await.created();
}

// --- Events, deletion ---

async fn each_change_is_an_event_and_a_version(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let mut before = version(&shop, &path).await;
    let mut changed = async |what: &str| {
        let vehicle = shop.api.get(&path).await.ok();
        let events = events(&shop).await;
        let last = events.iter().rfind(|event| event["event"] == "vehicle.updated");
        let last = last.unwrap_or_else(|| panic!("{what}: no event"));
        for member in ["id", "version", "media"] {
            assert_eq!(last["data"][member], vehicle[member], "{what}: {member}");
        }
        let version = vehicle["version"].as_i64().unwrap();
        assert_eq!(version, before + 1, "{what}");
        before = version;
    };
    let first = id(&photo(&shop, &path, &jpeg(120, 80)).await);
    changed("a photo").await;
    let second = id(&photo(&shop, &path, &jpeg(80, 120)).await);
    changed("another photo").await;
    put_in_order(&shop, &path, &[&second, &first]).await.ok();
    changed("an order").await;
    add(&shop, &path, &json!({"youtube": "dQw4w9WgXcQ"})).await.created();
    changed("a video").await;
    shop.api.delete(&format!("{path}/media/{first}")).await.ok();
    changed("a deletion").await;
}

async fn what_is_refused_changes_nothing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let ids = photos(&shop, &path, 2).await;
    let (seen, vehicle) = (events(&shop).await.len(), shop.api.get(&path).await.ok());
    file_refused(&add(&shop, &path, &json!({"file": base64(GIF)})).await, UPLOAD_FAILED);
    put_in_order(&shop, &path, &["nonsense"]).await.invalid(&["media.0"]);
    let unknown = shop.api.delete(&format!("{path}/media/nonsense")).await;
    unknown.refused(404, "vehicle_media_not_found");
    // Setting the current order again changes nothing either.
    put_in_order(&shop, &path, &[&ids[0], &ids[1]]).await.ok();
    assert_eq!(events(&shop).await.len(), seen);
    assert_eq!(shop.api.get(&path).await.ok(), vehicle);
}

async fn the_file_of_a_deleted_item_is_gone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let (item, other) = (
        photo(&shop, &path, &jpeg(120, 80)).await,
        photo(&shop, &path, &png(80, 120)).await,
    );
    shop.api.delete(&format!("{path}/media/{}", id(&item))).await.ok();
    until_gone(&shop, &item["url"]).await;
    until_gone(&shop, &item["thumbnail_url"]).await;
    file(&shop, &other["url"]).await;
    file(&shop, &other["thumbnail_url"]).await;
}

async fn of_two_equal_photos_one_can_be_deleted(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let content = jpeg(120, 80);
    let (first, second) = (photo(&shop, &path, &content).await, photo(&shop, &path, &content).await);
    assert_ne!(id(&first), id(&second));
    shop.api.delete(&format!("{path}/media/{}", id(&first))).await.ok();
    until_gone(&shop, &first["url"]).await;
    file(&shop, &second["url"]).await;
}

async fn the_files_of_a_deleted_vehicle_are_gone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, other) = (draft(&shop).await, draft(&shop).await);
    let (item, kept) = (
        photo(&shop, &path, &jpeg(120, 80)).await,
        photo(&shop, &other, &jpeg(120, 80)).await,
    );
    shop.api.delete(&path).await.ok();
    shop.api
        .get(&format!("{path}/media"))
        .await
        .refused(404, "vehicle_not_found");
    until_gone(&shop, &item["url"]).await;
    until_gone(&shop, &item["thumbnail_url"]).await;
    file(&shop, &kept["url"]).await;
}

async fn the_files_of_a_deleted_business_are_gone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let item = photo(&shop, &path, &jpeg(120, 80)).await;
    shop.business.delete().await;
    until_gone(&shop, &item["url"]).await;
    until_gone(&shop, &item["thumbnail_url"]).await;
}

// --- Who may ---

// --- Retries and many at a time ---

async fn a_retry_of_a_multipart_body_adds_one_photo(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let media = format!("{path}/media");
    let send = async |content: &[u8]| {
        let request = shop.api.request("POST", &media).key("once");
        let request = request.header("Content-Type", MULTIPART);
        let body = multipart(&[("file", Some("front.jpg"), content)]);
        request.body(body).send().await
    };
    let content = jpeg(120, 80);
    let (first, second) = (send(&content).await, send(&content).await);
    let item = first.created();
    assert_eq!(second.created(), item);
    assert_eq!(second.header("X-Idempotent-Replay"), Some("true"));
    assert_eq!(shown(&shop, &path).await["photo"], json!([id(&item)]));
    send(&jpeg(80, 120)).await.refused(422, "idempotency_key_reused");
}

async fn photos_that_come_at_the_same_time_are_all_kept(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop).await;
    let mut uploads = JoinSet::new();
    for extra in 0..10 {
        let (client, media) = (shop.api.clone(), format!("{path}/media"));
        let body = json!({"file": base64(&jpeg(40 + extra, 30))});
        uploads.spawn(async move { client.post(&media, &body).await });
    }
    let answers = uploads.join_all().await;
    let ids: BTreeSet<String> = answers.iter().map(|answer| id(&answer.created())).collect();
    assert_eq!(ids.len(), 10);
    let list = listed(&shop, &path).await;
    assert_eq!(list.iter().map(id).collect::<BTreeSet<_>>(), ids);
    let positions: Vec<&Value> = list.iter().map(|item| &item["position"]).collect();
    assert_eq!(positions, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
}
