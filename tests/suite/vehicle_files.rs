//! Documents, photos and videos of vehicles: their upload, the stored form, and the addresses for reading.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use harness::{Answer, Client, Engine, Shop, both_engines, eventually, now};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio::task::JoinSet;

use crate::listing_changes::{LISTINGS, put_on};
use crate::vehicles_record::{a_car, path};

both_engines! {
    a_document_is_what_its_bytes_are
    a_public_document_needs_a_description
    what_is_no_base64_is_refused
    names_of_files_lead_nowhere
    a_photo_is_shown_to_everyone
    a_photo_is_upright_and_has_no_metadata
    a_photo_is_sent_as_a_form
    what_cannot_be_a_photo_is_refused
    media_are_ordered_and_removed
    media_show_in_listings
    parts_of_a_video_are_read
    a_deleted_vehicle_takes_its_files_with_it
    a_killed_server_leaves_no_record_without_its_file
    many_uploads_take_little_memory
    strays_are_reported
    strays_are_put_aside_for_a_week
    too_many_strays_and_those_of_others_are_left_alone
    a_deleted_business_leaves_no_files
    a_business_has_room_for_so_much
    uploads_at_the_same_time_do_not_share_room
    videos_say_nothing_of_where_they_were_made
}

/// The maximum time for background work on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const MEBIBYTES_25: usize = 25 * 1024 * 1024;
const PDF: &[u8] = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n";

fn base64(content: &[u8]) -> String {
    BASE64_STANDARD.encode(content)
}

/// Returns a picture that is red on its left and blue on its right.
fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let colour = |x| {
        if x < width / 2 {
            Rgb([220, 20, 20])
        } else {
            Rgb([20, 20, 220])
        }
    };
    let picture = RgbImage::from_fn(width, height, |x, _| colour(x));
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::from(picture).write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Returns a JPEG picture with an orientation and a location in its Exif data.
fn turned_photo(orientation: u8) -> Vec<u8> {
    let photo = picture(64, 32, ImageFormat::Jpeg);
    let mut tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    tiff.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
    tiff.extend(b"GPS 51.5007N 0.1246W");
    let mut exif = b"\xff\xe1".to_vec();
    exif.extend(u16::try_from(tiff.len() + 8).unwrap().to_be_bytes());
    exif.extend(b"Exif\0\0");
    exif.extend(tiff);
    [&photo[..2], &exif, &photo[2..]].concat()
}

fn a_video() -> Vec<u8> {
    let head = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom";
    head.iter().copied().chain((0..=255_u8).cycle().take(100_000)).collect()
}

async fn send(client: &Client, path: &str, body: &Value) -> Answer {
    client.post(path, body).await
}

async fn send_form(client: &Client, path: &str, parts: &[(&str, Option<&str>, &[u8])]) -> Answer {
    let mut body = Vec::new();
    for (name, filename, content) in parts {
        let filename = filename
            .map(|filename| format!("; filename=\"{filename}\""))
            .unwrap_or_default();
        body.extend(format!("--X\r\nContent-Disposition: form-data; name=\"{name}\"{filename}\r\n\r\n").bytes());
        body.extend(*content);
        body.extend(b"\r\n");
    }
    body.extend(b"--X--\r\n");
    client
        .request("POST", path)
        .header("Content-Type", "multipart/form-data; boundary=X")
        .body(body)
        .send()
        .await
}

/// Returns the path in an address of this server.
fn path_in(address: &Value) -> String {
    let address = address.as_str().unwrap();
    let at = address
        .find("/files/")
        .unwrap_or_else(|| panic!("no address of a file: {address}"));
    address[at..].to_owned()
}

async fn documents(engine: Engine) -> (Shop, String) {
    let shop = Shop::open(engine).await;
    let documents = path(&shop, &a_car()).await + "/documents";
    (shop, documents)
}

async fn media(engine: Engine) -> (Shop, String) {
    let shop = Shop::open(engine).await;
    let media = path(&shop, &a_car()).await + "/media";
    (shop, media)
}

async fn a_document_is_what_its_bytes_are(engine: Engine) {
    let (shop, documents) = documents(engine).await;
    for (content, extension) in [
        (PDF.to_vec(), "pdf"),
        (picture(9, 9, ImageFormat::Jpeg), "jpg"),
        (picture(9, 9, ImageFormat::Png), "png"),
    ] {
        let body = json!({"file": format!("data:text/plain;base64,{}", base64(&content)), "filename": "a.pdf"});
        assert_eq!(
            send(&shop.api, &documents, &body).await.created()["extension"],
            extension
        );
    }
    for content in [
        &b"GIF89a\x01\0\x01\0"[..],
        b"MZ\x90\0\x03",
        b"<html>%PDF-",
        &picture(9, 9, ImageFormat::WebP),
        &a_video(),
    ] {
        let body = json!({"file": base64(content), "filename": "a.pdf"});
        send(&shop.api, &documents, &body).await.invalid(&["file"]);
    }
    for body in [
        json!({}),
        json!({"file": null}),
        json!({"file": 5}),
        json!({"file": ""}),
    ] {
        send(&shop.api, &documents, &body).await.invalid(&["file"]);
    }
    let form = send_form(&shop.api, &documents, &[("file", Some("a.pdf"), PDF)]).await;
    form.refused(400, "json_invalid");
    let broken = shop.api.request("POST", &documents).body("{\"file\":\"").send().await;
    broken.refused(400, "json_invalid");
    assert_eq!(shop.api.list(&documents).await.items.len(), 3);
}

async fn a_public_document_needs_a_description(engine: Engine) {
    let (shop, documents) = documents(engine).await;
    let body = json!({"file": base64(PDF), "public": true});
    send(&shop.api, &documents, &body).await.invalid(&["description"]);
    let both = json!({"file": base64(b"GIF89a"), "public": true});
    send(&shop.api, &documents, &both)
        .await
        .invalid(&["description", "file"]);
    let body = json!({"file": base64(PDF), "public": true, "description": "MOT"});
    let document = send(&shop.api, &documents, &body).await.created();
    assert_eq!(
        (&document["public"], &document["description"]),
        (&json!(true), &json!("MOT"))
    );

    let path = format!("{documents}/{}", document["id"].as_str().unwrap());
    shop.api
        .patch(&path, &json!({"description": ""}))
        .await
        .invalid(&["description"]);
    let hidden = shop
        .api
        .patch(&path, &json!({"public": false, "description": ""}))
        .await
        .ok();
    assert_eq!((&hidden["public"], &hidden["description"]), (&json!(false), &json!("")));
    shop.api
        .patch(&path, &json!({"public": true}))
        .await
        .invalid(&["description"]);
}

async fn what_is_no_base64_is_refused(engine: Engine) {
    let (shop, documents) = documents(engine).await;
    for file in [
        "?",
        "JVBERi0xLjQK!",
        "data:application/pdf,JVBERi0xLjQK",
        "JVBE Ri0x=LjQK",
    ] {
        send(&shop.api, &documents, &json!({"file": file}))
            .await
            .invalid(&["file"]);
    }
    let escaped = r#"{"file":"\u004aVBERi0xLjQK\/\/8="}"#;
    let sent = shop
        .api
        .request("POST", &documents)
        .body(escaped)
        .send()
        .await
        .created();
    assert_eq!(sent["size"], 11);
}

async fn names_of_files_lead_nowhere(engine: Engine) {
    let (shop, documents) = documents(engine).await;
    for (filename, name) in [
        ("../../etc/passwd", "passwd.pdf"),
        ("C:\\Users\\sam\\log book.pdf", "log book.pdf"),
        ("..", "document.pdf"),
        ("", "document.pdf"),
        ("log book", "log book.pdf"),
        ("LOG.PDF", "LOG.PDF"),
        ("front.jpg", "front.pdf"),
        ("service 2026.05", "service 2026.05.pdf"),
        ("setup.exe", "setup.exe.pdf"),
    ] {
        let document = send(
            &shop.api,
            &documents,
            &json!({"file": base64(PDF), "filename": filename}),
        )
        .await;
        assert_eq!(document.created()["name"], name);
    }
    let long = json!({"file": base64(PDF), "filename": "a".repeat(256)});
    send(&shop.api, &documents, &long).await.invalid(&["filename"]);
    let named = json!({"file": base64(PDF), "filename": "log book", "extension": "pdf"});
    assert_eq!(
        send(&shop.api, &documents, &named).await.created()["name"],
        "log book.pdf"
    );
    let odd = json!({"file": base64(PDF), "extension": "exe"});
    send(&shop.api, &documents, &odd).await.invalid(&["extension"]);
}

async fn a_photo_is_shown_to_everyone(engine: Engine) {
    let (shop, media) = media(engine).await;
    let content = picture(400, 300, ImageFormat::Jpeg);
    let answer = send(&shop.api, &media, &json!({"file": base64(&content)})).await;
    let photo = answer.created();
    assert_eq!((&photo["type"], &photo["position"]), (&json!("photo"), &json!(1)));
    assert_eq!((&photo["width"], &photo["height"]), (&json!(400), &json!(300)));
    let anonymous = shop.server.anonymous();
    let url = path_in(&photo["url"]);
    let shown = anonymous.get(&url).await;
    assert_eq!(shown.status, 200);
    assert_eq!(shown.header("Content-Type"), Some("image/jpeg"));
    assert_eq!(shown.header("X-Content-Type-Options"), Some("nosniff"));
    assert!(shown.header("Content-Disposition").unwrap().starts_with("inline"));
    let seen = image::load_from_memory(&shown.body).unwrap();
    assert_eq!((seen.width(), seen.height()), (400, 300));
    let tag = shown.header("ETag").unwrap();
    let again = anonymous.request("GET", &url).header("If-None-Match", tag).send().await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    let head = anonymous.request("HEAD", &url).send().await;
    assert_eq!(
        (head.status, head.number("Content-Length")),
        (200, shown.body.len() as i64)
    );

    let thumbnail = photo["thumbnails"][0].clone();
    assert_eq!(thumbnail["width"], 320);
    for (url, kind) in [
        (&thumbnail["url"], "image/jpeg"),
        (&thumbnail["webp_url"], "image/webp"),
    ] {
        let small = anonymous.get(&path_in(url)).await;
        assert_eq!((small.status, small.header("Content-Type")), (200, Some(kind)));
        assert_eq!(image::load_from_memory(&small.body).unwrap().width(), 320);
    }
    let (folder, name) = url.rsplit_once('/').unwrap();
    for nothing in [
        format!("{folder}/{}.jpg", "0".repeat(32)),
        format!("{folder}/../{name}"),
        format!("{folder}/x"),
        format!("/files/999999/{name}"),
        "/files".to_owned(),
        "/files/".to_owned(),
    ] {
        assert_eq!(anonymous.get(&nothing).await.status, 404, "{nothing}");
    }
    assert_eq!(anonymous.post(&url, &json!({})).await.status, 405);

    let vehicle = media.trim_end_matches("/media");
    let id = photo["id"].as_str().unwrap();
    let expected = json!({"photo": [id], "video": [], "youtube": [], "photo_spin": []});
    let record = shop.api.get(vehicle).await.ok();
    assert_eq!((&record["media"], &record["version"]), (&expected, &json!(2)));
    let simple = shop.api.get(&format!("{vehicle}?view=simple")).await.ok();
    assert_eq!(simple["media"], json!({"photo": [id]}));
    let events = shop.api.list("/2.0/events?event=vehicle.updated").await.items;
    assert_eq!(events.len(), 1);
    assert_eq!(shop.api.get(&media).await.ok(), json!([photo]));
}

async fn a_photo_is_upright_and_has_no_metadata(engine: Engine) {
    let (shop, media) = media(engine).await;
    for (orientation, size) in [(1, (64, 32)), (6, (32, 64)), (3, (64, 32))] {
        let photo = send(&shop.api, &media, &json!({"file": base64(&turned_photo(orientation))}))
            .await
            .created();
        let shown = shop.server.anonymous().get(&path_in(&photo["url"])).await.body;
        for secret in [&b"Exif"[..], b"GPS"] {
            assert!(!shown.windows(secret.len()).any(|part| part == secret));
        }
        let seen = image::load_from_memory(&shown).unwrap().to_rgb8();
        assert_eq!(seen.dimensions(), size);
        assert_eq!((&photo["width"], &photo["height"]), (&json!(size.0), &json!(size.1)));
        // The left side is at the top when it is turned to the right.
        let corner = seen.get_pixel(4, 4);
        assert_eq!(corner[0] > corner[2], orientation != 3, "{orientation}: {corner:?}");
    }
}

async fn a_photo_is_sent_as_a_form(engine: Engine) {
    let (shop, media) = media(engine).await;
    let content = picture(40, 30, ImageFormat::Png);
    let spin = send_form(
        &shop.api,
        &media,
        &[("type", None, b"spin"), ("file", Some("a.png"), &content)],
    )
    .await;
    assert_eq!(spin.created()["type"], "spin");
    let video = send_form(&shop.api, &media, &[("file", Some("a"), &a_video())]).await;
    assert_eq!(video.created()["type"], "video");
    let other = send_form(&shop.api, &media, &[("photo", None, b"a.png")]).await;
    other.invalid(&["file"]);
    let cut = shop
        .api
        .request("POST", &media)
        .header("Content-Type", "multipart/form-data; boundary=X")
        .body("--X\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nabc");
    cut.send().await.refused(400, "json_invalid");
    let text = shop
        .api
        .request("POST", &media)
        .header("Content-Type", "image/png")
        .body(content);
    text.send().await.refused(400, "json_invalid");
}

async fn what_cannot_be_a_photo_is_refused(engine: Engine) {
    let (shop, media) = media(engine).await;
    let photo = picture(40, 30, ImageFormat::Jpeg);
    let mut bomb = picture(1, 1, ImageFormat::Png);
    bomb[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let (growth, ()) = shop
        .server
        .growth(async {
            for content in [&photo[..photo.len() / 2], &bomb] {
                let refused = send(&shop.api, &media, &json!({"file": base64(content)})).await;
                refused.refused(422, "vehicle_media_upload_failed");
            }
        })
        .await;
    assert!(growth < 64 << 20, "{growth}");
    for (file, kind) in [
        (&photo[..], "video"),
        (&a_video(), "photo"),
        (PDF, "photo"),
        (b"<svg>", "photo"),
    ] {
        let body = json!({"file": base64(file), "type": kind});
        send(&shop.api, &media, &body).await.invalid(&["file"]);
    }
    send(&shop.api, &media, &json!({"file": base64(&photo), "type": "film"}))
        .await
        .invalid(&["type"]);
    send(&shop.api, &media, &json!({"youtube": "https://youtu.be/x"}))
        .await
        .invalid(&["youtube"]);
    send(&shop.api, &media, &json!({})).await.invalid(&["file"]);
    assert_eq!(shop.api.get(&media).await.ok(), json!([]));
    assert_eq!(checked(&shop).await["files"], 0, "nothing is left of them");
}

async fn media_are_ordered_and_removed(engine: Engine) {
    let (shop, media) = media(engine).await;
    let photo = json!({"file": base64(&picture(40, 30, ImageFormat::WebP))});
    let first = send(&shop.api, &media, &photo).await.created();
    let second = send(&shop.api, &media, &photo).await.created();
    let film = send(&shop.api, &media, &json!({"youtube": "dQw4w9WgXcQ"}))
        .await
        .created();
    assert_eq!((&film["type"], &film["id"]), (&json!("youtube"), &json!("dQw4w9WgXcQ")));
    send(&shop.api, &media, &json!({"youtube": "dQw4w9WgXcQ"}))
        .await
        .invalid(&["youtube"]);
    let ids = |list: &Value| {
        list.as_array()
            .unwrap()
            .iter()
            .map(|medium| medium["id"].clone())
            .collect::<Vec<_>>()
    };
    let order = format!("{media}/order");
    let body = json!({"media": [second["id"], first["id"]]});
    let ordered = shop.api.put(&order, &body).await.ok();
    assert_eq!(json!(ids(&ordered)), json!([second["id"], first["id"], film["id"]]));
    let vehicle = media.trim_end_matches("/media");
    let version = || async { shop.api.get(vehicle).await.ok()["version"].take() };
    let before = version().await;
    shop.api.put(&order, &body).await.ok();
    assert_eq!(version().await, before, "nothing has changed");
    shop.api
        .put(&order, &json!({"media": ["x"]}))
        .await
        .invalid(&["media.0"]);
    shop.api.put(&order, &json!({})).await.invalid(&["media"]);

    let one = format!("{media}/{}", first["id"].as_str().unwrap());
    let deleter = shop.client("vehicle-media:delete").await;
    shop.client("vehicle-media:write")
        .await
        .delete(&one)
        .await
        .refused(403, "scope_denied");
    assert_eq!(
        deleter.delete(&one).await.ok(),
        json!({"id": first["id"], "deleted": true})
    );
    deleter.delete(&one).await.refused(404, "vehicle_media_not_found");
    assert_eq!(shop.server.anonymous().get(&path_in(&first["url"])).await.status, 404);
    let left = shop.api.get(&media).await.ok();
    assert_eq!(json!(ids(&left)), json!([second["id"], film["id"]]));
    shop.api.delete(&format!("{media}/dQw4w9WgXcQ")).await.ok();
}

async fn media_show_in_listings(engine: Engine) {
    let (shop, media) = media(engine).await;
    let vehicle = media.trim_end_matches("/media");
    put_on(&shop, vehicle, json!(["website"])).await;
    let listing = || async {
        let id = vehicle.rsplit('/').next().unwrap();
        shop.api.get(&format!("{LISTINGS}/{id}")).await.ok()
    };
    let bare = listing().await;
    assert_eq!(bare["media"], json!([]));
    let photo = json!({"file": base64(&picture(640, 480, ImageFormat::Jpeg))});
    let photo = send(&shop.api, &media, &photo).await.created();
    send(&shop.api, &media, &json!({"youtube": "dQw4w9WgXcQ"}))
        .await
        .created();
    let shown = listing().await;
    assert_ne!(shown["hash"], bare["hash"]);
    assert_eq!(
        shown["media"][0],
        json!({"url": photo["url"], "type": "photo", "position": 1})
    );
    assert_eq!(
        (&shown["media"][1]["type"], &shown["media"][1]["position"]),
        (&json!("youtube"), &json!(2))
    );
}

async fn parts_of_a_video_are_read(engine: Engine) {
    let (shop, media) = media(engine).await;
    let video = a_video();
    let medium = send(&shop.api, &media, &json!({"file": base64(&video), "type": "video"}))
        .await
        .created();
    let url = path_in(&medium["url"]);
    let anonymous = shop.server.anonymous();
    let range = |range: &str| {
        let request = anonymous.request("GET", &url).header("Range", range);
        async move { request.send().await }
    };
    for (wanted, from, to) in [
        ("bytes=0-9", 0, 9),
        ("bytes=99990-", 99_990, video.len() - 1),
        ("bytes=-5", video.len() - 5, video.len() - 1),
    ] {
        let part = range(wanted).await;
        assert_eq!(part.status, 206);
        let expected = format!("bytes {from}-{to}/{}", video.len());
        assert_eq!(part.header("Content-Range"), Some(&*expected));
        assert!(part.body == video[from..=to]);
    }
    let beyond = range("bytes=999999-").await;
    assert_eq!(beyond.status, 416);
    assert_eq!(
        beyond.header("Content-Range"),
        Some(&*format!("bytes */{}", video.len()))
    );
    let whole = range("bytes=0-1,5-6").await;
    assert!((whole.status, whole.body) == (200, video));
}

async fn a_deleted_vehicle_takes_its_files_with_it(engine: Engine) {
    let (shop, media) = media(engine).await;
    let vehicle = media.trim_end_matches("/media").to_owned();
    let photo = json!({"file": base64(&picture(640, 480, ImageFormat::Jpeg))});
    let photo = send(&shop.api, &media, &photo).await.created();
    send(
        &shop.api,
        &format!("{vehicle}/documents"),
        &json!({"file": base64(PDF)}),
    )
    .await
    .created();
    shop.api.delete(&vehicle).await.ok();
    assert_eq!(shop.server.anonymous().get(&path_in(&photo["url"])).await.status, 404);
    shop.api.get(&media).await.refused(404, "vehicle_not_found");
    assert_eq!(checked(&shop).await["files"], 0);
}

async fn a_killed_server_leaves_no_record_without_its_file(engine: Engine) {
    let (mut shop, documents) = documents(engine).await;
    let mut content = PDF.to_vec();
    content.resize(2 << 20, b' ');
    let mut uploads = JoinSet::new();
    for _ in 0..6 {
        let (client, path, body) = (shop.api.clone(), documents.clone(), json!({"file": base64(&content)}));
        uploads.spawn(async move { while client.request("POST", &path).json(&body).attempt().await.is_ok() {} });
    }
    eventually("some are kept", TIMEOUT, async || {
        let kept = shop.api.list(&documents).await.items.len();
        if kept > 5 { Ok(()) } else { Err(kept) }
    })
    .await;
    shop.server.kill9().await;
    uploads.join_all().await;
    shop.server.restart().await;
    assert_eq!(checked(&shop).await["missing"], json!([]));
    for document in shop.api.walk(&documents).await {
        let download = format!("{documents}/{}/download", document["id"].as_str().unwrap());
        assert!(shop.api.get(&download).await.ok()["content"].as_str().unwrap() == base64(&content));
    }
}

async fn many_uploads_take_little_memory(engine: Engine) {
    let (shop, documents) = documents(engine).await;
    let mut content = PDF.to_vec();
    content.resize(MEBIBYTES_25, b' ');
    let body = json!({"file": base64(&content)}).to_string();
    let (growth, ()) = shop
        .server
        .growth(async {
            let mut uploads = JoinSet::new();
            for _ in 0..4 {
                let request = shop.api.request("POST", &documents).body(body.clone());
                uploads.spawn(async move { request.send().await.created() });
            }
            uploads.join_all().await;
        })
        .await;
    assert!(growth < 100 << 20, "{growth}");
}

/// Returns the folder of the business's files.
fn folder(shop: &Shop) -> PathBuf {
    let root = shop.installation().data_dir().join("files");
    let mut folders = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap());
    let own = folders.find(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok())
    });
    own.unwrap().path()
}

/// Makes a file without a record that is this number of days old; returns its place below the folder of its business.
fn stray(shop: &Shop, digits: &str, days: i64) -> String {
    let place = format!("{digits}/{}.pdf", digits.repeat(16));
    let path = folder(shop).join(&place);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, PDF).unwrap();
    age(&path, days);
    place
}

fn age(path: &Path, days: i64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let seconds = u64::try_from(now() - days * 86_400 - 60).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        .unwrap();
}

async fn strays_are_put_aside_for_a_week(engine: Engine) {
    let (mut shop, documents) = documents(engine).await;
    for _ in 0..20 {
        send(&shop.api, &documents, &json!({"file": base64(PDF)}))
            .await
            .created();
    }
    let (old, young) = (stray(&shop, "ab", 1), stray(&shop, "cd", 0));
    let folder = folder(&shop);
    let aside = folder
        .parent()
        .unwrap()
        .join(".quarantine")
        .join(folder.file_name().unwrap())
        .join(&old);
    shop.server.terminate().await;
    shop.server.restart().await;
    eventually("the old one is put aside", TIMEOUT, async || {
        if aside.exists() && !folder.join(&old).exists() {
            Ok(())
        } else {
            Err(())
        }
    })
    .await;
    assert!(folder.join(&young).exists());
    let report = checked(&shop).await;
    assert_eq!(report, json!({"files": 21, "missing": [], "orphans": []}));
    shop.server.terminate().await;
    shop.server.restart().await;
    shop.server.until_background_rests().await;
    assert!(aside.exists(), "it is kept");
    age(&aside, 7);
    shop.server.terminate().await;
    shop.server.restart().await;
    eventually(
        "it is deleted",
        TIMEOUT,
        async || if aside.exists() { Err(()) } else { Ok(()) },
    )
    .await;
    assert!(folder.join(&young).exists());
}

async fn too_many_strays_and_those_of_others_are_left_alone(engine: Engine) {
    let (mut shop, documents) = documents(engine).await;
    for _ in 0..20 {
        send(&shop.api, &documents, &json!({"file": base64(PDF)}))
            .await
            .created();
    }
    let files = folder(&shop).parent().unwrap().to_owned();
    let noted = files.join(".installation");
    eventually("the files say whose they are", TIMEOUT, async || {
        if noted.exists() { Ok(()) } else { Err(()) }
    })
    .await;
    let own = std::fs::read_to_string(&noted).unwrap();
    let stray = folder(&shop).join(stray(&shop, "ab", 30));
    for (owner, message) in [("another", "another installation"), (&*own, "have no record")] {
        std::fs::write(&noted, owner).unwrap();
        if owner == own {
            self::stray(&shop, "cd", 30);
        }
        shop.server.terminate().await;
        shop.server.restart().await;
        eventually("the sweep says why", TIMEOUT, async || {
            let log = shop.server.log();
            if log.contains(message) { Ok(()) } else { Err(log) }
        })
        .await;
        assert!(stray.exists() && !files.join(".quarantine").exists(), "{message}");
        assert_eq!(std::fs::read_to_string(&noted).unwrap(), owner);
    }
}

async fn a_deleted_business_leaves_no_files(engine: Engine) {
    let (shop, documents) = documents(engine).await;
    send(&shop.api, &documents, &json!({"file": base64(PDF)}))
        .await
        .created();
    let rival = shop.rival().await;
    let vehicle = rival.post("/2.0/vehicles", &json!({})).await.created();
    let theirs = format!("/2.0/vehicles/{}/documents", vehicle["id"]);
    let paper = send(&rival, &theirs, &json!({"file": base64(PDF)})).await.created();
    assert_eq!(checked(&shop).await["files"], 2);
    shop.business.delete().await;
    eventually("its files are gone", TIMEOUT, async || {
        let report = checked(&shop).await;
        if report["files"] == 1 { Ok(()) } else { Err(report) }
    })
    .await;
    assert!(!shop.installation().data_dir().join("files/.quarantine").exists());
    let download = format!("{theirs}/{}/download", paper["id"].as_str().unwrap());
    rival.get(&download).await.ok();
}

/// Returns a PDF of that length.
fn paper(length: usize) -> Value {
    let mut content = PDF.to_vec();
    content.resize(length, b' ');
    json!({"file": base64(&content)})
}

/// Asserts that an upload is refused for lack of room, in a message that names both figures.
fn has_no_room(answer: &harness::Answer, limit: &str, taken: &str) {
    answer.invalid(&["file"]);
    let error = answer.json()["error"].take();
    let message = error["details"]["errors"][0]["message"].as_str().unwrap();
    for figure in [format!("of {limit} MB"), format!(" {taken} MB")] {
        assert!(message.contains(&figure), "{message}");
    }
}

async fn a_business_has_room_for_so_much(engine: Engine) {
    let (shop, documents) = documents(engine).await;
    let media = documents.replace("/documents", "/media");
    let limit = |megabytes: Value| json!({"settings": {"storage_limit_mb": megabytes}});
    shop.business.change(limit(json!(1))).await;
    let (half, third) = (paper(512 * 1024), paper(350 * 1024));
    let first = eventually("the limit has its effect", TIMEOUT, async || {
        let first = send(&shop.api, &documents, &half).await.created();
        let second = send(&shop.api, &documents, &paper(600 * 1024)).await;
        if second.status == 422 {
            has_no_room(&second, "1", "0.5");
            return Ok(first);
        }
        for document in [first, second.created()] {
            let path = format!("{documents}/{}", document["id"].as_str().unwrap());
            shop.api.delete(&path).await.ok();
        }
        Err(())
    })
    .await;
    send(&shop.api, &documents, &third).await.created();
    has_no_room(&send(&shop.api, &documents, &third).await, "1", "0.8");
    // Photos count with their copies, and so do photos of drives.
    let photo = json!({"file": base64(&noise(600, 600))});
    has_no_room(&send(&shop.api, &media, &photo).await, "1", "0.8");
    assert!(shop.api.list(&media).await.items.is_empty());
    let report = checked(&shop).await;
    assert_eq!(
        (&report["files"], &report["orphans"]),
        (&json!(2), &json!([])),
        "what was refused is not kept"
    );
    // A deletion makes room.
    let path = format!("{documents}/{}", first["id"].as_str().unwrap());
    shop.api.delete(&path).await.ok();
    send(&shop.api, &documents, &half).await.created();
    // Another business has room of its own.
    let rival = shop.rival().await;
    let vehicle = rival.post("/2.0/vehicles", &json!({})).await.created();
    let theirs = format!("/2.0/vehicles/{}/documents", vehicle["id"]);
    send(&rival, &theirs, &paper(2 << 20)).await.created();
    // Without a limit there is room for all.
    shop.business.change(limit(json!(0))).await;
    eventually("there is no limit any more", TIMEOUT, async || {
        let answer = send(&shop.api, &documents, &paper(2 << 20)).await;
        if answer.status == 201 {
            Ok(())
        } else {
            Err(answer.status)
        }
    })
    .await;
}

async fn uploads_at_the_same_time_do_not_share_room(engine: Engine) {
    let (shop, documents) = documents(engine).await;
    shop.business.change(json!({"settings": {"storage_limit_mb": 1}})).await;
    eventually("the limit has its effect", TIMEOUT, async || {
        let answer = send(&shop.api, &documents, &paper(2 << 20)).await;
        if answer.status == 422 {
            return Ok(());
        }
        let path = format!("{documents}/{}", answer.created()["id"].as_str().unwrap());
        shop.api.delete(&path).await.ok();
        Err(answer.status)
    })
    .await;
    let mut uploads = JoinSet::new();
    for _ in 0..8 {
        let vehicle = shop.api.post("/2.0/vehicles", &json!({})).await.created();
        let (client, path) = (shop.api.clone(), format!("/2.0/vehicles/{}/documents", vehicle["id"]));
        uploads.spawn(async move { send(&client, &path, &paper(300 * 1024)).await.status });
    }
    let kept = uploads
        .join_all()
        .await
        .into_iter()
        .filter(|status| *status == 201)
        .count();
    assert_eq!(kept, 3);
}

/// Returns a picture that no format compresses well.
fn noise(width: u32, height: u32) -> Vec<u8> {
    let mut state = 7_u32;
    let picture = image::RgbImage::from_fn(width, height, |_, _| {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        image::Rgb([next(), next(), next()])
    });
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 8).unwrap();
    [&length.to_be_bytes(), kind.as_slice(), content].concat()
}

async fn videos_say_nothing_of_where_they_were_made(engine: Engine) {
    const PLACE: &[u8] = b"+51.5074-000.1278/";
    let (shop, media) = media(engine).await;
    let drives = format!("{}/test-drives", crate::vehicles_record::courtesy(&shop).await);
    let contact = shop.api.post("/2.0/contacts", &json!({"name": "Ann"})).await.created();
    shop.api
        .post(&drives, &json!({"contact": contact["id"]}))
        .await
        .created();
    let xyz = boxed(b"\xa9xyz", PLACE);
    let keys = boxed(b"keys", b"com.apple.quicktime.location.ISO6709");
    let meta = boxed(b"meta", &[keys, boxed(b"ilst", PLACE)].concat());
    let moov = [
        boxed(b"mvhd", &[1; 100]),
        boxed(b"udta", &[xyz.clone(), meta.clone()].concat()),
        meta,
    ]
    .concat();
    let xmp = boxed(
        b"uuid",
        &[
            b"\xbe\x7a\xcf\xcb\x97\xa9\x42\xe8\x9c\x71\x99\x94\x91\xe3\xaf\xac",
            PLACE,
        ]
        .concat(),
    );
    for brand in [b"isom", b"qt  "] {
        let head = [brand.as_slice(), &[0, 0, 2, 0], brand].concat();
        let samples = boxed(b"mdat", &[9; 5_000]);
        let video = [
            boxed(b"ftyp", &head),
            boxed(b"moov", &moov),
            samples.clone(),
            xmp.clone(),
        ]
        .concat();
        let body = json!({"file": base64(&video), "filename": "walk round"});
        let shown = send(&shop.api, &media, &body).await.created();
        let driven = shop.api.post(&format!("{drives}/photo"), &body).await.created();
        let extension = if brand == b"isom" { "mp4" } else { "mov" };
        assert_eq!(driven["filename"], format!("walk round.{extension}"));
        for url in [&shown["url"], &driven["url"]] {
            let served = shop.server.anonymous().get(&path_in(url)).await;
            let served = (served.status, served.body);
            assert_eq!((served.0, served.1.len()), (200, video.len()));
            let has = |part: &[u8]| served.1.windows(part.len()).position(|window| window == part);
            assert_eq!(has(PLACE), None);
            assert_eq!(has(b"com.apple"), None);
            assert_eq!(
                has(&samples),
                video.windows(samples.len()).position(|window| window == samples)
            );
        }
    }
}

async fn strays_are_reported(engine: Engine) {
    let (shop, documents) = documents(engine).await;
    send(&shop.api, &documents, &json!({"file": base64(PDF)}))
        .await
        .created();
    let report = checked(&shop).await;
    assert_eq!(report, json!({"files": 1, "missing": [], "orphans": []}));
    std::fs::remove_dir_all(shop.installation().data_dir().join("files")).unwrap();
    let report = checked(&shop).await;
    assert_eq!(report["missing"].as_array().unwrap().len(), 1);
}

/// Returns the report of `forecourt files check`.
async fn checked(shop: &Shop) -> Value {
    shop.installation().run(["files", "check", "--json"]).await.json()
}
