//! The number of deliveries and mails that wait to be sent.

use forecourt_dealership::Backlog;
use forecourt_kernel::{BusinessId, EventName, Mail};
use forecourt_webhooks::WebhookStatus;

use crate::installation::{Installation, both_engines};
use crate::samples::{a_webhook, at, key, moment, room};

both_engines!(
    where_nothing_waits_nothing_is_counted,
    deliveries_and_mails_of_all_businesses_are_counted,
    the_oldest_due_delivery_is_found_behind_the_next_turn_of_its_queue,
    a_disabled_webhook_is_counted_and_waits_for_nothing,
);

const CREATED: EventName = EventName::LeadCreated;

async fn backlog(installation: &Installation) -> Backlog {
    installation.read().await.backlog().await.unwrap()
}

async fn where_nothing_waits_nothing_is_counted(installation: Installation) {
    assert_eq!(backlog(&installation).await, Backlog::default());
    let business = installation.business("acme").await;
    installation.webhook(business, a_webhook()).await;
    assert_eq!(backlog(&installation).await, Backlog::default());
}

async fn deliveries_and_mails_of_all_businesses_are_counted(installation: Installation) {
    for (tag, due) in [("acme", 5_000), ("rival", 3_000)] {
        let business = installation.business(tag).await;
        installation.webhook(business, a_webhook()).await;
        installation.clock.set(moment(due));
        for record in 1..=2 {
            installation.happen(business, CREATED, record).await;
        }
        let mut session = installation.begin().await;
        session.queue_mail(business, Mail::default(), at(9)).await.unwrap();
        session.commit().await.unwrap();
    }
    let expected = Backlog {
        deliveries: 4,
        oldest_due: Some(moment(3_000)),
        disabled_webhooks: 0,
        mails: 2,
    };
    assert_eq!(backlog(&installation).await, expected);
    let mut session = installation.begin().await;
    let taken = session.take_mails(BusinessId::new(0), at(9), at(99), 1).await.unwrap();
    session.drop_mail(taken.mails[0].id).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(backlog(&installation).await, Backlog { mails: 1, ..expected });
}

async fn the_oldest_due_delivery_is_found_behind_the_next_turn_of_its_queue(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    for record in 1..=3 {
        installation.clock.set(moment(record * 1_000));
        installation.happen(business, CREATED, record).await;
    }
    let mut session = installation.begin().await;
    let (now, lease, again) = (moment(9_000), moment(39_000), moment(19_000));
    let taken = session
        .take_due(key(business, &webhook), now, lease, room(1), again)
        .await;
    assert_eq!(taken.unwrap().deliveries.len(), 1);
    session.commit().await.unwrap();
    let Backlog {
        deliveries, oldest_due, ..
    } = backlog(&installation).await;
    // Taken deliveries are on their way; the others have waited since then.
    assert_eq!((deliveries, oldest_due), (2, Some(moment(2_000))));
}

async fn a_disabled_webhook_is_counted_and_waits_for_nothing(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    installation.webhook(business, a_webhook()).await;
    installation.clock.set(moment(1_000));
    installation.happen(business, CREATED, 1).await;
    let mut session = installation.begin().await;
    let mut locked = session.lock_webhook(business, webhook.id).await.unwrap().unwrap();
    locked.content.status = WebhookStatus::Disabled;
    session.save_webhook(business, &locked).await.unwrap();
    session.commit().await.unwrap();
    installation.clock.set(moment(2_000));
    let mut session = installation.begin().await;
    // A ping is sent all the same, once; it says nothing of a backlog.
    session.queue_ping(business, webhook.id, moment(0)).await.unwrap();
    session.commit().await.unwrap();
    let found = backlog(&installation).await;
    assert_eq!((found.deliveries, found.disabled_webhooks), (3, 1));
    assert_eq!(found.oldest_due, Some(moment(1_000)), "that of the other webhook");

    let mut session = installation.begin().await;
    session.lock_webhook(business, webhook.id).await.unwrap();
    session.delete_webhook(business, webhook.id, at(3)).await.unwrap();
    session.commit().await.unwrap();
    let found = backlog(&installation).await;
    assert_eq!((found.deliveries, found.disabled_webhooks), (1, 0));
}
