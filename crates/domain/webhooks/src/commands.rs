//! The requests of callers: parsed, but not yet checked against stored data.

use forecourt_kernel::{EventName, Range, Timestamp};

use crate::{DeliveryStatus, EventHead, Topic};

/// A filter of a delivery history. A field that is `None` does not narrow it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeliveryFilter {
    /// Deliveries in this status.
    pub status: Option<DeliveryStatus>,
    /// Deliveries of this topic.
    pub topic: Option<Topic>,
}

/// A filter of the event log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventFilter {
    /// Events with one of these names.
    pub names: Vec<EventName>,
    /// Events of the record with this id. The kind of record follows from `names`.
    pub record: Option<i64>,
    /// Events recorded within this range.
    pub created: Option<Range<Timestamp>>,
}

impl EventFilter {
    /// Returns `true` if the event passes the filter.
    pub fn passes(&self, event: &EventHead) -> bool {
        let Self { names, record, created } = self;
        names.contains(&event.name)
            && record.is_none_or(|record| record == event.record)
            && created.is_none_or(|range| range.contains(&event.at))
    }
}
