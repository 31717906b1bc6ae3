//! A closed lead reopens on its day.

use forecourt_kernel::{EventName, LeadId};
use forecourt_leads::{Lead, LeadStatus, StatusChange, UpdateLead};

use crate::support::{Desk, OPENING, at};

/// Seconds from the desk's opening, on the 1st, until the 3rd begins.
const THE_3RD: i64 = 2 * 86_400 - OPENING % 86_400;

/// A lead that is closed until the 3rd.
async fn closed_until_the_3rd() -> (Desk, Lead) {
    let (mut desk, lead) = Desk::with_lead(UpdateLead::default()).await;
    let close = StatusChange {
        closed: Some(true),
        reopen: "2026-03-03".parse().ok(),
        ..StatusChange::default()
    };
    let lead = desk.set_status(lead.id, close).await.unwrap();
    desk.store.events.clear();
    desk.store.saves = 0;
    (desk, lead)
}

#[tokio::test]
async fn from_the_first_second_of_its_day_on_it_reopens() {
    for seconds in [THE_3RD, THE_3RD + 1, THE_3RD + 10 * 86_400] {
        let (mut desk, lead) = closed_until_the_3rd().await;
        desk.set_clock(seconds);
        desk.reopen(lead.id).await.unwrap();
        let lead = desk.stored(lead.id);
        assert_eq!(
            (lead.content.status, lead.content.reopen),
            (LeadStatus::NewMessage, None)
        );
        assert_eq!(lead.updated, at(seconds));
        desk.assert_told(EventName::LeadUpdated, &lead);
    }
}

#[tokio::test]
async fn before_its_day_it_stays_closed() {
    for seconds in [0, THE_3RD - 1] {
        let (mut desk, lead) = closed_until_the_3rd().await;
        desk.set_clock(seconds);
        desk.reopen(lead.id).await.unwrap();
        desk.assert_untouched(&lead);
    }
}

#[tokio::test]
async fn it_reopens_once() {
    let (mut desk, lead) = closed_until_the_3rd().await;
    desk.set_clock(THE_3RD);
    desk.reopen(lead.id).await.unwrap();
    desk.reopen(lead.id).await.unwrap();
    assert_eq!(desk.store.events.len(), 1);
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
        let (mut desk, lead) = closed_until_the_3rd().await;
        let moved = desk.set_status(lead.id, change).await.unwrap();
        desk.store.events.clear();
        desk.store.saves = 0;
        desk.set_clock(THE_3RD);
        desk.reopen(lead.id).await.unwrap();
        desk.assert_untouched(&moved);
    }
    let mut desk = Desk::open();
    desk.reopen(LeadId::new(404)).await.unwrap();
    assert!(desk.store.events.is_empty());
}

#[tokio::test]
async fn a_day_that_a_lead_has_without_being_closed_means_nothing() {
    let (mut desk, mut lead) = closed_until_the_3rd().await;
    lead.content.status = LeadStatus::Read;
    let key = (desk.caller.business_id(), lead.id);
    desk.store.leads.insert(key, lead.clone());
    desk.set_clock(THE_3RD);
    desk.reopen(lead.id).await.unwrap();
    desk.assert_untouched(&lead);
}
