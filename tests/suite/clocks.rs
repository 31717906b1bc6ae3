//! Wrong clocks, and the data that they must not destroy.

use std::time::Duration;

use harness::{Engine, Shop, WrongClock, both_engines, eventually, now, wait_for};
use serde_json::json;

both_engines! {
    little_is_forgotten_at_once
}

const DAY: i64 = 86_400;
const NOTICE: Duration = Duration::from_secs(30);

async fn purge_paused(shop: &Shop) -> Option<String> {
    let metrics = shop.server.admin().get("/metrics").await;
    let mut lines = metrics.text().lines();
    lines
        .find_map(|line| line.strip_prefix("forecourt_purge_paused "))
        .map(str::to_owned)
}

async fn created(shop: &Shop, key: &str) -> serde_json::Value {
    let request = shop.api.request("POST", "/2.0/leads").key(key);
    request.json(&json!({"name": "Ann"})).send().await.created()
}

#[tokio::test]
async fn a_clock_that_is_40_days_ahead_loses_nothing() {
    let mut shop = Shop::open(Engine::Sqlite).await;
    let mut leads = Vec::new();
    for number in 0..5 {
        leads.push(created(&shop, &format!("key-{number}")).await);
    }
    shop.server.until_background_rests().await;
    assert_eq!(purge_paused(&shop).await.as_deref(), Some("0"));
    assert!(shop.server.terminate().await.success());

    let clock = WrongClock::new(shop.installation().folder(), 40 * DAY);
    let wrong = shop.installation().serve().on_clock(&clock).start().await;
    wrong.until_background_rests().await;
    let metrics = wrong.admin().get("/metrics").await;
    assert!(
        metrics.text().contains("\nforecourt_purge_paused 1\n"),
        "{}",
        metrics.text()
    );
    assert_eq!(wrong.log().matches("nothing is purged").count(), 1, "{}", wrong.log());
    drop(wrong);

    shop.server.restart().await;
    let log = shop.api.list("/2.0/events").await;
    assert_eq!(log.column("sequence"), [1, 2, 3, 4, 5]);
    for (number, lead) in leads.iter().enumerate() {
        assert_eq!(created(&shop, &format!("key-{number}")).await, *lead, "it is replayed");
    }
}

#[tokio::test]
async fn after_a_clock_was_put_back_stamps_follow_it_again() {
    let shop = Shop::open(Engine::Sqlite).await;
    let clock = WrongClock::new(shop.installation().folder(), 40 * DAY);
    drop(shop.server);
    let wrong = shop.business.installation.serve().on_clock(&clock).start().await;
    let shop = Shop {
        api: wrong.client(&shop.business.key("all").await.token),
        server: wrong,
        business: shop.business,
    };
    let car = json!({"data": {"vehicle": {"make": "Ford"}}});
    let ahead = shop.lead(&json!({"name": "Ann"})).await;
    let car_ahead = shop.api.post("/2.0/vehicles", &car).await.created();
    assert!(ahead["created"].as_i64().unwrap() > now() + 39 * DAY);
    clock.set(0);
    let right = shop.lead(&json!({"name": "Bea"})).await;
    let right_car = shop.api.post("/2.0/vehicles", &car).await.created();
    for record in [&right, &right_car] {
        let stamp = record["created"].as_i64().unwrap();
        assert!((stamp - now()).abs() < DAY, "{stamp}");
    }
    // The order is by number, and records are found by their time of creation.
    let list = shop.api.list("/2.0/leads").await;
    assert_eq!(list.column("id"), [right["id"].clone(), ahead["id"].clone()]);
    let recent = format!("created[]={}&created[]={}", now() - DAY, now() + DAY);
    let late = format!("created[]={}&created[]=", now() + DAY);
    for (path, right, ahead) in [
        ("/2.0/leads", &right, &ahead),
        ("/2.0/vehicles", &right_car, &car_ahead),
    ] {
        for (query, expected) in [(&recent, right), (&late, ahead)] {
            let found = shop.api.list(&format!("{path}?{query}")).await;
            assert_eq!(found.column("id"), [expected["id"].clone()], "{path}?{query}");
        }
    }
    let events = shop.api.list(&format!("/2.0/events?{recent}&resource=lead")).await;
    assert_eq!(events.column("sequence").len(), 1);
    assert_eq!(events.items[0]["data"]["id"], right["id"]);
}

#[tokio::test]
async fn a_server_whose_clock_is_not_postgresql_s_does_not_start() {
    let shop = Shop::open(Engine::Postgres).await;
    for (seconds, says) in [(40 * DAY, "seconds ahead of"), (-400, "seconds behind")] {
        let clock = WrongClock::new(shop.installation().folder(), seconds);
        let refused = shop.installation().serve().on_clock(&clock).refused().await;
        assert!(
            !refused.status.success() && refused.stderr.contains(says),
            "{refused:?}"
        );
    }
    let clock = WrongClock::new(shop.installation().folder(), 200);
    shop.installation().serve().on_clock(&clock).start().await;
}

#[tokio::test]
async fn a_server_whose_clock_leaves_postgresql_s_takes_no_writes() {
    let shop = Shop::open(Engine::Postgres).await;
    let clock = WrongClock::new(shop.installation().folder(), 0);
    let server = shop.installation().serve().on_clock(&clock).start().await;
    let api = server.client(&shop.business.key("all").await.token);
    let lead = json!({"name": "Ann"});
    let path = format!("/2.0/leads/{}", api.post("/2.0/leads", &lead).await.created()["id"]);
    clock.set(3_600);
    let refused = eventually("writes are refused", NOTICE, async || {
        let answer = api.post("/2.0/leads", &lead).await;
        if answer.status == 201 {
            Err("not yet")
        } else {
            Ok(answer)
        }
    })
    .await;
    refused.refused(503, "service_unavailable");
    api.patch(&path, &json!({"name": "Bea"}))
        .await
        .refused(503, "service_unavailable");
    assert_eq!(server.anonymous().get("/readyz").await.status, 503);
    assert_eq!(server.anonymous().get("/healthz").await.status, 200);
    assert_eq!(api.get(&path).await.ok()["name"], "Ann");
    assert!(
        server.log().contains("seconds ahead of the database's"),
        "{}",
        server.log()
    );
    // Other operations still work.
    shop.lead(&json!({"name": "Cia"})).await;

    clock.set(0);
    wait_for("writes are taken again", NOTICE, async || {
        api.post("/2.0/leads", &lead).await.status == 201
    })
    .await;
}

/// All rows of a table are old, as after a clock that was wrong for more than a day.
async fn little_is_forgotten_at_once(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    for number in 0..20 {
        created(&shop, &format!("key-{number}")).await;
    }
    assert!(shop.server.terminate().await.success());
    let age = format!(
        "UPDATE events SET created = created - {days}; UPDATE idempotency_keys SET created = created - {days}",
        days = 40 * DAY
    );
    crate::listing_changes::execute(shop.installation(), engine, &age).await;
    shop.server.restart().await;
    shop.server.until_background_rests().await;
    let log = shop.api.list("/2.0/events").await;
    assert_eq!(log.column("sequence").len(), 18, "a tenth is gone");
    wait_for("the purge is told", NOTICE, async || {
        let log = shop.server.log();
        log.contains("purged") && log.contains("count=2")
    })
    .await;
}
