//! The parts of a record that are shown: `view` and `fields`.

use std::collections::BTreeSet;

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

both_engines! {
    lists_are_simple_and_single_reads_full
    a_view_can_be_asked_for
    an_unknown_view_is_refused
    fields_leave_only_what_is_named
    fields_go_through_arrays
    fields_come_from_the_full_record
    unknown_fields_are_ignored
    fields_work_on_every_read
}

const SIMPLE: [&str; 15] = [
    "id",
    "site",
    "channel",
    "reference",
    "name",
    "email",
    "phone",
    "mobile",
    "contact",
    "type",
    "status",
    "rating",
    "summary",
    "created",
    "updated",
];
const FULL: [&str; 10] = [
    "version", "session", "avatar", "assign", "tag", "stat", "reopen", "vehicles", "data", "ai",
];

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

#[track_caller]
fn has_members(record: &Value, expected: impl IntoIterator<Item = &'static str>) {
    let members: BTreeSet<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, expected.into_iter().collect());
}

fn full() -> impl Iterator<Item = &'static str> {
    SIMPLE.into_iter().chain(FULL)
}

async fn lists_are_simple_and_single_reads_full(engine: Engine) {
    let (shop, lead) = shop_with_lead(engine).await;
    has_members(&shop.api.list("/2.0/leads").await.items[0], SIMPLE);
    has_members(&shop.api.get(&lead).await.ok(), full());
    has_members(&shop.api.post("/2.0/leads", &json!({})).await.created(), full());
    has_members(&shop.api.patch(&lead, &json!({})).await.ok(), full());
    has_members(
        &shop.api.patch(&format!("{lead}/status"), &json!({})).await.ok(),
        full(),
    );
    has_members(
        &shop
            .api
            .patch(&format!("{lead}/assign"), &json!({"assign": []}))
            .await
            .ok(),
        full(),
    );
}

async fn a_view_can_be_asked_for(engine: Engine) {
    let (shop, lead) = shop_with_lead(engine).await;
    has_members(&shop.api.list("/2.0/leads?view=full").await.items[0], full());
    has_members(&shop.api.list("/2.0/leads?view=simple").await.items[0], SIMPLE);
    has_members(&shop.api.get(&format!("{lead}?view=simple")).await.ok(), SIMPLE);
    has_members(&shop.api.get(&format!("{lead}?view=full")).await.ok(), full());
    let listed = shop.api.list("/2.0/leads?view=full").await.items;
    assert_eq!(
        listed,
        [shop.api.get(&lead).await.ok()],
        "a list's record is the single one"
    );
}

async fn an_unknown_view_is_refused(engine: Engine) {
    let (shop, lead) = shop_with_lead(engine).await;
    for path in ["/2.0/leads", &lead] {
        for view in ["nonsense", "", "Full", "simple,full"] {
            shop.api.get(&format!("{path}?view={view}")).await.invalid(&["view"]);
        }
    }
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

async fn fields_come_from_the_full_record(engine: Engine) {
    let (shop, lead) = shop_with_lead(engine).await;
    let expected = json!({"stat": true, "data": {"message": "Hello"}});
    for view in ["", "&view=simple", "&view=full"] {
        let query = format!("fields=stat,data.message{view}");
        assert_eq!(
            shop.api.list(&format!("/2.0/leads?{query}")).await.items,
            std::slice::from_ref(&expected)
        );
        assert_eq!(shop.api.get(&format!("{lead}?{query}")).await.ok(), expected);
    }
}

async fn unknown_fields_are_ignored(engine: Engine) {
    let (shop, lead) = shop_with_lead(engine).await;
    for fields in [
        "name,nonsense",
        "name,nonsense.deeper",
        "name.deeper,name",
        "name,status_name",
        "name,NAME,rating.deeper",
    ] {
        let seen = shop.api.get(&format!("{lead}?fields={fields}")).await.ok();
        assert_eq!(seen, json!({"name": "Ann"}), "{fields}");
    }
}

async fn fields_work_on_every_read(engine: Engine) {
    let shop = Shop::open(engine).await;
    let staff = shop.api.get("/2.0/reference/staff-users?fields=name").await.ok();
    assert_eq!(staff, json!([{"name": "Sam Hill"}, {"name": "Ada Byrne"}]));
    let statuses = shop
        .api
        .get("/2.0/reference/vehicle-statuses?fields=type,statuses.id")
        .await
        .ok();
    has_members(&statuses, ["type", "statuses"]);
    has_members(&statuses["statuses"][0], ["id"]);
    let meta = shop.api.get("/2.0/meta?fields=version").await.ok();
    assert_eq!(meta, json!({"version": "2.0"}));
}
