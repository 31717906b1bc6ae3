//! The indexes of texts that wildcard searches use, which are like any others here: the planner knows when to use them.

use diesel::sql_types::BigInt;
use forecourt_kernel::StoreResult;

use super::Conn;
use crate::selection::{Kind, Selection};
use crate::statement::Sql;

/// What to ask an index for: nothing, since the pattern itself is enough of a condition.
pub(crate) async fn question(_conn: &mut Conn, _selection: &Selection) -> StoreResult<Option<String>> {
    Ok(None)
}

/// The condition that a record is one that an index finds; it is never asked for.
pub(crate) fn found(_kind: Kind, _question: &str) -> Sql<BigInt> {
    Sql::new("true")
}
