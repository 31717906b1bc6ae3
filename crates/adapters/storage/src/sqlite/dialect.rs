//! SQL that is SQLite's own.

/// `insert_many!(conn, table, rows)` inserts the rows of a `Vec`, and returns their number.
///
/// One prepared insert is run for each row: diesel-async cannot insert several at once here, and inside a transaction nothing is
/// gained by it.
macro_rules! insert_many {
    ($conn:expr, $table:expr, $rows:expr) => {{
        let conn: &mut $crate::sqlite::Conn = $conn;
        async {
            let mut count = 0;
            for row in $rows {
                count += diesel::insert_into($table).values(row).execute(&mut *conn).await?;
            }
            forecourt_kernel::StoreResult::Ok(count)
        }
        .await
    }};
}

/// The id of the next lead. The ids after it are not known before that one is stored.
pub(crate) fn next_leads(_count: usize) -> String {
    "(SELECT CAST(coalesce(max(seq), 0) + 1 AS TEXT) FROM sqlite_sequence WHERE name = 'leads')".to_owned()
}

/// The number of rows that are written at once.
pub(crate) const ROWS_AT_ONCE: usize = 4096;

/// The text around the value in the condition that a record is a business's. Statistics have the average number of a business's
/// records. Where one business has nearly all, the planner would read the records of all others as well.
pub(crate) const OF_BUSINESS: (&str, &str) = ("likelihood(business_id = ", ", 0.0001)");

/// A prefix that keeps a column from being looked up by an index.
pub(crate) const NO_INDEX: &str = "+";

/// A prefix for the id by which the rows found by an index are sorted. Plans are made without the values: the planner might read
/// all records in the order of their ids, however few pass.
pub(crate) const SORTED: &str = "+";

/// `insert_for_ids!(conn, table, id, rows)` inserts the rows of a `Vec`, and returns their ids in order.
macro_rules! insert_for_ids {
    ($conn:expr, $table:expr, $id:expr, $rows:expr) => {{
        let conn: &mut $crate::sqlite::Conn = $conn;
        async {
            let mut ids = Vec::new();
            for row in $rows {
                ids.push(
                    diesel::insert_into($table)
                        .values(row)
                        .returning($id)
                        .get_result(&mut *conn)
                        .await?,
                );
            }
            forecourt_kernel::StoreResult::Ok(ids)
        }
        .await
    }};
}

/// Rows that no other writer changes until the transaction ends. SQLite has one writer at a time, so that is true of all rows.
macro_rules! for_no_key_update {
    ($query:expr) => {
        $query
    };
}

/// The columns of a row that no other writer changes. SQLite has one writer at a time, so no change has to lock it.
macro_rules! read_locked {
    ($row:expr, $change:expr, $columns:expr) => {
        $row.select($columns)
    };
}

/// Rows that no other writer has locked. SQLite has one writer at a time, so that is true of all rows.
macro_rules! skip_locked {
    ($query:expr) => {
        $query
    };
}

/// Rows that no other writer deletes until the transaction ends. SQLite has one writer at a time, so that is true of all rows.
macro_rules! for_key_share {
    ($query:expr) => {
        $query
    };
}

/// Rows that no other writer changes now or until the transaction ends. SQLite has one writer at a time, so that is true of all
/// rows.
macro_rules! share_unlocked {
    ($query:expr) => {
        $query
    };
}

/// Rows that no other transaction locks in any mode until this one ends. SQLite has one writer at a time, so that is true of all
/// rows.
macro_rules! for_update {
    ($query:expr) => {
        $query
    };
}

/// A row's stored values of the columns of `$values`, so that a change names only those that differ: see `models::changes`.
macro_rules! stored {
    ($conn:expr, $row:expr, $values:ty) => {
        $row.select(<$values>::as_select()).get_optional::<$values>($conn).await
    };
}

/// Returns the timeline of the database's server: a file has none.
#[expect(clippy::unused_async, reason = "PostgreSQL is asked")]
pub(crate) async fn timeline(_: &mut super::Conn) -> forecourt_kernel::StoreResult<Option<String>> {
    Ok(None)
}

/// Returns the time of the database's server: a file has none.
#[expect(clippy::unused_async, reason = "PostgreSQL is asked")]
pub(crate) async fn clock(_: &mut super::Conn) -> forecourt_kernel::StoreResult<Option<i64>> {
    Ok(None)
}

pub(crate) use {
    for_key_share, for_no_key_update, for_update, insert_for_ids, insert_many, read_locked, share_unlocked,
    skip_locked, stored,
};
