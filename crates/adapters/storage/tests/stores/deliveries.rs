//! Deliveries: how events become deliveries, and how these are taken and tried.

use std::collections::BTreeSet;
use std::time::Duration;

use forecourt_dealership::{Purged, Session};
use forecourt_kernel::{
    BusinessId, Cursor, DeliveryId, EventName, LeadId, Moment, NewEvent, PageRequest, Position, Scope, StoreError,
};
use forecourt_storage::Storage;
use forecourt_webhooks::{
    AttemptRecord, Delivery, DeliveryFilter, DeliveryStatus, DueDelivery, EVENTS_KEPT_DAYS, EndpointKey, EndpointState,
    Events, KEPT_DAYS, Next, Room, Topic, Webhook, WebhookDraft, WebhookStatus, disable_damaged,
};
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::installation::{Installation, both_engines};
use crate::samples::{Dice, a_secret, a_webhook, an_event, at, key, moment, ready, room};

both_engines!(
    an_event_becomes_a_delivery,
    deliveries_vanish_with_their_event,
    nothing_is_reported_of_what_was_undone,
    a_webhook_receives_what_it_asked_for_and_may_see,
    deliveries_are_handed_over_or_left_in_the_queue,
    updates_of_a_record_settle_into_one,
    an_unsettled_update_shows_what_a_later_change_made,
    a_deletion_drops_the_updates_before_it,
    no_more_is_taken_than_there_is_room_for,
    a_damaged_secret_concerns_its_webhook_alone,
    updates_apart_are_delivered_apart,
    what_was_taken_takes_in_no_more,
    due_deliveries_are_taken_in_order,
    settled_updates_are_due_later,
    a_disabled_webhook_is_sent_pings_only,
    a_ping_survives_the_disabling,
    two_takers_never_get_the_same_delivery,
    what_is_left_during_a_take_is_not_forgotten,
    a_lease_that_is_over_is_taken_back,
    what_was_not_tried_is_given_back,
    attempts_read_back,
    an_attempt_changes_nothing_of_what_has_ended,
    a_webhook_is_disabled_and_resumes,
    deleting_a_webhook_fails_what_is_pending,
    a_delivery_is_queued_again,
    a_ping_is_queued_again_as_it_was,
    a_history_is_listed_newest_first,
    history_is_forgotten_after_its_time,
    what_waits_is_never_forgotten,
    one_purge_takes_what_has_aged_lately_or_a_tenth,
    recording_does_not_wait_for_a_locked_webhook,
    busy_writers_lose_and_double_nothing,
);

const CREATED: EventName = EventName::LeadCreated;
const UPDATED: EventName = EventName::LeadUpdated;
const DAY: i64 = 86_400;

async fn take(installation: &Installation, endpoint: EndpointKey, now: i64, limit: u32) -> Vec<DueDelivery> {
    let mut session = installation.begin().await;
    let (lease, again) = (moment(now + 30_000), moment(now + 1_000));
    let taken = session.take_due(endpoint, moment(now), lease, room(limit), again).await;
    session.commit().await.unwrap();
    taken.unwrap().deliveries
}

async fn due(installation: &Installation, now: i64) -> Vec<EndpointKey> {
    installation.begin().await.due_endpoints(moment(now), 99).await.unwrap()
}

async fn next_due(installation: &Installation) -> Option<Moment> {
    installation.begin().await.next_due().await.unwrap()
}

async fn history(installation: &Installation, business: BusinessId, webhook: &Webhook) -> Vec<Delivery> {
    let all = PageRequest {
        position: Position::Number(1),
        per_page: 200,
    };
    let mut reader = installation.read().await;
    let found = reader
        .deliveries(business, webhook.id, &DeliveryFilter::default(), &all)
        .await;
    found.unwrap().unwrap().items
}

async fn set_status(installation: &Installation, business: BusinessId, webhook: &Webhook, status: WebhookStatus) {
    let mut session = installation.begin().await;
    let mut webhook = session.lock_webhook(business, webhook.id).await.unwrap().unwrap();
    webhook.content.status = status;
    session.save_webhook(business, &webhook).await.unwrap();
    session.commit().await.unwrap();
}

async fn delete(installation: &Installation, business: BusinessId, webhook: &Webhook) {
    let mut session = installation.begin().await;
    session.lock_webhook(business, webhook.id).await.unwrap();
    session.delete_webhook(business, webhook.id, at(1)).await.unwrap();
    session.commit().await.unwrap();
}

/// A first attempt with this result.
fn attempt(endpoint: EndpointKey, delivery: DeliveryId, next: Next) -> AttemptRecord {
    AttemptRecord {
        delivery,
        endpoint,
        ping: false,
        attempts: 1,
        first_attempt: moment(100),
        ended: moment(2500),
        response_code: Some(500),
        response_ms: 70,
        response_body: Some("é\0🚗".to_owned()),
        error: None,
        next,
    }
}

async fn save(installation: &Installation, attempts: &[AttemptRecord]) {
    let mut session = installation.begin().await;
    session.save_attempts(attempts).await.unwrap();
    session.commit().await.unwrap();
}

/// Returns the records of deliveries, by the numbers of their events.
async fn records(installation: &Installation, taken: &[DueDelivery]) -> Vec<i64> {
    let mut records = Vec::new();
    for delivery in taken {
        let query = format!("SELECT record FROM events WHERE id = '{}'", delivery.event_id);
        records.push(installation.number(&query).await);
    }
    records
}

async fn an_event_becomes_a_delivery(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    installation.clock.set(moment(1_999));
    installation.happen(business, CREATED, 7).await;
    let event_id = installation.texts("SELECT id FROM events").await.remove(0);
    let [delivery] = history(&installation, business, &webhook).await.try_into().unwrap();
    let expected = Delivery {
        id: delivery.id,
        topic: Topic::Event(CREATED),
        event_id: event_id.clone(),
        status: DeliveryStatus::Pending,
        attempts: 0,
        response_code: None,
        response_ms: None,
        response_body: None,
        error: None,
        next_attempt_at: Some(at(1)),
        created: at(1),
        delivered_at: None,
    };
    assert_eq!(delivery, expected);
    let mut session = installation.begin().await;
    let found = session.delivery(business, webhook.id, delivery.id).await.unwrap();
    assert_eq!(found, Some(expected));
    drop(session);
    assert_eq!(next_due(&installation).await, Some(moment(1_999)));
    let [due] = take(&installation, key(business, &webhook), 2_000, 9)
        .await
        .try_into()
        .unwrap();
    let expected = DueDelivery {
        id: delivery.id,
        topic: Topic::Event(CREATED),
        event_id,
        record: Some(7),
        data: Some(an_event(CREATED, LeadId::new(7)).data.into()),
        happened: at(0),
        attempts: 0,
        first_attempt: None,
        lease: moment(32_000),
    };
    assert_eq!(due, expected);
}

async fn deliveries_vanish_with_their_event(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    for name in [CREATED, UPDATED] {
        let mut session = installation.begin().await;
        session.record(business, an_event(name, LeadId::new(1))).await.unwrap();
        drop(session);
    }
    assert_eq!(history(&installation, business, &webhook).await, []);
    assert_eq!(next_due(&installation).await, None);
    for name in [CREATED, UPDATED] {
        installation.happen(business, name, 1).await;
    }
    assert_eq!(history(&installation, business, &webhook).await.len(), 2);
    assert_eq!(installation.number("SELECT max(sequence) FROM events").await, 2);
}

async fn nothing_is_reported_of_what_was_undone(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let (server, listener) = installation.sending_server().await;
    for takes in [true, false] {
        listener.take(takes);
        let mut session = server.begin().await;
        session
            .record(business, an_event(CREATED, LeadId::new(1)))
            .await
            .unwrap();
        drop(session);
        assert!(listener.heard().is_empty(), "nothing was committed");

        let mut session = server.begin().await;
        session.savepoint().await.unwrap();
        session
            .record(business, an_event(CREATED, LeadId::new(2)))
            .await
            .unwrap();
        session
            .record(business, an_event(UPDATED, LeadId::new(2)))
            .await
            .unwrap();
        session
            .replace_secret(business, webhook.id, &crate::samples::a_secret("x"), at(1))
            .await
            .unwrap();
        session.rollback_to_savepoint().await.unwrap();
        session.commit().await.unwrap();
        assert!(listener.heard().is_empty(), "nothing is left of it");
        assert_eq!(next_due(&installation).await, None);

        let mut session = server.begin().await;
        session
            .record(business, an_event(CREATED, LeadId::new(3)))
            .await
            .unwrap();
        session.savepoint().await.unwrap();
        session
            .record(business, an_event(CREATED, LeadId::new(4)))
            .await
            .unwrap();
        session.rollback_to_savepoint().await.unwrap();
        session.commit().await.unwrap();
        let [summary] = listener.heard().try_into().unwrap();
        assert_eq!(summary.recorded, Some(business));
        assert_eq!(
            (summary.deliveries.len(), summary.queued.len()),
            if takes { (1, 0) } else { (0, 1) }
        );
        take(&installation, key(business, &webhook), 9, 9).await;
    }
    assert_eq!(history(&installation, business, &webhook).await.len(), 2);
}

async fn a_webhook_receives_what_it_asked_for_and_may_see(installation: Installation) {
    let business = installation.business("acme").await;
    let other = installation.business("other").await;
    let draft = |events, scopes: &[Scope], status| WebhookDraft {
        events,
        scopes: scopes.iter().copied().collect(),
        status,
        ..a_webhook()
    };
    let (active, disabled) = (WebhookStatus::Active, WebhookStatus::Disabled);
    let leads = [Scope::LeadsRead];
    let named = || Events::Named(vec![CREATED, EventName::ContactCreated]);
    let cases = [
        (
            draft(Events::All, &leads, active),
            vec![CREATED, EventName::LeadDeleted],
        ),
        (draft(named(), &leads, active), vec![CREATED]),
        (
            draft(named(), &[Scope::LeadsRead, Scope::ContactsRead], active),
            vec![CREATED, EventName::ContactCreated],
        ),
        (draft(Events::All, &[], active), vec![]),
        (draft(Events::All, &leads, disabled), vec![]),
    ];
    installation.webhook(other, a_webhook()).await;
    installation.happen(business, CREATED, 1).await;
    let mut webhooks = Vec::new();
    for (draft, expected) in cases {
        webhooks.push((installation.webhook(business, draft).await, expected));
    }
    for name in [
        CREATED,
        EventName::LeadDeleted,
        EventName::ContactCreated,
        EventName::VehicleSold,
    ] {
        installation.happen(business, name, 2).await;
    }
    for (webhook, expected) in webhooks {
        let mut received: Vec<Topic> = history(&installation, business, &webhook)
            .await
            .iter()
            .map(|delivery| delivery.topic)
            .collect();
        received.reverse();
        let expected: Vec<Topic> = expected.into_iter().map(Topic::Event).collect();
        assert_eq!(received, expected, "{:?}", webhook.content);
    }
    let theirs = format!("SELECT count(*) FROM webhook_deliveries WHERE business_id = {other}");
    assert_eq!(installation.number(&theirs).await, 0);
}

async fn deliveries_are_handed_over_or_left_in_the_queue(installation: Installation) {
    let business = installation.business("acme").await;
    let one = installation.webhook(business, a_webhook()).await;
    let two = installation.webhook(business, a_webhook()).await;
    let keys = [key(business, &one), key(business, &two)];
    let (server, listener) = installation.sending_server().await;
    installation.clock.set(moment(5));

    listener.take(true);
    server.happen(business, CREATED, 1).await;
    let [summary] = listener.heard().try_into().unwrap();
    assert_eq!(
        (summary.recorded, summary.queued.len(), summary.changed.len()),
        (Some(business), 0, 0)
    );
    let handed: Vec<EndpointKey> = summary.deliveries.iter().map(|handed| handed.endpoint.key).collect();
    assert_eq!(handed, keys);
    for (handed, webhook) in summary.deliveries.iter().zip([&one, &two]) {
        let [stored] = history(&installation, business, webhook).await.try_into().unwrap();
        let expected = DueDelivery {
            id: stored.id,
            topic: Topic::Event(CREATED),
            event_id: stored.event_id,
            record: Some(1),
            data: Some(an_event(CREATED, LeadId::new(1)).data.into()),
            happened: at(0),
            attempts: 0,
            first_attempt: None,
            lease: forecourt_webhooks::Policy::default().lease(moment(5)),
        };
        assert_eq!(handed.due, expected);
        let mut session = installation.begin().await;
        let endpoint = ready(session.endpoint(handed.endpoint.key).await.unwrap());
        assert_eq!(*handed.endpoint, endpoint);
    }
    assert_eq!(next_due(&installation).await, None);
    assert_eq!(take(&installation, keys[0], 9, 9).await, [], "it is leased");

    listener.take(false);
    server.happen(business, CREATED, 2).await;
    let [summary] = listener.heard().try_into().unwrap();
    assert!(summary.deliveries.is_empty());
    assert_eq!(summary.queued, keys.map(|key| (key, moment(5))));
    assert_eq!(due(&installation, 5).await.len(), 2);

    // A server without a sender leaves it to those that have one.
    installation.happen(business, CREATED, 3).await;
    assert_eq!(take(&installation, keys[0], 9, 9).await.len(), 2);
}

async fn updates_of_a_record_settle_into_one(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    // It rests for three seconds, or is delivered after thirty.
    for second in [0, 1, 3] {
        installation.clock.set(moment(second * 1000));
        installation.happen(business, UPDATED, 1).await;
    }
    assert_eq!(take(&installation, endpoint, 5_999, 9).await, []);
    assert_eq!(next_due(&installation).await, Some(moment(6_000)));
    let last = installation
        .texts("SELECT id FROM events WHERE sequence = 3")
        .await
        .remove(0);
    let [settling] = history(&installation, business, &webhook).await.try_into().unwrap();
    assert_eq!(
        (&settling.event_id, settling.next_attempt_at, settling.created),
        (&last, Some(at(6)), at(0))
    );
    let [taken] = take(&installation, endpoint, 6_000, 9).await.try_into().unwrap();
    assert_eq!((taken.id, taken.event_id), (settling.id, last));

    for second in 10..45 {
        installation.clock.set(moment(second * 1000));
        installation.happen(business, UPDATED, 1).await;
    }
    let [settling, _] = history(&installation, business, &webhook).await.try_into().unwrap();
    assert_eq!(settling.next_attempt_at, Some(at(40)), "it keeps changing");
    assert_eq!(take(&installation, endpoint, 39_999, 9).await, []);
    let [taken] = take(&installation, endpoint, 40_000, 9).await.try_into().unwrap();
    let expected = installation.texts("SELECT id FROM events WHERE sequence = 38").await;
    assert_eq!([taken.event_id].as_slice(), expected);
}

async fn an_unsettled_update_shows_what_a_later_change_made(installation: Installation) {
    let (updated, sold) = (EventName::VehicleUpdated, EventName::VehicleSold);
    let business = installation.business("acme").await;
    let only_updates = WebhookDraft {
        events: Events::Named(vec![updated]),
        scopes: Scope::VehiclesRead.into(),
        ..a_webhook()
    };
    let webhook = installation.webhook(business, only_updates).await;
    let endpoint = key(business, &webhook);
    for (second, name, record) in [(0, updated, 1), (0, updated, 2), (1, sold, 1)] {
        installation.clock.set(moment(second * 1000));
        let mut session = installation.begin().await;
        let event = NewEvent {
            name,
            record,
            data: format!(r#"{{"id":{record},"at":{second}}}"#),
            at: at(second),
        };
        session.record(business, event).await.unwrap();
        session.commit().await.unwrap();
    }
    let ids = installation.texts("SELECT id FROM events ORDER BY sequence").await;
    let taken = take(&installation, endpoint, 3_000, 9).await;
    let shown: Vec<_> = taken
        .iter()
        .map(|due| (due.event_id.clone(), due.data.as_deref().unwrap(), due.happened))
        .collect();
    assert_eq!(
        shown,
        [
            (ids[0].clone(), r#"{"id":1,"at":1}"#, at(1)),
            (ids[1].clone(), r#"{"id":2,"at":0}"#, at(0))
        ]
    );

    // It is queued again as it was sent, and what has settled is no longer changed.
    let delivered = attempt(endpoint, taken[0].id, Next::Delivered);
    save(&installation, &[delivered]).await;
    installation.happen(business, sold, 1).await;
    let mut session = installation.begin().await;
    session
        .queue_again(business, webhook.id, taken[0].id, moment(5_000))
        .await
        .unwrap();
    session.commit().await.unwrap();
    let [again] = take(&installation, endpoint, 5_000, 9).await.try_into().unwrap();
    assert_eq!(
        (again.topic, &again.event_id, again.data.as_deref()),
        (Topic::Event(updated), &ids[0], Some(r#"{"id":1,"at":1}"#))
    );
}

async fn a_deletion_drops_the_updates_before_it(installation: Installation) {
    let deleted = EventName::LeadDeleted;
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let only_updates = WebhookDraft {
        events: Events::Named(vec![UPDATED]),
        ..a_webhook()
    };
    let deaf = installation.webhook(business, only_updates).await;
    let endpoint = key(business, &webhook);
    let topics = |taken: &[DueDelivery]| {
        let of = |due: &DueDelivery| (due.topic.as_str(), due.record);
        taken.iter().map(of).collect::<Vec<_>>()
    };

    // An unsettled one is gone without a trace, and no other is.
    installation.clock.set(moment(0));
    for (name, record) in [(UPDATED, 1), (UPDATED, 2), (EventName::ContactUpdated, 1), (deleted, 1)] {
        installation.happen(business, name, record).await;
    }
    let left = [("lead.updated", Some(2)), ("contact.updated", Some(1))];
    assert_eq!(
        topics(&take(&installation, endpoint, 0, 9).await),
        [("lead.deleted", Some(1))]
    );
    assert_eq!(topics(&take(&installation, endpoint, 3_000, 9).await), left);
    assert_eq!(history(&installation, business, &webhook).await.len(), 3);
    let deliveries = history(&installation, business, &deaf).await;
    assert_eq!(
        deliveries.len(),
        1,
        "subscriptions without the deletion do not receive the update either"
    );

    // One that waits for another attempt has a history; one that was given back untried has none.
    for record in [3, 4] {
        installation.happen(business, UPDATED, record).await;
    }
    let taken = take(&installation, endpoint, 9_000, 9).await;
    let failed = attempt(endpoint, taken[0].id, Next::Retry(moment(20_000)));
    save(&installation, &[failed]).await;
    let mut session = installation.begin().await;
    session
        .give_back(endpoint, &[taken[1].id], moment(20_000))
        .await
        .unwrap();
    session.commit().await.unwrap();
    for record in [3, 4] {
        installation.happen(business, deleted, record).await;
    }
    let taken_later = take(&installation, endpoint, 20_000, 9).await;
    assert_eq!(
        topics(&taken_later),
        [("lead.deleted", Some(3)), ("lead.deleted", Some(4))]
    );
    let deliveries = history(&installation, business, &webhook).await;
    let tried = deliveries.iter().find(|delivery| delivery.id == taken[0].id).unwrap();
    assert_eq!(
        (tried.status, tried.next_attempt_at, tried.error.as_deref()),
        (DeliveryStatus::Failed, None, Some("the record was deleted"))
    );
    assert!(deliveries.iter().all(|delivery| delivery.id != taken[1].id));

    // Queued again after the deletion, it is wanted.
    installation.clock.set(moment(30_000));
    let mut session = installation.begin().await;
    let again = session
        .queue_again(business, webhook.id, taken[0].id, moment(30_000))
        .await
        .unwrap();
    session.commit().await.unwrap();
    let [repeated] = take(&installation, endpoint, 30_000, 9).await.try_into().unwrap();
    assert_eq!((repeated.id, repeated.topic), (again.id, Topic::Event(UPDATED)));
}

async fn no_more_is_taken_than_there_is_room_for(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    for record in 1..=5 {
        installation.happen(business, CREATED, record).await;
    }
    let size = an_event(CREATED, LeadId::new(1)).data.len();
    let take = async |bytes: usize, deliveries: u32| {
        let mut session = installation.begin().await;
        let room = Room { deliveries, bytes };
        let taken = session
            .take_due(endpoint, moment(9), moment(99), room, moment(10))
            .await
            .unwrap();
        session.commit().await.unwrap();
        (taken.deliveries.len(), taken.more)
    };
    assert_eq!(take(1, 9).await, (1, true), "one that is too large is taken alone");
    assert_eq!(take(2 * size, 9).await, (2, true));
    assert_eq!(take(usize::MAX, 1).await, (1, true));
    assert_eq!(take(usize::MAX, 9).await, (1, false));
}

async fn a_damaged_secret_concerns_its_webhook_alone(installation: Installation) {
    let business = installation.business("acme").await;
    let damaged = installation.webhook(business, a_webhook()).await;
    let sound = installation.webhook(business, a_webhook()).await;
    let statement = format!("UPDATE webhooks SET secret = x'00' WHERE id = {}", damaged.id);
    let statement = match installation.storage {
        Storage::Sqlite(_) => statement,
        Storage::Postgres(_) => statement.replace("x'00'", "'\\x00'::bytea"),
    };
    installation.execute(&statement).await;
    let (sender, listener) = installation.sending_server().await;
    listener.take(true);
    sender.happen(business, CREATED, 1).await;
    let handed: Vec<EndpointKey> = listener
        .heard()
        .into_iter()
        .flat_map(|summary| summary.deliveries)
        .map(|handed| handed.endpoint.key)
        .collect();
    assert_eq!(handed, [key(business, &sound)]);

    let mut session = installation.begin().await;
    let state = session.endpoint(key(business, &damaged)).await.unwrap();
    assert_eq!(state, EndpointState::Damaged);
    for (webhook, changed) in [(&damaged, true), (&damaged, false), (&sound, false)] {
        let disabled = disable_damaged(session.as_mut(), key(business, webhook), at(5)).await;
        assert_eq!(disabled.unwrap(), changed);
    }
    let active = async |session: &mut dyn Session, webhook: &Webhook| {
        let webhook = session.webhook(business, webhook.id).await.unwrap().unwrap();
        webhook.content.status == WebhookStatus::Active
    };
    assert!(!active(session.as_mut(), &damaged).await && active(session.as_mut(), &sound).await);
    session
        .replace_secret(business, damaged.id, &a_secret("new"), at(6))
        .await
        .unwrap();
    ready(session.endpoint(key(business, &damaged)).await.unwrap());
}

async fn updates_apart_are_delivered_apart(installation: Installation) {
    let business = installation.business("acme").await;
    let one = installation.webhook(business, a_webhook()).await;
    let some = WebhookDraft {
        events: Events::Named(vec![UPDATED]),
        ..a_webhook()
    };
    let two = installation.webhook(business, some).await;
    installation.clock.set(moment(0));
    let mut session = installation.begin().await;
    for (name, record) in [
        (UPDATED, 1),
        (UPDATED, 2),
        (EventName::ContactUpdated, 1),
        (UPDATED, 1),
        (EventName::ContactUpdated, 1),
        (CREATED, 1),
        (CREATED, 1),
    ] {
        session
            .record(business, an_event(name, LeadId::new(record)))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    let contact = EventName::ContactUpdated;
    for (webhook, expected) in [
        (
            one,
            vec![(UPDATED, 4), (UPDATED, 2), (contact, 5), (CREATED, 6), (CREATED, 7)],
        ),
        (two, vec![(UPDATED, 4), (UPDATED, 2)]),
    ] {
        let mut deliveries = Vec::new();
        for delivery in history(&installation, business, &webhook).await.into_iter().rev() {
            let query = format!("SELECT sequence FROM events WHERE id = '{}'", delivery.event_id);
            deliveries.push((delivery.topic, installation.number(&query).await));
        }
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(name, number)| (Topic::Event(name), number))
            .collect();
        assert_eq!(deliveries, expected);
        assert_eq!(
            take(&installation, key(business, &webhook), 3_000, 9).await.len(),
            deliveries.len()
        );
    }
}

async fn what_was_taken_takes_in_no_more(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    installation.happen(business, UPDATED, 1).await;
    let [first] = take(&installation, endpoint, 3_000, 9).await.try_into().unwrap();
    installation.clock.set(moment(3_001));
    installation.happen(business, UPDATED, 1).await;
    // Not when it waits for another attempt either.
    let mut session = installation.begin().await;
    session.give_back(endpoint, &[first.id], moment(3_002)).await.unwrap();
    session.commit().await.unwrap();
    installation.happen(business, UPDATED, 1).await;
    let deliveries = history(&installation, business, &webhook).await;
    assert_eq!(deliveries.len(), 2);
    assert_eq!((deliveries[1].id, &deliveries[1].event_id), (first.id, &first.event_id));
}

async fn due_deliveries_are_taken_in_order(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    for (millis, record) in [(300, 3), (100, 1), (200, 2), (100, 11), (900, 9)] {
        installation.clock.set(moment(millis));
        installation.happen(business, CREATED, record).await;
    }
    assert_eq!(due(&installation, 99).await, []);
    assert_eq!(due(&installation, 100).await, [endpoint]);
    let taken = take(&installation, endpoint, 300, 3).await;
    assert_eq!(records(&installation, &taken).await, [1, 11, 2]);
    // More is due, but others have their turn first.
    assert_eq!(next_due(&installation).await, Some(moment(1_300)));
    assert_eq!(due(&installation, 1_299).await, []);
    let taken = take(&installation, endpoint, 301, 0).await;
    assert_eq!((taken.len(), next_due(&installation).await), (0, Some(moment(1_301))));
    let taken = take(&installation, endpoint, 302, 9).await;
    assert_eq!(records(&installation, &taken).await, [3]);
    assert_eq!(next_due(&installation).await, Some(moment(900)));
    let taken = take(&installation, endpoint, 900, 9).await;
    assert_eq!(records(&installation, &taken).await, [9]);
    assert_eq!(next_due(&installation).await, None);

    // The oldest ones come first.
    let other = installation.business("other").await;
    let mut keys = Vec::new();
    for (millis, business) in [(30, business), (10, other), (20, business)] {
        installation.clock.set(moment(10_000 + millis));
        let webhook = installation.webhook(business, a_webhook()).await;
        let mut session = installation.begin().await;
        session
            .queue_ping(business, webhook.id, moment(10_000 + millis))
            .await
            .unwrap();
        session.commit().await.unwrap();
        keys.push(key(business, &webhook));
    }
    let mut session = installation.begin().await;
    let all = session.due_endpoints(moment(20_000), 9).await.unwrap();
    assert_eq!(all, [keys[1], keys[2], keys[0]]);
    assert_eq!(session.due_endpoints(moment(20_000), 2).await.unwrap(), all[..2]);
}

async fn settled_updates_are_due_later(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    let (server, listener) = installation.sending_server().await;
    listener.take(true);
    installation.clock.set(moment(0));
    server.happen(business, UPDATED, 1).await;
    let [summary] = listener.heard().try_into().unwrap();
    assert!(summary.deliveries.is_empty(), "it has not settled");
    assert_eq!(summary.queued, [(endpoint, moment(3_000))]);
    assert_eq!(next_due(&installation).await, Some(moment(3_000)));
    installation.clock.set(moment(1));
    installation.happen(business, CREATED, 2).await;
    assert_eq!(
        next_due(&installation).await,
        Some(moment(1)),
        "sooner than it would be"
    );
    installation.happen(business, UPDATED, 3).await;
    assert_eq!(next_due(&installation).await, Some(moment(1)), "not later");
    assert_eq!(take(&installation, endpoint, 1, 9).await.len(), 1);
    assert_eq!(next_due(&installation).await, Some(moment(3_000)));
}

async fn a_disabled_webhook_is_sent_pings_only(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    installation.happen(business, CREATED, 1).await;
    installation.happen(business, UPDATED, 1).await;
    set_status(&installation, business, &webhook, WebhookStatus::Disabled).await;
    installation.happen(business, CREATED, 2).await;
    assert_eq!(take(&installation, endpoint, 9_000, 9).await, []);
    assert_eq!(next_due(&installation).await, None, "nobody needs to look");
    let mut session = installation.begin().await;
    let ping = session.queue_ping(business, webhook.id, moment(9_001)).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(due(&installation, 9_001).await, [endpoint]);
    let [taken] = take(&installation, endpoint, 9_001, 9).await.try_into().unwrap();
    assert_eq!(
        (taken.id, taken.topic, taken.data, taken.happened),
        (ping, Topic::Ping, None, at(9))
    );
    assert!(taken.event_id.starts_with("evt_"));
    assert_eq!(next_due(&installation).await, None);

    let (server, listener) = installation.sending_server().await;
    set_status(&server, business, &webhook, WebhookStatus::Active).await;
    let [summary] = listener.heard().try_into().unwrap();
    assert_eq!(
        (summary.changed, summary.queued),
        (vec![endpoint], vec![(endpoint, moment(0))])
    );
    assert_eq!(next_due(&installation).await, Some(moment(0)));
    let taken = take(&installation, endpoint, 9_002, 9).await;
    let topics: Vec<Topic> = taken.iter().map(|taken| taken.topic).collect();
    assert_eq!(
        topics,
        [Topic::Event(CREATED), Topic::Event(UPDATED)],
        "and nothing from between"
    );
}

async fn a_ping_survives_the_disabling(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let mut session = installation.begin().await;
    let ping = session.queue_ping(business, webhook.id, moment(5)).await.unwrap();
    session.commit().await.unwrap();
    set_status(&installation, business, &webhook, WebhookStatus::Disabled).await;
    assert_eq!(due(&installation, 5).await, [key(business, &webhook)]);
    let [taken] = take(&installation, key(business, &webhook), 5, 9)
        .await
        .try_into()
        .unwrap();
    assert_eq!(taken.id, ping);
}

async fn two_takers_never_get_the_same_delivery(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    let mut session = installation.begin().await;
    for record in 0..60 {
        session
            .record(business, an_event(CREATED, LeadId::new(record)))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    let other = installation.another_server().await;
    let takers = (0..6).map(|taker| {
        let database = [&installation, &other][taker % 2].database.clone();
        tokio::spawn(async move {
            let mut all = Vec::new();
            loop {
                let mut session = database.begin().await.unwrap();
                let taken = session
                    .take_due(endpoint, moment(1), moment(100), room(4), moment(1))
                    .await
                    .unwrap()
                    .deliveries;
                // Others get their chance while this one still holds its deliveries.
                tokio::task::yield_now().await;
                session.commit().await.unwrap();
                if taken.is_empty() {
                    return all;
                }
                all.extend(taken.into_iter().map(|taken| taken.id));
            }
        })
    });
    let taken: Vec<DeliveryId> = join_all(takers)
        .await
        .into_iter()
        .flat_map(|taker| taker.unwrap())
        .collect();
    assert_eq!(taken.len(), 60);
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>().len(), 60);
}

async fn what_is_left_during_a_take_is_not_forgotten(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    installation.happen(business, CREATED, 1).await;
    let mut taker = installation.begin().await;
    let taken = taker
        .take_due(endpoint, moment(9), moment(99), room(9), moment(10))
        .await
        .unwrap();
    assert_eq!(taken.deliveries.len(), 1);
    // Due no sooner than what the queue still says, as far as others see.
    let leaving = installation.happen(business, CREATED, 2);
    tokio::pin!(leaving);
    // It may wait for the taker, or not; either is fine as long as it is delivered.
    let left = timeout(Duration::from_millis(100), &mut leaving).await;
    if left.is_err() {
        let (committed, ()) = tokio::join!(taker.commit(), leaving);
        committed.unwrap();
    } else {
        taker.commit().await.unwrap();
    }
    assert_eq!(due(&installation, 9).await, [endpoint]);
    assert_eq!(take(&installation, endpoint, 9, 9).await.len(), 1);
}

async fn a_lease_that_is_over_is_taken_back(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    let (server, listener) = installation.sending_server().await;
    listener.take(true);
    installation.clock.set(moment(0));
    // One handed over, two taken.
    server.happen(business, CREATED, 1).await;
    installation.happen(business, CREATED, 2).await;
    installation.happen(business, CREATED, 3).await;
    assert_eq!(take(&installation, endpoint, 0, 9).await.len(), 2);
    listener.heard();
    for (now, limit, expected) in [(29_999, 9, 0), (30_000, 2, 2), (30_000, 9, 1), (30_000, 9, 0)] {
        let mut session = server.begin().await;
        assert_eq!(session.reclaim(moment(now), limit).await.unwrap(), expected);
        session.commit().await.unwrap();
    }
    let deliveries: Vec<_> = listener
        .heard()
        .into_iter()
        .flat_map(|summary| summary.queued)
        .collect();
    assert_eq!(deliveries, [(endpoint, moment(30_000)); 2]);
    assert_eq!(due(&installation, 30_000).await, [endpoint]);
    assert_eq!(take(&installation, endpoint, 30_000, 9).await.len(), 3);
}

async fn what_was_not_tried_is_given_back(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    for record in 1..=3 {
        installation.happen(business, CREATED, record).await;
    }
    let taken = take(&installation, endpoint, 0, 9).await;
    let ids: Vec<_> = taken.iter().map(|taken| taken.id).collect();
    save(&installation, &[attempt(endpoint, ids[2], Next::Delivered)]).await;
    let mut session = installation.begin().await;
    session.give_back(endpoint, &[ids[0], ids[2]], moment(7)).await.unwrap();
    session.give_back(endpoint, &[], moment(7)).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(next_due(&installation).await, Some(moment(7)));
    let again = take(&installation, endpoint, 7, 9).await;
    assert_eq!(again.len(), 1);
    let expected = DueDelivery {
        lease: moment(30_007),
        ..taken[0].clone()
    };
    assert_eq!(again[0], expected);
}

async fn attempts_read_back(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    for record in 1..=4 {
        installation.happen(business, CREATED, record).await;
    }
    let taken = take(&installation, endpoint, 0, 9).await;
    let [one, two, three, four] = [0, 1, 2, 3].map(|index| taken[index].id);
    save(&installation, &[]).await;
    let unanswered = AttemptRecord {
        response_code: None,
        response_body: None,
        error: Some("no\0 answer".to_owned()),
        attempts: u32::MAX,
        response_ms: u32::MAX,
        ..attempt(endpoint, two, Next::Failed)
    };
    let retried = attempt(endpoint, three, Next::Retry(moment(60_500)));
    let later = attempt(endpoint, four, Next::Retry(moment(70_500)));
    save(
        &installation,
        &[later, attempt(endpoint, one, Next::Delivered), unanswered, retried],
    )
    .await;

    let [fourth, third, second, first] = history(&installation, business, &webhook).await.try_into().unwrap();
    let answered = Delivery {
        status: DeliveryStatus::Delivered,
        attempts: 1,
        response_code: Some(500),
        response_ms: Some(70),
        response_body: Some("é\u{fffd}🚗".to_owned()),
        next_attempt_at: None,
        delivered_at: Some(at(2)),
        ..first.clone()
    };
    assert_eq!(first, answered);
    let most = u32::try_from(i32::MAX).unwrap();
    assert_eq!(
        (
            second.status,
            second.attempts,
            second.response_code,
            second.response_ms,
            second.response_body
        ),
        (DeliveryStatus::Failed, most, None, Some(most), None)
    );
    assert_eq!(
        (second.error.as_deref(), second.next_attempt_at, second.delivered_at),
        (Some("no\u{fffd} answer"), None, None)
    );
    assert_eq!(
        (third.status, third.attempts, third.next_attempt_at, third.delivered_at),
        (DeliveryStatus::Pending, 1, Some(at(60)), None)
    );
    assert_eq!(fourth.next_attempt_at, Some(at(70)));

    assert_eq!(next_due(&installation).await, Some(moment(60_500)));
    assert_eq!(take(&installation, endpoint, 60_499, 9).await, []);
    let [again] = take(&installation, endpoint, 60_500, 9).await.try_into().unwrap();
    assert_eq!(
        (again.id, again.attempts, again.first_attempt),
        (three, 1, Some(moment(100)))
    );
    // The next attempt's outcome replaces the whole of this one's.
    let done = AttemptRecord {
        response_code: None,
        response_body: None,
        error: Some("timed out".to_owned()),
        attempts: 2,
        ..attempt(endpoint, three, Next::Failed)
    };
    save(&installation, &[done]).await;
    let third = &history(&installation, business, &webhook).await[1];
    assert_eq!(
        (
            third.attempts,
            third.response_code,
            &third.response_body,
            third.error.as_deref()
        ),
        (2, None, &None, Some("timed out"))
    );
}

async fn an_attempt_changes_nothing_of_what_has_ended(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    installation.happen(business, CREATED, 1).await;
    let [taken] = take(&installation, endpoint, 0, 9).await.try_into().unwrap();
    delete(&installation, business, &webhook).await;
    let ended = history(&installation, business, &webhook).await;
    assert_eq!(ended[0].status, DeliveryStatus::Failed);
    for next in [Next::Delivered, Next::Retry(moment(1)), Next::Failed] {
        save(&installation, &[attempt(endpoint, taken.id, next)]).await;
    }
    let mut session = installation.begin().await;
    session.give_back(endpoint, &[taken.id], moment(1)).await.unwrap();
    assert_eq!(session.reclaim(moment(999_999), 9).await.unwrap(), 0);
    session.commit().await.unwrap();
    assert_eq!(history(&installation, business, &webhook).await, ended);
    assert_eq!(next_due(&installation).await, None);
}

async fn a_webhook_is_disabled_and_resumes(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    let (server, listener) = installation.sending_server().await;
    installation.clock.set(moment(0));
    installation.happen(business, CREATED, 1).await;
    let subscribers = "SELECT number FROM counters WHERE kind = 'subscribers'";
    let before = installation.number(subscribers).await;
    let mut session = server.begin().await;
    let mut health = session.lock_health(endpoint).await.unwrap().unwrap();
    health.failure_count = 9;
    session.save_health(&health, at(1)).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(installation.number(subscribers).await, before, "it only fares worse");
    assert!(listener.heard().is_empty());
    let unchanged = installation
        .read()
        .await
        .webhook(business, webhook.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((unchanged.updated, unchanged.failure_count), (at(0), 9));

    let mut session = server.begin().await;
    let mut health = session.lock_health(endpoint).await.unwrap().unwrap();
    (health.failure_count, health.active) = (10, false);
    session.save_health(&health, at(2)).await.unwrap();
    session.commit().await.unwrap();
    let [summary] = listener.heard().try_into().unwrap();
    assert_eq!(summary.changed, [endpoint]);
    assert_eq!(installation.number(subscribers).await, 0);
    let disabled = installation
        .read()
        .await
        .webhook(business, webhook.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (disabled.content.status, disabled.updated),
        (WebhookStatus::Disabled, at(2))
    );
    installation.happen(business, CREATED, 2).await;
    assert_eq!(take(&installation, endpoint, 1, 9).await, []);

    // A straggler that fails changes it no more.
    let mut session = server.begin().await;
    let mut health = session.lock_health(endpoint).await.unwrap().unwrap();
    assert!(!health.active);
    health.failure_count = 11;
    session.save_health(&health, at(3)).await.unwrap();
    session.commit().await.unwrap();
    let still = installation
        .read()
        .await
        .webhook(business, webhook.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((still.updated, still.failure_count), (at(2), 11));

    set_status(&installation, business, &webhook, WebhookStatus::Active).await;
    assert!(![0, before].contains(&installation.number(subscribers).await));
    installation.happen(business, CREATED, 3).await;
    let taken = take(&installation, endpoint, 1, 9).await;
    assert_eq!(records(&installation, &taken).await, [1, 3]);
}

async fn deleting_a_webhook_fails_what_is_pending(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let other = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    // Delivered, leased, waiting, settling.
    for (name, record) in [(CREATED, 1), (CREATED, 2), (CREATED, 3), (UPDATED, 3)] {
        installation.happen(business, name, record).await;
    }
    let taken = take(&installation, endpoint, 0, 2).await;
    save(&installation, &[attempt(endpoint, taken[0].id, Next::Delivered)]).await;
    let (server, listener) = installation.sending_server().await;
    delete(&server, business, &webhook).await;
    assert_eq!(listener.heard()[0].changed, [endpoint]);
    let deliveries: Vec<_> = history(&installation, business, &webhook)
        .await
        .into_iter()
        .rev()
        .map(|delivery| (delivery.status, delivery.next_attempt_at, delivery.error.is_some()))
        .collect();
    let failed = (DeliveryStatus::Failed, None, true);
    assert_eq!(
        deliveries,
        [(DeliveryStatus::Delivered, None, false), failed, failed, failed]
    );
    assert_eq!(due(&installation, 9_000).await, [key(business, &other)]);
    assert_eq!(take(&installation, endpoint, 9_000, 9).await, []);
    assert_eq!(take(&installation, key(business, &other), 9_000, 9).await.len(), 4);
}

async fn a_delivery_is_queued_again(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    installation.happen(business, UPDATED, 1).await;
    let [past] = take(&installation, endpoint, 3_000, 9).await.try_into().unwrap();
    save(&installation, &[attempt(endpoint, past.id, Next::Failed)]).await;
    installation.happen(business, UPDATED, 1).await;
    let (server, listener) = installation.sending_server().await;
    let mut session = server.begin().await;
    let again = session
        .queue_again(business, webhook.id, past.id, moment(4_500))
        .await
        .unwrap();
    session.commit().await.unwrap();
    assert_eq!(listener.heard()[0].queued, [(endpoint, moment(4_500))]);
    let [stored, _, first] = history(&installation, business, &webhook).await.try_into().unwrap();
    assert_eq!(stored, again);
    let expected = Delivery {
        id: again.id,
        topic: Topic::Event(UPDATED),
        event_id: past.event_id.clone(),
        status: DeliveryStatus::Pending,
        attempts: 0,
        response_code: None,
        response_ms: None,
        response_body: None,
        error: None,
        next_attempt_at: Some(at(4)),
        created: at(4),
        delivered_at: None,
    };
    assert_eq!(again, expected);
    assert_eq!((first.id, first.status), (past.id, DeliveryStatus::Failed));
    let taken = take(&installation, endpoint, 4_500, 9).await;
    let repeated = taken.iter().find(|taken| taken.id == again.id).unwrap();
    assert_eq!(
        (&repeated.event_id, &repeated.data, repeated.happened, repeated.attempts),
        (&past.event_id, &past.data, past.happened, 0)
    );
}

async fn a_ping_is_queued_again_as_it_was(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    let mut session = installation.begin().await;
    let mut last = session.queue_ping(business, webhook.id, moment(1_000)).await.unwrap();
    for later in [5_000, 9_000] {
        last = session
            .queue_again(business, webhook.id, last, moment(later))
            .await
            .unwrap()
            .id;
    }
    session.commit().await.unwrap();
    let taken = take(&installation, endpoint, 9_000, 9).await;
    let deliveries: Vec<_> = taken.iter().map(|ping| (&ping.event_id, ping.happened)).collect();
    assert_eq!(deliveries, [(&taken[0].event_id, at(1)); 3]);
}

async fn a_history_is_listed_newest_first(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let other = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    installation.clock.set(moment(0));
    for record in 1..=3 {
        installation.happen(business, CREATED, record).await;
        installation.happen(business, EventName::LeadDeleted, record).await;
    }
    let mut session = installation.begin().await;
    session.queue_ping(business, webhook.id, moment(1)).await.unwrap();
    session.commit().await.unwrap();
    let taken = take(&installation, endpoint, 0, 9).await;
    save(
        &installation,
        &[
            attempt(endpoint, taken[0].id, Next::Delivered),
            attempt(endpoint, taken[1].id, Next::Delivered),
            attempt(endpoint, taken[2].id, Next::Failed),
        ],
    )
    .await;
    let all: Vec<_> = history(&installation, business, &webhook)
        .await
        .iter()
        .map(|each| each.id)
        .collect();
    assert_eq!(all.len(), 7);
    assert!(all.is_sorted_by(|one, next| one > next));
    assert_eq!(history(&installation, business, &other).await.len(), 6);
    let [created, deleted] = [CREATED, EventName::LeadDeleted].map(|name| Some(Topic::Event(name)));
    for (status, topic, expected) in [
        (None, None, vec![0, 1, 2, 3, 4, 5, 6]),
        (Some(DeliveryStatus::Pending), None, vec![0, 1, 2, 3]),
        (Some(DeliveryStatus::Delivered), None, vec![5, 6]),
        (Some(DeliveryStatus::Failed), None, vec![4]),
        (None, created, vec![2, 4, 6]),
        (None, Some(Topic::Ping), vec![0]),
        (Some(DeliveryStatus::Delivered), deleted, vec![5]),
        (Some(DeliveryStatus::Failed), deleted, vec![]),
    ] {
        let filter = DeliveryFilter { status, topic };
        let expected: Vec<_> = expected.into_iter().map(|index: usize| all[index]).collect();
        let mut walked = Vec::new();
        let mut position = Position::Number(1);
        loop {
            let request = PageRequest { position, per_page: 2 };
            let by_number = matches!(request.position, Position::Number(_));
            let mut reader = installation.read().await;
            let page = reader
                .deliveries(business, webhook.id, &filter, &request)
                .await
                .unwrap()
                .unwrap();
            let total = i64::try_from(expected.len()).unwrap();
            assert_eq!(page.total, by_number.then_some(total));
            walked.extend(page.items.iter().map(|delivery| delivery.id));
            match page.next {
                Some(cursor) => position = Position::After(cursor),
                None => break,
            }
        }
        assert_eq!(walked, expected, "{filter:?}");
        let second = PageRequest {
            position: Position::Number(2),
            per_page: 2,
        };
        let mut reader = installation.read().await;
        let page = reader
            .deliveries(business, webhook.id, &filter, &second)
            .await
            .unwrap()
            .unwrap();
        let ids: Vec<_> = page.items.iter().map(|delivery| delivery.id).collect();
        assert_eq!(ids, expected.iter().copied().skip(2).take(2).collect::<Vec<_>>());
        let next = page.next.map(|cursor: Cursor| cursor.id());
        assert_eq!(next, (expected.len() > 4).then(|| expected[3].get()));
    }
}

/// Forgets everything that is past its time at that second.
async fn forget(installation: &Installation, second: i64, limit: u32) -> u32 {
    let before = |days| at(second - days * DAY);
    let mut session = installation.begin().await;
    let gone = session.purge_deliveries(before(KEPT_DAYS), limit).await.unwrap()
        + session.purge_webhooks(before(KEPT_DAYS), limit).await.unwrap()
        + session.purge_events(before(EVENTS_KEPT_DAYS), limit).await.unwrap();
    session.commit().await.unwrap();
    gone
}

/// Ends all waiting deliveries as delivered.
async fn end_all(installation: &Installation) {
    let ended = "UPDATE webhook_deliveries SET status = 1, due = NULL, lease = NULL, settling = NULL WHERE status = 0";
    installation.execute(ended).await;
}

async fn what_waits_is_never_forgotten(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    for record in 1..=3 {
        installation.clock.set(moment(record * 1000));
        installation.happen(business, CREATED, record).await;
    }
    let sent = "UPDATE webhook_deliveries SET status = 1, due = NULL, settling = NULL WHERE sequence <> 2";
    installation.execute(sent).await;
    let count = async |table: &str| installation.number(&format!("SELECT count(*) FROM {table}")).await;
    let late = 400 * DAY;
    assert_eq!(
        forget(&installation, late, 99).await,
        2 + 1,
        "two deliveries, and the event before the one that waits"
    );
    assert_eq!((count("webhook_deliveries").await, count("events").await), (1, 2));
    let taken = take(&installation, key(business, &webhook), late * 1000, 9).await;
    assert!(matches!(&*taken, [taken] if taken.data.is_some()), "{taken:?}");
    // A disabled one does not hold back the log.
    installation.execute("UPDATE webhooks SET active = false").await;
    assert_eq!(forget(&installation, late, 99).await, 2);
    assert_eq!((count("webhook_deliveries").await, count("events").await), (1, 0));
}

async fn one_purge_takes_what_has_aged_lately_or_a_tenth(installation: Installation) {
    let business = installation.business("acme").await;
    installation.webhook(business, a_webhook()).await;
    for record in 1..=25 {
        installation.happen(business, CREATED, record).await;
    }
    end_all(&installation).await;
    for table in ["webhook_deliveries", "events"] {
        let stamp = "1790000000 + CASE WHEN sequence <= 24 THEN sequence ELSE 1000000 END";
        installation
            .execute(&format!("UPDATE {table} SET created = {stamp}"))
            .await;
    }
    let quota = async |what, before, since| {
        let mut reader = installation.read().await;
        reader.purge_quota(what, at(before), at(since)).await.unwrap()
    };
    let newest = installation.read().await.newest_record().await.unwrap();
    assert!(newest >= Some(at(1_000_000)), "{newest:?}");
    for what in [Purged::Deliveries, Purged::Events] {
        // 5, 6, 7 and 8 have aged lately, and four before.
        assert_eq!(quota(what, 9, 5).await, 4, "{what:?}");
        assert_eq!(quota(what, 9, 8).await, 3, "{what:?}: a tenth of 25");
        assert_eq!(quota(what, 9, 0).await, 8, "{what:?}");
        assert_eq!(quota(what, 1, 0).await, 0, "{what:?}: nothing is so old");
    }
    for what in [Purged::Answers, Purged::Webhooks, Purged::ListingRemovals] {
        assert_eq!(quota(what, 9, 5).await, 0, "{what:?}");
    }
}

async fn history_is_forgotten_after_its_time(installation: Installation) {
    let business = installation.business("acme").await;
    let kept = installation.webhook(business, a_webhook()).await;
    let deleted = installation.webhook(business, a_webhook()).await;
    for day in 0..3 {
        installation.clock.set(moment(day * DAY * 1000));
        let mut session = installation.begin().await;
        let event = forecourt_kernel::NewEvent {
            at: at(day * DAY),
            ..an_event(CREATED, LeadId::new(day))
        };
        session.record(business, event).await.unwrap();
        session.commit().await.unwrap();
    }
    let mut session = installation.begin().await;
    session.delete_webhook(business, deleted.id, at(2 * DAY)).await.unwrap();
    session.commit().await.unwrap();
    let installation = &installation;
    // Those of the other one were sent.
    end_all(installation).await;
    let forget = async |second: i64, limit| forget(installation, second, limit).await;
    let count = async |table: &str| installation.number(&format!("SELECT count(*) FROM {table}")).await;
    assert_eq!(forget(30 * DAY, 9).await, 0, "for thirty days all is kept");
    assert_eq!(forget(30 * DAY + 1, 1).await, 1, "no more than asked for");
    assert_eq!(forget(30 * DAY + 1, 9).await, 1);
    assert_eq!((count("webhook_deliveries").await, count("events").await), (4, 3));
    assert_eq!(history(installation, business, &deleted).await.len(), 2);
    // A delivery that is queued again on its last day still has its data.
    let last = history(installation, business, &kept).await.remove(1);
    let mut session = installation.begin().await;
    assert!(session.delivery(business, kept.id, last.id).await.unwrap().is_some());
    let again = session
        .queue_again(business, kept.id, last.id, moment(31 * DAY * 1000))
        .await
        .unwrap();
    session.commit().await.unwrap();
    forget(31 * DAY + 1, 9).await;
    let taken = take(installation, key(business, &kept), 31 * DAY * 1000, 9).await;
    let taken = taken.into_iter().find(|taken| taken.id == again.id).unwrap();
    assert!(taken.data.is_some());

    // The last of the deleted one's history, then itself.
    forget(32 * DAY + 1, 9).await;
    assert_eq!(count("webhooks").await, 1);
    let page = PageRequest {
        position: Position::Number(1),
        per_page: 9,
    };
    let mut reader = installation.read().await;
    let gone = reader
        .deliveries(business, deleted.id, &DeliveryFilter::default(), &page)
        .await;
    assert_eq!(gone.unwrap(), None);
    drop(reader);
    assert_eq!(count("events").await, 2);
    let latest = installation.read().await.latest_event(business).await.unwrap();
    assert_eq!(latest.0, 3);

    // The rest of the queue no longer has data, and cannot be queued again.
    let mut session = installation.begin().await;
    session
        .give_back(key(business, &kept), &[again.id], moment(40 * DAY * 1000))
        .await
        .unwrap();
    session.commit().await.unwrap();
    // It waits with its event as long as the webhook is active.
    forget(60 * DAY, 9).await;
    assert_eq!(count("events").await, 2);
    installation.execute("UPDATE webhooks SET active = false").await;
    forget(60 * DAY, 9).await;
    assert_eq!(count("events").await, 0);
    let taken = take(installation, key(business, &kept), 60 * DAY * 1000, 9).await;
    assert_eq!((taken[0].id, &taken[0].data), (again.id, &None));
    let mut session = installation.begin().await;
    assert_eq!(session.delivery(business, kept.id, again.id).await.unwrap(), None);
}

async fn recording_does_not_wait_for_a_locked_webhook(installation: Installation) {
    if matches!(installation.storage, Storage::Sqlite(_)) {
        // Writers take turns there, with any writes.
        return;
    }
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let mut owner = installation.begin().await;
    owner.lock_webhook(business, webhook.id).await.unwrap();
    owner.lock_health(key(business, &webhook)).await.unwrap();
    let recorded = timeout(Duration::from_secs(20), installation.happen(business, CREATED, 1)).await;
    assert!(recorded.is_ok(), "it waits for the webhook");
    // And so the owner gets at the counters, which the recording transaction held meanwhile.
    let mut changed = webhook.clone();
    changed.content.status = WebhookStatus::Disabled;
    owner.save_webhook(business, &changed).await.unwrap();
    owner.commit().await.unwrap();
    assert_eq!(history(&installation, business, &webhook).await.len(), 1);
}

/// Runs work until it meets no conflict.
async fn retried(mut work: impl AsyncFnMut() -> Result<(), StoreError>) {
    loop {
        match work().await {
            Err(StoreError::Conflict) => {}
            outcome => return outcome.unwrap(),
        }
    }
}

async fn busy_writers_lose_and_double_nothing(installation: Installation) {
    const WRITERS: u64 = 8;
    const EVENTS: i64 = 25;
    let business = installation.business("acme").await;
    // Two that stay, and one that comes and goes.
    let mut webhooks = Vec::new();
    for _ in 0..3 {
        webhooks.push(installation.webhook(business, a_webhook()).await);
    }
    let keys: Vec<EndpointKey> = webhooks.iter().map(|webhook| key(business, webhook)).collect();
    let (sender, listener) = installation.sending_server().await;
    listener.take(true);
    installation.clock.set(moment(0));
    let writers = (0..WRITERS).map(|seed| {
        let database = if seed % 2 == 0 {
            sender.database.clone()
        } else {
            installation.database.clone()
        };
        async move {
            let mut dice = Dice::new(seed);
            for number in 0..EVENTS {
                let updates = 1 + dice.number(3);
                retried(async || {
                    let mut session = database.begin().await?;
                    let record = i64::try_from(seed).unwrap() * 1000 + number;
                    session.record(business, an_event(CREATED, LeadId::new(record))).await?;
                    for record in 0..updates {
                        session.record(business, an_event(UPDATED, LeadId::new(record))).await?;
                    }
                    session.commit().await
                })
                .await;
            }
        }
        .boxed_local()
    });
    let owner = {
        let (database, webhooks) = (installation.database.clone(), webhooks.clone());
        async move {
            let mut dice = Dice::new(99);
            for round in 0..40 {
                let webhook = &webhooks[if round % 2 == 0 { 2 } else { dice.roll(3) }];
                retried(async || {
                    let mut session = database.begin().await?;
                    let mut stored = session.lock_webhook(business, webhook.id).await?.unwrap();
                    stored.content.description = round.to_string();
                    if webhook.id == webhooks[2].id {
                        stored.content.status = match stored.content.status {
                            WebhookStatus::Active => WebhookStatus::Disabled,
                            WebhookStatus::Disabled => WebhookStatus::Active,
                        };
                    }
                    session.save_webhook(business, &stored).await?;
                    session.commit().await
                })
                .await;
            }
        }
        .boxed_local()
    };
    let takers = (0..2_u64).map(|seed| {
        let (database, keys) = (
            [&installation, &sender][usize::from(seed == 1)].database.clone(),
            keys.clone(),
        );
        async move {
            let mut dice = Dice::new(1000 + seed);
            for _ in 0..60 {
                let now = dice.number(40_000);
                let mut taken = Vec::new();
                retried(async || {
                    taken.clear();
                    let mut session = database.begin().await?;
                    session.due_endpoints(moment(now), 9).await?;
                    for &key in &keys {
                        let again = moment(now + 1);
                        let due = session
                            .take_due(key, moment(now), moment(100_000), room(5), again)
                            .await?;
                        for due in due.deliveries {
                            taken.push((key, due.id));
                        }
                    }
                    session.next_due().await?;
                    session.commit().await
                })
                .await;
                let back = taken.split_off(taken.len().min(dice.roll(9)));
                let attempts: Vec<AttemptRecord> = taken
                    .iter()
                    .map(|&(key, id)| match id.get() % 3 {
                        0 => attempt(key, id, Next::Retry(moment(200_000))),
                        1 => attempt(key, id, Next::Failed),
                        _ => attempt(key, id, Next::Delivered),
                    })
                    .collect();
                let policy = forecourt_webhooks::Policy {
                    disable_after: 5,
                    ..forecourt_webhooks::Policy::default()
                };
                retried(async || {
                    let mut session = database.begin().await?;
                    // Those that stay are never disabled.
                    for (index, &key) in keys.iter().enumerate() {
                        if let Some(mut health) = session.lock_health(key).await? {
                            health.failure_count += 1;
                            health.active &= index < 2 || health.failure_count < policy.disable_after;
                            session.save_health(&health, at(1)).await?;
                        }
                    }
                    session.save_attempts(&attempts).await?;
                    session.commit().await
                })
                .await;
                retried(async || {
                    let mut session = database.begin().await?;
                    for &(key, id) in &back {
                        session.give_back(key, &[id], moment(now)).await?;
                    }
                    session.reclaim(moment(now), 9).await?;
                    session.commit().await
                })
                .await;
            }
        }
        .boxed_local()
    });
    join_all(writers.chain([owner]).chain(takers)).await;

    let events = i64::try_from(WRITERS).unwrap() * EVENTS;
    for (index, webhook) in webhooks.iter().enumerate() {
        let deliveries = format!(
            "FROM webhook_deliveries WHERE topic = 'lead.created' AND webhook_id = {}",
            webhook.id
        );
        let all = installation.number(&format!("SELECT count(*) {deliveries}")).await;
        let apart = installation
            .number(&format!("SELECT count(DISTINCT event_id) {deliveries}"))
            .await;
        assert_eq!(all, apart, "twice to one webhook");
        assert!(
            all == events || index == 2 && all < events,
            "{index}: {all} of {events}"
        );
    }
    // The last state of each record was delivered to those that stay, or will be.
    let untold = format!(
        "SELECT count(*) FROM webhooks w JOIN (SELECT record, max(sequence) AS sequence FROM events
             WHERE name = 'lead.updated' GROUP BY record) e ON w.id IN ({}, {})
         WHERE NOT EXISTS (SELECT * FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.sequence = e.sequence)",
        webhooks[0].id, webhooks[1].id
    );
    assert_eq!(installation.number(&untold).await, 0);
    // A delivery to an active one is found by a server that looks.
    let overlooked = format!(
        "SELECT count(*) FROM webhook_deliveries d JOIN webhook_queues q ON q.webhook_id = d.webhook_id
         WHERE q.active AND d.due IS NOT NULL AND (q.next_due IS NULL OR q.next_due > d.due AND q.next_due > {})",
        moment(40_001).epoch_millis()
    );
    assert_eq!(installation.number(&overlooked).await, 0);
    let places =
        "SELECT count(*) FROM webhook_deliveries WHERE settling IS NOT NULL AND (status <> 0 OR lease IS NOT NULL)";
    assert_eq!(installation.number(places).await, 0);
}
