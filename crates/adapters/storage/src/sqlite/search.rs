//! The indexes of texts that wildcard searches use: see the migrations that make `lead_search` and `contact_search`.

use diesel::sql_types::BigInt;
use forecourt_kernel::StoreResult;

use super::Conn;
use crate::error::store_error;
use crate::selection::{RecordKind, Selection};
use crate::statement::{RunQueryDsl, Sql};

/// More records than this are not looked up one by one: to read all texts of a business in a row takes no longer.
const MANY_FOUND: i64 = 10_000;

/// What to ask the index for, of the records that a selection wants: none, if it finds no fewer than all.
pub(crate) async fn question(conn: &mut Conn, selection: &Selection) -> StoreResult<Option<String>> {
    let runs: Vec<String> = selection.patterns().flat_map(telling_runs).collect();
    let Some(index) = selection.kind.texts.filter(|_| !runs.is_empty()) else {
        return Ok(None);
    };
    let question = runs.join(" AND ");
    let mut found: Sql<BigInt> = Sql::new("SELECT count(*) FROM (SELECT 1 FROM ");
    found
        .sql(&format!("{index} WHERE {index} MATCH "))
        .bind(question.as_str())
        .sql(" LIMIT ")
        .bind(MANY_FOUND)
        .sql(")");
    let found: i64 = found.get_result(conn).await.map_err(store_error)?;
    Ok(Some(question).filter(|_| found < MANY_FOUND))
}

/// The condition that a record is one that the index finds, or too new to be in it. It may yet not match.
pub(crate) fn found(kind: RecordKind, question: &str) -> Sql<BigInt> {
    let (table, index) = (kind.table, kind.texts.unwrap_or_default());
    let mut found = Sql::new("id IN (SELECT rowid FROM ");
    found
        .sql(&format!("{index} WHERE {index} MATCH "))
        .bind(question)
        .sql(&format!(
            " UNION ALL SELECT id FROM {table} WHERE id > (SELECT latest FROM {index}_state))"
        ));
    found
}

/// What is compared with a pattern: the column.
pub(crate) fn compared(column: &str, _pattern: &str) -> String {
    column.to_owned()
}

/// Those of the mailbox, if it has any: what stands behind an @ is shared by many.
fn telling_runs(pattern: &str) -> Vec<String> {
    let mailbox = runs(pattern.split_inclusive('@').next().unwrap_or_default());
    if mailbox.is_empty() { runs(pattern) } else { mailbox }
}

/// Runs of three characters that a text must have to match a pattern, each as the index is queried for it.
fn runs(pattern: &str) -> Vec<String> {
    let mut runs = Vec::new();
    for piece in pattern.split('%') {
        let characters: Vec<char> = piece.chars().collect();
        runs.extend(characters.windows(3).step_by(3).map(quoted));
        runs.extend(characters.windows(3).last().map(quoted));
    }
    runs
}

fn quoted(run: &[char]) -> String {
    let text: String = run.iter().collect();
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_asked_for_runs_of_three() {
        for (pattern, expected) in [
            ("a%b%c", ""),
            ("%smi%", r#""smi" AND "smi""#),
            ("%zoë smith%", r#""zoë" AND " sm" AND "ith" AND "ith""#),
            ("an%smith", r#""smi" AND "ith""#),
            ("%ann%7@example.com", r#""ann" AND "ann""#),
            ("%@exa%", r#""@ex" AND "exa""#),
            (r#"%a"b%"#, r#""a""b" AND "a""b""#),
        ] {
            assert_eq!(telling_runs(pattern).join(" AND "), expected, "{pattern}");
        }
    }
}
