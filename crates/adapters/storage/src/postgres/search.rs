//! The indexes of texts that wildcard searches use, which are like any others here: the planner knows when to use them.

use diesel::sql_types::BigInt;
use forecourt_kernel::StoreResult;

use super::Conn;
use crate::selection::{RecordKind, Selection};
use crate::statement::Sql;

/// What to ask an index for: nothing, since the pattern itself is enough of a condition.
pub(crate) async fn question(_conn: &mut Conn, _selection: &Selection) -> StoreResult<Option<String>> {
    Ok(None)
}

/// The condition that a record is one that an index finds; it is never needed.
pub(crate) fn found(_kind: RecordKind, _question: &str) -> Sql<BigInt> {
    Sql::new("true")
}

/// What is compared with a pattern: not the column itself where the index cannot narrow the texts that match. It finds runs of
/// three letters or digits and the beginning of the text; for a pattern with neither, it would be read whole.
pub(crate) fn compared(column: &str, pattern: &str) -> String {
    let is_searchable = pattern.split('%').enumerate().any(|(number, piece)| {
        let runs = piece.split(|character: char| !character.is_alphanumeric());
        number == 0 && !piece.is_empty() || runs.into_iter().any(|run| run.chars().nth(2).is_some())
    });
    if is_searchable {
        column.to_owned()
    } else {
        format!("({column} || '')")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_needs_a_run_or_a_beginning() {
        for pattern in ["%smi%", "j%n", "%a%b%smith", "x'yz%"] {
            assert_eq!(compared("name", pattern), "name", "{pattern}");
        }
        for pattern in ["%a%b%c%", "%sm%it%", "%---%", "%.%.%.%"] {
            assert_ne!(compared("name", pattern), "name", "{pattern}");
        }
    }
}
