//! The use cases, on a store in memory and at a fixed time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod appraise;
mod channels;
mod costs;
mod create;
#[path = "../support/mod.rs"]
mod dealership;
mod delete;
mod documents;
mod drives;
mod failures;
mod media;
mod model;
mod processes;
mod read;
mod reserve;
mod sell;
mod status;
mod support;
mod tags;
mod update;

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    use forecourt_kernel::{BusinessId, ContactId};
    use forecourt_vehicles::testing::{MemoryStore, vehicle_reader_contract, vehicle_store_contract};

    let (ours, theirs, ann) = (BusinessId::new(1), BusinessId::new(2), ContactId::new(501));
    let mut store = MemoryStore::default();
    store.vehicles.know_contact(ours, ann, "Ann Lee");
    let book = vehicle_store_contract(&mut store, ours, theirs, (ann, "Ann Lee")).await;
    vehicle_reader_contract(&mut store, &book).await;
}
