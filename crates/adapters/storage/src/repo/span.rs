//! Where a list lies, by ids.

use std::ops::RangeInclusive;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, Position, Range, StoreResult};
use forecourt_leads::LeadFilter;
use forecourt_vehicles::VehicleFilter;

use super::Conn;
use crate::error::store_error;
use crate::schema::{leads, vehicles};

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

    /// The part of it where a page begins: it is empty, if that is behind its end.
    pub(super) fn before(self, position: &Position) -> Self {
        let last = match position {
            Position::Number(_) => self.last,
            Position::After(cursor) => self.last.min(cursor.id().saturating_sub(1)),
        };
        Self { last, ..self }
    }

    /// What lies in both: it is empty, if nothing does.
    pub(super) fn within(self, other: Self) -> Self {
        Self {
            first: self.first.max(other.first),
            last: self.last.min(other.last),
        }
    }

    pub(super) const fn is_empty(self) -> bool {
        self.last < self.first
    }

    pub(super) const fn ids(self) -> RangeInclusive<i64> {
        self.first..=self.last
    }
}

macro_rules! by_stamps {
    ($of:ident, $filter:ty, $records:ident) => {
        impl Span {
            /// The ids that the filter's stamps leave: none, if none.
            ///
            /// A record is never created before one that has a lower id, nor updated before it is created. So a range of
            /// `created` is a range of ids, whatever else is filtered by, and a bound to `updated` from above is one to ids
            /// as well.
            pub(super) async fn $of(
                conn: &mut Conn,
                business: BusinessId,
                filter: &$filter,
            ) -> StoreResult<Option<Self>> {
                let Range { from, to } = filter.created.unwrap_or(Range { from: None, to: None });
                let updated_to = filter.updated.and_then(|updated| updated.to);
                let of_business = $records::table
                    .filter($records::business_id.eq(business.get()))
                    .select($records::id)
                    .limit(1);
                let first = match from {
                    Some(from) => of_business
                        .filter($records::created.ge(from.epoch_seconds()))
                        .order(($records::created.asc(), $records::id.asc()))
                        .get_result(conn)
                        .await
                        .optional()
                        .map_err(store_error)?,
                    None => Some(Self::EVERYTHING.first),
                };
                let last = match [to, updated_to].into_iter().flatten().min() {
                    Some(to) => of_business
                        .filter($records::created.le(to.epoch_seconds()))
                        .order(($records::created.desc(), $records::id.desc()))
                        .get_result(conn)
                        .await
                        .optional()
                        .map_err(store_error)?,
                    None => Some(Self::EVERYTHING.last),
                };
                let span = first.zip(last).map(|(first, last)| Self { first, last });
                Ok(span.filter(|span| !span.is_empty()))
            }
        }
    };
}

by_stamps!(of_leads, LeadFilter, leads);
by_stamps!(of_vehicles, VehicleFilter, vehicles);
