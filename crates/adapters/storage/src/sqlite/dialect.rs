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

pub(crate) use insert_many;
