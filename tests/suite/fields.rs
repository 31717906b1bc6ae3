//! The parts of a record that are shown: `view` and `fields`.

use harness::{Engine, Shop, both_engines};
use serde_json::json;

both_engines! {
    fields_leave_only_what_is_named
    fields_go_through_arrays
}

/// Returns a shop with one lead, and the path to it.
async fn shop_with_lead(engine: Engine) -> (Shop, String) {
    let shop = Shop::open(engine).await;
    let body = json!({
        "name": "Ann",
        "tag": ["Hot", {"name": "Cold", "checked": false}],
        "data": {"message": "Hello", "vehicle": {"make": "Ford", "model": "Focus"}, "list": [{"a": 1, "b": 2}, {"b": 3}, 4]},
    });
    let id = shop.lead(&body).await["id"].take();
    (shop, format!("/2.0/leads/{id}"))
}

async fn fields_leave_only_what_is_named(engine: Engine) {
    let (shop, lead) = shop_with_lead(engine).await;
    let table = [
        ("name", json!({"name": "Ann"})),
        ("name,status.name", json!({"name": "Ann", "status": {"name": "new"}})),
        ("status", json!({"status": {"id": 0, "name": "new"}})),
        ("status,status.name", json!({"status": {"id": 0, "name": "new"}})),
        ("data.message", json!({"data": {"message": "Hello"}})),
        (
            "data.vehicle.make,data.message",
            json!({"data": {"message": "Hello", "vehicle": {"make": "Ford"}}}),
        ),
        ("rating,contact", json!({"contact": null, "rating": null})),
        (" name , site ", json!({"site": 0, "name": "Ann"})),
    ];
    for (fields, expected) in table {
        let path = harness::url_query(&lead, [("fields", fields)]);
        assert_eq!(shop.api.get(&path).await.ok(), expected, "{fields}");
        let path = harness::url_query("/2.0/leads", [("fields", fields)]);
        assert_eq!(shop.api.list(&path).await.items, [expected], "{fields}");
    }
}

async fn fields_go_through_arrays(engine: Engine) {
    let (shop, lead) = shop_with_lead(engine).await;
    let seen = shop
        .api
        .get(&format!("{lead}?fields=tag.name,data.list.b,type"))
        .await
        .ok();
    assert_eq!(seen["tag"], json!([{"name": "Hot"}, {"name": "Cold"}]));
    assert_eq!(seen["data"]["list"][0], json!({"b": 2}));
    assert_eq!(seen["data"]["list"][1], json!({"b": 3}));
    assert_eq!(seen["type"], json!(["email"]));
}
