//! A webhook subscription, and which events it takes.

use forecourt_kernel::{EventName, ScopeSet, Timestamp, Version, WebhookId};

use crate::{EndpointKey, TargetUrl};

/// A subscription (contract, "Webhook subscription"). Its secret is kept apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// What its owner says of it.
    pub content: WebhookDraft,
    /// The last characters of its secret.
    pub secret_hint: String,
    /// Deliveries that failed for good, one after the other; a success makes it 0.
    pub failure_count: u32,
    /// How the latest attempt ended.
    pub last_status: Option<LastStatus>,
    /// When the latest attempt ended.
    pub last_delivery_at: Option<Timestamp>,
    /// When it was created.
    pub created: Timestamp,
    /// When its owner, or a disabling, last changed it.
    pub updated: Timestamp,
    /// Which state of it this is.
    pub version: Version,
}

impl Webhook {
    /// Which state of it is shown: deliveries are attempted without a change of the subscription.
    pub fn version_shown(&self) -> Version {
        let attempts = (self.failure_count, self.last_status, self.last_delivery_at);
        if attempts == (0, None, None) {
            self.version
        } else {
            self.version.shown_with(attempts)
        }
    }
}

/// What the owner of a subscription says of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebhookDraft {
    /// Where deliveries go.
    pub url: TargetUrl,
    /// A label.
    pub description: String,
    /// Which events it takes.
    pub events: Events,
    /// What its payloads may show: fixed when it was created.
    pub scopes: ScopeSet,
    /// Whether it takes anything at all.
    pub status: WebhookStatus,
}

/// Which events a subscription takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Events {
    /// All that there are and will be, written `*`.
    All,
    /// These.
    Named(Vec<EventName>),
}

/// Whether a subscription is at work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WebhookStatus {
    /// It receives events.
    Active,
    /// It receives nothing, and collects nothing; what was queued before waits.
    Disabled,
}

/// How an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LastStatus {
    /// With a 2xx answer.
    Delivered,
    /// With anything else.
    Failed,
}

/// What of an active subscription decides which events it receives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subscriber {
    /// The subscription.
    pub endpoint: EndpointKey,
    /// Which events it takes.
    pub events: Events,
    /// What its payloads may show.
    pub scopes: ScopeSet,
}

impl Events {
    /// Whether `event` is among them.
    pub fn contain(&self, event: EventName) -> bool {
        match self {
            Self::All => true,
            Self::Named(events) => events.contains(&event),
        }
    }
}

impl Subscriber {
    /// Whether it receives `event`: it must be subscribed to it, and its scopes must hold the event's read scope (contract,
    /// "Events").
    pub fn receives(&self, event: EventName) -> bool {
        self.scopes.contains(event.scope()) && self.events.contain(event)
    }
}

macro_rules! names {
    ($type:ident: $($variant:ident = $name:literal,)+) => {
        impl $type {
            /// The name, as the API carries it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The one of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use names;

names! { WebhookStatus: Active = "active", Disabled = "disabled", }
names! { LastStatus: Delivered = "delivered", Failed = "failed", }

#[cfg(test)]
mod tests {
    use forecourt_kernel::{BusinessId, Scope};

    use super::*;

    #[test]
    fn an_event_takes_its_name_and_its_scope() {
        let subscriber = |events, scopes: &[Scope]| Subscriber {
            endpoint: EndpointKey {
                business: BusinessId::new(1),
                webhook: WebhookId::new(1),
            },
            events,
            scopes: scopes.iter().copied().collect(),
        };
        let all = subscriber(Events::All, &[Scope::LeadsRead]);
        assert!(all.receives(EventName::LeadCreated) && !all.receives(EventName::ContactCreated));
        let one = subscriber(
            Events::Named(vec![EventName::LeadCreated, EventName::ContactCreated]),
            &[Scope::LeadsRead, Scope::VehiclesRead],
        );
        assert!(one.receives(EventName::LeadCreated));
        assert!(!one.receives(EventName::LeadDeleted), "it did not ask");
        assert!(!one.receives(EventName::ContactCreated), "it may not know");
    }
}
