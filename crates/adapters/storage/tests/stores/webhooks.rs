//! Subscriptions, and the event log, which can be read in their place.

use std::collections::BTreeSet;

use forecourt_kernel::{
    BusinessId, Cursor, EventName, EventSequence, LeadId, NewEvent, PageRequest, Position, Range, Timestamp, Version,
    WebhookId,
};
use forecourt_webhooks::testing::webhook_store_contract;
use forecourt_webhooks::{DeliveryFilter, DeliveryStatus, EndpointState, EventFilter, LogPage, Webhook, WebhookStatus};

use crate::installation::{Installation, both_engines};
use crate::samples::{a_secret, a_webhook, an_event, at, key, moment, ready, room};

both_engines!(
    webhooks_are_kept_as_their_domain_asks,
    webhooks_are_counted_by_turns,
    webhooks_are_listed_newest_first,
    a_webhook_belongs_to_one_business,
    a_secret_is_encrypted_and_every_server_with_the_key_reads_it,
    a_secret_is_replaced,
    a_deleted_webhook_is_gone_but_for_its_history,
    what_another_server_changes_holds_for_the_next_event,
    of_two_changes_at_once_none_is_overlooked,
    the_log_shows_every_field,
    the_log_is_read_in_parts,
    the_log_is_filtered,
    the_log_is_read_from_a_time_on,
    the_log_begins_behind_what_was_forgotten,
    stamps_never_go_back,
    a_long_log_is_walked_in_bounded_steps,
    a_deleted_webhooks_backlog_is_failed_in_parts,
);

async fn read(installation: &Installation, business: BusinessId, id: WebhookId) -> Option<Webhook> {
    installation.read().await.webhook(business, id).await.unwrap()
}

async fn page(installation: &Installation, business: BusinessId, position: Position, per_page: u32) -> Vec<WebhookId> {
    let request = PageRequest { position, per_page };
    let page = installation.read().await.webhooks(business, &request).await.unwrap();
    page.items.iter().map(|webhook| webhook.id).collect()
}

async fn webhooks_are_kept_as_their_domain_asks(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let mut session = installation.begin().await;
    webhook_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
    let webhook = installation.webhook(ours, a_webhook()).await;
    assert_eq!(read(&installation, ours, webhook.id).await, Some(webhook));
}

async fn webhooks_are_counted_by_turns(installation: Installation) {
    let business = installation.business("acme").await;
    let other = installation.business("other").await;
    let gone = installation.webhook(business, a_webhook()).await;
    installation.webhook(other, a_webhook()).await;
    let mut session = installation.begin().await;
    session.delete_webhook(business, gone.id, at(1)).await.unwrap();
    session.commit().await.unwrap();
    let server = installation.another_server().await;
    let adding = (0..6).map(|turn| {
        let database = [&installation, &server][turn % 2].database.clone();
        async move {
            let mut session = database.begin().await.unwrap();
            if session.lock_webhook_count(business).await.unwrap() < 3 {
                session
                    .insert_webhook(business, a_webhook(), &a_secret("1"), at(2))
                    .await
                    .unwrap();
            }
            session.commit().await.unwrap();
        }
    });
    futures_util::future::join_all(adding).await;
    assert_eq!(
        installation.begin().await.lock_webhook_count(business).await.unwrap(),
        3
    );
}

async fn webhooks_are_listed_newest_first(installation: Installation) {
    let (business, other) = (
        installation.business("acme").await,
        installation.business("other").await,
    );
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(installation.webhook(business, a_webhook()).await.id);
        installation.webhook(other, a_webhook()).await;
    }
    let mut session = installation.begin().await;
    session.delete_webhook(business, ids.remove(2), at(1)).await.unwrap();
    session.commit().await.unwrap();
    ids.reverse();
    assert_eq!(page(&installation, business, Position::Number(1), 50).await, ids);
    assert_eq!(page(&installation, business, Position::Number(1), 3).await, ids[..3]);
    assert_eq!(page(&installation, business, Position::Number(2), 3).await, ids[3..]);
    assert_eq!(page(&installation, business, Position::Number(3), 3).await, []);
    let mut position = Position::Number(1);
    let mut walked = Vec::new();
    loop {
        let request = PageRequest { position, per_page: 1 };
        let by_number = matches!(request.position, Position::Number(_));
        let page = installation.read().await.webhooks(business, &request).await.unwrap();
        assert_eq!(page.total, by_number.then_some(4));
        walked.extend(page.items.into_iter().map(|webhook| webhook.id));
        match page.next {
            Some(cursor) => position = Position::After(cursor),
            None => break,
        }
    }
    assert_eq!(walked, ids);
    let behind_all = Position::After(Cursor::at([0]));
    assert_eq!(page(&installation, business, behind_all, 3).await, []);
}

async fn a_webhook_belongs_to_one_business(installation: Installation) {
    let (business, other) = (
        installation.business("acme").await,
        installation.business("other").await,
    );
    let webhook = installation.webhook(business, a_webhook()).await;
    installation.clock.set(moment(0));
    installation.happen(business, EventName::LeadCreated, 1).await;
    let id = webhook.id;
    let all = PageRequest {
        position: Position::Number(1),
        per_page: 9,
    };
    let deliveries = installation
        .read()
        .await
        .deliveries(business, id, &DeliveryFilter::default(), &all)
        .await
        .unwrap();
    let delivery = deliveries.unwrap().items.remove(0);

    let mut session = installation.begin().await;
    let theirs = key(other, &webhook);
    assert_eq!(session.webhook(other, id).await.unwrap(), None);
    assert_eq!(session.lock_webhook(other, id).await.unwrap(), None);
    assert_eq!(session.webhooks(other, &all).await.unwrap().items, []);
    let history = session.deliveries(other, id, &DeliveryFilter::default(), &all).await;
    assert_eq!(history.unwrap(), None);
    assert_eq!(session.delivery(other, id, delivery.id).await.unwrap(), None);
    assert_eq!(session.latest_event(other).await.unwrap(), EventSequence(0));
    let filter = EventFilter {
        names: EventName::ALL.to_vec(),
        ..EventFilter::default()
    };
    let log = session.events(other, &filter, EventSequence(0), 9).await.unwrap();
    assert_eq!((log.events, log.more), (vec![], false));
    assert_eq!(session.endpoint(theirs).await.unwrap(), EndpointState::Deleted);
    assert_eq!(session.lock_health(theirs).await.unwrap(), None);
    let taken = session
        .take_due(theirs, moment(9), moment(99), room(9), moment(10))
        .await;
    assert_eq!(taken.unwrap().deliveries, []);
    let mut changed = webhook.clone();
    changed.content.description = "theirs".to_owned();
    session.save_webhook(other, &changed).await.unwrap();
    session
        .replace_secret(other, id, &a_secret("theirs"), at(9))
        .await
        .unwrap();
    session.delete_webhook(other, id, at(9)).await.unwrap();
    session.give_back(theirs, &[delivery.id], moment(50)).await.unwrap();
    session.commit().await.unwrap();

    assert_eq!(read(&installation, business, id).await, Some(webhook.clone()));
    let mut session = installation.begin().await;
    assert_eq!(
        session.delivery(business, id, delivery.id).await.unwrap(),
        Some(delivery.clone())
    );
    let another = WebhookId::new(id.get() + 1);
    assert_eq!(
        session.delivery(business, another, delivery.id).await.unwrap(),
        None,
        "it is another webhook's"
    );
    let taken = session
        .take_due(key(business, &webhook), moment(9), moment(99), room(9), moment(10))
        .await
        .unwrap();
    assert_eq!(taken.deliveries.len(), 1);
}

async fn a_secret_is_encrypted_and_every_server_with_the_key_reads_it(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let stored = installation.bytes("SELECT secret FROM webhooks").await;
    for part in [&b"whsec_"[..], b"sample"] {
        assert!(!stored.windows(part.len()).any(|bytes| bytes == part));
    }
    let texts = installation
        .texts("SELECT secret_hint || url || description || events || scopes FROM webhooks")
        .await;
    assert!(!texts[0].contains("whsec_"), "{texts:?}");
    let server = installation.another_server().await;
    let endpoint = server.begin().await.endpoint(key(business, &webhook)).await.unwrap();
    assert_eq!(ready(endpoint).secret.reveal(), "whsec_sample");
}

async fn a_secret_is_replaced(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let (server, listener) = installation.sending_server().await;
    listener.take(true);
    server.happen(business, EventName::LeadCreated, 1).await;
    let mut session = installation.begin().await;
    let secret = a_secret("another");
    session
        .replace_secret(business, webhook.id, &secret, at(5))
        .await
        .unwrap();
    session.commit().await.unwrap();
    let replaced = Webhook {
        secret_hint: "ther".to_owned(),
        updated: at(5),
        version: Version::new(2),
        ..webhook.clone()
    };
    assert_eq!(read(&installation, business, webhook.id).await, Some(replaced));
    // The server that knew the old one no longer signs with it.
    listener.heard();
    server.happen(business, EventName::LeadCreated, 2).await;
    let news = listener.heard();
    assert_eq!(news[0].deliveries[0].endpoint.secret, secret);
}

async fn a_deleted_webhook_is_gone_but_for_its_history(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    installation.happen(business, EventName::LeadCreated, 1).await;
    let mut session = installation.begin().await;
    session.delete_webhook(business, webhook.id, at(9)).await.unwrap();
    session.commit().await.unwrap();
    installation.happen(business, EventName::LeadCreated, 2).await;
    let mut session = installation.begin().await;
    assert_eq!(session.webhook(business, webhook.id).await.unwrap(), None);
    assert_eq!(session.lock_webhook(business, webhook.id).await.unwrap(), None);
    assert_eq!(
        session.endpoint(key(business, &webhook)).await.unwrap(),
        EndpointState::Deleted
    );
    assert_eq!(session.lock_health(key(business, &webhook)).await.unwrap(), None);
    let all = PageRequest {
        position: Position::Number(1),
        per_page: 9,
    };
    assert_eq!(session.webhooks(business, &all).await.unwrap().total, Some(0));
    let history = session
        .deliveries(business, webhook.id, &DeliveryFilter::default(), &all)
        .await
        .unwrap();
    assert_eq!(history.unwrap().total, Some(1));
    drop(session);
    assert_eq!(
        installation
            .number("SELECT CAST(max(length(secret)) AS BIGINT) FROM webhooks")
            .await,
        0,
        "nobody needs it any more"
    );
}

async fn what_another_server_changes_holds_for_the_next_event(installation: Installation) {
    let business = installation.business("acme").await;
    let server = installation.another_server().await;
    let deliveries = || installation.number("SELECT count(*) FROM webhook_deliveries");
    server.happen(business, EventName::LeadCreated, 1).await;
    assert_eq!(deliveries().await, 0);
    let webhook = installation.webhook(business, a_webhook()).await;
    server.happen(business, EventName::LeadCreated, 2).await;
    assert_eq!(deliveries().await, 1, "only what happens after its creation");
    // Off and on again at once, and one more beside it.
    for (status, expected) in [
        (WebhookStatus::Disabled, 1),
        (WebhookStatus::Active, 2),
        (WebhookStatus::Disabled, 2),
    ] {
        let mut session = installation.begin().await;
        let mut changed = webhook.clone();
        changed.content.status = status;
        session.save_webhook(business, &changed).await.unwrap();
        session.commit().await.unwrap();
        server.happen(business, EventName::LeadCreated, 3).await;
        assert_eq!(deliveries().await, expected, "{status:?}");
    }
    installation.webhook(business, a_webhook()).await;
    server.happen(business, EventName::LeadCreated, 4).await;
    assert_eq!(deliveries().await, 3);
}

async fn of_two_changes_at_once_none_is_overlooked(installation: Installation) {
    let business = installation.business("acme").await;
    for _ in 0..10 {
        let mut old = installation.webhook(business, a_webhook()).await;
        old.content.status = WebhookStatus::Disabled;
        let disabling = async {
            let mut session = installation.begin().await;
            session.save_webhook(business, &old).await.unwrap();
            session.commit().await.unwrap();
        };
        let (new, ()) = tokio::join!(installation.webhook(business, a_webhook()), disabling);
        installation.happen(business, EventName::LeadCreated, 1).await;
        let query = format!("SELECT count(*) FROM webhook_deliveries WHERE webhook_id = {}", new.id);
        assert_eq!(installation.number(&query).await, 1);
        let mut session = installation.begin().await;
        session.delete_webhook(business, new.id, at(1)).await.unwrap();
        session.commit().await.unwrap();
    }
}

fn all_events() -> EventFilter {
    EventFilter {
        names: EventName::ALL.to_vec(),
        ..EventFilter::default()
    }
}

async fn log(
    installation: &Installation,
    business: BusinessId,
    filter: &EventFilter,
    after: i64,
    limit: u32,
) -> LogPage {
    let mut reader = installation.read().await;
    reader
        .events(business, filter, EventSequence(after), limit)
        .await
        .unwrap()
}

/// Returns the numbers of the events on a page, its position, and whether there is more.
fn shape(page: &LogPage) -> (Vec<i64>, i64, bool) {
    let numbers = page.events.iter().map(|event| event.sequence.0).collect();
    (numbers, page.position.0, page.more)
}

/// Records events of one business, each a second after the one before: name and record.
async fn happenings(installation: &Installation, business: BusinessId, events: &[(EventName, i64)]) {
    let mut session = installation.begin().await;
    for (second, &(name, record)) in (1..).zip(events) {
        let event = NewEvent {
            at: at(second),
            ..an_event(name, LeadId::new(record))
        };
        session.record(business, event).await.unwrap();
    }
    session.commit().await.unwrap();
}

/// Stores the given number of events, one in each second, without the stores.
async fn many_events(installation: &Installation, business: BusinessId, count: i64) {
    let start = at(0).epoch_seconds();
    installation
        .execute(&format!(
            "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {count})
             INSERT INTO events (business_id, sequence, id, name, record, data, created)
                 SELECT {business}, number, 'evt_' || number, 'lead.updated', number % 100, '{{}}', {start} + number FROM numbers;
             UPDATE counters SET number = {count}, stamp = {start} + {count}
                 WHERE business_id = {business} AND kind = 'events';"
        ))
        .await;
}

async fn the_log_shows_every_field(installation: Installation) {
    let business = installation.business("acme").await;
    let what = NewEvent {
        at: at(3),
        ..an_event(EventName::LeadUpdated, LeadId::new(i64::MAX))
    };
    let mut session = installation.begin().await;
    session.record(business, what.clone()).await.unwrap();
    session.commit().await.unwrap();
    let page = log(&installation, business, &all_events(), 0, 9).await;
    assert_eq!(shape(&page), (vec![1], 1, false));
    assert_eq!(page.events[0].what, what);
    let ids = installation.texts("SELECT id FROM events").await;
    assert_eq!([page.events[0].id.clone()].as_slice(), ids);
    let latest = installation.read().await.latest_event(business).await.unwrap();
    assert_eq!(latest, EventSequence(1));
}

async fn the_log_is_read_in_parts(installation: Installation) {
    let business = installation.business("acme").await;
    let all = all_events();
    assert_eq!(
        shape(&log(&installation, business, &all, 0, 2).await),
        (vec![], 0, false)
    );
    happenings(&installation, business, &[(EventName::LeadCreated, 1); 5]).await;
    for (after, limit, expected) in [
        (0, 2, (vec![1, 2], 2, true)),
        (2, 2, (vec![3, 4], 4, true)),
        (4, 2, (vec![5], 5, false)),
        (3, 2, (vec![4, 5], 5, false)),
        (5, 2, (vec![], 5, false)),
        (99, 2, (vec![], 99, false)),
        (i64::MAX, 2, (vec![], i64::MAX, false)),
        (-7, 1, (vec![1], 1, true)),
    ] {
        assert_eq!(
            shape(&log(&installation, business, &all, after, limit).await),
            expected,
            "{after}"
        );
    }
}

async fn the_log_is_filtered(installation: Installation) {
    let business = installation.business("acme").await;
    let other = installation.business("other").await;
    let (created, updated, sold) = (EventName::LeadCreated, EventName::LeadUpdated, EventName::VehicleSold);
    happenings(&installation, other, &[(created, 1); 9]).await;
    happenings(
        &installation,
        business,
        &[
            (created, 1),
            (updated, 1),
            (sold, 1),
            (created, 2),
            (updated, 2),
            (updated, 1),
        ],
    )
    .await;
    let all = all_events;
    let range = |from: Option<i64>, to: Option<i64>| EventFilter {
        created: Some(Range {
            from: from.map(at),
            to: to.map(at),
        }),
        ..all()
    };
    for (filter, expected) in [
        (EventFilter::default(), vec![]),
        (all(), vec![1, 2, 3, 4, 5, 6]),
        (
            EventFilter {
                names: vec![updated],
                ..all()
            },
            vec![2, 5, 6],
        ),
        (
            EventFilter {
                names: vec![sold, created],
                ..all()
            },
            vec![1, 3, 4],
        ),
        (
            EventFilter {
                record: Some(1),
                ..all()
            },
            vec![1, 2, 3, 6],
        ),
        (
            EventFilter {
                names: vec![updated, created],
                record: Some(1),
                created: Some(Range {
                    from: Some(at(2)),
                    to: Some(at(5)),
                }),
            },
            vec![2],
        ),
        (range(Some(3), None), vec![3, 4, 5, 6]),
        (range(None, Some(3)), vec![1, 2, 3]),
        (range(Some(2), Some(4)), vec![2, 3, 4]),
        (range(Some(7), None), vec![]),
        (range(None, Some(0)), vec![]),
        (range(Some(4), Some(2)), vec![]),
    ] {
        let page = log(&installation, business, &filter, 0, 9).await;
        let (numbers, _, more) = shape(&page);
        assert_eq!((numbers, more), (expected.clone(), false), "{filter:?}");
        // One by one it is the same.
        let (mut after, mut walked) = (0, Vec::new());
        loop {
            let page = log(&installation, business, &filter, after, 1).await;
            let (numbers, position, more) = shape(&page);
            walked.extend(numbers);
            assert!(position >= after);
            after = position;
            if !more {
                break;
            }
        }
        assert_eq!(walked, expected, "{filter:?}");
    }
}

async fn the_log_is_read_from_a_time_on(installation: Installation) {
    let business = installation.business("acme").await;
    many_events(&installation, business, 5000).await;
    for (from, to, first, last) in [(4000, 4002, 4000, 4002), (1, 1, 1, 1), (4999, 9999, 4999, 5000)] {
        let filter = EventFilter {
            created: Some(Range {
                from: Some(at(from)),
                to: Some(at(to)),
            }),
            ..all_events()
        };
        let page = log(&installation, business, &filter, 0, 9).await;
        let (numbers, _, more) = shape(&page);
        assert_eq!((numbers, more), ((first..=last).collect(), false));
        let page = log(&installation, business, &filter, first, 9).await;
        assert_eq!(shape(&page).0, (first + 1..=last).collect::<Vec<_>>());
    }
}

async fn the_log_begins_behind_what_was_forgotten(installation: Installation) {
    let business = installation.business("acme").await;
    many_events(&installation, business, 5000).await;
    installation.execute("DELETE FROM events WHERE sequence <= 4000;").await;
    let page = log(&installation, business, &all_events(), 0, 2).await;
    assert_eq!(shape(&page), (vec![4001, 4002], 4002, true));
    let since = EventFilter {
        created: Some(Range {
            from: Some(at(4500)),
            to: None,
        }),
        ..all_events()
    };
    let page = log(&installation, business, &since, 7, 2).await;
    assert_eq!(shape(&page), (vec![4500, 4501], 4501, true));
    installation.execute("DELETE FROM events;").await;
    for filter in [all_events(), since] {
        let page = log(&installation, business, &filter, 7, 2).await;
        assert_eq!(shape(&page), (vec![], 5000, false));
    }
}

async fn stamps_never_go_back(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    for second in [5, 3, 7, -100, 7] {
        let event = NewEvent {
            at: at(second),
            ..an_event(EventName::LeadCreated, LeadId::new(1))
        };
        session.record(business, event).await.unwrap();
    }
    session.commit().await.unwrap();
    let page = log(&installation, business, &all_events(), 0, 9).await;
    let stamps: Vec<Timestamp> = page.events.iter().map(|event| event.what.at).collect();
    assert_eq!(stamps, [5, 5, 7, 7, 7].map(at));
}

async fn a_long_log_is_walked_in_bounded_steps(installation: Installation) {
    let business = installation.business("acme").await;
    many_events(&installation, business, 10_000).await;
    for (filter, limit, expected) in [
        (all_events(), 500, 10_000),
        (
            EventFilter {
                record: Some(7),
                ..all_events()
            },
            50,
            100,
        ),
        (
            EventFilter {
                names: vec![EventName::LeadDeleted],
                ..all_events()
            },
            50,
            0,
        ),
    ] {
        let (mut after, mut seen, mut steps) = (0, BTreeSet::new(), 0);
        loop {
            let page = log(&installation, business, &filter, after, limit).await;
            let (numbers, position, more) = shape(&page);
            assert!(numbers.len() <= limit as usize && numbers.is_sorted() && position > after);
            assert!(numbers.iter().all(|&number| number > after && number <= position));
            seen.extend(numbers);
            (after, steps) = (position, steps + 1);
            if !more {
                break;
            }
        }
        assert_eq!((seen.len(), after), (expected, 10_000));
        assert!(steps <= 21, "{steps}");
    }
}

async fn a_deleted_webhooks_backlog_is_failed_in_parts(installation: Installation) {
    const BACKLOG: i64 = 1_700;
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let mut session = installation.begin().await;
    for record in 0..BACKLOG {
        let event = an_event(EventName::LeadCreated, LeadId::new(record));
        session.record(business, event).await.unwrap();
    }
    session.commit().await.unwrap();
    let mut session = installation.begin().await;
    session.delete_webhook(business, webhook.id, at(9)).await.unwrap();
    session.commit().await.unwrap();
    let pending = "SELECT count(*) FROM webhook_deliveries WHERE status = 0";
    assert!(
        installation.number(pending).await > 0,
        "that is more than one transaction fails"
    );

    let page = PageRequest {
        position: Position::Number(1),
        per_page: 500,
    };
    let history = async |status| {
        let filter = DeliveryFilter { status, topic: None };
        let mut reader = installation.read().await;
        let page = reader
            .deliveries(business, webhook.id, &filter, &page)
            .await
            .unwrap()
            .unwrap();
        let failed = page.items.iter().all(|delivery| {
            delivery.status == DeliveryStatus::Failed
                && delivery.error.as_deref() == Some("the webhook was deleted")
                && delivery.next_attempt_at.is_none()
        });
        assert!(failed, "what is not yet written down is shown");
        page.total
    };
    for done in [false, true] {
        assert_eq!(history(None).await, Some(BACKLOG));
        assert_eq!(history(Some(DeliveryStatus::Failed)).await, Some(BACKLOG));
        assert_eq!(history(Some(DeliveryStatus::Pending)).await, Some(0));
        let parts = installation.finish_deletions().await;
        assert!(done || parts > 1, "{parts} parts are too few to be small");
    }
    assert_eq!(installation.number(pending).await, 0);
}
