//! Lists, the event log and exports are written out as they are read: memory does not grow with them (decisions §3, "Bounds").

use std::sync::Arc;

use harness::{Client, Engine, Shop, both_engines};
use serde_json::{Value, json};
use tokio::task::JoinSet;

both_engines! {
    memory_does_not_grow_with_an_answer
    a_page_is_the_same_in_whatever_parts_it_is_read
}

/// The maximum growth of the process by one request.
const GROWTH: u64 = 60_000_000;

/// Posts `number` bodies, a few at a time.
async fn post_all(api: &Client, number: usize, path: &str, body: Value) {
    let body = Arc::new(body);
    let mut posting = JoinSet::new();
    for _ in 0..4 {
        let (api, path, body) = (api.clone(), path.to_owned(), Arc::clone(&body));
        posting.spawn(async move {
            for _ in 0..number / 4 {
                api.post(&path, &body).await.created();
            }
        });
    }
    posting.join_all().await;
}

async fn memory_does_not_grow_with_an_answer(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = shop.api.post("/2.0/contacts", &json!({"name": "Ann"})).await.created();
    let lead = json!({"contact": contact["id"], "data": {"text": "x".repeat(60_000), "short": "y"}});
    post_all(&shop.api, 500, "/2.0/leads", lead).await;
    let note = json!({"note": "ä".repeat(20_000)});
    post_all(&shop.api, 100, &format!("/2.0/contacts/{}/notes", contact["id"]), note).await;
    let features: Vec<String> = (0..400).map(|_| "z".repeat(250)).collect();
    let vehicle = json!({"data": {"option": {"option_custom": features}}});
    post_all(&shop.api, 100, "/2.0/vehicles", vehicle).await;

    let export = format!("/2.0/contacts/{}/export", contact["id"]);
    let export_of_ids = format!("{export}?fields=leads.id,contact.data.notes.id");
    for (path, list, records, bytes) in [
        ("/2.0/leads?per_page=500&view=full", "/data", 500, 30_000_000),
        ("/2.0/leads?per_page=500&fields=data.short", "/data", 500, 10_000),
        ("/2.0/vehicles?per_page=500&view=full", "/data", 100, 10_000_000),
        ("/2.0/events?per_page=500", "/data", 500, 30_000_000),
        (&export, "/data/leads", 500, 34_000_000),
        (&export, "/data/contact/data/notes", 100, 34_000_000),
        (&export_of_ids, "/data/leads", 500, 5_000),
    ] {
        let (growth, answer) = shop.server.growth(shop.api.get(path)).await;
        answer.ok();
        assert!(answer.body.len() >= bytes, "{path}: {} bytes", answer.body.len());
        let shown = answer.json().pointer(list).and_then(Value::as_array).map(Vec::len);
        assert_eq!(shown, Some(records), "{path}");
        assert!(growth < GROWTH, "{path}: {growth}");
    }
    let head = shop
        .api
        .request("HEAD", "/2.0/leads?per_page=500&view=full")
        .send()
        .await;
    assert_eq!((head.status, head.body.len()), (200, 0));
}

async fn a_page_is_the_same_in_whatever_parts_it_is_read(engine: Engine) {
    let shop = Shop::open(engine).await;
    // A page of thirty must not fit into one piece.
    let text = "x".repeat(20_000);
    for number in 0..62 {
        shop.lead(&json!({"name": format!("Lead {number}"), "data": {"text": text}}))
            .await;
    }
    let all = shop.api.list("/2.0/leads?per_page=500").await.ids();
    assert_eq!(all.len(), 62);
    for (query, from, to, last) in [
        ("per_page=30&page=1", 0, 30, false),
        ("per_page=30&page=2", 30, 60, false),
        ("per_page=31&page=2", 31, 62, true),
        ("per_page=59&page=2", 59, 62, true),
        ("per_page=62", 0, 62, true),
        ("per_page=500", 0, 62, true),
        ("per_page=500&page=2", 62, 62, true),
    ] {
        let page = shop.api.list(&format!("/2.0/leads?view=full&{query}")).await;
        assert_eq!(page.ids(), all[from..to], "{query}");
        let simple = shop.api.list(&format!("/2.0/leads?{query}")).await;
        assert_eq!(page.pagination, simple.pagination, "{query}");
        assert_eq!(
            (&page.pagination["total"], page.pagination["next_cursor"].is_null()),
            (&json!(62), last)
        );
        assert!(page.items.iter().all(|lead| lead["data"]["text"] == *text));
    }
    let walked = shop.api.walk("/2.0/leads?view=full&per_page=29").await;
    let walked: Vec<i64> = walked.iter().filter_map(|lead| lead["id"].as_i64()).collect();
    assert_eq!(walked, all);
    let events = shop.api.walk("/2.0/events?per_page=29").await;
    let numbers: Vec<i64> = events.iter().filter_map(|event| event["sequence"].as_i64()).collect();
    assert_eq!(numbers, (1..=62).collect::<Vec<_>>());
}
