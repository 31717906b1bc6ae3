//! Sessions as transactions over all stores.

use std::time::{Duration, Instant};

use forecourt_kernel::{EventName, StoreError, WritesRefused};
use tokio::time::sleep;

use crate::installation::{Installation, both_engines};
use forecourt_leads::testing::a_full_lead;

use crate::samples::{a_business, a_lead, an_event, at};

both_engines!(
    what_is_undone_to_a_savepoint_leaves_no_number_behind,
    a_failure_behind_a_savepoint_does_not_spoil_the_rest,
    what_was_committed_is_there_after_a_restart,
    readers_see_what_is_committed_and_nothing_else,
    many_statements_are_committed_together,
    a_server_that_has_become_too_old_writes_no_more,
);

async fn what_is_undone_to_a_savepoint_leaves_no_number_behind(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    let first = session.insert_lead(business, a_lead(), at(0)).await.unwrap();
    session.savepoint().await.unwrap();
    let undone = session.insert_lead(business, a_lead(), at(0)).await.unwrap();
    session
        .record(business, an_event(EventName::LeadCreated, undone.id))
        .await
        .unwrap();
    session.rollback_to_savepoint().await.unwrap();
    let second = session.insert_lead(business, a_lead(), at(0)).await.unwrap();
    session
        .record(business, an_event(EventName::LeadCreated, second.id))
        .await
        .unwrap();
    session.commit().await.unwrap();
    assert_eq!((first.reference, second.reference), (1, 2));
    assert_eq!(installation.number("SELECT count(*) FROM leads").await, 2);
    assert_eq!(installation.number("SELECT max(sequence) FROM events").await, 1);
}

async fn a_failure_behind_a_savepoint_does_not_spoil_the_rest(installation: Installation) {
    installation.business("taken").await;
    let mut session = installation.begin().await;
    let kept = session.insert_business(&a_business("kept")).await.unwrap();
    session.savepoint().await.unwrap();
    let failure = session.insert_business(&a_business("taken")).await.unwrap_err();
    assert!(matches!(failure, StoreError::Duplicate(_)), "{failure:?}");
    session.rollback_to_savepoint().await.unwrap();
    session.insert_lead(kept, a_lead(), at(0)).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(installation.number("SELECT count(*) FROM leads").await, 1);
}

async fn what_was_committed_is_there_after_a_restart(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    let lead = session.insert_lead(business, a_full_lead(), at(0)).await.unwrap();
    session.commit().await.unwrap();
    let installation = installation.restarted().await;
    let stored = installation.read().await.lead(business, lead.id).await.unwrap();
    assert_eq!(stored, Some(lead));
}

async fn readers_see_what_is_committed_and_nothing_else(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    let lead = session.insert_lead(business, a_lead(), at(0)).await.unwrap();
    let mut reader = installation.read().await;
    assert_eq!(reader.lead(business, lead.id).await.unwrap(), None);
    assert!(session.lead(business, lead.id).await.unwrap().is_some());
    session.commit().await.unwrap();
    assert!(reader.lead(business, lead.id).await.unwrap().is_some());
}

/// There are more statements than a task of the runtime sends before others go on.
async fn many_statements_are_committed_together(installation: Installation) {
    const EVENTS: i64 = 300;
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    let lead = session.insert_lead(business, a_lead(), at(0)).await.unwrap();
    for _ in 0..EVENTS {
        session
            .record(business, an_event(EventName::LeadUpdated, lead.id))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    assert_eq!(installation.number("SELECT count(*) FROM leads").await, 1);
    assert_eq!(installation.number("SELECT count(*) FROM events").await, EVENTS);
    assert_eq!(installation.number("SELECT max(sequence) FROM events").await, EVENTS);
}

async fn a_server_that_has_become_too_old_writes_no_more(installation: Installation) {
    let business = installation.business("acme").await;
    installation
        .execute("INSERT INTO forecourt_meta (key, value) VALUES ('least_version', '999.0.0')")
        .await;
    // It looks again within seconds.
    let deadline = Instant::now() + Duration::from_secs(60);
    let refusal = loop {
        match installation.database.begin().await {
            Err(refusal) => break refusal,
            Ok(session) => drop(session),
        }
        assert!(Instant::now() < deadline, "it goes on writing");
        sleep(Duration::from_millis(20)).await;
    };
    let StoreError::Unavailable(why) = refusal else {
        panic!("{refusal:?}");
    };
    assert!(
        why.is::<WritesRefused>() && why.to_string().contains("999.0.0"),
        "{why}"
    );
    assert!(installation.storage.ping().await.is_err());
    assert!(
        installation.read().await.business(business).await.unwrap().is_some(),
        "it reads"
    );
    installation
        .execute("DELETE FROM forecourt_meta WHERE key = 'least_version'")
        .await;
    while installation.database.begin().await.is_err() {
        assert!(Instant::now() < deadline, "it does not write again");
        sleep(Duration::from_millis(20)).await;
    }
}
