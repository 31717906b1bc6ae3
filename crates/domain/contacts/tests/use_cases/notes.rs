//! `/2.0/contacts/{id}/notes`

use forecourt_contacts::{ContactError, MockContactStore, list_notes};
use forecourt_kernel::{ContactId, ContactNoteId, EventName, Page, PageRequest, StaffId};
use mockall::predicate::eq;
use serde_json::json;

use crate::support::{Office, acme_caller, at, faults, named};

#[tokio::test]
async fn a_note_is_kept_as_it_was_written_and_changes_nothing_else() {
    let (mut office, contact) = Office::with_contact(named("Ann")).await;
    office.set_clock(60);
    let note = office.add_note(contact.id, "Called.\nTwice.", Some(1)).await.unwrap();
    assert_eq!(
        (note.contact, note.created, note.user, &*note.note),
        (contact.id, at(60), Some(StaffId::new(1)), "Called.\nTwice.")
    );
    let second = office.add_note(contact.id, "Again", None).await.unwrap();
    assert_eq!((office.store.contacts.saves(), office.store.events.len()), (0, 0));
    let stored = office.stored(contact.id);
    assert_eq!(stored.updated, contact.updated);
    assert_eq!(stored.notes, [second.clone(), note.clone()]);

    office.update(contact.id, named("Ann Lee")).await.unwrap();
    let stored = office.stored(contact.id);
    office.assert_recorded(EventName::ContactUpdated, &stored);
    let shown = &office.view(&stored)["data"]["notes"];
    let expected = json!([
        {"id": second.id, "contact": contact.id, "created": at(60), "user": null, "note": "Again"},
        {"id": note.id, "contact": contact.id, "created": at(60), "user": 1, "note": "Called.\nTwice."},
    ]);
    assert_eq!(*shown, expected);

    office.delete_note(contact.id, note.id).await.unwrap();
    assert_eq!(office.store.events.len(), 0);
    assert_eq!(office.stored(contact.id).notes, [second]);
}

#[tokio::test]
async fn a_note_has_a_text_and_an_author_among_the_staff() {
    let (mut office, contact) = Office::with_contact(named("Ann")).await;
    assert_eq!(
        faults(office.add_note(contact.id, " \n", Some(2)).await),
        ["note", "user"]
    );
    let missing = ContactId::new(404);
    assert_eq!(faults(office.add_note(missing, "", None).await), ["note"]);
    let outcome = office.add_note(missing, "x", None).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(id)) if id == missing));
    office.assert_untouched(&contact);
}

#[tokio::test]
async fn notes_are_bounded_in_length_and_number() {
    let (mut office, contact) = Office::with_contact(named("Ann")).await;
    assert_eq!(
        faults(office.add_note(contact.id, &"ä".repeat(20_001), None).await),
        ["note"]
    );
    office.add_note(contact.id, &"ä".repeat(20_000), None).await.unwrap();
    for _ in 1..1000 {
        office.add_note(contact.id, "x", None).await.unwrap();
    }
    assert_eq!(faults(office.add_note(contact.id, "x", None).await), ["note"]);
    let newest = office.stored(contact.id).notes[0].id;
    office.delete_note(contact.id, newest).await.unwrap();
    office.add_note(contact.id, "y", None).await.unwrap();

    office.update(contact.id, named("Ann Lee")).await.unwrap();
    let event = office.store.events.pop().unwrap().1;
    let event: serde_json::Value = serde_json::from_str(&event.data).unwrap();
    let notes = event["data"]["notes"].as_array().unwrap();
    assert_eq!((notes.len(), &notes[0]["note"]), (50, &json!("y")));
}

#[tokio::test]
async fn a_note_is_deleted_where_it_is() {
    let (mut office, ann) = Office::with_contact(named("Ann")).await;
    let bob = office.create(named("Bob")).await.unwrap();
    let note = office.add_note(ann.id, "x", None).await.unwrap().id;
    let outcome = office.delete_note(bob.id, note).await;
    assert!(matches!(outcome, Err(ContactError::NoteNotFound(id)) if id == note));
    let missing = ContactNoteId::new(404);
    let outcome = office.delete_note(ann.id, missing).await;
    assert!(matches!(outcome, Err(ContactError::NoteNotFound(id)) if id == missing));
    let outcome = office.delete_note(ContactId::new(404), note).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(_))));
    office.change_business();
    let outcome = office.delete_note(ann.id, note).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(_))));
}

#[tokio::test]
async fn a_list_is_asked_of_the_store_as_it_was_asked_for() {
    let caller = acme_caller();
    let (ann, nobody, page) = (ContactId::new(501), ContactId::new(404), PageRequest::first());
    let mut store = MockContactStore::new();
    store
        .expect_contact_notes()
        .with(eq(caller.business_id()), eq(ann), eq(page.clone()))
        .return_once(|_, _, _| {
            Ok(Some(Page {
                items: Vec::new(),
                next: None,
                total: Some(0),
            }))
        });
    store
        .expect_contact_notes()
        .with(eq(caller.business_id()), eq(nobody), eq(page.clone()))
        .return_once(|_, _, _| Ok(None));
    assert_eq!(
        list_notes(&mut store, &caller, ann, &page).await.unwrap().total,
        Some(0)
    );
    let outcome = list_notes(&mut store, &caller, nobody, &page).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(id)) if id == nobody));
}
