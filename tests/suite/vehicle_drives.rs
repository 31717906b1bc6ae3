//! Test drives: from the start to the end, the signature, the mail and the photos.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use harness::{Answer, Engine, PostOffice, Shop, both_engines, eventually, now, wait_for};
use image::{DynamicImage, ImageFormat};
use serde_json::{Value, json};
use std::io::Cursor;
use tokio::task::JoinSet;

use crate::vehicles_record::{a_car, path};

both_engines! {
    a_drive_starts_and_ends
    a_drive_copies_what_is_known_of_its_driver
    one_drive_is_active_at_a_time
    what_needs_a_drive_says_so
    what_is_wrong_with_a_start_is_reported_at_once
    terms_are_signed
    terms_are_mailed
    a_disconnected_caller_leaves_no_unrecorded_mail
    a_mail_that_fails_is_an_answer_of_its_own
    photos_belong_to_the_drive
    drives_have_scopes_and_belong_to_one_business
    an_erased_contact_leaves_its_drives
}

const TERMS: &str = "Return it with a full tank.\nNo smoking.";
/// How long the background may take on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

struct Yard {
    shop: Shop,
    vehicle: String,
    drives: String,
    contact: Value,
}

impl Yard {
    async fn open(engine: Engine) -> Self {
        Self::of(Shop::open(engine).await).await
    }

    async fn of(shop: Shop) -> Self {
        let terms = json!({"settings": {"test_drive_terms": TERMS}});
        shop.business.change(terms).await;
        let vehicle = path(&shop, &a_car()).await;
        let body = json!({"name": "Ann Quillfeather", "email": "ann@quillfeather.example", "ni": "QQ123456C",
            "dob": "1980-02-29", "license": {"number": "QUILL802290AB9CD"}});
        let contact = shop.api.post("/2.0/contacts", &body).await.created()["id"].take();
        let drives = format!("{vehicle}/test-drives");
        Self {
            shop,
            vehicle,
            drives,
            contact,
        }
    }

    async fn start(&self, body: Value) -> Answer {
        let mut body = body;
        body["contact"] = self.contact.clone();
        self.shop.api.post(&self.drives, &body).await
    }

    async fn step(&self, step: &str, body: &Value) -> Answer {
        self.shop.api.post(&format!("{}/{step}", self.drives), body).await
    }
}

fn picture(format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::new_rgb8(40, 20).write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn signature() -> Value {
    let image = BASE64_STANDARD.encode(picture(ImageFormat::Png));
    json!({"name": "Ann Quillfeather", "signature": format!("data:image/png;base64,{image}")})
}

async fn a_drive_starts_and_ends(engine: Engine) {
    let yard = Yard::open(engine).await;
    let body = json!({"license_number": "X1", "license_code": "abc", "return_date": "2035-12-31", "return_time": "16:30",
        "fuel": 75, "note": "Two keys", "condition": "Scratch", "location": 1, "consent": true});
    let answer = yard.start(body).await;
    let active = format!("{}/active", yard.drives);
    assert_eq!(answer.header("Location"), Some(&*active));
    let drive = answer.created();
    let expected = json!({"active": true, "contact": yard.contact, "license_number": "X1", "license_code": "abc",
        "return_date": "2035-12-31", "return_time": "16:30", "fuel": 75, "note": "Two keys", "condition": "Scratch",
        "location": 1, "location_name": "Front", "consent": true, "photo": [], "esign": null, "ended": null});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(drive[name], *value, "{name}");
    }
    assert!(drive["code"].as_str().is_some_and(|code| !code.is_empty()));
    assert!((now() - drive["started"].as_i64().unwrap()).abs() < 60);
    assert_eq!(yard.shop.api.get(&active).await.ok(), drive);
    let list = yard.shop.api.list(&format!("{}?view=full", yard.drives)).await;
    assert_eq!(
        (&list.items, &list.pagination["total"]),
        (&vec![drive.clone()], &json!(1))
    );

    let ended = yard.step("end", &json!({})).await.ok();
    assert_eq!((&ended["active"], &ended["code"]), (&json!(false), &drive["code"]));
    assert!(ended["ended"].as_i64() >= drive["started"].as_i64());
    assert_eq!(
        yard.shop.api.list("/2.0/events?resource=vehicle").await.items.len(),
        1,
        "drives emit nothing"
    );
}

async fn a_drive_copies_what_is_known_of_its_driver(engine: Engine) {
    let yard = Yard::open(engine).await;
    let drive = yard.start(json!({})).await.created();
    assert_eq!(
        ["license_number", "ni", "dob"].map(|name| drive[name].clone()),
        [json!("QUILL802290AB9CD"), json!("QQ123456C"), json!("1980-02-29")]
    );
    assert_eq!((&drive["consent"], &drive["location"]), (&json!(false), &Value::Null));
}

async fn one_drive_is_active_at_a_time(engine: Engine) {
    let yard = Yard::open(engine).await;
    let mut starts = JoinSet::new();
    for _ in 0..50 {
        let (client, drives, contact) = (yard.shop.api.clone(), yard.drives.clone(), yard.contact.clone());
        starts.spawn(async move { client.post(&drives, &json!({"contact": contact})).await });
    }
    let answers = starts.join_all().await;
    let (started, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
    assert_eq!(started.len(), 1);
    for answer in refused {
        answer.refused(409, "vehicle_drive_active");
    }
    yard.step("end", &json!({})).await.ok();
    let again = yard.start(json!({})).await.created();
    let codes = yard.shop.api.list(&yard.drives).await.column("code");
    assert_eq!((codes.len(), &codes[0]), (2, &again["code"]), "newest first");
}

async fn what_needs_a_drive_says_so(engine: Engine) {
    let yard = Yard::open(engine).await;
    let photo = json!({"file": BASE64_STANDARD.encode(picture(ImageFormat::Jpeg))});
    for (step, body) in [
        ("end", json!({})),
        ("email", json!({})),
        ("esign", signature()),
        ("photo", photo),
    ] {
        yard.step(step, &body).await.refused(409, "vehicle_drive_not_active");
        let nowhere = format!("/2.0/vehicles/987654321/test-drives/{step}");
        yard.shop
            .api
            .post(&nowhere, &body)
            .await
            .refused(404, "vehicle_not_found");
    }
    let active = yard.shop.api.get(&format!("{}/active", yard.drives)).await;
    active.refused(409, "vehicle_drive_not_active");
    yard.step("esign", &json!({})).await.invalid(&["signature", "name"]);
    yard.step("photo", &json!({})).await.invalid(&["file"]);
}

async fn what_is_wrong_with_a_start_is_reported_at_once(engine: Engine) {
    let yard = Yard::open(engine).await;
    let body = json!({"contact": 987_654_321, "location": 99, "fuel": 101, "return_time": "25:00", "return_date": "x",
        "consent": "yes"});
    yard.shop.api.post(&yard.drives, &body).await.invalid(&[
        "contact",
        "location",
        "fuel",
        "return_time",
        "return_date",
        "consent",
    ]);
    yard.shop.api.post(&yard.drives, &json!({})).await.invalid(&["contact"]);
}

async fn terms_are_signed(engine: Engine) {
    let yard = Yard::open(engine).await;
    yard.start(json!({})).await.created();
    for wrong in [
        json!("data:image/gif;base64,R0lGODlhAQABAAAAACw="),
        json!("data:image/png;base64,R0lGODlhAQABAAAAACw="),
        json!(BASE64_STANDARD.encode(picture(ImageFormat::Png))),
        json!("Ann"),
        json!(5),
    ] {
        let body = json!({"name": "Ann", "signature": wrong});
        yard.step("esign", &body).await.invalid(&["signature"]);
    }
    let mut nameless = signature();
    nameless["name"] = " ".into();
    yard.step("esign", &nameless).await.invalid(&["name"]);

    let request = yard.shop.api.request("POST", &format!("{}/esign", yard.drives));
    let signed = request
        .header("User-Agent", "Tablet/1.0")
        .json(&signature())
        .send()
        .await
        .ok();
    let esign = &signed["esign"];
    assert_eq!(
        (&esign["name"], &esign["signature"]),
        (&signature()["name"], &signature()["signature"])
    );
    assert_eq!(
        (&esign["ip"], &esign["browser"]),
        (&json!("127.0.0.1"), &json!("Tablet/1.0"))
    );
    assert!((now() - esign["signed"].as_i64().unwrap()).abs() < 60);
    assert_eq!(esign["terms_md5"].as_str().map(str::len), Some(32));
    assert_eq!(esign["terms_sha1"].as_str().map(str::len), Some(40));
    let active = yard.shop.api.get(&format!("{}/active", yard.drives)).await.ok();
    assert_eq!(active["esign"], *esign);
}

async fn terms_are_mailed(engine: Engine) {
    let office = PostOffice::open().await;
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
    let yard = Yard::of(shop).await;
    let drive = yard.start(json!({})).await.created();
    let send = || {
        yard.shop
            .api
            .request("POST", &format!("{}/email", yard.drives))
            .key("once")
    };
    let sent = send().send().await.ok();
    let expected =
        json!({"code": drive["code"], "contact": yard.contact, "email": "ann@quillfeather.example", "sent": true});
    assert_eq!(sent, expected);
    assert_eq!(send().send().await.ok(), expected);
    let letters = office.letters();
    assert_eq!(letters.len(), 1, "a retry sends none");
    assert!(letters[0].content.contains("No smoking."));
    let nobody = json!({"email": ""});
    yard.shop
        .api
        .patch(&format!("/2.0/contacts/{}", yard.contact), &nobody)
        .await
        .ok();
    yard.step("email", &json!({})).await.invalid(&["contact"]);
}

async fn a_disconnected_caller_leaves_no_unrecorded_mail(engine: Engine) {
    let office = PostOffice::silent().await;
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
    let yard = Yard::of(shop).await;
    yard.start(json!({})).await.created();
    let mail = format!("{}/email", yard.drives);
    let send = || tokio::spawn(yard.shop.api.request("POST", &mail).key("once").send());
    let given_up = send();
    wait_for("a letter is posted", TIMEOUT, async || office.letters().len() == 1).await;
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    let retry = send();
    office.answer();
    let retry = retry.await.unwrap();
    retry.ok();
    assert_eq!(retry.header("X-Idempotent-Replay"), Some("true"));
    assert_eq!(office.letters().len(), 1);
}

async fn a_mail_that_fails_is_an_answer_of_its_own(engine: Engine) {
    // Nothing listens there.
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", "smtp://127.0.0.1:1")).await;
    let yard = Yard::of(shop).await;
    yard.start(json!({})).await.created();
    let failed = yard.step("email", &json!({})).await;
    failed.refused(502, "vehicle_drive_email_failed");
}

async fn photos_belong_to_the_drive(engine: Engine) {
    let yard = Yard::open(engine).await;
    yard.start(json!({})).await.created();
    let photo = json!({"file": BASE64_STANDARD.encode(picture(ImageFormat::Jpeg)), "filename": "front.jpg"});
    let photo = yard.step("photo", &photo).await.created();
    assert_eq!(
        (&photo["filename"], &photo["video"]),
        (&json!("front.jpg"), &json!(false))
    );
    for address in ["url", "thumbnail_url"] {
        let address = photo[address].as_str().unwrap();
        let shown = yard
            .shop
            .server
            .anonymous()
            .get(&address[address.find("/files/").unwrap()..])
            .await;
        assert_eq!(shown.status, 200);
    }
    let video = [b"\0\0\0\x14ftypqt  \0\0\0\0".as_slice(), &[7; 1000]].concat();
    let form = [
        b"--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"walk round.mov\"\r\n\r\n".as_slice(),
        &video,
        b"\r\n--X--\r\n",
    ]
    .concat();
    let video = yard
        .shop
        .api
        .request("POST", &format!("{}/photo", yard.drives))
        .header("Content-Type", "multipart/form-data; boundary=X")
        .body(form);
    let video = video.send().await.created();
    assert_eq!(
        (&video["filename"], &video["video"]),
        (&json!("walk round.mov"), &json!(true))
    );
    let drive = yard.shop.api.get(&format!("{}/active", yard.drives)).await.ok();
    assert_eq!(drive["photo"], json!([photo, video]));
    let paper = json!({"file": BASE64_STANDARD.encode("%PDF-1.4")});
    yard.step("photo", &paper).await.invalid(&["file"]);
    let damaged = picture(ImageFormat::Jpeg);
    let damaged = json!({"file": BASE64_STANDARD.encode(&damaged[..damaged.len() / 2])});
    yard.step("photo", &damaged)
        .await
        .refused(422, "vehicle_drive_photo_failed");
}

async fn drives_have_scopes_and_belong_to_one_business(engine: Engine) {
    let yard = Yard::open(engine).await;
    yard.start(json!({})).await.created();
    let reader = yard.shop.client("vehicle-drives:read").await;
    assert_eq!(reader.list(&yard.drives).await.items.len(), 1);
    reader.get(&format!("{}/active", yard.drives)).await.ok();
    let end = format!("{}/end", yard.drives);
    reader.post(&end, &json!({})).await.refused(403, "scope_denied");
    let writer = yard.shop.client("vehicle-drives:write").await;
    writer.get(&yard.drives).await.refused(403, "scope_denied");
    writer.post(&end, &json!({})).await.ok();
    let rival = yard.shop.rival().await;
    rival.get(&yard.drives).await.refused(404, "vehicle_not_found");
    let stranger = rival.post(&yard.drives, &json!({"contact": 1})).await;
    assert!(matches!(stranger.status, 404 | 422));
}

async fn an_erased_contact_leaves_its_drives(engine: Engine) {
    let yard = Yard::open(engine).await;
    yard.start(json!({"note": "Ann Quillfeather is careful"}))
        .await
        .created();
    yard.step("esign", &signature()).await.ok();
    yard.step("end", &json!({})).await.ok();
    yard.shop
        .api
        .delete(&format!("/2.0/contacts/{}", yard.contact))
        .await
        .ok();
    eventually("the drive forgets its driver", TIMEOUT, async || {
        let drive = yard
            .shop
            .api
            .list(&format!("{}?view=full", yard.drives))
            .await
            .items
            .remove(0);
        let text = drive.to_string();
        if ["Quillfeather", "QUILL", "QQ123456C", "1980"]
            .iter()
            .any(|trace| text.contains(trace))
        {
            return Err(drive);
        }
        assert_eq!(drive["contact"], Value::Null);
        Ok(())
    })
    .await;
    yard.shop.api.get(&yard.vehicle).await.ok();
}
