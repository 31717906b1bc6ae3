//! `PATCH /2.0/leads/{id}/assign`.

use harness::{Engine, Shop, both_engines};
use serde_json::json;

both_engines! {
    an_assignment_is_replaced
    unknown_staff_are_refused
    the_assignment_is_required
}

async fn an_assignment_is_replaced(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    for staff in [json!([1]), json!([2, 1]), json!([2]), json!([])] {
        let after = shop
            .api
            .patch(&format!("{lead}/assign"), &json!({"assign": staff}))
            .await
            .ok();
        assert_eq!(after["assign"], staff);
        assert_eq!(shop.api.get(&lead).await.ok(), after);
    }
}

async fn unknown_staff_are_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    shop.api
        .patch(&format!("{lead}/assign"), &json!({"assign": [1]}))
        .await
        .ok();
    for staff in [json!([99]), json!([1, 99]), json!([0]), json!([-1])] {
        let answer = shop
            .api
            .patch(&format!("{lead}/assign"), &json!({"assign": staff}))
            .await;
        let error = answer.refused(422, "validation_failed");
        assert!(
            error["details"]["field"].as_str().unwrap().starts_with("assign"),
            "{error}"
        );
    }
    assert_eq!(shop.api.get(&lead).await.ok()["assign"], json!([1]));
}

async fn the_assignment_is_required(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    for body in [
        json!({}),
        json!({"assign": null}),
        json!({"staff": [1]}),
        json!({"assign": 1}),
    ] {
        shop.api
            .patch(&format!("{lead}/assign"), &body)
            .await
            .invalid(&["assign"]);
    }
}
