//! Storage failures. The mocks fail the test on any unexpected call.

use forecourt_contacts::{
    Contact, ContactError, LOGIN_EMAIL_RULE, MockContactStore, NewNote, PasswordHash, SetFollowBlocks,
    abandon_login_email, add_note, begin_login_email, create_contact, delete_contact, delete_note, finish_login_email,
    reset_password, set_follow_blocks, update_contact,
};
use forecourt_kernel::{ContactId, ContactNoteId, StoreError, testing::FixedClock};
use serde_json::json;

use crate::support::{Office, acme_caller, at, changes, login, named, valid};

async fn a_contact() -> Contact {
    let (_, contact) = Office::with_contact(login("Ann", "ann@example.com")).await;
    contact
}

async fn create(store: &mut MockContactStore) -> Result<Contact, ContactError> {
    let fields = login("Ann", "ann@example.com");
    create_contact(store, &FixedClock::at(at(0)), &acme_caller(), valid(fields)).await
}

#[track_caller]
fn assert_conflict<T: std::fmt::Debug>(outcome: &Result<T, ContactError>) {
    assert!(
        matches!(outcome, Err(ContactError::Store(StoreError::Conflict))),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn creating_ends_with_the_first_failure() {
    let mut store = MockContactStore::new();
    store
        .expect_login_holder()
        .return_once(|_, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store).await);

    let mut store = MockContactStore::new();
    store.expect_login_holder().return_once(|_, _| Ok(None));
    store
        .expect_insert_contact()
        .return_once(|_, _, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store).await);

    let contact = a_contact().await;
    let mut store = MockContactStore::new();
    store.expect_login_holder().return_once(|_, _| Ok(None));
    store.expect_insert_contact().return_once(|_, _, _| Ok(contact));
    store.expect_record().return_once(|_, _| Err(StoreError::Conflict));
    assert_conflict(&create(&mut store).await);
}

#[tokio::test]
async fn storage_decides_who_logs_in() {
    let twin = || StoreError::Duplicate(LOGIN_EMAIL_RULE.into());
    let mut store = MockContactStore::new();
    store.expect_login_holder().return_once(|_, _| Ok(None));
    store.expect_insert_contact().return_once(move |_, _, _| Err(twin()));
    let outcome = create(&mut store).await;
    assert!(matches!(outcome, Err(ContactError::EmailDuplicate)), "{outcome:?}");

    let contact = a_contact().await;
    let id = contact.id;
    let mut store = MockContactStore::new();
    store.expect_lock_contact().return_once(|_, _| Ok(Some(contact)));
    store.expect_login_holder().return_once(|_, _| Ok(None));
    store.expect_save_contact().return_once(move |_, _| Err(twin()));
    let moving = changes(json!({"email": "bob@example.com"}));
    let outcome = update_contact(&mut store, &FixedClock::at(at(0)), &acme_caller(), id, valid(moving)).await;
    assert!(matches!(outcome, Err(ContactError::EmailDuplicate)), "{outcome:?}");

    let other = ContactError::from(StoreError::Duplicate("another".into()));
    assert!(matches!(other, ContactError::Store(StoreError::Duplicate(_))));
}

#[tokio::test]
async fn a_change_that_cannot_be_saved_is_not_reported() {
    let contact = a_contact().await;
    let id = contact.id;
    let mut store = MockContactStore::new();
    store.expect_lock_contact().return_once(|_, _| Ok(Some(contact)));
    store
        .expect_save_contact()
        .return_once(|_, _| Err(StoreError::Conflict));
    assert_conflict(
        &update_contact(
            &mut store,
            &FixedClock::at(at(60)),
            &acme_caller(),
            id,
            valid(named("Bob")),
        )
        .await,
    );
}

#[tokio::test]
async fn what_cannot_be_erased_is_not_reported_as_gone() {
    let contact = a_contact().await;
    let id = contact.id;
    let mut store = MockContactStore::new();
    store.expect_lock_contact().return_once(|_, _| Ok(Some(contact)));
    store
        .expect_erase_contact()
        .return_once(|_, _| Err(StoreError::Conflict));
    assert_conflict(&delete_contact(&mut store, &FixedClock::at(at(60)), &acme_caller(), id).await);
}

#[tokio::test]
async fn a_contact_that_cannot_be_locked_is_a_failure_of_every_use_case() {
    let mut store = MockContactStore::new();
    store
        .expect_lock_contact()
        .times(7)
        .returning(|_, _| Err(StoreError::Conflict));
    let (by, clock, id) = (acme_caller(), FixedClock::at(at(0)), ContactId::new(501));
    assert_conflict(&update_contact(&mut store, &clock, &by, id, valid(named("Bob"))).await);
    assert_conflict(&delete_contact(&mut store, &clock, &by, id).await);
    let note = NewNote {
        note: "x".into(),
        user: None,
    };
    assert_conflict(&add_note(&mut store, &clock, &by, id, note).await);
    assert_conflict(&delete_note(&mut store, &by, id, ContactNoteId::new(1)).await);
    assert_conflict(&set_follow_blocks(&mut store, &clock, &by, id, SetFollowBlocks::default()).await);
    let hash = PasswordHash::from_phc(String::new());
    assert_conflict(&reset_password(&mut store, &by, id, hash).await);
    assert_conflict(&begin_login_email(&mut store, &clock, &by, id).await);
}

#[tokio::test]
async fn a_login_mail_needs_its_lease() {
    let contact = a_contact().await;
    let (by, clock, id) = (acme_caller(), FixedClock::at(at(0)), contact.id);
    let mut store = MockContactStore::new();
    store
        .expect_lock_contact()
        .returning(move |_, _| Ok(Some(contact.clone())));
    store
        .expect_lease_login_mail()
        .times(1)
        .return_once(|_, _, _, _| Err(StoreError::Conflict));
    assert_conflict(&begin_login_email(&mut store, &clock, &by, id).await);

    store.expect_lease_login_mail().return_once(|_, _, _, _| Ok(true));
    let invitation = begin_login_email(&mut store, &clock, &by, id).await.unwrap().unwrap();
    store
        .expect_return_login_mail()
        .times(2)
        .returning(|_, _, _| Err(StoreError::Conflict));
    let hash = PasswordHash::from_phc(String::new());
    assert_conflict(&finish_login_email(&mut store, &by, &invitation, hash).await);
    assert_conflict(&abandon_login_email(&mut store, &by, &invitation).await);
}
