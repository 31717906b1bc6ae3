//! Messages and notes.

use forecourt_kernel::{EventName, LeadId, LeadNoteId, Mail, PageRequest, Precondition, StaffId, Target};
use forecourt_leads::{
    Direction, Lead, LeadChanges, LeadError, LeadMessage, LeadStatus, NewLeadNote, NewMessage, StatusChange,
    add_lead_note, add_message, delete_lead_note, list_lead_notes, list_messages, outgoing_mail,
};
use forecourt_reference::LeadChannel;
use serde_json::json;

use crate::support::{Fixture, at, changes, faults, object};

fn message(direction: Direction) -> NewMessage {
    NewMessage {
        direction,
        channel: None,
        subject: String::new(),
        body: "Is it there?".into(),
    }
}

fn by_mail() -> LeadChanges {
    changes(json!({"channel": "email", "email": "ann@example.com"}))
}

async fn add(
    fixture: &mut Fixture,
    id: impl Into<Target<LeadId>>,
    message: NewMessage,
) -> Result<LeadMessage, LeadError> {
    add_message(&mut fixture.store, &fixture.clock, &fixture.caller, id, message).await
}

async fn in_state(status: LeadStatus) -> (Fixture, Lead) {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    let change = StatusChange {
        status: Some(status),
        ..StatusChange::default()
    };
    let lead = fixture.set_status(lead.id, change).await.unwrap();
    fixture.store.events.clear();
    (fixture, lead)
}

#[tokio::test]
async fn a_message_moves_the_lead_and_an_event_reports_it() {
    for status in LeadStatus::ALL {
        for (direction, expected) in [
            (Direction::In, LeadStatus::NewMessage),
            (Direction::Out, LeadStatus::Replied),
        ] {
            let (mut fixture, lead) = in_state(status).await;
            fixture.set_clock(60);
            let added = add(&mut fixture, lead.id, message(direction)).await.unwrap();
            assert_eq!(
                (added.lead, added.created, added.channel),
                (lead.id, at(60), LeadChannel::Api)
            );
            let moved = fixture.stored(lead.id);
            assert_eq!(moved.content.status, expected, "{status:?} {direction:?}");
            assert_eq!((moved.updated, moved.version), (at(60), lead.version.next()));
            fixture.assert_recorded(EventName::LeadUpdated, &moved);
            assert_eq!(fixture.store.mails, []);
        }
    }
}

#[tokio::test]
async fn a_message_ends_the_wait_for_a_closed_leads_day() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    let close = StatusChange {
        closed: Some(true),
        reopen: "2026-04-01".parse().ok(),
        ..StatusChange::default()
    };
    fixture.set_status(lead.id, close).await.unwrap();
    add(&mut fixture, lead.id, message(Direction::In)).await.unwrap();
    assert_eq!(fixture.stored(lead.id).content.reopen, None);
}

#[tokio::test]
async fn a_reply_by_email_is_mailed_and_names_what_it_continues() {
    let data = json!({"subject": "Golf", "message_id": "first@mail.example"});
    let fields = LeadChanges {
        data: object(data).into(),
        ..by_mail()
    };
    let (mut fixture, lead) = Fixture::with_lead(fields).await;
    fixture.set_clock(60);
    let first = add(&mut fixture, lead.id, message(Direction::Out)).await.unwrap();
    let mail = |message_id: String, in_reply_to: String, subject: &str| Mail {
        to: "ann@example.com".into(),
        subject: subject.into(),
        text: "Is it there?".into(),
        message_id: Some(message_id),
        in_reply_to: Some(in_reply_to),
        reply_to: Some("office@acme.example".into()),
        lead: Some(lead.id),
        ..Mail::default()
    };
    let id_of = |message: &LeadMessage| {
        let LeadMessage { id, lead, created, .. } = message;
        format!("lead.{lead}.{id}.{}", created.epoch_seconds())
    };
    let expected = mail(id_of(&first), "first@mail.example".into(), "Re: Golf");
    assert_eq!(fixture.store.mails.pop().unwrap().1, expected);

    add(&mut fixture, lead.id, message(Direction::In)).await.unwrap();
    let titled = NewMessage {
        subject: "Saturday".into(),
        ..message(Direction::Out)
    };
    let second = add(&mut fixture, lead.id, titled).await.unwrap();
    let expected = mail(id_of(&second), id_of(&first), "Saturday");
    assert_eq!(fixture.store.mails.pop().unwrap().1, expected);
    assert_eq!(fixture.store.mails, []);
}

#[tokio::test]
async fn the_channel_of_the_message_decides_whether_it_is_mailed() {
    let (mut fixture, lead) = Fixture::with_lead(by_mail()).await;
    let on = |channel, direction| NewMessage {
        channel: Some(channel),
        ..message(direction)
    };
    for (message, mailed) in [
        (on(LeadChannel::Sms, Direction::Out), false),
        (on(LeadChannel::Email, Direction::In), false),
        (message(Direction::In), false),
        (message(Direction::Out), true),
        (on(LeadChannel::Email, Direction::Out), true),
    ] {
        let announced = outgoing_mail(&mut fixture.store, &fixture.caller, lead.id, &message)
            .await
            .unwrap();
        assert_eq!(
            announced.as_ref().map(|mail| mail.to.as_str()),
            mailed.then_some("ann@example.com")
        );
        add(&mut fixture, lead.id, message).await.unwrap();
        assert_eq!(std::mem::take(&mut fixture.store.mails).len(), usize::from(mailed));
    }
}

#[tokio::test]
async fn a_lead_without_an_address_is_not_answered_by_email() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    let reply = NewMessage {
        channel: Some(LeadChannel::Email),
        ..message(Direction::Out)
    };
    let announced = outgoing_mail(&mut fixture.store, &fixture.caller, lead.id, &reply).await;
    assert!(matches!(announced, Err(LeadError::NoAddress)), "{announced:?}");
    let refused = add(&mut fixture, lead.id, reply).await;
    assert!(matches!(refused, Err(LeadError::NoAddress)), "{refused:?}");
    fixture.assert_untouched(&lead);
    let by = &fixture.caller;
    let page = list_messages(&mut fixture.store, by, lead.id, &PageRequest::first())
        .await
        .unwrap();
    assert_eq!(page.items, []);
}

#[tokio::test]
async fn a_wrong_message_is_refused_before_the_lead_is_looked_for() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    let with = |subject: &str, body: &str| NewMessage {
        subject: subject.into(),
        body: body.into(),
        ..message(Direction::In)
    };
    for (message, expected) in [
        (with("", " \n"), vec!["body"]),
        (with(&"ä".repeat(256), ""), vec!["subject", "body"]),
        (with("", &"ä".repeat(20_001)), vec!["body"]),
    ] {
        assert_eq!(faults(add(&mut fixture, LeadId::new(404), message).await), expected);
    }
    let whole = with(&"ä".repeat(255), &"ä".repeat(20_000));
    add(&mut fixture, lead.id, whole).await.unwrap();
    let absent = add(&mut fixture, LeadId::new(404), message(Direction::In)).await;
    assert!(matches!(absent, Err(LeadError::NotFound(_))), "{absent:?}");
    let stale = Target {
        id: lead.id,
        precondition: Precondition::one_of(vec![7]),
    };
    let stale = add(&mut fixture, stale, message(Direction::In)).await;
    assert!(matches!(stale, Err(LeadError::VersionMismatch(_))), "{stale:?}");
    fixture.change_business();
    let theirs = add(&mut fixture, lead.id, message(Direction::In)).await;
    assert!(matches!(theirs, Err(LeadError::NotFound(_))), "{theirs:?}");
}

#[tokio::test]
async fn notes_are_no_change_of_the_lead() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    let note = |note: &str, user: Option<i64>| NewLeadNote {
        note: note.into(),
        user: user.map(StaffId::new),
    };
    let by = fixture.caller.clone();
    let (store, clock) = (&mut fixture.store, &fixture.clock);
    let wrong = add_lead_note(store, clock, &by, LeadId::new(404), note("", Some(9))).await;
    assert_eq!(faults(wrong), ["note", "user"]);
    let absent = add_lead_note(store, clock, &by, LeadId::new(404), note("x", None)).await;
    assert!(matches!(absent, Err(LeadError::NotFound(_))), "{absent:?}");
    let added = add_lead_note(store, clock, &by, lead.id, note("Two\nlines", None))
        .await
        .unwrap();
    let listed = list_lead_notes(store, &by, lead.id, &PageRequest::first())
        .await
        .unwrap();
    assert_eq!(listed.items, std::slice::from_ref(&added));
    let absent = delete_lead_note(store, &by, lead.id, LeadNoteId::new(404)).await;
    assert!(matches!(absent, Err(LeadError::NoteNotFound(_))), "{absent:?}");
    delete_lead_note(store, &by, lead.id, added.id).await.unwrap();
    for _ in 0..1000 {
        add_lead_note(store, clock, &by, lead.id, note("x", None))
            .await
            .unwrap();
    }
    assert_eq!(
        faults(add_lead_note(store, clock, &by, lead.id, note("x", None)).await),
        ["note"]
    );
    fixture.assert_untouched(&lead);
}
