//! The index of emails that wildcard searches use, which is one like any other here: the planner knows when to use it.

use std::ops::RangeInclusive;

use forecourt_contacts::ContactFilter;
use forecourt_kernel::StoreResult;

use super::Conn;
use super::search::is_indexed;
use crate::models::Candidates;

/// Among how many of the newest contacts a page is looked for first. The index finds all at once, so it is asked only for what
/// is rarer than a page in so many.
pub(crate) const NEAR: i64 = 4_096;

/// The contacts that the index finds: none are looked up, since the pattern itself is enough of a condition.
pub(crate) async fn candidates(
    _conn: &mut Conn,
    _filter: &ContactFilter,
    _contacts: i64,
    _among: RangeInclusive<i64>,
) -> StoreResult<Option<Candidates<super::Db>>> {
    Ok(None)
}

/// The pattern that the index is asked for, which all emails match that match this one: the mailbox if that is enough, since
/// what stands behind the @ is shared by many. None, if the index knows nothing of it.
pub(crate) fn searched(pattern: &str) -> Option<String> {
    if let Some((mailbox, _)) = pattern.split_once('@') {
        let mailbox = format!("{mailbox}@%");
        let has_run = mailbox.split('%').any(|piece| piece.chars().count() >= 3);
        if has_run && is_indexed(&mailbox) {
            return Some(mailbox);
        }
    }
    is_indexed(pattern).then(|| pattern.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_asked_for_the_mailbox_if_that_is_enough() {
        for (pattern, expected) in [
            ("%ann.%7@example.com", Some("%ann.%7@%")),
            ("%@example.com", Some("%@example.com")),
            ("%7@example.com", Some("%7@example.com")),
            ("ann%", Some("ann%")),
            ("%a%n%n%", None),
        ] {
            assert_eq!(searched(pattern).as_deref(), expected, "{pattern}");
        }
    }
}
