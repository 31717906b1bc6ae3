//! `DELETE /2.0/leads/{id}`.

use harness::{Engine, Shop, both_engines};
use serde_json::json;

both_engines! {
    a_deleted_lead_is_gone
    a_body_does_not_matter
}

async fn a_deleted_lead_is_gone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (lead, kept) = (shop.lead_path("Ann").await, shop.lead_path("Bea").await);
    let id = shop.api.get(&lead).await.ok()["id"].take();
    assert_eq!(shop.api.delete(&lead).await.ok(), json!({"id": id, "deleted": true}));

    shop.api.get(&lead).await.refused(404, "lead_not_found");
    shop.api
        .patch(&lead, &json!({"name": "Cleo"}))
        .await
        .refused(404, "lead_not_found");
    shop.api.delete(&lead).await.refused(404, "lead_not_found");
    let status = shop
        .api
        .patch(&format!("{lead}/status"), &json!({"status": "read"}))
        .await;
    status.refused(404, "lead_not_found");
    let assign = shop.api.patch(&format!("{lead}/assign"), &json!({"assign": [1]})).await;
    assign.refused(404, "lead_not_found");

    let list = shop.api.list("/2.0/leads").await;
    assert_eq!(
        (list.column("name"), &list.pagination["total"]),
        (vec![json!("Bea")], &json!(1))
    );
    shop.api.get(&kept).await.ok();
}

async fn a_body_does_not_matter(engine: Engine) {
    let shop = Shop::open(engine).await;
    for body in ["", "{}", "{\"id\": 1}"] {
        let lead = shop.lead_path("Ann").await;
        let answer = shop.api.request("DELETE", &lead).body(body).send().await;
        assert_eq!(answer.ok()["deleted"], true);
    }
}
