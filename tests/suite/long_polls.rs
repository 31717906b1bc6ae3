//! Requests that wait for events: their maximum number and their low cost.

use std::time::{Duration, Instant};

use harness::{Engine, Shop, both_engines, wait_for};
use serde_json::json;
use tokio::task::JoinSet;

both_engines! {
    so_many_wait_and_the_next_is_answered_at_once
}

async fn so_many_wait_and_the_next_is_answered_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = "/2.0/events?wait=30&event=contact.created";
    let mut waiting = JoinSet::new();
    for _ in 0..100 {
        let api = shop.api.clone();
        waiting.spawn(async move {
            loop {
                let answer = api.get(path).await;
                // A busy machine may refuse some of a hundred that come at once.
                if answer.status != 503 {
                    let heard = answer.list().items;
                    if !heard.is_empty() {
                        return heard;
                    }
                }
                // Or a probe took its place.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
    }
    // Once all of them wait, one more does not.
    wait_for("a hundred requests that wait", Duration::from_secs(25), async || {
        let asked = Instant::now();
        let answer = tokio::time::timeout(Duration::from_secs(2), shop.api.get(path)).await;
        answer.is_ok_and(|answer| answer.list().items.is_empty()) && asked.elapsed() < Duration::from_secs(2)
    })
    .await;
    let rival = shop.rival().await;
    let other = tokio::time::timeout(Duration::from_secs(1), rival.get(path)).await;
    assert!(other.is_err(), "another business's requests wait");

    // Events that do not concern them wake no request.
    for _ in 0..20 {
        shop.lead(&json!({})).await;
    }
    let contact = shop.api.post("/2.0/contacts", &json!({"name": "Ann"})).await.created();
    while let Some(heard) = waiting.join_next().await {
        let heard = heard.unwrap();
        assert_eq!(heard.len(), 1);
        assert_eq!(heard[0]["data"]["id"], contact["id"]);
    }
}
