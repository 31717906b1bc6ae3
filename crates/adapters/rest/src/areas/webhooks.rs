//! Webhook subscriptions and their deliveries over HTTP (contract, "Webhooks"; decisions §9).

use std::borrow::Cow;

use forecourt_accounts::Caller;
use forecourt_dealership::Session;
use forecourt_kernel::{
    DeliveryId, Field, ListName, ScopeSet, StoreError, Target, Valid, ValidationErrors, View, WebhookId,
};
use forecourt_webhooks::{
    self as webhooks, DeliveryFilter, DeliveryStatus, DeliveryView, SecretView, TargetPolicy, Topic, WebhookChanges,
    WebhookError, WebhookView,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use crate::{
    areas::Area,
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, PageParameters, filters, parameters},
    reply::{Answer, Created, Deleted, Envelope, Reply},
};

const LIST: ListName = ListName::new("webhooks");

pub(super) const AREA: Area = Area {
    tag: "webhooks",
    about: "Subscriptions to events, and the history of their deliveries",
    operations,
    codes: CODES,
    records: &[],
};

codes! {
    CODES;
    WEBHOOK_NOT_FOUND = NOT_FOUND, "webhook_not_found" {
        meaning: "The business has no such webhook.",
        cause: "The id is wrong, the webhook was deleted, or it belongs to another business.",
        remedy: "List them with `GET /2.0/webhooks`.",
    }
    WEBHOOK_DELIVERY_NOT_FOUND = NOT_FOUND, "webhook_delivery_not_found" {
        meaning: "The webhook has no such delivery.",
        cause: "The id is wrong or belongs to another webhook, or the delivery is more than 30 days old.",
        remedy: "List the deliveries with `GET /2.0/webhooks/{id}/deliveries`.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_webhooks> list_webhooks,
        self::<__path_create_webhook> create_webhook,
        self::<__path_read_webhook> read_webhook,
        self::<__path_update_webhook> update_webhook,
        self::<__path_delete_webhook> delete_webhook,
        self::<__path_ping_webhook> ping_webhook,
        self::<__path_rotate_webhook_secret> rotate_webhook_secret,
        self::<__path_list_webhook_deliveries> list_webhook_deliveries,
        self::<__path_redeliver_webhook_delivery> redeliver_webhook_delivery { created: Created::Unreadable },
    ])
}

/// List webhooks
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/webhooks", tag = "webhooks", security(("bearer" = ["webhooks:read"])),
    params(PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of webhooks", body = PageEnvelope<WebhookView<'static>>)))]
async fn list_webhooks(call: Call) -> Result<Answer, ApiError> {
    let list = call.list(LIST, View::Full)?;
    list.answer(
        call,
        RecordSize::Small,
        async |session, call, page| webhooks::list_webhooks(session, &call.caller, page).await,
        |item, webhook| item.show(&WebhookView::new(webhook)),
    )
    .await
}

/// Create a webhook
///
/// The secret is shown only in this answer.
#[utoipa::path(post, path = "/2.0/webhooks", tag = "webhooks", security(("bearer" = ["webhooks:write"])),
    request_body = WebhookBody,
    responses((status = 201, description = "The webhook that was created, with its secret", body = Envelope<SecretView<'static>>)))]
async fn create_webhook(call: Call) -> Result<Reply, ApiError> {
    let draft = call
        .body()
        .await
        .and_then(|new| Ok(webhooks::draft_webhook(&call.caller, &policy(&call), new)?));
    let reply = call.write(draft, async |session: &mut dyn Session, draft| {
        let clock = call.clock().as_ref();
        let (webhook, secret) = webhooks::create_webhook(session, clock, call.random(), &call.caller, draft).await?;
        Reply::created(&SecretView::new(&webhook, &secret))
    });
    authorize_replay(&call.caller, reply.await?)
}

/// Read a webhook
#[utoipa::path(get, path = "/2.0/webhooks/{id}", tag = "webhooks", security(("bearer" = ["webhooks:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The webhook", body = Envelope<WebhookView<'static>>),
        (status = 404, description = "`webhook_not_found`")))]
async fn read_webhook(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id = call.id(Code::WEBHOOK_NOT_FOUND)?;

    let mut session = call.read().await?;
    let webhook = webhooks::read_webhook(session.as_mut(), &call.caller, id).await?;
    let state = RecordState {
        version: webhook.version_shown(),
        updated: webhook.updated,
    };
    call.record(state, &rendering, &WebhookView::new(&webhook))
}

/// Change a webhook
///
/// Only the supplied fields change. The scopes stay those of its creation; changing anything but the description needs a key
/// that has all of them. A webhook that is made active again receives the queued deliveries, and its failure_count becomes 0.
#[utoipa::path(patch, path = "/2.0/webhooks/{id}", tag = "webhooks", security(("bearer" = ["webhooks:write"])), params(IdParameter),
    request_body = WebhookUpdate,
    responses((status = 200, description = "The webhook", body = Envelope<WebhookView<'static>>),
        (status = 404, description = "`webhook_not_found`")))]
async fn update_webhook(call: Call) -> Result<Reply, ApiError> {
    let changes = call.body().await.and_then(|body| Ok(changes(body, &policy(&call))?));
    call.write(changes, async |session: &mut dyn Session, changes| {
        let id = call.target(Code::WEBHOOK_NOT_FOUND)?;
        let clock = call.clock().as_ref();
        let webhook = webhooks::update_webhook(session, clock, &call.caller, id, changes).await?;
        Reply::ok(&WebhookView::new(&webhook))
    })
    .await
}

/// Delete a webhook
///
/// Deliveries that it has not received yet fail; its history of deliveries is kept.
#[utoipa::path(delete, path = "/2.0/webhooks/{id}", tag = "webhooks", security(("bearer" = ["webhooks:write"])), params(IdParameter),
    responses((status = 200, description = "The webhook is gone", body = Envelope<Deleted>),
        (status = 404, description = "`webhook_not_found`")))]
async fn delete_webhook(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let webhook: Target<WebhookId> = call.target(Code::WEBHOOK_NOT_FOUND)?;
        let id = webhook.id;
        webhooks::delete_webhook(session, call.clock().as_ref(), &call.caller, webhook).await?;
        Reply::deleted(id.get())
    })
    .await
}

/// Test a webhook
///
/// Queues a delivery of the event `ping`, also to a disabled webhook. It is tried once, and does not affect the webhook's
/// health. The key needs every scope of the webhook.
#[utoipa::path(post, path = "/2.0/webhooks/{id}/ping", tag = "webhooks", security(("bearer" = ["webhooks:write"])), params(IdParameter),
    responses((status = 200, description = "The test is on its way", body = Envelope<Pinged>),
        (status = 404, description = "`webhook_not_found`")))]
async fn ping_webhook(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id = call.target(Code::WEBHOOK_NOT_FOUND)?;
        let delivery_id = webhooks::ping_webhook(session, call.clock().as_ref(), &call.caller, id).await?;
        Reply::ok(&Pinged {
            queued: true,
            delivery_id,
            message: "a test delivery was queued",
        })
    })
    .await
}

/// Replace a webhook's secret
///
/// The new secret is shown only in this answer; the old one no longer signs deliveries. The key needs every scope of the
/// webhook.
#[utoipa::path(post, path = "/2.0/webhooks/{id}/secret/rotate", tag = "webhooks", security(("bearer" = ["webhooks:write"])),
    params(IdParameter),
    responses((status = 200, description = "The webhook with its new secret", body = Envelope<SecretView<'static>>),
        (status = 404, description = "`webhook_not_found`")))]
async fn rotate_webhook_secret(call: Call) -> Result<Reply, ApiError> {
    let reply = call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let id = call.target(Code::WEBHOOK_NOT_FOUND)?;
        let clock = call.clock().as_ref();
        let (webhook, secret) = webhooks::rotate_secret(session, clock, call.random(), &call.caller, id).await?;
        Reply::ok(&SecretView::new(&webhook, &secret))
    });
    authorize_replay(&call.caller, reply.await?)
}

/// List a webhook's deliveries
///
/// Newest first, for 30 days; also those of a deleted webhook.
#[utoipa::path(get, path = "/2.0/webhooks/{id}/deliveries", tag = "webhooks", security(("bearer" = ["webhooks:read"])),
    params(IdParameter, DeliveryParameters, PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of deliveries", body = PageEnvelope<DeliveryView<'static>>),
        (status = 404, description = "`webhook_not_found`")))]
async fn list_webhook_deliveries(call: Call) -> Result<Answer, ApiError> {
    let list = call.list_within("deliveries");
    let (filter, list) = call.filtered_list(list, View::Full, DeliveryParameters::read)?;
    let id = call.id(Code::WEBHOOK_NOT_FOUND)?;
    list.answer(
        call,
        RecordSize::Small,
        async move |session, call, page| webhooks::list_deliveries(session, &call.caller, id, &filter, page).await,
        |item, delivery| item.show(&DeliveryView::new(delivery)),
    )
    .await
}

/// Deliver once more
///
/// Queues a past delivery as a new one with the same event id and payload, and sends it at once. The key needs every scope of
/// the webhook.
#[utoipa::path(post, path = "/2.0/webhooks/{id}/deliveries/{delivery_id}/redeliver", tag = "webhooks",
    security(("bearer" = ["webhooks:write"])), params(IdParameter, DeliveryIdParameter),
    responses((status = 201, description = "The new delivery", body = Envelope<DeliveryView<'static>>),
        (status = 404, description = "`webhook_not_found`, `webhook_delivery_not_found`")))]
async fn redeliver_webhook_delivery(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let webhook: Target<WebhookId> = call.target(Code::WEBHOOK_NOT_FOUND)?;
        let delivery = match call.second_id::<DeliveryId>(Code::WEBHOOK_DELIVERY_NOT_FOUND) {
            Ok(delivery) => delivery,
            Err(absent) => {
                // A missing webhook is reported first.
                webhooks::read_webhook(session, &call.caller, webhook.id).await?;
                return Err(absent);
            }
        };
        let delivery = webhooks::redeliver(session, call.clock().as_ref(), &call.caller, webhook, delivery).await?;
        Reply::created(&DeliveryView::new(&delivery))
    })
    .await
}

/// Authorizes the replay of an answer with a secret. It may first have been given to another key, with more scopes than this
/// one, and the secret gives its holder every scope of the webhook.
fn authorize_replay(by: &Caller, reply: Reply) -> Result<Reply, ApiError> {
    #[derive(Deserialize)]
    struct Shown {
        data: Option<Scopes>,
    }
    #[derive(Deserialize)]
    struct Scopes {
        scopes: ScopeSet,
    }
    if !reply.replayed {
        return Ok(reply);
    }
    let Shown { data } = serde_json::from_slice(&reply.body).map_err(|error| StoreError::Other(error.into()))?;
    let missing = data.and_then(|Scopes { scopes }| scopes.iter().find(|&scope| !by.may(scope)));
    match missing {
        Some(scope) => Err(ApiError::scope_denied(scope)),
        None => Ok(reply),
    }
}

/// Reads the changes of an existing webhook from a body. Its scopes cannot change, so they are ignored like an unknown member.
fn changes(body: WebhookChanges, policy: &TargetPolicy) -> Result<Valid<WebhookChanges>, ValidationErrors> {
    let changes = WebhookChanges {
        scopes: Field::Absent,
        ..body
    };
    Valid::new(changes, |changes| changes.faults(policy))
}

fn policy(call: &Call) -> TargetPolicy {
    TargetPolicy {
        allow_insecure: call.worker.shared.allow_insecure_targets,
    }
}

impl From<WebhookError> for ApiError {
    fn from(error: WebhookError) -> Self {
        match error {
            WebhookError::NotFound(_) => Self::new(Code::WEBHOOK_NOT_FOUND, "this business has no such webhook"),
            WebhookError::DeliveryNotFound(_) => Self::new(
                Code::WEBHOOK_DELIVERY_NOT_FOUND,
                "this webhook has no such delivery, or it is no longer kept",
            ),
            WebhookError::Denied(scope) => Self::scope_denied(scope),
            WebhookError::VersionMismatch(mismatch) => mismatch.into(),
            WebhookError::Invalid(errors) => errors.into(),
            WebhookError::Store(error) => error.into(),
        }
    }
}

/// A test that is queued.
#[derive(Serialize, ToSchema)]
struct Pinged {
    /// Always true.
    queued: bool,
    /// The delivery, as the webhook's history lists it.
    #[schema(value_type = i64)]
    delivery_id: DeliveryId,
    /// A message for people.
    #[schema(value_type = String)]
    message: &'static str,
}

parameters! {
    path IdParameter;

    /// Webhook id.
    id: i64;
}

parameters! {
    path DeliveryIdParameter;

    /// Delivery id.
    delivery_id: i64;
}

filters! {
    DeliveryParameters => DeliveryFilter;

    /// Deliveries in this state: pending, delivered or failed.
    status: DeliveryStatus;
    /// Deliveries of this event: its name, or `ping`.
    topic as "event": Topic;
}

/// A webhook to be created: [`WebhookChanges`] with a url and events, and without a status.
enum WebhookBody {}

impl PartialSchema for WebhookBody {
    fn schema() -> RefOr<Schema> {
        let example = json!({
            "url": "https://example.com/hooks/forecourt",
            "events": ["lead.created", "vehicle.updated"],
            "description": "CRM",
        });
        changes_without("status", &["url", "events"], "A webhook to be created.", example)
    }
}

impl ToSchema for WebhookBody {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        WebhookChanges::schemas(schemas);
    }
}

/// A change of a webhook: [`WebhookChanges`] without the scopes, which stay those of its creation.
enum WebhookUpdate {}

impl PartialSchema for WebhookUpdate {
    fn schema() -> RefOr<Schema> {
        let about = "Changes of a webhook. No field is required.";
        changes_without("scopes", &[], about, json!({"description": "CRM"}))
    }
}

impl ToSchema for WebhookUpdate {
    fn name() -> Cow<'static, str> {
        WebhookChanges::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        WebhookChanges::schemas(schemas);
    }
}

/// Returns the schema of [`WebhookChanges`] without a member that only the other kind of body has.
fn changes_without(member: &str, required: &[&str], about: &str, example: Value) -> RefOr<Schema> {
    let mut schema = WebhookChanges::schema();
    if let RefOr::T(Schema::Object(body)) = &mut schema {
        body.properties.shift_remove(member);
        body.required.extend(required.iter().map(|&name| name.to_owned()));
        body.description = Some(about.to_owned());
        body.example = Some(example);
    }
    schema
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::{EventName, Scope};
    use forecourt_webhooks::{Events, WebhookDraft, WebhookStatus};

    use super::*;
    use crate::{body, query::Query, testing::a_caller};

    const SECURE: TargetPolicy = TargetPolicy { allow_insecure: false };

    fn draft(body: &Value) -> Result<WebhookDraft, Vec<String>> {
        let body = body::parse(body.to_string().as_bytes()).unwrap();
        let by = a_caller(
            [Scope::WebhooksWrite, Scope::LeadsRead]
                .into_iter()
                .collect::<ScopeSet>(),
        );
        webhooks::draft_webhook(&by, &SECURE, body).map_err(|errors| named(&errors))
    }

    fn changes(body: &Value) -> Result<WebhookChanges, Vec<String>> {
        let body = body::parse(body.to_string().as_bytes()).unwrap();
        let changes = super::changes(body, &SECURE);
        changes.map(Valid::into_inner).map_err(|errors| named(&errors))
    }

    fn named(errors: &ValidationErrors) -> Vec<String> {
        errors.as_slice().iter().map(|error| error.field.clone()).collect()
    }

    #[test]
    fn a_webhook_takes_a_url_and_events() {
        let webhook = draft(&json!({"url": "https://example.com/hook", "events": ["lead.created", "lead.created"]}));
        let webhook = webhook.unwrap();
        assert_eq!(webhook.events, Events::Named(vec![EventName::LeadCreated]));
        assert_eq!(webhook.scopes, Scope::LeadsRead.into());
        assert_eq!(webhook.description, "");
        let all = draft(&json!({"url": "https://example.com", "events": "*", "scopes": null, "description": null}));
        let all = all.unwrap();
        assert_eq!((all.events, all.scopes), (Events::All, Scope::LeadsRead.into()));
        assert_eq!(draft(&json!({})).unwrap_err(), ["url", "events"]);
        assert_eq!(
            draft(&json!({"url": null, "events": null})).unwrap_err(),
            ["url", "events"]
        );
    }

    #[test]
    fn shape_and_meaning_are_reported_together() {
        let faults = draft(&json!({
            "url": "http://example.com", "events": ["lead.created", "contact.created", "lead.exploded"],
            "scopes": ["leads:read", "contacts:read", "x"], "description": "é".repeat(129),
        }));
        assert_eq!(
            faults.unwrap_err(),
            ["events", "scopes", "description", "url", "events", "scopes"]
        );
    }

    #[test]
    fn events_are_a_star_or_names() {
        for bad in [
            json!("lead.created"),
            json!([]),
            json!(["*"]),
            json!([5]),
            json!({}),
            json!(true),
            json!(["ping"]),
        ] {
            let faults = draft(&json!({"url": "https://example.com", "events": bad}));
            assert_eq!(faults.unwrap_err(), ["events"], "{bad}");
        }
    }

    #[test]
    fn a_change_says_what_it_changes() {
        assert_eq!(
            changes(&json!({"scopes": 5, "unknown": 1})),
            Ok(WebhookChanges::default())
        );
        let change = changes(&json!({"status": "disabled", "description": null})).unwrap();
        assert_eq!(change.status, Field::Value(WebhookStatus::Disabled));
        assert_eq!(change.description, Field::Null);
        assert_eq!(
            changes(&json!({"url": null, "events": null, "status": "paused", "description": 5})).unwrap_err(),
            ["status", "description", "url", "events"]
        );
    }

    #[test]
    fn a_history_is_filtered_by_status_and_event() {
        let by = a_caller(Scope::WebhooksRead);
        let mut query = Query::new("status=failed&event=ping");
        assert_eq!(
            DeliveryParameters::read(&mut query, &by),
            DeliveryFilter {
                status: Some(DeliveryStatus::Failed),
                topic: Some(Topic::Ping),
            }
        );
        assert!(query.finish(()).is_ok());
        let mut query = Query::new("status=lost&event=lead.exploded");
        DeliveryParameters::read(&mut query, &by);
        let refusal = query.finish(()).unwrap_err().into_refusal();
        let errors = refusal.details.unwrap()["errors"].clone();
        assert_eq!(
            (&errors[0]["field"], &errors[1]["field"]),
            (&json!("status"), &json!("event"))
        );
    }
}
