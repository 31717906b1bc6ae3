use forecourt_kernel::{Money, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::{Vehicle, VehicleError};
use serde_json::{Value, json};

use crate::support::Yard;

fn rows(rows: &Value) -> Value {
    json!({"stock": {"purchase_cost_data": rows}})
}

/// Returns cost, its VAT and their sum; then the same for price and costs together.
fn totals(yard: &Yard, vehicle: &Vehicle) -> [String; 6] {
    let shown = yard.view(vehicle);
    ["cost", "cost_vat", "cost_total", "value", "value_vat", "value_total"].map(|name| {
        shown["data"]["stock"][format!("purchase_{name}")]
            .as_str()
            .unwrap()
            .to_owned()
    })
}

#[tokio::test]
async fn writing_rows_adds_them_up_to_the_penny() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let sent = rows(&json!([
        {"type": "Valet", "supplier": "Shine", "cost": 0.1, "vat": 0.02, "date": "2026-02-01", "id": 4},
        {"cost": 0.2},
        {"vat": 19.99},
        {},
    ]));
    let changed = yard.update(vehicle.id, sent).await.unwrap();
    assert_eq!(
        totals(&yard, &changed),
        ["0.30", "20.01", "20.31", "0.30", "20.01", "20.31"]
    );
    let shown = yard.view(&changed);
    assert_eq!(
        shown["data"]["stock"]["purchase_cost_data"][0],
        json!({
            "type": "Valet", "supplier": "Shine", "cost": "0.10", "vat": "0.02", "invoice": "", "reference": "",
            "date": "2026-02-01", "id": 4, "total": "0.12",
        })
    );

    let fewer = yard.update(vehicle.id, rows(&json!([{"cost": 7}]))).await.unwrap();
    assert_eq!(totals(&yard, &fewer), ["7.00", "0.00", "7.00", "7.00", "0.00", "7.00"]);
    for none in [json!([]), Value::Null] {
        let none = yard.update(vehicle.id, rows(&none)).await.unwrap();
        assert_eq!(totals(&yard, &none), ["0.00"; 6]);
    }
}

#[tokio::test]
async fn costs_come_on_top_of_what_was_paid() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let mut content = vehicle.content.clone();
    let stock = &mut content.data.stock;
    stock.purchase_price = Some(Money::from_minor(500_000));
    stock.purchase_price_vat = Some(Money::from_minor(100_000));
    stock.purchase_price_total = Some(Money::from_minor(600_000));
    yard.put(vehicle.id, content).await;
    let changed = yard
        .update(vehicle.id, rows(&json!([{"cost": 10, "vat": 2}])))
        .await
        .unwrap();
    assert_eq!(
        totals(&yard, &changed),
        ["10.00", "2.00", "12.00", "5010.00", "1002.00", "6012.00"]
    );
}

#[tokio::test]
async fn the_greatest_amounts_add_up_too() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let row = json!({"cost": 90_071_992_547_409_u64, "vat": 90_071_992_547_409_u64});
    let changed = yard.update(vehicle.id, rows(&json!(vec![row; 50]))).await.unwrap();
    assert_eq!(totals(&yard, &changed)[2], "9007199254740900.00");
}

#[tokio::test]
async fn fifty_rows_are_the_most() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let many = |count: usize| rows(&json!(vec![json!({"cost": 1}); count]));
    let full = yard.update(vehicle.id, many(50)).await.unwrap();
    assert_eq!(totals(&yard, &full)[0], "50.00");

    yard.forget_outcomes();
    for id in [vehicle.id, VehicleId::new(5)] {
        let outcome = yard.update(id, many(51)).await;
        assert!(matches!(outcome, Err(VehicleError::CostsFull)), "{outcome:?}");
    }
    yard.assert_untouched(&full);
    let command = yard.command(StockType::InStock, &many(51));
    let outcome = yard.create_as(command).await;
    assert!(matches!(outcome, Err(VehicleError::CostsFull)), "{outcome:?}");
    assert_eq!(yard.store.vehicles.all().count(), 1);
}

#[tokio::test]
async fn rows_that_are_sent_back_stay_what_they_are() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let first = yard
        .update(vehicle.id, rows(&json!([{"cost": 1}, {"id": "x", "vat": 2}])))
        .await
        .unwrap();
    yard.forget_outcomes();
    let back = json!([{"id": 1, "cost": 1, "total": "1.00"}, {"id": "x", "vat": 2, "total": null}]);
    yard.update(vehicle.id, rows(&back)).await.unwrap();
    yard.assert_untouched(&first);
}
