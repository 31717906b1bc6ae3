//! The use cases. Each follows the wording of the contract. None begins, commits or retries a transaction.

use std::collections::HashSet;

use forecourt_accounts::Caller;
use forecourt_kernel::{
    BoundedList, BoxError, BusinessId, Clock, EventName, Field, NewEvent, Page, PageRequest, StoreError, StoreResult,
    Target, Timestamp, Valid, ValidationErrors,
};

use crate::{
    Article, ArticleBody, ArticleChanges, ArticleError, ArticleFilter, ArticleHead, ArticleId, ArticleReader,
    ArticleStatus, ArticleStore, FullArticle, ListedArticle, NewArticle, Publication, PublicationTime, Shown, Slug,
};

/// The number of slugs that the first lookup for a free slug tries. Each further lookup tries twice as many.
const FIRST_CANDIDATES: usize = 20;

/// Returns a page of the caller's articles, newest first.
///
/// # Errors
/// [`ArticleError::Store`].
pub async fn list_articles(
    store: &mut dyn ArticleReader,
    clock: &dyn Clock,
    by: &Caller,
    filter: &ArticleFilter,
    page: &PageRequest,
) -> Result<Page<Article>, ArticleError> {
    Ok(store.articles(by.business_id(), filter, clock.now(), page).await?)
}

/// Returns the same page for the simple view.
///
/// # Errors
/// [`ArticleError::Store`].
pub async fn list_article_heads(
    store: &mut dyn ArticleReader,
    clock: &dyn Clock,
    by: &Caller,
    filter: &ArticleFilter,
    page: &PageRequest,
) -> Result<Page<ListedArticle>, ArticleError> {
    Ok(store.article_heads(by.business_id(), filter, clock.now(), page).await?)
}

/// Returns one of the caller's articles.
///
/// # Errors
/// [`ArticleError::NotFound`], [`ArticleError::Store`].
pub async fn read_article(store: &mut dyn ArticleReader, by: &Caller, id: ArticleId) -> Result<Article, ArticleError> {
    store
        .article(by.business_id(), id)
        .await?
        .ok_or(ArticleError::NotFound(id))
}

/// Returns the faults in what `changes` of the article `id` refer to: a slug that another article has, or related articles that
/// the business lacks. `id` is `None` for a new article.
///
/// # Errors
/// If the store fails.
pub async fn validate_references(
    store: &mut dyn ArticleReader,
    by: &Caller,
    id: Option<ArticleId>,
    changes: &ArticleChanges,
) -> StoreResult<ValidationErrors> {
    let business = by.business_id();
    let mut errors = ValidationErrors::new();
    if let Some(url) = changes.head.url.value() {
        let taken = store.taken_slugs(business, std::slice::from_ref(url), id).await?;
        if !taken.is_empty() {
            errors.add("url", "is the url of another article");
        }
    }
    if let Some(related) = changes.body.related.value().filter(|related| !related.is_empty()) {
        let known = store.known_articles(business, related).await?;
        for (index, id) in related.iter().enumerate().filter(|(_, id)| !known.contains(id)) {
            let message = format!("names {id}, which is no article of this business");
            errors.add(format!("related.{index}"), message);
        }
    }
    Ok(errors)
}

/// Creates an article, validated by [`NewArticle::faults`]. If no slug was sent, it is made from the title.
///
/// # Errors
/// [`ArticleError::Invalid`], [`ArticleError::Store`].
pub async fn create_article(
    store: &mut dyn ArticleStore,
    clock: &dyn Clock,
    by: &Caller,
    new: Valid<NewArticle>,
) -> Result<Article, ArticleError> {
    let business = by.business_id();
    store.lock_articles(business).await?;
    let NewArticle(changes) = new.into_inner();
    validate_references(store, by, None, &changes).await?.into_result(())?;

    let now = clock.now();
    let (mut head, mut body) = (ArticleHead::blank(now), ArticleBody::default());
    let mut publication = Publication {
        undated: true,
        ..Publication::default()
    };
    apply(changes, &mut head, &mut body, &mut publication, now);
    publication.announced = head.status_at(now) == ArticleStatus::Published;
    if head.url.is_empty() {
        head.url = slug_of(store, business, &head.title, None).await?.unwrap_or_default();
    }
    let mut article = store.insert_article(business, head, body, publication, now).await?;
    if article.head.url.is_empty() {
        let number = Slug::of_number(article.id.get());
        article.head.url = free(store, business, number, Some(article.id)).await?;
        store.save_article(business, &article).await?;
    }
    if publication.announced {
        announce(store, business, &article, now).await?;
    }
    Ok(article)
}

/// Changes the supplied fields of an article, validated by [`ArticleChanges::faults`]. If the slug is sent as null, it is made
/// from the title again.
///
/// # Errors
/// [`ArticleError::Invalid`], then [`ArticleError::NotFound`], then [`ArticleError::VersionMismatch`]; [`ArticleError::Store`].
pub async fn update_article(
    store: &mut dyn ArticleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<ArticleId>>,
    changes: Valid<ArticleChanges>,
) -> Result<Article, ArticleError> {
    let Target { id, precondition } = id.into();
    let business = by.business_id();
    store.lock_articles(business).await?;
    let changes = changes.into_inner();
    validate_references(store, by, Some(id), &changes)
        .await?
        .into_result(())?;
    let stored = store.lock_article(business, id).await?;
    let stored = stored.ok_or(ArticleError::NotFound(id))?;
    precondition.check(stored.version)?;

    let now = clock.now();
    let mut article = stored.clone();
    apply(
        changes,
        &mut article.head,
        &mut article.body,
        &mut article.publication,
        now,
    );
    if article.head.url.is_empty() {
        let slug = slug_of(store, business, &article.head.title, Some(id)).await?;
        article.head.url = match slug {
            Some(slug) => slug,
            None => free(store, business, Slug::of_number(id.get()), Some(id)).await?,
        };
    }
    if (&article.head, &article.body, article.publication) == (&stored.head, &stored.body, stored.publication) {
        return Ok(stored);
    }
    article.version = stored.version.next();
    article.updated = now.max(stored.created);
    save(store, business, article, now).await
}

/// Deletes an article. Articles that name it as related no longer show it.
///
/// # Errors
/// [`ArticleError::NotFound`], then [`ArticleError::VersionMismatch`]; [`ArticleError::Store`].
pub async fn delete_article(
    store: &mut dyn ArticleStore,
    by: &Caller,
    id: impl Into<Target<ArticleId>>,
) -> Result<(), ArticleError> {
    let Target { id, precondition } = id.into();
    let business = by.business_id();
    store.lock_articles(business).await?;
    let stored = store.lock_article(business, id).await?;
    let stored = stored.ok_or(ArticleError::NotFound(id))?;
    precondition.check(stored.version)?;
    Ok(store.delete_article(business, id).await?)
}

/// Records that a scheduled article has become public, unless it was withdrawn, postponed, or recorded meanwhile.
///
/// # Errors
/// [`ArticleError::Store`].
pub async fn publish_due_article(
    store: &mut dyn ArticleStore,
    clock: &dyn Clock,
    business: BusinessId,
    id: ArticleId,
) -> Result<(), ArticleError> {
    store.lock_articles(business).await?;
    let Some(mut article) = store.lock_article(business, id).await? else {
        return Ok(());
    };
    let now = clock.now();
    if article.publication.announced || article.head.status_at(now) != ArticleStatus::Published {
        return Ok(());
    }
    // Its status is shown differently than when it was last written.
    article.version = article.version.next();
    article.updated = now.max(article.updated);
    save(store, business, article, now).await.map(drop)
}

/// Merges the changes into an article and removes repeated tags and related articles. An article that is published for the first
/// time takes the current time, unless a time was sent for it (decisions §8).
fn apply(
    changes: ArticleChanges,
    head: &mut ArticleHead,
    body: &mut ArticleBody,
    publication: &mut Publication,
    now: Timestamp,
) {
    let ArticleChanges {
        head: head_changes,
        body: body_changes,
    } = changes;
    let is_sent = (
        matches!(head_changes.tags, Field::Value(_)),
        matches!(body_changes.related, Field::Value(_)),
    );
    match head_changes.published_at {
        Field::Value(_) => publication.undated = false,
        Field::Null => publication.undated = true,
        Field::Absent | Field::Wrong(_) => {}
    }
    head_changes.apply(head, &ArticleHead::blank(now));
    body_changes.apply(body, &ArticleBody::default());
    if publication.undated && head.status == ArticleStatus::Published {
        head.published_at = PublicationTime(now);
        publication.undated = false;
    }
    if is_sent.0 {
        head.tags = distinct(std::mem::take(&mut head.tags));
    }
    if is_sent.1 {
        body.related = distinct(std::mem::take(&mut body.related));
    }
}

/// Keeps the first occurrence of each element.
fn distinct<T: Clone + Eq + std::hash::Hash>(list: BoundedList<T>) -> BoundedList<T> {
    let mut seen = HashSet::new();
    let mut items = list.into_vec();
    items.retain(|item| seen.insert(item.clone()));
    BoundedList::new(items).unwrap_or_default()
}

/// Stores a changed article, and records an event if it is public for the first time.
async fn save(
    store: &mut dyn ArticleStore,
    business: BusinessId,
    mut article: Article,
    now: Timestamp,
) -> Result<Article, ArticleError> {
    let becomes_public = !article.publication.announced && article.head.status_at(now) == ArticleStatus::Published;
    article.publication.announced |= becomes_public;
    store.save_article(business, &article).await?;
    if becomes_public {
        announce(store, business, &article, now).await?;
    }
    Ok(article)
}

/// Returns a slug for a title that no other article has; `None` if no letter of the title can be transcribed.
async fn slug_of(
    store: &mut dyn ArticleStore,
    business: BusinessId,
    title: &str,
    except: Option<ArticleId>,
) -> StoreResult<Option<Slug>> {
    match Slug::of_title(title) {
        Some(slug) => free(store, business, slug, except).await.map(Some),
        None => Ok(None),
    }
}

/// Returns `slug` if it is free, or else `slug` with the first number from 2 on that makes it free.
async fn free(
    store: &mut dyn ArticleStore,
    business: BusinessId,
    slug: Slug,
    except: Option<ArticleId>,
) -> StoreResult<Slug> {
    let (mut first, mut count) = (1, FIRST_CANDIDATES);
    loop {
        let candidates: Vec<Slug> = (first..first + count)
            .map(|number| {
                if number == 1 {
                    slug.clone()
                } else {
                    slug.numbered(number)
                }
            })
            .collect();
        let taken = store.taken_slugs(business, &candidates, except).await?;
        if let Some(free) = candidates.into_iter().find(|candidate| !taken.contains(candidate)) {
            return Ok(free);
        }
        first += count;
        count = (2 * count).min(1000);
    }
}

async fn announce(
    store: &mut dyn ArticleStore,
    business: BusinessId,
    article: &Article,
    at: Timestamp,
) -> Result<(), StoreError> {
    let data = serde_json::to_string(&FullArticle::from(&Shown { article, now: at }))
        .map_err(|failure| StoreError::Other(BoxError::from(failure)))?;
    let event = NewEvent {
        name: EventName::BlogPublished,
        record: article.id.get(),
        data,
        at,
    };
    store.record(business, event).await
}
