//! How many leads there are of each kind, and where: `lead_counts`, which the database keeps as leads are written.

use std::ops::RangeInclusive;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, Range, StoreResult, Timestamp};
use forecourt_leads::LeadFilter;

use super::span::Span;
use super::{Conn, Db};
use crate::error::store_error;
use crate::schema::{lead_counts, leads};

/// How many references a part has at most. A power of two: see the migration.
const REFERENCES: i64 = 1 << 15;
/// How many seconds a part has. A power of two: see the migration.
const SECONDS: i64 = 1 << 21;

/// What the leads of a kind are divided by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Axis {
    /// Nothing: they are one part.
    Whole = 0,
    /// Their references, and so their ids.
    Reference = 1,
    /// When they last changed.
    Updated = 2,
}

/// Whether `filter` asks for nothing but the kind of a lead, and maybe when it came in or last changed.
pub(super) fn cover(filter: &LeadFilter) -> bool {
    let LeadFilter {
        site: _,
        status: _,
        channel: _,
        reference,
        name,
        email,
        phone,
        mobile,
        contact,
        vehicle,
        rating_min: _,
        created: _,
        updated: _,
    } = filter;
    let texts = name.is_none() && email.is_none() && phone.is_none() && mobile.is_none();
    texts && reference.is_none() && contact.is_none() && vehicle.is_none()
}

/// How many leads of the kind that `filter` asks for each part has, the highest part first. Parts without one may be missing.
pub(super) async fn by_part(
    conn: &mut Conn,
    business: BusinessId,
    filter: &LeadFilter,
    axis: Axis,
    parts: RangeInclusive<i64>,
) -> StoreResult<Vec<(i64, i64)>> {
    let mut query = lead_counts::table
        .group_by(lead_counts::part)
        .select((
            lead_counts::part,
            sql::<BigInt>("CAST(sum(lead_counts.leads) AS BIGINT)"),
        ))
        .filter(lead_counts::business_id.eq(business.get()))
        .filter(lead_counts::axis.eq(axis as i32))
        .filter(lead_counts::part.between(*parts.start(), *parts.end()))
        .order(lead_counts::part.desc())
        .into_boxed::<Db>();
    if let Some(site) = filter.site {
        query = query.filter(lead_counts::site.eq(site.get()));
    }
    if let Some(channel) = filter.channel {
        query = query.filter(lead_counts::channel.eq(channel.id()));
    }
    if let Some(status) = filter.status {
        query = query.filter(lead_counts::status.eq(i32::from(status.code())));
    }
    if let Some(least) = filter.rating_min {
        query = query.filter(lead_counts::rating.ge(i32::from(least.get())));
    }
    query.load(conn).await.map_err(store_error)
}

/// How many leads of the kind that `filter` asks for the parts have together.
pub(super) async fn sum(
    conn: &mut Conn,
    business: BusinessId,
    filter: &LeadFilter,
    axis: Axis,
    parts: RangeInclusive<i64>,
) -> StoreResult<i64> {
    let counts = by_part(conn, business, filter, axis, parts).await?;
    Ok(counts.iter().map(|(_, leads)| leads).sum())
}

/// A span of leads, in parts by reference.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// The leads that are older than the whole parts, if that is where the span begins.
    pub(super) older: Option<Span>,
    /// The parts that lie in the span as a whole.
    pub(super) whole: RangeInclusive<i64>,
    /// The leads that are newer than the whole parts, if the span has an end.
    pub(super) newer: Option<Span>,
}

impl Parts {
    /// The parts of `span`: none if no part lies in it as a whole.
    pub(super) async fn of(conn: &mut Conn, business: BusinessId, span: Span) -> StoreResult<Option<Self>> {
        let mut parts = Self {
            older: None,
            whole: 0..=i64::MAX,
            newer: None,
        };
        let mut first = 0;
        if span.first > Span::EVERYTHING.first {
            let Some((_, reference)) = next(conn, business, span.first).await? else {
                return Ok(None);
            };
            first = (reference + REFERENCES - 1) / REFERENCES;
            let Some(id) = beginning(conn, business, first).await? else {
                return Ok(None);
            };
            parts.older = Some(Span {
                first: span.first,
                last: id - 1,
            });
        }
        let mut last = i64::MAX;
        if span.last < Span::EVERYTHING.last {
            // What follows the span is where a part begins, or lies in one that is not of the span as a whole.
            if let Some((_, reference)) = next(conn, business, span.last + 1).await? {
                last = reference / REFERENCES - 1;
                let Some(id) = beginning(conn, business, last + 1).await? else {
                    return Ok(None);
                };
                parts.newer = Some(Span {
                    first: id,
                    last: span.last,
                });
            }
        }
        parts.whole = first..=last;
        Ok(Some(parts).filter(|parts| !parts.whole.is_empty()))
    }
}

/// The id where a part begins, or would if it had a lead: none behind the newest lead.
pub(super) async fn beginning(conn: &mut Conn, business: BusinessId, part: i64) -> StoreResult<Option<i64>> {
    let query = leads::table
        .filter(leads::business_id.eq(business.get()))
        .filter(leads::reference.ge(part.saturating_mul(REFERENCES)))
        .order(leads::reference.asc())
        .limit(1)
        .select(leads::id);
    query.get_result(conn).await.optional().map_err(store_error)
}

/// The id and the reference of the first lead from `id` on.
async fn next(conn: &mut Conn, business: BusinessId, id: i64) -> StoreResult<Option<(i64, i64)>> {
    let query = leads::table
        .filter(leads::business_id.eq(business.get()))
        .filter(leads::id.ge(id))
        .order((leads::business_id.asc(), leads::id.asc()))
        .limit(1)
        .select((leads::id, leads::reference));
    query.get_result(conn).await.optional().map_err(store_error)
}

/// A range of `updated`, in parts.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// What lies before the whole parts.
    pub(super) earlier: Option<Range<Timestamp>>,
    /// The parts that lie in the range as a whole.
    pub(super) whole: RangeInclusive<i64>,
    /// What lies behind the whole parts.
    pub(super) later: Option<Range<Timestamp>>,
}

impl Changes {
    /// The parts of `range`: none if no part lies in it as a whole.
    pub(super) fn of(range: Range<Timestamp>) -> Option<Self> {
        let Range { from, to } = range;
        let stamp = Timestamp::from_epoch_seconds;
        let first = from.map(|from| from.epoch_seconds().div_euclid(SECONDS) + 1);
        let last = to.map(|to| to.epoch_seconds().div_euclid(SECONDS) - 1);
        let whole = first.unwrap_or(i64::MIN)..=last.unwrap_or(i64::MAX);
        let parts = Self {
            earlier: first.map(|first| Range {
                from,
                to: Some(stamp(first.saturating_mul(SECONDS) - 1)),
            }),
            whole,
            later: last.map(|last| Range {
                from: Some(stamp((last + 1).saturating_mul(SECONDS))),
                to,
            }),
        };
        Some(parts).filter(|parts| !parts.whole.is_empty())
    }
}
