//! How many vehicles there are of each kind: `vehicle_counts`, which is kept as vehicles are written.

use std::collections::BTreeMap;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Text};
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, StoreResult};
use forecourt_vehicles::{FilterKind, Key, StatusChoice, Vehicle, VehicleFilter, VehicleStatus, field_filters};

use super::{Conn, Db, dialect};
use crate::error::{other, store_error};
use crate::models::{KEY_CHARS, key_of};
use crate::schema::vehicle_counts;

/// Below this, each number is a part of its own.
const EXACT: i64 = 1 << 12;
/// How many parts a number that is not has between one power of two and the next, as a power of two.
const PARTS: u32 = 4;
/// How many seconds a part of stamps has, as a power of two: a day and a half.
const STAMP: u32 = 17;

/// The name under which vehicles are counted by when they last changed.
pub(super) const UPDATED: &str = "updated";
/// The name under which vehicles are counted by when they were made.
pub(super) const CREATED: &str = "created";
pub(super) const OWNER: &str = "owner";
pub(super) const CHANNEL: &str = "channel";
pub(super) const TAG_NAME: &str = "tag_name";

/// The range of numbers that a number is counted in: the lowest of the range.
pub(super) fn part(number: i64) -> i64 {
    if number < EXACT {
        return number.max(-1);
    }
    let shift = number.ilog2() - PARTS;
    number >> shift << shift
}

/// The range of stamps that a stamp is counted in: the lowest of the range.
pub(super) fn stamp_part(epoch_seconds: i64) -> i64 {
    epoch_seconds >> STAMP << STAMP
}

/// Stands for every stock type in every state: texts that patterns are compared with are counted like this as well, once each.
const ANY: (&str, &str) = ("", "");

/// What some vehicles have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Group {
    name: &'static str,
    term: String,
    part: i64,
    kind: &'static str,
    status: &'static str,
}

/// How many vehicles more each group has.
#[derive(Debug, Default)]
pub(super) struct Changes(BTreeMap<Group, i64>);

impl Changes {
    /// Counts a vehicle in, or out if `more` is -1. One that is deleted is not counted.
    pub(super) fn count(&mut self, vehicle: &Vehicle, more: i64) {
        let content = &vehicle.content;
        if content.status == VehicleStatus::Deleted {
            return;
        }
        let own = (content.kind.key(), content.status.name());
        let mut add = |(kind, status), name, term: String, part| {
            let group = Group {
                name,
                term,
                part,
                kind,
                status,
            };
            *self.0.entry(group).or_default() += more;
        };
        add(own, "", String::new(), 0);
        add(own, UPDATED, String::new(), stamp_part(vehicle.updated.epoch_seconds()));
        add(own, CREATED, String::new(), stamp_part(vehicle.created.epoch_seconds()));
        if let Some(owner) = content.owner {
            add(own, OWNER, owner.to_string(), 0);
        }
        for channel in super::channels(content) {
            add(own, CHANNEL, channel.to_owned(), 0);
        }
        for tag in super::tags(content) {
            add(own, TAG_NAME, tag.to_owned(), 0);
        }
        let filters = field_filters();
        for (name, key) in vehicle.keys() {
            let kind = filters
                .iter()
                .find(|filter| filter.name == name)
                .map(|filter| filter.kind);
            match (kind, key) {
                (Some(FilterKind::Pattern), Key::Text(text)) => {
                    let term = key_of(&text);
                    add(ANY, name, term.clone(), 0);
                    add(own, name, term, 0);
                }
                (Some(FilterKind::Location), Key::Text(text)) => add(own, name, key_of(&text), 0),
                (Some(FilterKind::Range | FilterKind::MoneyRange), Key::Number(number)) => {
                    add(own, name, String::new(), part(number));
                }
                // What is hardly ever the same of two vehicles is found, not counted.
                _ => {}
            }
        }
    }

    /// Takes the changes over.
    pub(super) async fn save(mut self, conn: &mut Conn, business: BusinessId) -> StoreResult<()> {
        self.0.retain(|_, more| *more != 0);
        if self.0.is_empty() {
            return Ok(());
        }
        let fewer = self.0.values().any(|more| *more < 0);
        let rows: Vec<_> = self
            .0
            .iter()
            .map(|(group, more)| (group.name, &group.term, group.part, group.kind, group.status, more))
            .collect();
        let rows = serde_json::to_string(&rows).map_err(other)?;
        let (before, behind) = dialect::EACH;
        sql::<Integer>("INSERT INTO vehicle_counts (business_id, name, term, part, kind, status, vehicles) SELECT ")
            .bind::<BigInt, _>(business.get())
            .sql(", value ->> 0, value ->> 1, CAST(value ->> 2 AS BIGINT), value ->> 3, value ->> 4, CAST(value ->> 5 AS BIGINT) FROM ")
            .sql(before)
            .bind::<Text, _>(&rows)
            .sql(behind)
            .sql(
                " WHERE true ON CONFLICT (business_id, name, term, part, kind, status)
                  DO UPDATE SET vehicles = vehicle_counts.vehicles + excluded.vehicles",
            )
            .execute(conn)
            .await
            .map_err(store_error)?;
        if fewer {
            sql::<Integer>("DELETE FROM vehicle_counts WHERE business_id = ")
                .bind::<BigInt, _>(business.get())
                .sql(
                    " AND vehicles = 0 AND (name, term, part, kind, status) IN (
                      SELECT value ->> 0, value ->> 1, CAST(value ->> 2 AS BIGINT), value ->> 3, value ->> 4 FROM ",
                )
                .sql(before)
                .bind::<Text, _>(&rows)
                .sql(behind)
                .sql(")")
                .execute(conn)
                .await
                .map_err(store_error)?;
        }
        Ok(())
    }
}

/// How many vehicles have something in common that filters ask for.
#[derive(Clone, Debug)]
pub(super) struct Count {
    pub(super) term: String,
    pub(super) vehicles: i64,
    /// Those of the stock type and the state that are asked for.
    pub(super) of_kind: i64,
}

/// How many vehicles there are of each stock type and in each state.
pub(super) async fn kinds(conn: &mut Conn, business: BusinessId) -> StoreResult<Vec<(String, String, i64)>> {
    vehicle_counts::table
        .filter(vehicle_counts::business_id.eq(business.get()))
        .filter(vehicle_counts::name.eq(""))
        .filter(vehicle_counts::term.eq(""))
        .select((vehicle_counts::kind, vehicle_counts::status, vehicle_counts::vehicles))
        .load(conn)
        .await
        .map_err(store_error)
}

/// Whether `filter` passes a stock type and a state.
pub(super) fn is_of(filter: &VehicleFilter, kind: &str, status: &str) -> bool {
    let means = |choice| states(choice).any(|state| state == status);
    filter.kind.is_none_or(|wanted| wanted.key() == kind) && filter.status.is_none_or(means)
}

/// The names of the states that are meant.
fn states(choice: StatusChoice) -> impl Iterator<Item = &'static str> {
    VehicleStatus::ALL
        .into_iter()
        .filter(move |status| choice.means(*status))
        .map(VehicleStatus::name)
}

/// The sum of the vehicles of the stock type and the state that are asked for.
fn of_kind(filter: &VehicleFilter) -> String {
    let kind = filter
        .kind
        .map(|kind| format!("vehicle_counts.kind = '{}'", kind.key()));
    let status = filter.status.map(|choice| {
        let states: Vec<_> = states(choice).map(|state| format!("'{state}'")).collect();
        format!("vehicle_counts.status IN ({})", states.join(", "))
    });
    let wanted: Vec<_> = kind.into_iter().chain(status).collect();
    if wanted.is_empty() {
        return "CAST(sum(vehicle_counts.vehicles) AS BIGINT)".to_owned();
    }
    let wanted = wanted.join(" AND ");
    format!("CAST(sum(CASE WHEN {wanted} THEN vehicle_counts.vehicles ELSE 0 END) AS BIGINT)")
}

/// Which of the groups of one name are asked for.
pub(super) enum Groups<'a> {
    /// Those of these terms.
    Terms(Vec<String>),
    /// Those whose terms match a pattern, and those of which no more than the beginning is known.
    Like(&'a str),
    /// Those of parts between two, inclusive.
    Parts(i64, i64),
}

/// How many vehicles the groups have.
pub(super) async fn read(
    conn: &mut Conn,
    business: BusinessId,
    name: &str,
    groups: Groups<'_>,
    filter: &VehicleFilter,
) -> StoreResult<Vec<Count>> {
    let query = vehicle_counts::table
        .group_by(vehicle_counts::term)
        .select((
            vehicle_counts::term,
            sql::<BigInt>("CAST(sum(vehicle_counts.vehicles) AS BIGINT)"),
            sql::<BigInt>(&of_kind(filter)),
        ))
        .filter(vehicle_counts::business_id.eq(business.get()))
        .filter(vehicle_counts::name.eq(name))
        .filter(vehicle_counts::kind.ne(ANY.0))
        .into_boxed::<Db>();
    let query = match groups {
        Groups::Terms(terms) => match <[String; 1]>::try_from(terms) {
            Ok([term]) => query.filter(vehicle_counts::term.eq(term)),
            Err(terms) => query.filter(vehicle_counts::term.eq_any(terms)),
        },
        Groups::Like(pattern) => query.filter(matches(pattern)),
        Groups::Parts(first, last) => query
            .filter(vehicle_counts::term.eq(""))
            .filter(vehicle_counts::part.between(first, last)),
    };
    let rows: Vec<(String, i64, i64)> = query.load(conn).await.map_err(store_error)?;
    let count = |(term, vehicles, of_kind)| Count {
        term,
        vehicles,
        of_kind,
    };
    Ok(rows.into_iter().map(count).collect())
}

/// How many vehicles have each text that matches a pattern, and each of which no more than the beginning is known.
pub(super) async fn matching(
    conn: &mut Conn,
    business: BusinessId,
    name: &str,
    pattern: &str,
    filter: &VehicleFilter,
) -> StoreResult<Vec<Count>> {
    let query = vehicle_counts::table
        .filter(vehicle_counts::business_id.eq(business.get()))
        .filter(vehicle_counts::name.eq(name))
        // As the index of texts has it.
        .filter(sql::<Bool>("vehicle_counts.kind = ''"))
        .filter(matches(pattern))
        .select((vehicle_counts::term, vehicle_counts::vehicles));
    let rows: Vec<(String, i64)> = query.load(conn).await.map_err(store_error)?;
    if filter.kind.is_none() && filter.status.is_none() {
        let count = |(term, vehicles)| Count {
            term,
            vehicles,
            of_kind: vehicles,
        };
        return Ok(rows.into_iter().map(count).collect());
    }
    let groups = if rows.len() > super::filter::MANY_TEXTS {
        Groups::Like(pattern)
    } else {
        Groups::Terms(rows.into_iter().map(|(term, _)| term).collect())
    };
    read(conn, business, name, groups, filter).await
}

type TermMatches = Box<dyn BoxableExpression<vehicle_counts::table, Db, SqlType = Bool>>;

fn matches(pattern: &str) -> TermMatches {
    let like = vehicle_counts::term.like(super::filter::like(pattern)).escape('\\');
    Box::new(like.or(sql::<Bool>("length(vehicle_counts.term) >= ").bind::<BigInt, _>(KEY_CHARS as i64)))
}

/// Whether vehicles are counted by the texts of this filter.
pub(super) fn has_terms(name: &str) -> bool {
    kind(name).is_some_and(|kind| matches!(kind, FilterKind::Pattern | FilterKind::Location))
}

/// Whether vehicles are counted by the numbers of this filter.
pub(super) fn has_parts(name: &str) -> bool {
    kind(name).is_some_and(|kind| matches!(kind, FilterKind::Range | FilterKind::MoneyRange))
}

fn kind(name: &str) -> Option<FilterKind> {
    let filters = field_filters();
    filters
        .iter()
        .find(|filter| filter.name == name)
        .map(|filter| filter.kind)
}
