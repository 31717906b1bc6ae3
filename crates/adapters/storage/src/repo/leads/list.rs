//! Pages of a list, newest first.
//!
//! | the filter | how its page is found |
//! | --- | --- |
//! | what an index holds, or a least rating | that index is read from its end, no further than the page goes |
//! | `created` | its bounds become bounds of ids, since stamps never run against ids |
//! | `updated`, a text with wildcards | among the newest leads, where a page is soon full if many pass; if few do, those that pass are found by an index and sorted |

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, Cursor, Page, PageRequest, Position, StoreResult};
use forecourt_leads::{Lead, LeadFilter};

use super::filter::{Approach, Condition, conditions, is_scattered};
use super::span::Span;
use super::total::Standing;
use super::{Conn, Db, search};
use crate::error::store_error;
use crate::models::LeadRow;
use crate::schema::leads;
use crate::totals::Totals;

/// Among how many of the newest leads a page is looked for first.
const NEAR: i64 = 4096;

/// A page of the leads that pass `filter`.
pub(super) async fn page(
    conn: &mut Conn,
    totals: Option<&Totals>,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
) -> StoreResult<Page<Lead>> {
    // In this order: see `Standing`.
    let standing = match request.position {
        Position::Number(_) => Some(Standing::of(conn, business).await?),
        Position::After(_) => None,
    };
    let span = Span::of(conn, business, filter).await?;
    let total = match standing {
        Some(standing) => Some(standing.total(conn, totals, business, filter, span).await?),
        None => None,
    };
    let offset = request.offset().unwrap_or_default();
    let rows = match span.and_then(|span| span.before(&request.position)) {
        Some(span) if total.is_none_or(|total| offset < total) => {
            let list = List {
                business,
                filter,
                span,
                offset,
                // One more than the page shows tells whether another page follows.
                limit: i64::from(request.per_page) + 1,
            };
            list.rows(conn).await?
        }
        _ => Vec::new(),
    };
    let shown = request.per_page as usize;
    let more = rows.len() > shown;
    let items = rows.into_iter().take(shown).map(Lead::try_from);
    let items = items.collect::<StoreResult<Vec<_>>>()?;
    let next = items.last().filter(|_| more).map(|last| Cursor::at([last.id.get()]));
    Ok(Page { items, next, total })
}

/// The part of a list that is wanted.
struct List<'a> {
    business: BusinessId,
    filter: &'a LeadFilter,
    span: Span,
    offset: i64,
    limit: i64,
}

impl List<'_> {
    async fn rows(&self, conn: &mut Conn) -> StoreResult<Vec<LeadRow>> {
        if !is_scattered(self.filter) {
            return self.in_order(conn, self.span, Approach::Index).await;
        }
        let Some(newest) = self.newest(conn).await? else {
            return Ok(Vec::new());
        };
        let near = self.near(conn, newest).await?;
        let rows = self.in_order(conn, near, Approach::Lead).await?;
        let full = i64::try_from(rows.len()).is_ok_and(|found| found == self.limit);
        if full || near == self.span {
            return Ok(rows);
        }
        let found = search::found_by_index(conn, self.filter, newest).await?;
        self.sorted(conn, found).await
    }

    /// Reads leads of the span in the order of the list, until the page is full.
    async fn in_order(&self, conn: &mut Conn, span: Span, approach: Approach) -> StoreResult<Vec<LeadRow>> {
        passing(self.business, self.filter, approach)
            .filter(leads::id.ge(span.first))
            .filter(leads::id.le(span.last))
            .order((leads::business_id.desc(), leads::id.desc()))
            .limit(self.limit)
            .offset(self.offset)
            .select(LeadRow::as_select())
            .load(conn)
            .await
            .map_err(store_error)
    }

    /// Finds the ids of all that pass, and reads the leads of the page.
    async fn sorted(&self, conn: &mut Conn, found: Option<Condition>) -> StoreResult<Vec<LeadRow>> {
        // Not the id itself: else it might seem wise to walk all leads in its order.
        let id = leads::id + 0;
        let mut passing = passing(self.business, self.filter, Approach::Index);
        if let Some(found) = found {
            passing = passing.filter(found);
        }
        let ids = passing
            .filter(id.ge(self.span.first))
            .filter(id.le(self.span.last))
            .order(id.desc())
            .limit(self.limit)
            .offset(self.offset)
            .select(leads::id);
        leads::table
            .filter(leads::business_id.eq(self.business.get()))
            .filter(leads::id.eq_any(ids))
            .order((leads::business_id.desc(), leads::id.desc()))
            .select(LeadRow::as_select())
            .load(conn)
            .await
            .map_err(store_error)
    }

    /// The reference of the newest lead of the span: about as many leads there are, in the span and before.
    async fn newest(&self, conn: &mut Conn) -> StoreResult<Option<i64>> {
        let query = leads::table
            .filter(leads::business_id.eq(self.business.get()))
            .filter(leads::id.le(self.span.last))
            .order((leads::business_id.desc(), leads::id.desc()))
            .limit(1)
            .select(leads::reference);
        query.get_result(conn).await.optional().map_err(store_error)
    }

    /// The part of the span that has the [`NEAR`] newest leads. References count them, so that nobody else has to.
    async fn near(&self, conn: &mut Conn, newest: i64) -> StoreResult<Span> {
        let query = leads::table
            .filter(leads::business_id.eq(self.business.get()))
            .filter(leads::reference.le(newest - NEAR))
            .order(leads::reference.desc())
            .limit(1)
            .select(leads::id);
        let before: Option<i64> = query.get_result(conn).await.optional().map_err(store_error)?;
        let first = before.map_or(self.span.first, |before| self.span.first.max(before + 1));
        Ok(Span { first, ..self.span })
    }
}

/// The leads of a business that pass a filter, wherever they are.
pub(super) fn passing(business: BusinessId, filter: &LeadFilter, approach: Approach) -> leads::BoxedQuery<'static, Db> {
    let of_business = leads::table.filter(leads::business_id.eq(business.get()));
    let conditions = conditions(business, filter, approach).into_iter();
    conditions.fold(of_business.into_boxed(), |query, condition| query.filter(condition))
}
