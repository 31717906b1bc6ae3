//! SQL that is SQLite's own.

use diesel::dsl::sql;
use diesel::sql_types::Bool;
use forecourt_kernel::BusinessId;

use crate::statement::{RunQueryDsl, Sql};
use crate::trigrams;

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

/// The condition that a record has each trigram of a pattern, by the index of texts; none for a pattern without a trigram. Records
/// that are too new to be in the index pass: see the schema.
pub(crate) fn found_by_text(index: &str, table: &str, business: BusinessId, pattern: &str) -> Option<Sql<Bool>> {
    let trigrams = trigrams::of(pattern);
    if trigrams.is_empty() {
        return None;
    }
    let mut found = Sql::new(&format!("id IN (SELECT rowid FROM {index} WHERE {index} MATCH "));
    found
        .bind(trigrams.join(" AND "))
        .sql(&format!(" UNION ALL SELECT id FROM {table} WHERE business_id = "))
        .bind(business.get())
        .sql(&format!(" AND id > (SELECT latest FROM {index}_state))"));
    Some(found)
}

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

/// Returns `true` if any record has been given an id: a business has the first one.
pub(crate) async fn has_given_ids(conn: &mut super::Conn) -> forecourt_kernel::StoreResult<bool> {
    let given =
        sql::<Bool>("EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'businesses' AND seq & ((1 << 44) - 1) > 0)");
    diesel::select(given).get_result(conn).await
}

/// Lets the ids of all tables begin after this one.
pub(crate) async fn begin_ids(conn: &mut super::Conn, base: i64) -> forecourt_kernel::StoreResult<()> {
    diesel::sql_query("DELETE FROM sqlite_sequence").execute(conn).await?;
    diesel::sql_query(format!(
        "INSERT INTO sqlite_sequence (name, seq) \
         SELECT name, {base} FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
    ))
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) use {insert_for_ids, insert_many, stored};
