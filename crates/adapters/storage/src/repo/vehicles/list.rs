//! Pages of a list, newest first.
//!
//! | what fewest vehicles have | how the page is found |
//! | --- | --- |
//! | a text or a number | its index is read from its end, no further than the page goes |
//! | one of several texts, a number in a range, a channel, a tag | among the newest vehicles, where a page is soon full if many have it; if few do, they are found by its index and sorted; else all vehicles are looked at |
//! | a channel or a tag, and nothing else | where these are noted, as from an index |
//! | several things, each of which is common | all vehicles are looked at from the newest on, until the page is full |
//!
//! Where many vehicles come before a page and behind it, [`parts`] tells in which parts of the ids it lies, and only those are
//! looked at.
//!
//! `created` is a range of ids, since stamps never run against ids. What else is asked for is looked at vehicle by vehicle.

use std::cmp::Reverse;

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, Page, PageRequest, Position, StoreResult};
use forecourt_vehicles::{Vehicle, VehicleFilter, VehiclePreview};

use super::filter::{Asked, Question, Test};
use super::parts::{self, Area, Standing};
use super::span::Span;
use super::total::{Counted, by_part, total};
use super::{Conn, Db};
use crate::error::store_error;
use crate::models::{VehiclePreviewRow, VehicleRow};
use crate::schema::{vehicle_channels, vehicle_facts, vehicle_tags, vehicles};
use crate::totals::{Known, Parts};

/// Among how many of the newest vehicles a page is looked for first.
const NEAR: i64 = 4096;

/// A page that has no more vehicles before it is not looked for by parts.
const FAR: i64 = 500;

/// What more than one in so many vehicles have is not sorted: all of them are looked at as soon.
const COMMON: i64 = 8;

/// A page of the vehicles that pass `filter`.
pub(super) async fn page(
    conn: &mut Conn,
    totals: Option<&Known<VehicleFilter>>,
    business: BusinessId,
    filter: &VehicleFilter,
    request: &PageRequest,
) -> StoreResult<Page<Vehicle>> {
    let Page { items, next, total } = find(conn, totals, business, filter, request).await?;
    let items = vehicles_of(conn, business, items).await?;
    Ok(Page { items, next, total })
}

/// The same page in the simple view.
pub(super) async fn previews(
    conn: &mut Conn,
    totals: Option<&Known<VehicleFilter>>,
    business: BusinessId,
    filter: &VehicleFilter,
    request: &PageRequest,
) -> StoreResult<Page<VehiclePreview>> {
    let Page { items, next, total } = find(conn, totals, business, filter, request).await?;
    let items = previews_of(conn, business, items).await?;
    Ok(Page { items, next, total })
}

/// The same page, of ids.
async fn find(
    conn: &mut Conn,
    totals: Option<&Known<VehicleFilter>>,
    business: BusinessId,
    filter: &VehicleFilter,
    request: &PageRequest,
) -> StoreResult<Page<i64>> {
    // In this order: see `Standing`.
    let standing = Standing::of(conn, business, Area::Vehicles).await?;
    let span = Span::of_vehicles(conn, business, filter).await?;
    let question = match span {
        Some(_) => Question::of(conn, business, filter).await?,
        None => None,
    };
    let numbered = matches!(request.position, Position::Number(_));
    let Some((span, question)) = span.zip(question) else {
        return Ok(Page {
            items: Vec::new(),
            next: None,
            total: numbered.then_some(0),
        });
    };
    let counted = Counted {
        business,
        filter,
        question: &question,
        span,
        vehicles: standing.records,
    };
    let total = if numbered {
        Some(self::total(conn, totals, standing, &counted).await?)
    } else {
        None
    };
    let offset = request.offset().unwrap_or_default();
    let ids = match span.before(&request.position) {
        span if !span.is_empty() && total.is_none_or(|total| offset < total) => {
            let list = List {
                business,
                question: &question,
                span,
                vehicles: standing.records,
                total,
                offset,
                limit: request.wanted(),
            };
            let parts = if list.is_far() {
                by_part(conn, totals, standing, &counted).await?
            } else {
                None
            };
            match parts {
                Some(parts) => list.located(conn, &parts).await?,
                None => list.ids(conn).await?,
            }
        }
        _ => Vec::new(),
    };
    Ok(Page::of(ids, request, total, |id| *id))
}

/// The vehicles of these ids, newest first.
async fn vehicles_of(conn: &mut Conn, business: BusinessId, ids: Vec<i64>) -> StoreResult<Vec<Vehicle>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let query = rows_of(business, ids).select(VehicleRow::as_select());
    let rows: Vec<VehicleRow> = query.load(conn).await.map_err(store_error)?;
    rows.into_iter().map(Vehicle::try_from).collect()
}

/// The same in the simple view. Vehicles that have no preview of this release's are read themselves.
async fn previews_of(conn: &mut Conn, business: BusinessId, ids: Vec<i64>) -> StoreResult<Vec<VehiclePreview>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let query = rows_of(business, ids).select(VehiclePreviewRow::as_select());
    let rows: Vec<VehiclePreviewRow> = query.load(conn).await.map_err(store_error)?;
    let mut previews = Vec::with_capacity(rows.len());
    let mut stale = Vec::new();
    for row in rows {
        match row.into_preview() {
            Ok(preview) => previews.push(preview),
            Err(id) => stale.push(id),
        }
    }
    if !stale.is_empty() {
        let read = vehicles_of(conn, business, stale).await?;
        previews.extend(read.into_iter().map(VehiclePreview::from));
        previews.sort_unstable_by_key(|preview| Reverse(preview.id()));
    }
    Ok(previews)
}

/// The rows of these ids, newest first. A vehicle that was deleted meanwhile is none.
///
/// PostgreSQL plans this once by itself (see [`crate::settled`]) unless the page is small: of an array that it does not know it
/// expects ten elements, so that a plan for the ids of a usual page promises to cost more.
#[diesel::dsl::auto_type]
fn rows_of(business: BusinessId, ids: Vec<i64>) -> _ {
    let business: i64 = business.get();
    vehicles::table
        .filter(vehicles::business_id.eq(business))
        .filter(vehicles::id.eq_any(ids))
        .filter(vehicles::deleted.eq(false))
        .order((vehicles::business_id.desc(), vehicles::id.desc()))
}

/// A query of vehicles.
type Passing = vehicle_facts::BoxedQuery<'static, Db>;

/// The part of a list that is wanted.
struct List<'a> {
    business: BusinessId,
    question: &'a Question,
    span: Span,
    /// How many vehicles the business has.
    vehicles: i64,
    /// How many the whole list has; known if the page is not its beginning.
    total: Option<i64>,
    offset: i64,
    limit: i64,
}

impl List<'_> {
    async fn ids(&self, conn: &mut Conn) -> StoreResult<Vec<i64>> {
        if let Some(only) = self.question.only() {
            match &only.test {
                Test::Channel(channel) => return self.published(conn, channel).await,
                Test::TagName(name) => return self.tagged(conn, name).await,
                _ => {}
            }
        }
        let finder = match self.question.finder(self.vehicles) {
            Some(finder) if !finder.is_in_order() => finder,
            finder => return self.in_order(conn, finder, self.span).await,
        };
        if let Some(near) = self.near(conn).await? {
            let ids = self.in_order(conn, None, near).await?;
            if i64::try_from(ids.len()).is_ok_and(|found| found == self.limit) {
                return Ok(ids);
            }
        }
        if finder.vehicles > self.vehicles / COMMON {
            return self.in_order(conn, None, self.span).await;
        }
        self.sorted(conn, finder).await
    }

    /// Whether many vehicles would be looked at, or many entries of an index read, before the page is reached from either end.
    fn is_far(&self) -> bool {
        let Some(total) = self.total else {
            return false;
        };
        let before = self.offset.min(total - self.offset);
        let is_in_order = self
            .question
            .only()
            .is_some_and(|only| only.is_in_order() || matches!(only.test, Test::Channel(_) | Test::TagName(_)));
        if is_in_order {
            return before > NEAR;
        }
        let looked_at = before.saturating_mul(self.vehicles) / total.max(1);
        before > FAR && looked_at > 2 * FAR
    }

    /// Looks at the vehicles of the parts of ids that the page lies in.
    async fn located(self, conn: &mut Conn, parts: &Parts) -> StoreResult<Vec<i64>> {
        let (located, offset) = parts::locate(parts, self.offset, self.limit);
        let list = Self {
            span: self.span.within(located),
            total: None,
            offset,
            ..self
        };
        list.in_order(conn, None, list.span).await
    }

    /// Those that are published on a channel, which is all that is asked for.
    async fn published(&self, conn: &mut Conn, channel: &str) -> StoreResult<Vec<i64>> {
        let published = vehicle_channels::table
            .filter(vehicle_channels::business_id.eq(self.business.get()))
            .filter(vehicle_channels::channel.eq(channel))
            .filter(vehicle_channels::vehicle_id.between(self.span.first, self.span.last))
            .select(vehicle_channels::vehicle_id);
        match self.at_end() {
            None => {
                let query = published
                    .order(vehicle_channels::vehicle_id.desc())
                    .limit(self.limit)
                    .offset(self.offset);
                query.load(conn).await.map_err(store_error)
            }
            Some((limit, offset)) => {
                let query = published
                    .order(vehicle_channels::vehicle_id.asc())
                    .limit(limit)
                    .offset(offset);
                reversed(query.load(conn).await)
            }
        }
    }

    /// Those that carry a tag, which is all that is asked for.
    async fn tagged(&self, conn: &mut Conn, name: &str) -> StoreResult<Vec<i64>> {
        let tagged = vehicle_tags::table
            .filter(vehicle_tags::business_id.eq(self.business.get()))
            .filter(vehicle_tags::name.eq(name))
            .filter(vehicle_tags::vehicle_id.between(self.span.first, self.span.last))
            .select(vehicle_tags::vehicle_id);
        match self.at_end() {
            None => {
                let query = tagged
                    .order(vehicle_tags::vehicle_id.desc())
                    .limit(self.limit)
                    .offset(self.offset);
                query.load(conn).await.map_err(store_error)
            }
            Some((limit, offset)) => {
                let query = tagged.order(vehicle_tags::vehicle_id.asc()).limit(limit).offset(offset);
                reversed(query.load(conn).await)
            }
        }
    }

    /// How many vehicles to read from the end of the list, and how many to leave out there, if that is nearer.
    fn at_end(&self) -> Option<(i64, i64)> {
        let behind = self.total? - self.offset;
        let limit = self.limit.min(behind);
        (behind < self.offset).then_some((limit, behind - limit))
    }

    /// Reads an index in the order of the list until the page is full, from the nearer end of the list.
    async fn in_order(&self, conn: &mut Conn, finder: Option<&Asked>, span: Span) -> StoreResult<Vec<i64>> {
        let passing = passing(self.business, self.question, finder, span).select(vehicle_facts::id);
        match self.at_end() {
            None => {
                let query = passing
                    .order((vehicle_facts::business_id.desc(), vehicle_facts::id.desc()))
                    .limit(self.limit)
                    .offset(self.offset);
                query.load(conn).await.map_err(store_error)
            }
            Some((limit, offset)) => {
                let query = passing
                    .order((vehicle_facts::business_id.asc(), vehicle_facts::id.asc()))
                    .limit(limit)
                    .offset(offset);
                reversed(query.load(conn).await)
            }
        }
    }

    /// All that pass, found by an index and sorted.
    async fn sorted(&self, conn: &mut Conn, finder: &Asked) -> StoreResult<Vec<i64>> {
        // Not the id itself: else it might seem wise to walk all vehicles in its order.
        let id = vehicle_facts::id + 0;
        let query: vehicle_facts::BoxedQuery<'static, Db, BigInt> =
            passing(self.business, self.question, Some(finder), Span::EVERYTHING)
                .filter(id.ge(self.span.first))
                .filter(id.le(self.span.last))
                .order(id.desc())
                .limit(self.limit)
                .offset(self.offset)
                .select(vehicle_facts::id);
        query.load(conn).await.map_err(store_error)
    }

    /// The part of the span that has its [`NEAR`] newest vehicles: none if the page cannot be there, or there are few more.
    async fn near(&self, conn: &mut Conn) -> StoreResult<Option<Span>> {
        if self.vehicles <= 2 * NEAR || self.offset + self.limit > NEAR {
            return Ok(None);
        }
        let query = vehicle_facts::table
            .filter(vehicle_facts::business_id.eq(self.business.get()))
            .filter(vehicle_facts::id.le(self.span.last))
            .order((vehicle_facts::business_id.desc(), vehicle_facts::id.desc()))
            .limit(1)
            .offset(NEAR)
            .select(vehicle_facts::id);
        let first: Option<i64> = query.get_result(conn).await.optional().map_err(store_error)?;
        let near = first.map(|first| Span {
            first: self.span.first.max(first),
            last: self.span.last,
        });
        Ok(near.filter(|near| near.first > self.span.first))
    }
}

/// Ids that were read from the end of the list.
fn reversed(ids: QueryResult<Vec<i64>>) -> StoreResult<Vec<i64>> {
    let mut ids = ids.map_err(store_error)?;
    ids.reverse();
    Ok(ids)
}

/// The vehicles of a business that lie in a span and have what is asked for, found by one of these things.
pub(super) fn passing(business: BusinessId, question: &Question, finder: Option<&Asked>, span: Span) -> Passing {
    let mut passing = vehicle_facts::table
        .filter(vehicle_facts::business_id.eq(business.get()))
        .into_boxed();
    for clause in question.clauses(business, finder, span) {
        passing = passing.filter(clause);
    }
    // A bound that bounds nothing might tempt a planner to go by it.
    if span.first > Span::EVERYTHING.first {
        passing = passing.filter(vehicle_facts::id.ge(span.first));
    }
    if span.last < Span::EVERYTHING.last {
        passing = passing.filter(vehicle_facts::id.le(span.last));
    }
    passing
}
