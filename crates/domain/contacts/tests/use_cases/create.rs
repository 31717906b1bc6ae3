//! `POST /2.0/contacts`

use forecourt_contacts::{
    Address, AddressPatch, ContactDraft, ContactError, ContactFields, ContactType, DocumentReference, License,
    LicensePatch, Marketing, Nominal, NominalPatch, validate_new_contact,
};
use forecourt_kernel::{Country, EventName, SiteId, StaffId, ValidationErrors};
use forecourt_reference::TagChoice;
use serde_json::{Value, json};

use crate::support::{Office, acme, asking, at, faults, login, named, phone};

pub(crate) fn tag(name: &str, checked: bool) -> TagChoice {
    TagChoice {
        name: name.into(),
        checked,
    }
}

pub(crate) fn reference(value: &Value) -> DocumentReference {
    DocumentReference::new(value.as_object().cloned().unwrap()).unwrap()
}

/// Fields of which each says something.
pub(crate) fn everything() -> ContactFields {
    ContactFields {
        site: Some(SiteId::new(2)),
        email: Some(Some("Ann@Example.com".parse().unwrap())),
        types: Some(vec![ContactType::Supplier, ContactType::Trade]),
        name: Some("Ann Lee".into()),
        company: Some("Lee & Sons Ltd".into()),
        vat: Some("GB 123 4567 89".into()),
        address: Some(Some(AddressPatch {
            line1: Some("Flat 1".into()),
            line2: Some("2 High Street".into()),
            line3: Some("Headingley".into()),
            city: Some("Leeds".into()),
            state: Some("West Yorkshire".into()),
            country: Some(Some(Country::GB)),
            zip: Some("LS1 4AB".into()),
        })),
        telephone: Some(Some(phone("01632 960123"))),
        mobile: Some(Some(phone("07700 900123"))),
        dob: Some("1980-02-29".parse().ok()),
        license: Some(Some(LicensePatch {
            number: Some("LEE99802299AN9AB".into()),
            code: Some("x7 8y".into()),
            checked: Some("2026-02-28".parse().ok()),
            checked_by: Some(Some(StaffId::new(1))),
        })),
        ni: Some("QQ 12 34 56 C".into()),
        marketing: Some(Marketing::Yes),
        nominal: Some(Some(NominalPatch {
            invoice: Some("4000".into()),
            purchase: Some("5000".into()),
        })),
        tags: Some(vec![tag("Bad", true)]),
        documents: Some(vec![reference(&json!({"id": 9, "name": "Passport"}))]),
        login: Some(true),
    }
}

#[tokio::test]
async fn of_what_is_not_said_the_defaults_are_taken() {
    let mut office = Office::open();
    let contact = office.create(named("Ann Lee")).await.unwrap();
    let expected = ContactDraft {
        site: SiteId::new(0),
        email: String::new(),
        types: vec![ContactType::Customer],
        name: "Ann Lee".into(),
        company: String::new(),
        vat: String::new(),
        address: Address::default(),
        telephone: String::new(),
        mobile: String::new(),
        dob: None,
        license: License::default(),
        ni: String::new(),
        marketing: Marketing::No,
        nominal: Nominal::default(),
        tags: vec![tag("Good", true)],
        documents: Vec::new(),
        login: false,
    };
    assert_eq!(contact.content, expected);
    assert_eq!((contact.created, contact.updated), (at(0), at(0)));
    office.assert_told(EventName::ContactCreated, &contact);
}

#[tokio::test]
async fn what_is_said_is_taken() {
    let mut office = Office::open();
    let contact = office.create(everything()).await.unwrap();
    let expected = json!({
        "id": 501, "site": 2, "email": "Ann@Example.com",
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
    office.assert_told(EventName::ContactCreated, &contact);
    assert!(office.store.passwords.is_empty(), "a login starts without a password");
}

#[tokio::test]
async fn sets_have_each_member_once() {
    let mut office = Office::open();
    let fields = ContactFields {
        types: Some(vec![ContactType::Trade, ContactType::Other, ContactType::Trade]),
        tags: Some(vec![tag("Bad", true), tag("Good", true), tag("Bad", false)]),
        ..named("Ann")
    };
    let content = office.create(fields).await.unwrap().content;
    assert_eq!(content.types, [ContactType::Trade, ContactType::Other]);
    assert_eq!(content.tags, [tag("Bad", false), tag("Good", true)]);

    let nothing = ContactFields {
        types: Some(Vec::new()),
        tags: Some(Vec::new()),
        ..named("Ann")
    };
    let content = office.create(nothing).await.unwrap().content;
    assert_eq!(content.types, [ContactType::Customer]);
    assert_eq!(content.tags, [], "an empty set goes before the defaults");
}

#[tokio::test]
async fn creating_never_de_duplicates() {
    let mut office = Office::open();
    let twins = ContactFields {
        login: Some(false),
        ..everything()
    };
    office.create(twins.clone()).await.unwrap();
    office.create(twins).await.unwrap();
    assert_eq!(office.store.contacts.len(), 2);
}

#[tokio::test]
async fn every_fault_is_told_and_nothing_is_stored() {
    let mut office = Office::open();
    let all = ContactFields {
        site: Some(SiteId::new(3)),
        email: None,
        name: Some(" \n".into()),
        dob: Some("2026-03-02".parse().ok()),
        license: Some(Some(LicensePatch {
            checked_by: Some(Some(StaffId::new(2))),
            ..LicensePatch::default()
        })),
        tags: Some(vec![tag("Good", true), tag("Hot", true), tag("Gone", true)]),
        ..everything()
    };
    let expected = ["login", "site", "name", "dob", "license.checked_by", "tag", "tag"];
    assert_eq!(faults(office.create(all).await), expected);
    assert_eq!(faults(office.create(ContactFields::default()).await), ["name"]);
    assert!(office.store.contacts.is_empty() && office.store.events.is_empty());
}

#[tokio::test]
async fn born_today_is_not_in_the_future() {
    let mut office = Office::open();
    let today = asking(|ask| {
        ask.name = Some("Ann".into());
        ask.dob = Some("2026-03-01".parse().ok());
    });
    office.create(today).await.unwrap();
}

#[test]
fn what_was_found_wrong_is_not_validated_again() {
    let mut found = ValidationErrors::new();
    found.add("name", "must be text");
    found.add("email", "must be an email address");
    let fields = ContactFields {
        login: Some(true),
        site: Some(SiteId::new(3)),
        ..ContactFields::default()
    };
    let verdict = validate_new_contact(&fields, &acme(), at(0), found);
    let fields: Vec<_> = verdict.as_slice().iter().map(|error| &*error.field).collect();
    assert_eq!(fields, ["name", "email", "site"]);
}

#[tokio::test]
async fn an_email_is_a_login_once() {
    let mut office = Office::open();
    office.create(login("Ann", "ann@example.com")).await.unwrap();
    let twin = office.create(login("Bob", "ANN@example.com")).await;
    assert!(matches!(twin, Err(ContactError::EmailDuplicate)), "{twin:?}");
    let without_login = ContactFields {
        login: None,
        ..login("Bob", "ann@example.com")
    };
    office.create(without_login).await.unwrap();
    office.change_business();
    office.create(login("Ann", "ann@example.com")).await.unwrap();
}
