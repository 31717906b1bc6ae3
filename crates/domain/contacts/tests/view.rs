//! The representation of a contact for integrators: names, order and spelling are a promise (contract, "Contact").

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use forecourt_contacts::{
    Address, Contact, ContactDraft, ContactNote, ContactType, ContactView, DocumentReference, License, Marketing,
    Nominal, project,
};
use forecourt_kernel::{ContactId, ContactNoteId, Country, Scope, ScopeSet, SiteId, StaffId, Timestamp, Version, View};
use forecourt_reference::{Catalogue, Tag, TagChoice, TagResource};
use insta::assert_snapshot;
use serde_json::json;

/// A contact about whom nothing but the name is known.
fn bare() -> Contact {
    Contact {
        id: ContactId::new(501),
        created: Timestamp::from_epoch_seconds(1_767_225_600),
        updated: Timestamp::from_epoch_seconds(1_767_225_600),
        version: Version::FIRST,
        notes: Vec::new(),
        content: ContactDraft {
            name: "Ann".into(),
            ..ContactDraft::blank(&Catalogue::default())
        },
    }
}

/// A contact about whom everything is known.
fn ann() -> Contact {
    let tag = |name: &str, checked| TagChoice {
        name: name.into(),
        checked,
    };
    let passport = json!({"id": 9, "name": "Passport"}).as_object().cloned().unwrap();
    Contact {
        updated: Timestamp::from_epoch_seconds(1_767_312_000),
        notes: vec![ContactNote {
            id: ContactNoteId::new(12),
            contact: ContactId::new(501),
            created: Timestamp::from_epoch_seconds(1_767_225_660),
            user: Some(StaffId::new(3)),
            note: "Called.\nGrüße".into(),
        }],
        content: ContactDraft {
            site: SiteId::new(2),
            email: "ann@example.com".into(),
            types: vec![ContactType::Customer, ContactType::Supplier],
            name: "Ann Lee".into(),
            company: "Lee & Sons".into(),
            vat: "GB123456789".into(),
            address: Address {
                line1: "2 High Street".into(),
                line2: "Headingley".into(),
                line3: "North".into(),
                city: "Leeds".into(),
                state: "West Yorkshire".into(),
                country: Some(Country::GB),
                zip: "LS1 4AB".into(),
            },
            telephone: "+441632960123".into(),
            mobile: "+447700900123".into(),
            dob: "1980-02-29".parse().ok(),
            license: License {
                number: "LEE99802299AN9AB".into(),
                code: "x7 8y".into(),
                checked: "2026-01-01".parse().ok(),
                checked_by: Some(StaffId::new(3)),
            },
            ni: "QQ123456C".into(),
            marketing: Marketing::Yes,
            nominal: Nominal {
                invoice: "4000".into(),
                purchase: "5000".into(),
            },
            tags: vec![tag("Good", true), tag("Forgotten", false)],
            documents: vec![DocumentReference::new(passport).unwrap()],
            login: true,
        },
        ..bare()
    }
}

fn shown(contact: &Contact, view: View) -> String {
    let good = Tag {
        resource: TagResource::Contact,
        name: "Good".into(),
        colour: "#3a3".into(),
        kind: "mood".into(),
        defaulted: false,
    };
    let catalogue = Catalogue {
        tags: vec![good],
        ..Catalogue::default()
    };
    serde_json::to_string_pretty(&ContactView::new(contact, view, &catalogue, ScopeSet::all())).unwrap()
}

#[test]
fn the_full_view_of_a_contact_of_whom_everything_is_known() {
    assert_snapshot!(shown(&ann(), View::Full), @r##"
    {
      "id": 501,
      "site": 2,
      "email": "ann@example.com",
      "created": 1767225600,
      "updated": 1767312000,
      "version": 1,
      "data": {
        "type": [
          "Customer",
          "Supplier"
        ],
        "name": "Ann Lee",
        "company": "Lee & Sons",
        "vat": "GB123456789",
        "address": {
          "line1": "2 High Street",
          "line2": "Headingley",
          "line3": "North",
          "city": "Leeds",
          "state": "West Yorkshire",
          "country": "GB",
          "zip": "LS1 4AB"
        },
        "telephone": "+441632960123",
        "mobile": "+447700900123",
        "dob": "1980-02-29",
        "license": {
          "number": "LEE99802299AN9AB",
          "code": "x7 8y",
          "checked": "2026-01-01",
          "checked_by": 3
        },
        "ni": "QQ123456C",
        "marketing": "Yes",
        "notes": [
          {
            "id": 12,
            "contact": 501,
            "created": 1767225660,
            "user": 3,
            "note": "Called.\nGrüße"
          }
        ],
        "accounting": {},
        "nominal": {
          "invoice": "4000",
          "purchase": "5000"
        },
        "tag": [
          {
            "name": "Good",
            "checked": true,
            "colour": "#3a3",
            "type": "mood"
          },
          {
            "name": "Forgotten",
            "checked": false,
            "colour": "",
            "type": ""
          }
        ],
        "document": [
          {
            "id": 9,
            "name": "Passport"
          }
        ],
        "login": true
      }
    }
    "##);
}

#[test]
fn the_full_view_of_a_contact_of_whom_nothing_is_known() {
    assert_snapshot!(shown(&bare(), View::Full), @r#"
    {
      "id": 501,
      "site": 0,
      "email": "",
      "created": 1767225600,
      "updated": 1767225600,
      "version": 1,
      "data": {
        "type": [
          "Customer"
        ],
        "name": "Ann",
        "company": "",
        "vat": "",
        "address": {
          "line1": "",
          "line2": "",
          "line3": "",
          "city": "",
          "state": "",
          "country": "",
          "zip": ""
        },
        "telephone": "",
        "mobile": "",
        "dob": null,
        "license": {
          "number": "",
          "code": "",
          "checked": null,
          "checked_by": null
        },
        "ni": "",
        "marketing": "No",
        "notes": [],
        "accounting": {},
        "nominal": {
          "invoice": "",
          "purchase": ""
        },
        "tag": [],
        "document": [],
        "login": false
      }
    }
    "#);
}

#[test]
fn the_simple_view() {
    assert_snapshot!(shown(&ann(), View::Simple), @r#"
    {
      "id": 501,
      "site": 2,
      "email": "ann@example.com",
      "created": 1767225600,
      "updated": 1767312000,
      "data": {
        "type": [
          "Customer",
          "Supplier"
        ],
        "name": "Ann Lee",
        "company": "Lee & Sons",
        "telephone": "+441632960123",
        "mobile": "+447700900123"
      }
    }
    "#);
}

/// Stored records must stay readable, so no name in here ever changes.
#[test]
fn the_document_that_storage_keeps() {
    let document = serde_json::to_string_pretty(&ann().content).unwrap();
    assert_eq!(serde_json::from_str::<ContactDraft>(&document).unwrap(), ann().content);
    assert_snapshot!(document, @r#"
    {
      "site": 2,
      "email": "ann@example.com",
      "type": [
        "Customer",
        "Supplier"
      ],
      "name": "Ann Lee",
      "company": "Lee & Sons",
      "vat": "GB123456789",
      "address": {
        "line1": "2 High Street",
        "line2": "Headingley",
        "line3": "North",
        "city": "Leeds",
        "state": "West Yorkshire",
        "country": "GB",
        "zip": "LS1 4AB"
      },
      "telephone": "+441632960123",
      "mobile": "+447700900123",
      "dob": "1980-02-29",
      "license": {
        "number": "LEE99802299AN9AB",
        "code": "x7 8y",
        "checked": "2026-01-01",
        "checked_by": 3
      },
      "ni": "QQ123456C",
      "marketing": "Yes",
      "nominal": {
        "invoice": "4000",
        "purchase": "5000"
      },
      "tag": [
        {
          "name": "Good",
          "checked": true
        },
        {
          "name": "Forgotten",
          "checked": false
        }
      ],
      "document": [
        {
          "id": 9,
          "name": "Passport"
        }
      ],
      "login": true
    }
    "#);
}

#[test]
fn notes_are_absent_without_their_scope() {
    let (ann, catalogue) = (ann(), Catalogue::default());
    let seen = |scopes| serde_json::to_value(ContactView::new(&ann, View::Full, &catalogue, scopes)).unwrap();
    let (all, without) = (seen(ScopeSet::all()), seen(Scope::ContactsRead.into()));
    assert_eq!(all["data"]["notes"].as_array().unwrap().len(), 1);
    assert!(without["data"].get("notes").is_none());
    for (scopes, expected) in [(Scope::ContactsRead.into(), &without), (ScopeSet::all(), &all)] {
        let mut event = all.clone();
        project(&mut event, scopes);
        assert_eq!(event, *expected);
    }
    let mut old = json!({"data": {"notes": vec![json!({"id": 1}); 51]}});
    project(&mut old, ScopeSet::all());
    assert_eq!(old["data"]["notes"].as_array().unwrap().len(), 50);
    let mut gone = json!({"id": 501});
    project(&mut gone, ScopeSet::NONE);
    assert_eq!(gone, json!({"id": 501}));
}

#[test]
fn every_type_is_known_by_its_name() {
    for kind in ContactType::ALL {
        assert_eq!(kind.name().parse(), Ok(*kind));
        assert_eq!(json!(kind), json!(kind.name()));
    }
    assert_eq!(ContactType::ALL.len(), 8);
    assert!("customer".parse::<ContactType>().is_err());
    assert_eq!(
        ["Yes", "No", "yes"].map(|text| text.parse::<Marketing>().ok()),
        [Some(Marketing::Yes), Some(Marketing::No), None]
    );
}
