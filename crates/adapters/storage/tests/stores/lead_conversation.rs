//! The messages and notes of leads, and the conversations that wait to be read.

use forecourt_contacts::{Contact, ContactDraft};
use forecourt_kernel::{BusinessId, LeadId, Mail, PageRequest};
use forecourt_leads::{
    ContactSuggestion, Direction, LeadDraft, LeadFilter, NewLeadNote, NewMessage, SuggestedBy,
    testing::conversation_store_contract,
};
use forecourt_reference::LeadChannel;
use tokio::task::JoinSet;

use crate::installation::{Installation, both_engines};
use crate::samples::{a_contact, a_lead, at};

both_engines!(
    conversations_are_kept_as_their_domain_asks,
    a_conversation_is_read_by_one_server,
    what_a_business_that_is_deleted_has_waiting_is_left_alone,
    loaded_leads_are_not_read,
    messages_and_notes_of_a_lead_forget_an_erased_person,
    a_suggestion_is_deleted_with_its_contact,
    a_mail_to_an_erased_contact_is_not_sent,
);

async fn conversations_are_kept_as_their_domain_asks(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let mut session = installation.begin().await;
    let ours = session.business(ours).await.unwrap().unwrap();
    let theirs = session.business(theirs).await.unwrap().unwrap();
    conversation_store_contract(session.as_mut(), &ours, &theirs).await;
    session.commit().await.unwrap();
}

async fn waiting_leads(installation: &Installation, business: BusinessId, count: usize) -> Vec<LeadId> {
    let mut leads = Vec::new();
    for _ in 0..count {
        let mut session = installation.begin().await;
        let lead = session.insert_lead(business, a_lead(), at(0)).await.unwrap();
        session.request_assessment(business, lead.id, at(0)).await.unwrap();
        session.commit().await.unwrap();
        leads.push(lead.id);
    }
    leads
}

async fn a_conversation_is_read_by_one_server(installation: Installation) {
    let business = installation.business("ours").await;
    let leads = waiting_leads(&installation, business, 12).await;
    let mut takers = JoinSet::new();
    for _ in 0..4 {
        let server = installation.another_server().await;
        takers.spawn(async move {
            let mut taken = Vec::new();
            for _ in 0..6 {
                let mut session = server.begin().await;
                let due = session
                    .take_assessments(BusinessId::new(0), at(1), at(99), 2)
                    .await
                    .unwrap();
                session.commit().await.unwrap();
                taken.extend(due.into_iter().map(|due| due.lead));
            }
            taken
        });
    }
    let mut taken = takers.join_all().await.concat();
    taken.sort_unstable();
    assert_eq!(taken, leads);
}

async fn what_a_business_that_is_deleted_has_waiting_is_left_alone(installation: Installation) {
    let business = installation.business("ours").await;
    waiting_leads(&installation, business, 1).await;
    let mut session = installation.begin().await;
    session.delete_business(business).await.unwrap();
    let taken = session
        .take_assessments(BusinessId::new(0), at(9), at(99), 2)
        .await
        .unwrap();
    assert_eq!(taken, []);
    session.commit().await.unwrap();
    installation.finish_deletions().await;
    let mut session = installation.begin().await;
    assert_eq!(session.drop_assessments(9).await.unwrap(), 0);
}

async fn loaded_leads_are_not_read(installation: Installation) {
    let business = installation.business("ours").await;
    let mut session = installation.begin().await;
    session.load_leads(business, vec![(a_lead(), at(0))]).await.unwrap();
    assert_eq!(session.drop_assessments(9).await.unwrap(), 0);
    session.commit().await.unwrap();
}

async fn ann(installation: &Installation, business: BusinessId) -> Contact {
    let draft = ContactDraft {
        name: "Ann Öz".to_owned(),
        email: "Ann@Example.com".to_owned(),
        telephone: "+441632960123".to_owned(),
        mobile: "+447700900123".to_owned(),
        ..a_contact()
    };
    installation.contact(business, draft, 0).await
}

fn a_message(body: &str) -> NewMessage {
    NewMessage {
        direction: Direction::In,
        channel: None,
        subject: "From Ann Öz".to_owned(),
        body: body.to_owned(),
    }
}

async fn messages_and_notes_of_a_lead_forget_an_erased_person(installation: Installation) {
    let business = installation.business("ours").await;
    let ann = ann(&installation, business).await;
    let linked = LeadDraft {
        contact: Some(ann.id),
        ..a_lead()
    };
    let lead = installation.lead(business, linked, 0).await.id;
    let other = installation.lead(business, a_lead(), 0).await.id;
    let mut session = installation.begin().await;
    for lead in [lead, other] {
        for number in 0..250 {
            let message = a_message(&format!("{number}: ring Ann Öz on 07700 900123"));
            session
                .insert_lead_message(business, lead, message, LeadChannel::Sms, at(1))
                .await
                .unwrap();
        }
        let note = NewLeadNote {
            note: "ann@example.com is hers".to_owned(),
            user: None,
        };
        session.insert_lead_note(business, lead, note, at(1)).await.unwrap();
    }
    session.commit().await.unwrap();
    installation.erase(business, &ann).await;
    installation.finish_deletions().await;

    let mut reader = installation.read().await;
    let page = PageRequest {
        per_page: 500,
        ..PageRequest::first()
    };
    for (lead, subject, body, note) in [
        (lead, "From …", "7: ring … on …", "… is hers"),
        // It is linked to no contact, but its text is certainly theirs.
        (other, "From …", "7: ring … on …", "… is hers"),
    ] {
        let messages = reader
            .lead_messages(business, lead, &page)
            .await
            .unwrap()
            .unwrap()
            .items;
        assert_eq!(messages.len(), 250);
        assert!(messages.iter().all(|message| message.subject == subject));
        assert_eq!(messages[242].body, body);
        let notes = reader.lead_notes(business, lead, &page).await.unwrap().unwrap().items;
        assert_eq!(notes[0].note, note);
    }
}

async fn a_suggestion_is_deleted_with_its_contact(installation: Installation) {
    let business = installation.business("ours").await;
    let (ann, bob) = (ann(&installation, business).await, ann(&installation, business).await);
    let suggesting = |contact: &Contact| LeadDraft {
        name: "Ann Öz".to_owned(),
        suggestion: Some(ContactSuggestion {
            contact: contact.id,
            by: SuggestedBy::Email,
        }),
        ..a_lead()
    };
    let mut leads = Vec::new();
    for _ in 0..3 {
        leads.push(installation.lead(business, suggesting(&ann), 0).await);
    }
    let kept = installation.lead(business, suggesting(&bob), 0).await;
    installation.erase(business, &ann).await;
    for lead in &leads {
        let left = installation.stored(business, lead.id).await.unwrap();
        assert_eq!(left.content.suggestion, None);
    }
    installation.finish_deletions().await;
    for lead in &leads {
        let left = installation.stored(business, lead.id).await.unwrap();
        // It was never linked, so no other text of it is the contact's.
        let expected = LeadDraft {
            suggestion: None,
            ..lead.content.clone()
        };
        assert_eq!((left.content, left.version), (expected, lead.version.next()));
    }
    assert_eq!(installation.stored(business, kept.id).await.unwrap(), kept);
    let all = LeadFilter::default();
    let listed = installation
        .read()
        .await
        .leads(business, &all, &PageRequest::first())
        .await
        .unwrap();
    let suggesting = listed
        .items
        .iter()
        .filter(|lead| lead.content.suggestion.is_some())
        .count();
    assert_eq!(suggesting, 1);
}

async fn a_mail_to_an_erased_contact_is_not_sent(installation: Installation) {
    let business = installation.business("ours").await;
    let ann = ann(&installation, business).await;
    let mut session = installation.begin().await;
    for to in ["ann@EXAMPLE.com", "joann@example.com"] {
        session
            .queue_mail(business, Mail::new(to, "Hello", "Ann Öz"), at(1))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    installation.erase(business, &ann).await;
    installation.finish_deletions().await;
    let mut session = installation.begin().await;
    let waiting = session
        .take_mails(BusinessId::new(0), at(2), at(9), 9)
        .await
        .unwrap()
        .mails;
    let to: Vec<_> = waiting.iter().map(|waiting| waiting.mail.to.as_str()).collect();
    assert_eq!(to, ["joann@example.com"]);
}
