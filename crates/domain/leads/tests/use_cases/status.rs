//! `PATCH /2.0/leads/{id}/status`

use forecourt_kernel::{Date, EventName, LeadId};
use forecourt_leads::{Lead, LeadError, LeadStatus, StatusChange};
use serde_json::json;

use crate::support::{Fixture, at, changes, faults};

fn nothing() -> StatusChange {
    StatusChange::default()
}

fn to(status: LeadStatus) -> StatusChange {
    StatusChange {
        status: Some(status),
        ..nothing()
    }
}

fn closed(reopen: Option<Date>) -> StatusChange {
    StatusChange {
        closed: Some(true),
        reopen,
        ..nothing()
    }
}

fn day() -> Option<Date> {
    "2026-03-05".parse().ok()
}

async fn lead_in(status: LeadStatus) -> (Fixture, Lead) {
    Fixture::with_lead(changes(json!({"status": status.code()}))).await
}

#[tokio::test]
async fn each_move_leads_where_the_contract_says() {
    let junk = |junk| StatusChange {
        junk: Some(junk),
        ..nothing()
    };
    let not_closed = StatusChange {
        closed: Some(false),
        ..nothing()
    };
    let moves = [
        (junk(true), LeadStatus::Junk),
        (junk(false), LeadStatus::New),
        (closed(None), LeadStatus::Closed),
        (not_closed, LeadStatus::NewMessage),
    ];
    let direct = LeadStatus::ALL.map(|status| (to(status), status));
    for from in LeadStatus::ALL {
        for (change, target) in moves.into_iter().chain(direct) {
            let (mut fixture, lead) = lead_in(from).await;
            fixture.set_clock(60);
            let moved = fixture.set_status(lead.id, change).await.unwrap();
            assert_eq!(moved.content.status, target, "{from:?} {change:?}");
            if target == from {
                fixture.assert_untouched(&lead);
            } else {
                assert_eq!((moved.created, moved.updated), (at(0), at(60)));
                fixture.assert_recorded(EventName::LeadUpdated, &moved);
            }
        }
    }
}

#[tokio::test]
async fn only_a_closed_lead_has_a_day_to_reopen_on() {
    let not_closed = StatusChange {
        closed: Some(false),
        reopen: day(),
        ..nothing()
    };
    let with_day = |change| StatusChange {
        reopen: day(),
        ..change
    };
    let stat = StatusChange {
        stat: Some(false),
        ..nothing()
    };
    // The outcome for a lead that is closed until that day.
    for (change, status, reopen) in [
        (
            closed("2026-04-01".parse().ok()),
            LeadStatus::Closed,
            "2026-04-01".parse().ok(),
        ),
        (closed(None), LeadStatus::Closed, None),
        (to(LeadStatus::Closed), LeadStatus::Closed, None),
        (with_day(to(LeadStatus::Read)), LeadStatus::Read, None),
        (not_closed, LeadStatus::NewMessage, None),
        (stat, LeadStatus::Closed, day()),
        (with_day(nothing()), LeadStatus::Closed, day()),
    ] {
        let (mut fixture, lead) = lead_in(LeadStatus::Read).await;
        fixture.set_status(lead.id, closed(day())).await.unwrap();
        let lead = fixture.set_status(lead.id, change).await.unwrap();
        assert_eq!(
            (lead.content.status, lead.content.reopen),
            (status, reopen),
            "{change:?}"
        );
    }
}

#[tokio::test]
async fn a_day_without_closing_is_ignored() {
    let (mut fixture, lead) = lead_in(LeadStatus::Read).await;
    let change = StatusChange {
        reopen: day(),
        ..nothing()
    };
    assert_eq!(fixture.set_status(lead.id, change).await.unwrap(), lead);
    fixture.assert_untouched(&lead);
}

#[tokio::test]
async fn whether_it_counts_changes_alone_or_along() {
    let (mut fixture, lead) = lead_in(LeadStatus::Read).await;
    let discount = StatusChange {
        stat: Some(false),
        ..nothing()
    };
    let lead = fixture.set_status(lead.id, discount).await.unwrap();
    assert_eq!((lead.content.status, lead.content.stat), (LeadStatus::Read, false));
    fixture.assert_recorded(EventName::LeadUpdated, &lead);
    let close_and_count = StatusChange {
        stat: Some(true),
        ..closed(None)
    };
    let lead = fixture.set_status(lead.id, close_and_count).await.unwrap();
    assert_eq!((lead.content.status, lead.content.stat), (LeadStatus::Closed, true));
    fixture.assert_recorded(EventName::LeadUpdated, &lead);
}

#[tokio::test]
async fn what_excludes_each_other_is_refused_even_without_a_lead() {
    let mut fixture = Fixture::open();
    let change = StatusChange {
        junk: Some(true),
        ..to(LeadStatus::Read)
    };
    assert_eq!(faults(fixture.set_status(LeadId::new(404), change).await), ["status"]);
}

#[tokio::test]
async fn a_missing_or_foreign_lead_is_not_found() {
    let (mut fixture, lead) = lead_in(LeadStatus::Read).await;
    let missing = LeadId::new(404);
    let outcome = fixture.set_status(missing, closed(None)).await;
    assert!(matches!(outcome, Err(LeadError::NotFound(id)) if id == missing));
    fixture.change_business();
    assert!(matches!(
        fixture.set_status(lead.id, closed(None)).await,
        Err(LeadError::NotFound(_))
    ));
}
