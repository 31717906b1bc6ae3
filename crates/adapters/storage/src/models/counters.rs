use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;
use forecourt_kernel::Timestamp;

/// The numbers that a business's leads and events get, and the number of its leads.
#[derive(Clone, Debug, Queryable, Selectable, AsChangeset)]
#[diesel(table_name = crate::schema::business_counters, check_for_backend(Pg, Sqlite))]
pub(crate) struct Numbers {
    pub(crate) leads: i64,
    pub(crate) lead_writes: i64,
    /// The latest lead's number.
    pub(crate) lead_reference: i64,
    pub(crate) lead_created: i64,
    /// The latest event's number.
    pub(crate) event_sequence: i64,
    pub(crate) event_created: i64,
    /// Some stamp ran against the numbers, after the clock was put back.
    pub(crate) stamps_unordered: bool,
}

impl Numbers {
    /// The stamp of the next lead, made at `at`.
    pub(crate) fn stamp_lead(&mut self, at: Timestamp) -> i64 {
        let stamp = at
            .stamp_after(Timestamp::from_epoch_seconds(self.lead_created))
            .epoch_seconds();
        self.stamps_unordered |= stamp < self.lead_created;
        self.lead_created = stamp;
        stamp
    }

    /// The stamp of the next event, which happened at `at`.
    pub(crate) fn stamp_event(&mut self, at: Timestamp) -> Timestamp {
        let stamp = at.stamp_after(Timestamp::from_epoch_seconds(self.event_created));
        self.stamps_unordered |= stamp.epoch_seconds() < self.event_created;
        self.event_created = stamp.epoch_seconds();
        stamp
    }
}
