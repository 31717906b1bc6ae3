//! SQL that is PostgreSQL's own.

use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use forecourt_kernel::{BusinessId, StoreError, StoreResult};

use crate::statement::{RunQueryDsl, Sql};

/// `insert_many!(conn, table, rows)` inserts the rows of a `Vec`, many in one statement, and returns their number.
///
/// A single row is inserted by a statement that stays prepared; the text of a longer one depends on the number of rows.
macro_rules! insert_many {
    ($conn:expr, $table:expr, $rows:expr) => {{
        let conn: &mut $crate::postgres::Conn = $conn;
        async {
            let mut count = 0;
            for mut rows in $crate::postgres::dialect::at_once($rows) {
                count += match (rows.pop(), rows.is_empty()) {
                    (Some(only), true) => diesel::insert_into($table).values(only).execute(&mut *conn).await?,
                    (last, _) => {
                        rows.extend(last);
                        diesel::insert_into($table).values(rows).execute(&mut *conn).await?
                    }
                };
            }
            forecourt_kernel::StoreResult::Ok(count)
        }
        .await
    }};
}

/// The ids of the next `count` records of this table, between commas.
pub(crate) fn next_ids(table: &str, count: usize) -> String {
    format!("array_to_string(ARRAY(SELECT nextval('{table}_id_seq') FROM generate_series(1, {count})), ',')")
}

/// Rows are locked one by one.
pub(crate) const LOCKS_ROWS: bool = true;

/// The number of rows that one statement takes: it has at most 65,535 parameters.
pub(crate) const ROWS_AT_ONCE: usize = 1024;

/// Splits rows into the portions that one statement takes.
pub(crate) fn at_once<T>(rows: Vec<T>) -> impl Iterator<Item = Vec<T>> {
    let mut rows = rows.into_iter();
    std::iter::from_fn(move || {
        let portion: Vec<T> = rows.by_ref().take(ROWS_AT_ONCE).collect();
        (!portion.is_empty()).then_some(portion)
    })
}

/// No condition: the planner knows by itself when to use an index of trigrams.
pub(crate) const fn found_by_text(_: &str, _: &str, _: BusinessId, _: &str) -> Option<Sql<Bool>> {
    None
}

/// `insert_for_ids!(conn, table, id, rows)` does the same, and returns the ids of the rows in order.
macro_rules! insert_for_ids {
    ($conn:expr, $table:expr, $id:expr, $rows:expr) => {{
        let conn: &mut $crate::postgres::Conn = $conn;
        async {
            let mut ids = Vec::new();
            for mut rows in $crate::postgres::dialect::at_once($rows) {
                match (rows.pop(), rows.is_empty()) {
                    (Some(only), true) => {
                        let inserted = diesel::insert_into($table).values(only).returning($id);
                        ids.push(inserted.get_result(&mut *conn).await?);
                    }
                    (last, _) => {
                        rows.extend(last);
                        let inserted = diesel::insert_into($table).values(rows).returning($id);
                        ids.append(&mut inserted.load(&mut *conn).await?);
                    }
                }
            }
            forecourt_kernel::StoreResult::Ok(ids)
        }
        .await
    }};
}

/// A row's stored values of the columns of `$values`. They are not read, since the server itself compares the columns of a change
/// with the stored ones.
macro_rules! stored {
    ($conn:expr, $row:expr, $values:ty) => {
        forecourt_kernel::StoreResult::Ok(None::<$values>)
    };
}

/// Returns the timeline of the database's server, which a promotion raises. A standby has none, nor has a server that is
/// compatible with PostgreSQL but has no such log.
pub(crate) async fn timeline(conn: &mut super::Conn) -> StoreResult<Option<String>> {
    let found = diesel::select(sql::<Nullable<Text>>(super::timeline::TIMELINE)).get_result(conn);
    match found.await {
        Err(StoreError::Other(error)) => {
            tracing::debug!(error, "PostgreSQL does not say which timeline it is on");
            Ok(None)
        }
        found => found,
    }
}

/// Returns the time of the database's server, in milliseconds since the epoch.
pub(crate) async fn clock(conn: &mut super::Conn) -> StoreResult<Option<i64>> {
    let now = sql::<BigInt>("(extract(epoch FROM clock_timestamp()) * 1000)::bigint");
    diesel::select(now).get_result(conn).await.map(Some)
}

/// Returns `true` if any record has been given an id: a business has the first one.
pub(crate) async fn has_given_ids(conn: &mut super::Conn) -> StoreResult<bool> {
    let given = sql::<Bool>("(SELECT is_called FROM businesses_id_seq)");
    diesel::select(given).get_result(conn).await
}

/// Lets the ids of all tables begin after this one.
pub(crate) async fn begin_ids(conn: &mut super::Conn, base: i64) -> StoreResult<()> {
    let set = format!(
        "(SELECT count(setval(pg_get_serial_sequence(quote_ident(table_name), column_name)::regclass, {base} + 1, false)) \
         FROM information_schema.columns WHERE table_schema = current_schema() AND is_identity = 'YES')"
    );
    let _: i64 = diesel::select(sql::<BigInt>(&set)).get_result(conn).await?;
    Ok(())
}

pub(crate) use {insert_for_ids, insert_many, stored};
