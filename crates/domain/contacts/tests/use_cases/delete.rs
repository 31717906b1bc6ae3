//! `DELETE /2.0/contacts/{id}`

use forecourt_contacts::ContactError;
use forecourt_kernel::{ContactId, EventName, NewEvent};

use crate::{
    create::everything,
    support::{Office, at},
};

#[tokio::test]
async fn a_deletion_erases_and_reports_the_id_and_nothing_else() {
    let (mut office, contact) = Office::with_contact(everything()).await;
    office.set_clock(60);
    office.delete(contact.id).await.unwrap();
    assert_eq!(office.store.contacts.all().count(), 0);
    let event = NewEvent {
        name: EventName::ContactDeleted,
        record: contact.id.get(),
        data: format!(r#"{{"id":{}}}"#, contact.id),
        at: at(60),
    };
    assert_eq!(office.store.events, [(office.caller.business_id(), event)]);
    assert!(
        matches!(office.delete(contact.id).await, Err(ContactError::NotFound(_))),
        "it is gone"
    );
}

#[tokio::test]
async fn a_missing_or_foreign_contact_is_not_found() {
    let (mut office, contact) = Office::with_contact(everything()).await;
    assert!(matches!(
        office.delete(ContactId::new(404)).await,
        Err(ContactError::NotFound(_))
    ));
    let ours = office.caller.clone();
    office.change_business();
    assert!(matches!(
        office.delete(contact.id).await,
        Err(ContactError::NotFound(_))
    ));
    office.caller = ours;
    office.assert_untouched(&contact);
}
