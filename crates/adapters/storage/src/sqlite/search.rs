//! The index of texts that wildcard searches use: see the migration that makes `lead_search`.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};
use diesel_async::RunQueryDsl;
use forecourt_kernel::{StoreResult, TextFilter};
use forecourt_leads::LeadFilter;

use super::{Conn, Db};
use crate::error::store_error;
use crate::schema::leads;

/// A business with fewer leads has looked at all its texts before the index has told which.
const FEW_LEADS: i64 = 5_000;
/// More records than this are not looked up one by one: to read all texts of a business in a row takes no longer.
const MANY_FOUND: i64 = 10_000;

/// The condition that a lead is one that the index finds: none, if the filter searches for nothing that helps there. What it
/// finds may yet fail the filter, of a business that has about `leads` leads.
pub(crate) async fn found_by_index(
    conn: &mut Conn,
    filter: &LeadFilter,
    leads: i64,
) -> StoreResult<Option<Box<dyn BoxableExpression<leads::table, Db, SqlType = Bool>>>> {
    let Some(query) = query(filter).filter(|_| leads > FEW_LEADS) else {
        return Ok(None);
    };
    if !finds_few(conn, "lead_search", &query).await? {
        return Ok(None);
    }
    let condition = sql::<Bool>("leads.id IN (SELECT rowid FROM lead_search WHERE lead_search MATCH ")
        .bind::<Text, _>(query)
        .sql(" UNION ALL SELECT new.id FROM leads AS new WHERE new.id > (SELECT latest FROM lead_search_state))");
    Ok(Some(Box::new(condition)))
}

/// Whether an index of texts finds so few records that these are better looked up one by one.
pub(super) async fn finds_few(conn: &mut Conn, index: &str, query: &str) -> StoreResult<bool> {
    let found = format!("(SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ");
    let found = sql::<BigInt>(&found)
        .bind::<Text, _>(query)
        .sql(" LIMIT ")
        .bind::<BigInt, _>(MANY_FOUND)
        .sql("))");
    let found: i64 = diesel::select(found).get_result(conn).await.map_err(store_error)?;
    Ok(found < MANY_FOUND)
}

/// Whether an index helps to find texts that match a pattern: always, since to read all texts of a business from an index
/// takes less time than to look at its leads.
pub(crate) fn is_indexed(_pattern: &str) -> bool {
    true
}

/// What to ask the index for: some of the runs of three characters that a lead must have.
fn query(filter: &LeadFilter) -> Option<String> {
    let mut runs = Vec::new();
    for text in [&filter.name, &filter.email].into_iter().flatten() {
        if let TextFilter::Wildcard(pattern) = text {
            runs.extend(self::runs(pattern));
        }
    }
    (!runs.is_empty()).then(|| runs.join(" AND "))
}

/// Runs of three characters that a text must have to match a pattern, each as the index is asked for it.
pub(super) fn runs(pattern: &str) -> Vec<String> {
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

    #[track_caller]
    fn assert_query(name: &str, expected: Option<&str>) {
        let filter = LeadFilter {
            name: Some(TextFilter::Wildcard(name.to_owned())),
            ..LeadFilter::default()
        };
        assert_eq!(query(&filter).as_deref(), expected);
    }

    #[test]
    fn the_index_is_asked_for_runs_of_three() {
        assert_query("a%b%c", None);
        assert_query("%smi%", Some(r#""smi" AND "smi""#));
        assert_query("%zoë smith%", Some(r#""zoë" AND " sm" AND "ith" AND "ith""#));
        assert_query("an%smith", Some(r#""smi" AND "ith""#));
        assert_query(r#"%a"b%"#, Some(r#""a""b" AND "a""b""#));
    }

    #[test]
    fn only_a_pattern_asks_the_index() {
        let filter = LeadFilter {
            name: Some(TextFilter::Exact("smith".to_owned())),
            email: Some(TextFilter::Wildcard("%.com".to_owned())),
            ..LeadFilter::default()
        };
        assert_eq!(query(&filter).as_deref(), Some(r#"".co" AND "com""#));
    }
}
