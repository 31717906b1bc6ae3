//! A store in memory, and the contract suite for stores of articles.

#![expect(clippy::expect_used, reason = "this is for tests, which fail so")]

use std::collections::{BTreeMap, HashSet};

use async_trait::async_trait;
use forecourt_kernel::testing::{WithEvents, page_of};
use forecourt_kernel::{
    BusinessId, Cursor, EventLog, FromJson, Page, PageRequest, Position, Range, StoreError, StoreResult, TextFilter,
    Timestamp, Version,
};
use serde_json::{Value, json};

use crate::{
    Article, ArticleBody, ArticleChanges, ArticleFilter, ArticleHead, ArticleId, ArticleReader, ArticleStatus,
    ArticleStore, DuePublication, ListedArticle, Publication, PublicationTime, Slug,
};

/// Articles in memory, by their ids.
#[derive(Clone, Debug, Default)]
pub struct MemoryArticles {
    articles: BTreeMap<ArticleId, (BusinessId, Article)>,
    last_id: i64,
}

impl MemoryArticles {
    /// The articles of all businesses, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Article> {
        self.articles.values().map(|(_, article)| article)
    }

    fn of(&self, business: BusinessId) -> impl DoubleEndedIterator<Item = &Article> {
        let own = self.articles.values().filter(move |(owner, _)| *owner == business);
        own.map(|(_, article)| article)
    }

    /// Returns an article as readers see it.
    fn shown(&self, business: BusinessId, article: &Article) -> Article {
        let mut article = article.clone();
        let exists = |id: &ArticleId| self.articles.get(id).is_some_and(|(owner, _)| *owner == business);
        article.retain_related(exists);
        article
    }
}

/// A type that keeps articles in memory, perhaps with other records, and so implements [`ArticleStore`].
pub trait HoldsArticles: Send {
    /// The articles.
    fn held_articles(&mut self) -> &mut MemoryArticles;
}

impl HoldsArticles for WithEvents<MemoryArticles> {
    fn held_articles(&mut self) -> &mut MemoryArticles {
        &mut self.records
    }
}

#[async_trait]
impl<S: HoldsArticles> ArticleReader for S {
    async fn article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<Option<Article>> {
        let held = self.held_articles();
        let stored = held.articles.get(&id).filter(|(owner, _)| *owner == business);
        Ok(stored.map(|(_, article)| held.shown(business, article)))
    }

    async fn articles(
        &mut self,
        business: BusinessId,
        filter: &ArticleFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> StoreResult<Page<Article>> {
        let held = self.held_articles();
        let passing = held.of(business).rev().filter(|article| filter.matches(article, now));
        let mut page = page_of(passing, page, |article| article.id.get());
        page.items = page.items.iter().map(|article| held.shown(business, article)).collect();
        Ok(page)
    }

    async fn article_heads(
        &mut self,
        business: BusinessId,
        filter: &ArticleFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> StoreResult<Page<ListedArticle>> {
        let page = self.articles(business, filter, now, page).await?;
        page.try_map(|Article { id, head, .. }| Ok(ListedArticle { id, head }))
    }

    async fn known_articles(&mut self, business: BusinessId, ids: &[ArticleId]) -> StoreResult<HashSet<ArticleId>> {
        let own = self.held_articles().of(business).map(|article| article.id);
        Ok(own.filter(|id| ids.contains(id)).collect())
    }

    async fn taken_slugs(
        &mut self,
        business: BusinessId,
        slugs: &[Slug],
        except: Option<ArticleId>,
    ) -> StoreResult<HashSet<Slug>> {
        let others = self.held_articles().of(business);
        let others = others.filter(|article| Some(article.id) != except && slugs.contains(&article.head.url));
        Ok(others.map(|article| article.head.url.clone()).collect())
    }
}

#[async_trait]
impl<S: HoldsArticles + EventLog> ArticleStore for S {
    async fn lock_articles(&mut self, _: BusinessId) -> StoreResult<()> {
        Ok(())
    }

    async fn lock_article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<Option<Article>> {
        self.article(business, id).await
    }

    async fn insert_article(
        &mut self,
        business: BusinessId,
        head: ArticleHead,
        body: ArticleBody,
        publication: Publication,
        at: Timestamp,
    ) -> StoreResult<Article> {
        let held = self.held_articles();
        if held.of(business).any(|article| article.head.url == head.url) {
            return Err(StoreError::Duplicate("articles_business_id_url_key".to_owned()));
        }
        held.last_id += 1;
        let article = Article {
            id: ArticleId::new(held.last_id),
            version: Version::FIRST,
            created: at,
            updated: at,
            publication,
            head,
            body,
        };
        held.articles.insert(article.id, (business, article.clone()));
        Ok(article)
    }

    async fn save_article(&mut self, business: BusinessId, article: &Article) -> StoreResult<()> {
        let articles = &mut self.held_articles().articles;
        articles.insert(article.id, (business, article.clone()));
        Ok(())
    }

    async fn delete_article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<()> {
        let articles = &mut self.held_articles().articles;
        if articles.get(&id).is_some_and(|(owner, _)| *owner == business) {
            articles.remove(&id);
        }
        Ok(())
    }

    async fn due_publications(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DuePublication>> {
        let articles = &self.held_articles().articles;
        let mut due: Vec<_> = articles
            .values()
            .filter(|(_, article)| {
                !article.publication.announced && article.head.status_at(now) == ArticleStatus::Published
            })
            .collect();
        due.sort_by_key(|(_, article)| article.head.published_at);
        let first = due.into_iter().take(limit as usize);
        Ok(first
            .map(|(business, article)| DuePublication {
                business: *business,
                article: article.id,
            })
            .collect())
    }
}

/// The current time of the suite.
const NOW: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

/// An article with a value in every field that `changes` does not set.
///
/// # Panics
/// If `changes` is not valid.
pub fn an_article(url: &str, changes: Value) -> (ArticleHead, ArticleBody) {
    let sample = json!({
        "url": url, "title": "Šest \"pravila\" \u{1f697}", "category": "Advice", "author": "Sam Hill", "tags": ["mot", "Winter"],
        "status": "published", "published_at": NOW.epoch_seconds() - 60, "summary": "<p>a &amp; b</p>",
        "summary_image": "https://cdn.example/1.jpg", "summary_thumbnail": "https://cdn.example/1s.jpg",
        "content": "<h2>One</h2>",
    });
    let (mut head, mut body) = (ArticleHead::blank(NOW), ArticleBody::default());
    for fields in [sample, changes] {
        let fields: ArticleChanges = serde_json::from_value(fields).expect("it is an object");
        assert!(fields.faults().is_empty(), "{:?}", fields.faults());
        fields.head.apply(&mut head, &ArticleHead::blank(NOW));
        fields.body.apply(&mut body, &ArticleBody::default());
    }
    (head, body)
}

/// Tests that `store` meets the contract of a store of articles. The two businesses must have no articles.
///
/// # Panics
/// If the store violates the contract.
pub async fn article_store_contract(store: &mut dyn ArticleStore, ours: BusinessId, theirs: BusinessId) {
    keeps_every_field(store, ours, theirs).await;
    leaves_out_what_is_gone(store, ours, theirs).await;
    finds_taken_slugs(store, ours, theirs).await;
    lists_what_passes(store, ours, theirs).await;
    finds_what_has_become_public(store, ours, theirs).await;
}

fn announced(announced: bool) -> Publication {
    Publication {
        announced,
        ..Publication::default()
    }
}

async fn insert(store: &mut dyn ArticleStore, business: BusinessId, url: &str, changes: Value) -> Article {
    let (head, body) = an_article(url, changes);
    store
        .insert_article(business, head, body, announced(true), NOW)
        .await
        .expect("it is stored")
}

async fn keeps_every_field(store: &mut dyn ArticleStore, ours: BusinessId, theirs: BusinessId) {
    store.lock_articles(ours).await.expect("they are locked");
    let (head, body) = an_article("first", json!({}));
    let article = store
        .insert_article(ours, head.clone(), body.clone(), Publication::default(), NOW)
        .await
        .expect("it is stored");
    let expected = Article {
        id: article.id,
        version: Version::FIRST,
        created: NOW,
        updated: NOW,
        publication: Publication::default(),
        head,
        body,
    };
    assert_eq!(article, expected);
    let read = store.article(ours, article.id).await.expect("it is read");
    assert_eq!(read.as_ref(), Some(&expected));
    let locked = store.lock_article(ours, article.id).await.expect("it is locked");
    assert_eq!(locked.as_ref(), Some(&expected));
    for nothing in [
        store.article(theirs, article.id).await,
        store.lock_article(theirs, article.id).await,
    ] {
        assert_eq!(nothing.expect("there is none"), None, "businesses are apart");
    }
    let changed = Article {
        version: article.version.next(),
        updated: NOW.plus_seconds(9),
        publication: Publication {
            announced: true,
            undated: true,
        },
        head: ArticleHead {
            url: Slug::new("second").expect("it is a slug"),
            ..ArticleHead::blank(NOW)
        },
        body: ArticleBody::default(),
        ..article
    };
    store.save_article(ours, &changed).await.expect("it is saved");
    let read = store.article(ours, changed.id).await.expect("it is read");
    assert_eq!(read.as_ref(), Some(&changed));
    store
        .delete_article(theirs, changed.id)
        .await
        .expect("nothing is deleted");
    assert!(store.article(ours, changed.id).await.expect("it is read").is_some());
    store.delete_article(ours, changed.id).await.expect("it is deleted");
    assert_eq!(store.article(ours, changed.id).await.expect("it is gone"), None);
}

async fn leaves_out_what_is_gone(store: &mut dyn ArticleStore, ours: BusinessId, theirs: BusinessId) {
    let one = insert(store, ours, "one", json!({})).await;
    let two = insert(store, ours, "two", json!({})).await;
    let foreign = insert(store, theirs, "one", json!({})).await;
    let known = store.known_articles(ours, &[one.id, foreign.id, two.id]).await;
    assert_eq!(known.expect("they are known"), HashSet::from([one.id, two.id]));
    let three = insert(store, ours, "three", json!({"related": [two.id, one.id]})).await;
    store.delete_article(ours, two.id).await.expect("it is deleted");
    let page = PageRequest::first();
    let listed = store.articles(ours, &ArticleFilter::default(), NOW, &page).await;
    let read = store
        .article(ours, three.id)
        .await
        .expect("it is read")
        .expect("it is there");
    assert_eq!(&*read.body.related, &[one.id]);
    assert_eq!(read.version.number(), three.version.number());
    assert_ne!(read.version, three.version, "it shows otherwise");
    assert_eq!(listed.expect("they are listed").items[0], read);
    for (business, article) in [(ours, one), (ours, three), (theirs, foreign)] {
        store.delete_article(business, article.id).await.expect("it is deleted");
    }
}

async fn finds_taken_slugs(store: &mut dyn ArticleStore, ours: BusinessId, theirs: BusinessId) {
    let one = insert(store, ours, "news", json!({})).await;
    let two = insert(store, ours, "news-2", json!({})).await;
    let slugs = ["news", "news-2", "news-3"].map(|slug| Slug::new(slug).expect("it is a slug"));
    let [first, second, _] = slugs.clone();
    for (business, except, taken) in [
        (ours, None, HashSet::from([first, second.clone()])),
        (ours, Some(one.id), HashSet::from([second])),
        (theirs, None, HashSet::new()),
    ] {
        assert_eq!(
            store
                .taken_slugs(business, &slugs, except)
                .await
                .expect("they are found"),
            taken
        );
    }
    for article in [one, two] {
        store.delete_article(ours, article.id).await.expect("it is deleted");
    }
}

async fn lists_what_passes(store: &mut dyn ArticleStore, ours: BusinessId, theirs: BusinessId) {
    let now = NOW.epoch_seconds();
    let mut stored = Vec::new();
    for (url, changes) in [
        ("a", json!({"status": "draft", "published_at": now + 10})),
        ("b", json!({"published_at": now, "category": "News"})),
        (
            "c",
            json!({"published_at": now + 1, "category": "news", "author": "Ann_Lee"}),
        ),
        ("d", json!({"published_at": now - 1, "tags": [], "author": "ann lee"})),
        ("e", json!({"status": "draft", "tags": ["mot"], "category": ""})),
    ] {
        stored.push(insert(store, ours, url, changes).await);
    }
    insert(store, theirs, "a", json!({})).await;
    let text = |text: &str| TextFilter::parse(text).ok();
    stored[2].updated = NOW.plus_seconds(7);
    store.save_article(ours, &stored[2]).await.expect("it is saved");
    let from = |from| {
        Some(Range {
            from: Some(from),
            to: None,
        })
    };
    let all = ArticleFilter::default;
    let status = |status| ArticleFilter {
        status: Some(status),
        ..all()
    };
    let tag = |tag: &str| ArticleFilter {
        tag: Some(tag.to_owned()),
        ..all()
    };
    let cases = [
        (all(), vec![4, 3, 2, 1, 0]),
        (status(ArticleStatus::Draft), vec![4, 0]),
        (status(ArticleStatus::Published), vec![3, 1]),
        (status(ArticleStatus::Scheduled), vec![2]),
        (
            ArticleFilter {
                category: text("NEWS"),
                ..all()
            },
            vec![2, 1],
        ),
        (
            ArticleFilter {
                category: text("%dvi%"),
                ..all()
            },
            vec![3, 0],
        ),
        (
            ArticleFilter {
                author: text("ann%lee"),
                ..all()
            },
            vec![3, 2],
        ),
        (
            ArticleFilter {
                author: text("ann_%"),
                ..all()
            },
            vec![2],
        ),
        (tag("mot"), vec![4, 2, 1, 0]),
        (tag("Winter"), vec![2, 1, 0]),
        (tag("winte"), vec![]),
        (
            ArticleFilter {
                url: Some("c".to_owned()),
                ..all()
            },
            vec![2],
        ),
        (
            ArticleFilter {
                category: text("news"),
                ..status(ArticleStatus::Published)
            },
            vec![1],
        ),
        (
            ArticleFilter {
                created: from(NOW),
                ..all()
            },
            vec![4, 3, 2, 1, 0],
        ),
        (
            ArticleFilter {
                created: from(NOW.plus_seconds(1)),
                ..all()
            },
            vec![],
        ),
        (
            ArticleFilter {
                updated: from(NOW.plus_seconds(1)),
                ..all()
            },
            vec![2],
        ),
    ];
    for (filter, expected) in cases {
        let expected: Vec<&Article> = expected.into_iter().map(|number: usize| &stored[number]).collect();
        let page = PageRequest::first();
        let whole = store.articles(ours, &filter, NOW, &page).await.expect("it is listed");
        assert_eq!(whole.items.iter().collect::<Vec<_>>(), expected, "{filter:?}");
        assert_eq!(whole.total, i64::try_from(expected.len()).ok(), "{filter:?}");
        let mut position = Position::After(Cursor::at([i64::MAX]));
        let mut walked = Vec::new();
        loop {
            let request = PageRequest { position, per_page: 2 };
            let page = store
                .article_heads(ours, &filter, NOW, &request)
                .await
                .expect("it is listed");
            walked.extend(page.items);
            match page.next {
                Some(cursor) => position = Position::After(cursor),
                None => break,
            }
        }
        let heads = expected.iter().map(|article| (article.id, &article.head));
        assert!(
            heads.eq(walked.iter().map(|listed| (listed.id, &listed.head))),
            "{filter:?}"
        );
    }
    // At another time the list has other articles.
    let later = NOW.plus_seconds(1);
    let page = store
        .articles(ours, &status(ArticleStatus::Published), later, &PageRequest::first())
        .await;
    assert_eq!(page.expect("it is listed").total, Some(3));
    for article in stored {
        store.delete_article(ours, article.id).await.expect("it is deleted");
    }
}

async fn finds_what_has_become_public(store: &mut dyn ArticleStore, ours: BusinessId, theirs: BusinessId) {
    let mut due = Vec::new();
    for (business, url, seconds, status, is_announced) in [
        (ours, "later", 5, "published", false),
        (theirs, "sooner", 3, "published", false),
        (ours, "told", 2, "published", true),
        (ours, "withdrawn", 1, "draft", false),
        (ours, "far", 99, "published", false),
    ] {
        let (mut head, body) = an_article(url, json!({"status": status}));
        let seconds = json!(NOW.epoch_seconds() + seconds);
        head.published_at = PublicationTime::from_json(seconds).expect("it is a time");
        let article = store
            .insert_article(business, head, body, announced(is_announced), NOW)
            .await
            .expect("it is stored");
        due.push(DuePublication {
            business,
            article: article.id,
        });
    }
    let at = |seconds| NOW.plus_seconds(seconds);
    for (seconds, limit, expected) in [
        (2, 9, vec![]),
        (3, 9, vec![due[1]]),
        (5, 9, vec![due[1], due[0]]),
        (5, 1, vec![due[1]]),
    ] {
        assert_eq!(
            store
                .due_publications(at(seconds), limit)
                .await
                .expect("they are found"),
            expected
        );
    }
    let mut article = store
        .article(theirs, due[1].article)
        .await
        .expect("it is read")
        .expect("it is there");
    article.publication.announced = true;
    store.save_article(theirs, &article).await.expect("it is saved");
    assert_eq!(
        store.due_publications(at(5), 9).await.expect("they are found"),
        [due[0]]
    );
}
