//! How many leads a list has.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, StoreResult};
use forecourt_leads::LeadFilter;

use super::filter::Approach;
use super::list::passing;
use super::span::Span;
use super::{Conn, search};
use crate::error::store_error;
use crate::schema::{business_counters, leads};
use crate::totals::Totals;

/// How things stand with a business.
///
/// It is read before anything else of a list: if a lead is written in the meantime, what is then counted is taken as
/// outdated though it is not, and never the other way round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// How many leads it has.
    leads: i64,
    /// How often any of them was written.
    writes: i64,
}

impl Standing {
    pub(super) async fn of(conn: &mut Conn, business: BusinessId) -> StoreResult<Self> {
        let row = business_counters::table
            .find(business.get())
            .select((business_counters::leads, business_counters::lead_writes));
        let row: Option<(i64, i64)> = row.get_result(conn).await.optional().map_err(store_error)?;
        let (leads, writes) = row.unwrap_or_default();
        Ok(Self { leads, writes })
    }

    /// How many leads pass `filter`, all of which lie in `span`. They are counted once, as long as no lead is written.
    pub(super) async fn total(
        self,
        conn: &mut Conn,
        known: Option<&Totals>,
        business: BusinessId,
        filter: &LeadFilter,
        span: Option<Span>,
    ) -> StoreResult<i64> {
        let Some(span) = span else {
            return Ok(0);
        };
        if *filter == LeadFilter::default() {
            return Ok(self.leads);
        }
        // Which vehicles a lead concerns is not written in the lead.
        let Some(known) = known.filter(|_| filter.vehicle.is_none()) else {
            return self.count(conn, business, filter, span).await;
        };
        if let Some(total) = known.get(business, filter, self.writes) {
            return Ok(total);
        }
        let total = self.count(conn, business, filter, span).await?;
        known.put(business, filter, self.writes, total);
        Ok(total)
    }

    async fn count(self, conn: &mut Conn, business: BusinessId, filter: &LeadFilter, span: Span) -> StoreResult<i64> {
        let mut passing = passing(business, filter, Approach::Index);
        if let Some(found) = search::found_by_index(conn, filter, self.leads).await? {
            passing = passing.filter(found);
        }
        // Bounds that bound nothing would tempt the planner to read leads by them.
        if span.first > i64::MIN {
            passing = passing.filter(leads::id.ge(span.first));
        }
        if span.last < i64::MAX {
            passing = passing.filter(leads::id.le(span.last));
        }
        passing.count().get_result(conn).await.map_err(store_error)
    }
}
