//! Sessions of one business that wait for each other, and may share a transaction.

use forecourt_accounts::{Fingerprint, KeyUse, KeyedRequest, Shown, StoredResponse};
use forecourt_dealership::Session;
use forecourt_kernel::{BusinessId, EventName, LeadId, StoreError, StoreResult};
use forecourt_storage::Storage;
use futures_util::future::join_all;

use crate::installation::{Installation, both_engines};
use crate::samples::{a_lead, an_event, at};

both_engines!(
    creations_that_wait_share_a_commit_and_are_numbered_without_gaps,
    one_that_is_given_up_leaves_no_trace,
    one_that_is_rolled_back_leaves_no_trace_and_ends_with_the_others,
    one_that_is_rolled_back_after_it_read_has_the_others_try_again,
    one_that_is_undone_to_its_savepoint_leaves_no_trace,
    one_with_statements_of_its_own_commits_by_itself,
    a_key_that_is_used_twice_at_once_is_answered_twice,
    creations_with_keys_share_a_commit_too,
    one_that_is_given_up_with_a_key_leaves_no_trace,
    one_that_cannot_be_undone_alone_has_the_others_try_again,
);

async fn begin(installation: &Installation, business: BusinessId) -> Box<dyn Session> {
    installation.database.begin_for(Some(business)).await.unwrap()
}

/// Creates a lead with its event.
async fn create(session: &mut dyn Session, business: BusinessId) -> LeadId {
    let lead = session.insert_lead(business, a_lead(), at(0)).await.unwrap();
    let event = an_event(EventName::LeadCreated, lead.id);
    session.record(business, event).await.unwrap();
    lead.id
}

async fn created(installation: &Installation, business: BusinessId) -> StoreResult<LeadId> {
    let mut session = begin(installation, business).await;
    let id = create(session.as_mut(), business).await;
    session.commit().await.map(|()| id)
}

/// Checks the number of leads and of their events, and that neither numbers have gaps.
async fn assert_leads(installation: &Installation, count: i64) {
    for query in [
        "SELECT count(*) FROM leads",
        "SELECT max(reference) FROM leads",
        "SELECT count(*) FROM events",
        "SELECT max(sequence) FROM events",
        "SELECT records FROM counters WHERE kind = 'leads'",
    ] {
        assert_eq!(installation.number(query).await, count, "{query}");
    }
}

async fn creations_that_wait_share_a_commit_and_are_numbered_without_gaps(installation: Installation) {
    let business = installation.business("acme").await;
    let commits = || installation.storage.write_stats().commits;
    let before = commits();
    let ids = join_all((0..20).map(|_| created(&installation, business))).await;
    if matches!(installation.storage, Storage::Postgres(_)) {
        assert!(commits() - before <= 3, "{} commits", commits() - before);
    }
    let ids: Vec<LeadId> = ids.into_iter().collect::<StoreResult<_>>().unwrap();
    assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    assert_leads(&installation, 20).await;
    let unordered = "SELECT count(*) FROM leads one JOIN leads other \
                     ON one.id < other.id AND one.reference > other.reference";
    assert_eq!(installation.number(unordered).await, 0);
}

async fn one_that_is_given_up_leaves_no_trace(installation: Installation) {
    let business = installation.business("acme").await;
    let given_up = async {
        let mut session = begin(&installation, business).await;
        create(session.as_mut(), business).await;
    };
    let (one, (), two, three) = tokio::join!(
        created(&installation, business),
        given_up,
        created(&installation, business),
        created(&installation, business),
    );
    assert!(one.is_ok() && two.is_ok() && three.is_ok(), "{one:?} {two:?} {three:?}");
    assert_leads(&installation, 3).await;
}

async fn one_that_is_rolled_back_leaves_no_trace_and_ends_with_the_others(installation: Installation) {
    let business = installation.business("acme").await;
    let rolled_back = async {
        let mut session = begin(&installation, business).await;
        create(session.as_mut(), business).await;
        session.rollback().await.unwrap();
        // Those before it may have shared their transaction with it.
        installation.number("SELECT count(*) FROM leads").await
    };
    let (one, seen, two) = tokio::join!(
        created(&installation, business),
        rolled_back,
        created(&installation, business),
    );
    assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    assert!((1..=2).contains(&seen), "{seen}");
    assert_leads(&installation, 2).await;
}

async fn one_that_is_rolled_back_after_it_read_has_the_others_try_again(installation: Installation) {
    let business = installation.business("acme").await;
    let rolled_back = async {
        let mut session = begin(&installation, business).await;
        let id = create(session.as_mut(), business).await;
        // Buffered rows are sent with those of the others.
        assert!(session.lead(business, id).await.unwrap().is_some());
        session.rollback().await
    };
    let (one, refused, two) = tokio::join!(
        created(&installation, business),
        rolled_back,
        created(&installation, business),
    );
    let is_again = |failure: &StoreError| matches!(failure, StoreError::Conflict);
    // On PostgreSQL it has to run again if it has read rows that are undone with it.
    assert_eq!(
        refused.as_ref().err().is_some_and(is_again),
        refused.is_err(),
        "{refused:?}"
    );
    let mut kept = 0;
    for outcome in [one, two] {
        match outcome {
            Ok(_) => kept += 1,
            Err(failure) => assert!(is_again(&failure) && refused.is_err(), "{failure:?}"),
        }
    }
    assert_leads(&installation, kept).await;
}

async fn one_that_is_undone_to_its_savepoint_leaves_no_trace(installation: Installation) {
    let business = installation.business("acme").await;
    let undone = async {
        let mut session = begin(&installation, business).await;
        session.savepoint().await.unwrap();
        create(session.as_mut(), business).await;
        session.rollback_to_savepoint().await.unwrap();
        session.commit().await
    };
    let (one, none, two) = tokio::join!(
        created(&installation, business),
        undone,
        created(&installation, business),
    );
    assert!(one.is_ok() && none.is_ok() && two.is_ok(), "{one:?} {none:?} {two:?}");
    assert_leads(&installation, 2).await;
}

async fn one_with_statements_of_its_own_commits_by_itself(installation: Installation) {
    let business = installation.business("acme").await;
    let first = created(&installation, business).await.unwrap();
    let changed = async {
        let mut session = begin(&installation, business).await;
        let mut lead = session.lock_lead(business, first).await.unwrap().unwrap();
        lead.content.name = "Changed".to_owned();
        session.save_lead(business, &lead).await.unwrap();
        let event = an_event(EventName::LeadUpdated, first);
        session.record(business, event).await.unwrap();
        session.commit().await
    };
    let mixed = async {
        // Something is buffered before the first statement.
        let mut session = begin(&installation, business).await;
        let id = create(session.as_mut(), business).await;
        assert!(session.lead(business, id).await.unwrap().is_some());
        session.commit().await
    };
    let (one, changed, two, mixed, three) = tokio::join!(
        created(&installation, business),
        changed,
        created(&installation, business),
        mixed,
        created(&installation, business),
    );
    assert!(one.is_ok() && two.is_ok() && three.is_ok(), "{one:?} {two:?} {three:?}");
    assert!(changed.is_ok() && mixed.is_ok(), "{changed:?} {mixed:?}");
    assert_eq!(installation.number("SELECT count(*) FROM leads").await, 5);
    assert_eq!(installation.number("SELECT max(sequence) FROM events").await, 6);
    let lead = installation.read().await.lead(business, first).await.unwrap().unwrap();
    assert_eq!(lead.content.name, "Changed");
}

fn request(key: &str) -> KeyedRequest {
    KeyedRequest {
        key: key.parse().unwrap(),
        fingerprint: Fingerprint::of("POST", "/2.0/leads", "", b"{}"),
    }
}

/// Creates a lead unless the key was answered before. It tries again while it is in conflict, as a server does.
async fn created_once(installation: &Installation, business: BusinessId, key: &str) -> KeyUse {
    loop {
        match try_to_create_once(installation, business, key).await {
            Err(StoreError::Conflict) => tokio::task::yield_now().await,
            outcome => return outcome.unwrap(),
        }
    }
}

async fn try_to_create_once(installation: &Installation, business: BusinessId, key: &str) -> StoreResult<KeyUse> {
    let request = request(key);
    let mut session = begin(installation, business).await;
    let found = session.key_use(business, &request, at(0)).await?;
    if found == KeyUse::Free {
        session.savepoint().await?;
        create(session.as_mut(), business).await;
        let answer = StoredResponse {
            status: 201,
            body: b"{}".to_vec(),
        };
        session
            .store_response(business, &request, at(0), &answer, Shown::default())
            .await?;
    }
    session.commit().await?;
    Ok(found)
}

async fn a_key_that_is_used_twice_at_once_is_answered_twice(installation: Installation) {
    let business = installation.business("acme").await;
    let (one, two, twin, three) = tokio::join!(
        created_once(&installation, business, "one"),
        created_once(&installation, business, "two"),
        created_once(&installation, business, "two"),
        created_once(&installation, business, "three"),
    );
    assert_eq!([one, three], [KeyUse::Free, KeyUse::Free]);
    let outcomes = [two, twin];
    assert!(outcomes.contains(&KeyUse::Free), "{outcomes:?}");
    let is_replay = |found: &KeyUse| matches!(found, KeyUse::Answered(_));
    assert!(outcomes.iter().any(is_replay), "{outcomes:?}");
    assert_leads(&installation, 3).await;
}

async fn creations_with_keys_share_a_commit_too(installation: Installation) {
    let business = installation.business("acme").await;
    let commits = || installation.storage.write_stats().commits;
    let before = commits();
    let keys: Vec<String> = (0..20).map(|number| format!("key-{number}")).collect();
    let uses = join_all(keys.iter().map(|key| created_once(&installation, business, key))).await;
    if matches!(installation.storage, Storage::Postgres(_)) {
        assert!(commits() - before <= 3, "{} commits", commits() - before);
    }
    assert!(uses.iter().all(|found| *found == KeyUse::Free), "{uses:?}");
    assert_leads(&installation, 20).await;
    for key in &keys {
        let again = created_once(&installation, business, key).await;
        assert!(matches!(again, KeyUse::Answered(_)), "{again:?}");
    }
}

async fn one_that_is_given_up_with_a_key_leaves_no_trace(installation: Installation) {
    let business = installation.business("acme").await;
    let given_up = async {
        let mut session = begin(&installation, business).await;
        let request = request("one");
        session.key_use(business, &request, at(0)).await.unwrap();
        create(session.as_mut(), business).await;
    };
    let (one, (), two) = tokio::join!(
        created(&installation, business),
        given_up,
        created(&installation, business),
    );
    assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    assert_leads(&installation, 2).await;
    assert_eq!(created_once(&installation, business, "one").await, KeyUse::Free);
}

async fn one_that_cannot_be_undone_alone_has_the_others_try_again(installation: Installation) {
    let business = installation.business("acme").await;
    let given_up = async {
        let mut session = begin(&installation, business).await;
        let id = create(session.as_mut(), business).await;
        // Buffered rows are sent with those of the others.
        assert!(session.lead(business, id).await.unwrap().is_some());
    };
    let (one, (), two) = tokio::join!(
        created(&installation, business),
        given_up,
        created(&installation, business),
    );
    let mut kept = 0;
    for outcome in [one, two] {
        match outcome {
            Ok(_) => kept += 1,
            Err(failure) => assert!(matches!(failure, StoreError::Conflict), "{failure:?}"),
        }
    }
    assert_leads(&installation, kept).await;
}
