//! The contract suite for stores of conversations.

use forecourt_accounts::Business;
use forecourt_kernel::{BusinessId, Cursor, LeadId, Page, PageRequest, Position, StaffId, Timestamp};
use forecourt_reference::LeadChannel;

use crate::{ConversationStore, Direction, DueAssessment, LeadDraft, LeadMessage, NewLeadNote, NewMessage};

/// The moment `seconds` after the beginning of the tests.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(1_772_357_400 + seconds)
}

fn a_message(direction: Direction, body: &str) -> NewMessage {
    NewMessage {
        direction,
        channel: None,
        subject: "Golf".to_owned(),
        body: body.to_owned(),
    }
}

fn ids<T>(page: Option<Page<T>>, id: impl Fn(&T) -> i64) -> Vec<i64> {
    let page = page.expect("a lead");
    assert_eq!(page.total, i64::try_from(page.items.len()).ok());
    page.items.iter().map(id).collect()
}

/// Tests that `store` meets the contract of a store of conversations. It must have these two businesses and no leads.
pub async fn conversation_store_contract(store: &mut dyn ConversationStore, ours: &Business, theirs: &Business) {
    let draft = LeadDraft::blank(&ours.catalogue);
    let (our_id, their_id) = (ours.id, theirs.id);
    let mut leads = Vec::new();
    for business in [our_id, our_id, our_id, their_id] {
        let lead = store.insert_lead(business, draft.clone(), at(0)).await.expect("a lead");
        leads.push(lead.id);
    }
    let [first, second, third, other] = *leads else {
        panic!("four leads were made")
    };
    messages_contract(store, our_id, their_id, first, second).await;
    notes_contract(store, our_id, their_id, first, second).await;
    assessments_contract(
        store,
        [(our_id, first), (our_id, second), (our_id, third), (their_id, other)],
    )
    .await;
    mails_contract(store, our_id, their_id).await;
    deletion_contract(store, our_id, first).await;
}

async fn messages_contract(
    store: &mut dyn ConversationStore,
    ours: BusinessId,
    theirs: BusinessId,
    lead: LeadId,
    other: LeadId,
) {
    let first = PageRequest::first();
    let mut added = Vec::new();
    for (second, direction) in [(1, Direction::In), (2, Direction::Out), (3, Direction::In)] {
        let message = a_message(direction, "Is it there?\n🚗");
        let channel = LeadChannel::Whatsapp;
        let message = store
            .insert_lead_message(ours, lead, message, channel, at(second))
            .await;
        added.push(message.expect("a message"));
    }
    assert!(added.iter().is_sorted_by_key(|message| message.id));
    let expected = LeadMessage {
        id: added[1].id,
        lead,
        created: at(2),
        direction: Direction::Out,
        channel: LeadChannel::Whatsapp,
        subject: "Golf".to_owned(),
        body: "Is it there?\n🚗".to_owned(),
        user: None,
    };
    assert_eq!(added[1], expected);
    let by_mail = NewMessage {
        channel: Some(LeadChannel::Email),
        ..a_message(Direction::In, "x")
    };
    let by_mail = store
        .insert_lead_message(ours, other, by_mail, LeadChannel::Sms, at(4))
        .await;
    assert_eq!(by_mail.expect("a message").channel, LeadChannel::Email);

    added.reverse();
    let read = store.lead_messages(ours, lead, &first).await.expect("messages");
    assert_eq!(read.map(|page| page.items), Some(added.clone()));
    let few = PageRequest {
        per_page: 2,
        ..PageRequest::first()
    };
    let page = store
        .lead_messages(ours, lead, &few)
        .await
        .expect("messages")
        .expect("a lead");
    assert_eq!((&*page.items, page.total), (&added[..2], Some(3)));
    let behind = PageRequest {
        position: Position::After(page.next.expect("more")),
        ..few
    };
    let page = store
        .lead_messages(ours, lead, &behind)
        .await
        .expect("messages")
        .expect("a lead");
    assert_eq!((&*page.items, page.next, page.total), (&added[2..], None, None));
    let newest = PageRequest {
        position: Position::After(Cursor::at([i64::MAX])),
        per_page: 1,
    };
    let page = store
        .lead_messages(ours, lead, &newest)
        .await
        .expect("messages")
        .expect("a lead");
    assert_eq!(page.items, added[..1]);
    for (business, lead) in [(theirs, lead), (ours, LeadId::new(i64::MAX))] {
        assert_eq!(
            store.lead_messages(business, lead, &first).await.expect("an answer"),
            None
        );
    }
}

async fn notes_contract(
    store: &mut dyn ConversationStore,
    ours: BusinessId,
    theirs: BusinessId,
    lead: LeadId,
    other: LeadId,
) {
    let first = PageRequest::first();
    let mut added = Vec::new();
    for (second, user) in [(1, None), (2, Some(StaffId::new(3)))] {
        let note = NewLeadNote {
            note: format!("Note\n{second}"),
            user,
        };
        let note = store
            .insert_lead_note(ours, lead, note.clone(), at(second))
            .await
            .expect("a note");
        assert_eq!(
            (&*note.note, note.lead, note.created, note.user),
            (&*format!("Note\n{second}"), lead, at(second), user)
        );
        added.push(note);
    }
    added.reverse();
    assert_eq!(store.count_lead_notes(ours, lead).await.expect("a count"), 2);
    assert_eq!(store.count_lead_notes(ours, other).await.expect("a count"), 0);
    let read = store.lead_notes(ours, lead, &first).await.expect("notes");
    assert_eq!(read.map(|page| page.items), Some(added.clone()));
    assert_eq!(
        ids(store.lead_notes(ours, other, &first).await.expect("notes"), |note| note
            .id
            .get()),
        [0; 0]
    );
    assert_eq!(store.lead_notes(theirs, lead, &first).await.expect("an answer"), None);
    let gone = added[0].id;
    for (business, lead) in [(theirs, lead), (ours, other)] {
        assert!(!store.delete_lead_note(business, lead, gone).await.expect("an answer"));
    }
    assert!(store.delete_lead_note(ours, lead, gone).await.expect("an answer"));
    assert!(!store.delete_lead_note(ours, lead, gone).await.expect("an answer"));
    assert_eq!(
        ids(store.lead_notes(ours, lead, &first).await.expect("notes"), |note| note
            .id
            .get()),
        [added[1].id.get()]
    );
}

async fn assessments_contract(store: &mut dyn ConversationStore, leads: [(BusinessId, LeadId); 4]) {
    let [first, second, third, other] = leads;
    let none = BusinessId::new(0);
    assert_eq!(
        store
            .take_assessments(none, at(99), at(100), 9)
            .await
            .expect("an answer"),
        []
    );
    for (number, (business, lead)) in (1..).zip(leads) {
        store
            .request_assessment(business, lead, at(number))
            .await
            .expect("a request");
    }
    assert_eq!(
        store
            .take_assessments(none, at(0), at(100), 9)
            .await
            .expect("an answer"),
        []
    );

    // Two businesses get one each, and the one after the last comes first.
    let taken = store
        .take_assessments(first.0, at(9), at(100), 2)
        .await
        .expect("an answer");
    let due = |(business, lead): (BusinessId, LeadId), lease, attempts| DueAssessment {
        business,
        lead,
        lease,
        attempts,
    };
    let mut expected = vec![due(first, at(100), 0), due(other, at(100), 0)];
    expected.sort_by_key(|due| (due.business <= first.0, due.business));
    assert_eq!(taken, expected);
    let taken = store
        .take_assessments(none, at(9), at(100), 9)
        .await
        .expect("an answer");
    assert_eq!(taken, [due(second, at(100), 0), due(third, at(100), 0)]);
    assert_eq!(
        store
            .take_assessments(none, at(99), at(200), 9)
            .await
            .expect("an answer"),
        []
    );

    // A finished conversation is gone. One that is put back comes again, and so does one whose lease has ended or that is to be
    // read anew. The former lease is then without effect.
    let [of_first, of_second, of_third, of_other] = leads.map(|lead| due(lead, at(100), 0));
    assert!(store.finish_assessment(&of_first).await.expect("an answer"));
    assert!(!store.finish_assessment(&of_first).await.expect("an answer"));
    store.postpone_assessment(&of_second, at(50)).await.expect("an answer");
    store
        .request_assessment(third.0, third.1, at(60))
        .await
        .expect("a request");
    assert!(!store.finish_assessment(&of_third).await.expect("an answer"));
    store.postpone_assessment(&of_third, at(500)).await.expect("an answer");
    assert_eq!(
        store
            .take_assessments(none, at(49), at(200), 9)
            .await
            .expect("an answer"),
        []
    );
    let taken = store
        .take_assessments(none, at(60), at(200), 9)
        .await
        .expect("an answer");
    assert_eq!(taken, [due(second, at(200), 1), due(third, at(200), 0)]);
    let taken = store
        .take_assessments(none, at(100), at(300), 9)
        .await
        .expect("an answer");
    assert_eq!(taken, [due(other, at(300), 0)]);
    assert!(!store.finish_assessment(&of_other).await.expect("an answer"));

    assert_eq!(store.drop_assessments(2).await.expect("an answer"), 2);
    assert_eq!(store.drop_assessments(2).await.expect("an answer"), 1);
    assert_eq!(store.drop_assessments(2).await.expect("an answer"), 0);
    store
        .request_assessment(first.0, first.1, at(1))
        .await
        .expect("a request");
}

async fn mails_contract(store: &mut dyn ConversationStore, ours: BusinessId, theirs: BusinessId) {
    let long = "x".repeat(998);
    for (business, id, expected) in [
        (ours, "a@example.com", true),
        (ours, "a@example.com", false),
        (ours, "A@example.com", true),
        (theirs, "a@example.com", true),
        (ours, &long, true),
        (ours, &long, false),
    ] {
        let noted = store.note_enquiry_mail(business, id).await;
        assert_eq!(noted.expect("an answer"), expected, "{business} {id}");
    }
}

async fn deletion_contract(store: &mut dyn ConversationStore, business: BusinessId, lead: LeadId) {
    store.delete_lead(business, lead).await.expect("a deletion");
    let none = BusinessId::new(0);
    assert_eq!(
        store
            .take_assessments(none, at(99), at(100), 9)
            .await
            .expect("an answer"),
        []
    );
    assert_eq!(
        store
            .lead_messages(business, lead, &PageRequest::first())
            .await
            .expect("an answer"),
        None
    );
    assert_eq!(store.count_lead_notes(business, lead).await.expect("a count"), 0);
}
