//! Reviews: what customers say of a dealership, and which of it its website may show.
//!
//! [`Review`] is the record; the use cases are the functions of this crate ([`create_review`], [`update_review`] …), each over
//! the ports [`ReviewReader`] and [`ReviewStore`]; [`FullReview`] and [`SimpleReview`] are what the API and webhooks show. The
//! rules are those of the contract's sections "Review" and "Reviews", and of decisions §8.
//!
//! With the feature `testing` the crate has a store in memory, and a suite that any other store can be held to:
//!
//! ```
//! # #[cfg(feature = "testing")]
//! # async fn prove(store: &mut dyn forecourt_reviews::ReviewStore, ours: forecourt_kernel::BusinessId, theirs: forecourt_kernel::BusinessId) {
//! forecourt_reviews::testing::review_store_contract(store, ours, theirs).await;
//! # }
//! ```

mod error;
mod review;
mod service;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod view;

pub use error::ReviewError;
pub use review::{Review, ReviewChanges, ReviewContent, ReviewId, ReviewStatus, Source, Stars, UnknownReviewStatus};
pub use service::{create_review, delete_review, list_reviews, read_review, update_review};
pub use store::{ReviewFilter, ReviewReader, ReviewStore};
#[cfg(feature = "openapi")]
pub use view::example_review;
pub use view::{FullReview, ReviewView, SimpleReview};
