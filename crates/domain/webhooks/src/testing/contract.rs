//! The contract suite for stores of webhooks.

use forecourt_kernel::{
    BusinessId, EventLog, EventName, EventSequence, Moment, NewEvent, ScopeSet, Timestamp, Version, WebhookId,
    testing::assert_pages,
};

use crate::{
    AttemptRecord, DeliveryFilter, DeliveryQueue, DeliveryStatus, EndpointKey, EndpointState, EventFilter, Events,
    LastStatus, Next, Secret, TargetUrl, Topic, Webhook, WebhookDraft, WebhookStatus, WebhookStore,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(1_790_000_000 + seconds)
}

fn moment(seconds: i64) -> Moment {
    Moment::from(at(seconds))
}

fn secret(text: &str) -> Secret {
    Secret::from_stored(format!("whsec_{text}"))
}

/// A webhook that takes all events.
pub fn a_webhook() -> WebhookDraft {
    WebhookDraft {
        url: TargetUrl::from_stored("https://hooks.example/forecourt?a=b".to_owned()),
        description: "Büro \\ % _ 🚗".to_owned(),
        events: Events::All,
        scopes: ScopeSet::all(),
        status: WebhookStatus::Active,
    }
}

/// Tests that `store` meets the contract of a store of webhooks and their deliveries. The two businesses must have neither
/// webhooks nor events. The suite makes no deliveries of events, because these are made where events are recorded. It does not
/// take due deliveries either, because a server may have its own way to do so.
///
/// # Panics
/// If the store violates the contract.
pub async fn webhook_store_contract<S: WebhookStore + DeliveryQueue + EventLog + ?Sized>(
    store: &mut S,
    ours: BusinessId,
    theirs: BusinessId,
) {
    logs_what_happens(store, ours, theirs).await;
    let webhooks = keeps_every_field(store, ours).await;
    changes_one_webhook(store, ours, &webhooks[0]).await;
    keeps_businesses_apart(store, ours, theirs, &webhooks[1]).await;
    lists_webhooks(store, ours).await;
    records_what_came_of_attempts(store, ours, webhooks[1].id).await;
    deletes_webhooks(store, ours, webhooks[1].id).await;
}

async fn stored<S: WebhookStore + ?Sized>(store: &mut S, business: BusinessId, id: WebhookId) -> Option<Webhook> {
    store.webhook(business, id).await.expect("it is read")
}

async fn keeps_every_field<S: WebhookStore + ?Sized>(store: &mut S, ours: BusinessId) -> Vec<Webhook> {
    let named = WebhookDraft {
        events: Events::Named(vec![EventName::LeadCreated, EventName::ContactUpdated]),
        scopes: ScopeSet::NONE,
        status: WebhookStatus::Disabled,
        ..a_webhook()
    };
    let none = WebhookDraft {
        events: Events::Named(Vec::new()),
        ..a_webhook()
    };
    let mut webhooks = Vec::new();
    for draft in [named, a_webhook(), none] {
        let webhook = store
            .insert_webhook(ours, draft.clone(), &secret("1é🚗9"), at(3))
            .await
            .expect("it is stored");
        let expected = Webhook {
            id: webhook.id,
            content: draft,
            secret_hint: "1é🚗9".to_owned(),
            failure_count: 0,
            last_status: None,
            last_delivery_at: None,
            created: at(3),
            updated: at(3),
            version: Version::FIRST,
        };
        assert_eq!(webhook, expected);
        assert_eq!(stored(store, ours, webhook.id).await.as_ref(), Some(&webhook));
        assert_eq!(
            store
                .lock_webhook(ours, webhook.id)
                .await
                .expect("it is locked")
                .as_ref(),
            Some(&webhook)
        );
        webhooks.push(webhook);
    }
    assert_eq!(store.lock_webhook_count(ours).await.expect("a count"), 3);
    webhooks
}

async fn changes_one_webhook<S: WebhookStore + DeliveryQueue + ?Sized>(
    store: &mut S,
    ours: BusinessId,
    webhook: &Webhook,
) {
    let endpoint = EndpointKey {
        business: ours,
        webhook: webhook.id,
    };
    let changed = Webhook {
        content: WebhookDraft {
            url: TargetUrl::from_stored("https://other.example/".to_owned()),
            ..a_webhook()
        },
        updated: at(9),
        version: webhook.version.next(),
        ..webhook.clone()
    };
    store.save_webhook(ours, &changed).await.expect("it is saved");
    assert_eq!(stored(store, ours, webhook.id).await.as_ref(), Some(&changed));
    store
        .replace_secret(ours, webhook.id, &secret("next"), at(10))
        .await
        .expect("it is replaced");
    let replaced = stored(store, ours, webhook.id).await.expect("a webhook");
    assert_eq!(replaced.secret_hint, "next");
    let EndpointState::Ready(ready) = store.endpoint(endpoint).await.expect("it is read") else {
        unreachable!("it can be sent to")
    };
    assert_eq!(
        (ready.key, ready.url.as_str(), ready.secret, ready.scopes, ready.active),
        (
            endpoint,
            "https://other.example/",
            secret("next"),
            ScopeSet::all(),
            true
        )
    );

    let mut health = store
        .lock_health(endpoint)
        .await
        .expect("it is read")
        .expect("a webhook");
    assert_eq!(
        (health.active, health.failure_count, &*health.url),
        (true, 0, "https://other.example/")
    );
    (health.failure_count, health.last_status) = (4, Some(LastStatus::Failed));
    health.last_delivery_at = Some(at(15));
    store.save_health(&health, at(16)).await.expect("it is saved");
    let faring = Webhook {
        failure_count: 4,
        last_status: Some(LastStatus::Failed),
        last_delivery_at: Some(at(15)),
        ..replaced
    };
    assert_eq!(stored(store, ours, webhook.id).await, Some(faring));
    health.active = false;
    store.save_health(&health, at(17)).await.expect("it is saved");
    let disabled = stored(store, ours, webhook.id).await.expect("a webhook");
    assert_eq!(
        (disabled.content.status, disabled.updated),
        (WebhookStatus::Disabled, at(17))
    );
}

async fn keeps_businesses_apart<S: WebhookStore + ?Sized>(
    store: &mut S,
    ours: BusinessId,
    theirs: BusinessId,
    webhook: &Webhook,
) {
    let id = webhook.id;
    assert_eq!(stored(store, theirs, id).await, None);
    assert_eq!(store.lock_webhook(theirs, id).await.expect("an answer"), None);
    assert_eq!(store.lock_webhook_count(theirs).await.expect("a count"), 0);
    let changed = Webhook {
        content: WebhookDraft {
            description: "theirs".into(),
            ..a_webhook()
        },
        ..webhook.clone()
    };
    store.save_webhook(theirs, &changed).await.expect("nothing is saved");
    store
        .replace_secret(theirs, id, &secret("x"), at(20))
        .await
        .expect("nothing is replaced");
    store
        .delete_webhook(theirs, id, at(20))
        .await
        .expect("nothing is deleted");
    assert_eq!(stored(store, ours, id).await.as_ref(), Some(webhook));
}

async fn lists_webhooks<S: WebhookStore + ?Sized>(store: &mut S, ours: BusinessId) {
    for _ in 0..4 {
        store
            .insert_webhook(ours, a_webhook(), &secret("1"), at(30))
            .await
            .expect("it is stored");
    }
    let all = store
        .webhooks(ours, &forecourt_kernel::PageRequest::first())
        .await
        .expect("they are listed")
        .items;
    assert_eq!(all.len(), 7);
    assert!(all.is_sorted_by(|one, next| one.id > next.id), "newest first");
    assert_pages(
        &all,
        |webhook| webhook.id.get(),
        async |request| store.webhooks(ours, &request).await.expect("they are listed"),
    )
    .await;
}

async fn records_what_came_of_attempts<S: WebhookStore + DeliveryQueue + ?Sized>(
    store: &mut S,
    ours: BusinessId,
    webhook: WebhookId,
) {
    let endpoint = EndpointKey {
        business: ours,
        webhook,
    };
    let mut queued = Vec::new();
    for second in [100, 101, 102] {
        queued.push(
            store
                .queue_ping(ours, webhook, moment(second))
                .await
                .expect("it is queued"),
        );
    }
    let ping = store
        .delivery(ours, webhook, queued[0])
        .await
        .expect("it is read")
        .expect("a delivery");
    assert_eq!(
        (ping.topic, ping.status, ping.attempts, ping.created, ping.delivered_at),
        (Topic::Ping, DeliveryStatus::Pending, 0, at(100), None)
    );
    let attempt = |delivery, attempts, next| AttemptRecord {
        delivery,
        endpoint,
        ping: true,
        attempts,
        first_attempt: moment(110),
        ended: moment(111),
        response_code: Some(if next == Next::Delivered { 200 } else { 500 }),
        response_ms: 7,
        response_body: Some("é".into()),
        error: None,
        next,
    };
    let attempts = [
        attempt(queued[0], 1, Next::Delivered),
        attempt(queued[1], 1, Next::Retry(moment(160))),
        attempt(queued[2], 1, Next::Failed),
    ];
    store.save_attempts(&attempts).await.expect("they are stored");
    let filter = |status| DeliveryFilter {
        status: Some(status),
        topic: None,
    };
    for (delivery, status, code) in [
        (queued[0], DeliveryStatus::Delivered, 200),
        (queued[1], DeliveryStatus::Pending, 500),
        (queued[2], DeliveryStatus::Failed, 500),
    ] {
        let stored = store
            .delivery(ours, webhook, delivery)
            .await
            .expect("it is read")
            .expect("a delivery");
        assert_eq!(
            (stored.status, stored.attempts, stored.response_code, stored.response_ms),
            (status, 1, Some(code), Some(7))
        );
        assert_eq!(stored.response_body.as_deref(), Some("é"));
        let delivered = status == DeliveryStatus::Delivered;
        assert_eq!(stored.delivered_at, delivered.then(|| at(111)));
        let pending = status == DeliveryStatus::Pending;
        assert_eq!(stored.next_attempt_at, pending.then(|| at(160)));
        assert_pages(
            &[stored],
            |delivery| delivery.id.get(),
            async |request| {
                let page = store.deliveries(ours, webhook, &filter(status), &request).await;
                page.expect("they are listed").expect("a webhook")
            },
        )
        .await;
    }
    // A delivery that is no longer pending is not changed.
    let late = attempt(queued[0], 2, Next::Failed);
    store.save_attempts(&[late]).await.expect("it is passed over");
    let stored = store
        .delivery(ours, webhook, queued[0])
        .await
        .expect("it is read")
        .expect("a delivery");
    assert_eq!((stored.status, stored.attempts), (DeliveryStatus::Delivered, 1));

    let again = store
        .queue_again(ours, webhook, queued[2], moment(170))
        .await
        .expect("it is queued");
    assert_ne!(again.id, queued[2]);
    assert_eq!(
        (again.topic, again.status, again.attempts),
        (Topic::Ping, DeliveryStatus::Pending, 0)
    );
}

async fn deletes_webhooks<S: WebhookStore + DeliveryQueue + ?Sized>(
    store: &mut S,
    ours: BusinessId,
    webhook: WebhookId,
) {
    let endpoint = EndpointKey {
        business: ours,
        webhook,
    };
    store
        .delete_webhook(ours, webhook, at(300))
        .await
        .expect("it is deleted");
    assert_eq!(stored(store, ours, webhook).await, None);
    assert_eq!(store.lock_webhook(ours, webhook).await.expect("an answer"), None);
    assert_eq!(store.lock_webhook_count(ours).await.expect("a count"), 6);
    assert_eq!(
        store.endpoint(endpoint).await.expect("an answer"),
        EndpointState::Deleted
    );
    assert_eq!(store.lock_health(endpoint).await.expect("an answer"), None);
    let first = forecourt_kernel::PageRequest::first();
    let history = store
        .deliveries(ours, webhook, &DeliveryFilter::default(), &first)
        .await
        .expect("they are listed");
    let history = history.expect("its history stays").items;
    assert_eq!(history.len(), 4);
    let unknown = store
        .deliveries(ours, WebhookId::new(i64::MAX), &DeliveryFilter::default(), &first)
        .await;
    assert_eq!(unknown.expect("an answer"), None);
}

async fn logs_what_happens<S: WebhookStore + EventLog + ?Sized>(store: &mut S, ours: BusinessId, theirs: BusinessId) {
    assert_eq!(store.latest_event(ours).await.expect("an answer"), EventSequence(0));
    for (business, name, record) in [
        (ours, EventName::LeadCreated, 1),
        (theirs, EventName::LeadCreated, 1),
        (ours, EventName::ContactCreated, 1),
        (ours, EventName::LeadUpdated, 1),
        (ours, EventName::LeadUpdated, 2),
    ] {
        let event = NewEvent {
            name,
            record,
            data: format!(r#"{{"id":{record}}}"#),
            at: at(record),
        };
        store.record(business, event).await.expect("it is recorded");
    }
    assert_eq!(store.latest_event(ours).await.expect("an answer"), EventSequence(4));
    assert_eq!(store.latest_event(theirs).await.expect("an answer"), EventSequence(1));
    let heads = store
        .event_heads(ours, EventSequence(1), 2)
        .await
        .expect("they are read");
    let heads: Vec<_> = heads
        .iter()
        .map(|head| (head.sequence.0, head.name, head.record))
        .collect();
    assert_eq!(
        heads,
        [(2, EventName::ContactCreated, 1), (3, EventName::LeadUpdated, 1)]
    );
    let filter = EventFilter {
        names: vec![EventName::LeadCreated, EventName::LeadUpdated],
        ..EventFilter::default()
    };
    let of_record = EventFilter {
        record: Some(1),
        ..filter.clone()
    };
    for (filter, after, limit, expected) in [
        (&filter, 0, 9, &[1, 3, 4][..]),
        (&filter, 0, 2, &[1, 3]),
        (&filter, 3, 9, &[4]),
        (&filter, 4, 9, &[]),
        (&of_record, 0, 9, &[1, 3]),
    ] {
        let page = store
            .events(ours, filter, EventSequence(after), limit)
            .await
            .expect("they are read");
        let numbers: Vec<_> = page.events.iter().map(|event| event.sequence.0).collect();
        assert_eq!(numbers, expected, "{filter:?} behind {after}");
        assert!(page.events.iter().all(|event| event.id.starts_with("evt_")));
    }
}
