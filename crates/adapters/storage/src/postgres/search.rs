//! The indexes of texts that wildcard searches use, which are like any others here: the planner knows when to use them.

use diesel::sql_types::BigInt;

use crate::selection::Selection;
use crate::statement::Sql;
use crate::trigrams;

/// What is looked up by itself: nothing, since the planner knows the values.
pub(crate) fn candidates(_selection: &Selection) -> Vec<Sql<BigInt>> {
    Vec::new()
}

/// What is compared with a pattern: not the column itself where its index would be read whole, or records are to be looked at in
/// order. How many match a pattern the planner can only guess.
pub(crate) fn compared(column: &str, pattern: &str, in_order: bool) -> String {
    if trigrams::narrows(pattern) && !in_order {
        column.to_owned()
    } else {
        format!("({column} || '')")
    }
}
