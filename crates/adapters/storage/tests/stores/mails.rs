//! Mails that wait to be sent.

use std::collections::BTreeSet;

use forecourt_kernel::{BusinessId, LeadId, Mail, PendingMail, Timestamp};
use futures_util::future::join_all;

use crate::installation::{Installation, both_engines};
use crate::samples::at;

both_engines!(
    every_field_of_a_mail_reads_back,
    a_mail_is_queued_with_its_change_or_not_at_all,
    mails_are_taken_when_they_are_due_the_oldest_first,
    a_taken_mail_is_nobody_elses_until_its_lease_ends,
    two_takers_never_get_the_same_mail,
    a_mail_is_put_back_or_dropped,
);

fn mail(subject: &str) -> Mail {
    Mail {
        to: "büro@acme.example".to_owned(),
        subject: subject.to_owned(),
        text: "Ein neuer Lead\r\n\r\n🚗".to_owned(),
        message_id: Some("lead.7.1".to_owned()),
        in_reply_to: Some("one@example.com".to_owned()),
        reply_to: Some("büro@acme.example".to_owned()),
        lead: Some(LeadId::new(7)),
    }
}

async fn queue(installation: &Installation, business: BusinessId, subject: &str, due: Timestamp) {
    let mut session = installation.begin().await;
    session.queue_mail(business, mail(subject), due).await.unwrap();
    session.commit().await.unwrap();
}

async fn take(installation: &Installation, now: i64, lease: i64, limit: u32) -> Vec<PendingMail> {
    let mut session = installation.begin().await;
    let taken = session.take_mails(at(now), at(lease), limit).await.unwrap();
    session.commit().await.unwrap();
    taken
}

fn subjects(mails: &[PendingMail]) -> Vec<&str> {
    mails.iter().map(|mail| mail.mail.subject.as_str()).collect()
}

async fn every_field_of_a_mail_reads_back(installation: Installation) {
    let business = installation.business("acme").await;
    queue(&installation, business, "Subject", at(0)).await;
    let taken = take(&installation, 0, 10, 5).await;
    let [taken] = taken.as_slice() else { panic!("{taken:?}") };
    let expected = PendingMail {
        id: taken.id,
        business,
        mail: mail("Subject"),
        attempts: 0,
    };
    assert_eq!(*taken, expected);
}

async fn a_mail_is_queued_with_its_change_or_not_at_all(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    session.queue_mail(business, mail("never"), at(0)).await.unwrap();
    drop(session);
    assert_eq!(take(&installation, 0, 10, 5).await, []);
}

async fn mails_are_taken_when_they_are_due_the_oldest_first(installation: Installation) {
    let business = installation.business("acme").await;
    for (subject, due) in [("third", 3), ("first", 1), ("later", 9), ("second", 2)] {
        queue(&installation, business, subject, at(due)).await;
    }
    assert_eq!(subjects(&take(&installation, 3, 10, 2).await), ["first", "second"]);
    assert_eq!(subjects(&take(&installation, 3, 10, 2).await), ["third"]);
}

async fn a_taken_mail_is_nobody_elses_until_its_lease_ends(installation: Installation) {
    let business = installation.business("acme").await;
    queue(&installation, business, "mail", at(0)).await;
    assert_eq!(take(&installation, 0, 10, 5).await.len(), 1);
    assert_eq!(take(&installation, 9, 19, 5).await.len(), 0);
    assert_eq!(
        take(&installation, 10, 20, 5).await.len(),
        1,
        "the server that took it has died"
    );
}

async fn two_takers_never_get_the_same_mail(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    for number in 0..60 {
        session
            .queue_mail(business, mail(&number.to_string()), at(0))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    let takers = (0..4).map(|_| {
        let database = installation.database.clone();
        tokio::spawn(async move {
            let mut all = Vec::new();
            loop {
                let mut session = database.begin().await.unwrap();
                let taken = session.take_mails(at(0), at(100), 3).await.unwrap();
                // Others get their chance while this one still holds what it took.
                tokio::task::yield_now().await;
                session.commit().await.unwrap();
                if taken.is_empty() {
                    return all;
                }
                all.extend(taken.into_iter().map(|mail| mail.id));
            }
        })
    });
    let taken: Vec<i64> = join_all(takers)
        .await
        .into_iter()
        .flat_map(|taker| taker.unwrap())
        .collect();
    assert_eq!(taken.len(), 60);
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>().len(), 60);
}

async fn a_mail_is_put_back_or_dropped(installation: Installation) {
    let business = installation.business("acme").await;
    queue(&installation, business, "sent", at(0)).await;
    queue(&installation, business, "failed", at(1)).await;
    let taken = take(&installation, 1, 50, 5).await;
    let mut session = installation.begin().await;
    session.drop_mail(taken[0].id).await.unwrap();
    session.retry_mail(taken[1].id, at(20)).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(take(&installation, 19, 50, 5).await, []);
    let again = take(&installation, 20, 50, 5).await;
    assert_eq!(subjects(&again), ["failed"]);
    assert_eq!(again[0].attempts, 1);
}
