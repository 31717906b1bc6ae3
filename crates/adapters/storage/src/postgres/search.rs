//! The indexes of texts that wildcard searches use, which are like any others here: the planner knows when to use them.

use diesel::sql_types::BigInt;
use forecourt_kernel::StoreResult;

use super::Conn;
use crate::selection::{RecordKind, Selection};
use crate::statement::Sql;
use crate::trigrams;

/// What to ask an index for: nothing, since the pattern itself is enough of a condition.
pub(crate) async fn match_query(_conn: &mut Conn, _selection: &Selection) -> StoreResult<Option<String>> {
    Ok(None)
}

/// The condition that a record is one that an index finds; it is never needed.
pub(crate) fn found(_kind: RecordKind, _match_query: &str) -> Sql<BigInt> {
    Sql::new("true")
}

/// What is compared with a pattern: not the column itself where its index would be read whole.
pub(crate) fn compared(column: &str, pattern: &str) -> String {
    if trigrams::narrows(pattern) {
        column.to_owned()
    } else {
        format!("({column} || '')")
    }
}
