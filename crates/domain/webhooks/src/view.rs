//! The representations in the API (contract, "Webhook subscription" and "Webhook delivery").

use forecourt_kernel::{DeliveryId, ScopeSet, Timestamp, Version, WebhookId};
use serde::{Serialize, Serializer, ser::SerializeSeq as _};

use crate::{Delivery, Events, Secret, Webhook};
#[cfg(feature = "openapi")]
use crate::{DeliveryStatus, LastStatus, WebhookStatus};

/// A webhook subscription.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Webhook))]
pub struct WebhookView<'a> {
    /// Webhook id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: WebhookId,
    /// HTTPS endpoint.
    url: &'a str,
    /// Label.
    description: &'a str,
    /// `*`, or an array of event names.
    #[cfg_attr(feature = "openapi", schema(schema_with = events_schema))]
    events: EventsView<'a>,
    /// The scopes that payloads are projected to.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    scopes: ScopeSet,
    /// `active` if the subscription receives events, or else `disabled`.
    #[cfg_attr(feature = "openapi", schema(schema_with = status_schema))]
    status: &'static str,
    /// The last four characters of the secret.
    secret_hint: &'a str,
    /// Number of deliveries in a row that failed for good.
    failure_count: u32,
    /// Outcome of the latest attempt; null before the first one.
    #[cfg_attr(feature = "openapi", schema(schema_with = last_status_schema, required))]
    last_status: Option<&'static str>,
    /// End of the latest attempt, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    last_delivery_at: Option<Timestamp>,
    /// Time of creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of the last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
    /// Raised by one with each change, from 1. Attempts to deliver are not changes.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
}

/// A subscription with its secret, which only creation and rotation return.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WebhookWithSecret))]
pub struct SecretView<'a> {
    #[serde(flatten)]
    webhook: WebhookView<'a>,
    /// The signing secret. It is not shown again.
    secret: &'a str,
}

/// A delivery.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WebhookDelivery))]
pub struct DeliveryView<'a> {
    /// Delivery id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: DeliveryId,
    /// Event name, or `ping`.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    event: &'static str,
    /// The event's id, the same in all its deliveries.
    event_id: &'a str,
    /// Status of the delivery.
    #[cfg_attr(feature = "openapi", schema(schema_with = delivery_status_schema))]
    status: &'static str,
    /// Number of attempts.
    attempts: u32,
    /// HTTP status of the latest answer; null if there was none.
    #[cfg_attr(feature = "openapi", schema(required))]
    response_code: Option<u16>,
    /// Duration of the latest attempt, in milliseconds.
    #[cfg_attr(feature = "openapi", schema(required))]
    response_ms: Option<u32>,
    /// The first 2 KiB of the latest answer.
    #[cfg_attr(feature = "openapi", schema(required))]
    response_body: Option<&'a str>,
    /// The reason why the latest attempt brought no answer.
    #[cfg_attr(feature = "openapi", schema(required))]
    error: Option<&'a str>,
    /// Time of the next attempt, epoch seconds; null if there is none.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    next_attempt_at: Option<Timestamp>,
    /// Time of queueing, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of delivery, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    delivered_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct EventsView<'a>(&'a Events);

impl Serialize for EventsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Events::All => serializer.serialize_str("*"),
            Events::Named(events) => {
                let mut names = serializer.serialize_seq(Some(events.len()))?;
                for event in events {
                    names.serialize_element(event.as_str())?;
                }
                names.end()
            }
        }
    }
}

/// The OpenAPI schema of [`Events`]. A response may contain names of events that do not exist yet.
#[cfg(feature = "openapi")]
pub(crate) fn events_schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use utoipa::openapi::{ObjectBuilder, Type};
    let name = ObjectBuilder::new().schema_type(Type::String);
    all_or_named(name.max_length(Some(forecourt_kernel::bounds::MAX_LINE_CHARS)), None)
}

/// The OpenAPI schema of the events that a subscription asks to receive.
#[cfg(feature = "openapi")]
pub(crate) fn wanted_events_schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use utoipa::openapi::{ObjectBuilder, Type};
    let name = ObjectBuilder::new().schema_type(Type::String);
    let names = forecourt_kernel::EventName::ALL.iter().map(|event| event.as_str());
    all_or_named(name.enum_values(Some(names)), Some(1))
}

/// `*`, or an array of at least `least` names.
#[cfg(feature = "openapi")]
fn all_or_named(
    name: utoipa::openapi::schema::ObjectBuilder,
    least: Option<usize>,
) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use utoipa::openapi::{
        ObjectBuilder, Schema,
        schema::{ArrayBuilder, OneOfBuilder, Type},
    };
    let all = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["*"]));
    let named = ArrayBuilder::new()
        .items(name)
        .min_items(least)
        .max_items(Some(forecourt_kernel::bounds::MAX_ITEMS));
    let events = OneOfBuilder::new().item(all).item(named).description(Some(
        "`*` for all events that there are and will be, or an array of at least one event's name.",
    ));
    Schema::OneOf(events.build()).into()
}

/// The OpenAPI schema of the scopes of a new subscription.
#[cfg(feature = "openapi")]
pub(crate) fn scopes_schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use forecourt_kernel::{Scope, bounds::MAX_ITEMS};
    use utoipa::openapi::{
        ObjectBuilder, Type,
        schema::{ArrayBuilder, SchemaType},
    };
    let about =
        "Scopes that limit the payloads, a subset of those of the key. The default is the read scopes of the events.";
    let scope = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(Scope::ALL.iter().map(|scope| scope.as_str())));
    ArrayBuilder::new()
        .items(scope)
        .max_items(Some(MAX_ITEMS))
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .description(Some(about))
        .into()
}

#[cfg(feature = "openapi")]
fn status_words() -> utoipa::openapi::schema::ObjectBuilder {
    let words = [WebhookStatus::Active, WebhookStatus::Disabled].map(WebhookStatus::as_str);
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::Type::String)
        .enum_values(Some(words))
}

#[cfg(feature = "openapi")]
fn status_schema() -> utoipa::openapi::schema::ObjectBuilder {
    status_words().description(Some("Whether it receives events."))
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for WebhookStatus {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        status_words().into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for WebhookStatus {}

#[cfg(feature = "openapi")]
fn last_status_schema() -> utoipa::openapi::schema::ObjectBuilder {
    use utoipa::openapi::{Type, schema::SchemaType};
    let words = [LastStatus::Delivered, LastStatus::Failed].map(|status| Some(status.as_str()));
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(words.into_iter().chain([None])))
        .description(Some("How the latest attempt ended; null before the first one."))
}

#[cfg(feature = "openapi")]
fn delivery_status_schema() -> utoipa::openapi::schema::ObjectBuilder {
    let words = [
        DeliveryStatus::Pending,
        DeliveryStatus::Delivered,
        DeliveryStatus::Failed,
    ];
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::Type::String)
        .enum_values(Some(words.map(DeliveryStatus::as_str)))
        .description(Some("Where it stands."))
}

impl<'a> WebhookView<'a> {
    /// The representation of a subscription.
    pub fn new(webhook: &'a Webhook) -> Self {
        let Webhook {
            id,
            content,
            secret_hint,
            failure_count,
            last_status,
            last_delivery_at,
            created,
            updated,
            version,
        } = webhook;
        Self {
            id: *id,
            url: content.url.as_str(),
            description: &content.description,
            events: EventsView(&content.events),
            scopes: content.scopes,
            status: content.status.as_str(),
            secret_hint,
            failure_count: *failure_count,
            last_status: last_status.map(|status| status.as_str()),
            last_delivery_at: *last_delivery_at,
            created: *created,
            updated: *updated,
            version: *version,
        }
    }
}

impl<'a> SecretView<'a> {
    /// The representation of a subscription with its secret.
    pub fn new(webhook: &'a Webhook, secret: &'a Secret) -> Self {
        Self {
            webhook: WebhookView::new(webhook),
            secret: secret.reveal(),
        }
    }
}

impl<'a> DeliveryView<'a> {
    /// The representation of a delivery.
    pub fn new(delivery: &'a Delivery) -> Self {
        let Delivery {
            id,
            topic,
            event_id,
            status,
            attempts,
            response_code,
            response_ms,
            response_body,
            error,
            next_attempt_at,
            created,
            delivered_at,
        } = delivery;
        Self {
            id: *id,
            event: topic.as_str(),
            event_id,
            status: status.as_str(),
            attempts: *attempts,
            response_code: *response_code,
            response_ms: *response_ms,
            response_body: response_body.as_deref(),
            error: error.as_deref(),
            next_attempt_at: *next_attempt_at,
            created: *created,
            delivered_at: *delivered_at,
        }
    }
}
