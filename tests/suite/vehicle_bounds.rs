//! Bounds on a vehicle: on every text, array and object of it, and on the record as a whole.

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::vehicles_record::{VEHICLES, path};

both_engines! {
    a_vehicle_has_128_kib
    bodies_of_a_mebibyte_are_refused_quickly
}

/// Returns a body whose `data` has `value` at this dot-path.
fn data(path: &str, value: Value) -> Value {
    let nested = path.rsplit('.').fold(value, |inner, name| json!({name: inner}));
    json!({"data": nested})
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
