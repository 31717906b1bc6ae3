//! Records that refer to names that no longer exist, or have changed.

use std::time::Duration;

use harness::{Engine, Shop, both_engines, wait_for};
use serde_json::{Value, json};

use crate::contacts_record::CONTACTS;
use crate::vehicles_record::{VEHICLES, a_car, path, path_of, vehicle};

both_engines! {
    the_offerer_of_a_vehicle_is_shown_by_the_present_name
    a_deleted_parent_is_none
    a_dropped_location_is_known_by_its_last_name
    vehicles_leave_a_dropped_channel
}

async fn the_offerer_of_a_vehicle_is_shown_by_the_present_name(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = shop.api.post(CONTACTS, &json!({"name": "Ann Lee"})).await.created();
    let offered = json!({
        "type": "appraisal", "data": {"appraisal": {"details": {"customer_id": contact["id"]}}},
    });
    let path = path_of(&vehicle(&shop, &offered).await);
    let renamed = format!("{CONTACTS}/{}", contact["id"]);
    shop.api.patch(&renamed, &json!({"name": "Ann Byrne"})).await.ok();
    let details = json!({"customer_id": contact["id"].to_string(), "customer": "Ann Byrne"});
    let shown = |vehicle: &Value| vehicle["data"]["appraisal"]["details"].clone();
    assert_eq!(shown(&shop.api.get(&path).await.ok()), details);
    let listed = shop.api.list(&format!("{VEHICLES}?view=full")).await;
    assert_eq!(shown(&listed.items[0]), details);
    let changed = shop
        .api
        .patch(&path, &json!({"data": {"vehicle": {"seats": 4}}}))
        .await
        .ok();
    assert_eq!(shown(&changed), details);
    let events = shop.api.list("/2.0/events?event=vehicle.updated").await;
    assert_eq!(shown(&events.items[0]["data"]), details);
}

async fn a_deleted_parent_is_none(engine: Engine) {
    let shop = Shop::open(engine).await;
    let parent = vehicle(&shop, &json!({})).await;
    let child = vehicle(&shop, &json!({"parent": parent["id"]})).await;
    assert_eq!(child["parent"], parent["id"]);
    shop.api.delete(&path_of(&parent)).await.ok();
    let path = path_of(&child);
    assert_eq!(shop.api.get(&path).await.ok()["parent"], json!(null));
    let listed = shop.api.list(&format!("{VEHICLES}?view=full")).await;
    assert_eq!(listed.items[0]["parent"], json!(null));
    let changed = shop.api.patch(&path, &json!({"country": "IE"})).await.ok();
    assert_eq!(changed["parent"], json!(null));
    let again = shop.api.patch(&path, &json!({"parent": parent["id"]})).await;
    again.invalid(&["parent"]);
}

async fn a_dropped_location_is_known_by_its_last_name(engine: Engine) {
    let shop = Shop::open(engine).await;
    let at_front = json!({"data": {"stock": {"location": "1"}}});
    let path = path(&shop, &at_front).await;
    let location = async || shop.api.get(&path).await.ok()["data"]["stock"]["location"].clone();
    assert_eq!(location().await, "Front");
    let takes_effect = async |locations: Value| {
        shop.business.change(json!({"locations": locations})).await;
        wait_for("the change takes effect", Duration::from_secs(5), async || {
            let shown = shop.api.get("/2.0/reference/locations?fields=id,name").await.ok();
            shown == locations
        })
        .await;
    };
    takes_effect(json!([{"id": "1", "name": "Forecourt"}])).await;
    assert_eq!(location().await, "Forecourt");
    takes_effect(json!([{"id": "2", "name": "Yard"}])).await;
    assert_eq!(location().await, "Forecourt");
    for query in ["location=forecourt", "location=1"] {
        let found = shop.api.list(&format!("{VEHICLES}?{query}")).await;
        assert_eq!(found.items[0]["data"]["stock"]["location"], "Forecourt", "{query}");
    }
    assert!(shop.api.list(&format!("{VEHICLES}?location=2")).await.items.is_empty());
    let answer = shop.api.patch(&path, &at_front).await;
    answer.invalid(&["data.stock.location"]);
    shop.api
        .patch(&path, &json!({"data": {"stock": {"number": "9"}}}))
        .await
        .ok();
    assert_eq!(location().await, "Forecourt");
    takes_effect(json!([{"id": "1", "name": "Showroom"}, {"id": "2", "name": "Yard"}])).await;
    assert_eq!(location().await, "Showroom");
}

async fn vehicles_leave_a_dropped_channel(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &a_car()).await;
    let channels = format!("{path}/channels");
    let both = json!({"channels": ["website", "platform_a"]});
    shop.api.put(&channels, &both).await.ok();
    let before = shop.api.get(&path).await.ok();
    let website = json!({"id": "website", "name": "Website", "category": "website"});
    let platform = json!({"id": "platform_a", "name": "Platform A", "category": "marketplace"});
    let takes_effect = async |files: &Value, count: usize| {
        shop.business.change(json!({"channels": files})).await;
        wait_for("the change takes effect", Duration::from_secs(5), async || {
            shop.api.get(&channels).await.ok()["channels"].as_array().unwrap().len() == count
        })
        .await;
    };
    let on = async |channel: &str| {
        shop.api
            .list(&format!("{VEHICLES}?channel={channel}"))
            .await
            .items
            .len()
    };
    assert_eq!((on("website").await, on("platform_a").await), (1, 1));
    takes_effect(&json!([website]), 1).await;
    assert_eq!((on("website").await, on("platform_a").await), (1, 0));
    shop.api.put(&channels, &both).await.invalid(&["channels.1"]);
    takes_effect(&json!([website, platform]), 2).await;
    assert_eq!((on("website").await, on("platform_a").await), (1, 0));
    let shown = shop.api.get(&channels).await.ok();
    assert_eq!(
        (&shown["published"], &shown["channels"][1]["enabled"]),
        (&json!(true), &json!(false))
    );
    let after = shop.api.get(&path).await.ok();
    assert_eq!((&after["status"], &after["data"]), (&before["status"], &before["data"]));
    let events = shop.api.list("/2.0/events?event=vehicle.updated").await.items;
    assert_eq!(events.len(), 2, "publishing and leaving");

    takes_effect(&json!([]), 0).await;
    assert_eq!(on("website").await, 0);
    let shown = shop.api.get(&channels).await.ok();
    assert_eq!(shown["published"], json!(false));
    assert_eq!(shop.api.get(&path).await.ok()["status"]["name"], "for-sale");
}
