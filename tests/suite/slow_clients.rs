//! Slow clients are disconnected, and no other client notices.

use std::time::Duration;

use harness::{Engine, Raw, Shop, both_engines};
use serde_json::json;
use tokio::task::JoinSet;

both_engines! {
    dripping_heads_are_cut_off
    dripping_bodies_are_cut_off
    a_body_that_never_comes_is_cut_off
    silent_connections_do_no_harm
    clients_that_do_not_read_do_no_harm
}

/// The maximum time until a slow client is disconnected.
const TIMEOUT: Duration = Duration::from_secs(100);
/// Asserts that reads and writes still work.
async fn others_are_served(shop: &Shop) {
    for _ in 0..10 {
        shop.api.get("/2.0/leads").await.ok();
        shop.api.post("/2.0/leads", &json!({"name": "Ann"})).await.created();
    }
}

/// Sends `start` on many connections, then a byte of `rest` a second; asserts that each is disconnected, and that no other
/// client notices.
async fn drip(shop: &Shop, start: &str, rest: &'static [u8]) {
    let mut clients = JoinSet::new();
    for _ in 0..64 {
        let mut connection = Raw::connect(&shop.server).await;
        connection.send(start.as_bytes()).await.unwrap();
        clients.spawn(connection.drip(rest, TIMEOUT));
    }
    others_are_served(shop).await;
    while let Some(cut_off) = clients.join_next().await {
        assert!(cut_off.unwrap(), "a slow client is not cut off within {TIMEOUT:?}");
    }
    shop.api.get("/2.0/leads").await.ok();
}

async fn dripping_heads_are_cut_off(engine: Engine) {
    let shop = Shop::open(engine).await;
    drip(&shop, "GET /2.0/leads HTTP/1.1\r\nHost: any\r\nX-Slow: ", b"x").await;
}

/// Returns the head of a create, up to a body of this length.
async fn head(shop: &Shop, length: usize) -> String {
    let token = shop.business.key("leads:write").await.token;
    format!(
        "POST /2.0/leads HTTP/1.1\r\nHost: any\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
}

async fn dripping_bodies_are_cut_off(engine: Engine) {
    let shop = Shop::open(engine).await;
    let start = head(&shop, 100_000).await;
    drip(&shop, &start, b" ").await;
}

async fn a_body_that_never_comes_is_cut_off(engine: Engine) {
    let shop = Shop::open(engine).await;
    let start = head(&shop, 100).await;
    let mut connection = Raw::connect(&shop.server).await;
    connection.send(start.as_bytes()).await.unwrap();
    assert!(connection.ends_within(TIMEOUT).await, "a silent client is not cut off");
    assert!(shop.api.list("/2.0/leads").await.items.is_empty());
}

async fn silent_connections_do_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut connections = Vec::new();
    for _ in 0..300 {
        connections.push(Raw::connect(&shop.server).await);
    }
    others_are_served(&shop).await;
}

async fn clients_that_do_not_read_do_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead(&json!({"data": {"message": "x".repeat(60_000)}})).await;
    let token = shop.business.key("leads:read").await.token;
    let request = format!("GET /2.0/leads?view=full HTTP/1.1\r\nHost: any\r\nAuthorization: Bearer {token}\r\n\r\n");
    let mut connections = Vec::new();
    for _ in 0..32 {
        let mut connection = Raw::connect(&shop.server).await;
        connection.send(request.repeat(200).as_bytes()).await.unwrap();
        connections.push(connection);
    }
    others_are_served(&shop).await;
}
