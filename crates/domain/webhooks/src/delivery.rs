//! A delivery: one event on its way to one subscription.

use std::sync::Arc;

use forecourt_kernel::{BusinessId, DeliveryId, EventName, Moment, ScopeSet, Timestamp, WebhookId};

use crate::{Answer, Attempt, RetryAfter, Secret, TargetUrl, schedule::Schedule, subscription::names};

/// What a delivery reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Something that happened.
    Event(EventName),
    /// That the endpoint is being tried out.
    Ping,
}

impl Topic {
    const PING: &'static str = "ping";

    /// The name, as deliveries carry it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Event(event) => event.as_str(),
            Self::Ping => Self::PING,
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            Self::PING => Some(Self::Ping),
            _ => name.parse().ok().map(Self::Event),
        }
    }

    /// Whether a burst of it is delivered as one (contract, "Delivery rules" 5): updates are, all else is not.
    pub fn settles(self) -> bool {
        matches!(self, Self::Event(event) if event.as_str().ends_with(".updated"))
    }

    /// Whether it is the last that happens to a record.
    pub fn deletes(self) -> bool {
        matches!(self, Self::Event(event) if event.as_str().ends_with(".deleted"))
    }

    /// What kind of record it is about; none for a ping.
    pub fn resource(self) -> Option<&'static str> {
        match self {
            Self::Event(event) => Some(event.resource()),
            Self::Ping => None,
        }
    }
}

/// Where a delivery stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeliveryStatus {
    /// On its way.
    Pending,
    /// Answered with a 2xx.
    Delivered,
    /// Given up.
    Failed,
}

names! { DeliveryStatus: Pending = "pending", Delivered = "delivered", Failed = "failed", }

/// A delivery as its history shows it (contract, "Webhook delivery").
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// What it reports.
    pub topic: Topic,
    /// The event's id: the same for every delivery of one event.
    pub event_id: String,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// How often it was tried.
    pub attempts: u32,
    /// The status of the latest answer, if the latest attempt brought one.
    pub response_code: Option<u16>,
    /// How long the latest attempt took, in milliseconds.
    pub response_ms: Option<u32>,
    /// The beginning of the latest answer's body.
    pub response_body: Option<String>,
    /// Why the latest attempt brought no answer.
    pub error: Option<String>,
    /// When it is tried next, while it is pending.
    pub next_attempt_at: Option<Timestamp>,
    /// When it was queued.
    pub created: Timestamp,
    /// When it was delivered.
    pub delivered_at: Option<Timestamp>,
}

/// Names a subscription together with the business that it belongs to, for those who work across businesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EndpointKey {
    /// Whose it is.
    pub business: BusinessId,
    /// The subscription.
    pub webhook: WebhookId,
}

/// A delivery to be attempted now, by the server that holds its lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DueDelivery {
    /// Its id.
    pub id: DeliveryId,
    /// What it reports.
    pub topic: Topic,
    /// The event's id.
    pub event_id: String,
    /// The id of the record that it happened to; `None` where it is no longer kept, and for a ping.
    pub record: Option<i64>,
    /// The record as it was, as JSON; `None` where it is no longer kept, and for a ping. All deliveries of an event share
    /// it.
    pub data: Option<Arc<str>>,
    /// When it happened.
    pub happened: Timestamp,
    /// How often it was tried before.
    pub attempts: u32,
    /// When it was first tried.
    pub first_attempt: Option<Moment>,
    /// The end of the lease; no other server attempts it before.
    pub lease: Moment,
}

/// What an attempt needs to know of a subscription.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// The subscription.
    pub key: EndpointKey,
    /// The business's tag.
    pub business_tag: String,
    /// Where to.
    pub url: TargetUrl,
    /// What to sign with.
    pub secret: Secret,
    /// What payloads may show.
    pub scopes: ScopeSet,
    /// Whether it receives events; pings reach it all the same.
    pub active: bool,
}

/// What came of an attempt, to be recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttemptRecord {
    /// The delivery.
    pub delivery: DeliveryId,
    /// Its subscription.
    pub endpoint: EndpointKey,
    /// Whether it was a ping, which says nothing of how the subscription fares.
    pub ping: bool,
    /// How often it was tried by now.
    pub attempts: u32,
    /// When it was first tried.
    pub first_attempt: Moment,
    /// When this attempt ended.
    pub ended: Moment,
    /// The answer's status.
    pub response_code: Option<u16>,
    /// How long it took, in milliseconds.
    pub response_ms: u32,
    /// The beginning of the answer's body.
    pub response_body: Option<String>,
    /// Why there was no answer.
    pub error: Option<String>,
    /// What follows.
    pub next: Next,
}

/// What follows an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing: it is delivered.
    Delivered,
    /// Another attempt.
    Retry(Moment),
    /// Nothing: that was the last.
    Failed,
}

impl Next {
    /// Where the delivery stands by that.
    pub const fn status(self) -> DeliveryStatus {
        match self {
            Self::Delivered => DeliveryStatus::Delivered,
            Self::Retry(_) => DeliveryStatus::Pending,
            Self::Failed => DeliveryStatus::Failed,
        }
    }
}

impl Answer {
    /// The earliest time of another attempt, if the endpoint says one (status 429 or 503).
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
    /// What an attempt that began at `began` and ended at `ended` means for the delivery. `chance`, from 0 to 1, decides
    /// how far off the schedule the next attempt is.
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

    /// The end of a delivery that cannot be sent, and says nothing of how the subscription fares.
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
