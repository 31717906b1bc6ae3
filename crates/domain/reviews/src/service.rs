//! The use cases. Each follows the wording of the contract. None begins, commits or retries a transaction.

use forecourt_accounts::Caller;
use forecourt_kernel::{
    BoxError, BusinessId, Clock, EventName, NewEvent, Page, PageRequest, StoreError, Target, Timestamp, Valid,
};
use serde_json::Map;

use crate::{
    FullReview, Review, ReviewChanges, ReviewContent, ReviewError, ReviewFilter, ReviewId, ReviewReader, ReviewStore,
};

/// Returns a page of the caller's reviews, newest first.
///
/// # Errors
/// [`ReviewError::Store`].
pub async fn list_reviews(
    store: &mut dyn ReviewReader,
    by: &Caller,
    filter: &ReviewFilter,
    page: &PageRequest,
) -> Result<Page<Review>, ReviewError> {
    Ok(store.reviews(by.business_id(), filter, page).await?)
}

/// Returns one of the caller's reviews.
///
/// # Errors
/// [`ReviewError::NotFound`], [`ReviewError::Store`].
pub async fn read_review(store: &mut dyn ReviewReader, by: &Caller, id: ReviewId) -> Result<Review, ReviewError> {
    store
        .review(by.business_id(), id)
        .await?
        .ok_or(ReviewError::NotFound(id))
}

/// Creates a review, validated by [`ReviewChanges::faults_at`].
///
/// # Errors
/// [`ReviewError::Store`].
pub async fn create_review(
    store: &mut dyn ReviewStore,
    clock: &dyn Clock,
    by: &Caller,
    changes: Valid<ReviewChanges>,
) -> Result<Review, ReviewError> {
    let changes = changes.into_inner();
    let now = clock.now();
    let blank = ReviewContent::blank(now.date());
    let mut content = blank.clone();
    changes.apply(&mut content, &blank);
    let review = store.insert_review(by.business_id(), content, Map::new(), now).await?;
    record(store, by.business_id(), EventName::ReviewCreated, &review, now).await?;
    Ok(review)
}

/// Changes the supplied fields of a review, validated by [`ReviewChanges::faults_at`].
///
/// # Errors
/// [`ReviewError::NotFound`], then [`ReviewError::VersionMismatch`]; [`ReviewError::Store`].
pub async fn update_review(
    store: &mut dyn ReviewStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<ReviewId>>,
    changes: Valid<ReviewChanges>,
) -> Result<Review, ReviewError> {
    let changes = changes.into_inner();
    let stored = locked(store, by.business_id(), id.into()).await?;
    let now = clock.now();
    let mut content = stored.content.clone();
    changes.apply(&mut content, &ReviewContent::blank(now.date()));
    if content == stored.content {
        return Ok(stored);
    }
    let review = Review {
        version: stored.version.next(),
        updated: now.max(stored.created),
        content,
        ..stored
    };
    store.save_review(by.business_id(), &review).await?;
    record(store, by.business_id(), EventName::ReviewUpdated, &review, now).await?;
    Ok(review)
}

/// Deletes a review.
///
/// # Errors
/// [`ReviewError::NotFound`], then [`ReviewError::VersionMismatch`]; [`ReviewError::Store`].
pub async fn delete_review(
    store: &mut dyn ReviewStore,
    by: &Caller,
    id: impl Into<Target<ReviewId>>,
) -> Result<(), ReviewError> {
    let review = locked(store, by.business_id(), id.into()).await?;
    Ok(store.delete_review(by.business_id(), review.id).await?)
}

/// Returns the review, locked until the transaction ends, if it is at a version that the caller accepts.
async fn locked(
    store: &mut dyn ReviewStore,
    business: BusinessId,
    Target { id, precondition }: Target<ReviewId>,
) -> Result<Review, ReviewError> {
    let review = store.lock_review(business, id).await?;
    let review = review.ok_or(ReviewError::NotFound(id))?;
    precondition.check(review.version)?;
    Ok(review)
}

pub(crate) async fn record(
    store: &mut dyn ReviewStore,
    business: BusinessId,
    name: EventName,
    review: &Review,
    at: Timestamp,
) -> Result<(), StoreError> {
    let data = serde_json::to_string(&FullReview::from(review))
        .map_err(|failure| StoreError::Other(BoxError::from(failure)))?;
    let record = review.id.get();
    store.record(business, NewEvent { name, record, data, at }).await
}
