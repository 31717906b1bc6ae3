use forecourt_kernel::{EventName, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::{VehicleError, VehicleStatus};
use serde_json::json;

use crate::support::{Yard, at};

#[tokio::test]
async fn a_deleted_vehicle_is_gone_and_only_its_id_is_reported() {
    for kind in StockType::ALL {
        for &status in VehicleStatus::of(kind) {
            if status == VehicleStatus::Deleted {
                continue;
            }
            let (mut yard, vehicle) = Yard::with(kind, json!({})).await;
            yard.force(vehicle.id, status).await;
            yard.delete(vehicle.id).await.unwrap();
            let kept = yard.stored(vehicle.id);
            assert_eq!((kept.content.status, kept.updated), (VehicleStatus::Deleted, at(60)));
            assert_eq!((kept.content.status.id(), kept.content.status.name()), (4, "deleted"));
            let [(_, event)] = &*yard.store.events else {
                panic!("one event was expected")
            };
            assert_eq!((event.name, event.at), (EventName::VehicleDeleted, at(60)));
            assert_eq!((event.record, &*event.data), (1, r#"{"id":1}"#));

            let again = yard.delete(vehicle.id).await;
            assert!(matches!(again, Err(VehicleError::NotFound(_))), "{again:?}");
        }
    }
}

#[tokio::test]
async fn what_is_not_there_cannot_be_deleted() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let outcome = yard.delete(VehicleId::new(5)).await;
    assert!(matches!(outcome, Err(VehicleError::NotFound(_))));
    yard.assert_untouched(&vehicle);
    yard.change_business();
    let outcome = yard.delete(vehicle.id).await;
    assert!(matches!(outcome, Err(VehicleError::NotFound(_))));
}
