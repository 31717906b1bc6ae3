//! The representation of an article in the API and in webhooks (contract, "Blog article").

use forecourt_kernel::{SiteId, Timestamp, Version, Viewed};
use serde::Serialize;

use crate::{Article, ArticleBody, ArticleHead, ArticleId, ListedArticle};

/// The main site.
const SITE: SiteId = SiteId::new(0);

/// An article in one of its views.
pub type ArticleView<'a> = Viewed<SimpleArticle, FullArticle<'a>>;

/// An article with the time at which it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a, A = Article> {
    /// The article.
    pub article: &'a A,
    /// The time.
    pub now: Timestamp,
}

/// An article in the simple view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimpleArticle {
    /// Article id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: ArticleId,
    #[serde(flatten)]
    head: ArticleHead,
}

/// An article in the full view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Article))]
pub struct FullArticle<'a> {
    #[serde(flatten)]
    simple: SimpleArticle,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = ArticleBody))]
    body: &'a ArticleBody,
    /// Site id; 0 is the main site.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
}

impl SimpleArticle {
    fn new(id: ArticleId, head: &ArticleHead, now: Timestamp) -> Self {
        let status = head.status_at(now);
        Self {
            id,
            head: ArticleHead { status, ..head.clone() },
        }
    }
}

impl From<&Shown<'_, ListedArticle>> for SimpleArticle {
    fn from(&Shown { article, now }: &Shown<'_, ListedArticle>) -> Self {
        Self::new(article.id, &article.head, now)
    }
}

impl From<&Shown<'_>> for SimpleArticle {
    fn from(&Shown { article, now }: &Shown<'_>) -> Self {
        Self::new(article.id, &article.head, now)
    }
}

impl<'a> From<&Shown<'a>> for FullArticle<'a> {
    fn from(shown: &Shown<'a>) -> Self {
        Self {
            simple: shown.into(),
            version: shown.article.version,
            body: &shown.article.body,
            site: SITE,
        }
    }
}

/// An example of an article in an event, for the documentation.
#[cfg(feature = "openapi")]
pub fn example_article() -> serde_json::Value {
    serde_json::json!({
        "id": 1042,
        "url": "five-things-to-check-before-an-mot",
        "title": "Five things to check before an MOT",
        "category": "Advice",
        "author": "Sam Hill",
        "status": "published",
        "tags": ["mot"],
        "published_at": 1_767_225_600,
        "version": 1,
        "summary": "<p>Half of all failures are bulbs, tyres and wipers.</p>",
        "summary_image": "",
        "summary_thumbnail": "",
        "content": "<h2>Lights</h2><p>Walk round the car with every light on.</p>",
        "related": [],
        "site": 0
    })
}
