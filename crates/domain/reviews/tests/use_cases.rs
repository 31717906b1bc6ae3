//! Tests of the use cases, on the store in memory.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use forecourt_accounts::{Business, Caller};
use forecourt_kernel::testing::{FixedClock, WithEvents};
use forecourt_kernel::{
    BusinessId, Clock as _, EventName, ScopeSet, Target, Timestamp, Valid, ValidationErrors, Version,
};
use forecourt_kernel::{Precondition, VersionMismatch};
use forecourt_reviews::testing::{MemoryReviews, review_store_contract};
use forecourt_reviews::{
    Review, ReviewChanges, ReviewContent, ReviewError, ReviewId, ReviewReader, ReviewStatus, create_review,
    delete_review, read_review, update_review,
};
use serde_json::{Value, json};

/// 2026-03-01T23:59:59Z.
const NOW: Timestamp = Timestamp::from_epoch_seconds(1_772_409_599);

type Store = WithEvents<MemoryReviews>;

fn clock() -> FixedClock {
    FixedClock::at(NOW)
}

fn caller() -> Caller {
    Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all())
}

fn validated(body: Value) -> Result<Valid<ReviewChanges>, ValidationErrors> {
    Valid::new(serde_json::from_value(body).unwrap(), ReviewChanges::faults)
}

fn valid(body: Value) -> Valid<ReviewChanges> {
    validated(body).unwrap()
}

async fn created(store: &mut Store, body: Value) -> Review {
    create_review(store, &clock(), &caller(), valid(body)).await.unwrap()
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    review_store_contract(&mut Store::default(), BusinessId::new(1), BusinessId::new(2)).await;
}

#[tokio::test]
async fn a_review_of_which_nothing_is_said_has_the_defaults() {
    let mut store = Store::default();
    let review = created(&mut store, json!({})).await;
    assert_eq!(review.content, ReviewContent::blank("2026-03-01".parse().unwrap()));
    assert_eq!(
        (review.version, review.created, review.updated),
        (Version::FIRST, NOW, NOW)
    );
    let [(_, event)] = store.events.as_slice() else {
        panic!()
    };
    assert_eq!(
        (event.name, event.record, event.at),
        (EventName::ReviewCreated, review.id.get(), NOW)
    );
    let data: Value = serde_json::from_str(&event.data).unwrap();
    let expected = json!({
        "id": review.id, "rating": null, "name": "", "review": "", "source": "", "verified": false,
        "status": "approved", "date": "2026-03-01", "version": 1, "data": {},
    });
    assert_eq!(data, expected);
}

#[tokio::test]
async fn only_what_is_supplied_changes_and_null_is_the_default() {
    let mut store = Store::default();
    let review = created(
        &mut store,
        json!({"rating": 0.5, "name": "Ann", "date": "2020-02-29", "verified": true}),
    )
    .await;
    let later = FixedClock::at(NOW.plus_seconds(1));
    let body = json!({"status": "pending", "date": null, "name": null});
    let changed = update_review(&mut store, &later, &caller(), review.id, valid(body))
        .await
        .unwrap();
    assert_eq!((changed.version, changed.updated), (Version::new(2), later.now()));
    assert_eq!(changed.content.status, ReviewStatus::Pending);
    assert_eq!(changed.content.rating.map(|stars| stars.get()), Some(0.5));
    assert_eq!((changed.content.name.as_str(), changed.content.verified), ("", true));
    assert_eq!(changed.content.date, Some("2026-03-02".parse().unwrap()));
    assert_eq!(store.events.last().unwrap().1.name, EventName::ReviewUpdated);
    assert_eq!(read_review(&mut store, &caller(), review.id).await.unwrap(), changed);
}

#[tokio::test]
async fn a_change_that_changes_nothing_leaves_no_trace() {
    let mut store = Store::default();
    let review = created(&mut store, json!({"rating": 4})).await;
    let later = FixedClock::at(NOW.plus_seconds(60));
    let same = update_review(&mut store, &later, &caller(), review.id, valid(json!({"rating": 4.0})))
        .await
        .unwrap();
    assert_eq!((same, store.events.len()), (review, 1));
}

#[tokio::test]
async fn every_fault_is_told_and_absence_comes_before_versions() {
    let mut store = Store::default();
    let review = created(&mut store, json!({})).await;
    let absent = ReviewId::new(999);
    let bad = json!({"rating": 4.2, "status": "public", "source": "x".repeat(33), "verified": 1, "date": "1 May"});
    let errors = validated(bad).unwrap_err();
    let fields: Vec<_> = errors.as_slice().iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["rating", "source", "verified", "status", "date"]);
    let outdated = |id| Target {
        id,
        precondition: Precondition::one_of(vec![7]),
    };
    let refused = update_review(&mut store, &clock(), &caller(), outdated(absent), valid(json!({}))).await;
    assert!(matches!(refused, Err(ReviewError::NotFound(id)) if id == absent));
    let refused = delete_review(&mut store, &caller(), outdated(review.id)).await;
    assert!(
        matches!(refused, Err(ReviewError::VersionMismatch(VersionMismatch { current })) if current == Version::FIRST)
    );
    delete_review(&mut store, &caller(), review.id).await.unwrap();
    assert_eq!(store.review(caller().business_id(), review.id).await.unwrap(), None);
    assert_eq!(store.events.len(), 1, "a deletion has no event");
}

#[test]
fn a_rating_is_a_number_on_the_grid() {
    for (sent, shown) in [("0", "0"), ("5", "5"), ("5.0", "5"), ("3.5", "3.5"), ("-0.0", "0")] {
        let read: ReviewChanges = serde_json::from_str(&format!("{{\"rating\": {sent}}}")).unwrap();
        assert!(read.faults().is_empty(), "{sent}");
        assert_eq!(serde_json::to_string(read.rating.value().unwrap()).unwrap(), shown);
    }
    for sent in ["5.5", "-0.5", "0.25", "4.999999", "1e300", "\"4\"", "[4]", "true"] {
        let read: ReviewChanges = serde_json::from_str(&format!("{{\"rating\": {sent}}}")).unwrap();
        assert_eq!(read.faults().as_slice()[0].field, "rating", "{sent}");
    }
}
