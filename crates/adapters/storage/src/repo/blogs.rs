//! Blog articles.

use std::collections::{BTreeSet, HashSet};

use async_trait::async_trait;
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use forecourt_blogs::{
    Article, ArticleBody, ArticleFilter, ArticleHead, ArticleId, ArticleReader, ArticleStatus, ArticleStore,
    DuePublication, ListedArticle, Publication, Slug,
};
use forecourt_kernel::{BusinessId, Page, PageRequest, Range, StoreError, StoreResult, Timestamp, Version, fold};

use super::owned::OwnedTable;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Session, Write};
use super::{Conn, Db, dialect, list};
use crate::error::other;
use crate::schema::businesses;
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("article_tags", "tag, article_id", 500),
    OwnedTable::new("articles", "id", 10),
];

const KIND: &str = "articles";

const ARTICLES: RecordKind = RecordKind {
    table: "articles",
    rows: "articles",
    texts: None,
};

diesel::table! {
    articles (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        version -> BigInt,
        created -> BigInt,
        updated -> BigInt,
        url -> Text,
        status -> Text,
        published_at -> BigInt,
        category_folded -> Text,
        author_folded -> Text,
        announced -> Bool,
        undated -> Bool,
        announce_at -> Nullable<BigInt>,
        head -> Text,
        body -> Text,
    }
}

diesel::table! {
    article_tags (business_id, tag, article_id) {
        business_id -> BigInt,
        tag -> Text,
        article_id -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(articles, businesses);

#[derive(Queryable, Selectable)]
#[diesel(table_name = articles, check_for_backend(Db))]
struct ArticleRow {
    id: i64,
    version: i64,
    created: i64,
    updated: i64,
    announced: bool,
    undated: bool,
    head: String,
    body: String,
}

/// The columns of an article that are written, first and at each change. They are both parts of its document, the columns that
/// lists filter by, and the time of its announcement.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = articles, check_for_backend(Db), treat_none_as_null = true, treat_none_as_default_value = false)]
struct ArticleValues {
    version: i64,
    updated: i64,
    url: String,
    status: &'static str,
    published_at: i64,
    category_folded: String,
    author_folded: String,
    announced: bool,
    undated: bool,
    announce_at: Option<i64>,
    head: String,
    body: String,
}

impl ArticleValues {
    fn new(article: &Article) -> StoreResult<Self> {
        let Article {
            version,
            updated,
            publication,
            head,
            body,
            ..
        } = article;
        let published_at = head.published_at.0.epoch_seconds();
        let is_awaited = head.status == ArticleStatus::Published && !publication.announced;
        Ok(Self {
            version: version.number(),
            updated: updated.epoch_seconds(),
            url: head.url.to_string(),
            status: head.status.name(),
            published_at,
            category_folded: fold(&head.category),
            author_folded: fold(&head.author),
            announced: publication.announced,
            undated: publication.undated,
            announce_at: is_awaited.then_some(published_at),
            head: serde_json::to_string(head).map_err(other)?,
            body: serde_json::to_string(body).map_err(other)?,
        })
    }
}

fn read_head(id: i64, head: &str) -> StoreResult<ArticleHead> {
    serde_json::from_str(head).map_err(|failure| unreadable(id, &failure))
}

fn unreadable(id: i64, failure: &serde_json::Error) -> StoreError {
    other(format!("article {id} cannot be read: {failure}"))
}

impl TryFrom<ArticleRow> for Article {
    type Error = StoreError;

    fn try_from(row: ArticleRow) -> StoreResult<Self> {
        Ok(Self {
            id: ArticleId::new(row.id),
            version: Version::new(row.version),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            publication: Publication {
                announced: row.announced,
                undated: row.undated,
            },
            head: read_head(row.id, &row.head)?,
            body: serde_json::from_str(&row.body).map_err(|failure| unreadable(row.id, &failure))?,
        })
    }
}

/// Selects the articles that pass `filter` at `now`.
fn selection(business: BusinessId, filter: &ArticleFilter, now: Timestamp) -> Selection {
    let ArticleFilter {
        status,
        category,
        author,
        tag,
        url,
        created,
        updated,
    } = filter;
    let mut list = Selection::all(ARTICLES, business);
    let now = now.epoch_seconds();
    match status {
        None => {}
        Some(ArticleStatus::Draft) => list.is("status", Some(ArticleStatus::Draft.name())),
        Some(read_as) => {
            list.is("status", Some(ArticleStatus::Published.name()));
            let (from, to) = match read_as {
                ArticleStatus::Scheduled => (Some(now.saturating_add(1)), None),
                ArticleStatus::Draft | ArticleStatus::Published => (None, Some(now)),
            };
            list.within("published_at", Some(Range { from, to }));
            list.forget_total();
        }
    }
    list.text("category_folded", category.as_ref());
    list.text("author_folded", author.as_ref());
    list.tagged("article_tags", "article_id", "tag", tag.as_deref());
    list.is("url", url.as_deref());
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

async fn page(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    selection: &Selection,
    request: &PageRequest,
) -> StoreResult<Page<Article>> {
    let columns = ArticleRow::as_select();
    let page = list::page(session, selection, request, columns, |row: &ArticleRow| row.id).await?;
    let mut page = page.try_map(Article::try_from)?;
    let conn = session.conn().await?;
    omit_deleted(conn, business, &mut page.items).await?;
    Ok(page)
}

async fn heads(
    session: &mut Session<impl Mode>,
    selection: &Selection,
    request: &PageRequest,
) -> StoreResult<Page<ListedArticle>> {
    let columns = (articles::id, articles::head);
    let page = list::page(session, selection, request, columns, |row: &(i64, String)| row.0).await?;
    page.try_map(|(id, head)| {
        Ok(ListedArticle {
            id: ArticleId::new(id),
            head: read_head(id, &head)?,
        })
    })
}

/// Returns the article of a row, if there is one.
async fn found(conn: &mut Conn, business: BusinessId, row: Option<ArticleRow>) -> StoreResult<Option<Article>> {
    let mut found: Vec<Article> = row.into_iter().map(Article::try_from).collect::<StoreResult<_>>()?;
    omit_deleted(conn, business, &mut found).await?;
    Ok(found.pop())
}

/// Takes the ids of deleted articles out of `related`, in one query for all of them.
async fn omit_deleted(conn: &mut Conn, business: BusinessId, shown: &mut [Article]) -> StoreResult<()> {
    let related: BTreeSet<i64> = shown
        .iter()
        .flat_map(|article| article.body.related.iter().copied().map(ArticleId::get))
        .collect();
    if related.is_empty() {
        return Ok(());
    }
    let known = known(conn, business, related).await?;
    for article in shown {
        article.retain_related(|id| known.contains(id));
    }
    Ok(())
}

async fn known(
    conn: &mut Conn,
    business: BusinessId,
    ids: impl IntoIterator<Item = i64>,
) -> StoreResult<HashSet<ArticleId>> {
    let known: Vec<i64> = articles::table
        .filter(articles::business_id.eq(business.get()))
        .filter(articles::id.eq_any(ids.into_iter().collect::<Vec<_>>()))
        .select(articles::id)
        .load(conn)
        .await?;
    Ok(known.into_iter().map(ArticleId::new).collect())
}

#[async_trait]
impl<M: Mode> ArticleReader for Session<M> {
    async fn article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<Option<Article>> {
        let conn = self.conn().await?;
        let query = articles::table.find((business.get(), id.get()));
        let row = query.select(ArticleRow::as_select()).get_optional(conn).await?;
        found(conn, business, row).await
    }

    async fn articles(
        &mut self,
        business: BusinessId,
        filter: &ArticleFilter,
        now: Timestamp,
        request: &PageRequest,
    ) -> StoreResult<Page<Article>> {
        page(self, business, &selection(business, filter, now), request).await
    }

    async fn article_heads(
        &mut self,
        business: BusinessId,
        filter: &ArticleFilter,
        now: Timestamp,
        request: &PageRequest,
    ) -> StoreResult<Page<ListedArticle>> {
        heads(self, &selection(business, filter, now), request).await
    }

    async fn known_articles(&mut self, business: BusinessId, ids: &[ArticleId]) -> StoreResult<HashSet<ArticleId>> {
        known(self.conn().await?, business, ids.iter().copied().map(ArticleId::get)).await
    }

    async fn taken_slugs(
        &mut self,
        business: BusinessId,
        slugs: &[Slug],
        except: Option<ArticleId>,
    ) -> StoreResult<HashSet<Slug>> {
        let texts: Vec<&str> = slugs.iter().map(|slug| &**slug).collect();
        let rows: Vec<(i64, String)> = articles::table
            .filter(articles::business_id.eq(business.get()))
            .filter(articles::url.eq_any(texts))
            .select((articles::id, articles::url))
            .load(self.conn().await?)
            .await?;
        let others = rows
            .into_iter()
            .filter(|(id, _)| except.map(ArticleId::get) != Some(*id));
        let taken: HashSet<String> = others.map(|(_, url)| url).collect();
        Ok(slugs.iter().filter(|slug| taken.contains(&***slug)).cloned().collect())
    }
}

impl Session<Write> {
    /// Stores an article's tags.
    async fn save_tags(&mut self, business: BusinessId, article: &Article) -> StoreResult<()> {
        let conn = self.conn().await?;
        let (business_id, article_id) = (business.get(), article.id.get());
        diesel::delete(
            article_tags::table
                .filter(article_tags::business_id.eq(business_id))
                .filter(article_tags::article_id.eq(article_id)),
        )
        .execute(conn)
        .await?;
        let tags: Vec<_> = article
            .head
            .tags
            .iter()
            .map(|tag| {
                (
                    article_tags::business_id.eq(business_id),
                    article_tags::tag.eq(tag.to_string()),
                    article_tags::article_id.eq(article_id),
                )
            })
            .collect();
        dialect::insert_many!(conn, article_tags::table, tags).map(drop)
    }
}

#[async_trait]
impl ArticleStore for Session<Write> {
    async fn lock_articles(&mut self, business: BusinessId) -> StoreResult<()> {
        self.counter(business, KIND).await?.write(0);
        Ok(())
    }

    async fn lock_article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<Option<Article>> {
        let conn = self.conn().await?;
        let query = articles::table.find((business.get(), id.get()));
        let row = for_no_key_update(query.select(ArticleRow::as_select()))
            .get_optional(conn)
            .await?;
        found(conn, business, row).await
    }

    async fn insert_article(
        &mut self,
        business: BusinessId,
        head: ArticleHead,
        body: ArticleBody,
        publication: Publication,
        at: Timestamp,
    ) -> StoreResult<Article> {
        self.counter(business, KIND).await?.write(1);
        let conn = self.conn().await?;
        let mut article = Article {
            id: ArticleId::new(0),
            version: Version::FIRST,
            created: at,
            updated: at,
            publication,
            head,
            body,
        };
        let id = diesel::insert_into(articles::table)
            .values((
                articles::business_id.eq(business.get()),
                articles::created.eq(at.epoch_seconds()),
                ArticleValues::new(&article)?,
            ))
            .returning(articles::id)
            .get_result(conn)
            .await?;
        article.id = ArticleId::new(id);
        self.save_tags(business, &article).await?;
        Ok(article)
    }

    async fn save_article(&mut self, business: BusinessId, article: &Article) -> StoreResult<()> {
        self.counter(business, KIND).await?.write(0);
        let conn = self.conn().await?;
        diesel::update(articles::table.find((business.get(), article.id.get())))
            .set(ArticleValues::new(article)?)
            .prepared()
            .execute(conn)
            .await?;
        self.save_tags(business, article).await
    }

    async fn delete_article(&mut self, business: BusinessId, id: ArticleId) -> StoreResult<()> {
        let conn = self.conn().await?;
        let gone = diesel::delete(articles::table.find((business.get(), id.get())))
            .execute(conn)
            .await?;
        if gone > 0 {
            self.counter(business, KIND).await?.write(-1);
        }
        Ok(())
    }

    async fn due_publications(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DuePublication>> {
        let due: Vec<(i64, i64)> = articles::table
            .filter(articles::announce_at.assume_not_null().le(now.epoch_seconds()))
            .filter(not(exists(
                businesses::table
                    .filter(businesses::id.eq(articles::business_id))
                    .filter(businesses::deleted.is_not_null()),
            )))
            .order(articles::announce_at)
            .limit(limit.into())
            .select((articles::business_id, articles::id))
            .load(self.conn().await?)
            .await?;
        let each = |(business, article)| DuePublication {
            business: BusinessId::new(business),
            article: ArticleId::new(article),
        };
        Ok(due.into_iter().map(each).collect())
    }
}
