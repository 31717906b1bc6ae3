//! The indexes of texts for wildcard searches. They are like any others here: the planner knows when to use them.

use diesel::sql_types::BigInt;

use crate::selection::Selection;
use crate::statement::Sql;
use crate::trigrams;

/// The queries to run by themselves first: none, since the planner knows the values.
pub(crate) fn candidates(_selection: &Selection) -> Vec<Sql<BigInt>> {
    Vec::new()
}

/// The expression that is compared with a pattern. It is not the column itself where its index would be read whole, or where
/// records are read in order: the planner can only guess how many records match a pattern.
pub(crate) fn compared(column: &str, pattern: &str, in_order: bool) -> String {
    if trigrams::narrows(pattern) && !in_order {
        column.to_owned()
    } else {
        format!("({column} || '')")
    }
}
