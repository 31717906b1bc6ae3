//! Reviews: customers' opinions of a dealership, and the selection that its website may show.
//!
//! [`Review`] is the record. The use cases are the functions of this crate ([`create_review`], [`update_review`] …), each over
//! the ports [`ReviewReader`] and [`ReviewStore`]. [`FullReview`] and [`SimpleReview`] are the representations in the API and
//! webhooks. The rules are those of the contract's sections "Review" and "Reviews", and of decisions §8.
//!
//! With the feature `testing` the crate has a store in memory:
//!
//! ```
//! use forecourt_accounts::{Business, Caller};
//! use forecourt_kernel::testing::{FixedClock, WithEvents};
//! use forecourt_kernel::{BusinessId, ScopeSet, Timestamp, Valid};
//! use forecourt_reviews::{ReviewChanges, ReviewStatus, create_review, testing::MemoryReviews};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let by = Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all());
//! let clock = FixedClock::at(Timestamp::from_epoch_seconds(1_767_225_600));
//! let mut store = WithEvents::<MemoryReviews>::default();
//!
//! let said = serde_json::from_str(r#"{"name": "Ann Lee", "rating": 4.5}"#)?;
//! let review = create_review(&mut store, &clock, &by, Valid::new(said, ReviewChanges::faults)?).await?;
//! assert_eq!(review.content.status, ReviewStatus::Approved);
//! assert_eq!(store.events[0].1.name.as_str(), "review.created");
//! # Ok(())
//! # }
//! ```
//!
//! and the contract suite for every store, `testing::review_store_contract`. `examples/own_storage.rs` is another store, tested
//! by that suite.

mod error;
mod forget;
mod review;
mod service;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod view;

pub use error::ReviewError;
pub use forget::{forget_person_in_event, forget_person_in_review};
pub use review::{Review, ReviewChanges, ReviewContent, ReviewId, ReviewStatus, Source, Stars, UnknownReviewStatus};
pub use service::{create_review, delete_review, list_reviews, read_review, update_review};
pub use store::{NamedReviewReader, ReviewFilter, ReviewReader, ReviewStore};
#[cfg(feature = "openapi")]
pub use view::example_review;
pub use view::{FullReview, ReviewView, SimpleReview};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
