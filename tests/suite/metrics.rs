//! `GET /metrics` on the administrator's listener.

use std::time::Duration;

use harness::{Engine, Port, Shop, both_engines, eventually, wait_for};
use serde_json::json;

both_engines! {
    requests_are_counted_by_route_and_status
    failed_authentications_are_counted_by_code
    what_waits_is_measured
    mails_are_counted
    the_listener_can_be_turned_off
}

/// The maximum time until the background's measurements show.
const MEASURED: Duration = Duration::from_secs(60);

/// Returns the value of the sample with this name and these labels.
fn value(metrics: &str, sample: &str) -> Option<f64> {
    let mut lines = metrics.lines().filter_map(|line| line.rsplit_once(' '));
    let found = lines.find(|(name, _)| *name == sample);
    found.and_then(|(_, value)| value.parse().ok())
}

/// Waits until the sample has this value.
async fn wait_for_value(shop: &Shop, sample: &str, expected: f64) {
    eventually(sample, MEASURED, async || {
        let answer = shop.server.admin().get("/metrics").await;
        let found = value(answer.text(), sample);
        if found == Some(expected) { Ok(()) } else { Err(found) }
    })
    .await;
}

/// Returns true if there is a sample above zero whose name and labels contain all of these.
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
    // Neither ids nor paths invented by a client become labels.
    assert!(!metrics.text().contains("987654") && !metrics.text().contains("secret-looking-path"));
    assert!(
        metrics.text().contains("le=\"0.0001\""),
        "latencies are a histogram from 0.1 ms"
    );
    let build = format!("forecourt_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(value(metrics.text(), &build), Some(1.0));
    for name in [
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_start_time_seconds",
    ] {
        assert!(value(metrics.text(), name).is_some_and(|value| value > 0.0), "{name}");
    }
    let open = value(metrics.text(), "forecourt_database_connections_open").unwrap();
    let in_use = value(metrics.text(), "forecourt_database_connections_in_use").unwrap();
    assert!(open >= 1.0 && in_use <= open, "{in_use} of {open}");
    assert_eq!(value(metrics.text(), "forecourt_database_sessions_waiting"), Some(0.0));
}

async fn failed_authentications_are_counted_by_code(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| {
        serve
            .env("FORECOURT_TRUSTED_PROXIES", "127.0.0.1/32")
            .env("FORECOURT_BLOCKED_ADDRESSES", "203.0.113.7")
    })
    .await;
    let failures = |code: &str| format!("forecourt_authentication_failures_total{{code=\"{code}\"}}");
    for code in ["invalid", "expired", "revoked", "blocked"] {
        wait_for_value(&shop, &failures(&format!("authentication_{code}")), 0.0).await;
    }
    for _ in 0..2 {
        let guesser = shop.server.client("fck_0123456789abcdef.wrong");
        guesser.get("/2.0/leads").await.refused(401, "authentication_invalid");
    }
    let key = shop.business.key("all").await;
    shop.installation().run(["key", "revoke", &key.id]).await.succeeded();
    let revoked = shop.server.client(&key.token);
    revoked.get("/2.0/leads").await.refused(401, "authentication_revoked");
    let blocked = shop
        .api
        .request("GET", "/2.0/leads")
        .header("X-Forwarded-For", "203.0.113.7");
    blocked.send().await.refused(401, "authentication_blocked");
    // A request without a credential does not guess.
    let anonymous = shop.server.anonymous();
    anonymous
        .get("/2.0/leads")
        .await
        .refused(401, "authentication_required");
    wait_for_value(&shop, &failures("authentication_invalid"), 2.0).await;
    wait_for_value(&shop, &failures("authentication_revoked"), 1.0).await;
    wait_for_value(&shop, &failures("authentication_blocked"), 1.0).await;
    let answer = shop.server.admin().get("/metrics").await;
    assert!(!answer.text().contains("authentication_required"));
}

async fn what_waits_is_measured(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| {
        serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "3600")
    })
    .await;
    wait_for_value(&shop, "forecourt_webhook_deliveries_waiting", 0.0).await;
    wait_for_value(&shop, "forecourt_webhooks_disabled", 0.0).await;
    let port = Port::reserve();
    let body = json!({"url": format!("http://127.0.0.1:{}/", port.number()), "events": ["lead.created"]});
    let hook = shop.api.post("/2.0/webhooks", &body).await.created();
    for name in ["Ann", "Bea"] {
        shop.lead(&json!({"name": name, "notify": false})).await;
    }
    wait_for_value(&shop, "forecourt_webhook_attempts_total{outcome=\"unanswered\"}", 2.0).await;
    // Both are tried again in an hour.
    wait_for_value(&shop, "forecourt_webhook_deliveries_waiting", 2.0).await;
    wait_for_value(&shop, "forecourt_webhook_oldest_due_age_seconds", 0.0).await;
    let disabled = json!({"status": "disabled"});
    shop.api
        .patch(&format!("/2.0/webhooks/{}", hook["id"]), &disabled)
        .await
        .ok();
    wait_for_value(&shop, "forecourt_webhooks_disabled", 1.0).await;
}

async fn mails_are_counted(engine: Engine) {
    let shop = Shop::open(engine).await;
    let attempts = |outcome: &str| format!("forecourt_mail_attempts_total{{outcome=\"{outcome}\"}}");
    wait_for_value(&shop, &attempts("sent"), 0.0).await;
    shop.lead(&json!({"name": "Ann", "notify": true})).await;
    wait_for_value(&shop, &attempts("sent"), 1.0).await;
    wait_for_value(&shop, "forecourt_mails_waiting", 0.0).await;
    wait_for_value(&shop, &attempts("failed"), 0.0).await;
    wait_for_value(&shop, "forecourt_mails_dropped_total", 0.0).await;
}

async fn the_listener_can_be_turned_off(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_ADMIN_BIND", "off")).await;
    shop.api.get("/2.0/leads").await.ok();
    assert!(shop.server.admin().request("GET", "/metrics").attempt().await.is_err());
    shop.api.get("/metrics").await.refused(404, "route_not_found");
}
