use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;
use forecourt_kernel::Timestamp;

/// A business's counter of one kind.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::counters, check_for_backend(Pg, Sqlite))]
pub(crate) struct CounterRow {
    pub(crate) kind: String,
    #[diesel(embed)]
    pub(crate) counter: Counter,
}

/// The number of records of a kind, and of their writes, and the latest number that was given out with its stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = crate::schema::counters, check_for_backend(Pg, Sqlite))]
pub(crate) struct Counter {
    pub(crate) records: i64,
    pub(crate) writes: i64,
    pub(crate) number: i64,
    pub(crate) stamp: i64,
    /// Some stamp ran against the numbers, after the clock was put back.
    pub(crate) unordered: bool,
}

impl Counter {
    /// Counts a write, which adds `more` to the number of records.
    pub(crate) const fn write(&mut self, more: i64) {
        self.records += more;
        self.writes += 1;
    }

    /// Gives out the next number, to something made at `at`, with its stamp ([`Timestamp::stamp_after`] that of the number
    /// before).
    pub(crate) fn next(&mut self, at: Timestamp) -> (i64, Timestamp) {
        let stamp = at.stamp_after(Timestamp::from_epoch_seconds(self.stamp));
        self.unordered |= stamp.epoch_seconds() < self.stamp;
        self.stamp = stamp.epoch_seconds();
        self.number += 1;
        (self.number, stamp)
    }

    /// Gives out the next number, to something that is loaded with its stamp, which is raised to that of the number before.
    pub(crate) fn next_loaded(&mut self, created: Timestamp) -> (i64, Timestamp) {
        self.stamp = self.stamp.max(created.epoch_seconds());
        self.number += 1;
        (self.number, Timestamp::from_epoch_seconds(self.stamp))
    }
}
