//! Storage failures. The mocks fail the test on any unexpected call.

use forecourt_kernel::{LeadId, StoreError, testing::FixedClock};
use forecourt_leads::{
    Lead, LeadChanges, LeadError, LeadStatus, MockLeadStore, StatusChange, create_lead, delete_lead, reopen_lead,
    set_lead_status, update_lead,
};
use serde_json::json;

use crate::support::{ANN, Fixture, acme, acme_caller, at, changes, faults, valid};

async fn a_lead() -> Lead {
    let (_, lead) = Fixture::with_lead(LeadChanges::default()).await;
    lead
}

fn linked_to_ann() -> LeadChanges {
    changes(json!({"contact": ANN.get()}))
}

async fn create(store: &mut MockLeadStore) -> Result<Lead, LeadError> {
    create_lead(store, &FixedClock::at(at(0)), &acme_caller(), valid(linked_to_ann())).await
}

#[track_caller]
fn assert_conflict<T: std::fmt::Debug>(outcome: &Result<T, LeadError>) {
    assert!(
        matches!(outcome, Err(LeadError::Store(StoreError::Conflict))),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn creating_ends_with_the_first_failure() {
    let mut store = MockLeadStore::new();
    store
        .expect_contact_exists()
        .return_once(|_, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store).await);

    let mut store = MockLeadStore::new();
    store.expect_contact_exists().return_once(|_, _| Ok(true));
    store
        .expect_insert_lead()
        .return_once(|_, _, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store).await);

    let lead = a_lead().await;
    let mut store = MockLeadStore::new();
    store.expect_contact_exists().return_once(|_, _| Ok(true));
    store.expect_insert_lead().return_once(|_, _, _| Ok(lead));
    store
        .expect_request_assessment()
        .return_once(|_, _, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store).await);

    let lead = a_lead().await;
    let mut store = MockLeadStore::new();
    store.expect_contact_exists().return_once(|_, _| Ok(true));
    store.expect_insert_lead().return_once(|_, _, _| Ok(lead));
    store.expect_request_assessment().return_once(|_, _, _| Ok(()));
    store.expect_record().return_once(|_, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store).await);

    let lead = a_lead().await;
    let mut store = MockLeadStore::new();
    store.expect_contact_exists().return_once(|_, _| Ok(true));
    store.expect_insert_lead().return_once(|_, _, _| Ok(lead));
    store.expect_request_assessment().return_once(|_, _, _| Ok(()));
    store.expect_record().return_once(|_, _| Ok(()));
    store
        .expect_queue_mail()
        .return_once(|_, _, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store).await);
}

#[tokio::test]
async fn a_change_that_cannot_be_saved_is_not_reported() {
    let lead = a_lead().await;
    let id = lead.id;
    let mut store = MockLeadStore::new();
    store.expect_lock_lead().return_once(|_, _| Ok(Some(lead)));
    store.expect_save_lead().return_once(|_, _| Err(StoreError::Conflict));
    let command = changes(json!({"name": "Bob"}));
    assert_conflict(&update_lead(&mut store, &FixedClock::at(at(60)), &acme_caller(), id, valid(command)).await);
}

#[tokio::test]
async fn a_missing_contact_of_a_missing_lead_is_reported_first() {
    let mut store = MockLeadStore::new();
    store.expect_contact_exists().return_once(|_, _| Ok(false));
    store.expect_lock_lead().returning(|_, _| Ok(None));
    let outcome = update_lead(
        &mut store,
        &FixedClock::at(at(0)),
        &acme_caller(),
        LeadId::new(404),
        valid(linked_to_ann()),
    )
    .await;
    assert_eq!(faults(outcome), ["contact"]);
}

#[tokio::test]
async fn a_lead_that_cannot_be_locked_is_a_failure_of_every_use_case() {
    let mut store = MockLeadStore::new();
    store
        .expect_lock_lead()
        .times(4)
        .returning(|_, _| Err(StoreError::Conflict));
    let (by, clock, id) = (acme_caller(), FixedClock::at(at(0)), LeadId::new(501));
    assert_conflict(&update_lead(&mut store, &clock, &by, id, valid(LeadChanges::default())).await);
    let close = StatusChange {
        status: Some(LeadStatus::Closed),
        ..StatusChange::default()
    };
    assert_conflict(&set_lead_status(&mut store, &clock, &by, id, close.validate().unwrap()).await);
    assert_conflict(&delete_lead(&mut store, &clock, &by, id).await);
    assert_conflict(&reopen_lead(&mut store, &clock, &acme(), id).await);
}
