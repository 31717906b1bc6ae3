//! People's data in reviews, and its erasure. No review is linked to a contact: the name of its author shows that it is theirs.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_accounts::Business;
use forecourt_kernel::{BusinessId, Person, PersonKeys, StoreResult};
use forecourt_reviews::{Review, ReviewError, forget_person_in_review};

use super::super::people::{PersonalArea, REVIEW};
use super::super::session::{Session, Write};
use super::{ReviewRow, reviews};
use crate::error::other;
use crate::personal::{
    Erasure::{Derived, Redacted},
    PersonalTable, held, table,
};
use crate::statement::RunQueryDsl;

pub(in super::super) const TABLES: &[PersonalTable] = &[table(
    "reviews",
    &[
        // name is cleared where it is theirs.
        held("document", "reviews", Redacted),
        held("data", "reviews", Redacted),
        held("source_folded", "reviews", Derived),
    ],
    &[
        "id",
        "business_id",
        "version",
        "created",
        "updated",
        "status",
        "verified",
    ],
)];

/// All reviews.
pub(in super::super) struct Reviews;

/// Reads these reviews.
async fn of_ids(session: &mut Session<Write>, business: BusinessId, ids: Vec<i64>) -> StoreResult<Vec<Review>> {
    let rows: Vec<ReviewRow> = reviews::table
        .filter(reviews::business_id.eq(business.get()))
        .filter(reviews::id.eq_any(ids))
        .select(ReviewRow::as_select())
        .load(session.conn().await?)
        .await?;
    rows.into_iter().map(Review::try_from).collect()
}

#[async_trait]
impl PersonalArea for Reviews {
    fn kind(&self) -> i32 {
        REVIEW
    }

    async fn note(&self, _: &mut Session<Write>, _: BusinessId, _: &mut PersonKeys) -> StoreResult<()> {
        Ok(())
    }

    fn table(&self) -> &'static str {
        "reviews"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let now = session.dependencies.clock.now();
        for review in of_ids(session, business.id, vec![id]).await? {
            let forgotten = forget_person_in_review(session, now, business.id, review, person).await;
            forgotten.map_err(|error| match error {
                ReviewError::Store(error) => error,
                error => other(error),
            })?;
        }
        Ok(())
    }

    async fn naming(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        ids: Vec<i64>,
        person: &Person,
    ) -> StoreResult<Vec<i64>> {
        let all = of_ids(session, business, ids).await?;
        let mut naming = Vec::new();
        for review in all {
            let content = serde_json::to_string(&review.content).map_err(other)?;
            let data = serde_json::to_string(&review.data).map_err(other)?;
            if person.is_named(&review.content.name)
                || person.is_certainly_in_json(&content)
                || person.is_certainly_in_json(&data)
            {
                naming.push(review.id.get());
            }
        }
        Ok(naming)
    }
}
