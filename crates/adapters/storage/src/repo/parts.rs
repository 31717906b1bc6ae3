//! How many records a list has, and in which parts of 4,096 ids. What was counted of it is counted again only in the parts in
//! which something has been written since.
//!
//! The database marks each part with the number of the latest write there, in `record_parts`: see the migration that makes it.
//! Why nothing is missed, if W is the number of writes that a count is remembered with:
//!
//! - Whoever writes records numbers the write first, in the row of the business's counters, which is locked until the commit. So
//!   writes are committed in the order of their numbers, and who reads W will see all that was written until W.
//! - W is read before anything is counted. So each count has all writes until W. It may have some later ones as well.
//! - The transaction of a later write marks its part with a number above W. So what was counted of a part without such a mark
//!   still is as many, whatever had been seen of it; and each part that has one is counted again.

use std::future::Future;
use std::time::Instant;

use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, StoreResult};

use super::Conn;
use super::span::Span;
use crate::error::store_error;
use crate::schema::{business_counters, record_parts};
use crate::totals::{Counted, Filter, Known, Parts};

/// How many ids a part has, as a power of two: see the migration.
const BITS: u32 = 12;
/// What takes no more effort is counted at once each time.
const SOON: i64 = 1 << BITS;
/// More parts than this are not counted one by one.
const MANY_PARTS: usize = 32;
/// To look at a record takes as much effort as to read so many entries of an index.
const LOOK: i64 = 4;
/// How many entries of an index are read in a microsecond.
const ENTRIES: u128 = 4;

/// What is divided into parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Area {
    Leads = 1,
    Contacts = 2,
    /// Those that lists show.
    Vehicles = 3,
}

/// How things stand with a business's records of one area.
///
/// It is read before anything else of a list: if a record is written in the meantime, what is then counted is taken as outdated
/// though it is not, and never the other way round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// How many there are.
    pub(super) records: i64,
    /// How often any of them was written.
    pub(super) writes: i64,
}

impl Standing {
    pub(super) async fn of(conn: &mut Conn, business: BusinessId, area: Area) -> StoreResult<Self> {
        type Pair = (i64, i64);
        let row = business_counters::table.find(business.get()).select((
            (business_counters::leads, business_counters::lead_writes),
            (business_counters::contacts, business_counters::contact_writes),
            (business_counters::vehicles, business_counters::vehicle_writes),
        ));
        let row: Option<(Pair, Pair, Pair)> = row.get_result(conn).await.optional().map_err(store_error)?;
        let (leads, contacts, vehicles) = row.unwrap_or_default();
        let (records, writes) = match area {
            Area::Leads => leads,
            Area::Contacts => contacts,
            Area::Vehicles => vehicles,
        };
        Ok(Self { records, writes })
    }
}

/// A list, and how its records are counted.
pub(super) trait Counting: Sync {
    type Filter: Filter + Sync;
    const AREA: Area;

    fn business(&self) -> BusinessId;

    fn filter(&self) -> &Self::Filter;

    /// Whether something else tells how many there are, so that hardly any is counted.
    fn is_told(&self) -> bool {
        false
    }

    /// All of them.
    fn count(&self, conn: &mut Conn) -> impl Future<Output = StoreResult<i64>> + Send;

    /// All of them, by part: its number, and how many there are, as far as there are any.
    fn by_part(&self, conn: &mut Conn) -> impl Future<Output = StoreResult<Vec<(i64, i64)>>> + Send;

    /// Those in a span of ids, without a look at what lies outside.
    fn in_span(&self, conn: &mut Conn, span: Span) -> impl Future<Output = StoreResult<i64>> + Send;
}

/// The part that a column of ids tells.
pub(super) fn part_of(id: &str) -> SqlLiteral<BigInt> {
    sql(&format!("({id} >> {BITS})"))
}

/// The number of records in a group.
pub(super) fn number() -> SqlLiteral<BigInt> {
    sql("count(*)")
}

/// How many records the list has. They are counted once, as long as nothing is written; what took long to count is counted by
/// parts from the second time on.
pub(super) async fn total<C: Counting>(
    conn: &mut Conn,
    known: &Known<C::Filter>,
    writes: i64,
    list: &C,
) -> StoreResult<i64> {
    let (business, filter) = (list.business(), list.filter());
    let before = known.totals.get(business, filter);
    let counted = match before {
        Some(before) if holds(conn, &before, writes, list).await? => return Ok(before.what),
        Some(before) if before.effort > SOON => {
            let parts = current(conn, Some(known), writes, list).await?;
            Counted {
                what: parts.total(),
                writes,
                effort: before.effort,
            }
        }
        _ => {
            let started = Instant::now();
            let what = list.count(conn).await?;
            Counted {
                what,
                writes,
                effort: if list.is_told() { 0 } else { effort(what, started) },
            }
        }
    };
    known.totals.put(business, filter, counted);
    Ok(counted.what)
}

/// Where its records are, likewise.
pub(super) async fn current<C: Counting>(
    conn: &mut Conn,
    known: Option<&Known<C::Filter>>,
    writes: i64,
    list: &C,
) -> StoreResult<Parts> {
    let (business, filter) = (list.business(), list.filter());
    let known = known.map(|known| &known.parts);
    let before = known.and_then(|known| known.get(business, filter));
    let again = match before {
        Some(before) if holds(conn, &before, writes, list).await? => return Ok(before.what),
        Some(before) if before.writes < writes => counted_again(conn, &before, list).await?,
        _ => None,
    };
    let (what, effort) = match again {
        Some(again) => again,
        None => {
            let started = Instant::now();
            let parts = Parts::new(list.by_part(conn).await?)?;
            let effort = effort(parts.total(), started);
            (parts, effort)
        }
    };
    if let Some(known) = known {
        let what = what.clone();
        known.put(business, filter, Counted { what, writes, effort });
    }
    Ok(what)
}

/// Whether what was counted holds for who has read that there were `writes`.
async fn holds<T: Sync, C: Counting>(
    conn: &mut Conn,
    counted: &Counted<T>,
    writes: i64,
    list: &C,
) -> StoreResult<bool> {
    if counted.writes <= writes {
        return Ok(counted.writes == writes);
    }
    // Somebody has counted it since, unless another server that is read from lags behind the one where it was counted.
    let now = Standing::of(conn, list.business(), C::AREA).await?;
    Ok(counted.writes <= now.writes)
}

/// The parts with those counted again in which something was written since, and the effort of counting all; none, if it takes
/// no longer to count all.
async fn counted_again<C: Counting>(
    conn: &mut Conn,
    before: &Counted<Parts>,
    list: &C,
) -> StoreResult<Option<(Parts, i64)>> {
    let written: Vec<(i64, i64)> = record_parts::table
        .filter(record_parts::business_id.eq(list.business().get()))
        .filter(record_parts::area.eq(C::AREA as i32))
        .filter(record_parts::writes.gt(before.writes))
        .select((record_parts::part, record_parts::records))
        .load(conn)
        .await
        .map_err(store_error)?;
    let records: i64 = written.iter().map(|(_, records)| records).sum();
    if written.len() > MANY_PARTS || records.saturating_mul(LOOK) > before.effort {
        return Ok(None);
    }
    let mut counts = Vec::with_capacity(written.len());
    for (part, _) in written {
        counts.push((part, list.in_span(conn, span(part)).await?));
    }
    Ok(Some((before.what.with(counts)?, before.effort)))
}

/// The effort of having counted so many records since then: some are found without being counted.
fn effort(records: i64, since: Instant) -> i64 {
    let entries = since.elapsed().as_micros().saturating_mul(ENTRIES);
    records.max(i64::try_from(entries).unwrap_or(i64::MAX))
}

/// Where all records of a business are.
pub(super) async fn of_business(conn: &mut Conn, area: Area, business: BusinessId) -> StoreResult<Parts> {
    let parts: Vec<(i64, i64)> = record_parts::table
        .filter(record_parts::business_id.eq(business.get()))
        .filter(record_parts::area.eq(area as i32))
        .select((record_parts::part, record_parts::records))
        .load(conn)
        .await
        .map_err(store_error)?;
    Parts::new(parts)
}

/// The ids of a part.
const fn span(part: i64) -> Span {
    Span {
        first: part << BITS,
        last: ((part + 1) << BITS) - 1,
    }
}

/// Where `limit` records of a list lie that `offset` others come before: a span that has them, and how many in it come before
/// them. It is empty, if the list has no more than those.
pub(super) fn locate(parts: &Parts, offset: i64, limit: i64) -> (Span, i64) {
    let mut located = Span::EVERYTHING;
    let mut left = offset;
    // None behind the page, unless the parts below say otherwise.
    let mut wanted = i64::MAX;
    for (part, records) in parts.iter() {
        if wanted == i64::MAX {
            if records <= left {
                left -= records;
                continue;
            }
            located.last = span(part).last;
            wanted = left + limit;
        }
        wanted -= records;
        if wanted <= 0 {
            located.first = span(part).first;
            break;
        }
    }
    if wanted == i64::MAX {
        located = Span { first: 0, last: -1 };
    }
    (located, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_located_by_what_the_parts_have() {
        let parts = Parts::new([(9, 3), (7, 0), (6, 5), (2, 4)]).unwrap();
        let span = |first: i64, last: i64| Span {
            first: first << 12,
            last: (last << 12) + 4095,
        };
        assert_eq!(locate(&parts, 0, 3), (span(9, 9), 0));
        assert_eq!(locate(&parts, 1, 3), (span(6, 9), 1));
        assert_eq!(locate(&parts, 3, 5), (span(6, 6), 0));
        assert_eq!(locate(&parts, 7, 2), (span(2, 6), 4));
        let (last, left) = locate(&parts, 10, 9);
        assert_eq!((last.last, left), (span(2, 2).last, 2));
        assert_eq!(last.first, Span::EVERYTHING.first, "all that is left");
        assert!(locate(&parts, 12, 1).0.is_empty());
    }
}
