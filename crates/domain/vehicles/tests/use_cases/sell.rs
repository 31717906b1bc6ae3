//! Sales, handovers, and their undoing.

use forecourt_kernel::{ContactId, EventName, Money, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::{Sale, SellVehicle, VehicleError, VehicleStatus};
use serde_json::json;

use crate::processes::{ANN, code};
use crate::support::{Yard, at, complete, faults};

#[tokio::test]
async fn a_sale_is_kept_until_it_is_undone() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    assert_eq!(vehicle.sold_at(), None);
    let command = SellVehicle {
        customer: Some(ANN),
        price: Some(Money::from_minor(950_000)),
        date: Some("2026-02-28".parse().unwrap()),
    };
    yard.set_clock(100);
    let sold = yard.sell(vehicle.id, command).await.unwrap();
    yard.assert_recorded(EventName::VehicleSold, &sold);
    let sale = Sale {
        customer: Some(ANN),
        price: Some(Money::from_minor(950_000)),
        date: "2026-02-28".parse().unwrap(),
        at: at(100),
        handed_over: None,
        invoice: None,
    };
    assert_eq!(
        (sold.content.sale.as_ref(), sold.sold_at()),
        (Some(&sale), Some(at(100)))
    );
    assert_eq!(sold.content.channels, ["website"], "it stays listed for a while");
    assert_eq!(
        yard.view(&sold)["status"],
        json!({"id": 3, "name": "sold", "label": "Sold"})
    );

    yard.set_clock(200);
    let complete = yard.hand_over(vehicle.id).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &complete);
    assert_eq!(complete.sold_at(), Some(at(100)), "the handover does not move it");

    yard.set_clock(300);
    let undone = yard.undo_sale(vehicle.id).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &undone);
    assert_eq!(
        (undone.content.status, undone.sold_at()),
        (VehicleStatus::ForSale, None)
    );
    let again = yard.sell(vehicle.id, SellVehicle::default()).await.unwrap();
    assert_eq!(
        again.content.sale.map(|sale| (sale.customer, sale.date)),
        Some((None, at(300).date()))
    );
}

#[tokio::test]
async fn what_a_sale_names_is_judged_before_the_vehicle() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, complete()).await;
    let wrong = || SellVehicle {
        customer: Some(ContactId::new(777)),
        price: Some(Money::from_minor(-1)),
        date: Some("2036-03-02".parse().unwrap()),
    };
    for id in [vehicle.id, VehicleId::new(5)] {
        assert_eq!(faults(yard.sell(id, wrong()).await), ["customer", "price", "date"]);
    }
    let outcome = yard.sell(vehicle.id, SellVehicle::default()).await;
    assert_eq!(code(&outcome.unwrap_err()), "vehicle_status_transition_invalid");
    yard.assert_untouched(&vehicle);
}

#[tokio::test]
async fn what_goes_back_for_sale_counts_against_the_limit() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    yard.sell(vehicle.id, SellVehicle::default()).await.unwrap();
    let mut others = Vec::new();
    for _ in 0..2 {
        let other = yard.create(StockType::InStock, complete()).await.unwrap();
        others.push(yard.publish(other.id, &["website"]).await.unwrap().id);
    }
    yard.forget_outcomes();
    let before = yard.stored(vehicle.id);
    let refused = yard.undo_sale(vehicle.id).await;
    assert!(
        matches!(refused, Err(VehicleError::PublishLimitReached(2))),
        "{refused:?}"
    );
    yard.assert_untouched(&before);
    yard.sell(others[0], SellVehicle::default()).await.unwrap();
    assert!(yard.undo_sale(vehicle.id).await.is_ok());
    yard.reform(|business| business.settings.publish_limit = None);
    assert!(yard.undo_sale(others[0]).await.is_ok());
}

#[tokio::test]
async fn what_goes_back_for_sale_has_what_publishing_needs() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    yard.sell(vehicle.id, SellVehicle::default()).await.unwrap();
    let bare = yard
        .update(vehicle.id, json!({"stock": {"price_website": null}}))
        .await
        .unwrap();
    yard.forget_outcomes();
    let refused = yard.undo_sale(vehicle.id).await;
    assert!(
        matches!(&refused, Err(VehicleError::PublishIncomplete(missing)) if *missing == ["data.stock.price_website"]),
        "{refused:?}"
    );
    yard.assert_untouched(&bare);
}
