//! What SQLite does in its own way.

/// `insert_many!(conn, table, rows)` inserts the rows of a `Vec`, and answers how many they were.
///
/// One prepared insert is run for each row: diesel-async cannot insert several at once here, and inside a transaction
/// nothing is gained by it.
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

/// The id of the next lead: of those behind it none is known before it is stored.
pub(crate) fn next_leads(_count: usize) -> String {
    "(SELECT CAST(coalesce(max(seq), 0) + 1 AS TEXT) FROM sqlite_sequence WHERE name = 'leads')".to_owned()
}

/// How many rows are written at once.
pub(crate) const ROWS_AT_ONCE: usize = 4096;

/// What stands before and behind the value of the condition that a record is a business's. Statistics show how many records a
/// business has on average: where one has nearly all, it would seem wise to read those of all others as well.
pub(crate) const OF_BUSINESS: (&str, &str) = ("likelihood(business_id = ", ", 0.0001)");

/// What stands before a column that no index is to be looked up by.
pub(crate) const NO_INDEX: &str = "+";

/// What stands before the id by which what an index has found is to be sorted. Plans are made without a look at the values: it
/// might seem wise to look at all records in the order of their ids, however few pass.
pub(crate) const SORTED: &str = "+";

/// `insert_for_ids!(conn, table, id, rows)` inserts the rows of a `Vec`, and answers their ids in order.
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

/// Rows that no other writer changes until the transaction ends. Writers take turns here, so all rows are.
macro_rules! for_no_key_update {
    ($query:expr) => {
        $query
    };
}

/// The columns of a row that no other writer changes. Writers take turns here, so no change has to lock it.
macro_rules! read_locked {
    ($row:expr, $change:expr, $columns:expr) => {
        $row.select($columns)
    };
}

/// Rows that no other writer has locked. Writers take turns here, so all rows are.
macro_rules! skip_locked {
    ($query:expr) => {
        $query
    };
}

/// Rows that no other writer deletes until the transaction ends. Writers take turns here, so all rows are.
macro_rules! for_key_share {
    ($query:expr) => {
        $query
    };
}

/// Rows that no other writer changes now or until the transaction ends. Writers take turns here, so all rows are.
macro_rules! share_unlocked {
    ($query:expr) => {
        $query
    };
}

/// Rows that no other transaction locks in any mode until this one ends. Writers take turns here, so all rows are.
macro_rules! for_update {
    ($query:expr) => {
        $query
    };
}

/// What a row has in the columns of `$values`, so that a change names only those that differ: see `models::changes`.
macro_rules! stored {
    ($conn:expr, $row:expr, $values:ty) => {
        $row.select(<$values>::as_select()).get_optional::<$values>($conn).await
    };
}

/// The timeline of the database's server: a file has none.
#[expect(clippy::unused_async, reason = "PostgreSQL is asked")]
pub(crate) async fn timeline(_: &mut super::Conn) -> forecourt_kernel::StoreResult<Option<String>> {
    Ok(None)
}

/// What the database's server takes the time to be: a file has none.
#[expect(clippy::unused_async, reason = "PostgreSQL is asked")]
pub(crate) async fn clock(_: &mut super::Conn) -> forecourt_kernel::StoreResult<Option<i64>> {
    Ok(None)
}

pub(crate) use {
    for_key_share, for_no_key_update, for_update, insert_for_ids, insert_many, read_locked, share_unlocked,
    skip_locked, stored,
};
