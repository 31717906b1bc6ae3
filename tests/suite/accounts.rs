//! The conditions that an account must meet, in their order.

use std::time::Duration;

use harness::{Client, Engine, Installation, Shop, both_engines, eventually};
use serde_json::json;
use tokio::task::{JoinSet, LocalSet};

both_engines! {
    each_condition_has_its_code
    conditions_are_validated_in_order
    higher_plans_have_access
    a_key_without_a_business_is_refused
    the_keys_of_a_deleted_business_are_refused
    deleting_a_business_spares_the_others
}

/// The maximum time until a change of a business takes effect.
const CHANGE: Duration = Duration::from_secs(5);

/// Waits until requests are answered with this code, or with success for `None`.
async fn answered(client: &Client, code: Option<&str>) {
    let what = format!("requests are answered {code:?}");
    let answer = eventually(&what, CHANGE, async || {
        let answer = client.get("/2.0/leads").await;
        let seen = answer.json()["error"]["code"].as_str().map(str::to_owned);
        if seen.as_deref() == code { Ok(answer) } else { Err(seen) }
    })
    .await;
    match code {
        None => drop(answer.ok()),
        Some(code) => drop(answer.refused(403, code)),
    }
}

async fn each_condition_has_its_code(engine: Engine) {
    let shop = Shop::open(engine).await;
    let table = [
        (
            json!({"verified": false}),
            json!({"verified": true}),
            "business_unverified",
        ),
        (json!({"state": "frozen"}), json!({"state": "active"}), "account_frozen"),
        (
            json!({"state": "suspended"}),
            json!({"state": "active"}),
            "account_suspended",
        ),
        (json!({"state": "demo"}), json!({"state": "active"}), "account_demo"),
        (
            json!({"state": "read_only"}),
            json!({"state": "active"}),
            "account_read_only",
        ),
        (
            json!({"plan": "starter"}),
            json!({"plan": "growth"}),
            "plan_upgrade_required",
        ),
        (
            json!({"api_access": false}),
            json!({"api_access": true}),
            "api_access_required",
        ),
    ];
    // Each change takes seconds until it has an effect, so each has a business of its own, and all are waited for together.
    let mut cases = JoinSet::new();
    let local = LocalSet::new();
    for (change, undo, code) in table {
        let business = json!({"tag": code.replace('_', "-"), "name": code});
        let business = shop.installation().business(&business).await;
        let client = shop.server.client(&business.key("leads:read").await.token);
        let case = async move {
            business.change(change).await;
            answered(&client, Some(code)).await;
            business.change(undo).await;
            answered(&client, None).await;
        };
        cases.spawn_local_on(case, &local);
    }
    local.run_until(cases.join_all()).await;
}

async fn conditions_are_validated_in_order(engine: Engine) {
    let shop = Shop::open(engine).await;
    let everything = json!({"verified": false, "state": "suspended", "plan": "starter", "api_access": false});
    shop.business.change(everything).await;
    answered(&shop.api, Some("business_unverified")).await;
    let repairs = [
        (json!({"verified": true}), Some("account_suspended")),
        (json!({"state": "active"}), Some("plan_upgrade_required")),
        (json!({"plan": "scale"}), Some("api_access_required")),
        (json!({"api_access": true}), None),
    ];
    for (repair, next) in repairs {
        shop.business.change(repair).await;
        answered(&shop.api, next).await;
    }
}

async fn higher_plans_have_access(engine: Engine) {
    let installation = Installation::new(engine).await;
    let server = installation.serve().start().await;
    for plan in ["growth", "scale"] {
        let business = installation
            .business(&json!({"tag": plan, "name": plan, "plan": plan}))
            .await;
        server
            .client(&business.key("leads:read").await.token)
            .get("/2.0/leads")
            .await
            .ok();
    }
}

async fn a_key_without_a_business_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let key = shop.installation().key(&["--no-business", "--scopes", "all"]).await;
    let client = shop.server.client(&key.token);
    for path in ["/2.0/leads", "/2.0/meta", "/2.0/reference/lead-types"] {
        client.get(path).await.refused(403, "business_required");
    }
}

async fn the_keys_of_a_deleted_business_are_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead_path("Ann").await;
    shop.api.get("/2.0/leads").await.ok();
    shop.business.delete().await;
    answered(&shop.api, Some("business_not_found")).await;
}

async fn deleting_a_business_spares_the_others(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    rival.post("/2.0/leads", &json!({"name": "Ann"})).await.created();
    shop.business.delete().await;
    answered(&shop.api, Some("business_not_found")).await;
    assert_eq!(rival.list("/2.0/leads").await.items.len(), 1);

    let again = shop.installation().business(&harness::acme()).await;
    let client = shop.server.client(&again.key("leads:read").await.token);
    assert!(
        client.list("/2.0/leads").await.items.is_empty(),
        "a namesake inherits nothing"
    );
    answered(&shop.api, Some("business_not_found")).await;
}
