//! Pages of a list, newest first.
//!
//! | the filter | how its page is found |
//! | --- | --- |
//! | what an index holds, or a least rating | that index is read from its end, no further than the page goes |
//! | `created` | its bounds become bounds of ids, since stamps never run against ids |
//! | `updated`, a text with wildcards | among the newest leads, where a page is soon full if many pass; if few do, those that pass are found by an index and sorted |
//! | a text of which no index knows anything | all leads are looked at until the page is full |
//!
//! Where all values are served by one index, the statement of a page is planned once: see [`crate::settled`].
//!
//! Where many leads come before a page, those of whole parts are told by [`counts`], and of the others the index alone is read.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, Page, PageRequest, Position, StoreResult};
use forecourt_leads::{Lead, LeadFilter, LeadPreview};

use super::counts::{Axis, Parts};
use super::filter::{Approach, Condition, conditions, is_scattered, is_searchable, is_settled};
use super::parts::{Area, Standing};
use super::span::Span;
use super::total::{in_span, total};
use super::{Conn, Db, counts, dialect, search};
use crate::error::store_error;
use crate::models::{LeadPreviewRow, LeadRow};
use crate::schema::leads;
use crate::settled::{Top, Value, usual_rows};
use crate::totals::Known;

/// Among how many of the newest leads a page is looked for first.
const NEAR: i64 = 4096;
/// Before a page that has more leads before it, no lead is read that it does not show.
const FAR: i64 = 500;

/// A page of the leads that pass `filter`.
pub(super) async fn page(
    conn: &mut Conn,
    totals: Option<&Known<LeadFilter>>,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
) -> StoreResult<Page<Lead>> {
    let (passing, total) = find(conn, totals, business, filter, request).await?;
    let rows: Vec<LeadRow> = match passing {
        Some(Top { query, rows }) => {
            let query = query.select(LeadRow::as_select());
            Top { query, rows }.load(conn).await.map_err(store_error)?
        }
        None => Vec::new(),
    };
    Page::of(rows, request, total, |row| row.id).try_map(Lead::try_from)
}

/// The same page in the simple view.
pub(super) async fn previews(
    conn: &mut Conn,
    totals: Option<&Known<LeadFilter>>,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
) -> StoreResult<Page<LeadPreview>> {
    let (passing, total) = find(conn, totals, business, filter, request).await?;
    let rows: Vec<LeadPreviewRow> = match passing {
        Some(Top { query, rows }) => {
            let query = query.select(LeadPreviewRow::as_select());
            Top { query, rows }.load(conn).await.map_err(store_error)?
        }
        None => Vec::new(),
    };
    let previews = rows.into_iter().map(LeadPreview::from).collect();
    Ok(Page::of(previews, request, total, |preview: &LeadPreview| {
        preview.id().get()
    }))
}

/// A query of leads.
type Passing = leads::BoxedQuery<'static, Db>;
/// A query of leads' ids.
type Ids = leads::BoxedQuery<'static, Db, BigInt>;

/// The query of a page, none if nothing is on it; and how many leads the list has, if its page has a number.
async fn find(
    conn: &mut Conn,
    totals: Option<&Known<LeadFilter>>,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
) -> StoreResult<(Option<Top<Passing>>, Option<i64>)> {
    // In this order: see `Standing`.
    let standing = match request.position {
        Position::Number(_) => Some(Standing::of(conn, business, Area::Leads).await?),
        Position::After(_) => None,
    };
    let span = Span::of_leads(conn, business, filter).await?;
    let total = match standing {
        Some(standing) => Some(self::total(conn, totals, standing, business, filter, span).await?),
        None => None,
    };
    let offset = request.offset().unwrap_or_default();
    let query = match span.map(|span| span.before(&request.position)) {
        Some(span) if !span.is_empty() && total.is_none_or(|total| offset < total) => {
            let list = List {
                business,
                filter,
                span,
                total,
                offset,
                limit: request.wanted(),
            };
            Some(list.query(conn).await?)
        }
        _ => None,
    };
    Ok((query, total))
}

/// The part of a list that is wanted.
struct List<'a> {
    business: BusinessId,
    filter: &'a LeadFilter,
    span: Span,
    /// How many leads the whole list has; known if the page is not its beginning.
    total: Option<i64>,
    offset: i64,
    limit: i64,
}

impl List<'_> {
    async fn query(self, conn: &mut Conn) -> StoreResult<Top<Passing>> {
        if let Some(rows) = self.settled() {
            return Ok(Top {
                query: newest_first(passing(self.business, self.filter, self.span, Approach::Settled)),
                rows: Some(rows),
            });
        }
        let query = self.planned(conn).await?;
        Ok(Top { query, rows: None })
    }

    /// How many rows to read by a statement that is planned once, if that will do for this page.
    fn settled(&self) -> Option<u16> {
        let settled = dialect::PLANS_BY_VALUES && self.offset == 0 && is_settled(self.filter);
        usual_rows(self.limit).filter(|_| settled)
    }

    async fn planned(self, conn: &mut Conn) -> StoreResult<Passing> {
        if !is_scattered(self.filter) {
            return match self.total {
                Some(total) if self.offset > FAR => self.far(conn, total).await,
                _ => Ok(self.in_order(self.span, Approach::Index)),
            };
        }
        if !is_searchable(self.filter) {
            return Ok(self.in_order(self.span, Approach::Lead));
        }
        let Some(newest) = self.newest(conn).await? else {
            return Ok(self.in_order(self.span, Approach::Lead));
        };
        let (newest, reach) = newest;
        let near = self.near(conn, newest, reach).await?;
        let ids = self.in_order(near, Approach::Lead).select(leads::id);
        let ids: Vec<i64> = ids.load(conn).await.map_err(store_error)?;
        let full = i64::try_from(ids.len()).is_ok_and(|found| found == self.limit);
        if full || near.first <= self.span.first.max(0) {
            return Ok(self.leads_of(leads::id.eq_any(ids)));
        }
        self.sorted(conn, reach).await
    }

    /// The leads of a span in the order of the list, until the page is full.
    fn in_order(&self, span: Span, approach: Approach) -> Passing {
        newest_first(passing(self.business, self.filter, span, approach))
            .limit(self.limit)
            .offset(self.offset)
    }

    /// The leads of a page that many others come before. Of the latter the index alone is read, from the nearer end of the
    /// list, and not even that where their number is known.
    async fn far(mut self, conn: &mut Conn, total: i64) -> StoreResult<Passing> {
        let skipped = counts::cover(self.filter) && self.skip(conn).await?;
        let behind = total - self.offset;
        let passing = passing(self.business, self.filter, self.span, Approach::Index).select(leads::id);
        let ids = if skipped || behind > self.offset {
            let from_start = passing.order((leads::business_id.desc(), leads::id.desc()));
            from_start.limit(self.limit).offset(self.offset)
        } else {
            let limit = self.limit.min(behind);
            let from_end = passing.order((leads::business_id.asc(), leads::id.asc()));
            from_end.limit(limit).offset(behind - limit)
        };
        Ok(self.leads_of(leads::id.eq_any(ids)))
    }

    /// Leaves out the parts that lie before the page as a whole; false if there are none.
    async fn skip(&mut self, conn: &mut Conn) -> StoreResult<bool> {
        let Some(Parts { newer, whole, .. }) = Parts::of(conn, self.business, self.span).await? else {
            return Ok(false);
        };
        let newer = match newer {
            Some(newer) => in_span(conn, self.business, self.filter, newer).await?,
            None => 0,
        };
        let Some(mut left) = self.offset.checked_sub(newer).filter(|left| *left >= 0) else {
            return Ok(false);
        };
        for (part, leads) in counts::by_part(conn, self.business, self.filter, Axis::Reference, whole).await? {
            if leads <= left {
                left -= leads;
                continue;
            }
            if let Some(next) = counts::beginning(conn, self.business, part + 1).await? {
                self.span.last = self.span.last.min(next - 1);
            }
            self.offset = left;
            return Ok(true);
        }
        Ok(false)
    }

    /// All that pass, found by whatever index tells them best, and sorted. There are about `reach` leads in the span and
    /// before.
    async fn sorted(&self, conn: &mut Conn, reach: i64) -> StoreResult<Passing> {
        // Not the id itself: else it might seem wise to walk all leads in its order.
        let id = leads::id + 0;
        let mut passing = passing(self.business, self.filter, Span::EVERYTHING, Approach::Index);
        if let Some(found) = search::found_by_index(conn, self.filter, reach).await? {
            passing = passing.filter(found);
        }
        let ids: Ids = passing
            .filter(id.ge(self.span.first))
            .filter(id.le(self.span.last))
            .order(id.desc())
            .limit(self.limit)
            .offset(self.offset)
            .select(leads::id);
        Ok(self.leads_of(leads::id.eq_any(ids)))
    }

    /// The leads of these ids, in the order of the list.
    fn leads_of(&self, among: impl BoxableExpression<leads::table, Db, SqlType = Bool> + 'static) -> Passing {
        let of_business = leads::table
            .filter(leads::business_id.eq(self.business.get()))
            .into_boxed();
        let among: Condition = Box::new(among);
        newest_first(of_business.filter(among))
    }

    /// The newest lead of the span and its reference: about as many leads there are, in the span and before.
    async fn newest(&self, conn: &mut Conn) -> StoreResult<Option<(i64, i64)>> {
        let query = leads::table
            .filter(leads::business_id.eq(self.business.get()))
            .filter(leads::id.le(self.span.last))
            .order((leads::business_id.desc(), leads::id.desc()))
            .limit(1)
            .select((leads::id, leads::reference));
        query.get_result(conn).await.optional().map_err(store_error)
    }

    /// The part of the span that has its [`NEAR`] newest leads, or all if it has few more. References count them, so that
    /// nobody else has to.
    async fn near(&self, conn: &mut Conn, newest: i64, reach: i64) -> StoreResult<Span> {
        let first = if reach <= 2 * NEAR {
            None
        } else {
            let query = leads::table
                .filter(leads::business_id.eq(self.business.get()))
                .filter(leads::reference.le(reach - NEAR))
                .order(leads::reference.desc())
                .limit(1)
                .select(leads::id);
            let before: Option<i64> = query.get_result(conn).await.optional().map_err(store_error)?;
            before.map(|before| before + 1)
        };
        // It is bounded on both sides, lest it seem wise to read another index as a whole.
        Ok(Span {
            first: self.span.first.max(first.unwrap_or_default()),
            last: newest,
        })
    }
}

fn newest_first(leads: Passing) -> Passing {
    leads.order((leads::business_id.desc(), leads::id.desc()))
}

/// The leads of a business that lie in a span and pass a filter.
pub(super) fn passing(business: BusinessId, filter: &LeadFilter, span: Span, approach: Approach) -> Passing {
    let value = |number| Value::new::<BigInt, i64>(number, approach.planning());
    let mut passing = leads::table
        .filter(leads::business_id.eq(value(business.get())))
        .into_boxed();
    for condition in conditions(business, filter, approach) {
        passing = passing.filter(condition);
    }
    // A bound that bounds nothing might tempt a planner to go by it.
    if span.first > Span::EVERYTHING.first {
        passing = passing.filter(leads::id.ge(value(span.first)));
    }
    if span.last < Span::EVERYTHING.last {
        passing = passing.filter(leads::id.le(value(span.last)));
    }
    passing
}
