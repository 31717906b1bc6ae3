//! What PostgreSQL does in its own way.

/// `insert_many!(conn, table, rows)` inserts the rows of a `Vec` in one statement, and answers how many they were.
///
/// One row alone goes by a statement that stays prepared; the text of a longer one depends on how many rows there are.
macro_rules! insert_many {
    ($conn:expr, $table:expr, $rows:expr) => {
        async {
            let mut rows = $rows;
            match (rows.pop(), rows.is_empty()) {
                (None, _) => Ok(0),
                (Some(only), true) => diesel::insert_into($table).values(only).execute($conn).await,
                (Some(last), false) => {
                    rows.push(last);
                    diesel::insert_into($table).values(rows).execute($conn).await
                }
            }
        }
        .await
    };
}

pub(crate) use insert_many;
