//! `PATCH /2.0/leads/{id}`

use forecourt_kernel::{Country, EventName, LeadId, SiteId};
use forecourt_leads::{LeadData, LeadDraft, LeadError, LeadStatus, Phone, StatusChange, UpdateLead};
use forecourt_reference::{LeadChannel, LeadType, TagChoice};
use serde_json::{Value, json};

use crate::support::{ANN, BOB, Fixture, SOMEBODY_ELSES, at, faults, object};

/// A command that says what `ask` adds and nothing else.
fn asking(ask: impl FnOnce(&mut UpdateLead)) -> UpdateLead {
    let mut command = UpdateLead::default();
    ask(&mut command);
    command
}

fn phone(text: &str) -> Phone {
    Phone::parse(text, Country::GB).unwrap()
}

/// The fields of a lead of which everything is known.
fn ann() -> UpdateLead {
    UpdateLead {
        site: Some(SiteId::new(2)),
        channel: Some(LeadChannel::Website),
        channel_id: Some(Some("t-9".into())),
        name: Some("Ann Lee".into()),
        email: Some(Some("ann@example.com".parse().unwrap())),
        phone: Some(Some(phone("01632 960123"))),
        mobile: Some(Some(phone("07700 900123"))),
        contact: Some(Some(ANN)),
        types: Some(vec![LeadType::TestDrive]),
        data: Some(Some(object(json!({"message": "Hello", "vehicle": {"make": "VW"}})))),
        status: Some(LeadStatus::Read),
        tags: Some(vec![TagChoice {
            name: "Cold".into(),
            checked: false,
        }]),
    }
}

/// The same of whose detail more is known.
fn golf() -> UpdateLead {
    UpdateLead {
        data: Some(Some(object(
            json!({"message": "Hello", "vehicle": {"make": "VW", "model": "Golf"}}),
        ))),
        ..ann()
    }
}

fn data(value: Value) -> LeadData {
    LeadData::default().merged(object(value)).unwrap()
}

#[tokio::test]
async fn each_field_that_is_supplied_changes_and_no_other() {
    type Ask = fn(&mut UpdateLead);
    type Outcome = fn(&mut LeadDraft);
    let table: &[(Ask, Outcome)] = &[
        (|ask| ask.site = Some(SiteId::new(0)), |lead| lead.site = SiteId::new(0)),
        (
            |ask| ask.channel = Some(LeadChannel::Sms),
            |lead| lead.channel = LeadChannel::Sms,
        ),
        (|ask| ask.name = Some(String::new()), |lead| lead.name.clear()),
        (
            |ask| ask.email = Some("bob@example.com".parse().ok()),
            |lead| lead.email = "bob@example.com".into(),
        ),
        (|ask| ask.email = Some(None), |lead| lead.email.clear()),
        (
            |ask| ask.phone = Some(Some(phone("01632 960999"))),
            |lead| lead.phone = "+441632960999".into(),
        ),
        (|ask| ask.phone = Some(None), |lead| lead.phone.clear()),
        (
            |ask| ask.mobile = Some(Some(phone("07700 900999"))),
            |lead| lead.mobile = "+447700900999".into(),
        ),
        (|ask| ask.mobile = Some(None), |lead| lead.mobile.clear()),
        (|ask| ask.contact = Some(Some(BOB)), |lead| lead.contact = Some(BOB)),
        (|ask| ask.contact = Some(None), |lead| lead.contact = None),
        (
            |ask| ask.types = Some(vec![LeadType::Parts]),
            |lead| lead.types = vec![LeadType::Parts],
        ),
        (|ask| ask.types = Some(Vec::new()), |lead| lead.types.clear()),
        (
            |ask| ask.status = Some(LeadStatus::Junk),
            |lead| lead.status = LeadStatus::Junk,
        ),
        (|ask| ask.tags = Some(Vec::new()), |lead| lead.tags.clear()),
        (
            |ask| ask.channel_id = Some(Some("t-10".into())),
            |lead| lead.data = data(json!({"message": "Hello", "vehicle": {"make": "VW"}, "channel_id": "t-10"})),
        ),
        (
            |ask| ask.channel_id = Some(None),
            |lead| lead.data = data(json!({"message": "Hello", "vehicle": {"make": "VW"}})),
        ),
        (
            |ask| ask.data = Some(Some(object(json!({"message": null, "url": "/x"})))),
            |lead| lead.data = data(json!({"vehicle": {"make": "VW"}, "channel_id": "t-9", "url": "/x"})),
        ),
        (
            |ask| ask.data = Some(Some(object(json!({"vehicle": {"model": "Golf"}})))),
            |lead| lead.data = data(json!({"message": "Hello", "vehicle": {"model": "Golf"}, "channel_id": "t-9"})),
        ),
    ];
    for (ask, outcome) in table {
        let (mut fixture, lead) = Fixture::with_lead(ann()).await;
        fixture.set_clock(60);
        let command = asking(ask);
        let said = format!("{command:?}");
        let mut expected = lead;
        expected.updated = at(60);
        expected.version = expected.version.next();
        outcome(&mut expected.content);
        assert_eq!(fixture.update(expected.id, command).await.unwrap(), expected, "{said}");
        fixture.assert_told(EventName::LeadUpdated, &expected);
        assert_eq!(fixture.store.mails, [], "only new leads are told by mail");
    }
}

#[tokio::test]
async fn what_changes_nothing_is_no_change() {
    let in_other_words = json!({"vehicle": {"model": "Golf", "make": "VW"}, "none": null});
    for command in [
        UpdateLead::default(),
        golf(),
        asking(|ask| ask.data = Some(Some(object(in_other_words)))),
        asking(|ask| ask.data = Some(Some(object(json!({}))))),
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
    let command = asking(|ask| ask.data = Some(Some(object(json!({"url": "/x", "message": "Bye"})))));
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
        let command = asking(|ask| ask.status = Some(status));
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
        .update(lead.id, asking(|ask| ask.data = Some(Some(object(filling)))))
        .await
        .unwrap();
    assert_eq!(full.content.data.as_str().len(), LeadData::MAX_BYTES);
    let one_more = asking(|ask| ask.data = Some(Some(object(json!({"more": 1})))));
    assert_eq!(faults(fixture.update(lead.id, one_more).await), ["data"]);
    assert_eq!(fixture.stored(lead.id), full);
}

#[tokio::test]
async fn a_fault_goes_before_the_absence_of_the_lead() {
    let mut fixture = Fixture::open();
    let missing = LeadId::new(404);
    let stranger = asking(|ask| ask.contact = Some(Some(SOMEBODY_ELSES)));
    assert_eq!(faults(fixture.update(missing, stranger).await), ["contact"]);
    let long = json!({"message": "x".repeat(LeadData::MAX_BYTES)});
    let too_large = asking(|ask| ask.data = Some(Some(object(long))));
    assert_eq!(faults(fixture.update(missing, too_large).await), ["data"]);
    assert!(matches!(fixture.update(missing, ann()).await, Err(LeadError::NotFound(id)) if id == missing));
}

#[tokio::test]
async fn a_fault_leaves_the_lead_as_it_is() {
    let (mut fixture, lead) = Fixture::with_lead(ann()).await;
    let half_wrong = asking(|ask| {
        ask.name = Some("Bob".into());
        ask.contact = Some(Some(SOMEBODY_ELSES));
    });
    assert_eq!(faults(fixture.update(lead.id, half_wrong).await), ["contact"]);
    fixture.assert_untouched(&lead);
}

#[tokio::test]
async fn another_business_has_no_such_lead() {
    let (mut fixture, lead) = Fixture::with_lead(ann()).await;
    let ours = fixture.caller.clone();
    fixture.change_business();
    let rename = asking(|ask| ask.name = Some("Mine".into()));
    assert!(matches!(
        fixture.update(lead.id, rename).await,
        Err(LeadError::NotFound(_))
    ));
    fixture.caller = ours;
    fixture.assert_untouched(&lead);
}
