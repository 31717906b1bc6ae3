//! Webhook subscriptions and the events that they take.

use forecourt_kernel::{
    BoundedList, BoundedText, Change, EventName, Field, FromJson, InvalidValue, Line, Scope, ScopeSet, Timestamp,
    Version, WebhookId, bounds::MAX_WEBHOOK_DESCRIPTION_CHARS, quoted,
};
use serde_json::Value;

use crate::{EndpointKey, TargetPolicy, TargetUrl};
#[cfg(feature = "openapi")]
use crate::{
    target::url_schema,
    view::{scopes_schema, wanted_events_schema},
};

/// A subscription (contract, "Webhook subscription"). Its secret is stored separately.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Webhook {
    /// The subscription's id.
    pub id: WebhookId,
    /// The fields that its owner writes.
    pub content: WebhookDraft,
    /// The last characters of its secret.
    pub secret_hint: String,
    /// The number of deliveries in a row that failed for good. A success resets it to 0.
    pub failure_count: u32,
    /// The outcome of the latest attempt.
    pub last_status: Option<LastStatus>,
    /// The time at which the latest attempt ended.
    pub last_delivery_at: Option<Timestamp>,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time at which its owner last changed it, or at which it was disabled.
    pub updated: Timestamp,
    /// The record's version.
    pub version: Version,
}

impl Webhook {
    /// Returns the version of the representation. It differs from the record's, because attempts change what is shown without
    /// changing the subscription.
    pub fn version_shown(&self) -> Version {
        let attempts = (self.failure_count, self.last_status, self.last_delivery_at);
        if attempts == (0, None, None) {
            self.version
        } else {
            self.version.shown_with(attempts)
        }
    }
}

/// The description of a subscription.
pub type Label = BoundedText<MAX_WEBHOOK_DESCRIPTION_CHARS>;

forecourt_kernel::fields! {
    /// The fields of a subscription that its owner writes.
    #[derive(Eq)]
    content WebhookDraft;
    /// A new subscription, or changes to one.
    changes WebhookChanges, validated by TargetPolicy;

    /// The endpoint, an https URL.
    url: #[cfg_attr(feature = "openapi", schema(schema_with = url_schema))] TargetUrl => TargetUrl, rule is_allowed;
    /// `*` for all events, present and future, or an array of their names.
    events: #[cfg_attr(feature = "openapi", schema(schema_with = wanted_events_schema))] EventNames => Events, rule is_not_null;
    /// The scopes that limit what payloads show. The key must have each of them. They must include the read scopes of the events
    /// that are named, or with `*` at least one. By default the read scopes of the events. On creation only.
    scopes: #[cfg_attr(feature = "openapi", schema(schema_with = scopes_schema))] ScopeNames => ScopeSet;
    /// active or disabled; null makes it active, as a new one is. On change only.
    status: #[cfg_attr(feature = "openapi", schema(value_type = Option<WebhookStatus>, inline))] WebhookStatus => WebhookStatus;
    /// A label; null clears it.
    description: Label => String;
}

impl WebhookDraft {
    /// The defaults of the fields.
    pub(crate) fn blank() -> Self {
        Self {
            url: TargetUrl::from_stored(String::new()),
            events: Events::All,
            scopes: ScopeSet::NONE,
            status: WebhookStatus::Active,
            description: String::new(),
        }
    }
}

fn is_not_null<T>(field: &Field<T>, _: &TargetPolicy) -> InvalidValue {
    match field {
        Field::Null => InvalidValue::here("must not be null"),
        _ => InvalidValue::default(),
    }
}

fn is_allowed(url: &Field<TargetUrl>, policy: &TargetPolicy) -> InvalidValue {
    match url {
        Field::Value(url) => match policy.check(url) {
            Ok(()) => InvalidValue::default(),
            Err(invalid) => InvalidValue::here(invalid.to_string()),
        },
        _ => is_not_null(url, policy),
    }
}

/// Names in a body. Unknown names are faults; the known ones are validated all the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names<T> {
    known: Option<T>,
    unknown: InvalidValue,
}

/// Names of events in a body.
pub type EventNames = Names<Events>;

/// Names of scopes in a body.
pub type ScopeNames = Names<ScopeSet>;

impl<T> Names<T> {
    /// The known names. `None` if all names are unknown: then it cannot be said which scopes they need.
    pub const fn known(&self) -> Option<&T> {
        self.known.as_ref()
    }
}

impl<T> From<T> for Names<T> {
    fn from(known: T) -> Self {
        Self {
            known: Some(known),
            unknown: InvalidValue::default(),
        }
    }
}

impl<T, R: ?Sized> Change<T, R> for Names<T>
where
    Self: FromJson,
{
    fn shape_faults(&self) -> InvalidValue {
        self.unknown.clone()
    }

    fn apply(self, stored: &mut T, _: &T, _: &R) {
        if let Some(known) = self.known {
            *stored = known;
        }
    }
}

impl FromJson for EventNames {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let names = match value {
            Value::String(text) if text == "*" => return Ok(Events::All.into()),
            Value::Array(names) if !names.is_empty() => BoundedList::<Value>::from_json(Value::Array(names))?,
            _ => return Err(InvalidValue::here("must be * or an array of at least one event's name")),
        };
        let mut known: Vec<EventName> = Vec::new();
        let mut unknown = InvalidValue::default();
        for name in names {
            match name.as_str().map(str::parse) {
                // Repeated names count once.
                Some(Ok(event)) if known.contains(&event) => {}
                Some(Ok(event)) => known.push(event),
                Some(Err(_)) => {
                    let name = quoted(name.as_str().unwrap_or_default());
                    unknown.add(format!("holds {name}, which is no event's name"));
                }
                None => unknown.add("holds something other than text, which is no event's name"),
            }
        }
        let known = (!known.is_empty()).then_some(Events::Named(known));
        Ok(Self { known, unknown })
    }
}

impl FromJson for ScopeNames {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let names = BoundedList::<Line>::from_json(value)?;
        let none_named = names.is_empty();
        let mut known: Vec<Scope> = Vec::new();
        let mut unknown = InvalidValue::default();
        for name in names {
            match name.parse() {
                Ok(scope) => known.push(scope),
                Err(_) => unknown.add(format!("holds {}, which is no scope", quoted(&name))),
            }
        }
        let known = (none_named || !known.is_empty()).then(|| known.into_iter().collect());
        Ok(Self { known, unknown })
    }
}

/// The events that a subscription takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Events {
    /// All present and future events, written `*`.
    All,
    /// The events with these names.
    Named(Vec<EventName>),
}

/// The status of a subscription.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WebhookStatus {
    /// It receives events.
    Active,
    /// It receives and collects no events. Deliveries that were queued before wait.
    Disabled,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LastStatus {
    /// The answer was a 2xx.
    Delivered,
    /// The attempt failed.
    Failed,
}

/// The part of an active subscription that selects events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subscriber {
    /// The subscription.
    pub endpoint: EndpointKey,
    /// The events that it takes.
    pub events: Events,
    /// The scopes that limit what its payloads show.
    pub scopes: ScopeSet,
}

impl Events {
    /// Returns `true` if `event` is one of them.
    pub fn contain(&self, event: EventName) -> bool {
        match self {
            Self::All => true,
            Self::Named(events) => events.contains(&event),
        }
    }
}

impl Subscriber {
    /// Returns `true` if the subscription receives `event`: it takes the event, and its scopes include the event's read scope
    /// (contract, "Events").
    pub fn receives(&self, event: EventName) -> bool {
        self.scopes.contains(event.scope()) && self.events.contain(event)
    }
}

macro_rules! names {
    ($type:ident: $($variant:ident = $name:literal,)+) => {
        impl $type {
            /// The name in the API.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the value of that name.
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

impl FromJson for WebhookStatus {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let name = Line::from_json(value)?;
        Self::from_name(&name).ok_or(InvalidValue::here("must be active or disabled"))
    }
}

names! { WebhookStatus: Active = "active", Disabled = "disabled", }
names! { LastStatus: Delivered = "delivered", Failed = "failed", }

#[cfg(test)]
mod tests {
    use forecourt_kernel::BusinessId;

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
