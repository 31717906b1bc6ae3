//! The requests of callers: parsed, not yet checked against what storage holds.

use forecourt_kernel::{EventName, Range, Timestamp};

use crate::{DeliveryStatus, EventHead, Topic};

/// Which deliveries a history shows. What is `None` does not narrow it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeliveryFilter {
    /// Standing there.
    pub status: Option<DeliveryStatus>,
    /// Of this topic.
    pub topic: Option<Topic>,
}

/// Which events the log shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventFilter {
    /// Those of these names.
    pub names: Vec<EventName>,
    /// Those that happened to the record of this id; to which kind of record, `names` says.
    pub record: Option<i64>,
    /// Those that happened within this range.
    pub created: Option<Range<Timestamp>>,
}

impl EventFilter {
    /// Whether the log shows that event.
    pub fn passes(&self, event: &EventHead) -> bool {
        let Self { names, record, created } = self;
        names.contains(&event.name)
            && record.is_none_or(|record| record == event.record)
            && created.is_none_or(|range| range.contains(&event.at))
    }
}
