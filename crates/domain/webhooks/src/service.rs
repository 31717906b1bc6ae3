//! The use cases of owners of subscriptions.

use forecourt_accounts::Caller;
use forecourt_kernel::{
    Clock, DeliveryId, EventName, Field, Page, PageRequest, Random, ScopeSet, Target, Valid, ValidationErrors,
    WebhookId, bounds::MAX_WEBHOOKS,
};

use crate::{
    Delivery, DeliveryFilter, EventNames, Events, ScopeNames, Secret, TargetPolicy, Webhook, WebhookChanges,
    WebhookDraft, WebhookError, WebhookReader, WebhookStatus, WebhookStore,
};

/// Returns a page of the caller's subscriptions, newest first.
///
/// # Errors
/// [`WebhookError::Store`].
pub async fn list_webhooks(
    store: &mut dyn WebhookReader,
    by: &Caller,
    page: &PageRequest,
) -> Result<Page<Webhook>, WebhookError> {
    Ok(store.webhooks(by.business_id(), page).await?)
}

/// Returns one of the caller's subscriptions.
///
/// # Errors
/// [`WebhookError::NotFound`], [`WebhookError::Store`].
pub async fn read_webhook(store: &mut dyn WebhookReader, by: &Caller, id: WebhookId) -> Result<Webhook, WebhookError> {
    let webhook = store.webhook(by.business_id(), id).await?;
    webhook.ok_or(WebhookError::NotFound(id))
}

/// Validates a new subscription. Its scopes may not exceed those of the key that creates it (contract, "Authentication" rule 7).
/// Each event that it names needs its read scope, both in that key and in explicit scopes (decisions §9). With `*`, explicit
/// scopes must include the read scope of at least one event. The draft is active, regardless of `new`.
///
/// # Errors
/// All faults of `new`, and everything in it that the caller may not have.
pub fn draft_webhook(
    by: &Caller,
    policy: &TargetPolicy,
    new: WebhookChanges,
) -> Result<WebhookDraft, ValidationErrors> {
    let mut errors = ValidationErrors::new();
    let new = WebhookChanges {
        url: required("url", new.url, &mut errors),
        events: required("events", new.events, &mut errors),
        status: Field::Absent,
        ..new
    };
    errors.extend(new.faults(policy));
    // If no name is known, that is already a fault.
    let events = new.events.value().and_then(EventNames::known).unwrap_or(&Events::All);
    let scopes = new.scopes.value().and_then(ScopeNames::known).copied();
    let mut denied = ValidationErrors::new();
    validate_events(events, by.scopes, "this key lacks", &mut denied);
    if let Some(scopes) = scopes {
        // An event that the key may not read is reported once.
        if denied.is_empty() {
            validate_events(events, scopes, "`scopes` lacks", &mut denied);
        }
        for scope in scopes.iter().filter(|&scope| !by.may(scope)) {
            denied.add("scopes", format!("holds {scope}, which this key lacks"));
        }
        let nothing = EventName::scopes(EventName::ALL).common(scopes).is_empty();
        if *events == Events::All && nothing && denied.is_empty() {
            denied.add("events", "match none of `scopes`: no event could ever be received");
        }
    }
    errors.extend(denied);
    let least = match events {
        Events::All => EventName::scopes(EventName::ALL).common(by.scopes),
        Events::Named(events) => EventName::scopes(events),
    };
    let blank = WebhookDraft::blank();
    let mut draft = blank.clone();
    new.apply(&mut draft, &blank, policy);
    draft.scopes = scopes.unwrap_or(least);
    errors.into_result(draft)
}

/// Checks that a new subscription has the field. Null counts as missing.
fn required<T>(name: &str, field: Field<T>, errors: &mut ValidationErrors) -> Field<T> {
    match field {
        Field::Absent | Field::Null => {
            errors.add(name, "is required");
            Field::Absent
        }
        given => given,
    }
}

/// Adds a fault for each event whose read scope is not in `scopes`.
fn validate_events(events: &Events, scopes: ScopeSet, lacking: &str, errors: &mut ValidationErrors) {
    let Events::Named(events) = events else { return };
    for event in events.iter().filter(|event| !scopes.contains(event.scope())) {
        errors.add("events", format!("{event} needs {}, which {lacking}", event.scope()));
    }
}

/// Creates a subscription, unless the business has reached the limit. The secret is shown to its owner only this once.
///
/// # Errors
/// [`WebhookError::Invalid`], [`WebhookError::Store`].
pub async fn create_webhook(
    store: &mut dyn WebhookStore,
    clock: &dyn Clock,
    random: &dyn Random,
    by: &Caller,
    draft: WebhookDraft,
) -> Result<(Webhook, Secret), WebhookError> {
    if store.lock_webhook_count(by.business_id()).await? >= MAX_WEBHOOKS {
        let message = format!("cannot be more than {MAX_WEBHOOKS}: delete one first");
        return Err(ValidationErrors::one("webhooks", message).into());
    }
    let secret = Secret::generate(random);
    let webhook = store
        .insert_webhook(by.business_id(), draft, &secret, clock.now())
        .await?;
    Ok((webhook, secret))
}

/// Changes the supplied fields of a subscription, validated by [`WebhookChanges::faults`]; its scopes stay. Every field but the
/// description decides what is sent and where. To change one of these the caller needs every scope of the subscription. Events
/// are checked against the scopes that the subscription was created with. Enabling a subscription again resets its count of
/// failures, and its queued deliveries resume.
///
/// # Errors
/// [`WebhookError::NotFound`], then [`WebhookError::Denied`], then [`WebhookError::VersionMismatch`], then
/// [`WebhookError::Invalid`]; [`WebhookError::Store`].
pub async fn update_webhook(
    store: &mut dyn WebhookStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<WebhookId>>,
    changes: Valid<WebhookChanges>,
) -> Result<Webhook, WebhookError> {
    let Target { id, precondition } = id.into();
    let stored = locked(store, by, id).await?;
    let mut webhook = stored.clone();
    let changes = WebhookChanges {
        scopes: Field::Absent,
        ..changes.into_inner()
    };
    let label_alone = WebhookChanges {
        description: changes.description.clone(),
        ..WebhookChanges::default()
    };
    if changes != label_alone {
        authorize(by, &stored)?;
    }
    precondition.check(stored.version)?;
    let content = &mut webhook.content;
    let names_events = changes.events.value().is_some();
    // The URL was validated before.
    let policy = TargetPolicy { allow_insecure: true };
    changes.apply(content, &WebhookDraft::blank(), &policy);
    if names_events {
        let mut errors = ValidationErrors::new();
        validate_events(&content.events, content.scopes, "this webhook lacks", &mut errors);
        errors.into_result(())?;
    }
    if webhook.content == stored.content {
        return Ok(stored);
    }
    if webhook.content.status == WebhookStatus::Active && stored.content.status == WebhookStatus::Disabled {
        webhook.failure_count = 0;
    }
    webhook.updated = clock.now();
    webhook.version = stored.version.next();
    store.save_webhook(by.business_id(), &webhook).await?;
    Ok(webhook)
}

/// Deletes a subscription; its history stays readable.
///
/// # Errors
/// [`WebhookError::NotFound`], then [`WebhookError::VersionMismatch`]; [`WebhookError::Store`].
pub async fn delete_webhook(
    store: &mut dyn WebhookStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<WebhookId>>,
) -> Result<(), WebhookError> {
    let Target { id, precondition } = id.into();
    precondition.check(locked(store, by, id).await?.version)?;
    Ok(store.delete_webhook(by.business_id(), id, clock.now()).await?)
}

/// Gives a subscription a new secret, which is shown to its owner only this once. The old secret is no longer used.
///
/// # Errors
/// [`WebhookError::NotFound`], then [`WebhookError::Denied`], then [`WebhookError::VersionMismatch`]; [`WebhookError::Store`].
pub async fn rotate_secret(
    store: &mut dyn WebhookStore,
    clock: &dyn Clock,
    random: &dyn Random,
    by: &Caller,
    id: impl Into<Target<WebhookId>>,
) -> Result<(Webhook, Secret), WebhookError> {
    let Target { id, precondition } = id.into();
    let stored = locked(store, by, id).await?;
    authorize(by, &stored)?;
    precondition.check(stored.version)?;
    let secret = Secret::generate(random);
    let now = clock.now();
    store.replace_secret(by.business_id(), id, &secret, now).await?;
    let webhook = Webhook {
        secret_hint: secret.hint().to_owned(),
        updated: now,
        version: stored.version.next(),
        ..stored
    };
    Ok((webhook, secret))
}

/// Queues a test delivery, for a disabled subscription too.
///
/// # Errors
/// [`WebhookError::NotFound`], then [`WebhookError::Denied`], then [`WebhookError::VersionMismatch`]; [`WebhookError::Store`].
pub async fn ping_webhook(
    store: &mut dyn WebhookStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<WebhookId>>,
) -> Result<DeliveryId, WebhookError> {
    let Target { id, precondition } = id.into();
    let webhook = locked(store, by, id).await?;
    authorize(by, &webhook)?;
    precondition.check(webhook.version)?;
    Ok(store.queue_ping(by.business_id(), id, clock.moment()).await?)
}

/// Returns a page of a subscription's history, newest first. The history of a deleted subscription is readable as long as it is
/// kept.
///
/// # Errors
/// [`WebhookError::NotFound`], [`WebhookError::Store`].
pub async fn list_deliveries(
    store: &mut dyn WebhookReader,
    by: &Caller,
    id: WebhookId,
    filter: &DeliveryFilter,
    page: &PageRequest,
) -> Result<Page<Delivery>, WebhookError> {
    let found = store.deliveries(by.business_id(), id, filter, page).await?;
    found.ok_or(WebhookError::NotFound(id))
}

/// Queues a delivery again, as a new one with the same event id and payload, due now.
///
/// # Errors
/// [`WebhookError::NotFound`], then [`WebhookError::Denied`], then [`WebhookError::DeliveryNotFound`], then
/// [`WebhookError::VersionMismatch`]; [`WebhookError::Store`].
pub async fn redeliver(
    store: &mut dyn WebhookStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<WebhookId>>,
    delivery: DeliveryId,
) -> Result<Delivery, WebhookError> {
    let business = by.business_id();
    let Target { id, precondition } = id.into();
    let webhook = locked(store, by, id).await?;
    authorize(by, &webhook)?;
    if store.delivery(business, id, delivery).await?.is_none() {
        return Err(WebhookError::DeliveryNotFound(delivery));
    }
    precondition.check(webhook.version)?;
    Ok(store.queue_again(business, id, delivery, clock.moment()).await?)
}

/// Authorizes the caller if it has every scope of the subscription, because redirecting or repeating deliveries makes them
/// readable.
fn authorize(by: &Caller, webhook: &Webhook) -> Result<(), WebhookError> {
    match webhook.content.scopes.iter().find(|&scope| !by.may(scope)) {
        Some(missing) => Err(WebhookError::Denied(missing)),
        None => Ok(()),
    }
}

async fn locked(store: &mut dyn WebhookStore, by: &Caller, id: WebhookId) -> Result<Webhook, WebhookError> {
    let webhook = store.lock_webhook(by.business_id(), id).await?;
    webhook.ok_or(WebhookError::NotFound(id))
}
