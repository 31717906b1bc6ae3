//! A person's data: all of it is exported, and none of it remains once the contact is deleted.

use std::time::{Duration, Instant};

use harness::{Client, Engine, Receiver, Reply, Shop, both_engines, eventually, wait_for};
use serde_json::{Value, json};

use crate::contacts_record::CONTACTS;
use crate::listing_changes::put_on;
use crate::vehicle_media::{PDF, base64, data_url, jpeg, png};
use crate::vehicles_record::{a_car, path};

both_engines! {
    an_export_has_every_section
    an_export_shows_what_the_key_may_read
    nothing_of_an_erased_person_is_left
    nothing_of_a_deleted_lead_is_left
}

/// The maximum time for background work on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
const LEADS: &str = "/2.0/leads";
const NAME: &str = "Zyxwina Quillmark";
const EMAIL: &str = "zyxwina@quillmark.example";
const MOBILE: &str = "07700 900471";
const LICENSE: &str = "QUILL805170Z99XY";
const NI: &str = "QQ805170C";

/// A contact, and the paths of the records that name it.
struct Marked {
    id: Value,
    contact: String,
    lead: String,
    vehicle: String,
    photo: Value,
}

/// Returns a text that names the person with everything that they are known by.
fn telling() -> String {
    format!(
        "Ring {NAME} ({EMAIL}, +44 7700 900 471, {MOBILE}, 020 7946 0471), licence QUILL 805170 Z99XY, NI QQ 80 51 70 C."
    )
}

/// Stores the person's data in every field that can show a person.
async fn marked(shop: &Shop) -> Marked {
    let api = &shop.api;
    let body = json!({
        "name": NAME, "email": EMAIL, "mobile": MOBILE, "telephone": "020 7946 0471", "dob": "1980-05-17", "ni": NI,
        "license": {"number": LICENSE, "code": "Q7ZXW42K"}, "address": {"line1": "47 Quillmark Mews", "zip": "ZX4 7QM"},
    });
    let id = send(api, "contact", CONTACTS, &body).await["id"].take();
    let contact = format!("{CONTACTS}/{id}");
    send(api, "note", &format!("{contact}/notes"), &json!({"note": telling()})).await;
    api.put(&format!("{contact}/follow-blocks"), &json!({"sms": true}))
        .await
        .ok();

    let body = json!({
        "name": NAME, "email": EMAIL, "phone": MOBILE, "contact": id, "channel": "email", "notify": true,
        "data": {"message": telling(), "licence": LICENSE},
    });
    let lead = send(api, "lead", LEADS, &body).await;
    let lead = format!("{LEADS}/{}", lead["id"]);
    for (direction, subject) in [("in", "Is it there?"), ("out", "It is")] {
        let message = json!({"direction": direction, "subject": subject, "body": telling()});
        send(api, subject, &format!("{lead}/messages"), &message).await;
    }
    send(api, "lead note", &format!("{lead}/notes"), &json!({"note": telling()})).await;

    let mut body = a_car();
    body["data"]["appraisal"] = json!({"details": {"customer_id": id}});
    body["data"]["stock"]["funding_provider_id"] = id.clone();
    let vehicle = path(shop, &body).await;
    put_on(shop, &vehicle, json!(["website"])).await;
    // So long ago that the party of its invoice is kept no longer than the contact.
    let reservation =
        json!({"date": "2015-06-01", "customer": id, "method": "Card", "deposit": 100, "transaction": telling()});
    api.post(&format!("{vehicle}/reserve"), &reservation).await.ok();
    api.post(&format!("{vehicle}/sale"), &json!({"customer": id, "price": 17_000}))
        .await
        .ok();
    let document = json!({"file": base64(PDF), "filename": format!("{NAME}.pdf"), "description": telling()});
    send(api, "document", &format!("{vehicle}/documents"), &document).await;

    let mut body = a_car();
    body["registration"] = "cd19efg".into();
    let driven = path(shop, &body).await;
    put_on(shop, &driven, json!(["website"])).await;
    let drives = format!("{driven}/test-drives");
    send(
        api,
        "drive",
        &drives,
        &json!({"contact": id, "note": telling(), "condition": "Clean"}),
    )
    .await;
    let signature = json!({"name": NAME, "signature": data_url("image/png", &png(60, 20))});
    api.post(&format!("{drives}/esign"), &signature).await.ok();
    let photo = json!({"file": base64(&jpeg(40, 30)), "filename": format!("{NAME}.jpg")});
    let photo = send(api, "photo", &format!("{drives}/photo"), &photo).await["url"].take();

    let call = json!({
        "direction": "in", "from": MOBILE, "started": 1_767_225_600, "outcome": "answered", "transcript": telling(),
        "summary": telling(), "notes": telling(), "recording_url": format!("https://calls.example/{NAME}.mp3").replace(' ', "-"),
    });
    send(api, "call", "/2.0/calls", &call).await;

    let deal =
        json!({"contact": id, "notes": telling(), "delivery": {"address": telling()}, "finance": {"reference": NAME}});
    send(api, "deal", "/2.0/deals", &deal).await;

    let review = json!({"name": NAME.to_uppercase(), "review": telling(), "rating": 5});
    send(api, "review", "/2.0/reviews", &review).await;
    Marked {
        id,
        contact,
        lead,
        vehicle,
        photo,
    }
}

/// Creates a record, with a stored answer.
async fn send(api: &Client, key: &str, path: &str, body: &Value) -> Value {
    let key: String = key.chars().filter(char::is_ascii_alphabetic).collect();
    api.request("POST", path).key(&key).json(body).send().await.created()
}

async fn an_export_has_every_section(engine: Engine) {
    let shop = Shop::open(engine).await;
    let who = marked(&shop).await;
    let other = shop.api.post(CONTACTS, &json!({"name": "Bea Plain"})).await.created();
    let others = json!({"name": "Bea Plain", "contact": other["id"]});
    let others = shop.lead(&others).await;
    shop.api
        .post(&format!("{LEADS}/{}/notes", others["id"]), &json!({"note": "Not hers"}))
        .await
        .created();
    shop.api
        .post("/2.0/reviews", &json!({"name": "Bea Plain"}))
        .await
        .created();

    let at = format!("{}/export", who.contact);
    let export = shop.api.get(&at).await.ok();
    assert_eq!(export["omitted"], json!([]));
    let section = |name: &str| export[name].as_array().unwrap_or_else(|| panic!("no {name}"));
    let one = |name: &str| {
        assert_eq!(section(name).len(), 1, "{name}: {}", export[name]);
        &section(name)[0]
    };
    assert_eq!(one("deals")["contact"], who.id);
    let lead = one("leads");
    assert_eq!(
        lead["messages"],
        shop.api.get(&format!("{}/messages", who.lead)).await.ok()
    );
    assert_eq!(lead["notes"], shop.api.get(&format!("{}/notes", who.lead)).await.ok());
    assert_eq!(
        (
            lead["messages"].as_array().unwrap().len(),
            lead["notes"][0]["note"].as_str()
        ),
        (2, Some(&*telling()))
    );
    assert_eq!(one("vehicles"), &shop.api.get(&who.vehicle).await.ok());
    let vehicle = &one("vehicles")["id"];
    let reservation = one("reservations");
    assert_eq!((&reservation["vehicle"], &reservation["customer"]), (vehicle, &who.id));
    assert_eq!(
        (&reservation["ended"], &reservation["transaction"]),
        (&json!("sold"), &json!(telling()))
    );
    let sale = one("sales");
    assert_eq!(
        (&sale["vehicle"], &sale["customer"], &sale["price"]),
        (vehicle, &who.id, &json!("17000.00"))
    );
    let invoice = one("invoices");
    assert_eq!((&invoice["customer"], &invoice["number"]), (&who.id, &json!("INV-1")));
    let document = one("documents");
    assert_eq!(
        (&document["vehicle"], &document["description"]),
        (vehicle, &json!(telling()))
    );
    let drive = one("drives");
    assert_eq!(
        (&drive["license_number"], &drive["esign"]["name"]),
        (&json!(LICENSE), &json!(NAME))
    );
    let signature = drive["esign"]["signature"].as_str().unwrap();
    assert!(signature.starts_with("data:image/png"), "{signature}");
    assert_eq!(drive["photo"].as_array().unwrap().len(), 1);
    assert_eq!(one("reviews")["review"], json!(telling()));
    let call = one("calls");
    assert_eq!((&call["contact"], &call["transcript"]), (&who.id, &json!(telling())));
    assert!(!section("events").is_empty());
    assert!(!export.to_string().contains("Bea Plain") && !export.to_string().contains("Not hers"));

    let part = shop
        .api
        .get(&format!("{at}?fields=leads.messages.body,sales.price,omitted"))
        .await
        .ok();
    let messages = json!([{"body": telling()}, {"body": telling()}]);
    assert_eq!(
        part,
        json!({"leads": [{"messages": messages}], "sales": [{"price": "17000.00"}], "omitted": []})
    );
}

async fn an_export_shows_what_the_key_may_read(engine: Engine) {
    let shop = Shop::open(engine).await;
    let who = marked(&shop).await;
    let at = format!("{}/export", who.contact);
    let parts = [
        ("leads", "leads:read"),
        ("leads.messages", "lead-messages:read"),
        ("leads.notes", "lead-notes:read"),
        ("notes", "contact-notes:read"),
        ("vehicles", "vehicles:read"),
        ("vehicles.pricing", "vehicle-pricing:read"),
        ("drives", "vehicle-drives:read"),
        ("reservations", "vehicle-reserve:read"),
        ("sales", "vehicle-sales:read"),
        ("invoices", "invoices:read"),
        ("documents", "vehicle-documents:read"),
        ("orders", "orders:read"),
        ("purchases", "purchases:read"),
        ("deals", "deals:read"),
        ("calls", "calls:read"),
        ("appointments", "appointments:read"),
        ("reviews", "reviews:read"),
        ("mails", "lead-messages:read"),
    ];
    let omitted = |export: &Value| -> Vec<String> {
        let mut omitted: Vec<String> = serde_json::from_value(export["omitted"].clone()).unwrap();
        omitted.sort();
        omitted
    };
    let without = |scope: &str| -> Vec<String> {
        let mut withheld: Vec<String> = parts
            .iter()
            .filter(|(_, needs)| *needs == scope)
            .map(|(part, _)| (*part).to_owned())
            .collect();
        withheld.sort();
        withheld
    };
    let least = shop.client("contacts:read").await.get(&at).await.ok();
    let mut all: Vec<String> = parts.iter().map(|(part, _)| (*part).to_owned()).collect();
    all.sort();
    assert_eq!(omitted(&least), all);
    for (part, _) in parts.iter().filter(|(part, _)| !part.contains('.') && *part != "notes") {
        assert!(least.get(*part).is_none(), "{part}");
    }
    for (_, scope) in parts {
        let rest: Vec<&str> = parts
            .iter()
            .map(|(_, scope)| *scope)
            .filter(|other| *other != scope)
            .collect();
        let client = shop.client(&format!("contacts:read,{}", rest.join(","))).await;
        let export = client.get(&at).await.ok();
        assert_eq!(omitted(&export), without(scope), "without {scope}");
        let lead = export.get("leads").map(|leads| &leads[0]);
        if let Some(lead) = lead {
            assert_eq!(lead.get("messages").is_some(), scope != "lead-messages:read");
            assert_eq!(lead.get("notes").is_some(), scope != "lead-notes:read");
        }
        if let Some(vehicles) = export.get("vehicles") {
            let shows_supplier = vehicles[0]["data"]["stock"].get("funding_provider_id").is_some();
            assert_eq!(shows_supplier, scope != "vehicle-pricing:read", "{scope}");
        }
    }
}

/// The identifying data of a person, in all spellings: none of it may be found once they are erased.
const TRACES: [&str; 13] = [
    "zyxwina",
    "quillmark",
    "7700900471",
    "7700 900471",
    "7700 900 471",
    "2079460471",
    "20 7946 0471",
    "quill805170",
    "quill 805170",
    "z99xy",
    "qq805170c",
    "qq 80 51 70",
    "q7zxw42k",
];

/// Returns the traces in these bytes.
fn traces(bytes: &[u8]) -> Vec<&'static str> {
    let bytes = bytes.to_ascii_lowercase();
    let has = |trace: &&&str| bytes.windows(trace.len()).any(|window| window == trace.as_bytes());
    TRACES.iter().filter(has).copied().collect()
}

/// Opens a shop with an endpoint that repeats the requests that it receives.
async fn shop_with_echo(engine: Engine) -> (Shop, Receiver) {
    let shop = Shop::open_with(engine, |serve| {
        serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 1)
    })
    .await;
    let receiver = Receiver::start();
    receiver.answer("/echo", Reply::status(200).echo());
    receiver.answer("/refuse", Reply::status(500).echo());
    for path in ["/echo", "/refuse"] {
        let hook = json!({"url": receiver.url(path), "events": "*"});
        shop.api.post("/2.0/webhooks", &hook).await.created();
    }
    (shop, receiver)
}

async fn nothing_of_an_erased_person_is_left(engine: Engine) {
    let (mut shop, receiver) = shop_with_echo(engine).await;
    let who = marked(&shop).await;
    // Records that name them without being linked to them.
    let bea = shop
        .api
        .post(CONTACTS, &json!({"name": "Bea Plain", "email": "bea@plain.example"}))
        .await
        .created();
    shop.api
        .post(&format!("{CONTACTS}/{}/notes", bea["id"]), &json!({"note": telling()}))
        .await
        .created();
    let same_address = json!({"name": "Anon", "email": EMAIL.to_uppercase(), "data": {"message": "Any news?"}});
    let same_address = send(&shop.api, "unlinked", LEADS, &same_address).await;
    let by_name = json!({"name": "Bea Plain", "contact": bea["id"], "data": {"message": format!("{NAME} sent me")}});
    let by_name = shop.lead(&by_name).await;
    let by_name = format!("{LEADS}/{}", by_name["id"]);
    shop.api
        .post(&format!("{by_name}/notes"), &json!({"note": telling()}))
        .await
        .created();
    let incoming = json!({"direction": "in", "channel": "sms", "body": telling()});
    shop.api.post(&format!("{by_name}/messages"), &incoming).await.created();
    let noted = path(&shop, &json!({"data": {"stock": {"notes": telling()}}})).await;
    // The name begins a line, which JSON writes as an escape before it.
    let lines = json!({"data": {"stock": {"notes": format!("A customer:\n{NAME}\nrang")}}});
    let lines = path(&shop, &lines).await;
    // A lead that was deleted before.
    let former = json!({"name": NAME, "email": EMAIL, "contact": who.id, "data": {"message": telling()}});
    let former = shop.lead(&former).await;
    shop.api.delete(&format!("{LEADS}/{}", former["id"])).await.ok();
    // The index of texts takes in many leads at a time.
    let sample = [
        "sample",
        "--business",
        "acme",
        "--vehicles",
        "1",
        "--leads",
        "300",
        "--contacts",
        "300",
        // None of its contacts has the number.
        "--seed",
        "2",
    ];
    shop.installation().run(sample).await.succeeded();
    receiver.wait_until(TIMEOUT, |received| {
        let shows = |path: &str| {
            received
                .iter()
                .any(|one| one.path == path && one.json()["event"] == "review.created")
        };
        shows("/echo") && shows("/refuse")
    });
    wait_for("the mails are spooled", TIMEOUT, async || {
        shop.installation().mails().len() >= 2
    })
    .await;

    // All of it is found while the contact exists.
    shop.server.terminate().await;
    let held = shop.installation().every_byte().await;
    assert_eq!(traces(&held), TRACES);
    let indexed = |terms: &[String]| ["zyx", "xwi", "qui"].map(|run| terms.iter().any(|term| term == run));
    let is_sqlite = engine == Engine::Sqlite;
    assert_eq!(indexed(&shop.installation().search_terms())[..2], [is_sqlite; 2]);
    shop.server.restart().await;
    let api = shop.api.clone();

    api.delete(&who.contact).await.ok();
    let spooled = || {
        let mails = shop.installation().mails();
        mails.iter().filter(|mail| !traces(mail.as_bytes()).is_empty()).count()
    };
    wait_for("the spool is clean", TIMEOUT, async || spooled() == 0).await;
    eventually("the photo is gone", TIMEOUT, async || {
        let photo = crate::vehicle_media::fetch(&shop, &who.photo).await;
        if photo.status == 200 { Err(photo.status) } else { Ok(()) }
    })
    .await;
    eventually("no event names them", TIMEOUT, async || {
        let events = api.walk("/2.0/events").await;
        let names = |event: &&Value| {
            event["data"]["sale"]["customer"] == who.id || !traces(event.to_string().as_bytes()).is_empty()
        };
        match events.iter().find(names) {
            Some(event) => Err(event.clone()),
            None => Ok(()),
        }
    })
    .await;
    // Another's data remains, except for the person.
    let lead = api.get(&by_name).await.ok();
    assert_eq!((&lead["name"], &lead["contact"]), (&json!("Bea Plain"), &bea["id"]));
    assert_eq!(lead["data"]["message"], "… sent me");
    assert_eq!(
        api.get(&format!("{LEADS}/{}", same_address["id"])).await.ok()["email"],
        ""
    );
    assert_eq!(api.get(&who.lead).await.ok()["name"], "");
    assert!(
        api.get(&noted).await.ok()["data"]["stock"]["notes"]
            .as_str()
            .unwrap()
            .starts_with("Ring …")
    );
    assert_eq!(
        api.get(&lines).await.ok()["data"]["stock"]["notes"],
        "A customer:\n…\nrang"
    );
    assert_eq!(
        api.get(&format!("{CONTACTS}/{}", bea["id"])).await.ok()["email"],
        "bea@plain.example"
    );

    // The rest is done within minutes. The server is stopped for each check, since its file is read.
    let mut left = Vec::new();
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        shop.server.terminate().await;
        left = traces(&shop.installation().every_byte().await);
        if left.is_empty() {
            break;
        }
        shop.server.restart().await;
    }
    assert_eq!(left, Vec::<&str>::new());
    assert_eq!(indexed(&shop.installation().search_terms())[..2], [false; 2]);
}

async fn nothing_of_a_deleted_lead_is_left(engine: Engine) {
    let (mut shop, receiver) = shop_with_echo(engine).await;
    let body = json!({"name": NAME, "email": EMAIL, "phone": MOBILE, "notify": true, "data": {"message": telling()}});
    let lead = send(&shop.api, "lead", LEADS, &body).await;
    let path = format!("{LEADS}/{}", lead["id"]);
    shop.api.patch(&path, &json!({"company": "Zyxwina Ltd"})).await.ok();
    let message = json!({"direction": "in", "channel": "sms", "body": telling()});
    send(&shop.api, "message", &format!("{path}/messages"), &message).await;
    send(&shop.api, "note", &format!("{path}/notes"), &json!({"note": telling()})).await;
    receiver.wait_until(TIMEOUT, |received| {
        let shows = |path: &str| {
            received
                .iter()
                .any(|one| one.path == path && one.json()["event"] == "lead.updated")
        };
        shows("/echo") && shows("/refuse")
    });
    let answers = async || {
        let hooks = shop.api.list("/2.0/webhooks").await.items;
        let mut answers = Vec::new();
        for hook in hooks {
            answers.extend(shop.api.walk(&format!("/2.0/webhooks/{}/deliveries", hook["id"])).await);
        }
        answers
    };
    eventually("the answers are kept", TIMEOUT, async || {
        let answers = answers().await;
        if answers
            .iter()
            .filter(|answer| answer["response_body"].is_string())
            .count()
            >= 4
        {
            Ok(())
        } else {
            Err(answers)
        }
    })
    .await;
    let before = shop.api.walk("/2.0/events").await;
    assert!(!traces(json!(before).to_string().as_bytes()).is_empty());

    shop.api.delete(&path).await.ok();
    let after = shop.api.walk("/2.0/events").await;
    assert_eq!(after.len(), before.len() + 1);
    for (event, was) in after.iter().zip(&before) {
        assert_eq!(
            (&event["sequence"], &event["id"], &event["event"]),
            (&was["sequence"], &was["id"], &was["event"])
        );
        assert_eq!(event["data"], json!({"id": lead["id"]}));
    }
    let again = shop.api.request("POST", LEADS).key("lead").json(&body).send().await;
    assert_eq!(
        again.created(),
        lead,
        "a retry has the first answer, which is kept encrypted"
    );
    // A mail that was sent is kept for a week; a waiting one is deleted with the lead.
    for mail in std::fs::read_dir(shop.installation().data_dir().join("mail"))
        .into_iter()
        .flatten()
    {
        std::fs::remove_file(mail.unwrap().path()).unwrap();
    }
    let mut left = Vec::new();
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        shop.server.terminate().await;
        left = traces(&shop.installation().every_byte().await);
        if left.is_empty() {
            break;
        }
        shop.server.restart().await;
    }
    assert_eq!(left, Vec::<&str>::new());
}
