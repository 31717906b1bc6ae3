//! The indexes of texts that wildcard searches use: see the migrations that make `lead_search` and `contact_search`.

use diesel::sql_types::BigInt;
use forecourt_kernel::StoreResult;

use super::Conn;
use crate::error::store_error;
use crate::selection::{RecordKind, Selection};
use crate::statement::{RunQueryDsl, Sql};
use crate::trigrams;

/// More records than this are not looked up one by one: to read all texts of a business in a row takes no longer.
const MANY_FOUND: i64 = 10_000;

/// The query for the index that narrows a selection; none if the index finds as many as are read in a row.
pub(crate) async fn match_query(conn: &mut Conn, selection: &Selection) -> StoreResult<Option<String>> {
    let runs: Vec<String> = selection.patterns().flat_map(trigrams::selective).collect();
    let Some(index) = selection.kind.texts.filter(|_| !runs.is_empty()) else {
        return Ok(None);
    };
    let match_query = runs.join(" AND ");
    let mut found: Sql<BigInt> = Sql::new("SELECT count(*) FROM (SELECT 1 FROM ");
    found
        .sql(&format!("{index} WHERE {index} MATCH "))
        .bind(match_query.as_str())
        .sql(" LIMIT ")
        .bind(MANY_FOUND)
        .sql(")");
    let found: i64 = found.get_result(conn).await.map_err(store_error)?;
    Ok(Some(match_query).filter(|_| found < MANY_FOUND))
}

/// The condition that a record is one that the index finds, or too new to be in it. It may yet not match.
pub(crate) fn found(kind: RecordKind, match_query: &str) -> Sql<BigInt> {
    let (table, index) = (kind.table, kind.texts.unwrap_or_default());
    let mut found = Sql::new("id IN (SELECT rowid FROM ");
    found
        .sql(&format!("{index} WHERE {index} MATCH "))
        .bind(match_query)
        .sql(&format!(
            " UNION ALL SELECT id FROM {table} WHERE id > (SELECT latest FROM {index}_state))"
        ));
    found
}

/// What is compared with a pattern: the column.
pub(crate) fn compared(column: &str, _pattern: &str) -> String {
    column.to_owned()
}
