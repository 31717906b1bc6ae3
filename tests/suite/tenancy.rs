//! A business sees its own records, and no sign of others'.

use harness::{Engine, Shop, both_engines};
use serde_json::json;

both_engines! {
    reference_lists_are_one_s_own
    the_lists_of_another_do_not_count
}

async fn reference_lists_are_one_s_own(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    for path in ["staff-users", "booking-types", "job-boards"] {
        let path = format!("/2.0/reference/{path}");
        assert_ne!(shop.api.get(&path).await.ok(), json!([]));
        assert_eq!(rival.get(&path).await.ok(), json!([]));
    }
    assert_eq!(
        rival.get("/2.0/reference/tags?resource=leads").await.ok()["tags"],
        json!([])
    );
}

async fn the_lists_of_another_do_not_count(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let lead = rival.post("/2.0/leads", &json!({})).await.created();
    let path = format!("/2.0/leads/{}", lead["id"]);
    rival.patch(&path, &json!({"site": 2})).await.invalid(&["site"]);
    rival
        .patch(&path, &json!({"tag": ["Hot"]}))
        .await
        .refused(422, "validation_failed");
    let assign = rival.patch(&format!("{path}/assign"), &json!({"assign": [1]})).await;
    assign.refused(422, "validation_failed");
}
