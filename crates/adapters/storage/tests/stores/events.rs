//! The event log.

use std::collections::BTreeSet;

use forecourt_kernel::{EventName, LeadId, NewEvent};
use futures_util::future::join_all;

use crate::installation::{Installation, both_engines};
use crate::samples::{Dice, a_lead, an_event, at};

both_engines!(
    every_field_of_an_event_is_kept,
    an_event_is_kept_with_its_change_or_not_at_all,
    numbers_have_no_gaps_when_writers_give_up,
);

async fn every_field_of_an_event_is_kept(installation: Installation) {
    let business = installation.business("acme").await;
    let event = NewEvent {
        at: at(3),
        ..an_event(EventName::LeadUpdated, LeadId::new(i64::MAX))
    };
    let mut session = installation.begin().await;
    session.record(business, event.clone()).await.unwrap();
    session.commit().await.unwrap();
    let kept = installation
        .texts("SELECT business_id || ' ' || sequence || ' ' || name || ' ' || record || ' ' || created || ' ' || data FROM events")
        .await;
    let NewEvent { name, record, data, at } = event;
    let expected = format!("{business} 1 {name} {record} {} {data}", at.epoch_seconds());
    assert_eq!(kept, [expected]);
}

async fn an_event_is_kept_with_its_change_or_not_at_all(installation: Installation) {
    let business = installation.business("acme").await;
    for kept in [false, true] {
        let mut session = installation.begin().await;
        let lead = session.insert_lead(business, a_lead(), at(0)).await.unwrap();
        session
            .record(business, an_event(EventName::LeadCreated, lead.id))
            .await
            .unwrap();
        if kept {
            session.commit().await.unwrap();
        } else {
            drop(session);
        }
        for table in ["leads", "events"] {
            let count = installation.number(&format!("SELECT count(*) FROM {table}")).await;
            assert_eq!(count, i64::from(kept), "{table}");
        }
    }
}

async fn numbers_have_no_gaps_when_writers_give_up(installation: Installation) {
    let businesses = [installation.business("one").await, installation.business("two").await];
    let sessions = (0..50_u64).map(|seed| {
        let database = installation.database.clone();
        tokio::spawn(async move {
            let mut dice = Dice::new(seed);
            let business = *dice.pick(&businesses);
            let mut session = database.begin().await.unwrap();
            let events = 1 + dice.roll(3);
            for _ in 0..events {
                let event = an_event(EventName::LeadUpdated, LeadId::new(1));
                session.record(business, event).await.unwrap();
                tokio::task::yield_now().await;
            }
            if dice.chance(30) {
                return [0, 0];
            }
            session.commit().await.unwrap();
            businesses.map(|each| if each == business { events } else { 0 })
        })
    });
    let mut written = [0, 0];
    for session in join_all(sessions).await {
        let [one, two] = session.unwrap();
        written = [written[0] + one, written[1] + two];
    }
    for (business, written) in businesses.into_iter().zip(written) {
        let query = format!("SELECT '' || sequence FROM events WHERE business_id = {business} ORDER BY sequence");
        let numbers = installation.texts(&query).await;
        assert!(written > 0);
        assert_eq!(
            numbers,
            (1..=written).map(|number| number.to_string()).collect::<Vec<_>>()
        );
    }
    let ids: Vec<String> = installation.texts("SELECT id FROM events").await;
    let hexadecimal = |id: &str| {
        id.bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    assert!(ids.iter().all(|id| {
        id.strip_prefix("evt_")
            .is_some_and(|rest| rest.len() == 32 && hexadecimal(rest))
    }));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
}
