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
    photos_are_for_keys_and_signed_addresses_alone
    what_is_copied_of_a_contact_is_for_those_who_read_contacts
    a_location_is_named_by_its_id_or_its_number
    what_can_be_driven_is_stock_or_courtesy
    an_erased_contact_leaves_its_drives
}

const TERMS: &str = "Return it with a full tank.\nNo smoking.";
/// The maximum time for background work on a busy machine.
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
        let channels = json!({"channels": ["website"]});
        shop.api.put(&format!("{vehicle}/channels"), &channels).await.ok();
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
        2,
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
    yard.step("esign", &signature())
        .await
        .refused(409, "vehicle_drive_signed");
    yard.step("esign", &json!({})).await.invalid(&["signature", "name"]);
    let after = yard.shop.api.get(&format!("{}/active", yard.drives)).await.ok();
    assert_eq!(after["esign"], *esign);
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
    assert_eq!(names(&drive["photo"]), names(&json!([photo, video])));
    let paper = json!({"file": BASE64_STANDARD.encode("%PDF-1.4")});
    yard.step("photo", &paper).await.invalid(&["file"]);
    let damaged = picture(ImageFormat::Jpeg);
    let damaged = json!({"file": BASE64_STANDARD.encode(&damaged[..damaged.len() / 2])});
    yard.step("photo", &damaged)
        .await
        .refused(422, "vehicle_drive_photo_failed");
}

/// Returns the names of photos, and their addresses without the signatures.
fn names(photos: &Value) -> Vec<[String; 3]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().split('?').next().unwrap().to_owned();
    let photos = photos.as_array().unwrap().iter();
    photos
        .map(|photo| ["filename", "url", "thumbnail_url"].map(|member| text(&photo[member])))
        .collect()
}

/// Returns a driver's licence and personal data, as a drive shows them.
fn private(drive: &Value) -> [Value; 6] {
    [
        "license_number",
        "license_code",
        "ni",
        "dob",
        "license_checked",
        "license_checked_by",
    ]
    .map(|member| drive[member].clone())
}

async fn what_is_copied_of_a_contact_is_for_those_who_read_contacts(engine: Engine) {
    let yard = Yard::open(engine).await;
    let license =
        json!({"license": {"number": "QUILL802290AB9CD", "code": "Q7", "checked": "2026-02-28", "checked_by": 1}});
    yard.shop
        .api
        .patch(&format!("/2.0/contacts/{}", yard.contact), &license)
        .await
        .ok();
    let whole = [
        json!("QUILL802290AB9CD"),
        json!("Q7"),
        json!("QQ123456C"),
        json!("1980-02-29"),
        json!("2026-02-28"),
        json!("Sam Hill"),
    ];
    let nothing = [json!(""), json!(""), json!(""), Value::Null, Value::Null, json!("")];
    let blind = yard
        .shop
        .client("vehicle-drives:read,vehicle-drives:write,vehicles:read")
        .await;
    let seeing = yard.shop.client("vehicle-drives:write,contacts:read").await;
    let end = format!("{}/end", yard.drives);

    // A key that may not read contacts has nothing copied,
    let body = json!({"contact": yard.contact});
    let send = || blind.request("POST", &yard.drives).key("blind").json(&body).send();
    assert_eq!(private(&send().await.created()), nothing);
    assert_eq!(private(&send().await.created()), nothing, "nor has its retry");
    let stored = yard.shop.api.get(&format!("{}/active", yard.drives)).await.ok();
    assert_eq!(private(&stored), nothing, "it is not there for others either");
    blind.post(&end, &json!({})).await.ok();
    // another key has, and the first does not see it.
    assert_eq!(private(&seeing.post(&yard.drives, &body).await.created()), whole);
    let active = blind.get(&format!("{}/active", yard.drives)).await.ok();
    assert_eq!(private(&active), nothing);
    let by_code = format!("{}/{}", yard.drives, active["code"].as_str().unwrap());
    assert_eq!(private(&blind.get(&by_code).await.ok()), nothing);
    for list in [yard.drives.clone(), format!("{}?view=full", yard.drives)] {
        let answer = blind.get(&list).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(
            !text.contains("QUILL8") && !text.contains("QQ123456C") && !text.contains("1980"),
            "{text}"
        );
    }
    for (step, body) in [("esign", signature()), ("end", json!({}))] {
        let answer = blind.post(&format!("{}/{step}", yard.drives), &body).await;
        assert_eq!(private(&answer.ok()), nothing, "{step}");
    }
    let drives = yard.shop.api.list(&yard.drives).await.items;
    assert_eq!(private(&drives[0]), whole);
    // It sees the licence data that it sent itself.
    let own = json!({"contact": yard.contact, "license_number": "SEEN1", "license_code": "S1"});
    let mut expected = nothing.clone();
    (expected[0], expected[1]) = (json!("SEEN1"), json!("S1"));
    assert_eq!(private(&blind.post(&yard.drives, &own).await.created()), expected);
    assert_eq!(private(&blind.post(&end, &json!({})).await.ok()), expected);
}

async fn a_location_is_named_by_its_id_or_its_number(engine: Engine) {
    let shop = Shop::open(engine).await;
    let locations = |ids: &[&str]| {
        let locations: Vec<Value> = ids
            .iter()
            .map(|id| json!({"id": id, "name": format!("Place {id}")}))
            .collect();
        json!({"locations": locations})
    };
    // The first file had the location 1.
    shop.business.change(locations(&["yard", "1", "9"])).await;
    let yard = Yard::of(shop).await;
    let known = yard.shop.api.get("/2.0/reference/locations").await.ok();
    let expected = json!([
        {"id": "yard", "number": 2, "name": "Place yard"},
        {"id": "1", "number": 1, "name": "Place 1"},
        {"id": "9", "number": 3, "name": "Place 9"},
    ]);
    assert_eq!(known, expected);
    for (named, number, name) in [
        (json!("yard"), 2, "Place yard"),
        (json!(2), 2, "Place yard"),
        (json!("1"), 1, "Place 1"),
        (json!(1), 1, "Place 1"),
        (json!("9"), 3, "Place 9"),
    ] {
        let drive = yard.start(json!({"location": named})).await.created();
        assert_eq!(
            (&drive["location"], &drive["location_name"]),
            (&json!(number), &json!(name))
        );
        yard.step("end", &json!({})).await.ok();
    }
    for wrong in [
        json!("2"),
        json!(9),
        json!(0),
        json!(-1),
        json!(""),
        json!(1.5),
        json!(true),
        json!(["yard"]),
    ] {
        yard.start(json!({"location": wrong})).await.invalid(&["location"]);
    }
    // A location that is removed keeps its number, and so do the others.
    yard.shop.business.change(locations(&["9", "new"])).await;
    eventually("the file has its effect", TIMEOUT, async || {
        let known = yard.shop.api.get("/2.0/reference/locations").await.ok();
        let numbers: Vec<&Value> = known.as_array().unwrap().iter().map(|one| &one["number"]).collect();
        if numbers == [&json!(3), &json!(4)] {
            Ok(())
        } else {
            Err(known)
        }
    })
    .await;
    yard.start(json!({"location": 2})).await.invalid(&["location"]);
    let drives = yard.shop.api.list(&yard.drives).await;
    assert_eq!(drives.column("location"), [3, 1, 1, 2, 2].map(Value::from));
    assert_eq!(drives.items[4]["location_name"], "Place yard");
}

async fn what_can_be_driven_is_stock_or_courtesy(engine: Engine) {
    let yard = Yard::open(engine).await;
    let shop = &yard.shop;
    let start = async |vehicle: &str| {
        let drives = format!("{vehicle}/test-drives");
        shop.api.post(&drives, &json!({"contact": yard.contact})).await
    };
    let step = async |method: &str, path: String, body: Value| {
        shop.api.request(method, &path).json(&body).send().await.ok();
    };
    let invalid = "vehicle_status_transition_invalid";
    for kind in ["in-stock", "to-order", "courtesy", "customer", "appraisal"] {
        let mut body = a_car();
        body["type"] = kind.into();
        let vehicle = path(shop, &body).await;
        start(&vehicle).await.refused(409, invalid);
        match kind {
            "in-stock" | "to-order" => {
                step("PUT", format!("{vehicle}/channels"), json!({"channels": ["website"]})).await;
                start(&vehicle).await.created();
                step("POST", format!("{vehicle}/test-drives/end"), json!({})).await;
                let reserve = json!({"customer": yard.contact, "method": "No Payment"});
                step("POST", format!("{vehicle}/reserve"), reserve).await;
                start(&vehicle).await.created();
                step("POST", format!("{vehicle}/test-drives/end"), json!({})).await;
                step("POST", format!("{vehicle}/sale"), json!({})).await;
                start(&vehicle).await.refused(409, invalid);
                step("POST", format!("{vehicle}/handover"), json!({})).await;
                start(&vehicle).await.refused(409, invalid);
            }
            "courtesy" => {
                step("PATCH", format!("{vehicle}/status"), json!({"status": "in use"})).await;
                start(&vehicle).await.created();
            }
            "customer" => {
                step("PATCH", format!("{vehicle}/status"), json!({"status": "on-site"})).await;
                start(&vehicle).await.refused(409, invalid);
            }
            _ => {}
        }
    }
}

async fn photos_are_for_keys_and_signed_addresses_alone(engine: Engine) {
    let yard = Yard::open(engine).await;
    yard.start(json!({})).await.created();
    let photo = json!({"file": BASE64_STANDARD.encode(picture(ImageFormat::Jpeg)), "filename": "front.jpg"});
    let photo = yard.step("photo", &photo).await.created();
    let anonymous = yard.shop.server.anonymous();
    let reader = yard.shop.client("vehicle-drives:read").await;
    let writer = yard.shop.client("vehicle-drives:write,vehicles:read").await;
    let rival = yard.shop.rival().await;
    for member in ["url", "thumbnail_url"] {
        let address = photo[member].as_str().unwrap();
        let signed = &address[address.find("/files/").unwrap()..];
        let (path, query) = signed.split_once('?').unwrap();
        for (client, path) in [
            (&anonymous, signed),
            (&reader, path),
            (&anonymous, &*format!("{signed}&x=1")),
        ] {
            let shown = client.get(path).await;
            assert_eq!(shown.status, 200);
            assert_eq!(shown.header("Cache-Control"), Some("private, no-store"));
            assert_eq!(shown.header("X-Robots-Tag"), Some("noindex"));
            let part = client.request("GET", path).header("Range", "bytes=0-1").send().await;
            assert_eq!((part.status, part.body.len()), (206, 2));
            assert_eq!(part.header("Cache-Control"), Some("private, no-store"));
            let head = client.request("HEAD", path).send().await;
            assert_eq!((head.status, head.body.len()), (200, 0));
        }
        anonymous.get(path).await.refused(404, "route_not_found");
        rival.get(path).await.refused(404, "route_not_found");
        let denied = writer.get(path).await.refused(403, "scope_denied");
        assert_eq!(denied["details"]["scope"], "vehicle-drives:read");
        let wrong = anonymous.with_token("nonsense");
        wrong.get(path).await.refused(401, "authentication_invalid");
        let (expires, signature) = query.split_once("&signature=").unwrap();
        let moment: i64 = expires.strip_prefix("expires=").unwrap().parse().unwrap();
        assert!((1..=900).contains(&(moment - now())), "{moment}");
        let other = if signature.starts_with('0') { '1' } else { '0' };
        for query in [
            format!("expires={}&signature={signature}", moment + 60),
            format!("expires={}&signature={signature}", now() - 1),
            format!("{expires}&signature={other}{}", &signature[1..]),
            format!("{expires}&signature="),
            expires.to_owned(),
            format!("signature={signature}"),
            "expires=&signature=".to_owned(),
        ] {
            let tampered = anonymous.get(&format!("{path}?{query}")).await;
            tampered.refused(404, "route_not_found");
        }
    }
    // A signature is valid for one file only.
    let query = |member: &str| photo[member].as_str().unwrap().split_once('?').unwrap().1.to_owned();
    let address = photo["url"].as_str().unwrap();
    let path = address[address.find("/files/").unwrap()..].split('?').next().unwrap();
    let mixed = anonymous.get(&format!("{path}?{}", query("thumbnail_url"))).await;
    mixed.refused(404, "route_not_found");
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
