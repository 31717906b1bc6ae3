//! The record of a vehicle: its top level, the writing and changing of its data, and the access to its costs.

use std::time::Duration;

use harness::{Client, Engine, Receiver, Serve, Shop, both_engines, next_second, now};
use serde_json::{Value, json};

both_engines! {
    a_vehicle_of_nothing_has_every_default
    a_vehicle_reads_as_it_was_written
    what_is_wrong_is_reported_by_its_path
    unknown_fields_are_refused_at_any_depth
    every_fault_is_reported_at_once
    a_change_supplies_what_changes
    a_change_of_nothing_leaves_the_stamp
    costs_add_up
    costs_need_their_scope
    a_retry_by_a_lesser_key_shows_no_costs
    events_show_costs_by_scope
    a_price_has_an_example
    an_appraisal_names_the_offerer
    a_vehicle_is_gone_when_it_is_deleted
    other_businesses_have_no_part_in_it
}

pub(crate) const VEHICLES: &str = "/2.0/vehicles";

/// Creates a vehicle from this body.
pub(crate) async fn vehicle(shop: &Shop, body: &Value) -> Value {
    shop.api.post(VEHICLES, body).await.created()
}

/// Creates a vehicle from this body; returns the path to it.
pub(crate) async fn path(shop: &Shop, body: &Value) -> String {
    path_of(&vehicle(shop, body).await)
}

pub(crate) fn path_of(vehicle: &Value) -> String {
    format!("{VEHICLES}/{}", vehicle["id"])
}

/// Creates a courtesy vehicle that is in use, and so can be driven; returns the path to it.
pub(crate) async fn courtesy(shop: &Shop) -> String {
    let path = path(shop, &json!({"type": "courtesy"})).await;
    let status = json!({"status": "in use"});
    shop.api.patch(&format!("{path}/status"), &status).await.ok();
    path
}

/// Returns a car that can be published.
pub(crate) fn a_car() -> Value {
    json!({
        "registration": "ab19cde",
        "data": {
            "vehicle": {"type": "Car", "make": "ford", "model": "Fiesta", "derivative": "Zetec", "mileage": 41_250},
            "history": {"year": 2019},
            "stock": {"reference": "A-17", "location": "1", "price_website": 17_495.5},
        },
    })
}

/// The fields that only the scope vehicle-pricing:read shows.
const PRICING: [&str; 13] = [
    "funding_provider",
    "funding_provider_id",
    "funding_provider_total",
    "purchase_cost",
    "purchase_cost_data",
    "purchase_cost_total",
    "purchase_cost_vat",
    "purchase_price",
    "purchase_price_total",
    "purchase_price_vat",
    "purchase_value",
    "purchase_value_total",
    "purchase_value_vat",
];

fn members(value: &Value) -> Vec<&str> {
    let members = value.as_object().unwrap();
    members.keys().map(String::as_str).collect()
}

/// Returns the pricing fields that a vehicle shows, in alphabetical order.
fn priced(vehicle: &Value) -> Vec<&str> {
    let mut shown = members(&vehicle["data"]["stock"]);
    shown.retain(|member| PRICING.contains(member));
    shown.sort_unstable();
    shown
}

async fn a_vehicle_of_nothing_has_every_default(engine: Engine) {
    let shop = Shop::open(engine).await;
    let start = now();
    let mut vehicle = vehicle(&shop, &json!({})).await;
    let created = vehicle["created"].as_i64().unwrap();
    assert!((start..=now()).contains(&created));
    assert_eq!(vehicle["updated"], created);
    assert_eq!(shop.api.get(&path_of(&vehicle)).await.ok(), vehicle);

    let tag = vehicle["tag"].as_str().unwrap().to_owned();
    assert!(tag.len() >= 5, "{tag}");
    assert_eq!(vehicle["url"], tag.to_lowercase());
    assert_eq!(
        vehicle["url_full"],
        format!("https://acme.example/vehicles/{}", tag.to_lowercase())
    );
    let data = vehicle["data"].take();
    for member in ["id", "tag", "url", "url_full", "created", "updated", "data"] {
        vehicle.as_object_mut().unwrap().remove(member).unwrap();
    }
    let expected = json!({
        "version": 1, "country": "GB", "registration": null, "type": "in-stock", "owner": "", "parent": null,
        "status": {"id": 1, "name": "draft", "label": "Draft"},
        "media": {"photo": [], "video": [], "youtube": [], "photo_spin": []},
    });
    assert_eq!(vehicle, expected);
    let mut sections = members(&data);
    sections.sort_unstable();
    assert_eq!(
        sections,
        [
            "appraisal",
            "finance",
            "history",
            "lookup",
            "option",
            "setting",
            "spec",
            "stock",
            "tag",
            "vehicle"
        ]
    );
    assert_eq!(
        data["tag"],
        json!([{"name": "Ready", "checked": true, "colour": "#3a3", "type": "s"}])
    );
    assert_eq!(data["finance"], json!({"example_monthly": null, "example": null}));
    let appraisal = shop.api.post(VEHICLES, &json!({"type": "appraisal"})).await.created();
    assert_eq!(appraisal["status"], json!({"id": 1, "name": "added", "label": "Added"}));
    assert_eq!(appraisal["data"]["tag"], json!([]));
}

async fn a_vehicle_reads_as_it_was_written(engine: Engine) {
    let shop = Shop::open(engine).await;
    let parent = vehicle(&shop, &json!({})).await;
    let mut body = a_car();
    body["type"] = "t".into();
    body["country"] = "fr".into();
    body["owner"] = 1.into();
    body["parent"] = parent["id"].clone();
    body["unknown"] = 1.into();
    let made = vehicle(&shop, &body).await;
    let tag = made["tag"].as_str().unwrap().to_lowercase();
    let expected = json!({
        "type": "to-order", "country": "FR", "registration": "AB19 CDE", "owner": "1", "parent": parent["id"],
        "url": format!("2019-ford-fiesta-zetec-{tag}"),
    });
    for (member, value) in expected.as_object().unwrap() {
        assert_eq!(made[member], *value, "{member}");
    }
    let data = &made["data"];
    assert_eq!(
        (&data["vehicle"]["make"], &data["vehicle"]["mileage"]),
        (&json!("Ford"), &json!(41_250))
    );
    assert_eq!(
        (&data["stock"]["price_website"], &data["stock"]["location"]),
        (&json!("17495.50"), &json!("Front"))
    );
    assert_eq!(data["history"]["year"], 2019);
    assert_eq!(shop.api.get(&path_of(&made)).await.ok(), made);
    for (owner, shown) in [(json!("2"), "2"), (json!(""), ""), (Value::Null, "")] {
        let made = vehicle(&shop, &json!({"owner": owner, "data": null})).await;
        assert_eq!(made["owner"], shown);
    }
    assert_ne!(parent["tag"], made["tag"]);
}

async fn what_is_wrong_is_reported_by_its_path(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (body, fields) in [
        (json!({"type": "car"}), vec!["type"]),
        (json!({"type": 5}), vec!["type"]),
        (json!({"registration": "123456789012345678901"}), vec!["registration"]),
        (json!({"registration": 5}), vec!["registration"]),
        (json!({"country": "XX"}), vec!["country"]),
        (json!({"country": "GBR"}), vec!["country"]),
        (json!({"owner": 99}), vec!["owner"]),
        (json!({"owner": "Sam"}), vec!["owner"]),
        (json!({"owner": true}), vec!["owner"]),
        (json!({"owner": 1.5}), vec!["owner"]),
        (json!({"parent": 987_654_321}), vec!["parent"]),
        (json!({"parent": "x"}), vec!["parent"]),
        (json!({"parent": -1}), vec!["parent"]),
        (json!({"data": []}), vec!["data"]),
        (json!({"data": "x"}), vec!["data"]),
        (json!({"data": {"vehicle": null}}), vec!["data.vehicle"]),
        (json!({"data": {"vehicle": {"type": "car"}}}), vec!["data.vehicle.type"]),
        (
            json!({"data": {"stock": {"funding_provider_id": 987_654_321}}}),
            vec!["data.stock.funding_provider_id"],
        ),
        (
            json!({"data": {"appraisal": {"details": {"customer_id": 987_654_321}}}}),
            vec!["data.appraisal.details.customer_id"],
        ),
    ] {
        shop.api.post(VEHICLES, &body).await.invalid(&fields);
    }
    assert_eq!(shop.api.list(VEHICLES).await.pagination["total"], 0);

    let path = path(&shop, &a_car()).await;
    let before = shop.api.get(&path).await.ok();
    for (body, fields) in [
        (json!({}), vec!["data"]),
        (json!({"data": null}), vec!["data"]),
        (json!({"data": []}), vec!["data"]),
        (json!({"data": {"history": {"year": 1884}}}), vec!["data.history.year"]),
        (
            json!({"data": {"stock": {"price_website": "9", "price_rrp": -1, "price_channel": 1.005}}}),
            vec![
                "data.stock.price_website",
                "data.stock.price_rrp",
                "data.stock.price_channel",
            ],
        ),
        (
            json!({"data": {"appraisal": {"details": {"customer_id": 1}}}}),
            vec!["data.appraisal"],
        ),
        (
            json!({"data": {"stock": {"funding_provider_id": 987_654_321}}}),
            vec!["data.stock.funding_provider_id"],
        ),
    ] {
        shop.api.patch(&path, &body).await.invalid(&fields);
        // Faults of the body are reported before a missing record.
        shop.api
            .patch(&format!("{VEHICLES}/987654321"), &body)
            .await
            .invalid(&fields);
    }
    assert_eq!(shop.api.get(&path).await.ok(), before);
}

async fn unknown_fields_are_refused_at_any_depth(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    for (data, fields) in [
        (json!({"colour": "Red"}), vec!["data.colour"]),
        (json!({"media": {}, "status": 2}), vec!["data.media", "data.status"]),
        (json!({"vehicle": {"wings": 2}}), vec!["data.vehicle.wings"]),
        (
            json!({"spec": {"engine": {"bhp": 190, "pistons": 4}, "wings": {}}}),
            vec!["data.spec.engine.pistons", "data.spec.wings"],
        ),
        (
            json!({"stock": {"purchase_cost_data": [{"cost": 1}, {"cost": 1, "vat_rate": 20}]}}),
            vec!["data.stock.purchase_cost_data.1.vat_rate"],
        ),
        (
            json!({"stock": {"purchase_date": "2026-01-01", "purchase_cost": 5}, "lookup": {}}),
            vec!["data.stock.purchase_date", "data.stock.purchase_cost", "data.lookup"],
        ),
    ] {
        let body = json!({"data": data});
        shop.api.patch(&path, &body).await.invalid(&fields);
        shop.api.post(VEHICLES, &body).await.invalid(&fields);
    }
}

async fn every_fault_is_reported_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({
        "type": "car", "country": "XX", "owner": 99, "parent": 987_654_321,
        "data": {
            "vehicle": {"seats": -1, "wings": 2}, "history": {"year": "2019"},
            "stock": {"vin": "?", "funding_provider_id": 987_654_321},
        },
    });
    shop.api.post(VEHICLES, &body).await.invalid(&[
        "type",
        "country",
        "owner",
        "parent",
        "data.vehicle.seats",
        "data.vehicle.wings",
        "data.history.year",
        "data.stock.vin",
        "data.stock.funding_provider_id",
    ]);
    let path = path(&shop, &json!({})).await;
    let body = json!({"data": {"vehicle": {"wings": 2}, "stock": {"funding_provider_id": 987_654_321}}});
    shop.api
        .patch(&path, &body)
        .await
        .invalid(&["data.vehicle.wings", "data.stock.funding_provider_id"]);
}

async fn a_change_supplies_what_changes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &a_car()).await;
    let before = shop.api.get(&path).await.ok();
    let change = json!({
        "type": "customer", "status": 3,
        "data": {"vehicle": {"colour": "nardo grey", "mileage": null, "derivative": ""}, "setting": {"poa": "Yes"}},
    });
    let after = shop.api.patch(&path, &change).await.ok();
    for member in [
        "id",
        "tag",
        "registration",
        "type",
        "status",
        "owner",
        "created",
        "media",
    ] {
        assert_eq!(after[member], before[member], "{member}");
    }
    let data = &after["data"];
    assert_eq!(
        (
            &data["vehicle"]["colour"],
            &data["vehicle"]["mileage"],
            &data["vehicle"]["derivative"]
        ),
        (&json!("Nardo Grey"), &Value::Null, &json!(""))
    );
    assert_eq!(
        (&data["vehicle"]["make"], &data["stock"]["reference"]),
        (&json!("Ford"), &json!("A-17"))
    );
    assert_eq!(
        (&data["stock"]["price_poa"], &data["setting"]["poa"]),
        (&json!(true), &json!("Yes"))
    );
    let tag = after["tag"].as_str().unwrap().to_lowercase();
    assert_eq!(after["url"], format!("2019-ford-fiesta-{tag}"));
    assert_eq!(shop.api.get(&path).await.ok(), after);
}

async fn events(shop: &Shop) -> Vec<Value> {
    shop.api.get("/2.0/events").await.list().items
}

async fn a_change_of_nothing_leaves_the_stamp(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &a_car()).await;
    let before = shop.api.get(&path).await.ok();
    next_second().await;
    for data in [json!({}), json!({"vehicle": {}}), a_car()["data"].take()] {
        assert_eq!(shop.api.patch(&path, &json!({"data": data})).await.ok(), before);
    }
    let after = shop
        .api
        .patch(&path, &json!({"data": {"vehicle": {"doors": 5}}}))
        .await
        .ok();
    assert!(after["updated"].as_i64() > before["updated"].as_i64());
    let events = events(&shop).await;
    let names: Vec<_> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["vehicle.created", "vehicle.updated"]);
    assert_eq!((&events[0]["data"], &events[1]["data"]), (&before, &after));
}

async fn costs_add_up(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    let stock = shop.api.get(&path).await.ok()["data"]["stock"].take();
    assert_eq!(
        (&stock["purchase_cost_total"], &stock["purchase_price"]),
        (&json!("0.00"), &Value::Null)
    );
    let rows = json!([{"type": "Paint", "cost": 100.1, "vat": 20.02, "id": 7}, {"cost": 50, "date": "2026-01-31"}]);
    let change = |rows: Value| json!({"data": {"stock": {"purchase_cost_data": rows}}});
    let stock = shop.api.patch(&path, &change(rows)).await.ok()["data"]["stock"].take();
    for (member, value) in [
        ("purchase_cost", "150.10"),
        ("purchase_cost_vat", "20.02"),
        ("purchase_cost_total", "170.12"),
        ("purchase_value", "150.10"),
        ("purchase_value_total", "170.12"),
    ] {
        assert_eq!(stock[member], value, "{member}");
    }
    let shown = &stock["purchase_cost_data"];
    assert_eq!(
        (&shown[0]["id"], &shown[0]["total"], &shown[1]["id"]),
        (&json!(7), &json!("120.12"), &json!(1))
    );
    let row = |number: usize| json!({"type": format!("Row {number}"), "cost": 1});
    let full: Vec<_> = (0..50).map(row).collect();
    shop.api.patch(&path, &change(full.clone().into())).await.ok();
    let too_many: Value = (0..51).map(row).collect();
    for answer in [
        shop.api.patch(&path, &change(too_many.clone())).await,
        shop.api.post(VEHICLES, &change(too_many)).await,
    ] {
        answer.refused(422, "vehicle_costs_full");
    }
    let stock = shop.api.get(&path).await.ok()["data"]["stock"].take();
    assert_eq!(stock["purchase_cost"], "50.00");
}

/// Returns a vehicle with costs.
fn with_costs() -> Value {
    json!({"data": {"stock": {
        "funding_provider": "Bank", "funding_provider_total": 5_000, "price_reserve": 99,
        "purchase_cost_data": [{"cost": 100}],
    }}})
}

async fn costs_need_their_scope(engine: Engine) {
    let shop = Shop::open(engine).await;
    let client = shop.client("vehicles:read,vehicles:write").await;
    let made = client.post(VEHICLES, &with_costs()).await.created();
    let path = path_of(&made);
    assert_eq!(made["data"]["stock"]["price_reserve"], "99.00");
    let change = json!({"data": {"stock": {"funding_provider_total": 6_000, "notes": "x"}}});
    let changed = client.patch(&path, &change).await.ok();
    for vehicle in [
        made,
        changed,
        client.get(&path).await.ok(),
        client
            .patch(&format!("{path}/status"), &json!({"status": 1}))
            .await
            .ok(),
        client.list(&format!("{VEHICLES}?view=full")).await.items.remove(0),
        client.list(VEHICLES).await.items.remove(0),
    ] {
        assert_eq!(priced(&vehicle), Vec::<&str>::new());
    }
    let fields = "fields=id,data.stock.notes,data.stock.purchase_cost,data.stock.purchase_cost_data.cost";
    let expected = |vehicle: &Value| json!({"id": vehicle["id"], "data": {"stock": {"notes": "x"}}});
    let read = client.get(&format!("{path}?{fields}")).await.ok();
    assert_eq!(read, expected(&read));
    assert_eq!(
        client.list(&format!("{VEHICLES}?{fields}")).await.items,
        [expected(&read)]
    );

    let full = shop.api.get(&path).await.ok();
    assert_eq!(priced(&full), PRICING);
    let stock = &full["data"]["stock"];
    assert_eq!(
        (
            &stock["funding_provider"],
            &stock["funding_provider_total"],
            &stock["purchase_cost"]
        ),
        (&json!("Bank"), &json!("6000.00"), &json!("100.00"))
    );
    let read = shop.api.get(&format!("{path}?{fields}")).await.ok();
    assert_eq!(read["data"]["stock"]["purchase_cost_data"], json!([{"cost": "100.00"}]));
}

async fn a_retry_by_a_lesser_key_shows_no_costs(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lesser = shop.client("vehicles:read,vehicles:write").await;
    let create = |client: &Client| client.request("POST", VEHICLES).key("create").json(&with_costs());
    let first = create(&shop.api).send().await;
    let again = create(&shop.api).send().await;
    assert_eq!(again.text(), first.text());
    let seen = create(&lesser).send().await;
    assert_eq!(seen.header("X-Idempotent-Replay"), Some("true"));
    let (vehicle, seen) = (first.created(), seen.created());
    assert_eq!((priced(&vehicle).len(), priced(&seen).len()), (PRICING.len(), 0));
    assert_eq!(seen, lesser.get(&path_of(&vehicle)).await.ok());

    let change = |client: &Client| {
        let body = json!({"data": {"stock": {"notes": "x"}}});
        client.request("PATCH", &path_of(&vehicle)).key("change").json(&body)
    };
    let first = change(&lesser).send().await;
    assert_eq!(priced(&first.ok()), Vec::<&str>::new());
    assert_eq!(change(&lesser).send().await.text(), first.text());
    assert_eq!(
        change(&shop.api).send().await.text(),
        first.text(),
        "the first answer is what is kept"
    );
    // The refusal of a retry has nothing to remove.
    let wrong = |client: &Client| {
        client
            .request("POST", VEHICLES)
            .key("wrong")
            .json(&json!({"data": {"x": 1}}))
    };
    let first = wrong(&shop.api).send().await;
    first.invalid(&["data.x"]);
    assert_eq!(wrong(&lesser).send().await.text(), first.text());
}

async fn events_show_costs_by_scope(engine: Engine) {
    let setup = |serve: Serve| {
        let serve = serve.env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", "true");
        serve.env("FORECOURT_WEBHOOK_SETTLE_SECONDS", "1")
    };
    let shop = Shop::open_with(engine, setup).await;
    let receiver = Receiver::start();
    for (name, scopes) in [
        ("costs", json!(["vehicles:read", "vehicle-pricing:read"])),
        ("plain", Value::Null),
    ] {
        let body = json!({"url": receiver.url(&format!("/{name}")), "events": ["vehicle.created", "vehicle.deleted"],
                          "scopes": scopes});
        shop.api.post("/2.0/webhooks", &body).await.created();
    }
    let made = vehicle(&shop, &with_costs()).await;
    let shown = |name: &str| {
        let received = receiver.received_at(&format!("/{name}"));
        received
            .iter()
            .map(|delivery| delivery.json()["data"].take())
            .collect::<Vec<_>>()
    };
    receiver.wait_for(2, Duration::from_secs(30));
    assert_eq!(shown("costs"), std::slice::from_ref(&made));
    let plain = shop.client("vehicles:read,webhooks:read").await;
    let seen = plain.get(&path_of(&made)).await.ok();
    assert_eq!(priced(&seen), Vec::<&str>::new());
    assert_eq!(shown("plain"), std::slice::from_ref(&seen));
    let logged = plain.get("/2.0/events").await.list().items;
    assert_eq!(logged[0]["data"], seen);
    assert_eq!(events(&shop).await[0]["data"], made);

    shop.api.delete(&path_of(&made)).await.ok();
    receiver.wait_for(4, Duration::from_secs(30));
    for name in ["costs", "plain"] {
        assert_eq!(shown(name)[1], json!({"id": made["id"]}));
    }
}

async fn a_price_has_an_example(engine: Engine) {
    let shop = Shop::open(engine).await;
    let settings = json!({"tag": "acme", "name": "Acme Cars", "settings": {"finance": {"apr": "9.9", "term": 48,
                          "deposit_percent": "10"}}});
    shop.installation().business(&settings).await;
    let path = path(&shop, &a_car()).await;
    let finance = shop.api.get(&path).await.ok()["data"]["finance"].take();
    let example = &finance["example"];
    assert_eq!(
        (&example["cash_price"], &example["term"]),
        (&json!("17495.50"), &json!(48))
    );
    assert_eq!(finance["example_monthly"], example["monthly_payment"]);
    assert_eq!(example["total_deposit"], "1749.55");
    let poa = json!({"data": {"setting": {"poa": "Yes"}}});
    let finance = shop.api.patch(&path, &poa).await.ok()["data"]["finance"].take();
    assert_eq!(finance, json!({"example_monthly": null, "example": null}));
}

async fn an_appraisal_names_the_offerer(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = shop
        .api
        .post("/2.0/contacts", &json!({"name": "Ann Lee"}))
        .await
        .created();
    let body = json!({"type": "a", "data": {"appraisal": {"details": {"customer_id": contact["id"]}}}});
    let create = || shop.api.request("POST", VEHICLES).key("k").json(&body);
    let made = create().send().await.created();
    let details = &made["data"]["appraisal"]["details"];
    assert_eq!(
        *details,
        json!({"customer_id": contact["id"].to_string(), "customer": "Ann Lee"})
    );
    assert_eq!(made["data"]["appraisal"]["confirm"]["appraised_at"], 0);
    let rival = shop.rival().await;
    rival
        .post(VEHICLES, &body)
        .await
        .invalid(&["data.appraisal.details.customer_id"]);

    shop.api.delete(&format!("/2.0/contacts/{}", contact["id"])).await.ok();
    let after = shop.api.get(&path_of(&made)).await.ok();
    assert_eq!(
        after["data"]["appraisal"]["details"],
        json!({"customer_id": "", "customer": ""})
    );
    assert_eq!(create().send().await.created(), json!({"id": made["id"]}));
    let log = shop.api.get("/2.0/events").await;
    assert!(!log.text().contains("Ann Lee"), "{}", log.text());
}

async fn a_vehicle_is_gone_when_it_is_deleted(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = vehicle(&shop, &a_car()).await;
    let (id, path) = (&made["id"], path_of(&made));
    let reader = shop.client("vehicles:read,vehicles:write").await;
    reader.delete(&path).await.refused(403, "scope_denied");
    assert_eq!(shop.api.delete(&path).await.ok(), json!({"id": id, "deleted": true}));
    for (method, path, body) in [
        ("GET", path.clone(), Value::Null),
        ("GET", format!("{path}?view=simple"), Value::Null),
        ("PATCH", path.clone(), json!({"data": {}})),
        ("DELETE", path.clone(), Value::Null),
        ("PATCH", format!("{path}/status"), json!({"status": 1})),
        ("GET", format!("{path}/tags"), Value::Null),
        ("PUT", format!("{path}/tags"), json!({"tags": []})),
        ("GET", format!("{path}/channels"), Value::Null),
        ("PUT", format!("{path}/channels"), json!({"channels": []})),
        ("GET", format!("{path}/publish-check"), Value::Null),
        ("GET", format!("{VEHICLES}/0"), Value::Null),
        ("GET", format!("{VEHICLES}/-1"), Value::Null),
        ("GET", format!("{VEHICLES}/x"), Value::Null),
        ("DELETE", format!("{VEHICLES}/x"), Value::Null),
        ("GET", format!("{VEHICLES}/9223372036854775808/tags"), Value::Null),
    ] {
        let request = shop.api.request(method, &path);
        let request = if body.is_null() { request } else { request.json(&body) };
        request.send().await.refused(404, "vehicle_not_found");
    }
    assert_eq!(shop.api.list(VEHICLES).await.pagination["total"], 0);
    assert!(shop.api.list(&format!("{VEHICLES}?status=4")).await.items.is_empty());
    let deleted = events(&shop).await.remove(1);
    assert_eq!(
        (&deleted["event"], &deleted["data"]),
        (&json!("vehicle.deleted"), &json!({"id": id}))
    );
    shop.api
        .post(VEHICLES, &json!({"parent": id}))
        .await
        .invalid(&["parent"]);
    let next = vehicle(&shop, &json!({})).await;
    assert_ne!(next["tag"], made["tag"]);
}

async fn other_businesses_have_no_part_in_it(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let made = vehicle(&shop, &a_car()).await;
    let tag = made["tag"].as_str().unwrap();
    assert!(rival.list(&format!("{VEHICLES}?tag={tag}")).await.items.is_empty());
    rival
        .post(VEHICLES, &json!({"parent": made["id"]}))
        .await
        .invalid(&["parent"]);
    rival.post(VEHICLES, &json!({"owner": 1})).await.invalid(&["owner"]);
    let location = json!({"data": {"stock": {"location": "1"}}});
    rival.post(VEHICLES, &location).await.invalid(&["data.stock.location"]);
}
