//! `PATCH /2.0/leads/{id}`: the supplied fields change, and nothing else.

use harness::{Engine, Shop, both_engines, next_second};
use serde_json::{Value, json};

use crate::lead_create::shown_detail;

both_engines! {
    each_field_changes_alone
    the_detail_is_merged
    the_detail_is_measured_as_a_whole
    tags_are_replaced
    null_unlinks_and_clears
    a_change_is_validated_as_a_create_is
    a_refused_change_changes_nothing
    a_change_that_changes_nothing_leaves_updated_alone
    a_change_moves_updated
    simultaneous_changes_do_not_undo_each_other
}

/// Returns a shop with a lead that has a value in every field, and the path to it.
async fn shop_with_lead(engine: Engine) -> (Shop, String) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead(&content()).await;
    let path = format!("/2.0/leads/{}", lead["id"]);
    (shop, path)
}

fn content() -> Value {
    json!({
        "site": 2, "channel": "website", "name": "Ann Lee", "email": "ann@example.com", "phone": "+442079460000",
        "mobile": "+447700900123", "type": ["finance"], "status": 2, "tag": ["Hot"], "channel_id": "thread-1",
        "data": {"message": "Hello", "vehicle": {"make": "Ford"}},
    })
}

async fn each_field_changes_alone(engine: Engine) {
    let (shop, path) = shop_with_lead(engine).await;
    let mut expected = shop.api.get(&path).await.ok();
    let cold = json!([{"name": "Cold", "checked": true, "colour": "#33d", "type": ""}]);
    let table = [
        (json!({"site": 0}), "site", json!(0)),
        (json!({"channel": "phone"}), "channel", json!("phone")),
        (json!({"name": "Bea Moss"}), "name", json!("Bea Moss")),
        (json!({"email": "bea@example.com"}), "email", json!("bea@example.com")),
        (json!({"phone": "01632 960001"}), "phone", json!("+441632960001")),
        (json!({"mobile": "07700 900456"}), "mobile", json!("+447700900456")),
        (json!({"type": "other,parts"}), "type", json!(["other", "parts"])),
        (json!({"status": 3}), "status", json!({"id": 3, "name": "replied"})),
        (json!({"tag": ["Cold"]}), "tag", cold),
    ];
    for (change, member, value) in table {
        let mut seen = shop.api.patch(&path, &change).await.ok();
        assert_eq!(seen, shop.api.get(&path).await.ok());
        seen["updated"] = expected["updated"].clone();
        expected["version"] = json!(expected["version"].as_i64().unwrap() + 1);
        expected[member] = value;
        assert_eq!(seen, expected, "{change}");
    }
}

async fn the_detail_is_merged(engine: Engine) {
    let (shop, path) = shop_with_lead(engine).await;
    let table = [
        (
            json!({"data": {"subject": "Focus"}}),
            json!({"message": "Hello", "vehicle": {"make": "Ford"}, "channel_id": "thread-1", "subject": "Focus"}),
        ),
        (
            json!({"data": {"vehicle": {"model": "Focus"}, "subject": null}}),
            json!({"message": "Hello", "vehicle": {"model": "Focus"}, "channel_id": "thread-1"}),
        ),
        (
            json!({"data": {"message": "Bye", "absent": null}}),
            json!({"message": "Bye", "vehicle": {"model": "Focus"}, "channel_id": "thread-1"}),
        ),
        (
            json!({"channel_id": "thread-2"}),
            json!({"message": "Bye", "vehicle": {"model": "Focus"}, "channel_id": "thread-2"}),
        ),
        (
            json!({"data": {"vehicle": null, "message": null, "channel_id": null}}),
            json!({}),
        ),
    ];
    for (change, expected) in table {
        let expected = shown_detail(expected);
        assert_eq!(shop.api.patch(&path, &change).await.ok()["data"], expected, "{change}");
        assert_eq!(shop.api.get(&path).await.ok()["data"], expected, "{change}");
    }
}

async fn the_detail_is_measured_as_a_whole(engine: Engine) {
    let (shop, path) = shop_with_lead(engine).await;
    let half = |name: &str| json!({"data": {name: "x".repeat(40_000)}});
    shop.api.patch(&path, &half("one")).await.ok();
    shop.api.patch(&path, &half("two")).await.invalid(&["data"]);
    shop.api.patch(&path, &half("one")).await.ok();
    let swap = json!({"data": {"one": null, "two": "x".repeat(40_000)}});
    shop.api.patch(&path, &swap).await.ok();
}

async fn tags_are_replaced(engine: Engine) {
    let (shop, path) = shop_with_lead(engine).await;
    for (written, names) in [
        (json!(["Cold"]), vec!["Cold"]),
        (json!(["Cold", "Hot"]), vec!["Cold", "Hot"]),
        (json!([]), vec![]),
    ] {
        let lead = shop.api.patch(&path, &json!({"tag": written})).await.ok();
        let read: Vec<&str> = lead["tag"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|tag| tag["name"].as_str())
            .collect();
        assert_eq!(read, names);
    }
}

async fn null_unlinks_and_clears(engine: Engine) {
    let (shop, path) = shop_with_lead(engine).await;
    let lead = shop.api.patch(&path, &json!({"contact": null})).await.ok();
    assert_eq!(lead["contact"], Value::Null);
    let emptied = json!({"email": "", "phone": "", "mobile": "", "name": ""});
    for change in [
        emptied,
        json!({"email": null, "phone": null, "mobile": null, "name": null}),
    ] {
        let lead = shop.api.patch(&path, &change).await.ok();
        for member in ["email", "phone", "mobile", "name"] {
            assert_eq!(lead[member], "", "{member} after {change}");
        }
    }
}

async fn a_change_is_validated_as_a_create_is(engine: Engine) {
    let (shop, path) = shop_with_lead(engine).await;
    let before = shop.api.get(&path).await.ok();
    for (change, field) in [
        (json!({"site": 99}), "site"),
        (json!({"channel": "fax"}), "channel"),
        (json!({"email": "nonsense"}), "email"),
        (json!({"phone": "nonsense"}), "phone"),
        (json!({"mobile": "12"}), "mobile"),
        (json!({"contact": 77}), "contact"),
        (json!({"type": "nonsense"}), "type"),
        (json!({"status": 6}), "status"),
        (json!({"data": []}), "data"),
    ] {
        shop.api.patch(&path, &change).await.invalid(&[field]);
    }
    let several = json!({"name": "Bea", "site": 99, "channel": "fax", "email": "nonsense", "phone": "x", "status": 9});
    shop.api
        .patch(&path, &several)
        .await
        .invalid(&["site", "channel", "email", "phone", "status"]);
    shop.api
        .post("/2.0/leads", &several)
        .await
        .invalid(&["site", "channel", "email", "phone", "status"]);
    assert_eq!(shop.api.get(&path).await.ok(), before);
}

async fn a_refused_change_changes_nothing(engine: Engine) {
    let (shop, path) = shop_with_lead(engine).await;
    let before = shop.api.get(&path).await.ok();
    let oversized = json!({"name": "Bea", "data": {"message": "x".repeat(70_000)}});
    shop.api.patch(&path, &oversized).await.invalid(&["data"]);
    shop.api
        .patch(&path, &json!({"name": "Bea", "contact": 77}))
        .await
        .invalid(&["contact"]);
    assert_eq!(shop.api.get(&path).await.ok(), before);
}

async fn a_change_that_changes_nothing_leaves_updated_alone(engine: Engine) {
    let (shop, path) = shop_with_lead(engine).await;
    shop.api
        .patch(&format!("{path}/assign"), &json!({"assign": [1]}))
        .await
        .ok();
    let before = shop.api.get(&path).await.ok();
    next_second().await;
    shop.api.patch(&path, &json!({})).await.ok();
    shop.api.patch(&path, &content()).await.ok();
    shop.api
        .patch(&path, &json!({"phone": "020 7946 0000", "type": "finance"}))
        .await
        .ok();
    shop.api.patch(&path, &json!({"data": {}})).await.ok();
    shop.api.patch(&path, &json!({"data": {"absent": null}})).await.ok();
    shop.api
        .patch(&format!("{path}/status"), &json!({"status": "read"}))
        .await
        .ok();
    shop.api
        .patch(&format!("{path}/status"), &json!({"stat": true}))
        .await
        .ok();
    shop.api.patch(&format!("{path}/status"), &json!({})).await.ok();
    shop.api
        .patch(&format!("{path}/assign"), &json!({"assign": [1]}))
        .await
        .ok();
    assert_eq!(shop.api.get(&path).await.ok(), before);
}

async fn a_change_moves_updated(engine: Engine) {
    let (shop, path) = shop_with_lead(engine).await;
    let status = format!("{path}/status");
    let assign = format!("{path}/assign");
    let changes = [
        (&path, json!({"name": "Bea"})),
        (&path, json!({"data": {"message": "Bye"}})),
        (&path, json!({"tag": [{"name": "Hot", "checked": false}]})),
        (&status, json!({"status": "replied"})),
        (&status, json!({"stat": false})),
        (&assign, json!({"assign": [2]})),
    ];
    let mut before = shop.api.get(&path).await.ok();
    for (target, change) in changes {
        next_second().await;
        let after = shop.api.patch(target, &change).await.ok();
        assert!(after["updated"].as_i64() > before["updated"].as_i64(), "{change}");
        assert_eq!(after["created"], before["created"]);
        before = after;
    }
}

async fn simultaneous_changes_do_not_undo_each_other(engine: Engine) {
    let (shop, path) = shop_with_lead(engine).await;
    let changes: Vec<_> = (0..20)
        .map(|number| {
            let (api, path) = (shop.api.clone(), path.clone());
            tokio::spawn(async move {
                api.patch(&path, &json!({"data": {format!("note-{number}"): number}}))
                    .await
            })
        })
        .collect();
    for change in changes {
        change.await.unwrap().ok();
    }
    let data = shop.api.get(&path).await.ok()["data"].take();
    for number in 0..20 {
        assert_eq!(data[format!("note-{number}")], number);
    }
}
