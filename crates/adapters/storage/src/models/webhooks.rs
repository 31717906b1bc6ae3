use diesel::dsl::case_when;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use diesel::sqlite::Sqlite;
use forecourt_kernel::{
    BoxError, BusinessId, DeliveryId, EventName, Moment, ScopeSet, StoreError, StoreResult, Timestamp, Version,
    WebhookId,
};
use forecourt_webhooks::{
    Delivery, DeliveryStatus, EndpointKey, Events, LastStatus, Subscriber, TargetUrl, Topic, Webhook, WebhookDraft,
    WebhookStatus,
};

use crate::schema::webhook_deliveries;

/// The list of events that stands for all events.
const ALL: &str = "*";

/// The columns of a subscription that are read.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::webhooks, check_for_backend(Pg, Sqlite))]
pub(crate) struct WebhookRow {
    pub(crate) id: i64,
    pub(crate) url: String,
    pub(crate) description: String,
    pub(crate) events: String,
    pub(crate) scopes: String,
    pub(crate) active: bool,
    pub(crate) secret_hint: String,
    pub(crate) failure_count: i32,
    pub(crate) last_status: Option<String>,
    pub(crate) last_delivery_at: Option<i64>,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) version: i64,
}

/// The columns of a subscription that each change writes.
#[derive(Clone, Debug, Insertable, AsChangeset)]
#[diesel(table_name = crate::schema::webhooks, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct WebhookValues {
    pub(crate) url: String,
    pub(crate) description: String,
    pub(crate) events: String,
    pub(crate) scopes: String,
    pub(crate) active: bool,
    pub(crate) failure_count: i32,
    pub(crate) updated: i64,
}

/// A new subscription, but for its id and its secret.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::webhooks, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct NewWebhookRow {
    pub(crate) business_id: i64,
    pub(crate) secret: Vec<u8>,
    pub(crate) secret_hint: String,
    pub(crate) created: i64,
    #[diesel(embed)]
    pub(crate) values: WebhookValues,
}

/// The columns of a subscription that an attempt needs.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::webhooks, check_for_backend(Pg, Sqlite))]
pub(crate) struct EndpointRow {
    pub(crate) business_id: i64,
    pub(crate) id: i64,
    pub(crate) url: String,
    pub(crate) events: String,
    pub(crate) scopes: String,
    pub(crate) active: bool,
    pub(crate) secret: Vec<u8>,
}

/// The columns of a delivery that its history shows.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::webhook_deliveries, check_for_backend(Pg, Sqlite))]
pub(crate) struct DeliveryRow {
    pub(crate) id: i64,
    pub(crate) topic: String,
    pub(crate) event_id: String,
    pub(crate) status: i32,
    pub(crate) attempts: i32,
    pub(crate) next_attempt_at: Option<i64>,
    pub(crate) response_code: Option<i32>,
    pub(crate) response_ms: Option<i32>,
    pub(crate) response_body: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) created: i64,
    pub(crate) delivered_at: Option<i64>,
}

/// The columns of a delivery that are needed to send it.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::webhook_deliveries, check_for_backend(Pg, Sqlite))]
pub(crate) struct DueRow {
    pub(crate) id: i64,
    pub(crate) topic: String,
    pub(crate) event_id: String,
    pub(crate) sequence: Option<i64>,
    pub(crate) attempts: i32,
    pub(crate) first_attempt: Option<i64>,
    pub(crate) created: i64,
    pub(crate) pinged: Option<i64>,
    pub(crate) settle_by: Option<i64>,
}

/// A new delivery, but for its id.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::webhook_deliveries, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct NewDeliveryRow {
    pub(crate) business_id: i64,
    pub(crate) webhook_id: i64,
    pub(crate) topic: &'static str,
    pub(crate) event_id: String,
    pub(crate) sequence: Option<i64>,
    pub(crate) status: i32,
    pub(crate) settling: Option<String>,
    pub(crate) settle_by: Option<i64>,
    pub(crate) due: Option<i64>,
    pub(crate) lease: Option<i64>,
    pub(crate) attempts: i32,
    pub(crate) next_attempt_at: Option<i64>,
    pub(crate) created: i64,
    /// The time of the latest request for the ping that this delivers.
    pub(crate) pinged: Option<i64>,
}

/// The columns of a delivery that an attempt changes.
#[derive(Clone, Debug, AsChangeset)]
#[diesel(table_name = crate::schema::webhook_deliveries, check_for_backend(Pg, Sqlite), treat_none_as_null = true)]
pub(crate) struct AttemptValues {
    pub(crate) status: i32,
    pub(crate) due: Option<i64>,
    pub(crate) lease: Option<i64>,
    pub(crate) attempts: i32,
    pub(crate) first_attempt: Option<i64>,
    pub(crate) next_attempt_at: Option<i64>,
    pub(crate) response_code: Option<i32>,
    pub(crate) response_ms: Option<i32>,
    pub(crate) response_body: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) delivered_at: Option<i64>,
}

/// The result of an attempt, with its delivery.
#[derive(Clone, Debug)]
pub(crate) struct AttemptRow {
    pub(crate) business_id: i64,
    pub(crate) id: i64,
    pub(crate) values: AttemptValues,
}

/// A queue that is to be due at some time, or sooner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueAdvance {
    pub(crate) business_id: i64,
    pub(crate) webhook_id: i64,
    pub(crate) due: i64,
}

/// An update that takes the place of an earlier one of the same record, with the time at which it settles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merge<'a> {
    pub(crate) event_id: &'a str,
    pub(crate) sequence: i64,
    pub(crate) settled: Moment,
}

impl Merge<'_> {
    /// The changes of the delivery: it is due when this has settled, but not after its own `settle_by`.
    #[diesel::dsl::auto_type(no_type_alias)]
    pub(crate) fn values<'a>(&'a self) -> _ {
        let due: i64 = self.settled.epoch_millis();
        let next_attempt_at: i64 = self.settled.timestamp().epoch_seconds();
        let event_id: &'a str = self.event_id;
        let sequence: i64 = self.sequence;
        let settle_by = webhook_deliveries::settle_by;
        (
            webhook_deliveries::event_id.eq(event_id),
            webhook_deliveries::sequence.eq(sequence),
            webhook_deliveries::due
                .eq(case_when(settle_by.lt(due), settle_by).otherwise(due.into_sql::<Nullable<BigInt>>())),
            webhook_deliveries::next_attempt_at.eq(case_when(settle_by.lt(due), settle_by / 1000_i64)
                .otherwise(next_attempt_at.into_sql::<Nullable<BigInt>>())),
        )
    }
}

/// The code of a delivery's status in its column.
pub(crate) const fn status_code(status: DeliveryStatus) -> i32 {
    match status {
        DeliveryStatus::Pending => 0,
        DeliveryStatus::Delivered => 1,
        DeliveryStatus::Failed => 2,
    }
}

fn status(code: i32) -> StoreResult<DeliveryStatus> {
    [
        DeliveryStatus::Pending,
        DeliveryStatus::Delivered,
        DeliveryStatus::Failed,
    ]
    .into_iter()
    .find(|&status| status_code(status) == code)
    .ok_or_else(|| unreadable("delivery status", &code.to_string()))
}

impl WebhookValues {
    pub(crate) fn new(content: &WebhookDraft, failure_count: u32, updated: Timestamp) -> Self {
        let events = match &content.events {
            Events::All => ALL.to_owned(),
            Events::Named(names) => joined(names.iter().map(|name| name.as_str())),
        };
        Self {
            url: content.url.as_str().to_owned(),
            description: content.description.clone(),
            events,
            scopes: joined(content.scopes.iter().map(|scope| scope.as_str())),
            active: content.status == WebhookStatus::Active,
            failure_count: i32::try_from(failure_count).unwrap_or(i32::MAX),
            updated: updated.epoch_seconds(),
        }
    }
}

impl TryFrom<WebhookRow> for Webhook {
    type Error = StoreError;

    fn try_from(row: WebhookRow) -> StoreResult<Self> {
        let content = WebhookDraft {
            url: TargetUrl::from_stored(row.url),
            description: row.description,
            events: events(&row.events)?,
            scopes: scopes(&row.scopes)?,
            status: if row.active {
                WebhookStatus::Active
            } else {
                WebhookStatus::Disabled
            },
        };
        Ok(Self {
            id: WebhookId::new(row.id),
            content,
            secret_hint: row.secret_hint,
            failure_count: u32::try_from(row.failure_count).unwrap_or_default(),
            last_status: row.last_status.as_deref().and_then(LastStatus::from_name),
            last_delivery_at: row.last_delivery_at.map(Timestamp::from_epoch_seconds),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            version: Version::new(row.version),
        })
    }
}

impl EndpointRow {
    pub(crate) fn key(&self) -> EndpointKey {
        EndpointKey {
            business: BusinessId::new(self.business_id),
            webhook: WebhookId::new(self.id),
        }
    }

    pub(crate) fn subscriber(&self) -> StoreResult<Subscriber> {
        Ok(Subscriber {
            endpoint: self.key(),
            events: events(&self.events)?,
            scopes: scopes(&self.scopes)?,
        })
    }
}

impl TryFrom<DeliveryRow> for Delivery {
    type Error = StoreError;

    fn try_from(row: DeliveryRow) -> StoreResult<Self> {
        Ok(Self {
            id: DeliveryId::new(row.id),
            topic: topic(&row.topic)?,
            event_id: row.event_id,
            status: status(row.status)?,
            attempts: u32::try_from(row.attempts).unwrap_or_default(),
            response_code: row.response_code.and_then(|code| u16::try_from(code).ok()),
            response_ms: row.response_ms.and_then(|millis| u32::try_from(millis).ok()),
            response_body: row.response_body,
            error: row.error,
            next_attempt_at: row.next_attempt_at.map(Timestamp::from_epoch_seconds),
            created: Timestamp::from_epoch_seconds(row.created),
            delivered_at: row.delivered_at.map(Timestamp::from_epoch_seconds),
        })
    }
}

impl DueRow {
    pub(crate) fn topic(&self) -> StoreResult<Topic> {
        topic(&self.topic)
    }

    pub(crate) fn first_attempt(&self) -> Option<Moment> {
        self.first_attempt.map(Moment::from_epoch_millis)
    }
}

fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(",")
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|name| !name.is_empty())
}

fn events(text: &str) -> StoreResult<Events> {
    if text == ALL {
        return Ok(Events::All);
    }
    let read = |name: &str| name.parse::<EventName>().map_err(|_| unreadable("event", name));
    Ok(Events::Named(names(text).map(read).collect::<StoreResult<_>>()?))
}

fn scopes(text: &str) -> StoreResult<ScopeSet> {
    let read = |name: &str| name.parse().map_err(|_| unreadable("scope", name));
    names(text).map(read).collect()
}

fn topic(name: &str) -> StoreResult<Topic> {
    Topic::from_name(name).ok_or_else(|| unreadable("event", name))
}

fn unreadable(what: &str, text: &str) -> StoreError {
    StoreError::Other(BoxError::from(format!(
        "a webhook's stored {what} {text:?} cannot be read"
    )))
}
