//! Epochs of a database. They distinguish data that was read before the database went back to an earlier state from data read
//! since.

use std::fmt;

use crate::Timestamp;

/// A period in which a database issues each number once. It is 0 for a database that has never gone back to an earlier state.
///
/// A restored backup issues version numbers, event numbers and write counts a second time. So does a standby that was promoted
/// without the last commits. Code that compares such a number with a remembered one must compare the epoch too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Epoch(i64);

impl Epoch {
    /// The epoch of a database that has never gone back.
    pub const FIRST: Self = Self(0);

    /// The epoch with that number.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number, as in JSON.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// Returns the epoch that follows this one if it begins `now`. A backup that is restored twice starts two different epochs.
    #[must_use]
    pub fn raised(self, now: Timestamp) -> Self {
        Self(now.epoch_seconds().max(self.0.saturating_add(1)))
    }

    /// Returns the suffix that entity tags and cursors of this epoch carry: `-e<number>`, and nothing in the first epoch.
    pub fn mark(self) -> EpochMark {
        EpochMark(self)
    }
}

/// Writes [`Epoch::mark`].
#[derive(Clone, Copy, Debug)]
pub struct EpochMark(Epoch);

impl fmt::Display for EpochMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Epoch::FIRST => Ok(()),
            Epoch(number) => write!(f, "-e{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_epoch_is_later_than_the_one_before() {
        let now = Timestamp::from_epoch_seconds(1_800_000_000);
        let first = Epoch::FIRST.raised(now);
        assert_eq!(first.number(), 1_800_000_000);
        assert_eq!(first.raised(now).number(), 1_800_000_001);
        assert_eq!(first.raised(Timestamp::from_epoch_seconds(5)).number(), 1_800_000_001);
    }

    #[test]
    fn only_a_later_epoch_is_marked() {
        assert_eq!(Epoch::FIRST.mark().to_string(), "");
        assert_eq!(Epoch::new(7).mark().to_string(), "-e7");
    }
}
