//! The switch that holds webhooks, mails and requests to models.

use forecourt_kernel::{BusinessId, Clock as _, Mail, Moment};

use crate::installation::{Installation, SequentialRandom, both_engines};

both_engines!(
    the_switch_is_one_for_all_servers,
    held_time_does_not_count,
    mails_to_one_address_leave_alone,
);

async fn advance(installation: &Installation, seconds: i64) {
    let now = installation.clock.moment().epoch_millis();
    installation.clock.set(Moment::from_epoch_millis(now + seconds * 1000));
}

async fn the_switch_is_one_for_all_servers(one: Installation) {
    let other = one.another_server().await;
    let unused = one.storage.outgoing().await.unwrap();
    assert!(!unused.is_held && unused.since.is_none());
    let held = one.storage.set_outgoing(true, &*one.clock).await.unwrap();
    assert_eq!((held.name(), held.since), ("held", Some(one.clock.now())));
    assert!(one.database.is_outgoing_held() && !other.database.is_outgoing_held());
    let facts = other.storage.identify(&*other.clock, &SequentialRandom).await.unwrap();
    assert_eq!(facts.outgoing, held);
    assert!(other.database.is_outgoing_held());

    advance(&one, 100).await;
    let again = other.storage.set_outgoing(true, &*one.clock).await.unwrap();
    assert_eq!(again, held, "it has been held since the first time");
    let released = other.storage.set_outgoing(false, &*one.clock).await.unwrap();
    assert_eq!((released.name(), released.since), ("sending", Some(one.clock.now())));
    assert_eq!(one.storage.outgoing().await.unwrap(), released);
    assert!(!other.database.is_outgoing_held());
}

async fn queue(installation: &Installation, business: BusinessId, to: &str) {
    let mail = Mail {
        to: to.to_owned(),
        ..Mail::default()
    };
    let mut session = installation.begin().await;
    session
        .queue_mail(business, mail, installation.clock.now())
        .await
        .unwrap();
    session.commit().await.unwrap();
}

async fn held_time_does_not_count(installation: Installation) {
    let business = installation.business("acme").await;
    let begun = installation.clock.now().epoch_seconds();
    queue(&installation, business, "before@acme.example").await;
    advance(&installation, 10).await;
    installation
        .storage
        .set_outgoing(true, &*installation.clock)
        .await
        .unwrap();
    advance(&installation, 1_000).await;
    queue(&installation, business, "during@acme.example").await;
    advance(&installation, 100_000).await;
    installation
        .storage
        .set_outgoing(false, &*installation.clock)
        .await
        .unwrap();
    let queued = async |to: &str| {
        let query = format!("SELECT queued FROM mails WHERE recipient = '{to}@acme.example'");
        installation.number(&query).await - begun
    };
    assert_eq!(queued("before").await, 101_000, "it waited for 10 seconds");
    assert_eq!(queued("during").await, 101_010, "it has not waited");
}

async fn mails_to_one_address_leave_alone(installation: Installation) {
    let business = installation.business("acme").await;
    for to in ["ann@acme.example", "operator@host.example", "operator@host.example"] {
        queue(&installation, business, to).await;
    }
    let now = installation.clock.now();
    let take = async |limit| {
        let mut session = installation.begin().await;
        let taken = session
            .take_mails_to("operator@host.example", now, now.plus_seconds(60), limit)
            .await
            .unwrap();
        session.commit().await.unwrap();
        taken
    };
    assert_eq!(take(1).await.len(), 1);
    let taken = take(9).await;
    assert_eq!(taken.len(), 1, "the other is leased");
    assert_eq!(taken[0].mail.to, "operator@host.example");
    assert!(take(9).await.is_empty());
}
