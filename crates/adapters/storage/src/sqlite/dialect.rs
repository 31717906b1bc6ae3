//! What SQLite does in its own way.

/// `insert_many!(conn, table, rows)` inserts the rows of a `Vec`, and answers how many they were.
///
/// One prepared insert is run for each row: diesel-async cannot insert several at once here, and inside a transaction
/// nothing is gained by it.
macro_rules! insert_many {
    ($conn:expr, $table:expr, $rows:expr) => {
        async {
            let mut count = 0;
            for row in $rows {
                count += diesel::insert_into($table).values(row).execute($conn).await?;
            }
            diesel::QueryResult::Ok(count)
        }
        .await
    };
}

/// Whether a statement may be planned anew for the values of each execution. A plan is made with the statement here, and
/// kept.
pub(crate) const PLANS_BY_VALUES: bool = false;

/// How many rows are written at once.
pub(crate) const ROWS_AT_ONCE: usize = 4096;

/// What stands before and behind an array in JSON whose elements are to be rows, each its `value`.
pub(crate) const EACH: (&str, &str) = ("json_each(", ") AS each");

/// What stands before a column that no index is to be looked up by: the query says which one serves it best.
pub(crate) const NO_INDEX: &str = "+";

/// To look at all vehicles in a row takes as long as to find one in so many of them by an index and look it up.
pub(crate) const WORTH_FINDING: i64 = 20;

/// The keys of a vehicle as JSON.
pub(crate) const VEHICLE_KEYS: &str = "vehicle_facts.keys";

/// `insert_for_ids!(conn, table, id, rows)` inserts the rows of a `Vec`, and answers their ids in order.
macro_rules! insert_for_ids {
    ($conn:expr, $table:expr, $id:expr, $rows:expr) => {
        async {
            let mut ids = Vec::new();
            for row in $rows {
                ids.push(
                    diesel::insert_into($table)
                        .values(row)
                        .returning($id)
                        .get_result($conn)
                        .await?,
                );
            }
            diesel::QueryResult::Ok(ids)
        }
        .await
    };
}

/// Rows that no other writer changes until the transaction ends. Writers take turns here, so all rows are.
macro_rules! locked {
    ($query:expr) => {
        $query
    };
}

/// Rows that no other writer has locked. Writers take turns here, so all rows are.
macro_rules! free_rows {
    ($query:expr) => {
        $query
    };
}

/// Rows that no other writer deletes until the transaction ends. Writers take turns here, so all rows are.
macro_rules! kept {
    ($query:expr) => {
        $query
    };
}

/// Rows that no other writer changes until the transaction ends. Writers take turns here, so all rows are.
macro_rules! shared {
    ($query:expr) => {
        $query
    };
}

/// Rows that nobody else holds in any way until the transaction ends. Writers take turns here, so all rows are.
macro_rules! owned {
    ($query:expr) => {
        $query
    };
}

pub(crate) use {free_rows, insert_for_ids, insert_many, kept, locked, owned, shared};
