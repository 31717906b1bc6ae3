//! A database that goes away and comes back.

use std::time::Duration;

use harness::{Answer, Engine, Installation, Proxy, Server, Shop, wait_for};
use serde_json::json;

/// The maximum time until the server notices either change.
const NOTICE: Duration = Duration::from_secs(60);

/// Opens a shop whose server reaches its database over a proxy.
async fn shop() -> (Shop, Proxy) {
    let installation = Installation::new(Engine::Postgres).await;
    let proxy = Proxy::to(installation.database_address()).await;
    let url = installation.database_through(proxy.port());
    let shop = Shop::on(installation.serve().env("DATABASE_URL", url).start().await).await;
    (shop, proxy)
}

/// Asserts that the answer reports an unreachable database.
#[track_caller]
fn unavailable(answer: &Answer) {
    answer.refused(503, "service_unavailable");
    assert!(answer.number("Retry-After") >= 1);
}

async fn is_ready(server: &Server) -> bool {
    server.anonymous().get("/readyz").await.status == 200
}

async fn recovers(shop: &Shop) {
    wait_for("reads work again", NOTICE, async || {
        shop.api.get("/2.0/leads").await.status == 200
    })
    .await;
    wait_for("the server is ready again", NOTICE, async || {
        is_ready(&shop.server).await
    })
    .await;
    shop.lead(&json!({"name": "After"})).await;
}

#[tokio::test]
async fn a_database_that_is_gone_is_reported_and_found_again() {
    let (shop, proxy) = shop().await;
    let lead = shop.lead_path("Ann").await;
    proxy.cut();
    for _ in 0..3 {
        unavailable(&shop.api.get(&lead).await);
        unavailable(&shop.api.get("/2.0/leads").await);
        unavailable(&shop.api.patch(&lead, &json!({"name": "Bea"})).await);
        let request = shop.api.request("POST", "/2.0/leads").key("key");
        unavailable(&request.json(&json!({"name": "Bea"})).send().await);
    }
    wait_for("the server is not ready", NOTICE, async || {
        !is_ready(&shop.server).await
    })
    .await;
    assert_eq!(
        shop.server.anonymous().get("/healthz").await.status,
        200,
        "the process itself is well"
    );
    assert_eq!(shop.api.get("/2.0/openapi.json").await.status, 200);
    shop.api.get("/2.0/nothing").await.refused(404, "route_not_found");

    proxy.mend();
    recovers(&shop).await;
    // A 503 was not stored, and nothing was done.
    let request = shop.api.request("POST", "/2.0/leads").key("key");
    let answer = request.json(&json!({"name": "Bea"})).send().await;
    answer.created();
    assert_eq!(answer.header("X-Idempotent-Replay"), None);
    assert_eq!(shop.api.get(&lead).await.ok()["name"], "Ann");
}

#[tokio::test]
async fn a_database_that_says_nothing_is_reported_in_bounded_time() {
    let (shop, proxy) = shop().await;
    shop.lead_path("Ann").await;
    proxy.silence();
    let requests: Vec<_> = (0..40)
        .map(|_| {
            let api = shop.api.clone();
            tokio::spawn(async move { api.get("/2.0/leads").await })
        })
        .collect();
    // The database stays silent.
    for request in requests {
        unavailable(&request.await.unwrap());
    }
    assert_eq!(shop.server.anonymous().get("/healthz").await.status, 200);
    proxy.mend();
    recovers(&shop).await;
}

#[tokio::test]
async fn readiness_is_denied_in_bounded_time() {
    let (shop, proxy) = shop().await;
    proxy.silence();
    // An answer about readiness is valid for up to a second.
    wait_for("readiness is denied", NOTICE, async || !is_ready(&shop.server).await).await;
    assert!(!is_ready(&shop.server).await);
    proxy.mend();
    recovers(&shop).await;
}

#[tokio::test]
async fn a_key_that_is_not_cached_is_not_refused_for_an_outage() {
    let (shop, proxy) = shop().await;
    let fresh = shop.client("leads:read").await;
    proxy.cut();
    unavailable(&fresh.get("/2.0/leads").await);
    proxy.mend();
    recovers(&shop).await;
    fresh.get("/2.0/leads").await.ok();
}
