//! Answers to be given again.

use std::time::Duration;

use forecourt_accounts::{Claim, Fingerprint, IdempotencyKey, IdempotencyStore, Shown, StoredResponse};
use forecourt_dealership::Session;
use forecourt_kernel::{BusinessId, Timestamp};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::installation::{Installation, both_engines};
use crate::samples::at;

both_engines!(
    an_answer_is_given_again_to_the_same_request_alone,
    a_key_is_free_again_after_a_day,
    each_business_has_keys_of_its_own,
    an_answer_that_was_not_committed_is_forgotten,
    a_key_that_is_given_back_is_free,
    a_twin_waits_and_then_gets_the_answer,
    a_twin_of_what_failed_does_the_work,
    answers_cannot_be_read_in_the_database,
    answers_are_forgotten_in_bounded_steps,
);

const DAY: i64 = <dyn IdempotencyStore>::KEPT_SECONDS;

fn key(text: &str) -> IdempotencyKey {
    text.parse().unwrap()
}

fn request(body: &[u8]) -> Fingerprint {
    Fingerprint::of("POST", "/2.0/leads", "", body)
}

fn answer(body: &[u8]) -> StoredResponse {
    StoredResponse {
        status: 201,
        body: body.to_vec(),
    }
}

/// Does the work of a request: claims the key, and stores the answer.
async fn work(session: &mut dyn Session, business: BusinessId, name: &str, now: Timestamp) {
    let claim = session.claim(business, &key(name), request(b"1"), now).await.unwrap();
    assert_eq!(claim, Claim::Fresh);
    session
        .store_response(business, &key(name), &answer(b"the answer"), Shown::default())
        .await
        .unwrap();
}

async fn worked(installation: &Installation, business: BusinessId, name: &str, now: Timestamp) {
    let mut session = installation.begin().await;
    work(session.as_mut(), business, name, now).await;
    session.commit().await.unwrap();
}

async fn claim(
    installation: &Installation,
    business: BusinessId,
    name: &str,
    request: Fingerprint,
    now: Timestamp,
) -> Claim {
    let mut session = installation.begin().await;
    session.claim(business, &key(name), request, now).await.unwrap()
}

async fn an_answer_is_given_again_to_the_same_request_alone(installation: Installation) {
    let business = installation.business("acme").await;
    worked(&installation, business, "k", at(0)).await;
    for (fingerprint, expected) in [
        (request(b"1"), Claim::Replay(answer(b"the answer"))),
        (request(b"2"), Claim::Reused),
    ] {
        assert_eq!(claim(&installation, business, "k", fingerprint, at(1)).await, expected);
    }
    assert_eq!(
        claim(&installation, business, "K", request(b"1"), at(1)).await,
        Claim::Fresh
    );
}

async fn a_key_is_free_again_after_a_day(installation: Installation) {
    let business = installation.business("acme").await;
    worked(&installation, business, "k", at(0)).await;
    let replay = claim(&installation, business, "k", request(b"1"), at(DAY - 1)).await;
    assert_eq!(replay, Claim::Replay(answer(b"the answer")));

    let mut session = installation.begin().await;
    let again = session
        .claim(business, &key("k"), request(b"2"), at(DAY))
        .await
        .unwrap();
    assert_eq!(again, Claim::Fresh);
    session
        .store_response(business, &key("k"), &answer(b"another"), Shown::default())
        .await
        .unwrap();
    session.commit().await.unwrap();
    let replay = claim(&installation, business, "k", request(b"2"), at(2 * DAY - 1)).await;
    assert_eq!(replay, Claim::Replay(answer(b"another")));
}

async fn each_business_has_keys_of_its_own(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    worked(&installation, ours, "k", at(0)).await;
    assert_eq!(
        claim(&installation, theirs, "k", request(b"1"), at(0)).await,
        Claim::Fresh
    );
}

async fn an_answer_that_was_not_committed_is_forgotten(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    work(session.as_mut(), business, "k", at(0)).await;
    drop(session);
    assert_eq!(
        claim(&installation, business, "k", request(b"1"), at(0)).await,
        Claim::Fresh
    );
}

async fn a_key_that_is_given_back_is_free(installation: Installation) {
    let business = installation.business("acme").await;
    worked(&installation, business, "outdated", at(0)).await;
    for name in ["new", "outdated"] {
        let mut session = installation.begin().await;
        let claimed = session.claim(business, &key(name), request(b"1"), at(DAY)).await;
        assert_eq!(claimed.unwrap(), Claim::Fresh);
        session.unclaim(business, &key(name)).await.unwrap();
        session.commit().await.unwrap();
        assert_eq!(
            claim(&installation, business, name, request(b"2"), at(DAY)).await,
            Claim::Fresh
        );
    }
    assert_eq!(installation.number("SELECT count(*) FROM idempotency_keys").await, 0);
}

/// The same request once more, which has had the time to come as far as it can.
async fn twin(installation: &Installation, business: BusinessId) -> JoinHandle<Claim> {
    let database = installation.database.clone();
    let twin = tokio::spawn(async move {
        let mut session = database.begin().await.unwrap();
        let claim = session.claim(business, &key("k"), request(b"1"), at(0)).await.unwrap();
        session.commit().await.unwrap();
        claim
    });
    sleep(Duration::from_millis(200)).await;
    assert!(!twin.is_finished(), "the twin does not wait");
    twin
}

async fn a_twin_waits_and_then_gets_the_answer(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    work(session.as_mut(), business, "k", at(0)).await;
    let twin = twin(&installation, business).await;
    session.commit().await.unwrap();
    let claim = timeout(Duration::from_secs(20), twin).await.unwrap().unwrap();
    assert_eq!(claim, Claim::Replay(answer(b"the answer")));
}

async fn a_twin_of_what_failed_does_the_work(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    work(session.as_mut(), business, "k", at(0)).await;
    let twin = twin(&installation, business).await;
    drop(session);
    let claim = timeout(Duration::from_secs(20), twin).await.unwrap().unwrap();
    assert_eq!(claim, Claim::Fresh);
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
    let moved = session.claim(business, &key("other"), request(b"1"), at(0)).await;
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
        forgotten.push(session.forget_expired(at(DAY), 4).await.unwrap());
        session.commit().await.unwrap();
    }
    assert_eq!(forgotten, [4, 2, 0, 0]);
    assert_eq!(installation.texts("SELECT key FROM idempotency_keys").await, ["new"]);
}
