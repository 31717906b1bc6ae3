//! How many vehicles a list has.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, StoreResult};
use forecourt_vehicles::VehicleFilter;

use super::Conn;
use super::filter::Question;
use super::list::passing;
use super::span::Span;
use crate::error::store_error;
use crate::schema::business_counters;
use crate::totals::Totals;

/// How things stand with a business.
///
/// It is read before anything else of a list: if a vehicle is written in the meantime, what is then counted is taken as
/// outdated though it is not, and never the other way round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// How many vehicles it has.
    pub(super) vehicles: i64,
    /// How often any of them was written.
    writes: i64,
}

impl Standing {
    pub(super) async fn of(conn: &mut Conn, business: BusinessId) -> StoreResult<Self> {
        let row = business_counters::table
            .find(business.get())
            .select((business_counters::vehicles, business_counters::vehicle_writes));
        let row: Option<(i64, i64)> = row.get_result(conn).await.optional().map_err(store_error)?;
        let (vehicles, writes) = row.unwrap_or_default();
        Ok(Self { vehicles, writes })
    }

    /// How many vehicles pass `filter`, all of which lie in `span`. They are counted once, as long as no vehicle is written.
    pub(super) async fn total(
        self,
        conn: &mut Conn,
        known: Option<&Totals<VehicleFilter>>,
        business: BusinessId,
        filter: &VehicleFilter,
        question: &Question,
        span: Span,
    ) -> StoreResult<i64> {
        if *filter == VehicleFilter::default() {
            return Ok(self.vehicles);
        }
        // Which leads concern a vehicle is not written in the vehicle.
        let known = known.filter(|_| filter.lead.is_none());
        if let Some(total) = known.and_then(|known| known.get(business, filter, self.writes)) {
            return Ok(total);
        }
        let total = self.count(conn, business, filter, question, span).await?;
        if let Some(known) = known {
            known.put(business, filter, self.writes, total);
        }
        Ok(total)
    }

    async fn count(
        self,
        conn: &mut Conn,
        business: BusinessId,
        filter: &VehicleFilter,
        question: &Question,
        span: Span,
    ) -> StoreResult<i64> {
        if filter.created.is_none() {
            match question.rest.as_slice() {
                [] => return Ok(question.of_kind),
                [only] => {
                    if let Some(total) = only.of_kind {
                        return Ok(total);
                    }
                }
                _ => {}
            }
        }
        let passing = passing(business, question, question.finder(self.vehicles), span);
        passing.count().get_result(conn).await.map_err(store_error)
    }
}
