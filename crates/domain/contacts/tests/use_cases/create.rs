//! `POST /2.0/contacts`

use forecourt_accounts::Rules;
use forecourt_contacts::{
    ContactChanges, ContactDraft, ContactError, ContactType, DocumentReference, validate_new_contact,
};
use forecourt_kernel::{EventName, Field};
use forecourt_reference::{Catalogue, TagChoice};
use serde_json::{Value, json};

use crate::support::{Office, acme, at, changes, faults, login, named};

pub(crate) fn tag(name: &str, checked: bool) -> TagChoice {
    TagChoice {
        name: name.into(),
        checked,
    }
}

pub(crate) fn reference(value: &Value) -> DocumentReference {
    DocumentReference::new(value.as_object().cloned().unwrap()).unwrap()
}

/// A contact with a value in every field.
pub(crate) fn everything() -> ContactChanges {
    changes(json!({
        "site": 2,
        "email": "Ann@Example.com",
        "type": ["Supplier", "Trade"],
        "name": "Ann Lee",
        "company": "Lee & Sons Ltd",
        "vat": "GB 123 4567 89",
        "address": {"line1": "Flat 1", "line2": "2 High Street", "line3": "Headingley", "city": "Leeds",
                    "state": "West Yorkshire", "country": "GB", "zip": "LS1 4AB"},
        "telephone": "01632 960123",
        "mobile": {"country": "GB", "number": "07700 900123"},
        "dob": "1980-02-29",
        "license": {"number": "LEE99802299AN9AB", "code": "x7 8y", "checked": "2026-02-28", "checked_by": 1},
        "ni": "QQ 12 34 56 C",
        "marketing": "Yes",
        "nominal": {"invoice": "4000", "purchase": "5000"},
        "tag": ["Bad"],
        "document": [{"id": 9, "name": "Passport"}],
        "login": true,
    }))
}

#[tokio::test]
async fn of_what_is_not_said_the_defaults_are_taken() {
    let mut office = Office::open();
    let contact = office.create(named("Ann Lee")).await.unwrap();
    // `tests/view.rs` shows the values of a blank contact.
    let expected = ContactDraft {
        name: "Ann Lee".into(),
        tags: vec![tag("Good", true)],
        ..ContactDraft::blank(&Catalogue::default())
    };
    assert_eq!(contact.content, expected);
    assert_eq!((contact.created, contact.updated), (at(0), at(0)));
    office.assert_recorded(EventName::ContactCreated, &contact);
}

#[tokio::test]
async fn what_is_said_is_taken() {
    let mut office = Office::open();
    let contact = office.create(everything()).await.unwrap();
    let expected = json!({
        "id": 1, "site": 2, "email": "Ann@Example.com",
        "created": at(0).epoch_seconds(), "updated": at(0).epoch_seconds(), "version": 1,
        "data": {
            "type": ["Supplier", "Trade"], "name": "Ann Lee", "company": "Lee & Sons Ltd", "vat": "GB 123 4567 89",
            "address": {"line1": "Flat 1", "line2": "2 High Street", "line3": "Headingley", "city": "Leeds",
                        "state": "West Yorkshire", "country": "GB", "zip": "LS1 4AB"},
            "telephone": "+441632960123", "mobile": "+447700900123", "dob": "1980-02-29",
            "license": {"number": "LEE99802299AN9AB", "code": "x7 8y", "checked": "2026-02-28", "checked_by": 1},
            "ni": "QQ 12 34 56 C", "marketing": "Yes", "notes": [], "accounting": {},
            "nominal": {"invoice": "4000", "purchase": "5000"},
            "tag": [{"name": "Bad", "checked": true, "colour": "#d33", "type": ""}],
            "document": [{"id": 9, "name": "Passport"}], "login": true,
        },
    });
    assert_eq!(office.view(&contact), expected);
    office.assert_recorded(EventName::ContactCreated, &contact);
    assert!(
        office.store.contacts.passwords() == 0,
        "a login starts without a password"
    );
}

#[tokio::test]
async fn sets_have_each_member_once() {
    let mut office = Office::open();
    let sets = changes(json!({
        "name": "Ann",
        "type": "Trade, Other,Trade",
        "tag": ["Bad", {"name": "Good", "checked": null}, {"name": "Bad", "checked": false}],
    }));
    let content = office.create(sets).await.unwrap().content;
    assert_eq!(content.types, [ContactType::Trade, ContactType::Other]);
    assert_eq!(content.tags, [tag("Bad", false), tag("Good", true)]);

    let nothing = changes(json!({"name": "Ann", "type": [], "tag": []}));
    let content = office.create(nothing).await.unwrap().content;
    assert_eq!(content.types, [ContactType::Customer]);
    assert_eq!(content.tags, [], "an empty set goes before the defaults");
}

#[tokio::test]
async fn creating_never_de_duplicates() {
    let mut office = Office::open();
    let twins = ContactChanges {
        login: false.into(),
        ..everything()
    };
    office.create(twins.clone()).await.unwrap();
    office.create(twins).await.unwrap();
    assert_eq!(office.store.contacts.all().count(), 2);
}

#[tokio::test]
async fn every_fault_is_reported_and_nothing_is_stored() {
    let mut office = Office::open();
    let all = changes(json!({
        "site": 3,
        "name": " \n",
        "dob": "2026-03-02",
        "license": {"checked_by": 2},
        "tag": ["Good", "Hot", "Gone"],
        "login": true,
    }));
    let expected = ["login", "site", "name", "dob", "license.checked_by", "tag.1", "tag.2"];
    assert_eq!(faults(office.create(all).await), expected);
    assert_eq!(faults(office.create(ContactChanges::default()).await), ["name"]);
    assert!(office.store.contacts.all().count() == 0 && office.store.events.is_empty());
}

#[tokio::test]
async fn born_today_is_not_in_the_future() {
    let mut office = Office::open();
    let today = changes(json!({"name": "Ann", "dob": "2026-03-01"}));
    office.create(today).await.unwrap();
}

#[test]
fn what_was_found_wrong_is_not_validated_again() {
    let wrong = changes(json!({
        "name": 5,
        "email": "ann",
        "login": true,
        "site": 3,
        "license": {"checked": "never", "checked_by": 2},
    }));
    let business = acme();
    let rules = Rules {
        business: &business,
        now: at(0),
    };
    let faults = validate_new_contact(&wrong, &rules);
    let fields: Vec<_> = faults.as_slice().iter().map(|error| &*error.field).collect();
    assert_eq!(
        fields,
        ["email", "name", "license.checked", "site", "license.checked_by"]
    );
}

#[tokio::test]
async fn an_email_is_a_login_once() {
    let mut office = Office::open();
    office.create(login("Ann", "ann@example.com")).await.unwrap();
    let twin = office.create(login("Bob", "ANN@example.com")).await;
    assert!(matches!(twin, Err(ContactError::EmailDuplicate)), "{twin:?}");
    let without_login = ContactChanges {
        login: Field::Absent,
        ..login("Bob", "ann@example.com")
    };
    office.create(without_login).await.unwrap();
    office.change_business();
    office.create(login("Ann", "ann@example.com")).await.unwrap();
}
