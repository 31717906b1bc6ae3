//! The ports for the storage of articles.

use std::collections::HashSet;

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, EventLog, Page, PageRequest, Range, StoreResult, TextFilter, Timestamp};

use crate::{Article, ArticleBody, ArticleHead, ArticleId, ArticleStatus, Publication, Slug};

/// A filter for lists of articles. A field that is `None` does not narrow the list.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ArticleFilter {
    /// Articles that have this status at the time of the list.
    pub status: Option<ArticleStatus>,
    /// Articles of this category.
    pub category: Option<TextFilter>,
    /// Articles by this author.
    pub author: Option<TextFilter>,
    /// Articles with this tag.
    pub tag: Option<String>,
    /// The article with this slug.
    pub url: Option<String>,
    /// Articles created in this range.
    pub created: Option<Range<Timestamp>>,
    /// Articles last changed in this range.
    pub updated: Option<Range<Timestamp>>,
}

impl ArticleFilter {
    /// Returns `true` if an article passes the filter at `now`.
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

/// An article with the fields of the simple view.
#[derive(Clone, PartialEq, Debug)]
pub struct ListedArticle {
    /// The article's id.
    pub id: ArticleId,
    /// The fields in lists.
    pub head: ArticleHead,
}

/// An article that has become public without an event that records it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DuePublication {
    /// The business that owns the article.
    pub business: BusinessId,
    /// The article.
    pub article: ArticleId,
}

/// Reads articles. Ids of deleted articles are left out of `related`, and the version reflects that.
#[async_trait]
pub trait ArticleReader: Send {
    /// Returns the article, or `None` if the business has none with that id.
    async fn article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<Option<Article>>;

    /// Returns a page of the business's articles that pass `filter` at `now`, newest first.
    async fn articles(
        &mut self,
        business: BusinessId,
        filter: &ArticleFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> StoreResult<Page<Article>>;

    /// Returns the same page with only the fields of the simple view.
    async fn article_heads(
        &mut self,
        business: BusinessId,
        filter: &ArticleFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> StoreResult<Page<ListedArticle>>;

    /// Returns the ids among `ids` that are articles of the business.
    async fn known_articles(&mut self, business: BusinessId, ids: &[ArticleId]) -> StoreResult<HashSet<ArticleId>>;

    /// Returns the slugs among `slugs` that belong to articles of the business other than `except`.
    async fn taken_slugs(
        &mut self,
        business: BusinessId,
        slugs: &[Slug],
        except: Option<ArticleId>,
    ) -> StoreResult<HashSet<Slug>>;
}

/// Stores articles. All changes through one value commit together or not at all.
#[async_trait]
pub trait ArticleStore: ArticleReader + EventLog {
    /// Prevents other transactions from writing articles of the business until this one ends. The result of
    /// [`ArticleReader::taken_slugs`] stays true until then.
    async fn lock_articles(&mut self, business: BusinessId) -> StoreResult<()>;

    /// Locks the article against other writers until the transaction ends, and returns it.
    async fn lock_article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<Option<Article>>;

    /// Stores a new article. Its slug may be empty until it is saved with one.
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

    /// Stores a changed article.
    ///
    /// # Errors
    /// As for [`ArticleStore::insert_article`].
    async fn save_article(&mut self, business: BusinessId, article: &Article) -> StoreResult<()>;

    /// Deletes an article.
    async fn delete_article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<()>;

    /// Returns at most `limit` articles of all businesses that have become public by `now` without an event that records it.
    /// Those that became public first come first.
    async fn due_publications(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DuePublication>>;
}
