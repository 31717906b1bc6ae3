//! The order of validation of a request: of several faults, the one that is checked first is reported.

use harness::{Engine, Shop, both_engines};
use serde_json::json;

both_engines! {
    the_route_comes_before_the_credential
    the_credential_comes_before_the_account
    the_account_comes_before_the_limit_and_the_scope
    the_limit_comes_before_the_scope
    the_scope_comes_before_the_key_and_the_body
    the_key_comes_before_the_body
    the_body_comes_before_its_fields
    the_fields_come_before_the_record
    the_parameters_come_before_the_record
}

const LEAD: &str = "/2.0/leads/123456789";

async fn the_route_comes_before_the_credential(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (nobody, somebody) = (shop.server.anonymous(), shop.server.client("nonsense"));
    for (client, code) in [
        (nobody, "authentication_required"),
        (somebody, "authentication_invalid"),
    ] {
        client.get("/2.0/nothing").await.refused(404, "route_not_found");
        client.put(LEAD, &json!({})).await.refused(405, "method_not_allowed");
        client.get(LEAD).await.refused(401, code);
    }
}

async fn the_credential_comes_before_the_account(engine: Engine) {
    let shop = Shop::open(engine).await;
    let business = shop
        .installation()
        .business(&json!({"tag": "late", "name": "Late", "state": "frozen"}))
        .await;
    let key = business.key("none").await;
    shop.server
        .client(&format!("{}x", key.token))
        .get(LEAD)
        .await
        .refused(401, "authentication_invalid");
    shop.server
        .client(&key.token)
        .get(LEAD)
        .await
        .refused(403, "account_frozen");
}

async fn the_account_comes_before_the_limit_and_the_scope(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_RATE_LIMIT_PER_DAY", 1)).await;
    let business = shop
        .installation()
        .business(&json!({"tag": "poor", "name": "Poor", "plan": "starter"}))
        .await;
    let client = shop.server.client(&business.key("none").await.token);
    for _ in 0..3 {
        client.get(LEAD).await.refused(403, "plan_upgrade_required");
    }
}

async fn the_limit_comes_before_the_scope(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_RATE_LIMIT_PER_DAY", 1)).await;
    let client = shop.client("none").await;
    client.get(LEAD).await.refused(403, "scope_required");
    client.get(LEAD).await.refused(429, "rate_limited");
}

async fn the_scope_comes_before_the_key_and_the_body(engine: Engine) {
    let shop = Shop::open(engine).await;
    let client = shop.client("leads:read").await;
    let request = client.request("POST", "/2.0/leads").key("not a key").body("{");
    request.send().await.refused(403, "scope_denied");
    let request = client.request("PATCH", "/2.0/leads/nonsense").body("{");
    request.send().await.refused(403, "scope_denied");
}

async fn the_key_comes_before_the_body(engine: Engine) {
    let shop = Shop::open(engine).await;
    let request = shop.api.request("POST", "/2.0/leads").key("not a key").body("{");
    request.send().await.refused(400, "idempotency_key_invalid");

    let request = |body: &'static str| shop.api.request("POST", "/2.0/leads").key("once").body(body);
    request("{}").send().await.created();
    request("{").send().await.refused(422, "idempotency_key_reused");
}

async fn the_body_comes_before_its_fields(engine: Engine) {
    let shop = Shop::open(engine).await;
    let request = |body: &'static str| shop.api.request("PATCH", LEAD).body(body);
    request(r#"{"site": "x""#).send().await.refused(400, "json_invalid");
    request(r#"{"site": "x"}"#).send().await.invalid(&["site"]);
    request(r#"{"site": 0}"#).send().await.refused(404, "lead_not_found");
}

async fn the_fields_come_before_the_record(engine: Engine) {
    let shop = Shop::open(engine).await;
    for lead in [LEAD, "/2.0/leads/nonsense"] {
        shop.api.patch(lead, &json!({"site": 99})).await.invalid(&["site"]);
        let status = format!("{lead}/status");
        shop.api
            .patch(&status, &json!({"status": "nonsense"}))
            .await
            .invalid(&["status"]);
        shop.api
            .patch(&status, &json!({"status": "read"}))
            .await
            .refused(404, "lead_not_found");
        let assign = format!("{lead}/assign");
        shop.api.patch(&assign, &json!({})).await.invalid(&["assign"]);
        shop.api
            .patch(&assign, &json!({"assign": []}))
            .await
            .refused(404, "lead_not_found");
    }
}

async fn the_parameters_come_before_the_record(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.api.get(&format!("{LEAD}?view=nonsense")).await.invalid(&["view"]);
    shop.api
        .get(&format!("{LEAD}?view=simple"))
        .await
        .refused(404, "lead_not_found");
}
