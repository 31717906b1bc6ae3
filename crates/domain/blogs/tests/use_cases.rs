//! Tests of the use cases, on the store in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

use forecourt_accounts::{Business, Caller};
use forecourt_blogs::testing::{MemoryArticles, article_store_contract};
use forecourt_blogs::{
    Article, ArticleChanges, ArticleError, ArticleId, ArticleReader, ArticleStatus, ArticleStore, NewArticle,
    create_article, delete_article, publish_due_article, read_article, update_article, validate_references,
};
use forecourt_kernel::testing::{FixedClock, WithEvents};
use forecourt_kernel::{BusinessId, Clock as _, EventName, ScopeSet, Timestamp, Valid, Version};
use serde_json::{Value, json};

/// 2026-03-01T23:59:59Z.
const NOW: i64 = 1_772_409_599;

/// A dealership's blog.
struct Blog {
    store: Store,
    clock: FixedClock,
    by: Caller,
}

type Store = WithEvents<MemoryArticles>;

impl Blog {
    fn open() -> Self {
        Self {
            store: Store::default(),
            clock: FixedClock::at(Timestamp::from_epoch_seconds(NOW)),
            by: Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all()),
        }
    }

    fn wait(&self, seconds: i64) {
        self.clock.advance(seconds);
    }

    async fn create(&mut self, body: Value) -> Result<Article, ArticleError> {
        let new: NewArticle = serde_json::from_value(body).unwrap();
        let mut faults = new.faults();
        if !faults.is_empty() {
            faults.extend(validate_references(&mut self.store, &self.by, None, &new.0).await?);
        }
        let new = Valid::new(new, |_| faults)?;
        create_article(&mut self.store, &self.clock, &self.by, new).await
    }

    async fn update(&mut self, id: ArticleId, body: Value) -> Result<Article, ArticleError> {
        let changes: ArticleChanges = serde_json::from_value(body).unwrap();
        let mut faults = changes.faults();
        if !faults.is_empty() {
            faults.extend(validate_references(&mut self.store, &self.by, Some(id), &changes).await?);
        }
        let changes = Valid::new(changes, |_| faults)?;
        update_article(&mut self.store, &self.clock, &self.by, id, changes).await
    }

    /// Does the work of the background task: records the articles that have become public.
    async fn publish_due(&mut self) {
        let due = self.store.due_publications(self.clock.now(), 10).await.unwrap();
        for due in due {
            publish_due_article(&mut self.store, &self.clock, due.business, due.article)
                .await
                .unwrap();
        }
    }

    fn announced(&self) -> Vec<i64> {
        let events = self.store.events.iter();
        assert!(events.clone().all(|(_, event)| event.name == EventName::BlogPublished));
        events.map(|(_, event)| event.record).collect()
    }
}

fn faults(refused: Result<Article, ArticleError>) -> Vec<String> {
    match refused {
        Err(ArticleError::Invalid(errors)) => errors.as_slice().iter().map(|error| error.field.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    article_store_contract(&mut Store::default(), BusinessId::new(1), BusinessId::new(2)).await;
}

#[tokio::test]
async fn an_article_needs_a_title_alone() {
    let mut blog = Blog::open();
    let article = blog.create(json!({"title": "Winter tyres"})).await.unwrap();
    assert_eq!(
        (&*article.head.url, article.head.status),
        ("winter-tyres", ArticleStatus::Draft)
    );
    assert_eq!(article.head.published_at.0, blog.clock.now());
    assert_eq!(
        (article.version, article.publication.announced),
        (Version::FIRST, false)
    );
    assert!(blog.announced().is_empty());
    for title in [
        json!({}),
        json!({"title": null}),
        json!({"title": " \t"}),
        json!({"title": 5}),
    ] {
        assert_eq!(faults(blog.create(title).await), ["title"]);
    }
}

#[tokio::test]
async fn slugs_are_unique_and_stable() {
    let mut blog = Blog::open();
    let first = blog.create(json!({"title": "News"})).await.unwrap();
    for expected in ["news-2", "news-3"] {
        assert_eq!(
            &*blog.create(json!({"title": "News!"})).await.unwrap().head.url,
            expected
        );
    }
    let unreadable = blog.create(json!({"title": "?!"})).await.unwrap();
    assert_eq!(*unreadable.head.url, unreadable.id.to_string());
    let renamed = blog.update(first.id, json!({"title": "Old news"})).await.unwrap();
    assert_eq!(&*renamed.head.url, "news");
    assert_eq!(faults(blog.update(first.id, json!({"url": "news-2"})).await), ["url"]);
    assert_eq!(
        &*blog.update(first.id, json!({"url": "news"})).await.unwrap().head.url,
        "news"
    );
    assert_eq!(
        &*blog.update(first.id, json!({"url": null})).await.unwrap().head.url,
        "old-news"
    );
    let again = blog.update(first.id, json!({"url": null})).await.unwrap();
    assert_eq!(&*again.head.url, "old-news", "its own slug is not taken");
    for number in 4..=30 {
        let article = blog.create(json!({"title": "news"})).await.unwrap();
        let expected = if number == 4 {
            "news".to_owned()
        } else {
            format!("news-{}", number - 1)
        };
        assert_eq!(*article.head.url, expected);
    }
}

#[tokio::test]
async fn every_fault_is_reported_at_once() {
    let mut blog = Blog::open();
    blog.create(json!({"title": "News"})).await.unwrap();
    let bad = json!({"url": "news", "status": "scheduled", "related": [1, 99], "content": 5, "summary_image": "javascript:x"});
    let mut found = faults(blog.create(bad.clone()).await);
    found.sort();
    assert_eq!(
        found,
        ["content", "related.1", "status", "summary_image", "title", "url"]
    );
    let mut found = faults(blog.update(ArticleId::new(77), bad).await);
    found.sort();
    assert_eq!(
        found,
        ["content", "related.1", "status", "summary_image", "url"],
        "before it is missed"
    );
    let missing = blog.update(ArticleId::new(77), json!({})).await;
    assert!(matches!(missing, Err(ArticleError::NotFound(_))));
}

#[tokio::test]
async fn what_is_published_is_reported_once_in_its_life() {
    let mut blog = Blog::open();
    let article = blog.create(json!({"title": "a", "status": "published"})).await.unwrap();
    assert_eq!(blog.announced(), [article.id.get()]);
    let data: Value = serde_json::from_str(&blog.store.events[0].1.data).unwrap();
    assert_eq!(
        (&data["status"], &data["version"], &data["content"]),
        (&json!("published"), &json!(1), &json!(""))
    );
    for change in [
        json!({"title": "b"}),
        json!({"status": "draft"}),
        json!({"status": "published"}),
        json!({"published_at": NOW + 60}),
    ] {
        blog.update(article.id, change).await.unwrap();
    }
    blog.wait(60);
    blog.publish_due().await;
    assert_eq!(blog.announced().len(), 1);
    let draft = blog.create(json!({"title": "c", "published_at": 5})).await.unwrap();
    let published = blog.update(draft.id, json!({"status": "published"})).await.unwrap();
    assert_eq!(
        published.head.published_at.0,
        Timestamp::from_epoch_seconds(5),
        "a draft keeps its time"
    );
    assert_eq!(blog.announced(), [article.id.get(), draft.id.get()]);
}

#[tokio::test]
async fn an_article_without_a_time_takes_that_of_its_first_publication() {
    let mut blog = Blog::open();
    let at = |article: &Article| article.head.published_at.0.epoch_seconds();
    let draft = blog.create(json!({"title": "a"})).await.unwrap();
    blog.wait(60);
    let renamed = blog.update(draft.id, json!({"title": "b"})).await.unwrap();
    assert_eq!((at(&draft), at(&renamed)), (NOW, NOW));
    let published = blog.update(draft.id, json!({"status": "published"})).await.unwrap();
    assert_eq!(at(&published), NOW + 60);
    blog.wait(60);
    blog.update(draft.id, json!({"status": "draft"})).await.unwrap();
    let again = blog.update(draft.id, json!({"status": "published"})).await.unwrap();
    assert_eq!(at(&again), NOW + 60, "once");
    // A time that was sent is kept, even if it equals the time of creation.
    let sent = blog
        .create(json!({"title": "c", "published_at": NOW + 120}))
        .await
        .unwrap();
    blog.wait(60);
    let published = blog.update(sent.id, json!({"status": "published"})).await.unwrap();
    assert_eq!(at(&published), NOW + 120);
}

#[tokio::test]
async fn a_scheduled_article_is_public_by_the_clock_and_reported_at_its_time() {
    let mut blog = Blog::open();
    let soon = json!({"title": "a", "status": "published", "published_at": NOW + 10});
    let article = blog.create(soon.clone()).await.unwrap();
    let withdrawn = blog.create(soon.clone()).await.unwrap();
    let put_off = blog.create(soon).await.unwrap();
    let status = |blog: &Blog, article: &Article| article.head.status_at(blog.clock.now());
    assert_eq!(status(&blog, &article), ArticleStatus::Scheduled);
    blog.wait(9);
    blog.publish_due().await;
    assert!(blog.announced().is_empty());
    blog.update(withdrawn.id, json!({"status": "draft"})).await.unwrap();
    blog.update(put_off.id, json!({"published_at": NOW + 100}))
        .await
        .unwrap();
    blog.wait(1);
    assert_eq!(status(&blog, &article), ArticleStatus::Published);
    assert_ne!(
        article.version_at(blog.clock.now()),
        article.version,
        "the status changed without a write"
    );
    blog.publish_due().await;
    blog.publish_due().await;
    assert_eq!(blog.announced(), [article.id.get()]);
    let read = read_article(&mut blog.store, &blog.by, article.id).await.unwrap();
    assert_eq!(
        (read.version, read.version_at(blog.clock.now())),
        (Version::new(2), Version::new(2))
    );
    blog.wait(90);
    blog.publish_due().await;
    assert_eq!(blog.announced(), [article.id.get(), put_off.id.get()]);
}

#[tokio::test]
async fn what_became_needless_meanwhile_is_left_alone() {
    let mut blog = Blog::open();
    let soon = json!({"title": "a", "status": "published", "published_at": NOW + 10});
    let article = blog.create(soon).await.unwrap();
    let business = blog.by.business_id();
    // One server, whose clock is ahead, found the article due. It was deleted before another server handled it.
    publish_due_article(&mut blog.store, &blog.clock, business, article.id)
        .await
        .unwrap();
    delete_article(&mut blog.store, &blog.by, article.id).await.unwrap();
    blog.wait(10);
    publish_due_article(&mut blog.store, &blog.clock, business, article.id)
        .await
        .unwrap();
    assert!(blog.announced().is_empty());
}

#[tokio::test]
async fn a_change_that_changes_nothing_leaves_no_trace() {
    let mut blog = Blog::open();
    let body = json!({"title": "a", "tags": ["x", "y", "x"], "content": "<p onclick=x>a<script>b</script>"});
    let article = blog.create(body).await.unwrap();
    let tags: Vec<_> = article.head.tags.iter().map(|tag| tag.as_str()).collect();
    assert_eq!((tags, &*article.body.content), (vec!["x", "y"], "<p>a</p>"));
    blog.wait(60);
    let read = json!({"title": "a", "tags": ["x", "y"], "content": &*article.body.content, "url": "a"});
    assert_eq!(blog.update(article.id, read).await.unwrap(), article);
}

#[tokio::test]
async fn related_articles_are_the_business_own() {
    let mut blog = Blog::open();
    let one = blog.create(json!({"title": "one"})).await.unwrap();
    let two = blog
        .create(json!({"title": "two", "related": [one.id, one.id]}))
        .await
        .unwrap();
    assert_eq!(&*two.body.related, &[one.id]);
    delete_article(&mut blog.store, &blog.by, one.id).await.unwrap();
    let read = blog
        .store
        .article(blog.by.business_id(), two.id)
        .await
        .unwrap()
        .unwrap();
    assert!(read.body.related.is_empty());
    assert_eq!(
        faults(blog.update(two.id, json!({"related": [one.id]})).await),
        ["related.0"]
    );
}
