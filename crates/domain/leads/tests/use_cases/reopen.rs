//! A closed lead reopens on its day.

use forecourt_kernel::{EventName, LeadId};
use forecourt_leads::{Lead, LeadChanges, LeadStatus, LeadStore as _, StatusChange};

use crate::support::{Fixture, OPENING, at};

/// Seconds from the fixture's opening, on the 1st, to the beginning of the 3rd.
const THE_3RD: i64 = 2 * 86_400 - OPENING % 86_400;

/// A lead that is closed until the 3rd.
async fn closed_until_the_3rd() -> (Fixture, Lead) {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    let close = StatusChange {
        closed: Some(true),
        reopen: "2026-03-03".parse().ok(),
        ..StatusChange::default()
    };
    let lead = fixture.set_status(lead.id, close).await.unwrap();
    fixture.forget_outcomes();
    (fixture, lead)
}

#[tokio::test]
async fn from_the_first_second_of_its_day_on_it_reopens() {
    for seconds in [THE_3RD, THE_3RD + 1, THE_3RD + 10 * 86_400] {
        let (mut fixture, lead) = closed_until_the_3rd().await;
        fixture.set_clock(seconds);
        fixture.reopen(lead.id).await.unwrap();
        let lead = fixture.stored(lead.id);
        assert_eq!(
            (lead.content.status, lead.content.reopen),
            (LeadStatus::NewMessage, None)
        );
        assert_eq!(lead.updated, at(seconds));
        fixture.assert_recorded(EventName::LeadUpdated, &lead);
    }
}

#[tokio::test]
async fn before_its_day_it_stays_closed() {
    for seconds in [0, THE_3RD - 1] {
        let (mut fixture, lead) = closed_until_the_3rd().await;
        fixture.set_clock(seconds);
        fixture.reopen(lead.id).await.unwrap();
        fixture.assert_untouched(&lead);
    }
}

#[tokio::test]
async fn it_reopens_once() {
    let (mut fixture, lead) = closed_until_the_3rd().await;
    fixture.set_clock(THE_3RD);
    fixture.reopen(lead.id).await.unwrap();
    fixture.reopen(lead.id).await.unwrap();
    assert_eq!(fixture.store.events.len(), 1);
}

#[tokio::test]
async fn one_that_has_moved_on_or_gone_is_left_alone() {
    let moves = [
        StatusChange {
            status: Some(LeadStatus::Replied),
            ..StatusChange::default()
        },
        // Closed for good.
        StatusChange {
            closed: Some(true),
            ..StatusChange::default()
        },
    ];
    for change in moves {
        let (mut fixture, lead) = closed_until_the_3rd().await;
        let moved = fixture.set_status(lead.id, change).await.unwrap();
        fixture.forget_outcomes();
        fixture.set_clock(THE_3RD);
        fixture.reopen(lead.id).await.unwrap();
        fixture.assert_untouched(&moved);
    }
    let mut fixture = Fixture::open();
    fixture.reopen(LeadId::new(404)).await.unwrap();
    assert!(fixture.store.events.is_empty());
}

#[tokio::test]
async fn a_day_that_a_lead_has_without_being_closed_means_nothing() {
    let (mut fixture, mut lead) = closed_until_the_3rd().await;
    lead.content.status = LeadStatus::Read;
    let business = fixture.caller.business_id();
    fixture.store.save_lead(business, &lead).await.unwrap();
    fixture.forget_outcomes();
    fixture.set_clock(THE_3RD);
    fixture.reopen(lead.id).await.unwrap();
    fixture.assert_untouched(&lead);
}
