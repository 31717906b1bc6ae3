//! A delivery: one event on its way to one subscription.

use std::sync::Arc;

use forecourt_kernel::{BusinessId, DeliveryId, EventName, Moment, ScopeSet, Timestamp, WebhookId};

use crate::{Answer, Attempt, RetryAfter, Secret, TargetUrl, schedule::Schedule, subscription::names};

/// The subject of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// An event.
    Event(EventName),
    /// A test of the endpoint.
    Ping,
}

impl Topic {
    const PING: &'static str = "ping";

    /// The name in deliveries.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Event(event) => event.as_str(),
            Self::Ping => Self::PING,
        }
    }

    /// Returns the topic of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            Self::PING => Some(Self::Ping),
            _ => name.parse().ok().map(Self::Event),
        }
    }

    /// Returns `true` if a burst of deliveries of this topic is combined into one (contract, "Delivery rules" 5). Only updates
    /// are.
    pub fn settles(self) -> bool {
        matches!(self, Self::Event(event) if event.as_str().ends_with(".updated"))
    }

    /// Returns `true` if the event takes the place of updates of its record that still wait: it deletes the record, or cancels an
    /// appointment.
    pub fn deletes(self) -> bool {
        let Self::Event(event) = self else { return false };
        event == EventName::AppointmentCancelled || event.as_str().ends_with(".deleted")
    }

    /// The update that a discrete change outdates: a delivery of it that has not settled shows the later state (contract,
    /// "Delivery rules" 5). `None` for a ping, for an update itself, and for the first and the last event of a record.
    pub fn outdates(self) -> Option<EventName> {
        let Self::Event(event) = self else { return None };
        if self.settles() || self.deletes() || event.as_str().ends_with(".created") {
            return None;
        }
        format!("{}.updated", event.resource()).parse().ok()
    }

    /// The kind of record that the topic is about; `None` for a ping.
    pub fn resource(self) -> Option<&'static str> {
        match self {
            Self::Event(event) => Some(event.resource()),
            Self::Ping => None,
        }
    }
}

/// The status of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeliveryStatus {
    /// It still waits for an attempt, the first or another.
    Pending,
    /// The endpoint answered with a 2xx.
    Delivered,
    /// It was given up.
    Failed,
}

names! { DeliveryStatus: Pending = "pending", Delivered = "delivered", Failed = "failed", }

/// A delivery in the history of a subscription (contract, "Webhook delivery").
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// The delivery's id.
    pub id: DeliveryId,
    /// The topic of the delivery.
    pub topic: Topic,
    /// The event's id: the same for every delivery of one event.
    pub event_id: String,
    /// The delivery's status.
    pub status: DeliveryStatus,
    /// The number of attempts so far.
    pub attempts: u32,
    /// The status of the latest answer, if the latest attempt brought one.
    pub response_code: Option<u16>,
    /// The duration of the latest attempt, in milliseconds.
    pub response_ms: Option<u32>,
    /// The beginning of the latest answer's body.
    pub response_body: Option<String>,
    /// The reason why the latest attempt brought no answer.
    pub error: Option<String>,
    /// The time of the next attempt, while the delivery is pending.
    pub next_attempt_at: Option<Timestamp>,
    /// The time at which it was queued.
    pub created: Timestamp,
    /// The time at which it was delivered.
    pub delivered_at: Option<Timestamp>,
}

/// A subscription with its business, for code that works across businesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EndpointKey {
    /// The business that owns the subscription.
    pub business: BusinessId,
    /// The subscription.
    pub webhook: WebhookId,
}

/// A delivery to be attempted now, by the server that holds its lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DueDelivery {
    /// The delivery's id.
    pub id: DeliveryId,
    /// The topic of the delivery.
    pub topic: Topic,
    /// The event's id.
    pub event_id: String,
    /// The id of the record of the event; `None` for a ping, and once the event is no longer kept.
    pub record: Option<i64>,
    /// The record at the time of the event, as JSON, or of a later change that came before the event had settled. `None` for a
    /// ping, and once the event is no longer kept. All deliveries of an event share it.
    pub data: Option<Arc<str>>,
    /// The time of the event whose record is shown.
    pub happened: Timestamp,
    /// The number of earlier attempts.
    pub attempts: u32,
    /// The time of the first attempt.
    pub first_attempt: Option<Moment>,
    /// The end of the lease. No other server attempts the delivery before it.
    pub lease: Moment,
}

/// The data of a subscription that an attempt needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// The subscription.
    pub key: EndpointKey,
    /// The business's tag.
    pub business_tag: String,
    /// The URL of the endpoint.
    pub url: TargetUrl,
    /// The signing secret.
    pub secret: Secret,
    /// The scopes that limit what payloads show.
    pub scopes: ScopeSet,
    /// Set if the subscription receives events. Pings are sent even if it does not.
    pub active: bool,
}

/// The result of an attempt, to be recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttemptRecord {
    /// The delivery.
    pub delivery: DeliveryId,
    /// Its subscription.
    pub endpoint: EndpointKey,
    /// Set for a ping, which does not count towards the subscription's health.
    pub ping: bool,
    /// The number of attempts, including this one.
    pub attempts: u32,
    /// The time of the first attempt.
    pub first_attempt: Moment,
    /// The time at which this attempt ended.
    pub ended: Moment,
    /// The answer's status.
    pub response_code: Option<u16>,
    /// The duration of the attempt, in milliseconds.
    pub response_ms: u32,
    /// The beginning of the answer's body.
    pub response_body: Option<String>,
    /// The reason why there was no answer.
    pub error: Option<String>,
    /// The next step.
    pub next: Next,
}

/// The step that follows an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// None: the delivery succeeded.
    Delivered,
    /// Another attempt at this time.
    Retry(Moment),
    /// None: that was the last attempt.
    Failed,
}

impl Next {
    /// The status that the delivery gets.
    pub const fn status(self) -> DeliveryStatus {
        match self {
            Self::Delivered => DeliveryStatus::Delivered,
            Self::Retry(_) => DeliveryStatus::Pending,
            Self::Failed => DeliveryStatus::Failed,
        }
    }
}

impl Answer {
    /// Returns the earliest time of another attempt, if the endpoint names one (status 429 or 503).
    fn retry_at(&self, answered: Moment) -> Option<Moment> {
        match self.retry_after.filter(|_| matches!(self.status, 429 | 503))? {
            RetryAfter::Delay(delay) => {
                Some(answered.plus_millis(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX)))
            }
            RetryAfter::At(time) => Some(time),
        }
    }
}

impl DueDelivery {
    /// Makes the record of an attempt that began at `began` and ended at `ended`. `chance`, from 0 to 1, decides how much later
    /// than the schedule the next attempt is.
    pub fn validate(
        &self,
        endpoint: EndpointKey,
        attempt: Attempt,
        began: Moment,
        ended: Moment,
        schedule: &Schedule,
        chance: f64,
    ) -> AttemptRecord {
        let attempts = self.attempts.saturating_add(1);
        let first_attempt = self.first_attempt.unwrap_or(began);
        let ping = self.topic == Topic::Ping;
        let accepted = attempt.outcome.as_ref().is_ok_and(|answer| answer.accepts());
        let next = if accepted {
            Next::Delivered
        } else if ping {
            Next::Failed
        } else {
            let not_before = attempt.outcome.as_ref().ok().and_then(|answer| answer.retry_at(ended));
            schedule
                .next(attempts, first_attempt, ended, not_before, chance)
                .map_or(Next::Failed, Next::Retry)
        };
        let (response_code, response_body, error) = match attempt.outcome {
            Ok(answer) => (Some(answer.status), Some(answer.body), None),
            Err(undelivered) => (None, None, Some(undelivered.to_string())),
        };
        AttemptRecord {
            delivery: self.id,
            endpoint,
            ping,
            attempts,
            first_attempt,
            ended,
            response_code,
            response_ms: attempt.took_ms,
            response_body,
            error,
            next,
        }
    }

    /// Makes the record of a delivery that cannot be sent. It is marked as a ping, so that it does not count towards the
    /// subscription's health.
    pub fn unsendable(&self, endpoint: EndpointKey, now: Moment, why: &str) -> AttemptRecord {
        AttemptRecord {
            delivery: self.id,
            endpoint,
            ping: true,
            attempts: self.attempts,
            first_attempt: self.first_attempt.unwrap_or(now),
            ended: now,
            response_code: None,
            response_ms: 0,
            response_body: None,
            error: Some(why.to_owned()),
            next: Next::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discrete_change_outdates_the_update_of_its_record() {
        let outdated = |event| Topic::Event(event).outdates();
        assert_eq!(outdated(EventName::VehicleSold), Some(EventName::VehicleUpdated));
        assert_eq!(outdated(EventName::InvoicePaid), Some(EventName::InvoiceUpdated));
        for event in [
            EventName::VehicleCreated,
            EventName::VehicleUpdated,
            EventName::VehicleDeleted,
            EventName::AppointmentCancelled,
            EventName::AppointmentCancelled,
        ] {
            assert_eq!(outdated(event), None, "{event}");
        }
        assert_eq!(Topic::Ping.outdates(), None);
    }
}
