//! How many vehicles a list has, and where.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, StoreResult};
use forecourt_vehicles::VehicleFilter;

use super::filter::Question;
use super::list::passing;
use super::parts::{self, Area, Counting, Standing};
use super::span::Span;
use super::{Conn, Db};
use crate::error::store_error;
use crate::schema::vehicle_facts;
use crate::totals::{Known, Parts};

/// How many vehicles there are.
pub(super) async fn total(
    conn: &mut Conn,
    known: Option<&Known<VehicleFilter>>,
    standing: Standing,
    list: &Counted<'_>,
) -> StoreResult<i64> {
    if *list.filter == VehicleFilter::default() {
        return Ok(standing.records);
    }
    match known.filter(|_| list.can_be_remembered()) {
        Some(known) => parts::total(conn, known, standing.writes, list).await,
        None => list.count(conn).await,
    }
}

/// How many vehicles each part has: none, if that could not be remembered.
pub(super) async fn by_part(
    conn: &mut Conn,
    known: Option<&Known<VehicleFilter>>,
    standing: Standing,
    list: &Counted<'_>,
) -> StoreResult<Option<Parts>> {
    if *list.filter == VehicleFilter::default() {
        return parts::of_business(conn, Area::Vehicles, list.business).await.map(Some);
    }
    match known.filter(|_| list.can_be_remembered()) {
        Some(known) => parts::current(conn, Some(known), standing.writes, list).await.map(Some),
        None => Ok(None),
    }
}

/// The vehicles that pass a filter.
pub(super) struct Counted<'a> {
    pub(super) business: BusinessId,
    pub(super) filter: &'a VehicleFilter,
    /// What the filter asks for.
    pub(super) question: &'a Question,
    /// Where they lie.
    pub(super) span: Span,
    /// How many the business has.
    pub(super) vehicles: i64,
}

impl Counted<'_> {
    /// Which leads concern a vehicle is not written in the vehicle.
    const fn can_be_remembered(&self) -> bool {
        self.filter.lead.is_none()
    }

    /// How many there are, if that is known already.
    fn told(&self) -> Option<i64> {
        match self.question.rest.as_slice() {
            _ if self.filter.created.is_some() => None,
            [] => Some(self.question.of_kind),
            [only] => only.of_kind,
            _ => None,
        }
    }
}

impl Counting for Counted<'_> {
    type Filter = VehicleFilter;
    const AREA: Area = Area::Vehicles;

    fn business(&self) -> BusinessId {
        self.business
    }

    fn filter(&self) -> &VehicleFilter {
        self.filter
    }

    fn is_told(&self) -> bool {
        self.told().is_some()
    }

    async fn count(&self, conn: &mut Conn) -> StoreResult<i64> {
        if let Some(total) = self.told() {
            return Ok(total);
        }
        let finder = self.question.finder(self.vehicles);
        let passing = passing(self.business, self.question, finder, self.span);
        passing.count().get_result(conn).await.map_err(store_error)
    }

    async fn by_part(&self, conn: &mut Conn) -> StoreResult<Vec<(i64, i64)>> {
        let part = || parts::part_of("vehicle_facts.id");
        let mut query = vehicle_facts::table
            .group_by(part())
            .select((part(), parts::number()))
            .filter(vehicle_facts::business_id.eq(self.business.get()))
            .into_boxed::<Db>();
        let finder = self.question.finder(self.vehicles);
        for clause in self.question.clauses(self.business, finder, self.span) {
            query = query.filter(clause);
        }
        if self.span.first > Span::EVERYTHING.first {
            query = query.filter(vehicle_facts::id.ge(self.span.first));
        }
        if self.span.last < Span::EVERYTHING.last {
            query = query.filter(vehicle_facts::id.le(self.span.last));
        }
        query.load(conn).await.map_err(store_error)
    }

    async fn in_span(&self, conn: &mut Conn, span: Span) -> StoreResult<i64> {
        let passing = passing(self.business, self.question, None, self.span.within(span));
        passing.count().get_result(conn).await.map_err(store_error)
    }
}
