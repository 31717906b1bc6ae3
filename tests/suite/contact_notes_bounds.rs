//! The number of notes of a contact, the number that is shown, and the keys that may see them (decisions §3, "Bounds", and §6).

use std::time::Duration;

use harness::{Client, Engine, Receiver, Shop, both_engines};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::contacts_record::{CONTACTS, path};

both_engines! {
    the_newest_fifty_notes_are_shown_and_all_are_listed
    a_contact_has_at_most_a_thousand_notes
    notes_are_absent_without_their_scope
}

const TIMEOUT: Duration = Duration::from_secs(60);

async fn note(api: &Client, contact: &str, text: &str) -> Value {
    api.post(&format!("{contact}/notes"), &json!({"note": text}))
        .await
        .created()
}

async fn the_newest_fifty_notes_are_shown_and_all_are_listed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = path(&shop, &json!({"name": "Ann"})).await;
    for number in 1..=55 {
        note(&shop.api, &contact, &format!("Note {number}")).await;
    }
    let newest: Vec<String> = (6..=55).rev().map(|number| format!("Note {number}")).collect();
    let texts = |notes: &Value| -> Vec<String> {
        let notes = notes.as_array().unwrap().iter();
        notes.map(|note| note["note"].as_str().unwrap().to_owned()).collect()
    };
    let read = shop.api.get(&contact).await.ok();
    assert_eq!(texts(&read["data"]["notes"]), newest);
    let listed = shop.api.list(&format!("{CONTACTS}?view=full")).await.items;
    assert_eq!(listed, [read]);
    let changed = shop.api.patch(&contact, &json!({"company": "Lee"})).await.ok();
    assert_eq!(texts(&changed["data"]["notes"]), newest);
    let events = shop.api.list("/2.0/events").await.items;
    assert_eq!(events.last().unwrap()["data"], changed);
    let notes = shop.api.list(&format!("{contact}/notes?per_page=500")).await;
    assert_eq!((notes.items.len(), &notes.pagination["total"]), (55, &json!(55)));
    let export = shop.api.get(&format!("{contact}/export")).await.ok();
    assert_eq!(export["contact"]["data"]["notes"], json!(notes.items));
    assert_eq!(export["omitted"], json!([]));
}

async fn a_contact_has_at_most_a_thousand_notes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = path(&shop, &json!({"name": "Ann"})).await;
    let mut writers = JoinSet::new();
    for _ in 0..6 {
        let (api, contact) = (shop.api.clone(), contact.clone());
        writers.spawn(async move {
            for _ in 0..166 {
                note(&api, &contact, "x").await;
            }
        });
    }
    writers.join_all().await;
    let mut writers = JoinSet::new();
    for _ in 0..10 {
        let (api, path) = (shop.api.clone(), format!("{contact}/notes"));
        writers.spawn(async move { api.post(&path, &json!({"note": "y"})).await });
    }
    let answers = writers.join_all().await;
    let (made, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
    assert_eq!((made.len(), refused.len()), (4, 6));
    for answer in refused {
        answer.invalid(&["note"]);
    }
    let notes = shop.api.list(&format!("{contact}/notes")).await;
    assert_eq!(notes.pagination["total"], 1000);
    let path = format!("{contact}/notes");
    shop.api.delete(&format!("{path}/{}", notes.items[0]["id"])).await.ok();
    let long = "ä".repeat(20_001);
    shop.api.post(&path, &json!({"note": long})).await.invalid(&["note"]);
    note(&shop.api, &contact, &long[2..]).await;
}

async fn notes_are_absent_without_their_scope(engine: Engine) {
    let receiver = Receiver::start();
    let shop = Shop::open_with(engine, |serve| {
        serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 0)
    })
    .await;
    let scopes = "contacts:read,contacts:write,webhooks:read,webhooks:write";
    let without = shop.client(scopes).await;
    let with = shop.client(&format!("{scopes},contact-notes:read")).await;
    for (name, scope) in [
        ("with", json!(["contacts:read", "contact-notes:read"])),
        ("without", json!(["contacts:read"])),
    ] {
        let hook = json!({"url": receiver.url(&format!("/{name}")), "events": ["contact.updated"], "scopes": scope});
        shop.api.post("/2.0/webhooks", &hook).await.created();
    }
    let contact = path(&shop, &json!({"name": "Ann"})).await;
    note(&shop.api, &contact, "Secret").await;

    let notes = |contact: &Value| {
        contact["data"]
            .get("notes")
            .map(|notes| notes.as_array().unwrap().len())
    };
    for (api, seen) in [(&with, Some(1)), (&without, None)] {
        assert_eq!(notes(&api.get(&contact).await.ok()), seen);
        assert_eq!(notes(&api.list(&format!("{CONTACTS}?view=full")).await.items[0]), seen);
        let part = api.get(&format!("{contact}?fields=data.notes,data.name")).await.ok();
        assert_eq!((notes(&part), &part["data"]["name"]), (seen, &json!("Ann")));
        let part = api.list(&format!("{CONTACTS}?fields=data.notes")).await;
        assert_eq!(notes(&part.items[0]), seen);
        let export = api.get(&format!("{contact}/export")).await.ok();
        assert_eq!(notes(&export["contact"]), seen);
        assert!(export.get("leads").is_none());
        let omitted = export["omitted"].as_array().unwrap();
        assert_eq!(omitted.contains(&json!("notes")), seen.is_none());
        assert!(omitted.contains(&json!("leads")));
        assert_eq!(notes(&export["events"][0]["data"]), seen.map(|_| 0));
        let part = api
            .get(&format!("{contact}/export?fields=contact.data.notes,leads"))
            .await
            .ok();
        assert_eq!(notes(&part["contact"]), seen);
        let created = api.post(CONTACTS, &json!({"name": "Bea"})).await.created();
        assert_eq!(notes(&created), seen.map(|_| 0));
    }
    // A retry shows only fields that its own key may see, even if another key wrote first.
    let change = |api: &Client, key: &str| api.request("PATCH", &contact).key(key).json(&json!({"company": key}));
    for (key, first) in [("one", &with), ("two", &without)] {
        let seen = (first.get(&contact).await.ok())["data"].get("notes").map(|_| 1);
        assert_eq!(notes(&change(first, key).send().await.ok()), seen);
        let replay = change(&without, key).send().await;
        assert_eq!(replay.header("X-Idempotent-Replay"), Some("true"));
        assert_eq!(notes(&replay.ok()), None);
    }
    for (api, seen) in [(&with, Some(1)), (&without, None)] {
        let log = api.list("/2.0/events?event=contact.updated").await.items;
        assert!(!log.is_empty() && log.iter().all(|event| notes(&event["data"]) == seen));
    }
    for (name, seen) in [("/with", Some(1)), ("/without", None)] {
        receiver.wait_until(TIMEOUT, |received| received.iter().any(|one| one.path == name));
        for delivery in receiver.received_at(name) {
            assert_eq!(notes(&delivery.json()["data"]), seen);
        }
    }
}
