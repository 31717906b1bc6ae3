//! Compressed answers, for clients that take them (decisions §3, "Strict handling, versions, browsers").

use std::io::Read as _;

use harness::{Answer, Client, Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::listings::published;

both_engines! {
    a_streamed_answer_is_compressed
    listings_are_compressed_once_until_one_changes
}

const LEADS: &str = "/2.0/leads";

async fn get(api: &Client, path: &str, accepted: &str) -> Answer {
    api.request("GET", path)
        .header("Accept-Encoding", accepted)
        .send()
        .await
}

/// Returns the body as it was before it was compressed.
#[track_caller]
fn plain(answer: &Answer) -> Vec<u8> {
    let mut plain = Vec::new();
    let read = match answer.header("Content-Encoding") {
        Some("gzip") => flate2::read::GzDecoder::new(&*answer.body).read_to_end(&mut plain),
        Some("br") => brotli::Decompressor::new(&*answer.body, 4096).read_to_end(&mut plain),
        other => panic!("{other:?} is no coding: {answer:?}"),
    };
    read.unwrap();
    plain
}

#[track_caller]
fn varies(answer: &Answer) {
    let vary = answer.header("Vary").unwrap_or_default().to_lowercase();
    assert!(vary.split(", ").any(|name| name == "accept-encoding"), "{answer:?}");
}

#[tokio::test]
async fn a_long_answer_is_compressed_as_the_caller_likes() {
    let shop = Shop::open(Engine::Sqlite).await;
    for number in 0..20 {
        shop.lead_path(&format!("Lead {number}")).await;
    }
    let uncompressed = shop.api.get(LEADS).await;
    assert_eq!(uncompressed.header("Content-Encoding"), None);
    varies(&uncompressed);
    for (accepted, coding) in [
        ("gzip", "gzip"),
        ("br", "br"),
        ("gzip, deflate, br", "br"),
        ("br;q=0.5, gzip", "gzip"),
        ("br;q=0, *", "gzip"),
    ] {
        let answer = get(&shop.api, LEADS, accepted).await;
        assert_eq!(
            (answer.status, answer.header("Content-Encoding")),
            (200, Some(coding)),
            "{accepted}"
        );
        assert_eq!(answer.header("Content-Type"), Some("application/json"));
        varies(&answer);
        assert!(answer.body.len() < uncompressed.body.len() / 4, "{}", answer.body.len());
        assert_eq!(plain(&answer), uncompressed.body);
        let head = shop
            .api
            .request("HEAD", LEADS)
            .header("Accept-Encoding", accepted)
            .send()
            .await;
        assert_eq!((head.status, head.header("Content-Encoding")), (200, Some(coding)));
        assert!(head.body.is_empty());
        varies(&head);
    }
    for accepted in ["", "identity", "deflate", "gzip;q=0", "*;q=0", "nonsense;q=x"] {
        let answer = get(&shop.api, LEADS, accepted).await;
        assert_eq!(
            (answer.status, answer.header("Content-Encoding")),
            (200, None),
            "{accepted}"
        );
        assert_eq!(answer.body, uncompressed.body);
    }
    // The connection works afterwards, and the answer to a write is compressed too.
    let body = json!({"name": "Ann", "data": {"message": "x".repeat(5_000)}});
    let request = shop
        .api
        .request("POST", LEADS)
        .header("Accept-Encoding", "gzip")
        .json(&body);
    let made = request.send().await;
    let envelope: Value = serde_json::from_slice(&plain(&made)).unwrap();
    assert_eq!((made.status, &envelope["data"]["name"]), (201, &json!("Ann")));
}

#[tokio::test]
async fn a_small_answer_is_left_alone() {
    let shop = Shop::open(Engine::Sqlite).await;
    for path in [LEADS, "/2.0/leads/987654", "/healthz"] {
        let answer = get(&shop.api, path, "gzip, br").await;
        assert!(answer.body.len() <= 1024);
        assert_eq!(
            (answer.header("Content-Encoding"), answer.header("Vary")),
            (None, None),
            "{path}"
        );
    }
}

#[tokio::test]
async fn an_etag_stays_as_it_is() {
    let shop = Shop::open(Engine::Sqlite).await;
    let uncompressed = shop.api.get("/2.0/openapi.json").await;
    let tag = uncompressed.header("ETag").unwrap();
    let answer = get(&shop.api, "/2.0/openapi.json", "br").await;
    assert_eq!(answer.header("ETag"), Some(tag));
    assert_eq!(plain(&answer), uncompressed.body);
    let request = shop
        .api
        .request("GET", "/2.0/openapi.json")
        .header("If-None-Match", tag);
    let unchanged = request.header("Accept-Encoding", "br").send().await;
    assert_eq!(
        (unchanged.status, unchanged.body.len(), unchanged.header("ETag")),
        (304, 0, Some(tag))
    );
    assert_eq!(unchanged.header("Content-Encoding"), None);
}

async fn a_streamed_answer_is_compressed(engine: Engine) {
    let shop = Shop::open(engine).await;
    for number in 0..30 {
        let text = format!("{number} ").repeat(8_000);
        shop.lead(&json!({"data": {"message": text}})).await;
    }
    let path = format!("{LEADS}?view=full");
    let uncompressed = shop.api.get(&path).await;
    assert!(uncompressed.body.len() > 512 * 1024);
    for coding in ["gzip", "br"] {
        let answer = get(&shop.api, &path, coding).await;
        assert_eq!((answer.status, answer.header("Content-Encoding")), (200, Some(coding)));
        assert_eq!(answer.header("Content-Length"), None);
        assert_eq!(plain(&answer), uncompressed.body);
        let head = shop
            .api
            .request("HEAD", &path)
            .header("Accept-Encoding", coding)
            .send()
            .await;
        assert_eq!((head.status, head.header("Content-Encoding")), (200, Some(coding)));
    }
}

async fn listings_are_compressed_once_until_one_changes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, _) = published(&shop, json!({"option": {"website": "Fast. ".repeat(400)}})).await;
    let rival = shop.rival().await;
    for target in [
        "/2.0/listings",
        "/2.0/listings?cursor=&per_page=5",
        "/2.0/listings?make=ford&fields=id,data",
    ] {
        let expected = shop.api.get(target).await;
        assert!(expected.body.len() > 1024, "{target}: {expected:?}");
        for coding in ["br", "gzip"] {
            let first = get(&shop.api, target, coding).await;
            let again = get(&shop.api, target, coding).await;
            // An answer that is compressed for this request only has no length before it is sent.
            assert_eq!(first.header("Content-Length"), None, "{target}");
            assert_eq!(again.header("Content-Length"), Some(&*again.body.len().to_string()));
            for answer in [first, again] {
                assert_eq!((answer.status, answer.header("Content-Encoding")), (200, Some(coding)));
                assert_eq!(answer.header("Content-Type"), expected.header("Content-Type"));
                assert_eq!(answer.header("ETag"), expected.header("ETag"));
                assert_eq!(plain(&answer), expected.body, "{target}");
                varies(&answer);
            }
            let head = shop.api.request("HEAD", target).header("Accept-Encoding", coding);
            let head = head.send().await;
            assert_eq!((head.status, head.header("Content-Encoding")), (200, Some(coding)));
            assert!(head.body.is_empty());
        }
        assert_eq!(get(&shop.api, target, "identity").await.body, expected.body);
        let of_rival = get(&rival, target, "br").await;
        assert_ne!(of_rival.body, get(&shop.api, target, "br").await.body, "{target}");

        let price = 9_000 + i64::try_from(target.len()).unwrap();
        let changed = json!({"data": {"stock": {"price_website": price}}});
        shop.api.patch(&path, &changed).await.ok();
        let after = get(&shop.api, target, "br").await;
        let current = shop.api.get(target).await;
        assert_eq!(plain(&after), current.body);
        assert_ne!(current.body, expected.body, "{target}");
    }
    let bad = get(&shop.api, "/2.0/listings?make=ford&year[]=x", "br").await;
    assert_eq!(bad.status, 422);
    let uncalled_for = shop.client("leads:read").await;
    assert_eq!(get(&uncalled_for, "/2.0/listings", "br").await.status, 403);
}
