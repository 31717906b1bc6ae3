//! The requests of callers: parsed, not yet checked against what storage holds.

use forecourt_kernel::{EventName, Range, ScopeSet, Timestamp};

use crate::{DeliveryStatus, EventHead, Events, TargetUrl, Topic, WebhookStatus};

/// `POST /2.0/webhooks`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateWebhook {
    /// Where deliveries are to go.
    pub url: TargetUrl,
    /// Which events they deliver.
    pub events: Events,
    /// What payloads are to show; `None` is the least that the events take.
    pub scopes: Option<ScopeSet>,
    /// A label.
    pub description: String,
}

/// `PATCH /2.0/webhooks/{id}`. What is `None` stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UpdateWebhook {
    /// Where deliveries go from now on.
    pub url: Option<TargetUrl>,
    /// Which events they deliver from now on.
    pub events: Option<Events>,
    /// Whether it is at work.
    pub status: Option<WebhookStatus>,
    /// A label.
    pub description: Option<String>,
}

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
        let within = |range: &Range<Timestamp>| {
            range.from.is_none_or(|from| event.at >= from) && range.to.is_none_or(|to| event.at <= to)
        };
        names.contains(&event.name)
            && record.is_none_or(|record| record == event.record)
            && created.as_ref().is_none_or(within)
    }
}
