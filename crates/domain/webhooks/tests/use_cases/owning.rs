//! The use cases of owners of webhooks.

use forecourt_kernel::{DeliveryId, EventName, Field, Scope, ScopeSet, StoreError, Valid, ValidationErrors};
use forecourt_webhooks::{
    EventNames, Events, Label, MockWebhookStore, ScopeNames, TargetPolicy, Webhook, WebhookChanges, WebhookDraft,
    WebhookError, WebhookStatus, create_webhook, delete_webhook, draft_webhook, list_deliveries, ping_webhook,
    read_webhook, redeliver, rotate_secret, update_webhook,
};

use crate::support::{At, ID, NOW, Sevens, caller, draft, url, webhook};

const SECURE: TargetPolicy = TargetPolicy { allow_insecure: false };
const READER: &[Scope] = &[Scope::LeadsRead, Scope::ContactsRead, Scope::WebhooksWrite];

fn asked(events: Events, scopes: Option<ScopeSet>) -> Result<WebhookDraft, ValidationErrors> {
    let new = WebhookChanges {
        url: url("https://example.com/hook").into(),
        events: EventNames::from(events).into(),
        scopes: scopes.map(ScopeNames::from).map_or(Field::Absent, Field::Value),
        ..WebhookChanges::default()
    };
    draft_webhook(&caller(READER), &SECURE, new)
}

fn valid(changes: WebhookChanges) -> Valid<WebhookChanges> {
    Valid::new(changes, |changes| changes.faults(&SECURE)).unwrap()
}

fn label(text: &str) -> Field<Label> {
    Label::new(text).unwrap().into()
}

fn named(events: &[EventName]) -> Events {
    Events::Named(events.to_vec())
}

fn set(scopes: &[Scope]) -> ScopeSet {
    scopes.iter().copied().collect()
}

fn fields(outcome: Result<WebhookDraft, ValidationErrors>) -> Vec<String> {
    let errors = outcome.unwrap_err();
    errors.as_slice().iter().map(|error| error.field.clone()).collect()
}

#[test]
fn scopes_are_the_least_that_the_events_take() {
    let one = asked(named(&[EventName::LeadCreated, EventName::LeadDeleted]), None).unwrap();
    assert_eq!(one.scopes, set(&[Scope::LeadsRead]));
    let all = asked(Events::All, None).unwrap();
    assert_eq!(
        all.scopes,
        set(&[Scope::LeadsRead, Scope::ContactsRead]),
        "of all, what the key has"
    );
}

#[test]
fn a_webhook_may_not_have_more_than_its_key() {
    let event = asked(named(&[EventName::LeadCreated, EventName::VehicleSold]), None);
    assert_eq!(fields(event), ["events"]);
    let scope = asked(Events::All, Some(set(&[Scope::LeadsRead, Scope::VehiclePricingRead])));
    assert_eq!(fields(scope), ["scopes"]);
    let both = asked(named(&[EventName::VehicleSold]), Some(set(&[Scope::VehiclesRead])));
    assert_eq!(fields(both), ["events", "scopes"]);
}

#[test]
fn explicit_scopes_hold_what_named_events_take() {
    let scopes = set(&[Scope::LeadsRead]);
    let both = named(&[EventName::LeadCreated, EventName::ContactCreated]);
    assert_eq!(fields(asked(both, Some(scopes))), ["events"]);
    assert_eq!(asked(Events::All, Some(scopes)).unwrap().scopes, scopes);
    for none in [ScopeSet::NONE, set(&[Scope::WebhooksWrite])] {
        assert_eq!(fields(asked(Events::All, Some(none))), ["events"]);
    }
    let beyond = set(&[Scope::VehiclePricingRead]);
    assert_eq!(
        fields(asked(Events::All, Some(beyond))),
        ["scopes"],
        "what the key lacks comes first"
    );
}

#[tokio::test]
async fn a_new_webhook_has_a_secret_of_its_own() {
    let mut store = MockWebhookStore::new();
    store.expect_lock_webhook_count().return_once(|_| Ok(49));
    store
        .expect_insert_webhook()
        .withf(|_, _, secret, at| secret.reveal().starts_with("whsec_") && *at == NOW)
        .return_once(|_, draft, _, _| Ok(webhook(draft)));
    let draft = draft(Events::All, Scope::LeadsRead);
    let (created, secret) = create_webhook(&mut store, &At(NOW), &Sevens, &caller(READER), draft.clone())
        .await
        .unwrap();
    assert_eq!((created.content, secret.reveal().len()), (draft, 50));
}

#[tokio::test]
async fn a_business_has_50_webhooks_at_most() {
    let mut store = MockWebhookStore::new();
    store.expect_lock_webhook_count().return_once(|_| Ok(50));
    let draft = draft(Events::All, Scope::LeadsRead);
    let refused = create_webhook(&mut store, &At(NOW), &Sevens, &caller(READER), draft).await;
    let Err(WebhookError::Invalid(errors)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(errors.as_slice()[0].field, "webhooks");
}

#[tokio::test]
async fn a_key_that_lacks_a_scope_of_the_webhook_changes_its_label_alone() {
    let wider = || webhook(draft(Events::All, set(&[Scope::LeadsRead, Scope::VehiclesRead])));
    let denied = |outcome: Result<(), WebhookError>| matches!(outcome, Err(WebhookError::Denied(Scope::VehiclesRead)));
    for command in [
        WebhookChanges {
            url: url("https://other.example/").into(),
            ..WebhookChanges::default()
        },
        WebhookChanges {
            events: EventNames::from(Events::All).into(),
            ..WebhookChanges::default()
        },
        WebhookChanges {
            status: WebhookStatus::Disabled.into(),
            ..WebhookChanges::default()
        },
    ] {
        let (updated, saved) = update(wider(), command).await;
        assert!(denied(updated.map(drop)) && saved.is_none());
    }
    let label = WebhookChanges {
        description: label("New"),
        ..WebhookChanges::default()
    };
    assert_eq!(update(wider(), label).await.0.unwrap().content.description, "New");

    let mut store = MockWebhookStore::new();
    store.expect_lock_webhook().returning(move |_, _| Ok(Some(wider())));
    let (by, clock) = (caller(READER), At(NOW));
    for outcome in [
        rotate_secret(&mut store, &clock, &Sevens, &by, ID).await.map(drop),
        ping_webhook(&mut store, &clock, &by, ID).await.map(drop),
        redeliver(&mut store, &clock, &by, ID, DeliveryId::new(1))
            .await
            .map(drop),
    ] {
        assert!(denied(outcome));
    }
}

async fn update(stored: Webhook, command: WebhookChanges) -> (Result<Webhook, WebhookError>, Option<Webhook>) {
    let (sender, saved) = std::sync::mpsc::channel();
    let mut store = MockWebhookStore::new();
    store.expect_lock_webhook().return_once(|_, _| Ok(Some(stored)));
    store.expect_save_webhook().returning(move |_, webhook| {
        sender.send(webhook.clone()).unwrap();
        Ok(())
    });
    let updated = update_webhook(&mut store, &At(NOW), &caller(READER), ID, valid(command)).await;
    (updated, saved.try_recv().ok())
}

fn leads_only() -> Webhook {
    webhook(draft(named(&[EventName::LeadCreated]), Scope::LeadsRead))
}

#[tokio::test]
async fn a_change_keeps_the_scopes() {
    let command = WebhookChanges {
        url: url("https://example.org/").into(),
        events: EventNames::from(Events::All).into(),
        description: label("New"),
        ..WebhookChanges::default()
    };
    let (updated, saved) = update(leads_only(), command).await;
    let updated = updated.unwrap();
    assert_eq!(updated.content.scopes, set(&[Scope::LeadsRead]));
    assert_eq!((updated.updated, updated.failure_count), (NOW, 3));
    assert_eq!(saved, Some(updated));
}

#[tokio::test]
async fn events_are_validated_by_the_scopes_of_the_webhook() {
    let command = WebhookChanges {
        events: EventNames::from(named(&[EventName::ContactCreated])).into(),
        ..WebhookChanges::default()
    };
    let (updated, saved) = update(leads_only(), command).await;
    let Err(WebhookError::Invalid(errors)) = updated else {
        panic!("{updated:?}")
    };
    assert_eq!((errors.as_slice()[0].field.as_str(), saved), ("events", None));
}

#[tokio::test]
async fn a_change_that_changes_nothing_is_none() {
    let command = WebhookChanges {
        status: WebhookStatus::Active.into(),
        description: label("CRM"),
        ..WebhookChanges::default()
    };
    let (updated, saved) = update(leads_only(), command).await;
    assert_eq!((updated.unwrap(), saved), (leads_only(), None));
}

#[tokio::test]
async fn enabling_forgets_the_failures() {
    let mut disabled = leads_only();
    disabled.content.status = WebhookStatus::Disabled;
    let command = WebhookChanges {
        status: WebhookStatus::Active.into(),
        ..WebhookChanges::default()
    };
    let (updated, _) = update(disabled, command).await;
    assert_eq!(updated.unwrap().failure_count, 0);
}

#[tokio::test]
async fn a_rotation_shows_the_new_hint() {
    let mut store = MockWebhookStore::new();
    store.expect_lock_webhook().return_once(|_, _| Ok(Some(leads_only())));
    store.expect_replace_secret().return_once(|_, _, _, _| Ok(()));
    let (rotated, secret) = rotate_secret(&mut store, &At(NOW), &Sevens, &caller(READER), ID)
        .await
        .unwrap();
    assert_eq!((rotated.secret_hint.as_str(), rotated.updated), (secret.hint(), NOW));
}

#[tokio::test]
async fn a_webhook_that_is_not_there_is_not_found() {
    let mut store = MockWebhookStore::new();
    store.expect_lock_webhook().returning(|_, _| Ok(None));
    store.expect_webhook().returning(|_, _| Ok(None));
    store.expect_deliveries().returning(|_, _, _, _| Ok(None));
    let (by, clock) = (caller(READER), At(NOW));
    let outcomes = [
        read_webhook(&mut store, &by, ID).await.map(drop),
        update_webhook(&mut store, &clock, &by, ID, valid(WebhookChanges::default()))
            .await
            .map(drop),
        delete_webhook(&mut store, &clock, &by, ID).await,
        rotate_secret(&mut store, &clock, &Sevens, &by, ID).await.map(drop),
        ping_webhook(&mut store, &clock, &by, ID).await.map(drop),
        redeliver(&mut store, &clock, &by, ID, DeliveryId::new(1))
            .await
            .map(drop),
        list_deliveries(
            &mut store,
            &by,
            ID,
            &forecourt_webhooks::DeliveryFilter::default(),
            &forecourt_kernel::PageRequest::first(),
        )
        .await
        .map(drop),
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Err(WebhookError::NotFound(ID))), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_delivery_that_is_not_there_is_not_found() {
    let mut store = MockWebhookStore::new();
    store.expect_lock_webhook().return_once(|_, _| Ok(Some(leads_only())));
    store.expect_delivery().return_once(|_, _, _| Ok(None));
    let missing = redeliver(&mut store, &At(NOW), &caller(READER), ID, DeliveryId::new(9)).await;
    assert!(matches!(missing, Err(WebhookError::DeliveryNotFound(id)) if id.get() == 9));
}

#[tokio::test]
async fn a_failure_of_storage_is_passed_on() {
    let mut store = MockWebhookStore::new();
    store.expect_lock_webhook().return_once(|_, _| Ok(Some(leads_only())));
    store
        .expect_delete_webhook()
        .return_once(|_, _, _| Err(StoreError::Conflict));
    let failed = delete_webhook(&mut store, &At(NOW), &caller(READER), ID).await;
    assert!(matches!(failed, Err(WebhookError::Store(StoreError::Conflict))));
}
