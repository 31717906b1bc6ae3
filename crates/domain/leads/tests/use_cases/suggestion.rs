//! The suggested contact of a lead.

use forecourt_kernel::{ContactId, Field};
use forecourt_leads::{ContactSuggestion, LeadChanges, SuggestedBy, testing::KnownContact};
use serde_json::{Value, json};

use crate::support::{ANN, BOB, Fixture, a_contact, changes, object};

fn from_ann() -> LeadChanges {
    changes(json!({"email": "Ann@Example.com", "mobile": "+447700900123"}))
}

fn know(fixture: &mut Fixture, id: ContactId, email: &str, numbers: [&str; 2]) {
    let contact = KnownContact {
        id,
        email: email.into(),
        numbers: numbers.map(str::to_owned),
    };
    fixture.store.leads.know_contact(fixture.caller.business_id(), contact);
}

/// A fixture with the contacts ANN and BOB.
fn fixture() -> Fixture {
    let mut fixture = Fixture::open();
    know(&mut fixture, ANN, "ann@example.com", ["", "+447700900123"]);
    know(&mut fixture, BOB, "bob@example.com", ["+441632960123", ""]);
    fixture
}

async fn shown(fixture: &mut Fixture, fields: LeadChanges) -> Value {
    let lead = fixture.create(fields).await.unwrap();
    fixture.view(&lead)["data"]["contact_suggestion"].take()
}

#[tokio::test]
async fn the_only_match_is_suggested_and_what_it_matches_by() {
    let mut fixture = fixture();
    let ann = |by: &str| json!({"contact": 31, "by": by});
    assert_eq!(shown(&mut fixture, from_ann()).await, ann("email"));
    for (fields, by) in [
        (
            LeadChanges {
                email: Field::Absent,
                ..from_ann()
            },
            "mobile",
        ),
        (changes(json!({"phone": "+447700900123"})), "phone"),
    ] {
        assert_eq!(shown(&mut fixture, fields).await, ann(by));
    }
    let of_both = LeadChanges {
        phone: changes(json!({"phone": "+441632960123"})).phone,
        ..from_ann()
    };
    assert_eq!(shown(&mut fixture, of_both).await, Value::Null);
    let linked = LeadChanges {
        contact: BOB.get().into(),
        ..from_ann()
    };
    assert_eq!(shown(&mut fixture, linked).await, Value::Null);
    assert_eq!(shown(&mut fixture, LeadChanges::default()).await, Value::Null);
    fixture.change_business();
    assert_eq!(shown(&mut fixture, from_ann()).await, Value::Null);
}

#[tokio::test]
async fn it_follows_the_fields_that_it_was_found_by() {
    let mut fixture = fixture();
    let lead = fixture.create(from_ann()).await.unwrap();
    let id = lead.id;
    let ann = Some(ContactSuggestion {
        contact: ANN,
        by: SuggestedBy::Email,
    });
    assert_eq!(lead.content.suggestion, ann);
    // No contact is searched for if the sender's values do not change.
    fixture
        .store
        .leads
        .know_contact(fixture.caller.business_id(), a_contact(ANN));
    know(&mut fixture, BOB, "ann@example.com", ["+441632960123", "+447700900123"]);
    let renamed = changes(json!({"name": "Ann"}));
    assert_eq!(fixture.update(id, renamed).await.unwrap().content.suggestion, ann);
    let moved = changes(json!({"email": null}));
    let bob = Some(ContactSuggestion {
        contact: BOB,
        by: SuggestedBy::Mobile,
    });
    assert_eq!(fixture.update(id, moved).await.unwrap().content.suggestion, bob);
    let linked = changes(json!({"contact": ANN.get()}));
    assert_eq!(fixture.update(id, linked).await.unwrap().content.suggestion, None);
    let unlinked = changes(json!({"contact": null}));
    assert_eq!(fixture.update(id, unlinked).await.unwrap().content.suggestion, bob);
}

#[tokio::test]
async fn a_caller_cannot_write_it() {
    let mut fixture = fixture();
    let written = json!({"contact_suggestion": {"contact": 32, "by": "email"}, "message": "Hi"});
    let fields = LeadChanges {
        data: object(written).into(),
        ..from_ann()
    };
    let lead = fixture.create(fields).await.unwrap();
    let data = fixture.view(&lead)["data"].clone();
    assert_eq!(
        data,
        json!({"message": "Hi", "vehicle": null, "junk": null, "contact_suggestion": {"contact": 31, "by": "email"}})
    );
    assert_eq!(lead.content.data.as_str(), r#"{"message":"Hi"}"#);
    // Nor does writing back the data that was read.
    let back = changes(json!({"data": data}));
    fixture.forget_outcomes();
    assert_eq!(fixture.update(lead.id, back).await.unwrap(), lead);
    fixture.assert_untouched(&lead);
}
