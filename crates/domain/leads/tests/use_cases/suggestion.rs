//! The contact that the sender seems to be.

use forecourt_kernel::ContactId;
use forecourt_leads::{ContactSuggestion, CreateLead, Phone, SuggestedBy, UpdateLead, testing::KnownContact};
use serde_json::{Value, json};

use crate::support::{ANN, BOB, Fixture, a_contact, object};

fn phone(text: &str) -> Option<Option<Phone>> {
    Some(Phone::parse(text, forecourt_kernel::Country::GB).ok())
}

fn from_ann() -> UpdateLead {
    UpdateLead {
        email: Some("Ann@Example.com".parse().ok()),
        mobile: phone("+447700900123"),
        ..UpdateLead::default()
    }
}

fn know(fixture: &mut Fixture, id: ContactId, email: &str, numbers: [&str; 2]) {
    let contact = KnownContact {
        id,
        email: email.into(),
        numbers: numbers.map(str::to_owned),
    };
    fixture.store.leads.know_contact(fixture.caller.business_id(), contact);
}

/// A fixture at which ANN and BOB are known.
fn fixture() -> Fixture {
    let mut fixture = Fixture::open();
    know(&mut fixture, ANN, "ann@example.com", ["", "+447700900123"]);
    know(&mut fixture, BOB, "bob@example.com", ["+441632960123", ""]);
    fixture
}

async fn shown(fixture: &mut Fixture, fields: UpdateLead) -> Value {
    let command = CreateLead {
        fields,
        ..CreateLead::default()
    };
    let lead = fixture.create(command).await.unwrap();
    fixture.view(&lead)["data"]["contact_suggestion"].take()
}

#[tokio::test]
async fn the_only_match_is_suggested_and_what_it_matches_by() {
    let mut fixture = fixture();
    let ann = |by: &str| json!({"contact": 31, "by": by});
    assert_eq!(shown(&mut fixture, from_ann()).await, ann("email"));
    for (fields, by) in [
        (
            UpdateLead {
                email: None,
                ..from_ann()
            },
            "mobile",
        ),
        (
            UpdateLead {
                phone: phone("+447700900123"),
                ..UpdateLead::default()
            },
            "phone",
        ),
    ] {
        assert_eq!(shown(&mut fixture, fields).await, ann(by));
    }
    let of_both = UpdateLead {
        phone: phone("+441632960123"),
        ..from_ann()
    };
    assert_eq!(shown(&mut fixture, of_both).await, Value::Null);
    let linked = UpdateLead {
        contact: Some(Some(BOB)),
        ..from_ann()
    };
    assert_eq!(shown(&mut fixture, linked).await, Value::Null);
    assert_eq!(shown(&mut fixture, UpdateLead::default()).await, Value::Null);
    fixture.change_business();
    assert_eq!(shown(&mut fixture, from_ann()).await, Value::Null);
}

#[tokio::test]
async fn it_follows_the_fields_that_it_was_found_by() {
    let mut fixture = fixture();
    let lead = fixture
        .create(CreateLead {
            fields: from_ann(),
            ..CreateLead::default()
        })
        .await
        .unwrap();
    let id = lead.id;
    let ann = Some(ContactSuggestion {
        contact: ANN,
        by: SuggestedBy::Email,
    });
    assert_eq!(lead.content.suggestion, ann);
    // Nothing is looked for where nothing of it changes.
    fixture
        .store
        .leads
        .know_contact(fixture.caller.business_id(), a_contact(ANN));
    know(&mut fixture, BOB, "ann@example.com", ["+441632960123", "+447700900123"]);
    let renamed = UpdateLead {
        name: Some("Ann".into()),
        ..UpdateLead::default()
    };
    assert_eq!(fixture.update(id, renamed).await.unwrap().content.suggestion, ann);
    let moved = UpdateLead {
        email: Some(None),
        ..UpdateLead::default()
    };
    let bob = Some(ContactSuggestion {
        contact: BOB,
        by: SuggestedBy::Mobile,
    });
    assert_eq!(fixture.update(id, moved).await.unwrap().content.suggestion, bob);
    let linked = UpdateLead {
        contact: Some(Some(ANN)),
        ..UpdateLead::default()
    };
    assert_eq!(fixture.update(id, linked).await.unwrap().content.suggestion, None);
    let unlinked = UpdateLead {
        contact: Some(None),
        ..UpdateLead::default()
    };
    assert_eq!(fixture.update(id, unlinked).await.unwrap().content.suggestion, bob);
}

#[tokio::test]
async fn a_caller_cannot_write_it() {
    let mut fixture = fixture();
    let written = json!({"contact_suggestion": {"contact": 32, "by": "email"}, "message": "Hi"});
    let fields = UpdateLead {
        data: Some(Some(object(written))),
        ..from_ann()
    };
    let command = CreateLead {
        fields,
        ..CreateLead::default()
    };
    let lead = fixture.create(command).await.unwrap();
    let data = fixture.view(&lead)["data"].clone();
    assert_eq!(
        data,
        json!({"message": "Hi", "contact_suggestion": {"contact": 31, "by": "email"}})
    );
    assert_eq!(lead.content.data.as_str(), r#"{"message":"Hi"}"#);
    // Nor by writing back what was read.
    let back = UpdateLead {
        data: Some(Some(object(data))),
        ..UpdateLead::default()
    };
    fixture.forget_outcomes();
    assert_eq!(fixture.update(lead.id, back).await.unwrap(), lead);
    fixture.assert_untouched(&lead);
}
