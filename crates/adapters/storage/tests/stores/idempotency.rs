//! Answers that are stored for retries.

use std::time::Duration;

use forecourt_accounts::testing::idempotency_store_contract;
use forecourt_accounts::{Fingerprint, IdempotencyStore, KeyUse, KeyedRequest, Shown, StoredResponse};
use forecourt_dealership::Session;
use forecourt_kernel::{BusinessId, StoreError, StoreResult, Timestamp};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::installation::{Installation, both_engines};
use crate::samples::at;

both_engines!(
    answers_are_kept_as_their_domain_asks,
    an_answer_is_given_again_to_the_same_request_alone,
    a_key_is_free_again_after_a_day,
    each_business_has_keys_of_its_own,
    an_answer_that_was_not_committed_is_forgotten,
    of_twins_one_is_kept_and_the_other_gets_its_answer,
    a_twin_of_what_failed_does_the_work,
    answers_cannot_be_read_in_the_database,
    answers_are_forgotten_in_bounded_steps,
);

const DAY: i64 = <dyn IdempotencyStore>::KEPT_SECONDS;

fn request(key: &str, body: &[u8]) -> KeyedRequest {
    KeyedRequest {
        key: key.parse().unwrap(),
        fingerprint: Fingerprint::of("POST", "/2.0/leads", "", body),
    }
}

fn answer(body: &[u8]) -> StoredResponse {
    StoredResponse {
        status: 201,
        body: body.to_vec(),
    }
}

/// Does the work of a request, and stores the answer.
async fn work(session: &mut dyn Session, business: BusinessId, key: &str, now: Timestamp) {
    let request = request(key, b"1");
    assert_eq!(session.key_use(business, &request, now).await.unwrap(), KeyUse::Free);
    session
        .store_response(business, &request, now, &answer(b"the answer"), Shown::default())
        .await
        .unwrap();
}

async fn worked(installation: &Installation, business: BusinessId, key: &str, now: Timestamp) {
    let mut session = installation.begin().await;
    work(session.as_mut(), business, key, now).await;
    session.commit().await.unwrap();
}

async fn key_use(installation: &Installation, business: BusinessId, request: &KeyedRequest, now: Timestamp) -> KeyUse {
    let mut session = installation.begin().await;
    session.key_use(business, request, now).await.unwrap()
}

async fn answers_are_kept_as_their_domain_asks(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let mut session = installation.begin().await;
    idempotency_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

async fn an_answer_is_given_again_to_the_same_request_alone(installation: Installation) {
    let business = installation.business("acme").await;
    worked(&installation, business, "k", at(0)).await;
    for (request, expected) in [
        (request("k", b"1"), KeyUse::Answered(answer(b"the answer"))),
        (request("k", b"2"), KeyUse::Reused),
        (request("K", b"1"), KeyUse::Free),
    ] {
        assert_eq!(key_use(&installation, business, &request, at(1)).await, expected);
    }
}

async fn a_key_is_free_again_after_a_day(installation: Installation) {
    let business = installation.business("acme").await;
    worked(&installation, business, "k", at(0)).await;
    let (first, second) = (request("k", b"1"), request("k", b"2"));
    assert_eq!(
        key_use(&installation, business, &first, at(DAY - 1)).await,
        KeyUse::Answered(answer(b"the answer"))
    );

    let mut session = installation.begin().await;
    let again = session.key_use(business, &second, at(DAY)).await.unwrap();
    assert_eq!(again, KeyUse::Free);
    session
        .store_response(business, &second, at(DAY), &answer(b"another"), Shown::default())
        .await
        .unwrap();
    session.commit().await.unwrap();
    assert_eq!(
        key_use(&installation, business, &second, at(2 * DAY - 1)).await,
        KeyUse::Answered(answer(b"another"))
    );
}

async fn each_business_has_keys_of_its_own(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    worked(&installation, ours, "k", at(0)).await;
    assert_eq!(
        key_use(&installation, theirs, &request("k", b"1"), at(0)).await,
        KeyUse::Free
    );
}

async fn an_answer_that_was_not_committed_is_forgotten(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    work(session.as_mut(), business, "k", at(0)).await;
    drop(session);
    assert_eq!(
        key_use(&installation, business, &request("k", b"1"), at(0)).await,
        KeyUse::Free
    );
}

/// Sends the same request from another server at the same time: to its commit, if it gets that far.
fn twin(installation: &Installation, business: BusinessId) -> JoinHandle<StoreResult<KeyUse>> {
    let database = installation.database.clone();
    tokio::spawn(async move {
        let mut session = database.begin().await?;
        let request = request("k", b"1");
        let found = session.key_use(business, &request, at(0)).await?;
        if found == KeyUse::Free {
            session
                .store_response(business, &request, at(0), &answer(b"the twin's"), Shown::default())
                .await?;
        }
        session.commit().await?;
        Ok(found)
    })
}

async fn ended(twin: JoinHandle<StoreResult<KeyUse>>) -> StoreResult<KeyUse> {
    timeout(Duration::from_secs(20), twin).await.unwrap().unwrap()
}

async fn of_twins_one_is_kept_and_the_other_gets_its_answer(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    work(session.as_mut(), business, "k", at(0)).await;
    let twin_of_open = twin(&installation, business);
    // It may have come as far as it can by now, or not have begun.
    sleep(Duration::from_millis(200)).await;
    let kept = session.commit().await;
    let lost = ended(twin_of_open).await;
    let expected = match (kept, lost) {
        (Ok(()), Ok(KeyUse::Answered(replayed))) => replayed,
        (Ok(()), Err(StoreError::Conflict)) => answer(b"the answer"),
        (Err(StoreError::Conflict), Ok(KeyUse::Free)) => answer(b"the twin's"),
        other => panic!("{other:?}"),
    };
    let again = ended(twin(&installation, business)).await.unwrap();
    assert_eq!(again, KeyUse::Answered(expected));
    assert_eq!(installation.number("SELECT count(*) FROM idempotency_keys").await, 1);
}

async fn a_twin_of_what_failed_does_the_work(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    work(session.as_mut(), business, "k", at(0)).await;
    let twin = twin(&installation, business);
    sleep(Duration::from_millis(50)).await;
    drop(session);
    assert_eq!(ended(twin).await.unwrap(), KeyUse::Free);
}

async fn answers_cannot_be_read_in_the_database(installation: Installation) {
    let business = installation.business("acme").await;
    worked(&installation, business, "k", at(0)).await;
    let stored = installation.bytes("SELECT body FROM idempotency_keys").await;
    assert!(stored.len() > b"the answer".len());
    assert!(!stored.windows(6).any(|bytes| bytes == b"answer"));

    // Moved to another row, it opens no more.
    installation.execute("UPDATE idempotency_keys SET key = 'other'").await;
    let mut session = installation.begin().await;
    let moved = session.key_use(business, &request("other", b"1"), at(0)).await;
    assert!(moved.is_err(), "{moved:?}");
}

async fn answers_are_forgotten_in_bounded_steps(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    for number in 0..5 {
        worked(&installation, ours, &format!("old-{number}"), at(0)).await;
    }
    worked(&installation, theirs, "old", at(0)).await;
    worked(&installation, ours, "new", at(1)).await;
    let mut forgotten = Vec::new();
    for _ in 0..4 {
        let mut session = installation.begin().await;
        forgotten.push(session.purge_expired(at(DAY), 4).await.unwrap());
        session.commit().await.unwrap();
    }
    assert_eq!(forgotten, [4, 2, 0, 0]);
    assert_eq!(installation.texts("SELECT key FROM idempotency_keys").await, ["new"]);
}
