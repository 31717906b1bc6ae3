//! SQL that is PostgreSQL's own.

use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Nullable, Text};
use forecourt_kernel::{StoreError, StoreResult};

use crate::statement::RunQueryDsl;

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

/// The ids of the next `count` leads, between commas.
pub(crate) fn next_leads(count: usize) -> String {
    format!("array_to_string(ARRAY(SELECT nextval('leads_id_seq') FROM generate_series(1, {count})), ',')")
}

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

/// The text around the value in the condition that a record is a business's.
pub(crate) const OF_BUSINESS: (&str, &str) = ("business_id = ", "");

/// A prefix that keeps a column from being looked up by an index: empty, since the planner knows the values.
pub(crate) const NO_INDEX: &str = "";

/// A prefix for the id by which the rows found by an index are sorted: empty as well.
pub(crate) const SORTED: &str = "";

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

/// Rows that no other writer changes until the transaction ends. Their keys never change, so a transaction that stores a
/// reference to them does not wait.
macro_rules! for_no_key_update {
    ($query:expr) => {
        $query.for_no_key_update()
    };
}

/// The columns of a row, read after a change that locks it until the transaction ends. A query that locks would compute its
/// columns before it has the lock.
macro_rules! read_locked {
    ($row:expr, $change:expr, $columns:expr) => {
        $crate::statement::Prepare::prepared(diesel::update($row).set($change).returning($columns))
    };
}

/// Rows that no other writer has locked. No other writer gets them until the transaction ends.
macro_rules! skip_locked {
    ($query:expr) => {
        $query.for_update().skip_locked()
    };
}

/// Rows that no other writer deletes until the transaction ends.
macro_rules! for_key_share {
    ($query:expr) => {
        $query.for_key_share()
    };
}

/// Rows that no other writer changes now or until the transaction ends. Others may share-lock them too.
macro_rules! share_unlocked {
    ($query:expr) => {
        $query.for_share().skip_locked()
    };
}

/// Rows that no other transaction locks in any mode until this one ends.
macro_rules! for_update {
    ($query:expr) => {
        $query.for_update()
    };
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

pub(crate) use {
    for_key_share, for_no_key_update, for_update, insert_for_ids, insert_many, read_locked, share_unlocked,
    skip_locked, stored,
};
