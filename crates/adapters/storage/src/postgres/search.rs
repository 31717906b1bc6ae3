//! The index of texts that wildcard searches use, which is one like any other here: the planner knows when to use it.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_kernel::StoreResult;
use forecourt_leads::LeadFilter;

use super::{Conn, Db};
use crate::schema::leads;

/// Whether the index can tell which texts match a pattern. It holds runs of three letters or digits, and beginnings of
/// words; asked for neither, it would read itself whole, and then all texts.
pub(crate) fn is_indexed(pattern: &str) -> bool {
    pattern.split('%').enumerate().any(|(number, piece)| {
        let mut in_word = 0;
        // Only the first piece is known to begin a word, unless something stands before it that is not of a word.
        let mut begins = number == 0;
        piece.chars().any(|character| {
            if character.is_alphanumeric() {
                in_word += 1;
            } else {
                in_word = 0;
                begins = true;
            }
            in_word == 3 || (begins && in_word > 0)
        })
    })
}

/// The condition that a lead is one that the index finds: none, since the pattern itself is enough of a condition.
pub(crate) async fn found_by_index(
    _conn: &mut Conn,
    _filter: &LeadFilter,
    _leads: i64,
) -> StoreResult<Option<Box<dyn BoxableExpression<leads::table, Db, SqlType = Bool>>>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_needs_a_run_or_the_beginning_of_a_word() {
        for pattern in ["%smi%", "j%n", "%@g%", "a%b%smith", "x'yz%"] {
            assert!(is_indexed(pattern), "{pattern}");
        }
        for pattern in ["%a%b%c%", "%sm%it%", "%---%", "%.%.%.%"] {
            assert!(!is_indexed(pattern), "{pattern}");
        }
    }
}
