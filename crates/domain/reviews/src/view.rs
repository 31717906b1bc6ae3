//! The representation of a review in the API and in webhooks (contract, "Review").

use forecourt_kernel::{Version, Viewed};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Review, ReviewContent, ReviewId};

/// A review in one of its views.
pub type ReviewView<'a> = Viewed<SimpleReview<'a>, FullReview<'a>>;

/// A review in the simple view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimpleReview))]
pub struct SimpleReview<'a> {
    /// Review id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: ReviewId,
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = ReviewContent))]
    content: &'a ReviewContent,
}

/// A review in the full view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Review))]
pub struct FullReview<'a> {
    #[serde(flatten)]
    simple: SimpleReview<'a>,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
    /// Further data from the review's source.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    data: &'a Map<String, Value>,
}

impl<'a> From<&'a Review> for SimpleReview<'a> {
    fn from(review: &'a Review) -> Self {
        let Review { id, content, .. } = review;
        Self { id: *id, content }
    }
}

impl<'a> From<&'a Review> for FullReview<'a> {
    fn from(review: &'a Review) -> Self {
        Self {
            simple: review.into(),
            version: review.version,
            data: &review.data,
        }
    }
}

/// An example of a review in an event, for the documentation.
#[cfg(feature = "openapi")]
pub fn example_review() -> Value {
    serde_json::json!({
        "id": 1042,
        "rating": 4.5,
        "name": "Priya Shah",
        "review": "Found us the right car and did not push.",
        "source": "Google",
        "verified": true,
        "status": "approved",
        "date": "2026-01-01",
        "version": 1,
        "data": {}
    })
}
