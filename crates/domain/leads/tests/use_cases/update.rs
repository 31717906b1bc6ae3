//! `PATCH /2.0/leads/{id}`

use forecourt_kernel::{EventName, LeadId, SiteId};
use forecourt_leads::{JunkMark, JunkedBy, LeadChanges, LeadData, LeadDraft, LeadError, LeadStatus, StatusChange};
use forecourt_reference::{LeadChannel, LeadType};
use serde_json::{Value, json};

use crate::support::{ANN, BOB, Fixture, SOMEBODY_ELSES, at, changes, faults, object};

/// The fields of a lead about which everything is known.
fn ann() -> LeadChanges {
    changes(json!({
        "site": 2,
        "channel": "website",
        "channel_id": "t-9",
        "name": "Ann Lee",
        "email": "ann@example.com",
        "phone": "01632 960123",
        "mobile": "07700 900123",
        "contact": ANN.get(),
        "type": ["test_drive"],
        "data": {"message": "Hello", "vehicle": {"make": "VW"}},
        "status": 2,
        "tag": [{"name": "Cold", "checked": false}],
    }))
}

/// The same fields with more data.
fn golf() -> LeadChanges {
    LeadChanges {
        data: object(json!({"message": "Hello", "vehicle": {"make": "VW", "model": "Golf"}})).into(),
        ..ann()
    }
}

fn data(value: Value) -> LeadData {
    LeadData::default().merged(object(value)).unwrap()
}

#[tokio::test]
async fn each_field_that_is_supplied_changes_and_no_other() {
    type Outcome = fn(&mut LeadDraft);
    let table: &[(Value, Outcome)] = &[
        (json!({"site": 0}), |lead| lead.site = SiteId::new(0)),
        (json!({"channel": "sms"}), |lead| lead.channel = LeadChannel::Sms),
        (json!({"name": ""}), |lead| lead.name.clear()),
        (json!({"email": "bob@example.com"}), |lead| {
            lead.email = "bob@example.com".into();
        }),
        (json!({"email": null}), |lead| lead.email.clear()),
        (json!({"phone": "01632 960999"}), |lead| {
            lead.phone = "+441632960999".into();
        }),
        (json!({"phone": null}), |lead| lead.phone.clear()),
        (json!({"mobile": "07700 900999"}), |lead| {
            lead.mobile = "+447700900999".into();
        }),
        (json!({"mobile": null}), |lead| lead.mobile.clear()),
        (json!({"contact": BOB.get()}), |lead| lead.contact = Some(BOB)),
        (json!({"contact": null}), |lead| lead.contact = None),
        (json!({"type": ["parts"]}), |lead| lead.types = vec![LeadType::Parts]),
        // An empty list stands for the default, as null does.
        (json!({"type": []}), |lead| lead.types = vec![LeadType::Email]),
        (json!({"type": null}), |lead| lead.types = vec![LeadType::Email]),
        (json!({"status": 5}), |lead| {
            lead.status = LeadStatus::Junk;
            lead.junk = Some(JunkMark {
                by: JunkedBy::User,
                at: at(60),
                confidence: None,
            });
        }),
        (json!({"tag": []}), |lead| lead.tags.clear()),
        (json!({"channel_id": "t-10"}), |lead| {
            lead.data = data(json!({"message": "Hello", "vehicle": {"make": "VW"}, "channel_id": "t-10"}));
        }),
        (json!({"channel_id": null}), |lead| {
            lead.data = data(json!({"message": "Hello", "vehicle": {"make": "VW"}}));
        }),
        (json!({"data": {"message": null, "url": "/x"}}), |lead| {
            lead.data = data(json!({"vehicle": {"make": "VW"}, "channel_id": "t-9", "url": "/x"}));
        }),
        (json!({"data": {"vehicle": {"model": "Golf"}}}), |lead| {
            lead.data = data(json!({"message": "Hello", "vehicle": {"model": "Golf"}, "channel_id": "t-9"}));
        }),
        (json!({"data": null}), |lead| lead.data = LeadData::default()),
        (json!({"data": null, "channel_id": "t-10"}), |lead| {
            lead.data = data(json!({"channel_id": "t-10"}));
        }),
    ];
    for (ask, outcome) in table {
        let (mut fixture, lead) = Fixture::with_lead(ann()).await;
        fixture.set_clock(60);
        let command = changes(ask.clone());
        let mut expected = lead;
        expected.updated = at(60);
        expected.version = expected.version.next();
        outcome(&mut expected.content);
        assert_eq!(fixture.update(expected.id, command).await.unwrap(), expected, "{ask}");
        fixture.assert_recorded(EventName::LeadUpdated, &expected);
        assert_eq!(fixture.store.mails, [], "only new leads are reported by mail");
    }
}

#[tokio::test]
async fn what_changes_nothing_is_no_change() {
    let in_other_words = json!({"vehicle": {"model": "Golf", "make": "VW"}, "none": null});
    for command in [
        LeadChanges::default(),
        golf(),
        changes(json!({"data": in_other_words})),
        changes(json!({"data": {}})),
    ] {
        let (mut fixture, lead) = Fixture::with_lead(golf()).await;
        fixture.set_clock(60);
        assert_eq!(fixture.update(lead.id, command).await.unwrap(), lead);
        fixture.assert_untouched(&lead);
    }
}

#[tokio::test]
async fn the_order_of_the_detail_is_kept() {
    let (mut fixture, lead) = Fixture::with_lead(ann()).await;
    let command = changes(json!({"data": {"url": "/x", "message": "Bye"}}));
    let lead = fixture.update(lead.id, command).await.unwrap();
    assert_eq!(
        lead.content.data.as_str(),
        r#"{"message":"Bye","vehicle":{"make":"VW"},"channel_id":"t-9","url":"/x"}"#
    );
}

#[tokio::test]
async fn a_lead_that_leaves_closed_has_no_day_to_reopen_on() {
    let day = "2026-03-05".parse().ok();
    for (status, reopen) in [
        (LeadStatus::Closed, day),
        (LeadStatus::Read, None),
        (LeadStatus::Junk, None),
    ] {
        let (mut fixture, lead) = Fixture::with_lead(ann()).await;
        let close = StatusChange {
            closed: Some(true),
            reopen: day,
            ..StatusChange::default()
        };
        fixture.set_status(lead.id, close).await.unwrap();
        let command = changes(json!({"status": status.code()}));
        let lead = fixture.update(lead.id, command).await.unwrap();
        assert_eq!((lead.content.status, lead.content.reopen), (status, reopen));
    }
}

#[tokio::test]
async fn the_detail_is_measured_as_a_whole() {
    let (mut fixture, lead) = Fixture::with_lead(ann()).await;
    let rest = LeadData::MAX_BYTES - lead.content.data.as_str().len();
    let filling = json!({"url": "x".repeat(rest - r#","url":"""#.len())});
    let full = fixture
        .update(lead.id, changes(json!({"data": filling})))
        .await
        .unwrap();
    assert_eq!(full.content.data.as_str().len(), LeadData::MAX_BYTES);
    let one_more = changes(json!({"data": {"more": 1}}));
    assert_eq!(faults(fixture.update(lead.id, one_more).await), ["data"]);
    assert_eq!(fixture.stored(lead.id), full);
}

#[tokio::test]
async fn a_fault_is_reported_before_the_absence_of_the_lead() {
    let mut fixture = Fixture::open();
    let missing = LeadId::new(404);
    let stranger = changes(json!({"contact": SOMEBODY_ELSES.get()}));
    assert_eq!(faults(fixture.update(missing, stranger).await), ["contact"]);
    let long = json!({"message": "x".repeat(LeadData::MAX_BYTES)});
    let too_large = changes(json!({"data": long}));
    assert_eq!(faults(fixture.update(missing, too_large).await), ["data"]);
    assert!(matches!(fixture.update(missing, ann()).await, Err(LeadError::NotFound(id)) if id == missing));
}

#[tokio::test]
async fn a_fault_leaves_the_lead_as_it_is() {
    let (mut fixture, lead) = Fixture::with_lead(ann()).await;
    let half_wrong = changes(json!({"name": "Bob", "contact": SOMEBODY_ELSES.get()}));
    assert_eq!(faults(fixture.update(lead.id, half_wrong).await), ["contact"]);
    fixture.assert_untouched(&lead);
}

#[tokio::test]
async fn another_business_has_no_such_lead() {
    let (mut fixture, lead) = Fixture::with_lead(ann()).await;
    let ours = fixture.caller.clone();
    fixture.change_business();
    let rename = changes(json!({"name": "Mine"}));
    assert!(matches!(
        fixture.update(lead.id, rename).await,
        Err(LeadError::NotFound(_))
    ));
    fixture.caller = ours;
    fixture.assert_untouched(&lead);
}
