//! The ports: what this area needs of the storage of its records.

use std::collections::HashSet;

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, EventLog, Page, PageRequest, Range, StoreResult, TextFilter, Timestamp};

use crate::{Article, ArticleBody, ArticleHead, ArticleId, ArticleStatus, Publication, Slug};

/// Which articles a list is of. What is `None` does not narrow it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ArticleFilter {
    /// Reading so at the time of the list.
    pub status: Option<ArticleStatus>,
    /// Of this category.
    pub category: Option<TextFilter>,
    /// By this author.
    pub author: Option<TextFilter>,
    /// With this tag.
    pub tag: Option<String>,
    /// With this slug.
    pub url: Option<String>,
    /// Made then.
    pub created: Option<Range<Timestamp>>,
    /// Last changed then.
    pub updated: Option<Range<Timestamp>>,
}

impl ArticleFilter {
    /// Whether an article passes at `now`.
    pub fn matches(&self, article: &Article, now: Timestamp) -> bool {
        let Self {
            status,
            category,
            author,
            tag,
            url,
            created,
            updated,
        } = self;
        let head = &article.head;
        status.is_none_or(|status| status == head.status_at(now))
            && category
                .as_ref()
                .is_none_or(|category| category.matches(&head.category))
            && author.as_ref().is_none_or(|author| author.matches(&head.author))
            && tag
                .as_ref()
                .is_none_or(|tag| head.tags.iter().any(|known| **known == **tag))
            && url.as_ref().is_none_or(|url| **url == *head.url)
            && created.is_none_or(|range| range.contains(&article.created))
            && updated.is_none_or(|range| range.contains(&article.updated))
    }
}

/// An article as the simple view needs it.
#[derive(Clone, PartialEq, Debug)]
pub struct ListedArticle {
    /// Its number.
    pub id: ArticleId,
    /// What a list shows.
    pub head: ArticleHead,
}

/// An article that has become public, which is still to be recorded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DuePublication {
    /// Whose it is.
    pub business: BusinessId,
    /// Which one.
    pub article: ArticleId,
}

/// Where articles are read. Of the ids in `related`, those of articles that are gone are left out; the version then shows it.
#[async_trait]
pub trait ArticleReader: Send {
    /// The article, or `None` if the business has none of that id.
    async fn article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<Option<Article>>;

    /// A page of the business's articles that pass `filter` at `now`, newest first.
    async fn articles(
        &mut self,
        business: BusinessId,
        filter: &ArticleFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> StoreResult<Page<Article>>;

    /// The same page, without what the simple view does not show.
    async fn article_heads(
        &mut self,
        business: BusinessId,
        filter: &ArticleFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> StoreResult<Page<ListedArticle>>;

    /// Those of `ids` that are articles of the business.
    async fn known_articles(&mut self, business: BusinessId, ids: &[ArticleId]) -> StoreResult<HashSet<ArticleId>>;

    /// Those of `slugs` that articles of the business have, other than `except`.
    async fn taken_slugs(
        &mut self,
        business: BusinessId,
        slugs: &[Slug],
        except: Option<ArticleId>,
    ) -> StoreResult<HashSet<Slug>>;
}

/// Where articles are kept. All that is done through one of them commits together or not at all.
#[async_trait]
pub trait ArticleStore: ArticleReader + EventLog {
    /// Keeps everybody else from writing articles of the business until the transaction ends: so what [`ArticleReader::taken_slugs`]
    /// says holds until then.
    async fn lock_articles(&mut self, business: BusinessId) -> StoreResult<()>;

    /// Locks the article against other writers until the transaction ends, and returns it.
    async fn lock_article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<Option<Article>>;

    /// Stores a new article, whose slug may be empty until it is saved with one.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`](forecourt_kernel::StoreError::Duplicate) if another article of the business has the slug.
    async fn insert_article(
        &mut self,
        business: BusinessId,
        head: ArticleHead,
        body: ArticleBody,
        publication: Publication,
        at: Timestamp,
    ) -> StoreResult<Article>;

    /// Stores what an article has become.
    ///
    /// # Errors
    /// As for [`ArticleStore::insert_article`].
    async fn save_article(&mut self, business: BusinessId, article: &Article) -> StoreResult<()>;

    /// Removes an article.
    async fn delete_article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<()>;

    /// At most `limit` articles of all businesses that have become public by `now` without that having been recorded, the first
    /// to become public first.
    async fn due_publications(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DuePublication>>;
}
