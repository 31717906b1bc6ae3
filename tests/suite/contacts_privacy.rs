//! The data held on a contact, and the data that remains once it is deleted.

use std::time::Duration;

use harness::{Engine, Receiver, Reply, Shop, both_engines, eventually};
use serde_json::{Value, json};

use crate::contacts_record::{CONTACTS, path};

both_engines! {
    an_export_has_all_that_is_held
    nothing_of_a_deleted_contact_is_shown
    what_endpoints_repeat_of_a_deleted_contact_is_forgotten
}

/// The maximum time for immediate actions on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The delay of an endpoint that is still busy when a contact is deleted.
const BUSY: Duration = Duration::from_secs(3);

fn ann() -> Value {
    json!({"name": "Ann Quillfeather", "email": "Ann.Quillfeather@example.com", "mobile": "07700 900123"})
}

async fn an_export_has_all_that_is_held(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = path(&shop, &ann()).await;
    shop.api
        .post(&format!("{contact}/notes"), &json!({"note": "Likes red"}))
        .await
        .created();
    let full = shop.api.get(&contact).await.ok();
    let lead = shop.lead(&json!({"name": "Ann", "contact": full["id"]})).await;
    shop.lead(&json!({"name": "Bea"})).await;
    let export = shop.api.get(&format!("{contact}/export")).await.ok();
    assert!(export["exported"].is_i64());
    assert_eq!((&export["contact"], &export["password"]), (&full, &json!(false)));
    assert_eq!(
        export["follow_blocks"],
        shop.api.get(&format!("{contact}/follow-blocks")).await.ok()
    );
    let leads = export["leads"].as_array().unwrap();
    assert_eq!((leads.len(), &leads[0]["id"]), (1, &lead["id"]));
    let events = export["events"].as_array().unwrap();
    assert_eq!((events.len(), &events[0]["event"]), (1, &json!("contact.created")));
    assert_eq!(events[0]["data"]["email"], full["email"]);
    let part = shop
        .api
        .get(&format!("{contact}/export?fields=contact.email"))
        .await
        .ok();
    assert_eq!(part, json!({"contact": {"email": full["email"]}}));
}

async fn nothing_of_a_deleted_contact_is_shown(engine: Engine) {
    let shop = Shop::open(engine).await;
    let create = || shop.api.request("POST", CONTACTS).key("create").json(&ann());
    let full = create().send().await.created();
    let contact = format!("{CONTACTS}/{}", full["id"]);
    shop.api
        .patch(&contact, &json!({"company": "Quillfeather Ltd"}))
        .await
        .ok();
    let own = json!({"contact": full["id"], "name": "ann quillfeather", "email": "ann.quillfeather@example.com"});
    let lead = || shop.api.request("POST", "/2.0/leads").key("lead").json(&own);
    let made = lead().send().await.created();
    let lead_path = format!("/2.0/leads/{}", made["id"]);
    shop.api.patch(&lead_path, &json!({"phone": "07700 900123"})).await.ok();
    shop.api.delete(&contact).await.ok();

    assert_eq!(
        create().send().await.created(),
        json!({"id": full["id"]}),
        "no second contact is made"
    );
    assert_eq!(lead().send().await.created(), json!({"id": made["id"]}));
    let left = shop.api.get(&lead_path).await.ok();
    for member in ["name", "email", "phone"] {
        assert_eq!(left[member], "", "{member}");
    }
    assert_eq!((&left["contact"], &left["updated"].is_i64()), (&Value::Null, &true));
    let events = shop.api.get("/2.0/events").await.list().items;
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    let expected = [
        "contact.created",
        "contact.updated",
        "lead.created",
        "lead.updated",
        "lead.updated",
        "contact.deleted",
    ];
    assert_eq!(names, expected);
    for at in [0, 1, 5] {
        assert_eq!(events[at]["data"], json!({"id": full["id"]}));
    }
    let shown = serde_json::to_string(&events).unwrap().to_lowercase();
    for text in ["quillfeather", "7700900123"] {
        assert!(!shown.contains(text), "{text}: {shown}");
    }
    assert_eq!(shop.api.list(CONTACTS).await.pagination["total"], 0);
}

/// Returns a contact with every field, each word of it in no other record.
fn quillfeather() -> Value {
    json!({
        "name": "Ann Quillfeather", "email": "Ann.Quillfeather@example.com", "company": "Thistlewood Ltd", "vat": "GB 8675309",
        "address": {"line1": "7 Wimplesham Drift", "city": "Leeds", "country": "GB", "zip": "LS98 7ZX"},
        "telephone": "01632 960987", "mobile": "07700 900123", "dob": "1971-03-19",
        "license": {"number": "QUILL703191AN9", "code": "zq8 Rw1"}, "ni": "QQ 12 34 56 C",
        "nominal": {"invoice": "49152", "purchase": "59152"}, "document": [{"name": "Passport of Quillfeather"}], "login": true,
    })
}

/// The traces of it that are searched for, all in small letters.
const TRACES: [&str; 12] = [
    "quillfeather",
    "thistlewood",
    "8675309",
    "wimplesham",
    "ls98",
    "1632960987",
    "7700900123",
    "1971-03-19",
    "quill703191",
    "zq8 rw1",
    "qq 12 34",
    "49152",
];

#[track_caller]
fn assert_forgotten(what: &str, held: &[u8]) {
    let held = String::from_utf8_lossy(held).to_lowercase();
    for trace in TRACES {
        let found = held.find(trace);
        let context = found.map(|at| {
            let (start, end) = (
                held.floor_char_boundary(at.saturating_sub(200)),
                held.floor_char_boundary(at + 200),
            );
            &held[start..end]
        });
        assert!(found.is_none(), "{what} has {trace}: {context:?}");
    }
}

async fn what_endpoints_repeat_of_a_deleted_contact_is_forgotten(engine: Engine) {
    let mut shop = Shop::open_with(engine, |serve| {
        serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 1)
    })
    .await;
    let receiver = Receiver::start();
    receiver.answer("/echo", Reply::status(200).echo());
    receiver.answer("/refuse", Reply::status(500).echo());
    receiver.answer("/busy", Reply::status(200).echo().after(BUSY));
    let hook = async |path: &str, events: Value| {
        let body = json!({"url": receiver.url(path), "events": events});
        let webhook = shop.api.post("/2.0/webhooks", &body).await.created();
        format!("/2.0/webhooks/{}/deliveries", webhook["id"])
    };
    let echo = hook("/echo", json!("*")).await;
    let refuse = hook("/refuse", json!("*")).await;
    let contact = path(&shop, &quillfeather()).await;
    let full = shop.api.get(&contact).await.ok();
    let note = json!({"note": "Quillfeather likes red"});
    shop.api.post(&format!("{contact}/notes"), &note).await.created();
    let lead = shop
        .lead(&json!({
            "name": "ANN QUILLFEATHER", "email": "ann.quillfeather@example.com", "mobile": "07700 900123", "contact": full["id"],
            "data": {"message": "Ring +447700900123 or write to ann.quillfeather@example.com. Ann Quillfeather"},
        }))
        .await;
    shop.api
        .patch(&format!("/2.0/leads/{}", lead["id"]), &json!({"phone": "01632 960987"}))
        .await
        .ok();
    let answered = async |deliveries: &str, event: &str| {
        let deliveries = shop.api.walk(&format!("{deliveries}?event={event}")).await;
        match deliveries.as_slice() {
            [delivery] if delivery["response_body"].is_string() => Ok(delivery["response_body"].to_string()),
            other => Err(other.to_vec()),
        }
    };
    for deliveries in [&echo, &refuse] {
        for event in ["contact.created", "lead.created", "lead.updated"] {
            let what = format!("{event} is answered");
            let body = eventually(&what, TIMEOUT, async || answered(deliveries, event).await).await;
            assert!(
                body.to_lowercase().contains("quillfeather"),
                "the endpoint repeats what it is sent: {body}"
            );
        }
    }
    // One more endpoint is still busy when the contact is deleted.
    let busy = hook("/busy", json!(["contact.updated"])).await;
    shop.api
        .patch(&contact, &json!({"company": "Thistlewood & Co"}))
        .await
        .ok();
    receiver.wait_until(TIMEOUT, |received| {
        received.iter().any(|received| received.path == "/busy")
    });
    shop.api.delete(&contact).await.ok();
    let attempt = eventually("the busy one has answered", TIMEOUT, async || {
        let deliveries = shop.api.walk(&busy).await;
        match deliveries.as_slice() {
            [delivery] if delivery["status"] == "delivered" => Ok(delivery.clone()),
            other => Err(other.to_vec()),
        }
    })
    .await;
    assert_eq!(
        (&attempt["response_code"], &attempt["response_body"]),
        (&json!(200), &Value::Null)
    );
    let deleted = eventually("the deletion is delivered", TIMEOUT, async || {
        answered(&echo, "contact.deleted").await
    })
    .await;
    assert!(
        deleted.contains("contact.deleted"),
        "what identifies no person is kept: {deleted}"
    );

    for list in [echo, refuse, busy, "/2.0/events".to_owned()] {
        let shown = shop.api.walk(&list).await;
        assert!(!shown.is_empty());
        assert_forgotten(&list, json!(shown).to_string().as_bytes());
    }
    let left = shop.api.get(&format!("/2.0/leads/{}", lead["id"])).await.ok();
    assert_forgotten("the lead", left.to_string().as_bytes());
    shop.server.terminate().await;
    let held = shop.installation().database_bytes().await;
    let holds = |text: &str| held.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("contact.deleted") && holds("Acme Cars"), "what is left is there");
    assert_forgotten("the database", &held);
}
