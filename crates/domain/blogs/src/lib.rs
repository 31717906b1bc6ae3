//! Blog articles of a dealership, and their publication.
//!
//! [`Article`] is the record. The use cases are the functions of this crate ([`create_article`], [`publish_due_article`] …), each
//! over the ports [`ArticleReader`] and [`ArticleStore`]. [`FullArticle`] and [`SimpleArticle`] are the representations in the
//! API and webhooks. The rules are those of the contract's sections "Blog article" and "Blog", and of decisions §8.
//!
//! An article is public for every reader from its time on; this depends on the clock alone. An event that records its publication
//! is written once.
//!
//! With the feature `testing` the crate has a store in memory:
//!
//! ```
//! use forecourt_accounts::{Business, Caller};
//! use forecourt_blogs::{NewArticle, create_article, testing::MemoryArticles};
//! use forecourt_kernel::testing::{FixedClock, WithEvents};
//! use forecourt_kernel::{BusinessId, ScopeSet, Timestamp, Valid};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let by = Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all());
//! let clock = FixedClock::at(Timestamp::from_epoch_seconds(1_767_225_600));
//! let mut store = WithEvents::<MemoryArticles>::default();
//!
//! let said = serde_json::from_str(r#"{"title": "Winter tyres", "content": "<p>It is time.</p>"}"#)?;
//! let article = create_article(&mut store, &clock, &by, Valid::new(said, NewArticle::faults)?).await?;
//! assert_eq!(&*article.head.url, "winter-tyres");
//! # Ok(())
//! # }
//! ```
//!
//! and the contract suite for every store, `testing::article_store_contract`.

mod article;
mod error;
mod service;
mod slug;
mod status;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod view;

pub use article::{
    Article, ArticleBody, ArticleChanges, ArticleHead, ArticleId, BodyChanges, ContentHtml, HeadChanges, NewArticle,
    Publication, PublicationTime, Related, SummaryHtml, Tags,
};
pub use error::ArticleError;
pub use service::{
    create_article, delete_article, list_article_heads, list_articles, publish_due_article, read_article,
    update_article, validate_references,
};
pub use slug::{InvalidSlug, Slug};
pub use status::{ArticleStatus, UnknownStatus};
pub use store::{ArticleFilter, ArticleReader, ArticleStore, DuePublication, ListedArticle};
#[cfg(feature = "openapi")]
pub use view::example_article;
pub use view::{ArticleView, FullArticle, Shown, SimpleArticle};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
