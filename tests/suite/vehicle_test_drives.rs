//! Test drives of a vehicle: start, signature, mail, photos and end, and the data that remains when the contact is deleted.

use std::time::Duration;

use harness::{Answer, Client, Engine, PostOffice, Shop, both_engines, eventually, now, today};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::contacts_record::CONTACTS;
use crate::vehicle_media::{
    EXE, GIF, HTML, LARGEST, MULTIPART, PDF, Part, base64, data_url, fetch, file, file_path, file_refused, heic, jpeg,
    long_jpeg, mov, mp4, multipart, png, png_bomb, post_form, webp,
};
use crate::vehicles_record::{VEHICLES, courtesy};

both_engines! {
    a_drive_starts_with_what_is_said
    a_drive_has_every_member_of_the_contract
    a_drive_of_nothing_but_a_contact_has_defaults
    a_drive_shows_what_the_contact_says
    what_was_created_has_a_location
    a_vehicle_has_one_active_drive
    two_vehicles_are_driven_at_the_same_time
    of_100_starts_at_the_same_time_one_is_made
    the_active_drive_is_read
    a_drive_ends
    after_its_end_another_drive_starts
    without_a_drive_nothing_is_done
    after_its_end_nothing_is_done
    an_unknown_contact_drives_nothing
    an_unknown_location_is_refused
    a_drive_is_signed
    a_signature_keeps_where_it_came_from
    an_address_is_believed_of_a_trusted_proxy_alone
    a_signature_names_the_terms_by_their_hashes
    later_terms_leave_a_signature_as_it_is
    a_signature_is_a_png_or_a_jpeg
    a_signature_of_something_else_is_refused
    a_signature_needs_a_name
    the_terms_are_mailed
    the_terms_go_to_the_mail_server
    a_mail_that_is_refused_is_reported
    a_retry_sends_no_second_mail
    a_photo_is_attached_by_json
    a_photo_is_attached_by_multipart
    a_photo_needs_no_name
    a_film_is_attached
    a_part_of_a_film_is_sent
    the_photos_of_a_drive_are_in_it
    a_photo_is_of_the_drive_that_was_active
    other_files_are_refused_whatever_their_name
    a_photo_body_needs_the_part_file
    a_photo_has_at_most_25_megabytes
    a_deleted_vehicle_has_no_drives
    a_retry_attaches_one_photo
    a_retry_ends_once
    a_deleted_contact_is_erased_from_drives
    a_deleted_contact_is_erased_from_stored_answers
}

/// The maximum time for due background work.
const TIMEOUT: Duration = Duration::from_secs(120);
const NOT_ACTIVE: &str = "vehicle_drive_not_active";
const PHOTO_FAILED: &str = "vehicle_drive_photo_failed";
const TERMS: &str = "I bring the car back on time. The excess is £250.";
const TERMS_MD5: &str = "158095f21ef9d52c61193805be402296";
const TERMS_SHA1: &str = "51c3cc6f70707bfd110306e28444065e39afabcf";
/// Terms that a mail contains unchanged in any encoding of text.
const PLAIN_TERMS: &str = "Zebrawood is not to be scratched.";

/// Opens a shop whose business has these terms.
async fn shop_with_terms(engine: Engine, terms: &str) -> Shop {
    let shop = Shop::open(engine).await;
    shop.business
        .change(json!({"settings": {"test_drive_terms": terms}}))
        .await;
    shop
}

/// Creates a vehicle that can be driven; returns the path of its drives.
async fn drives(shop: &Shop) -> String {
    format!("{}/test-drives", courtesy(shop).await)
}

/// Creates a contact with every field; returns its id.
async fn contact(client: &Client) -> Value {
    let body = json!({
        "name": "Ann Quillfeather", "email": "ann@quillfeather.example", "dob": "1980-05-17", "ni": "QQ 805170",
        "license": {"number": "QUILL805170", "code": "Q7", "checked": "2026-02-28", "checked_by": 1},
    });
    client.post(CONTACTS, &body).await.created()["id"].take()
}

async fn start(shop: &Shop, drives: &str, body: &Value) -> Answer {
    shop.api.post(drives, body).await
}

/// Starts a drive by a new contact; returns the drive.
async fn started(shop: &Shop, drives: &str) -> Value {
    let body = json!({"contact": contact(&shop.api).await});
    start(shop, drives, &body).await.created()
}

async fn active(shop: &Shop, drives: &str) -> Value {
    shop.api.get(&format!("{drives}/active")).await.ok()
}

async fn end(shop: &Shop, drives: &str) -> Answer {
    shop.api.request("POST", &format!("{drives}/end")).send().await
}

async fn sign(shop: &Shop, drives: &str, body: &Value) -> Answer {
    shop.api.post(&format!("{drives}/esign"), body).await
}

async fn mail(shop: &Shop, drives: &str) -> Answer {
    shop.api.request("POST", &format!("{drives}/email")).send().await
}

async fn attach(shop: &Shop, drives: &str, body: &Value) -> Answer {
    shop.api.post(&format!("{drives}/photo"), body).await
}

/// Returns the body that signs a drive.
fn a_signature() -> Value {
    json!({"name": "Ann Quillfeather", "signature": data_url("image/png", &png(60, 20))})
}

/// Returns the body that adds a photo.
fn a_photo() -> Value {
    json!({"file": base64(&jpeg(120, 80)), "filename": "front.jpg"})
}

/// Returns true if a member has no value.
fn is_unset(value: &Value) -> bool {
    value.is_null() || *value == "" || *value == 0
}

/// Returns a mail with its long lines joined again.
fn unfolded(mail: &str) -> String {
    mail.replace("=\r\n", "").replace("=\n", "")
}

// --- Starting, reading, ending ---

async fn a_drive_starts_with_what_is_said(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let begin = now();
    let body = json!({
        "contact": contact(&shop.api).await, "license_number": "MORGA657054SM9IJ", "license_code": "12 AB",
        "return_date": today(1), "return_time": "17:30", "fuel": 5, "note": "Wants to try the motorway",
        "condition": "A scratch on the left door", "location": 1, "consent": true,
    });
    let drive = start(&shop, &drives, &body).await.created();
    for (member, value) in body.as_object().unwrap() {
        assert_eq!(&drive[member], value, "{member}");
    }
    assert_eq!(drive["location_name"], "Front");
    assert_eq!(drive["active"], true);
    let code = drive["code"].as_str().unwrap();
    assert!(!code.is_empty());
    let started = drive["started"].as_i64().unwrap();
    assert!((begin..=now()).contains(&started), "{started}");
    assert!(is_unset(&drive["ended"]), "{drive}");
    assert_eq!(active(&shop, &drives).await, drive);
}

async fn a_drive_has_every_member_of_the_contract(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    sign(&shop, &drives, &a_signature()).await.ok();
    attach(&shop, &drives, &a_photo()).await.created();
    end(&shop, &drives).await.ok();
    let drive = shop.api.list(&format!("{drives}?view=full")).await.items[0].clone();
    let has = |member: &str| drive.as_object().unwrap().contains_key(member);
    let texts = [
        "license_number",
        "license_code",
        "ni",
        "note",
        "condition",
        "license_checked_by",
        "location_name",
    ];
    for member in texts.into_iter().chain(["code"]) {
        assert!(drive[member].is_string(), "{member}: {drive}");
    }
    for member in ["active", "consent"] {
        assert!(drive[member].is_boolean(), "{member}: {drive}");
    }
    for member in ["contact", "started", "ended"] {
        assert!(drive[member].is_i64(), "{member}: {drive}");
    }
    for member in [
        "dob",
        "license_checked",
        "return_date",
        "return_time",
        "fuel",
        "location",
    ] {
        assert!(has(member), "{member}: {drive}");
    }
    for member in ["name", "signature", "ip", "browser", "terms_md5", "terms_sha1"] {
        assert!(drive["esign"][member].is_string(), "esign.{member}: {drive}");
    }
    assert!(drive["esign"]["signed"].is_i64(), "{drive}");
    let photo = &drive["photo"][0];
    for member in ["filename", "url"] {
        assert!(photo[member].is_string(), "photo.{member}: {drive}");
    }
    assert_eq!(photo["video"], false);
    assert!(photo.get("thumbnail_url").is_some(), "{drive}");
}

async fn a_drive_of_nothing_but_a_contact_has_defaults(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let contact = shop.api.post(CONTACTS, &json!({"name": "Bea"})).await.created();
    let body = json!({"contact": contact["id"]});
    let drive = start(&shop, &drives, &body).await.created();
    assert_eq!(
        (&drive["contact"], &drive["active"], &drive["consent"], &drive["photo"]),
        (&contact["id"], &json!(true), &json!(false), &json!([]))
    );
    for member in [
        "license_number",
        "license_code",
        "ni",
        "note",
        "condition",
        "license_checked_by",
        "location_name",
    ] {
        assert_eq!(drive[member], "", "{member}");
    }
    for member in [
        "dob",
        "license_checked",
        "return_date",
        "return_time",
        "fuel",
        "location",
        "ended",
    ] {
        assert!(is_unset(&drive[member]), "{member}: {drive}");
    }
    let esign = &drive["esign"];
    for member in ["name", "signature", "signed", "ip", "browser"] {
        assert!(is_unset(&esign[member]), "esign.{member}: {drive}");
    }
}

async fn a_drive_shows_what_the_contact_says(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let drive = started(&shop, &drives).await;
    for (member, value) in [
        ("ni", "QQ 805170"),
        ("dob", "1980-05-17"),
        ("license_number", "QUILL805170"),
        ("license_code", "Q7"),
        ("license_checked", "2026-02-28"),
    ] {
        assert_eq!(drive[member], value, "{member}");
    }
    assert_ne!(drive["license_checked_by"], "");
}

async fn what_was_created_has_a_location(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let body = json!({"contact": contact(&shop.api).await});
    let answer = start(&shop, &drives, &body).await;
    let mut drive = answer.created();
    let path = format!("{drives}/{}", drive["code"].as_str().unwrap());
    assert_eq!(answer.header("Location"), Some(&*path));
    assert_eq!(shop.api.get(&path).await.ok(), drive);
    let photo = attach(&shop, &drives, &a_photo()).await;
    assert_eq!((photo.status, photo.header("Location")), (201, None));
    end(&shop, &drives).await.ok();
    let ended = shop.api.get(&path).await.ok();
    assert_eq!((&ended["code"], &ended["active"]), (&drive["code"], &json!(false)));
    eventually("what was just read is not sent again", TIMEOUT, async || {
        let read = shop.api.get(&path).await;
        let known = shop
            .api
            .request("GET", &path)
            .header("If-None-Match", read.header("ETag").unwrap());
        // The addresses of photos change with the minute.
        let status = known.send().await.status;
        if status == 304 { Ok(()) } else { Err(status) }
    })
    .await;
    let code = drive["code"].take();
    let narrow = shop.api.get(&format!("{path}?fields=code")).await.ok();
    assert_eq!(narrow, json!({"code": code}));
    for other in ["22222222", "nonsense", "%00", "2222222%C3%89"] {
        let absent = shop.api.get(&format!("{drives}/{other}")).await;
        absent.refused(404, "vehicle_drive_not_found");
        let nowhere = shop.api.get(&format!("{VEHICLES}/987654321/test-drives/{other}")).await;
        nowhere.refused(404, "vehicle_not_found");
    }
    let elsewhere = self::drives(&shop).await;
    let elsewhere = shop.api.get(&format!("{elsewhere}/{}", code.as_str().unwrap())).await;
    elsewhere.refused(404, "vehicle_drive_not_found");
    let writer = shop.client("vehicle-drives:write").await;
    writer.get(&path).await.refused(403, "scope_denied");
}

async fn a_vehicle_has_one_active_drive(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let drive = started(&shop, &drives).await;
    let body = json!({"contact": contact(&shop.api).await, "note": "Another"});
    start(&shop, &drives, &body).await.refused(409, "vehicle_drive_active");
    assert_eq!(active(&shop, &drives).await, drive);
    assert_eq!(shop.api.list(&drives).await.items.len(), 1);
}

async fn two_vehicles_are_driven_at_the_same_time(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (first, second) = (drives(&shop).await, drives(&shop).await);
    let codes = [started(&shop, &first).await, started(&shop, &second).await].map(|mut drive| drive["code"].take());
    assert_ne!(codes[0], codes[1]);
    end(&shop, &first).await.ok();
    assert_eq!(active(&shop, &second).await["code"], codes[1]);
}

async fn of_100_starts_at_the_same_time_one_is_made(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let contact = contact(&shop.api).await;
    let mut requests = JoinSet::new();
    for number in 0..100 {
        let (client, path) = (shop.api.clone(), drives.clone());
        let body = json!({"contact": contact, "note": format!("Request {number}")});
        requests.spawn(async move { client.post(&path, &body).await });
    }
    let (won, lost): (Vec<Answer>, Vec<Answer>) = requests
        .join_all()
        .await
        .into_iter()
        .partition(|answer| answer.status == 201);
    assert_eq!((won.len(), lost.len()), (1, 99));
    for answer in lost {
        answer.refused(409, "vehicle_drive_active");
    }
    assert_eq!(active(&shop, &drives).await, won[0].created());
    assert_eq!(shop.api.list(&drives).await.items.len(), 1);
}

async fn the_active_drive_is_read(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let drive = started(&shop, &drives).await;
    assert_eq!(active(&shop, &drives).await, drive);
    let part = shop
        .api
        .get(&format!("{drives}/active?fields=code,esign.name"))
        .await
        .ok();
    assert_eq!(part["code"], drive["code"]);
    assert!(part.get("started").is_none(), "{part}");
    let head = shop.api.request("HEAD", &format!("{drives}/active")).send().await;
    assert_eq!((head.status, head.body.len()), (200, 0));
}

async fn a_drive_ends(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let drive = started(&shop, &drives).await;
    let begin = now();
    let ended = end(&shop, &drives).await.ok();
    assert_eq!((&ended["code"], &ended["active"]), (&drive["code"], &json!(false)));
    let at = ended["ended"].as_i64().unwrap();
    assert!((begin..=now()).contains(&at), "{at}");
    let list = shop.api.list(&drives).await;
    assert_eq!(list.items[0]["code"], drive["code"]);
    assert_eq!(list.items[0]["active"], false);
}

async fn after_its_end_another_drive_starts(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let first = started(&shop, &drives).await;
    sign(&shop, &drives, &a_signature()).await.ok();
    attach(&shop, &drives, &a_photo()).await.created();
    end(&shop, &drives).await.ok();
    let second = started(&shop, &drives).await;
    assert_ne!(first["code"], second["code"]);
    // It starts from the beginning.
    assert_eq!(second["photo"], json!([]));
    assert!(is_unset(&second["esign"]["name"]), "{second}");
    let list = shop.api.list(&drives).await;
    assert_eq!(list.column("active"), [json!(true), json!(false)]);
}

/// Asserts that no action on a drive is possible.
async fn nothing_is_done(shop: &Shop, drives: &str) {
    let read = shop.api.get(&format!("{drives}/active")).await;
    read.refused(409, NOT_ACTIVE);
    sign(shop, drives, &a_signature()).await.refused(409, NOT_ACTIVE);
    mail(shop, drives).await.refused(409, NOT_ACTIVE);
    attach(shop, drives, &a_photo()).await.refused(409, NOT_ACTIVE);
    let content = jpeg(120, 80);
    let form: [Part<'_>; 1] = [("file", Some("front.jpg"), &content)];
    let answer = post_form(&shop.api, &format!("{drives}/photo"), &form).await;
    answer.refused(409, NOT_ACTIVE);
    end(shop, drives).await.refused(409, NOT_ACTIVE);
    assert!(shop.installation().mails().is_empty());
}

async fn without_a_drive_nothing_is_done(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    nothing_is_done(&shop, &drives).await;
    assert!(shop.api.list(&drives).await.items.is_empty());
}

async fn after_its_end_nothing_is_done(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    end(&shop, &drives).await.ok();
    let before = shop.api.list(&drives).await.items;
    nothing_is_done(&shop, &drives).await;
    assert_eq!(shop.api.list(&drives).await.items, before);
}

// --- What is wrong with a start ---

async fn an_unknown_contact_drives_nothing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let rival = shop.rival().await;
    let theirs = rival.post(CONTACTS, &json!({"name": "Eve"})).await.created();
    for contact in [json!(987_654_321), json!(0), json!(-1), theirs["id"].clone()] {
        let body = json!({"contact": contact});
        start(&shop, &drives, &body).await.invalid(&["contact"]);
    }
    assert!(shop.api.list(&drives).await.items.is_empty());
}

async fn an_unknown_location_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let body = json!({"contact": contact(&shop.api).await, "location": 99});
    start(&shop, &drives, &body).await.invalid(&["location"]);
    assert!(shop.api.list(&drives).await.items.is_empty());
}

// --- Signing ---

async fn a_drive_is_signed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let before = started(&shop, &drives).await;
    let begin = now();
    let drive = sign(&shop, &drives, &a_signature()).await.ok();
    assert_eq!(drive["code"], before["code"]);
    assert_eq!(drive["esign"]["name"], "Ann Quillfeather");
    let signature = drive["esign"]["signature"].as_str().unwrap();
    assert!(!signature.is_empty());
    let signed = drive["esign"]["signed"].as_i64().unwrap();
    assert!((begin..=now()).contains(&signed), "{signed}");
    assert_eq!(active(&shop, &drives).await, drive);
}

async fn a_signature_keeps_where_it_came_from(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let request = shop.api.request("POST", &format!("{drives}/esign"));
    let request = request.header("User-Agent", "ShowroomTablet/7").json(&a_signature());
    let esign = request.send().await.ok()["esign"].take();
    assert_eq!(esign["ip"], "127.0.0.1");
    let browser = esign["browser"].as_str().unwrap();
    assert!(browser.contains("ShowroomTablet/7"), "{browser}");
}

async fn an_address_is_believed_of_a_trusted_proxy_alone(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    for (trusted, expected) in [(None, "127.0.0.1"), (Some("127.0.0.0/8"), "203.0.113.9")] {
        if let Some(trusted) = trusted {
            shop.server.restart_with("FORECOURT_TRUSTED_PROXIES", trusted).await;
        }
        let drives = drives(&shop).await;
        started(&shop, &drives).await;
        let request = shop.api.request("POST", &format!("{drives}/esign"));
        let request = request.header("X-Forwarded-For", "203.0.113.9").json(&a_signature());
        assert_eq!(request.send().await.ok()["esign"]["ip"], expected);
    }
}

async fn a_signature_names_the_terms_by_their_hashes(engine: Engine) {
    let shop = shop_with_terms(engine, TERMS).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let esign = sign(&shop, &drives, &a_signature()).await.ok()["esign"].take();
    let hash = |member: &str| esign[member].as_str().unwrap().to_lowercase();
    assert_eq!(hash("terms_md5"), TERMS_MD5);
    assert_eq!(hash("terms_sha1"), TERMS_SHA1);
}

async fn later_terms_leave_a_signature_as_it_is(engine: Engine) {
    let shop = shop_with_terms(engine, TERMS).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let before = sign(&shop, &drives, &a_signature()).await.ok()["esign"].take();
    shop.business
        .change(json!({"settings": {"test_drive_terms": PLAIN_TERMS}}))
        .await;
    // Within five seconds the server knows of the change: then other drives are signed under the new terms.
    let other = self::drives(&shop).await;
    started(&shop, &other).await;
    eventually("the new terms are signed", TIMEOUT, async || {
        let esign = sign(&shop, &other, &a_signature()).await.json()["data"]["esign"].take();
        if esign["terms_md5"].is_string() && esign["terms_md5"] != before["terms_md5"] {
            return Ok(());
        }
        end(&shop, &other).await.ok();
        started(&shop, &other).await;
        Err(esign)
    })
    .await;
    assert_eq!(active(&shop, &drives).await["esign"], before);
}

async fn a_signature_is_a_png_or_a_jpeg(engine: Engine) {
    let shop = Shop::open(engine).await;
    for signature in [
        data_url("image/png", &png(60, 20)),
        data_url("image/jpeg", &jpeg(60, 20)),
    ] {
        let drives = drives(&shop).await;
        started(&shop, &drives).await;
        let body = json!({"name": "Ann", "signature": signature});
        sign(&shop, &drives, &body).await.ok();
    }
}

async fn a_signature_of_something_else_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let before = started(&shop, &drives).await;
    let image = png(60, 20);
    for signature in [
        // No data URL, or none in base64.
        json!(base64(&image)),
        json!("Ann Quillfeather"),
        json!("https://example.com/signature.png"),
        json!("data:image/png;base64"),
        json!("data:image/png;base64,"),
        json!("data:image/png;base64,%%%"),
        json!(""),
        json!(5),
        json!(null),
        // Other images.
        json!(data_url("image/gif", GIF)),
        json!(data_url("image/webp", &webp(60, 20))),
        json!(data_url(
            "image/svg+xml",
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"
        )),
        json!(data_url("application/pdf", PDF)),
        // Data that is declared as an image, and is none of these.
        json!(data_url("image/png", GIF)),
        json!(data_url("image/png", &webp(60, 20))),
        json!(data_url("image/png", HTML)),
        json!(data_url("image/jpeg", b"plain text")),
        // Data that is an image, and is declared as something else.
        json!(data_url("text/html", &image)),
    ] {
        let body = json!({"name": "Ann Quillfeather", "signature": signature});
        sign(&shop, &drives, &body).await.invalid(&["signature"]);
    }
    assert_eq!(active(&shop, &drives).await, before);
}

async fn a_signature_needs_a_name(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let before = started(&shop, &drives).await;
    for name in [json!(null), json!(""), json!(5), json!(["Ann"]), json!("n".repeat(256))] {
        let mut body = a_signature();
        body["name"] = name;
        sign(&shop, &drives, &body).await.invalid(&["name"]);
    }
    let nameless = json!({"signature": a_signature()["signature"]});
    sign(&shop, &drives, &nameless).await.invalid(&["name"]);
    assert_eq!(active(&shop, &drives).await, before);
}

// --- Mailing ---

async fn the_terms_are_mailed(engine: Engine) {
    let shop = shop_with_terms(engine, PLAIN_TERMS).await;
    let drives = drives(&shop).await;
    let drive = started(&shop, &drives).await;
    let expected = json!({
        "code": drive["code"], "contact": drive["contact"], "email": "ann@quillfeather.example", "sent": true,
    });
    assert_eq!(mail(&shop, &drives).await.ok(), expected);
    let mails = shop.installation().mails();
    assert_eq!(mails.len(), 1, "it was sent before the answer");
    let mail = unfolded(&mails[0]);
    assert!(mail.contains("ann@quillfeather.example"), "{mail}");
    assert!(mail.contains("Zebrawood"), "{mail}");
}

async fn the_terms_go_to_the_mail_server(engine: Engine) {
    let office = PostOffice::open().await;
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    assert_eq!(mail(&shop, &drives).await.ok()["sent"], true);
    let letters = office.letters();
    assert_eq!(letters.len(), 1, "it was sent before the answer");
    let to = letters[0].to.concat();
    assert!(to.contains("ann@quillfeather.example"), "{to}");
}

async fn a_mail_that_is_refused_is_reported(engine: Engine) {
    // Nothing listens there.
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", "smtp://127.0.0.1:1")).await;
    let drives = drives(&shop).await;
    let before = started(&shop, &drives).await;
    let patience = Duration::from_secs(40);
    let failed = tokio::time::timeout(patience, mail(&shop, &drives)).await;
    failed.unwrap().refused(502, "vehicle_drive_email_failed");
    assert_eq!(active(&shop, &drives).await, before);
    assert!(!shop.server.log().contains("ann@quillfeather.example"));
}

async fn a_retry_sends_no_second_mail(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let what = format!("{drives}/email");
    let send = || shop.api.request("POST", &what).key("once").send();
    let (first, second) = tokio::join!(send(), send());
    assert_eq!(first.ok(), second.ok());
    assert_eq!(shop.installation().mails().len(), 1);
}

// --- Photos ---

async fn a_photo_is_attached_by_json(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let photo = attach(&shop, &drives, &a_photo()).await.created();
    let mut members: Vec<&String> = photo.as_object().unwrap().keys().collect();
    members.sort_unstable();
    assert_eq!(members, ["filename", "thumbnail_url", "url", "video"]);
    let filename = photo["filename"].as_str().unwrap();
    assert!(!filename.is_empty());
    assert_eq!(photo["video"], false);
    for url in [&photo["url"], &photo["thumbnail_url"]] {
        let answer = fetch(&shop, url).await;
        assert_eq!(answer.status, 200, "{url}");
        let format = image::guess_format(&answer.body).unwrap();
        assert_eq!(answer.header("Content-Type"), Some(format.to_mime_type()));
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"));
    }
    let served = image::load_from_memory(&file(&shop, &photo["url"]).await).unwrap();
    assert_eq!((served.width(), served.height()), (120, 80));
}

async fn a_photo_is_attached_by_multipart(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    for (name, content) in [
        ("front.jpg", jpeg(120, 80)),
        ("back.png", png(120, 80)),
        ("side.webp", webp(120, 80)),
    ] {
        let form: [Part<'_>; 1] = [("file", Some(name), &content)];
        let answer = post_form(&shop.api, &format!("{drives}/photo"), &form).await;
        let photo = answer.created();
        assert_eq!(photo["video"], false, "{name}");
        image::load_from_memory(&file(&shop, &photo["url"]).await).unwrap();
    }
}

async fn a_photo_needs_no_name(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    for body in [
        json!({"file": base64(&jpeg(120, 80))}),
        json!({"file": data_url("image/png", &png(120, 80)), "extension": "png"}),
        json!({"file": base64(&jpeg(120, 80)), "filename": "front", "extension": "jpg"}),
    ] {
        let photo = attach(&shop, &drives, &body).await.created();
        file(&shop, &photo["url"]).await;
    }
}

async fn a_film_is_attached(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    for (name, content, mime) in [
        ("round.mp4", mp4(), "video/mp4"),
        ("round.mov", mov(), "video/quicktime"),
    ] {
        let form: [Part<'_>; 1] = [("file", Some(name), &content)];
        let answer = post_form(&shop.api, &format!("{drives}/photo"), &form).await;
        let by_json = json!({"file": base64(&content), "filename": name});
        for film in [answer.created(), attach(&shop, &drives, &by_json).await.created()] {
            assert_eq!(film["video"], true, "{name}");
            let served = fetch(&shop, &film["url"]).await;
            assert_eq!((served.status, &served.body), (200, &content), "{name}");
            assert_eq!(served.header("Content-Type"), Some(mime), "{name}");
        }
    }
}

async fn a_part_of_a_film_is_sent(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let content = mp4();
    let body = json!({"file": base64(&content), "filename": "round.mp4"});
    let film = attach(&shop, &drives, &body).await.created();
    let request = shop.server.anonymous().request("GET", &file_path(&film["url"]));
    let part = request.header("Range", "bytes=4-11").send().await;
    assert_eq!((part.status, part.body.as_slice()), (206, &content[4..12]));
    let expected = format!("bytes 4-11/{}", content.len());
    assert_eq!(part.header("Content-Range"), Some(expected.as_str()));
}

async fn the_photos_of_a_drive_are_in_it(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let photo = attach(&shop, &drives, &a_photo()).await.created();
    let film = json!({"file": base64(&mp4()), "filename": "round.mp4"});
    let film = attach(&shop, &drives, &film).await.created();
    let is_there = |drive: &Value| {
        let seen = drive["photo"].as_array().unwrap().iter().zip([&photo, &film]);
        for (seen, sent) in seen {
            // The signature of an address changes with the minute.
            let path = |photo: &Value| file_path(&photo["url"]).split('?').next().unwrap().to_owned();
            assert_eq!(path(seen), path(sent));
            assert_eq!((&seen["filename"], &seen["video"]), (&sent["filename"], &sent["video"]));
        }
        assert_eq!(drive["photo"].as_array().unwrap().len(), 2);
    };
    is_there(&active(&shop, &drives).await);
    is_there(&end(&shop, &drives).await.ok());
    file(&shop, &photo["url"]).await;
}

async fn a_photo_is_of_the_drive_that_was_active(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    for _ in 0..2 {
        started(&shop, &drives).await;
        attach(&shop, &drives, &a_photo()).await.created();
        end(&shop, &drives).await.ok();
    }
    let list = shop.api.list(&format!("{drives}?view=full")).await;
    let photos = list.items.iter().map(|drive| drive["photo"].as_array().unwrap().len());
    assert_eq!(photos.collect::<Vec<_>>(), [1, 1]);
}

async fn other_files_are_refused_whatever_their_name(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let before = started(&shop, &drives).await;
    let (heic, bomb) = (heic(), png_bomb());
    let others: [(&str, &[u8]); 8] = [
        ("front.jpg", GIF),
        ("front.jpg", PDF),
        ("front.jpg", EXE),
        ("front.png", HTML),
        ("round.mp4", HTML),
        ("round.mp4", &heic),
        ("front.png", &bomb),
        ("front.jpg", b"plain text"),
    ];
    for (name, content) in others {
        let body = json!({"file": base64(content), "filename": name});
        file_refused(&attach(&shop, &drives, &body).await, PHOTO_FAILED);
        let form: [Part<'_>; 1] = [("file", Some(name), content)];
        let answer = post_form(&shop.api, &format!("{drives}/photo"), &form).await;
        file_refused(&answer, PHOTO_FAILED);
    }
    assert_eq!(active(&shop, &drives).await, before);
}

async fn a_photo_body_needs_the_part_file(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let content = jpeg(120, 80);
    let form: [Part<'_>; 1] = [("photo", Some("front.jpg"), &content)];
    let answer = post_form(&shop.api, &format!("{drives}/photo"), &form).await;
    answer.invalid(&["file"]);
}

async fn a_photo_has_at_most_25_megabytes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let photo = format!("{drives}/photo");
    let content = long_jpeg(LARGEST + 1);
    let form: [Part<'_>; 1] = [("file", Some("front.jpg"), &content)];
    post_form(&shop.api, &photo, &form).await.invalid(&["file"]);
    let body = json!({"file": base64(&content), "filename": "front.jpg"});
    attach(&shop, &drives, &body).await.invalid(&["file"]);
    let content = long_jpeg(LARGEST);
    let form: [Part<'_>; 1] = [("file", Some("front.jpg"), &content)];
    post_form(&shop.api, &photo, &form).await.created();
}

// --- Who may ---

/// Asserts that a client does not find the vehicle by any operation on its drives.
async fn finds_no_vehicle(client: &Client, drives: &str) {
    let code = "vehicle_not_found";
    let body = json!({"contact": contact(client).await});
    client.get(drives).await.refused(404, code);
    client.get(&format!("{drives}/active")).await.refused(404, code);
    client.post(drives, &body).await.refused(404, code);
    for (operation, body) in [
        ("esign", a_signature()),
        ("email", json!({})),
        ("photo", a_photo()),
        ("end", json!({})),
    ] {
        let answer = client.post(&format!("{drives}/{operation}"), &body).await;
        answer.refused(404, code);
    }
}

async fn a_deleted_vehicle_has_no_drives(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    shop.api.delete(drives.strip_suffix("/test-drives").unwrap()).await.ok();
    finds_no_vehicle(&shop.api, &drives).await;
}

// --- Retries ---

async fn a_retry_attaches_one_photo(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let what = format!("{drives}/photo");
    let body = a_photo();
    let by_json = || shop.api.request("POST", &what).key("json").json(&body).send();
    assert_eq!(by_json().await.created(), by_json().await.created());
    let content = jpeg(80, 120);
    let by_form = || {
        let request = shop
            .api
            .request("POST", &what)
            .key("form")
            .header("Content-Type", MULTIPART);
        request.body(multipart(&[("file", Some("front.jpg"), &content)])).send()
    };
    assert_eq!(by_form().await.created(), by_form().await.created());
    assert_eq!(active(&shop, &drives).await["photo"].as_array().unwrap().len(), 2);
}

async fn a_retry_ends_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    started(&shop, &drives).await;
    let what = format!("{drives}/end");
    let send = || shop.api.request("POST", &what).key("once").send();
    let first = send().await.ok();
    let second = started(&shop, &drives).await;
    // The retry returns the result of the first, and does not affect the second.
    let replay = send().await;
    assert_eq!(replay.header("X-Idempotent-Replay"), Some("true"));
    assert_eq!(replay.ok(), first);
    assert_eq!(active(&shop, &drives).await, second);
}

// --- Erasure ---

/// Text that shows who drove.
const PERSONAL: [&str; 4] = ["Quillfeather", "QUILL805170", "QQ 805170", "1980-05-17"];

/// Waits until the result of `read` no longer shows who drove; returns it.
async fn erased(what: &str, mut read: impl AsyncFnMut() -> Value) -> Value {
    eventually(what, TIMEOUT, async || {
        let left = read().await;
        let text = left.to_string();
        if PERSONAL.iter().any(|part| text.contains(part)) {
            Err(left)
        } else {
            Ok(left)
        }
    })
    .await
}

async fn a_deleted_contact_is_erased_from_drives(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (drives, other) = (drives(&shop).await, drives(&shop).await);
    let contact = contact(&shop.api).await;
    let body = json!({"contact": contact, "license_number": "QUILL805170", "license_code": "Q7"});
    // One of their drives is over, one is active, and one is another's.
    start(&shop, &drives, &body).await.created();
    sign(&shop, &drives, &a_signature()).await.ok();
    end(&shop, &drives).await.ok();
    start(&shop, &drives, &body).await.created();
    let bea = shop.api.post(CONTACTS, &json!({"name": "Bea"})).await.created();
    let bea = json!({"contact": bea["id"], "license_number": "BEA99"});
    let kept = start(&shop, &other, &bea).await.created();

    shop.api.delete(&format!("{CONTACTS}/{contact}")).await.ok();
    let left = erased("the drives name nobody", async || {
        let list = shop.api.get(&format!("{drives}?view=full")).await.ok();
        json!({"list": list, "active": active(&shop, &drives).await})
    })
    .await;
    let list = left["list"].as_array().unwrap();
    assert_eq!(list.len(), 2, "the drives themselves stay");
    for drive in list {
        assert!(is_unset(&drive["contact"]), "{drive}");
        for member in ["license_number", "ni", "dob"] {
            assert!(is_unset(&drive[member]), "{member}: {drive}");
        }
        assert!(is_unset(&drive["esign"]["name"]), "{drive}");
        assert!(is_unset(&drive["esign"]["signature"]), "{drive}");
    }
    assert_eq!(active(&shop, &other).await, kept);
}

async fn a_deleted_contact_is_erased_from_stored_answers(engine: Engine) {
    let shop = Shop::open(engine).await;
    let drives = drives(&shop).await;
    let contact = contact(&shop.api).await;
    let body = json!({"contact": contact});
    let send = || shop.api.request("POST", &drives).key("once").json(&body).send();
    send().await.created();
    shop.api.delete(&format!("{CONTACTS}/{contact}")).await.ok();
    erased("the answer names nobody", async || send().await.json()).await;
}
