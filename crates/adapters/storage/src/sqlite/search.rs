//! The conditions of a list that are looked up by themselves first.
//!
//! SQLite plans without the values. It cannot distinguish a range that leaves few records from one that leaves them all, nor does
//! it know the number of entries that an index of texts would find.

use diesel::sql_types::BigInt;

use crate::selection::{Condition, Selection, TextIndex, within};
use crate::statement::Sql;
use crate::trigrams;

/// Queries for the ids of all records that may pass, each by one index. It is not known yet if one of them finds few.
pub(crate) fn candidates(selection: &Selection) -> Vec<Sql<BigInt>> {
    let ranges = selection.conditions.iter().filter_map(|condition| match condition {
        Condition::Within(column, range) => {
            let table = selection.kind.table;
            let mut ids = Sql::new(&format!("SELECT id FROM {table} WHERE business_id = "));
            ids.bind(selection.business.get()).sql(" AND ");
            within(&mut ids, column, *range);
            Some(ids)
        }
        _ => None,
    });
    // The only condition is looked up by itself in any case.
    let ranges = ranges.filter(|_| selection.conditions.len() > 1);
    by_texts(selection).into_iter().chain(ranges).collect()
}

/// Queries the index of texts, and the records that are too new to be in it: see the migration that makes `lead_search`.
fn by_texts(selection: &Selection) -> Option<Sql<BigInt>> {
    let TextIndex {
        name: index,
        has_columns,
    } = selection.kind.texts?;
    let wanted = selection.patterns().filter_map(|(column, pattern)| {
        let runs = Some(trigrams::selective(pattern)).filter(|runs| !runs.is_empty())?;
        let runs = runs.join(" AND ");
        Some(if has_columns {
            format!("{column} : ({runs})")
        } else {
            runs
        })
    });
    let wanted: Vec<String> = wanted.collect();
    if wanted.is_empty() {
        return None;
    }
    let table = selection.kind.table;
    let mut ids = Sql::new(&format!("SELECT rowid FROM {index} WHERE {index} MATCH "));
    ids.bind(wanted.join(" AND "))
        .sql(&format!(" UNION ALL SELECT id FROM {table} WHERE business_id = "))
        .bind(selection.business.get())
        .sql(&format!(" AND id > (SELECT latest FROM {index}_state)"));
    Some(ids)
}

/// The expression that is compared with a pattern: the column.
pub(crate) fn compared(column: &str, _pattern: &str, _in_order: bool) -> String {
    column.to_owned()
}
