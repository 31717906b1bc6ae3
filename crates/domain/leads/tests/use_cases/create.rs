//! `POST /2.0/leads`

use forecourt_kernel::{EventName, Field, Mail};
use forecourt_leads::{LeadChanges, LeadData, LeadDraft};
use forecourt_reference::{Catalogue, TagChoice};
use serde_json::{Value, json};

use crate::support::{ANN, Fixture, GOLF, SOMEBODY_ELSES, SOMEBODY_ELSES_CAR, at, changes, faults};

fn tag(name: &str, checked: bool) -> TagChoice {
    TagChoice {
        name: name.into(),
        checked,
    }
}

/// A body that fills every field.
fn everything() -> LeadChanges {
    changes(json!({
        "site": 2,
        "channel": "whatsapp",
        "channel_id": "thread-9",
        "name": "Ann Lee",
        "email": "ann@example.com",
        "phone": "01632 960123",
        "mobile": "07700 900123",
        "contact": ANN.get(),
        "type": ["test_drive", "finance"],
        "data": {"subject": "Golf", "message": "Is it there?", "none": null},
        "status": 2,
        "tag": [{"name": "Cold", "checked": false}],
    }))
}

#[tokio::test]
async fn of_what_is_not_said_the_defaults_are_taken() {
    let mut fixture = Fixture::open();
    let lead = fixture.create(LeadChanges::default()).await.unwrap();
    // `tests/view.rs` shows the values of a blank lead.
    let expected = LeadDraft {
        tags: vec![tag("Hot", true)],
        ..LeadDraft::blank(&Catalogue::default())
    };
    assert_eq!(lead.content, expected);
    assert_eq!((lead.reference, lead.created, lead.updated), (1, at(0), at(0)));
    fixture.assert_recorded(EventName::LeadCreated, &lead);
}

#[tokio::test]
async fn what_is_said_is_taken() {
    let mut fixture = Fixture::open();
    let lead = fixture.create(everything()).await.unwrap();
    let expected = json!({
        "id": 1, "site": 2, "channel": "whatsapp", "reference": 1, "name": "Ann Lee", "email": "ann@example.com",
        "phone": "+441632960123", "mobile": "+447700900123", "contact": 31, "type": ["test_drive", "finance"],
        "status": {"id": 2, "name": "read"}, "rating": null, "summary": null,
        "created": at(0).epoch_seconds(), "updated": at(0).epoch_seconds(), "version": 1,
        "session": "", "avatar": "", "assign": [],
        "tag": [{"name": "Cold", "checked": false, "colour": "#33d", "type": ""}], "stat": true, "reopen": null, "vehicles": [],
        "data": {"subject": "Golf", "message": "Is it there?", "channel_id": "thread-9", "vehicle": null, "junk": null}, "ai": null,
    });
    assert_eq!(fixture.view(&lead), expected);
    fixture.assert_recorded(EventName::LeadCreated, &lead);
}

#[tokio::test]
async fn an_empty_set_of_tags_goes_before_the_defaults() {
    let mut fixture = Fixture::open();
    let command = changes(json!({"tag": []}));
    assert_eq!(fixture.create(command).await.unwrap().content.tags, []);
}

#[tokio::test]
async fn the_channels_reference_goes_before_its_twin_in_the_detail() {
    for (beside, expected) in [
        (json!({}), json!({"channel_id": "in data"})),
        (json!({"channel_id": "beside"}), json!({"channel_id": "beside"})),
        (json!({"channel_id": null}), json!({})),
    ] {
        let mut fixture = Fixture::open();
        let command = LeadChanges {
            channel_id: changes(beside).channel_id,
            ..changes(json!({"data": {"channel_id": "in data"}}))
        };
        let lead = fixture.create(command).await.unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(lead.content.data.as_str()).unwrap(),
            expected
        );
    }
}

#[tokio::test]
async fn every_fault_is_reported_and_nothing_is_stored() {
    let mut fixture = Fixture::open();
    let theirs = json!({"vehicle": SOMEBODY_ELSES_CAR.get()});
    assert_eq!(faults(fixture.create(changes(theirs)).await), ["vehicle"]);
    let their_tag = json!({"vehicle_tag": "6FQH7"});
    assert_eq!(faults(fixture.create(changes(their_tag)).await), ["vehicle_tag"]);

    let too_large = "x".repeat(LeadData::MAX_BYTES);
    let all = changes(json!({
        "contact": SOMEBODY_ELSES.get(),
        "data": {"message": too_large},
        "vehicle": SOMEBODY_ELSES_CAR.get(),
    }));
    assert_eq!(faults(fixture.create(all).await), ["vehicle", "contact", "data"]);
    assert!(
        fixture.store.leads.all().count() == 0 && fixture.store.events.is_empty() && fixture.store.mails.is_empty()
    );
    assert_eq!(fixture.store.leads.associations().len(), 0);
}

#[tokio::test]
async fn a_vehicle_is_associated_by_its_id_or_its_tag() {
    for choice in [json!({"vehicle": GOLF.get()}), json!({"vehicle_tag": "KQVRK"})] {
        let mut fixture = Fixture::open();
        let LeadChanges {
            vehicle, vehicle_tag, ..
        } = changes(choice);
        let command = LeadChanges {
            vehicle,
            vehicle_tag,
            ..everything()
        };
        let lead = fixture.create(command).await.unwrap();
        assert!(fixture.store.leads.associations().eq([(lead.id, GOLF)]));
        fixture.assert_recorded(EventName::LeadCreated, &lead);
        let (_, mail, _) = &fixture.store.mails[0];
        let named = "\nAbout: Test drive, Finance\nVehicle: Volkswagen Golf 1.5 TSI Match, AB12 CDE\nCame in by: ";
        assert!(mail.text.contains(named), "{}", mail.text);
    }
}

#[tokio::test]
async fn the_business_is_notified_by_mail_unless_asked_not_to() {
    for (notify, mails) in [(Field::Absent, 1), (Field::Value(true), 1), (Field::Value(false), 0)] {
        let mut fixture = Fixture::open();
        let said = format!("{notify:?}");
        let command = LeadChanges { notify, ..everything() };
        fixture.create(command).await.unwrap();
        assert_eq!(fixture.store.mails.len(), mails, "{said}");
    }
}

#[tokio::test]
async fn a_business_without_an_address_is_not_notified() {
    let mut fixture = Fixture::open();
    std::sync::Arc::make_mut(&mut fixture.caller.business).email.clear();
    let lead = fixture.create(everything()).await.unwrap();
    assert_eq!(fixture.store.mails, []);
    fixture.assert_recorded(EventName::LeadCreated, &lead);
}

#[tokio::test]
async fn the_mail_names_sender_and_question() {
    let mut fixture = Fixture::open();
    let lead = fixture.create(everything()).await.unwrap();
    let expected = Mail {
        lead: Some(lead.id),
        to: "office@acme.example".into(),
        subject: "New lead from Ann Lee".into(),
        text: "Acme Cars has a new lead, number 1.\n\n\
               From: Ann Lee\nEmail: ann@example.com\nPhone: +441632960123\nMobile: +447700900123\n\
               About: Test drive, Finance\nCame in by: WhatsApp\nSubject: Golf\nMessage: Is it there?\n"
            .into(),
        ..Mail::default()
    };
    assert_eq!(fixture.store.mails, [(fixture.caller.business_id(), expected, at(0))]);
}

#[tokio::test]
async fn a_mail_about_a_lead_that_says_nothing_is_short() {
    let mut fixture = Fixture::open();
    let command = changes(json!({"data": {"subject": 7, "message": ["not", "text"]}}));
    fixture.create(command).await.unwrap();
    let (_, mail, _) = &fixture.store.mails[0];
    assert_eq!(mail.subject, "New lead from somebody who gave no name");
    assert_eq!(
        mail.text,
        "Acme Cars has a new lead, number 1.\n\n\
         From: somebody who gave no name\nAbout: General enquiry\nCame in by: API\n"
    );
}
