use forecourt_kernel::{EventName, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::{TransitionError, VehicleError, VehicleStatus};
use serde_json::json;

use crate::support::{Yard, complete, faults};

#[tokio::test]
async fn a_vehicle_goes_where_the_table_says() {
    let (mut yard, vehicle) = Yard::with(StockType::Customer, json!({})).await;
    for (name, status) in [
        ("on-site", VehicleStatus::OnSite),
        ("3", VehicleStatus::Closed),
        ("2", VehicleStatus::OnSite),
        ("draft", VehicleStatus::Draft),
    ] {
        let moved = yard.set_status(vehicle.id, name).await.unwrap();
        assert_eq!(moved.content.status, status);
        yard.assert_recorded(EventName::VehicleUpdated, &moved);
    }
    yard.forget_saves();
    let stays = yard.set_status(vehicle.id, "1").await.unwrap();
    yard.assert_untouched(&stays);

    let (mut yard, vehicle) = Yard::with(StockType::Courtesy, json!({})).await;
    let moved = yard.set_status(vehicle.id, "in use").await.unwrap();
    assert_eq!(
        yard.view(&moved)["status"],
        json!({"id": 2, "name": "in use", "label": "In Use"})
    );
}

#[tokio::test]
async fn what_a_process_owns_is_not_set() {
    let refused = async |kind, from, to: &str| {
        let (mut yard, vehicle) = Yard::with(kind, complete()).await;
        let vehicle = yard.force(vehicle.id, from).await;
        let outcome = yard.set_status(vehicle.id, to).await;
        yard.assert_untouched(&vehicle);
        match outcome {
            Err(VehicleError::Transition(reason)) => reason,
            other => panic!("a refusal was expected: {other:?}"),
        }
    };
    for kind in [StockType::InStock, StockType::ToOrder] {
        for to in ["reserved", "sold", "complete", "3"] {
            for from in [VehicleStatus::Draft, VehicleStatus::ForSale] {
                assert_eq!(
                    refused(kind, from, to).await,
                    TransitionError::ProcessRequired,
                    "{from:?} {to}"
                );
            }
        }
        for from in [VehicleStatus::Reserved, VehicleStatus::Sold, VehicleStatus::Complete] {
            for to in ["draft", "for-sale"] {
                assert_eq!(
                    refused(kind, from, to).await,
                    TransitionError::ProcessRequired,
                    "{from:?} {to}"
                );
            }
        }
        assert_eq!(
            refused(kind, VehicleStatus::Draft, "for-sale").await,
            TransitionError::TransitionInvalid
        );
    }
    for to in ["appraised", "accepted", "rejected", "3"] {
        let reason = refused(StockType::Appraisal, VehicleStatus::Added, to).await;
        assert_eq!(reason, TransitionError::ProcessRequired, "{to}");
    }
    for (kind, from) in [
        (StockType::InStock, VehicleStatus::Draft),
        (StockType::InStock, VehicleStatus::ForSale),
        (StockType::Customer, VehicleStatus::OnSite),
        (StockType::Appraisal, VehicleStatus::Appraised),
    ] {
        let reason = refused(kind, from, "deleted").await;
        assert_eq!(
            reason,
            TransitionError::TransitionInvalid,
            "a deletion is asked for as one"
        );
    }
    let closed = refused(StockType::Customer, VehicleStatus::Draft, "closed").await;
    assert_eq!(closed, TransitionError::TransitionInvalid);
}

#[tokio::test]
async fn a_state_of_other_stock_is_a_fault() {
    for (kind, name) in [
        (StockType::InStock, "on-site"),
        (StockType::InStock, "appraised"),
        (StockType::Customer, "for-sale"),
        (StockType::Courtesy, "sold"),
        (StockType::Appraisal, "draft"),
    ] {
        let (mut yard, vehicle) = Yard::with(kind, json!({})).await;
        assert_eq!(faults(yard.set_status(vehicle.id, name).await), ["status"]);
        yard.assert_untouched(&vehicle);
        let outcome = yard.set_status(VehicleId::new(5), name).await;
        assert!(matches!(outcome, Err(VehicleError::NotFound(_))), "{outcome:?}");
    }
}

#[tokio::test]
async fn what_is_drafted_again_is_published_nowhere() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    let drafted = yard.set_status(vehicle.id, "1").await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &drafted);
    assert_eq!(
        (drafted.content.status, &*drafted.content.channels),
        (VehicleStatus::Draft, &[][..])
    );
}
