//! What PostgreSQL does in its own way.

use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Nullable, Text};
use forecourt_kernel::{StoreError, StoreResult};

use crate::statement::RunQueryDsl;

/// `insert_many!(conn, table, rows)` inserts the rows of a `Vec`, many in one statement, and answers how many they were.
///
/// One row alone goes by a statement that stays prepared; the text of a longer one depends on how many rows there are.
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

/// The ids of the next leads, so many of them, between commas.
pub(crate) fn next_leads(count: usize) -> String {
    format!("array_to_string(ARRAY(SELECT nextval('leads_id_seq') FROM generate_series(1, {count})), ',')")
}

/// How many rows one statement is given: it has at most 65,535 parameters.
pub(crate) const ROWS_AT_ONCE: usize = 1024;

/// Rows in the portions that one statement is given.
pub(crate) fn at_once<T>(rows: Vec<T>) -> impl Iterator<Item = Vec<T>> {
    let mut rows = rows.into_iter();
    std::iter::from_fn(move || {
        let portion: Vec<T> = rows.by_ref().take(ROWS_AT_ONCE).collect();
        (!portion.is_empty()).then_some(portion)
    })
}

/// What stands before and behind the value of the condition that a record is a business's.
pub(crate) const OF_BUSINESS: (&str, &str) = ("business_id = ", "");

/// What stands before a column that no index is to be looked up by: nothing, since the planner knows the values.
pub(crate) const NO_INDEX: &str = "";

/// What stands before the id by which the rows found by an index are sorted: nothing as well.
pub(crate) const SORTED: &str = "";

/// `insert_for_ids!(conn, table, id, rows)` does the same, and answers the ids of the rows in order.
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

/// Rows that no other writer changes until the transaction ends. Their keys never change: so a transaction that stores a
/// reference to them does not wait.
macro_rules! for_no_key_update {
    ($query:expr) => {
        $query.for_no_key_update()
    };
}

/// The columns of a row, read behind a change that locks it until the transaction ends: a query that locks computes its columns
/// first.
macro_rules! read_locked {
    ($row:expr, $change:expr, $columns:expr) => {
        $crate::statement::Prepare::prepared(diesel::update($row).set($change).returning($columns))
    };
}

/// Rows that no other writer has locked; until the transaction ends no other one gets them.
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

/// Rows that no other writer changes now or until the transaction ends, and that others may share-lock too.
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

/// What a row has in the columns of `$values`: that is not asked for, since the server itself compares what a change names
/// with what is stored.
macro_rules! stored {
    ($conn:expr, $row:expr, $values:ty) => {
        forecourt_kernel::StoreResult::Ok(None::<$values>)
    };
}

/// The timeline of the database's server, which a promotion raises. A standby has none of its own, nor has a server that calls itself
/// PostgreSQL and has no log of its own.
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

/// What the database's server takes the time to be, in milliseconds since the epoch.
pub(crate) async fn clock(conn: &mut super::Conn) -> StoreResult<Option<i64>> {
    let now = sql::<BigInt>("(extract(epoch FROM clock_timestamp()) * 1000)::bigint");
    diesel::select(now).get_result(conn).await.map(Some)
}

pub(crate) use {
    for_key_share, for_no_key_update, for_update, insert_for_ids, insert_many, read_locked, share_unlocked,
    skip_locked, stored,
};
