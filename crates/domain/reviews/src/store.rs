//! The ports: what this area needs of the storage of its records.

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, EventLog, Page, PageRequest, Range, StoreResult, TextFilter, Timestamp};
use serde_json::{Map, Value};

use crate::{Review, ReviewContent, ReviewId, ReviewStatus};

/// Which reviews a list is of. What is `None` does not narrow it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ReviewFilter {
    /// In this state.
    pub status: Option<ReviewStatus>,
    /// Written there.
    pub source: Option<TextFilter>,
    /// Known to come from a customer, or not.
    pub verified: Option<bool>,
    /// Made then.
    pub created: Option<Range<Timestamp>>,
    /// Last changed then.
    pub updated: Option<Range<Timestamp>>,
}

impl ReviewFilter {
    /// Whether `review` passes.
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

/// Where reviews are read.
#[async_trait]
pub trait ReviewReader: Send {
    /// The review, or `None` if the business has none of that id.
    async fn review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<Option<Review>>;

    /// A page of the business's reviews that pass `filter`, newest first.
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
    /// The first few of the reviews behind `after` whose author has that name, compared without regard to case, in the order of
    /// their ids; none if there are no more.
    async fn reviews_by(&mut self, business: BusinessId, name: &str, after: ReviewId) -> StoreResult<Vec<Review>>;
}

/// Where reviews are kept. All that is done through one of them commits together or not at all.
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

    /// Stores what a review has become.
    async fn save_review(&mut self, business: BusinessId, review: &Review) -> StoreResult<()>;

    /// Removes a review.
    async fn delete_review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<()>;
}
