//! Mails that wait to be sent.

use std::collections::BTreeSet;

use forecourt_dealership::TakenMails;
use forecourt_kernel::{Attachment, BusinessId, ContactId, LeadId, Mail, PendingMail, Timestamp};
use futures_util::future::join_all;

use crate::installation::{Installation, MAILS_PER_DAY, both_engines};
use crate::samples::at;

both_engines!(
    every_field_of_a_mail_reads_back,
    a_mail_is_queued_with_its_change_or_not_at_all,
    mails_are_taken_when_they_are_due_the_oldest_first,
    a_taken_mail_is_nobody_elses_until_its_lease_ends,
    two_takers_never_get_the_same_mail,
    a_mail_is_put_back_or_dropped,
    businesses_take_turns,
    no_more_mails_leave_in_a_day_than_may,
    what_is_over_the_quota_waits_for_another_day_and_is_given_up_in_the_end,
    servers_share_the_quota,
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
        attachments: vec![Attachment {
            name: "Rechnung 🚗.pdf".to_owned(),
            media_type: "application/pdf".to_owned(),
            content: [0, 10, 255].as_slice().into(),
        }],
        contact: Some(ContactId::new(9)),
    }
}

async fn queue(installation: &Installation, business: BusinessId, subject: &str, due: Timestamp) {
    let mut session = installation.begin().await;
    session.queue_mail(business, mail(subject), due).await.unwrap();
    session.commit().await.unwrap();
}

async fn take(installation: &Installation, now: i64, lease: i64, limit: u32) -> Vec<PendingMail> {
    let mut session = installation.begin().await;
    let taken = session
        .take_mails(BusinessId::new(0), at(now), at(lease), limit)
        .await
        .unwrap();
    session.commit().await.unwrap();
    taken.mails
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
                let taken = session
                    .take_mails(BusinessId::new(0), at(0), at(100), 3)
                    .await
                    .unwrap()
                    .mails;
                // Others get their chance while this one still holds its mails.
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

/// Queues this number of a business's mails.
async fn queue_many(installation: &Installation, business: BusinessId, subject: &str, number: u32, due: Timestamp) {
    let mut session = installation.begin().await;
    for _ in 0..number {
        session.queue_mail(business, mail(subject), due).await.unwrap();
    }
    session.commit().await.unwrap();
}

async fn taken(installation: &Installation, after: BusinessId, now: i64, limit: u32) -> TakenMails {
    let mut session = installation.begin().await;
    let taken = session.take_mails(after, at(now), at(now + 75), limit).await.unwrap();
    session.commit().await.unwrap();
    taken
}

async fn businesses_take_turns(installation: Installation) {
    let mut businesses = Vec::new();
    for tag in ["a", "b", "c", "d", "e"] {
        let business = installation.business(tag).await;
        queue_many(&installation, business, tag, 20, at(0)).await;
        businesses.push(business);
    }
    let mut after = BusinessId::new(0);
    for expected in ["abcd", "eabc", "deab"] {
        let taken = taken(&installation, after, 0, 4).await;
        let mut turns: Vec<_> = subjects(&taken.mails);
        turns.sort_unstable();
        let mut expected: Vec<_> = expected.split("").filter(|tag| !tag.is_empty()).collect();
        let last = expected[3];
        expected.sort_unstable();
        assert_eq!(turns, expected);
        after = taken.last.unwrap();
        assert_eq!(after, businesses["abcde".find(last).unwrap()]);
        assert!(taken.more);
    }
    // Mails that are due later give no turn, and a new business does not wait for all mails before.
    let (idle, new) = (installation.business("y").await, installation.business("z").await);
    queue_many(&installation, idle, "later", 20, at(1_000)).await;
    queue_many(&installation, new, "z", 1, at(0)).await;
    let taken = taken(&installation, businesses[4], 0, 4).await;
    assert_eq!(subjects(&taken.mails)[3], "z", "{:?}", subjects(&taken.mails));
}

async fn no_more_mails_leave_in_a_day_than_may(installation: Installation) {
    const DAY: i64 = 86_400;
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let claim = async |business, moment| {
        let mut session = installation.begin().await;
        let is_claimed = session.claim_mail(business, moment).await.unwrap();
        session.commit().await.unwrap();
        is_claimed
    };
    for _ in 0..MAILS_PER_DAY - 2 {
        assert!(claim(ours, at(0)).await);
    }
    let mut session = installation.begin().await;
    assert!(session.claim_mail(ours, at(0)).await.unwrap());
    drop(session);
    let mut session = installation.begin().await;
    assert!(session.queue_awaited_mail(ours, mail("awaited"), at(0)).await.unwrap());
    session.commit().await.unwrap();
    assert!(claim(ours, at(0)).await, "what is undone does not count");
    assert!(!claim(ours, at(1)).await);
    let mut session = installation.begin().await;
    assert!(
        !session
            .queue_awaited_mail(ours, mail("not queued"), at(1))
            .await
            .unwrap()
    );
    session.commit().await.unwrap();
    assert!(claim(theirs, at(1)).await, "each business has its own");
    queue(&installation, ours, "waits", at(1)).await;
    // A mail that was queued for a waiting request goes all the same.
    assert_eq!(subjects(&take(&installation, 1, 10, 5).await), ["awaited"]);
    assert!(claim(ours, at(DAY)).await, "the next day has its own");
    // A server whose clock is behind counts in the day that has begun.
    for _ in 0..MAILS_PER_DAY - 1 {
        assert!(claim(ours, at(0)).await);
    }
    assert!(!claim(ours, at(0)).await && !claim(ours, at(DAY)).await);
    assert!(claim(ours, at(3 * DAY)).await);
}

async fn what_is_over_the_quota_waits_for_another_day_and_is_given_up_in_the_end(installation: Installation) {
    const DAY: i64 = 86_400;
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let start = 0;
    queue_many(&installation, ours, "ours", 9 * MAILS_PER_DAY + 7, at(start)).await;
    queue(&installation, theirs, "theirs", at(start)).await;
    let midnight = DAY - at(start).epoch_seconds().rem_euclid(DAY);
    let (mut sent, mut given_up) = (0, 0);
    for day in 0..9 {
        let now = if day == 0 { start } else { midnight + (day - 1) * DAY };
        let mut sent_today = 0;
        loop {
            let taken = taken(&installation, BusinessId::new(0), now, 50).await;
            for mail in &taken.mails {
                let mut session = installation.begin().await;
                session.drop_mail(mail.id).await.unwrap();
                session.commit().await.unwrap();
            }
            let of_ours = taken.mails.iter().filter(|mail| mail.business == ours).count();
            sent_today += u32::try_from(of_ours).unwrap();
            given_up += u32::try_from(taken.given_up.len()).unwrap();
            assert!(taken.given_up.iter().all(|(_, business)| *business == ours));
            assert!(taken.over_quota.iter().all(|business| *business == ours));
            if !taken.more {
                break;
            }
        }
        assert_eq!(sent_today, if day < 8 { MAILS_PER_DAY } else { 0 }, "on day {day}");
        sent += sent_today;
        assert_eq!(given_up > 0, day >= 7, "on day {day}");
    }
    assert_eq!(sent + given_up, 9 * MAILS_PER_DAY + 7);
}

async fn servers_share_the_quota(installation: Installation) {
    let business = installation.business("acme").await;
    queue_many(&installation, business, "mail", 2 * MAILS_PER_DAY, at(0)).await;
    let servers = (0..4).map(|_| {
        let database = installation.database.clone();
        tokio::spawn(async move {
            let mut number = 0;
            for _ in 0..MAILS_PER_DAY {
                let mut session = database.begin().await.unwrap();
                let taken = session.take_mails(BusinessId::new(0), at(0), at(100), 3).await.unwrap();
                number += taken.mails.len();
                number += usize::from(session.claim_mail(business, at(0)).await.unwrap());
                session.commit().await.unwrap();
            }
            number
        })
    });
    let sent: usize = join_all(servers).await.into_iter().map(Result::unwrap).sum();
    assert_eq!(sent, MAILS_PER_DAY as usize);
}
