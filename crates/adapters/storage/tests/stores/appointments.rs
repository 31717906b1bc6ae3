//! The store of appointments: the contract suite of its domain, and what it shows of other areas.

use forecourt_appointments::testing::{an_appointment, appointment_store_contract};
use forecourt_appointments::{AppointmentContent, Visitor};
use forecourt_kernel::PageRequest;
use forecourt_leads::LeadDraft;

use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, a_contact, a_lead, at};

both_engines!(
    appointments_are_kept_as_their_domain_asks,
    an_appointment_shows_its_contact_and_is_on_the_list_of_its_lead
);

async fn appointments_are_kept_as_their_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    appointment_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

async fn an_appointment_shows_its_contact_and_is_on_the_list_of_its_lead(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    let contact = session.insert_contact(ours, a_contact(), at(0)).await.unwrap();
    let draft = LeadDraft {
        contact: Some(contact.id),
        ..a_lead()
    };
    let lead = session.insert_lead(ours, draft, at(0)).await.unwrap().id;
    assert_eq!(
        session.contact_of_lead(ours, lead).await.unwrap(),
        Some(Some(contact.id))
    );
    assert_eq!(session.contact_of_lead(theirs, lead).await.unwrap(), None);
    let visitor = session.visitor(ours, contact.id).await.unwrap().unwrap();
    assert_eq!(
        (&visitor.name, &visitor.email),
        (&contact.content.name, &contact.content.email)
    );
    assert_eq!(session.visitor(theirs, contact.id).await.unwrap(), None);
    let Visitor { name, email, phone, .. } = visitor;
    let content = AppointmentContent {
        contact: Some(contact.id),
        lead: Some(lead),
        name,
        email,
        phone,
        ..an_appointment()
    };
    let made = session.insert_appointment(ours, content, None, at(0)).await.unwrap();
    assert!(session.add_lead_appointment(ours, lead, made.id, at(0)).await.unwrap());
    assert!(!session.add_lead_appointment(ours, lead, made.id, at(0)).await.unwrap());
    let page = PageRequest::of_one(made.id.get());
    let listed = session.lead_appointments(ours, lead, &page).await.unwrap().unwrap();
    assert_eq!(listed.items, std::slice::from_ref(&made));
    assert!(session.lead_appointments(theirs, lead, &page).await.unwrap().is_none());
    assert_eq!(
        session.appointment(ours, made.id).await.unwrap().unwrap().version,
        made.version
    );
    let version = session.lead_version(ours, lead).await.unwrap();
    assert_eq!(version.map(|version| version.number()), Some(1));
    session.commit().await.unwrap();

    let mut session = installation.begin().await;
    let mut renamed = session.lock_contact(ours, contact.id).await.unwrap().unwrap();
    renamed.content.name = "Somebody Else".to_owned();
    session.save_contact(ours, &renamed).await.unwrap();
    session.commit().await.unwrap();
    let mut session = installation.begin().await;
    let read = session.appointment(ours, made.id).await.unwrap().unwrap();
    assert_eq!(read.content.name, "Somebody Else");
    assert_ne!(read.version, made.version);
    session.delete_lead(ours, lead).await.unwrap();
    session.commit().await.unwrap();
    let mut reader = installation.read().await;
    assert!(reader.lead_appointments(ours, lead, &page).await.unwrap().is_none());
    let own = reader
        .contact_appointments(ours, contact.id, forecourt_appointments::AppointmentId::new(0))
        .await;
    assert_eq!(own.unwrap().len(), 1);
}
