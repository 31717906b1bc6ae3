//! Where a list lies, by ids.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, Position, Range, StoreResult, Timestamp};
use forecourt_vehicles::VehicleFilter;

use super::Conn;
use crate::error::store_error;
use crate::schema::vehicles;

/// A range of ids, both bounds inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Span {
    pub(super) const EVERYTHING: Self = Self {
        first: i64::MIN,
        last: i64::MAX,
    };

    /// The ids that the filter's stamps leave: none, if none.
    ///
    /// A vehicle is never created before one that has a lower id, nor updated before it is created. So a range of `created` is
    /// a range of ids, whatever else is filtered by, and a bound to `updated` from above is one to ids as well.
    pub(super) async fn of(conn: &mut Conn, business: BusinessId, filter: &VehicleFilter) -> StoreResult<Option<Self>> {
        let Range { from, to } = filter.created.unwrap_or(Range { from: None, to: None });
        let updated_to = filter.updated.and_then(|updated| updated.to);
        let to = [to, updated_to].into_iter().flatten().min();
        let first = match from {
            Some(from) => first_created(conn, business, from).await?,
            None => Some(Self::EVERYTHING.first),
        };
        let last = match to {
            Some(to) => last_created(conn, business, to).await?,
            None => Some(Self::EVERYTHING.last),
        };
        let span = first.zip(last).map(|(first, last)| Self { first, last });
        Ok(span.filter(|span| !span.is_empty()))
    }

    /// The part of it where a page begins: none, if that is behind its end.
    pub(super) fn before(self, position: &Position) -> Option<Self> {
        let last = match position {
            Position::Number(_) => self.last,
            Position::After(cursor) => self.last.min(cursor.id().saturating_sub(1)),
        };
        Some(Self { last, ..self }).filter(|span| !span.is_empty())
    }

    fn is_empty(self) -> bool {
        self.last < self.first
    }
}

/// The first vehicle that was created at that moment or later.
async fn first_created(conn: &mut Conn, business: BusinessId, from: Timestamp) -> StoreResult<Option<i64>> {
    let query = vehicles::table
        .filter(vehicles::business_id.eq(business.get()))
        .filter(vehicles::created.ge(from.epoch_seconds()))
        .order((vehicles::created.asc(), vehicles::id.asc()))
        .limit(1)
        .select(vehicles::id);
    query.get_result(conn).await.optional().map_err(store_error)
}

/// The last vehicle that was created at that moment or earlier.
async fn last_created(conn: &mut Conn, business: BusinessId, to: Timestamp) -> StoreResult<Option<i64>> {
    let query = vehicles::table
        .filter(vehicles::business_id.eq(business.get()))
        .filter(vehicles::created.le(to.epoch_seconds()))
        .order((vehicles::created.desc(), vehicles::id.desc()))
        .limit(1)
        .select(vehicles::id);
    query.get_result(conn).await.optional().map_err(store_error)
}
