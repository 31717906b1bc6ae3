//! The indexes of texts that wildcard searches use, which are like any others here: the planner knows when to use them.

use diesel::sql_types::BigInt;

use crate::selection::Selection;
use crate::statement::Sql;
use crate::trigrams;

/// What is looked up by itself: nothing, since the planner knows the values.
pub(crate) fn candidates(_selection: &Selection) -> Vec<Sql<BigInt>> {
    Vec::new()
}

/// What is compared with a pattern: not the column itself where its index would be read whole.
pub(crate) fn compared(column: &str, pattern: &str) -> String {
    if trigrams::narrows(pattern) {
        column.to_owned()
    } else {
        format!("({column} || '')")
    }
}
