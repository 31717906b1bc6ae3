//! Shared fixtures of tests: the database in memory, and a clock that is set by hand.

pub(crate) use forecourt_dealership::testing::MemoryDatabase;
use forecourt_kernel::Timestamp;
pub(crate) use forecourt_kernel::testing::FixedClock;

/// Returns a clock that stands still at this number of seconds after the epoch.
pub(crate) fn clock_at(epoch_seconds: i64) -> FixedClock {
    FixedClock::at(Timestamp::from_epoch_seconds(epoch_seconds))
}
