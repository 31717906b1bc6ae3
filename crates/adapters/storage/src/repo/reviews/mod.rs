//! Reviews.

pub(super) mod people;

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_kernel::{BusinessId, Page, PageRequest, StoreResult, Timestamp, Version, fold};
use forecourt_reviews::{
    NamedReviewReader, Review, ReviewContent, ReviewFilter, ReviewId, ReviewReader, ReviewStatus, ReviewStore,
};
use serde_json::{Map, Value};

use super::owned::OwnedTable;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Read, Session, Write};
use super::{Db, list};
use crate::error::other;
use crate::statement::{MayScan as _, Prepare as _, RunQueryDsl, for_no_key_update};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[OwnedTable::new("reviews", "id", 100)];

const KIND: &str = "reviews";

const REVIEWS: RecordKind = RecordKind {
    table: "reviews",
    rows: "reviews",
    texts: None,
};

diesel::table! {
    reviews (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        version -> BigInt,
        created -> BigInt,
        updated -> BigInt,
        status -> Text,
        source_folded -> Text,
        verified -> BigInt,
        document -> Text,
        data -> Text,
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = reviews, check_for_backend(Db))]
struct ReviewRow {
    id: i64,
    version: i64,
    created: i64,
    updated: i64,
    document: String,
    data: String,
}

/// The columns of a review that are written, first and at each change: its document, and beside it the columns that lists filter
/// by.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = reviews, check_for_backend(Db), treat_none_as_default_value = false)]
struct ReviewValues {
    version: i64,
    updated: i64,
    status: &'static str,
    source_folded: String,
    verified: i64,
    document: String,
    data: String,
}

impl ReviewValues {
    fn new(review: &Review) -> StoreResult<Self> {
        let content = &review.content;
        Ok(Self {
            version: review.version.number(),
            updated: review.updated.epoch_seconds(),
            status: content.status.name(),
            source_folded: fold(&content.source),
            verified: content.verified.into(),
            document: serde_json::to_string(content).map_err(other)?,
            data: serde_json::to_string(&review.data).map_err(other)?,
        })
    }
}

impl TryFrom<ReviewRow> for Review {
    type Error = forecourt_kernel::StoreError;

    fn try_from(row: ReviewRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("review {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: ReviewId::new(row.id),
            version: Version::new(row.version),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
            data: serde_json::from_str(&row.data).map_err(unreadable)?,
        })
    }
}

/// Selects the reviews that pass `filter`.
fn selection(business: BusinessId, filter: &ReviewFilter) -> Selection {
    let ReviewFilter {
        status,
        source,
        verified,
        created,
        updated,
    } = filter;
    let mut list = Selection::all(REVIEWS, business);
    list.is("status", status.map(ReviewStatus::name));
    list.text("source_folded", source.as_ref());
    list.is("verified", verified.map(i64::from));
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

async fn page(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &ReviewFilter,
    request: &PageRequest,
) -> StoreResult<Page<Review>> {
    let selection = selection(business, filter);
    let columns = ReviewRow::as_select();
    let page = list::page(session, &selection, request, columns, |row: &ReviewRow| row.id).await?;
    page.try_map(Review::try_from)
}

#[async_trait]
impl<M: Mode> ReviewReader for Session<M> {
    async fn review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<Option<Review>> {
        let query = reviews::table.find((business.get(), id.get()));
        let row: Option<ReviewRow> = query
            .select(ReviewRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(Review::try_from).transpose()
    }

    async fn reviews(
        &mut self,
        business: BusinessId,
        filter: &ReviewFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<Review>> {
        page(self, business, filter, request).await
    }
}

/// The number of reviews that are compared with an author's name at once.
const NAMED_AT_ONCE: i64 = 100;

#[async_trait]
impl NamedReviewReader for Session<Read> {
    async fn reviews_by(&mut self, business: BusinessId, name: &str, after: ReviewId) -> StoreResult<Vec<Review>> {
        let (name, mut after) = (fold(name), after.get());
        let mut by = Vec::new();
        while !name.is_empty() && by.is_empty() {
            let rows: Vec<ReviewRow> = reviews::table
                .filter(reviews::business_id.eq(business.get()))
                .filter(reviews::id.gt(after))
                .order(reviews::id)
                .limit(NAMED_AT_ONCE)
                .select(ReviewRow::as_select())
                .may_scan(true)
                .load(self.conn().await?)
                .await?;
            let Some(last) = rows.last() else {
                break;
            };
            after = last.id;
            for row in rows {
                let review = Review::try_from(row)?;
                if fold(&review.content.name) == name {
                    by.push(review);
                }
            }
        }
        Ok(by)
    }
}

#[async_trait]
impl ReviewStore for Session<Write> {
    async fn lock_review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<Option<Review>> {
        let query = reviews::table.find((business.get(), id.get()));
        let row: Option<ReviewRow> = for_no_key_update(query.select(ReviewRow::as_select()))
            .get_optional(self.conn().await?)
            .await?;
        row.map(Review::try_from).transpose()
    }

    async fn insert_review(
        &mut self,
        business: BusinessId,
        content: ReviewContent,
        data: Map<String, Value>,
        at: Timestamp,
    ) -> StoreResult<Review> {
        self.counter(business, KIND).await?.write(1);
        let conn = self.conn().await?;
        let mut review = Review {
            id: ReviewId::new(0),
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
            data,
        };
        let id = diesel::insert_into(reviews::table)
            .values((
                reviews::business_id.eq(business.get()),
                reviews::created.eq(at.epoch_seconds()),
                ReviewValues::new(&review)?,
            ))
            .returning(reviews::id)
            .get_result(conn)
            .await?;
        review.id = ReviewId::new(id);
        Ok(review)
    }

    async fn save_review(&mut self, business: BusinessId, review: &Review) -> StoreResult<()> {
        self.counter(business, KIND).await?.write(0);
        let conn = self.conn().await?;
        diesel::update(reviews::table.find((business.get(), review.id.get())))
            .set(ReviewValues::new(review)?)
            .prepared()
            .execute(conn)
            .await
            .map(drop)
    }

    async fn delete_review(&mut self, business: BusinessId, id: ReviewId) -> StoreResult<()> {
        let conn = self.conn().await?;
        let gone = diesel::delete(reviews::table.find((business.get(), id.get())))
            .execute(conn)
            .await?;
        if gone > 0 {
            self.counter(business, KIND).await?.write(-1);
        }
        Ok(())
    }
}
