//! Bounds on a vehicle: on every text, array and object of it, and on the record as a whole.

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::vehicles_record::{VEHICLES, path, vehicle};

both_engines! {
    a_line_has_255_characters
    a_longer_text_has_20000
    an_array_has_500_elements
    a_vehicle_has_128_kib
    bodies_of_a_mebibyte_are_refused_quickly
    filters_are_bounded
}

const LINES: &[&str] = &[
    "vehicle.make",
    "vehicle.model",
    "vehicle.generation",
    "vehicle.derivative",
    "vehicle.trim",
    "vehicle.engine_size",
    "vehicle.colour_name",
    "vehicle.wheelbase",
    "vehicle.cab_type",
    "vehicle.category",
    "vehicle.driver_position",
    "vehicle.interior_upholstery",
    "vehicle.interior_colour",
    "vehicle.exterior_finish",
    "vehicle.group",
    "option.attention",
    "history.condition",
    "history.condition_interior",
    "history.condition_exterior",
    "history.condition_tyre",
    "history.service_history",
    "stock.reference",
    "stock.number",
    "stock.engine_number",
    "stock.key_number",
    "stock.origin",
    "stock.vat",
    "stock.vat_pricing",
    "stock.price_auction_duration",
    "stock.funding_provider",
    "spec.engine.make",
    "spec.fuel.mpg_combined",
    "spec.size.weight_max",
];

const TEXTS: &[&str] = &[
    "option.description",
    "option.website",
    "history.service_note",
    "stock.notes",
];

/// Returns a body whose `data` has `value` at this dot-path.
fn data(path: &str, value: Value) -> Value {
    let nested = path.rsplit('.').fold(value, |inner, name| json!({name: inner}));
    json!({"data": nested})
}

/// Returns `é` this number of times: characters count, not bytes.
fn text(length: usize) -> Value {
    "é".repeat(length).into()
}

async fn a_line_has_255_characters(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    for field in LINES {
        let changed = shop.api.patch(&path, &data(field, text(255))).await.ok();
        let pointer = format!("/data/{}", field.replace('.', "/"));
        assert_eq!(changed.pointer(&pointer), Some(&text(255)), "{field}");
        let refused = shop.api.patch(&path, &data(field, text(256))).await;
        refused.invalid(&[&format!("data.{field}")]);
        // The record as a whole is bounded as well.
        shop.api.patch(&path, &data(field, Value::Null)).await.ok();
    }
    shop.api
        .patch(
            &path,
            &data("stock.purchase_cost_data", json!([{"supplier": text(256)}])),
        )
        .await
        .invalid(&["data.stock.purchase_cost_data.0.supplier"]);
    for (body, field) in [
        (json!({"registration": "A".repeat(21)}), "registration"),
        (json!({"registration": " ".repeat(100_000) + "A"}), "registration"),
        (json!({"country": text(256)}), "country"),
        (json!({"owner": text(256)}), "owner"),
        (json!({"type": text(256)}), "type"),
        (data("stock.vin", text(256)), "data.stock.vin"),
        (data("stock.location", text(256)), "data.stock.location"),
        (data("vehicle.fuel", text(256)), "data.vehicle.fuel"),
    ] {
        shop.api.post(VEHICLES, &body).await.invalid(&[field]);
    }
    shop.api
        .put(
            &format!("{path}/channels"),
            &json!({"channels": [], "options": {"platform_b": {"location": text(256)}}}),
        )
        .await
        .invalid(&["options.platform_b.location"]);
}

async fn a_longer_text_has_20000(engine: Engine) {
    let shop = Shop::open(engine).await;
    for field in TEXTS {
        let pointer = format!("/data/{}", field.replace('.', "/"));
        let made = vehicle(&shop, &data(field, text(20_000))).await;
        assert_eq!(made.pointer(&pointer), Some(&text(20_000)), "{field}");
        let refused = shop.api.post(VEHICLES, &data(field, text(20_001))).await;
        refused.invalid(&[&format!("data.{field}")]);
    }
}

async fn an_array_has_500_elements(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    let words = |count: usize| Value::from_iter((0..count).map(|word| format!("word {word}")));
    for field in ["option.option", "option.option_custom"] {
        shop.api.patch(&path, &data(field, words(500))).await.ok();
        shop.api
            .patch(&path, &data(field, words(501)))
            .await
            .invalid(&[&format!("data.{field}")]);
        shop.api
            .patch(&path, &data(field, json!(["short", text(256)])))
            .await
            .invalid(&[&format!("data.{field}.1")]);
    }
    let rows = |count: usize| data("stock.purchase_cost_data", Value::from_iter(vec![json!({}); count]));
    shop.api.patch(&path, &rows(50)).await.ok();
    for count in [51, 10_000] {
        shop.api
            .patch(&path, &rows(count))
            .await
            .refused(422, "vehicle_costs_full");
    }
}

async fn a_vehicle_has_128_kib(engine: Engine) {
    const KIB: usize = 1024;
    let shop = Shop::open(engine).await;
    let large = |kib: usize| data("stock.stock_variation", json!({"padding": "x".repeat(kib * KIB)}));
    shop.api.post(VEHICLES, &large(129)).await.invalid(&["data"]);
    let path = path(&shop, &large(120)).await;
    // Existing data counts too.
    shop.api
        .patch(&path, &data("stock.notes", "x".repeat(9 * KIB).into()))
        .await
        .invalid(&["data"]);
    let unchanged = shop.api.get(&path).await.ok();
    assert_eq!(unchanged["data"]["stock"]["notes"], "");
    shop.api.patch(&path, &large(1)).await.ok();
    shop.api
        .patch(&path, &data("stock.notes", "x".repeat(9 * KIB).into()))
        .await
        .ok();
    let figures: serde_json::Map<_, _> = (0..10_000).map(|at| (format!("mpg_{at}"), at.into())).collect();
    shop.api
        .patch(&path, &data("spec.fuel", figures.into()))
        .await
        .invalid(&["data"]);
}

async fn bodies_of_a_mebibyte_are_refused_quickly(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    let members = |name: &str| -> Value {
        let members: serde_json::Map<_, _> = (0..50_000).map(|at| (format!("{name}{at}"), 0.into())).collect();
        members.into()
    };
    let many = |item: Value| Value::from_iter(vec![item; 60_000]);
    let bodies = [
        data("option", members("x")),
        json!({"data": members("x")}),
        data("spec.fuel", members("fuel_")),
        data("option.option", many("Sat Nav".into())),
        data("option.option_custom", many(Value::Null)),
        data("stock.purchase_cost_data", many(json!({"id": "x"}))),
        data("stock.purchase_cost_data", many(0.into())),
        data("stock.vin", "x".repeat(1_000_000).into()),
        data(&"x.".repeat(20), 0.into()),
        json!({"data": {"x".repeat(1_000_000): 0}}),
    ];
    for body in bodies {
        let answer = shop.api.patch(&path, &body).await;
        let error = answer.json();
        assert_eq!(answer.status, 422, "{}", &error.to_string()[..200]);
    }
}

async fn filters_are_bounded(engine: Engine) {
    let shop = Shop::open(engine).await;
    let document = shop.server.anonymous().get("/2.0/openapi.json").await.json();
    let mut texts = 0;
    for parameter in document["paths"][VEHICLES]["get"]["parameters"].as_array().unwrap() {
        let schema = &parameter["schema"];
        let is_text = schema["type"] == "string"
            || schema["type"]
                .as_array()
                .is_some_and(|kinds| kinds.contains(&"string".into()));
        let name = parameter["name"].as_str().unwrap();
        let is_word = schema.get("enum").is_some();
        if is_text && !is_word && !["fields", "cursor"].contains(&name) {
            texts += 1;
            // A tag has a form of its own, which is stricter.
            let most = if name == "tag" { 13 } else { 255 };
            assert_eq!(schema["maxLength"], most, "{name}");
        }
    }
    assert!(texts > 15, "{texts}");
}
