//! How many leads a list has.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, Range, StoreResult, Timestamp};
use forecourt_leads::LeadFilter;

use super::counts::{Axis, Changes, Parts};
use super::filter::{Approach, conditions};
use super::list::passing;
use super::parts::{self, Area, Counting, Standing};
use super::span::Span;
use super::{Conn, Db, counts, search};
use crate::error::store_error;
use crate::schema::leads;
use crate::totals::Known;

/// How many leads pass `filter`, all of which lie in `span`.
pub(super) async fn total(
    conn: &mut Conn,
    known: Option<&Known<LeadFilter>>,
    standing: Standing,
    business: BusinessId,
    filter: &LeadFilter,
    span: Option<Span>,
) -> StoreResult<i64> {
    let Some(span) = span else {
        return Ok(0);
    };
    if *filter == LeadFilter::default() {
        return Ok(standing.records);
    }
    let list = List {
        business,
        filter,
        span,
        leads: standing.records,
    };
    // Which vehicles a lead concerns is not written in the lead.
    match known.filter(|_| filter.vehicle.is_none()) {
        Some(known) => parts::total(conn, known, standing.writes, &list).await,
        None => list.count(conn).await,
    }
}

/// The leads that pass a filter.
struct List<'a> {
    business: BusinessId,
    filter: &'a LeadFilter,
    /// Where they lie.
    span: Span,
    /// How many the business has.
    leads: i64,
}

impl Counting for List<'_> {
    type Filter = LeadFilter;
    const AREA: Area = Area::Leads;

    fn business(&self) -> BusinessId {
        self.business
    }

    fn filter(&self) -> &LeadFilter {
        self.filter
    }

    fn is_told(&self) -> bool {
        counts::cover(self.filter)
    }

    async fn count(&self, conn: &mut Conn) -> StoreResult<i64> {
        let (business, filter) = (self.business, self.filter);
        if counts::cover(filter) {
            let counted = match filter.updated {
                None => by_reference(conn, business, filter, self.span).await?,
                Some(updated) if filter.created.is_none() => self.by_change(conn, updated).await?,
                Some(_) => None,
            };
            if let Some(total) = counted {
                return Ok(total);
            }
        }
        self.one_by_one(conn, filter, self.span).await
    }

    async fn by_part(&self, conn: &mut Conn) -> StoreResult<Vec<(i64, i64)>> {
        let part = || parts::part_of("leads.id");
        let mut query = leads::table
            .group_by(part())
            .select((part(), parts::number()))
            .filter(leads::business_id.eq(self.business.get()))
            .into_boxed::<Db>();
        let found = search::found_by_index(conn, self.filter, self.leads).await?;
        for condition in conditions(self.business, self.filter, Approach::Index)
            .into_iter()
            .chain(found)
        {
            query = query.filter(condition);
        }
        if self.span.first > Span::EVERYTHING.first {
            query = query.filter(leads::id.ge(self.span.first));
        }
        if self.span.last < Span::EVERYTHING.last {
            query = query.filter(leads::id.le(self.span.last));
        }
        query.load(conn).await.map_err(store_error)
    }

    async fn in_span(&self, conn: &mut Conn, span: Span) -> StoreResult<i64> {
        let passing = passing(self.business, self.filter, self.span.within(span), Approach::Lead);
        passing.count().get_result(conn).await.map_err(store_error)
    }
}

impl List<'_> {
    /// Counts what passes of the parts of a range that are not whole; none if the range has no whole part.
    async fn by_change(&self, conn: &mut Conn, updated: Range<Timestamp>) -> StoreResult<Option<i64>> {
        let Some(Changes { earlier, whole, later }) = Changes::of(updated) else {
            return Ok(None);
        };
        let mut total = counts::sum(conn, self.business, self.filter, Axis::Updated, whole).await?;
        for edge in [earlier, later].into_iter().flatten() {
            let filter = LeadFilter {
                updated: Some(edge),
                ..self.filter.clone()
            };
            total += self.one_by_one(conn, &filter, Span::EVERYTHING).await?;
        }
        Ok(Some(total))
    }

    async fn one_by_one(&self, conn: &mut Conn, filter: &LeadFilter, span: Span) -> StoreResult<i64> {
        let mut passing = passing(self.business, filter, span, Approach::Index);
        if let Some(found) = search::found_by_index(conn, filter, self.leads).await? {
            passing = passing.filter(found);
        }
        passing.count().get_result(conn).await.map_err(store_error)
    }
}

/// Counts what passes of the parts of a span that are not whole; none if the span has no whole part.
async fn by_reference(
    conn: &mut Conn,
    business: BusinessId,
    filter: &LeadFilter,
    span: Span,
) -> StoreResult<Option<i64>> {
    if span == Span::EVERYTHING {
        return counts::sum(conn, business, filter, Axis::Whole, 0..=0).await.map(Some);
    }
    let Some(Parts { older, whole, newer }) = Parts::of(conn, business, span).await? else {
        return Ok(None);
    };
    let mut total = counts::sum(conn, business, filter, Axis::Reference, whole).await?;
    for edge in [older, newer].into_iter().flatten() {
        total += in_span(conn, business, filter, edge).await?;
    }
    Ok(Some(total))
}

/// Counts the leads of a span that pass a filter which searches for no text.
pub(super) async fn in_span(
    conn: &mut Conn,
    business: BusinessId,
    filter: &LeadFilter,
    span: Span,
) -> StoreResult<i64> {
    let passing = passing(business, filter, span, Approach::Index);
    passing.count().get_result(conn).await.map_err(store_error)
}
