//! Lists: pages newest first, by number or after a cursor, and the total number of records.
//!
//! An area supplies its list's conditions ([`Selection`]); this finds the ids, and the area reads the rows. Each column that
//! lists filter by has an index that begins with the business and ends with the id, and the database chooses among them. A page
//! is read by one statement. A page at the beginning of a list or after a cursor is read in the order of an index. For another
//! one the ids are found first, in an index alone, however many come before.

use std::sync::Arc;

use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use forecourt_kernel::{BusinessId, PageRequest, Position, Range, StoreResult};

use super::session::{Mode, Session};
use super::{Conn, dialect, search};
use crate::schema::counters;
use crate::selection::{Condition, Selection, within};
use crate::statement::{MayScan as _, RunQueryDsl, Scan, Select, Sql, Value};
use crate::totals::{Counted, Totals};

/// The maximum number of a column's values up to which each is read by itself, in order, before all are merged.
const MAX_UNION_BRANCHES: usize = 16;

/// The number of candidates that are looked up one by one. For more of them, reading all records of a business takes no longer.
const CANDIDATE_LIMIT: i64 = 10_000;

/// The number of index entries that are read in a fraction of a millisecond.
const INLINE_SCAN_ROWS: i64 = 1000;

/// Usual page sizes. They are part of the text of a statement, so that the planner knows them.
const USUAL_PER_PAGE: [i64; 8] = [10, 20, 25, 50, 100, 200, 250, 500];

/// A page whose rows are to be read.
pub(super) struct Found {
    /// It may read many rows.
    may_scan: bool,
    /// The statement after its columns. It reads the rows of the page, newest first, and the first row of the next one.
    from: Sql<()>,
    /// The total number of records, only if the page was requested by number.
    pub(super) total: Option<i64>,
}

impl Found {
    /// Returns the statement that reads these columns.
    pub(super) fn select<C>(self, columns: C) -> Scan<Select<C>> {
        Select::new(columns, self.from).may_scan(self.may_scan)
    }
}

/// Finds a page.
pub(super) async fn find(
    session: &mut Session<impl Mode>,
    selection: &Selection,
    request: &PageRequest,
) -> StoreResult<Found> {
    let mut list = List::of(session.flushed_conn().await?, selection).await?;
    let offset = request.offset();
    let remembered = known_totals(session, selection).and_then(|totals| totals.get(selection));
    let counted = match remembered {
        // An old count is good enough to plan by.
        _ if offset.is_none() && list.is_sorted() => None,
        Some(remembered) if offset.is_none() => Some(remembered),
        _ => Some(list.counted(session, remembered).await?),
    };
    let total = counted.map(|counted| counted.total).filter(|_| offset.is_some());
    let offset = offset.unwrap_or_default();
    if total.is_some_and(|total| offset >= total) {
        let mut from = Sql::new(&format!(" FROM {} WHERE business_id = ", selection.kind.rows));
        from.bind(selection.business.get()).sql(" AND 1 = 0");
        let may_scan = false;
        return Ok(Found { may_scan, from, total });
    }
    if let Position::After(cursor) = &request.position {
        list.before = Some(cursor.id());
    }
    let limit = request.wanted();
    // In the order of ids, about `wanted * of / total` records are read until a page is full; otherwise `total` records are
    // sorted.
    let wanted = offset.saturating_add(limit);
    list.scan_in_id_order = counted.is_some_and(|counted| {
        let Counted { total, of, .. } = counted;
        total.saturating_mul(total) > wanted.saturating_mul(of)
    });
    let may_scan = list.entries(counted.or(remembered), wanted) > INLINE_SCAN_ROWS;
    list.few = match counted {
        _ if list.scan_in_id_order => None,
        Some(Counted { narrowed, .. }) => {
            narrowed.and_then(|which| search::candidates(selection).into_iter().nth(which))
        }
        None => {
            list.narrow(session.flushed_conn().await?).await?;
            list.few
        }
    };
    let from = list.rows(limit, offset);
    Ok(Found { may_scan, from, total })
}

/// Returns the cache of totals, if the list's total may be remembered.
fn known_totals(session: &Session<impl Mode>, selection: &Selection) -> Option<Arc<Totals>> {
    session.totals().filter(|_| !selection.depends_on_time)
}

/// Returns the number of the business's records of the kind, and the number of their writes.
async fn records(conn: &mut Conn, selection: &Selection) -> StoreResult<(i64, i64)> {
    let row = counters::table
        .find((selection.business.get(), selection.kind.rows))
        .select((counters::records, counters::writes));
    let row: Option<(i64, i64)> = row.get_optional(conn).await?;
    Ok(row.unwrap_or_default())
}

/// Returns `true` if the stamps of some records of a business run against their numbers, after the clock was put back.
pub(super) async fn are_stamps_unordered(conn: &mut Conn, business: BusinessId) -> StoreResult<bool> {
    let unordered = counters::table
        .filter(counters::business_id.eq(business.get()))
        .filter(counters::unordered.eq(true));
    diesel::select(exists(unordered)).get_result(conn).await
}

/// A list, in the terms of its statements.
struct List<'a> {
    selection: &'a Selection,
    /// The range of the ids that belong to the range of creation.
    first: Option<i64>,
    last: Option<i64>,
    /// The range of creation, if ids do not follow it.
    created: Option<Range<i64>>,
    /// The id of the cursor.
    before: Option<i64>,
    /// A query for the ids of few records, which include all that pass.
    few: Option<Sql<BigInt>>,
    /// Records are read in the order of their ids, since many of them pass.
    scan_in_id_order: bool,
}

impl<'a> List<'a> {
    async fn of(conn: &mut Conn, selection: &'a Selection) -> StoreResult<Self> {
        let Range { from, to } = selection.created;
        if (from.is_some() || to.is_some()) && are_stamps_unordered(conn, selection.business).await? {
            return Ok(Self {
                selection,
                first: None,
                last: None,
                created: Some(selection.created),
                before: None,
                few: None,
                scan_in_id_order: false,
            });
        }
        let first = match from {
            Some(from) => Some(first_since(conn, selection, from).await?),
            None => None,
        };
        let last = match to {
            Some(to) => Some(first_since(conn, selection, to.saturating_add(1)).await? - 1),
            None => None,
        };
        Ok(Self {
            selection,
            first,
            last,
            created: None,
            before: None,
            few: None,
            scan_in_id_order: false,
        })
    }

    /// Searches for a condition by which an index finds few records. Returns its number.
    async fn narrow(&mut self, conn: &mut Conn) -> StoreResult<Option<usize>> {
        for (number, ids) in search::candidates(self.selection).into_iter().enumerate() {
            let mut found: Sql<BigInt> = Sql::new("SELECT count(*) FROM (");
            found
                .append(ids.clone())
                .sql(" LIMIT ")
                .bind(CANDIDATE_LIMIT)
                .sql(") AS found");
            let found: i64 = found.may_scan(true).get_result(conn).await?;
            if found < CANDIDATE_LIMIT {
                self.few = Some(ids);
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Counts the records that pass, unless that was done since the last write.
    async fn counted(&mut self, session: &mut Session<impl Mode>, remembered: Option<Counted>) -> StoreResult<Counted> {
        // First: a write during the count makes the total outdated, and never the reverse.
        let epoch = session.epoch();
        let (of, writes) = records(session.flushed_conn().await?, self.selection).await?;
        if self.selection.is_all() {
            return Ok(Counted {
                total: of,
                of,
                writes,
                epoch,
                narrowed: None,
            });
        }
        let holds = |known: &Counted| (known.epoch, known.writes) == (epoch, writes) && self.selection.stands_still();
        if let Some(known) = remembered.filter(holds) {
            return Ok(known);
        }
        let conn = session.flushed_conn().await?;
        let narrowed = self.narrow(conn).await?;
        let total = self.count().may_scan(true).get_result(conn).await?;
        let counted = Counted {
            total,
            of,
            writes,
            epoch,
            narrowed,
        };
        if let Some(totals) = known_totals(session, self.selection) {
            totals.put(self.selection, counted);
        }
        Ok(counted)
    }

    /// Estimates the number of index entries to read until `wanted` records are found.
    fn entries(&self, counted: Option<Counted>, wanted: i64) -> i64 {
        let has_others = self.selection.conditions.len() > 1;
        let has_patterns = self.selection.patterns().next().is_some();
        match counted {
            _ if self.created.is_some() => i64::MAX,
            _ if self.is_sorted() && !has_others => wanted,
            // The number of passing records is no measure of the entries that an index has for one of the conditions.
            _ if !self.scan_in_id_order && (has_patterns || has_others && !self.is_sorted()) => i64::MAX,
            Some(Counted { total, of, .. }) if self.scan_in_id_order || self.is_sorted() => {
                wanted.saturating_mul(of) / total.max(1)
            }
            Some(counted) => counted.total,
            None => i64::MAX,
        }
    }

    /// Returns `true` if an index has the passing records in the order of their ids.
    fn is_sorted(&self) -> bool {
        !self.selection.conditions.iter().any(is_unordered)
    }

    fn count(&self) -> Sql<BigInt> {
        let mut count = Sql::new("SELECT count(*)");
        count.append(self.passing(None, false));
        count
    }

    /// The rows of a page, newest first.
    fn rows(&self, limit: i64, offset: i64) -> Sql<()> {
        let Selection { business, kind, .. } = self.selection;
        let mut rows = Sql::new("");
        let is_read_in_order =
            offset == 0 && self.is_sorted() && self.any_of().is_none() && self.source().0 == kind.rows;
        if is_read_in_order {
            rows.append(self.passing(None, false)).sql(" ORDER BY id DESC");
            limited(&mut rows, limit);
        } else {
            rows.sql(&format!(" FROM {} WHERE business_id = ", kind.rows))
                .bind(business.get())
                .sql(" AND id IN (")
                .append(self.ids(limit, offset))
                .sql(") ORDER BY id DESC");
        }
        rows
    }

    /// The ids of a page, newest first.
    fn ids(&self, limit: i64, offset: i64) -> Sql<BigInt> {
        let (_, id) = self.source();
        let select = format!("SELECT {id} AS id");
        let mut ids = Sql::new("");
        // An index in the order of the ids needs no sorting. The entries of several values are each in order, and are merged.
        let is_sorted = self.is_sorted();
        match self.any_of().filter(|_| is_sorted) {
            None => {
                ids.sql(&select)
                    .append(self.passing(None, self.scan_in_id_order && !is_sorted));
            }
            Some([]) => {
                ids.sql(&select).append(self.passing(None, false));
            }
            Some(values) => {
                for (number, value) in values.iter().enumerate() {
                    ids.sql(if number == 0 { "" } else { " UNION ALL " })
                        .sql("SELECT id FROM (")
                        .sql(&select)
                        .append(self.passing(Some(value), false))
                        .sql(" ORDER BY id DESC");
                    limited(&mut ids, offset.saturating_add(limit));
                    ids.sql(") AS merged");
                }
            }
        }
        ids.sql(" ORDER BY ");
        if !is_sorted && !self.scan_in_id_order && self.few.is_none() {
            ids.sql(dialect::SORTED);
        }
        ids.sql("id DESC");
        limited(&mut ids, limit);
        if offset > 0 {
            ids.sql(" OFFSET ").bind(offset);
        }
        ids
    }

    /// The table that ids are read from, and its column. If the only filter is one whose ids another table keeps, that table is
    /// read.
    fn source(&self) -> (&'static str, &'static str) {
        match self.selection.conditions.as_slice() {
            // Some vehicles are in no list.
            [Condition::Noted { table, id, .. }] if *table != "vehicles" => (*table, *id),
            _ => (self.selection.kind.table, "id"),
        }
    }

    /// The values of a condition with several values, if there are few enough to merge.
    fn any_of(&self) -> Option<&'a [Value]> {
        self.selection.conditions.iter().find_map(|condition| match condition {
            Condition::AnyOf(_, values) if values.len() <= MAX_UNION_BRANCHES => Some(values.as_slice()),
            _ => None,
        })
    }

    /// Selects the records that pass, or, with `each`, those with this one of several values. If they are read in order, no index
    /// is used that would have another order.
    fn passing(&self, each: Option<&Value>, in_order: bool) -> Sql<BigInt> {
        let Selection {
            business, conditions, ..
        } = self.selection;
        let (source, source_id) = self.source();
        let hide = |hidden| if hidden { dialect::NO_INDEX } else { "" };
        let hidden = hide(in_order);
        let (before, behind) = if self.few.is_some() {
            ("business_id = ", "")
        } else {
            dialect::OF_BUSINESS
        };
        let mut sql = Sql::new(" FROM ");
        sql.sql(source)
            .sql(" WHERE ")
            .sql(before)
            .bind(business.get())
            .sql(behind);
        let mut each = each;
        let mut joined = false;
        for condition in conditions {
            sql.sql(" AND ");
            match condition {
                Condition::Is(column, value) => {
                    sql.sql(column).sql(" = ").bind(value.clone());
                }
                Condition::AnyOf(column, values) => match each.take() {
                    Some(value) => {
                        sql.sql(column).sql(" = ").bind(value.clone());
                    }
                    None => {
                        sql.sql(hidden).sql(column).sql(" IN (");
                        for (number, value) in values.iter().enumerate() {
                            sql.sql(if number == 0 { "" } else { ", " }).bind(value.clone());
                        }
                        // PostgreSQL takes no empty list.
                        sql.sql(if values.is_empty() { "NULL)" } else { ")" });
                    }
                },
                Condition::Within(column, range) => within(&mut sql, &format!("{hidden}{column}"), *range),
                Condition::Like(column, pattern) => {
                    // SQLite does not infer that a text that matches a pattern is not null.
                    sql.sql(hidden)
                        .sql(column)
                        .sql(" IS NOT NULL AND ")
                        .sql(hidden)
                        .sql(&search::compared(column, pattern, in_order))
                        .sql(" LIKE ")
                        .bind(like(pattern))
                        .sql(r" ESCAPE '\'");
                }
                Condition::Noted { column, value, .. } if source != self.selection.kind.table => {
                    sql.sql(column).sql(" = ").bind(value.clone());
                }
                Condition::Noted {
                    table,
                    id,
                    column,
                    value,
                } => {
                    // Two such joins would be nested, at any cost, before statistics are gathered. An expression that is no
                    // condition by itself is looked up in a hash table.
                    let (before, behind) = if joined { ("(", ") IS TRUE") } else { ("", "") };
                    joined = true;
                    sql.sql(&format!("{before}id IN (SELECT {id} FROM {table} WHERE business_id = "))
                        .bind(business.get())
                        .sql(&format!(" AND {column} = "))
                        .bind(value.clone())
                        .sql(")")
                        .sql(behind);
                }
            }
        }
        if let Some(few) = &self.few {
            sql.sql(&format!(" AND {source_id} IN (")).append(few.clone()).sql(")");
        }
        if let Some(created) = self.created {
            let table = self.selection.kind.table;
            sql.sql(&format!(
                " AND {source_id} IN (SELECT id FROM {table} WHERE business_id = "
            ))
            .bind(business.get())
            .sql(" AND ");
            within(&mut sql, "created", created);
            sql.sql(")");
        }
        if let Some(first) = self.first {
            sql.sql(&format!(" AND {source_id} >= ")).bind(first);
        }
        if let Some(last) = self.last {
            sql.sql(&format!(" AND {source_id} <= ")).bind(last);
        }
        if let Some(before) = self.before {
            // Rows that are sorted are found by the condition, wherever the page begins.
            let hidden = hide(!self.is_sorted() && !self.scan_in_id_order);
            sql.sql(&format!(" AND {hidden}{source_id} < ")).bind(before);
        }
        if conditions.len() > 1 || conditions.iter().any(is_unordered) {
            // Which index serves best depends on the values.
            sql.plan_by_values();
        }
        sql
    }
}

/// Appends a limit on the number of rows.
fn limited<ST>(sql: &mut Sql<ST>, rows: i64) {
    sql.sql(" LIMIT ");
    if USUAL_PER_PAGE.contains(&(rows - 1)) {
        sql.sql(&rows.to_string());
    } else {
        sql.bind(rows);
    }
}

/// Returns `true` if no index has the passing records in the order of their ids.
const fn is_unordered(condition: &Condition) -> bool {
    matches!(condition, Condition::Within(..) | Condition::Like(..))
}

/// Returns a pattern for LIKE, in which only `%` is a wildcard.
pub(super) fn like(pattern: &str) -> String {
    pattern.replace('\\', r"\\").replace('_', r"\_")
}

/// Returns the id of the first record that was not made before `stamp`. If there is none, it is an id that the next record may
/// have.
///
/// Stamps must rise with ids: the record is found by bisection.
async fn first_since(conn: &mut Conn, selection: &Selection, stamp: i64) -> StoreResult<i64> {
    let table = selection.kind.table;
    let business = selection.business.get();
    let is_earlier = || {
        let mut is_earlier: Sql<BigInt> = Sql::new("coalesce((SELECT created < ");
        is_earlier
            .bind(stamp)
            .sql(&format!(" FROM {table} WHERE business_id = "))
            .bind(business)
            .sql(" AND id <= (low + high) / 2 ORDER BY id DESC LIMIT 1), true)");
        is_earlier
    };
    let mut first: Sql<BigInt> = Sql::new("WITH RECURSIVE halved (low, high) AS (SELECT CAST(0 AS BIGINT), ");
    first
        .sql(&format!("coalesce(max(id), 0) + 1 FROM {table} WHERE business_id = "))
        .bind(business)
        .sql(" UNION ALL SELECT CASE WHEN ")
        .append(is_earlier())
        .sql(" THEN (low + high) / 2 ELSE low END, CASE WHEN ")
        .append(is_earlier())
        .sql(
            " THEN high ELSE (low + high) / 2 END FROM halved WHERE high - low > 1) \
             SELECT high FROM halved WHERE high - low <= 1",
        );
    first.get_result(conn).await
}
