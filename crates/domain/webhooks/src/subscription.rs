//! A webhook subscription, and which events it takes.

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

/// A label.
pub type Label = BoundedText<MAX_WEBHOOK_DESCRIPTION_CHARS>;

forecourt_kernel::fields! {
    /// What the owner of a subscription says of it.
    #[derive(Eq)]
    content WebhookDraft;
    /// A subscription to be created or changed.
    changes WebhookChanges, validated by TargetPolicy;

    /// The endpoint, an https url.
    url: #[cfg_attr(feature = "openapi", schema(schema_with = url_schema))] TargetUrl => TargetUrl, rule is_allowed;
    /// `*` for all events, present and future, or an array of their names.
    events: #[cfg_attr(feature = "openapi", schema(schema_with = wanted_events_schema))] EventNames => Events, rule is_not_null;
    /// What payloads may show: scopes that the key has, too, among them the read scopes of the events that are named, with `*`
    /// at least one; by default the read scopes that the events take. On creation only.
    scopes: #[cfg_attr(feature = "openapi", schema(schema_with = scopes_schema))] ScopeNames => ScopeSet;
    /// active or disabled; null makes it active, as a new one is. On change only.
    status: #[cfg_attr(feature = "openapi", schema(value_type = Option<WebhookStatus>, inline))] WebhookStatus => WebhookStatus;
    /// A label; null clears it.
    description: Label => String;
}

impl WebhookDraft {
    /// What a subscription says of which nothing is known: the defaults of its fields.
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

/// What a body names. Names of nothing that there is are faults; the others are validated all the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names<T> {
    known: Option<T>,
    unknown: InvalidValue,
}

/// The events that a body names.
pub type EventNames = Names<Events>;

/// The scopes that a body names.
pub type ScopeNames = Names<ScopeSet>;

impl<T> Names<T> {
    /// Those that there are; `None` if there is none of them, though some were named: what they would need cannot be said then.
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
                // A name that is given twice counts once.
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
