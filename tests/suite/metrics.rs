//! `GET /metrics` on the administrator's listener.

use std::time::Duration;

use harness::{Engine, Shop, both_engines, wait_for};
use serde_json::json;

both_engines! {
    requests_are_counted_by_route_and_status
    the_listener_can_be_turned_off
}

/// Whether there is a sample that is above zero and whose name and labels hold all of these.
fn has_sample(metrics: &str, needles: &[&str]) -> bool {
    metrics.lines().filter(|line| !line.starts_with('#')).any(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap_or_default();
        needles.iter().all(|needle| name.contains(needle)) && value.parse().is_ok_and(|value: f64| value > 0.0)
    })
}

async fn requests_are_counted_by_route_and_status(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    shop.api.get(&lead).await.ok();
    shop.api.get("/2.0/leads/987654").await.refused(404, "lead_not_found");
    shop.api
        .post("/2.0/leads", &json!({"site": "x"}))
        .await
        .invalid(&["site"]);
    shop.server
        .anonymous()
        .get("/2.0/leads")
        .await
        .refused(401, "authentication_required");
    shop.api
        .get("/2.0/secret-looking-path")
        .await
        .refused(404, "route_not_found");

    let expected = [
        ["/2.0/leads/{id}", "200"],
        ["/2.0/leads/{id}", "404"],
        ["/2.0/leads\"", "201"],
        ["/2.0/leads\"", "422"],
        ["/2.0/leads\"", "401"],
    ];
    wait_for("the requests are counted", Duration::from_secs(10), async || {
        let answer = shop.server.admin().get("/metrics").await;
        assert_eq!(answer.status, 200);
        expected.iter().all(|needles| has_sample(answer.text(), needles))
    })
    .await;
    let metrics = shop.server.admin().get("/metrics").await;
    assert!(metrics.header("Content-Type").unwrap().starts_with("text/plain"));
    // Neither ids nor paths of a client's own making become labels.
    assert!(!metrics.text().contains("987654") && !metrics.text().contains("secret-looking-path"));
    assert!(metrics.text().contains("_bucket{"), "latencies are a histogram");
}

async fn the_listener_can_be_turned_off(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_ADMIN_BIND", "off")).await;
    shop.api.get("/2.0/leads").await.ok();
    assert!(shop.server.admin().request("GET", "/metrics").attempt().await.is_err());
    shop.api.get("/metrics").await.refused(404, "route_not_found");
}
