//! The ports for the storage of reviews.

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, EventLog, Page, PageRequest, Range, StoreResult, TextFilter, Timestamp};
use serde_json::{Map, Value};

use crate::{Review, ReviewContent, ReviewId, ReviewStatus};

/// A filter for lists of reviews. A field that is `None` does not narrow the list.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ReviewFilter {
    /// Reviews in this status.
    pub status: Option<ReviewStatus>,
    /// Reviews from this source.
    pub source: Option<TextFilter>,
    /// Reviews whose author is, or is not, known to be a customer.
    pub verified: Option<bool>,
    /// Reviews created in this range.
    pub created: Option<Range<Timestamp>>,
    /// Reviews last changed in this range.
    pub updated: Option<Range<Timestamp>>,
}

impl ReviewFilter {
    /// Returns `true` if `review` passes the filter.
    pub fn matches(&self, review: &Review) -> bool {
        let Self {
            status,
            source,
            verified,
            created,
            updated,
        } = self;
        let content = &review.content;
        status.is_none_or(|status| status == content.status)
            && source.as_ref().is_none_or(|source| source.matches(&content.source))
            && verified.is_none_or(|verified| verified == content.verified)
            && created.is_none_or(|range| range.contains(&review.created))
            && updated.is_none_or(|range| range.contains(&review.updated))
    }
}

/// Reads reviews.
#[async_trait]
pub trait ReviewReader: Send {
    /// Returns the review, or `None` if the business has none with that id.
    async fn review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<Option<Review>>;

    /// Returns a page of the business's reviews that pass `filter`, newest first.
    async fn reviews(
        &mut self,
        business: BusinessId,
        filter: &ReviewFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Review>>;
}

/// Reads the reviews under a contact's name, for its export.
#[async_trait]
pub trait NamedReviewReader: Send {
    /// Returns some reviews after `after` whose author has that name, in the order of their ids. Names are compared without
    /// regard to case. The list is empty if there are no more.
    async fn reviews_by(&mut self, business: BusinessId, name: &str, after: ReviewId) -> StoreResult<Vec<Review>>;
}

/// Stores reviews. All changes through one value commit together or not at all.
#[async_trait]
pub trait ReviewStore: ReviewReader + EventLog {
    /// Locks the review against other writers until the transaction ends, and returns it.
    async fn lock_review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<Option<Review>>;

    /// Stores a new review.
    async fn insert_review(
        &mut self,
        business: BusinessId,
        content: ReviewContent,
        data: Map<String, Value>,
        at: Timestamp,
    ) -> StoreResult<Review>;

    /// Stores a changed review.
    async fn save_review(&mut self, business: BusinessId, review: &Review) -> StoreResult<()>;

    /// Deletes a review.
    async fn delete_review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<()>;
}
