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

/// The id of the next record of this table. The ids after it are not known before that one is stored.
pub(crate) fn next_ids(table: &str, _count: usize) -> String {
    format!("(SELECT CAST(coalesce(max(seq), 0) + 1 AS TEXT) FROM sqlite_sequence WHERE name = '{table}')")
}

/// No row is locked: there is one writer at a time.
pub(crate) const LOCKS_ROWS: bool = false;

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

pub(crate) use {insert_for_ids, insert_many, stored};
