//! Epochs of a database, by which what was read before it went back to an earlier state is distinguished from what is read after.

use std::fmt;

use crate::Timestamp;

/// A period in which a database gives out each number once: 0 for one that has never gone back to an earlier state.
///
/// A restored backup, or a standby that was promoted without the last commits, gives version numbers, event numbers and counts of
/// writes a second time. Whatever compares one of these with what it remembers compares the epoch too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Epoch(i64);

impl Epoch {
    /// That of a database that has never gone back.
    pub const FIRST: Self = Self(0);

    /// The epoch of that number.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number, as JSON has it.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// The next epoch, if it begins `now`: one backup that is restored twice gives two.
    #[must_use]
    pub fn raised(self, now: Timestamp) -> Self {
        Self(now.epoch_seconds().max(self.0.saturating_add(1)))
    }

    /// What marks an entity tag or a cursor as one of this epoch: `-e<number>`, and nothing in the first one.
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
