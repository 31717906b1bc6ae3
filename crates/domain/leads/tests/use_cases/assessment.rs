//! Assessments of conversations.

use forecourt_kernel::{BusinessId, Clock as _, EventName, LeadId};
use forecourt_leads::{
    Applied, Assessment, Conversation, ConversationStore, Direction, DueAssessment, JunkConfidence, Lead, LeadChanges,
    LeadStatus, MAX_CHARS_READ, MAX_MESSAGES_READ, NewMessage, Rating, StatusChange, Utterance, add_message,
    apply_assessment, begin_assessment,
};
use forecourt_reference::{LeadChannel, LeadType};
use serde_json::json;

use crate::support::{Fixture, GOLF, at, changes};

fn keen() -> Assessment {
    Assessment {
        rating: Rating::new(4),
        intent: Some(LeadType::TestDrive),
        summary: Some("Wants to drive the Golf on Saturday".into()),
        reason: Some("Names a vehicle and a day".into()),
        next_action: Some("Confirm Saturday".into()),
        junk: false,
        junk_confidence: None,
    }
}

fn spam() -> Assessment {
    Assessment {
        junk: true,
        junk_confidence: Some(JunkConfidence::High),
        ..keen()
    }
}

fn enquiry() -> LeadChanges {
    let data = json!({"subject": "Golf", "message": "Is it there?"});
    changes(json!({"name": "Ann", "email": "ann@example.com", "data": data}))
}

async fn add(fixture: &mut Fixture, lead: LeadId, direction: Direction, body: &str) {
    let message = NewMessage {
        direction,
        channel: Some(LeadChannel::Phone),
        subject: String::new(),
        body: body.into(),
    };
    add_message(&mut fixture.store, &fixture.clock, &fixture.caller, lead, message)
        .await
        .unwrap();
}

/// Leases the only waiting conversation, and reads it.
async fn begin(fixture: &mut Fixture) -> (DueAssessment, Conversation) {
    let now = fixture.clock.now();
    let due = fixture
        .store
        .take_assessments(BusinessId::new(0), now, now.plus_seconds(60), 9)
        .await
        .unwrap();
    let [due] = *due else {
        panic!("one conversation was expected: {due:?}")
    };
    let read = begin_assessment(&mut fixture.store, &due).await.unwrap().unwrap();
    (due, read)
}

async fn apply(fixture: &mut Fixture, due: &DueAssessment, read: &Conversation, says: Assessment) -> Applied {
    let business = fixture.caller.business.clone();
    apply_assessment(&mut fixture.store, &fixture.clock, &business, due, read, says)
        .await
        .unwrap()
}

/// Applies this assessment and returns the lead.
async fn assessed(fixture: &mut Fixture, says: Assessment) -> Lead {
    let (due, read) = begin(fixture).await;
    match apply(fixture, &due, &read, says).await {
        Applied::Applied(lead) => *lead,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_new_lead_is_read_and_says_what_came_of_it() {
    let mut fixture = Fixture::open();
    let enquiry = LeadChanges {
        vehicle: GOLF.get().into(),
        ..enquiry()
    };
    let lead = fixture.create(enquiry).await.unwrap();
    fixture.store.events.clear();
    fixture.store.mails.clear();
    fixture.set_clock(60);
    let (due, read) = begin(&mut fixture).await;
    let expected = Conversation {
        types: vec![LeadType::Email],
        channel: LeadChannel::Api,
        name: "Ann".into(),
        is_answerable: true,
        vehicles: vec!["Volkswagen Golf 1.5 TSI Match".into()],
        messages: vec![Utterance {
            ours: false,
            subject: "Golf".into(),
            text: "Is it there?".into(),
        }],
    };
    assert_eq!(read, expected);
    let Applied::Applied(changed) = apply(&mut fixture, &due, &read, keen()).await else {
        panic!("it is applied")
    };
    assert_eq!(changed.version, lead.version.next());
    assert_eq!(changed.content.status, LeadStatus::New);
    let shown = fixture.view(&changed);
    assert_eq!(shown["rating"], 4);
    assert_eq!(shown["summary"], "Wants to drive the Golf on Saturday");
    let ai = json!({
        "intent": "test_drive", "rating_reason": "Names a vehicle and a day", "next_action": "Confirm Saturday",
        "junk": false, "junk_confidence": null, "processed": at(60).epoch_seconds(),
    });
    assert_eq!(shown["ai"], ai);
    fixture.assert_recorded(EventName::LeadUpdated, &changed);
    assert_eq!(fixture.store.leads.waiting(), []);
    // Only once: a slower server has no effect.
    assert_eq!(apply(&mut fixture, &due, &read, spam()).await, Applied::Outdated);
    fixture.forget_outcomes();
    fixture.assert_untouched(&changed);
}

#[tokio::test]
async fn what_breaks_its_bounds_is_left_out() {
    let (mut fixture, _) = Fixture::with_lead(enquiry()).await;
    let says = Assessment {
        summary: Some("one two three four five six seven eight nine ten eleven twelve thirteen".into()),
        reason: Some("see https://x.example".into()),
        ..keen()
    };
    let content = assessed(&mut fixture, says).await.content;
    let ai = content.ai.unwrap();
    assert_eq!((content.rating, content.summary), (Rating::new(4), None));
    assert_eq!(
        (ai.rating_reason, ai.next_action.as_deref()),
        (None, Some("Confirm Saturday"))
    );
}

#[tokio::test]
async fn only_certain_junk_that_was_never_answered_is_junk() {
    let status = |status| StatusChange {
        status: Some(status),
        ..StatusChange::default()
    };
    for (before, says, after) in [
        (LeadStatus::New, spam(), LeadStatus::Junk),
        (LeadStatus::NewMessage, spam(), LeadStatus::Junk),
        (LeadStatus::Read, spam(), LeadStatus::Junk),
        (LeadStatus::Replied, spam(), LeadStatus::Replied),
        (LeadStatus::Closed, spam(), LeadStatus::Closed),
        (LeadStatus::New, keen(), LeadStatus::New),
        (
            LeadStatus::New,
            Assessment {
                junk_confidence: Some(JunkConfidence::Medium),
                ..spam()
            },
            LeadStatus::New,
        ),
        (LeadStatus::New, Assessment { junk: false, ..spam() }, LeadStatus::New),
    ] {
        let (mut fixture, lead) = Fixture::with_lead(enquiry()).await;
        fixture.set_status(lead.id, status(before)).await.unwrap();
        let lead = assessed(&mut fixture, says.clone()).await;
        assert_eq!(lead.content.status, after, "{before:?} {says:?}");
        assert_eq!(lead.content.ai.unwrap().junk, says.junk);
    }
    // A lead that was answered once counts as answered, regardless of later changes.
    let (mut fixture, lead) = Fixture::with_lead(enquiry()).await;
    fixture.set_status(lead.id, status(LeadStatus::Replied)).await.unwrap();
    fixture.set_status(lead.id, status(LeadStatus::Read)).await.unwrap();
    assert_eq!(assessed(&mut fixture, spam()).await.content.status, LeadStatus::Read);
    add(&mut fixture, lead.id, Direction::In, "Buy pills").await;
    assert_eq!(
        assessed(&mut fixture, spam()).await.content.status,
        LeadStatus::NewMessage
    );
}

#[tokio::test]
async fn a_conversation_that_has_gone_on_is_read_again() {
    let (mut fixture, lead) = Fixture::with_lead(enquiry()).await;
    // A new message, and a change of text that is read.
    let (due, read) = begin(&mut fixture).await;
    add(&mut fixture, lead.id, Direction::In, "Still there?").await;
    assert_eq!(apply(&mut fixture, &due, &read, keen()).await, Applied::Outdated);
    let (due, read) = begin(&mut fixture).await;
    add(&mut fixture, lead.id, Direction::Out, "Yes").await;
    assert_eq!(apply(&mut fixture, &due, &read, keen()).await, Applied::Outdated);
    let (due, read) = begin(&mut fixture).await;
    let said: Vec<_> = read
        .messages
        .iter()
        .map(|said| (said.ours, said.text.as_str()))
        .collect();
    assert_eq!(said, [(false, "Is it there?"), (false, "Still there?"), (true, "Yes")]);
    // Fields that are not read do not matter.
    fixture.assign(lead.id, &[1]).await.unwrap();
    assert!(matches!(
        apply(&mut fixture, &due, &read, keen()).await,
        Applied::Applied(_)
    ));

    add(&mut fixture, lead.id, Direction::In, "Hello?").await;
    let (due, read) = begin(&mut fixture).await;
    fixture.delete(lead.id).await.unwrap();
    assert_eq!(apply(&mut fixture, &due, &read, keen()).await, Applied::Gone);
    assert_eq!(begin_assessment(&mut fixture.store, &due).await.unwrap(), None);
}

#[tokio::test]
async fn of_a_long_conversation_the_newest_part_is_read() {
    let (mut fixture, lead) = Fixture::with_lead(enquiry()).await;
    for number in 0..25 {
        add(&mut fixture, lead.id, Direction::In, &format!("Message {number}")).await;
    }
    let (_, read) = begin(&mut fixture).await;
    let said: Vec<_> = read.messages.iter().map(|said| said.text.clone()).collect();
    let newest: Vec<_> = (5..25).map(|number| format!("Message {number}")).collect();
    assert_eq!((said.len(), said), (MAX_MESSAGES_READ, newest));

    for text in ["ä".repeat(5_000), "ö".repeat(5_000), "ü".repeat(1_000)] {
        add(&mut fixture, lead.id, Direction::In, &text).await;
    }
    let (_, read) = begin(&mut fixture).await;
    let said: Vec<_> = read.messages.iter().map(|said| said.text.chars().count()).collect();
    assert_eq!(said, [2_000, 5_000, 1_000]);
    assert_eq!(said.iter().sum::<usize>(), MAX_CHARS_READ);
}
