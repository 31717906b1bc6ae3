//! Failures of storage. The mocks fail the test on any unexpected call.

use forecourt_kernel::{StoreError, VehicleId, testing::FixedClock};
use forecourt_reference::StockType;
use forecourt_vehicles::{
    MockVehicleStore, SetChannels, SetTags, StatusChoice, UpdateVehicle, Vehicle, VehicleError, create_vehicle,
    read_channel_options, read_data, set_channels, set_vehicle_status, set_vehicle_tags, update_vehicle,
};
use serde_json::{Value, json};

use crate::dealership::acme;
use crate::support::{Yard, at, caller, complete};

#[track_caller]
fn assert_conflict<T: std::fmt::Debug>(outcome: &Result<T, VehicleError>) {
    assert!(
        matches!(outcome, Err(VehicleError::Store(StoreError::Conflict))),
        "{outcome:?}"
    );
}

async fn a_vehicle() -> Vehicle {
    let (_, vehicle) = Yard::with(StockType::InStock, complete()).await;
    vehicle
}

async fn update(store: &mut MockVehicleStore, data: Value) -> Result<Vehicle, VehicleError> {
    let command = UpdateVehicle {
        data: read_data(&data, &acme(), at(0), false).unwrap(),
        ..UpdateVehicle::default()
    };
    update_vehicle(
        store,
        &FixedClock::at(at(60)),
        &caller(acme()),
        VehicleId::new(901),
        command,
    )
    .await
}

async fn publish(store: &mut MockVehicleStore) -> Result<Vehicle, VehicleError> {
    let command = SetChannels {
        channels: Some(vec!["website".into()]),
        options: read_channel_options(&json!({}), &acme(), at(0)).unwrap(),
    };
    set_channels(
        store,
        &FixedClock::at(at(60)),
        &caller(acme()),
        VehicleId::new(901),
        command,
    )
    .await
}

#[tokio::test]
async fn creating_ends_with_the_first_failure() {
    let create = async |store: &mut MockVehicleStore, data: Value| {
        let command = Yard::open().command(StockType::InStock, &data);
        create_vehicle(store, &FixedClock::at(at(0)), &caller(acme()), command).await
    };
    let mut store = MockVehicleStore::new();
    store
        .expect_contact_name()
        .return_once(|_, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store, json!({"stock": {"funding_provider_id": 501}})).await);

    let mut store = MockVehicleStore::new();
    store
        .expect_insert_vehicle()
        .return_once(|_, _, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store, json!({})).await);

    let vehicle = a_vehicle().await;
    let mut store = MockVehicleStore::new();
    store.expect_insert_vehicle().return_once(|_, _, _| Ok(vehicle));
    store.expect_record().return_once(|_, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store, json!({})).await);
}

#[tokio::test]
async fn a_change_that_cannot_be_saved_is_not_reported() {
    let change = || json!({"stock": {"notes": "x"}});
    let vehicle = a_vehicle().await;
    let mut store = MockVehicleStore::new();
    store.expect_lock_vehicle().return_once(|_, _| Ok(Some(vehicle)));
    store
        .expect_save_vehicle()
        .return_once(|_, _| Err(StoreError::Conflict));
    assert_conflict(&update(&mut store, change()).await);

    let vehicle = a_vehicle().await;
    let mut store = MockVehicleStore::new();
    store.expect_lock_vehicle().return_once(|_, _| Ok(Some(vehicle)));
    store.expect_save_vehicle().return_once(|_, _| Ok(()));
    store.expect_record().return_once(|_, _| Err(StoreError::Conflict));
    assert_conflict(&update(&mut store, change()).await);
}

#[tokio::test]
async fn the_limit_is_counted_under_its_lock_and_only_where_it_matters() {
    let vehicle = a_vehicle().await;
    let mut store = MockVehicleStore::new();
    store.expect_lock_vehicle().return_once(|_, _| Ok(Some(vehicle)));
    store
        .expect_lock_vehicles_for_sale()
        .return_once(|_| Err(StoreError::Conflict));
    assert_conflict(&publish(&mut store).await);

    // A vehicle that is already for sale and does not change needs no count.
    let (_, vehicle) = Yard::selling(complete()).await;
    let mut store = MockVehicleStore::new();
    store.expect_lock_vehicle().return_once(|_, _| Ok(Some(vehicle)));
    assert!(publish(&mut store).await.is_ok());
}

#[tokio::test]
async fn a_vehicle_that_cannot_be_locked_is_a_failure_of_every_use_case() {
    let mut store = MockVehicleStore::new();
    store
        .expect_lock_vehicle()
        .times(4)
        .returning(|_, _| Err(StoreError::Conflict));
    let (by, clock, id) = (caller(acme()), FixedClock::at(at(0)), VehicleId::new(901));
    assert_conflict(&update(&mut store, json!({})).await);
    assert_conflict(&publish(&mut store).await);
    assert_conflict(&set_vehicle_status(&mut store, &clock, &by, id, StatusChoice::Id(1)).await);
    let none = SetTags { tags: Vec::new() };
    assert_conflict(&set_vehicle_tags(&mut store, &clock, &by, id, none).await);
}
