//! The representation of a lead for integrators: names, order and spelling are a promise (contract, "Lead").

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use forecourt_kernel::{ContactId, LeadId, SiteId, StaffId, Timestamp, Version, View};
use forecourt_leads::{AiRead, JunkConfidence, Lead, LeadData, LeadDraft, LeadStatus, LeadView, Rating};
use forecourt_reference::{Catalogue, LeadChannel, LeadType, Tag, TagChoice, TagResource};
use insta::assert_snapshot;
use serde_json::json;

/// A lead about which nothing is known.
fn bare() -> Lead {
    Lead {
        id: LeadId::new(501),
        reference: 1,
        created: Timestamp::from_epoch_seconds(1_767_225_600),
        updated: Timestamp::from_epoch_seconds(1_767_225_600),
        version: Version::FIRST,
        content: LeadDraft::blank(&Catalogue::default()),
    }
}

/// A lead about which everything is known.
fn ann() -> Lead {
    let tag = |name: &str, checked| TagChoice {
        name: name.into(),
        checked,
    };
    let data =
        json!({"source": "web", "message": "Is the \"Golf\" there? Grüße", "vehicle": {"id": 7, "price": 9995.5}});
    Lead {
        reference: 12,
        updated: Timestamp::from_epoch_seconds(1_767_312_000),
        content: LeadDraft {
            site: SiteId::new(2),
            channel: LeadChannel::Whatsapp,
            name: "Ann Lee".into(),
            email: "ann@example.com".into(),
            phone: "+441632960123".into(),
            mobile: "+447700900123".into(),
            contact: Some(ContactId::new(31)),
            types: vec![LeadType::TestDrive, LeadType::PartExchange],
            status: LeadStatus::Closed,
            rating: Rating::new(4),
            summary: Some("Wants to drive the Golf on Saturday".into()),
            session: "s-1".into(),
            avatar: "https://example.com/ann.png".into(),
            assign: vec![StaffId::new(3), StaffId::new(1)],
            tags: vec![tag("Hot", true), tag("Forgotten", false)],
            stat: false,
            reopen: "2026-02-28".parse().ok(),
            data: LeadData::default().merged(data.as_object().cloned().unwrap()).unwrap(),
            ai: Some(AiRead {
                intent: Some(LeadType::TestDrive),
                rating_reason: Some("Names a vehicle and a day".into()),
                next_action: Some("Confirm Saturday".into()),
                junk: false,
                junk_confidence: Some(JunkConfidence::High),
                processed: Some(Timestamp::from_epoch_seconds(1_767_225_660)),
            }),
            answered: true,
            ..bare().content
        },
        ..bare()
    }
}

fn shown(lead: &Lead, view: View) -> String {
    let hot = Tag {
        resource: TagResource::Lead,
        name: "Hot".into(),
        colour: "#d33".into(),
        kind: "mood".into(),
        defaulted: false,
    };
    let catalogue = Catalogue {
        tags: vec![hot],
        ..Catalogue::default()
    };
    serde_json::to_string_pretty(&LeadView::new(lead, view, &catalogue)).unwrap()
}

#[test]
fn the_full_view_of_a_lead_of_which_everything_is_known() {
    assert_snapshot!(shown(&ann(), View::Full), @r##"
    {
      "id": 501,
      "site": 2,
      "channel": "whatsapp",
      "reference": 12,
      "name": "Ann Lee",
      "email": "ann@example.com",
      "phone": "+441632960123",
      "mobile": "+447700900123",
      "contact": 31,
      "type": [
        "test_drive",
        "part_exchange"
      ],
      "status": {
        "id": 4,
        "name": "closed"
      },
      "rating": 4,
      "summary": "Wants to drive the Golf on Saturday",
      "created": 1767225600,
      "updated": 1767312000,
      "version": 1,
      "session": "s-1",
      "avatar": "https://example.com/ann.png",
      "assign": [
        3,
        1
      ],
      "tag": [
        {
          "name": "Hot",
          "checked": true,
          "colour": "#d33",
          "type": "mood"
        },
        {
          "name": "Forgotten",
          "checked": false,
          "colour": "",
          "type": ""
        }
      ],
      "stat": false,
      "reopen": "2026-02-28",
      "vehicles": [],
      "data": {"source":"web","message":"Is the \"Golf\" there? Grüße","vehicle":{"id":7,"price":9995.5},"junk":null},
      "ai": {
        "intent": "test_drive",
        "rating_reason": "Names a vehicle and a day",
        "next_action": "Confirm Saturday",
        "junk": false,
        "junk_confidence": "high",
        "processed": 1767225660
      }
    }
    "##);
}

#[test]
fn the_full_view_of_a_lead_of_which_nothing_is_known() {
    assert_snapshot!(shown(&bare(), View::Full), @r#"
    {
      "id": 501,
      "site": 0,
      "channel": "api",
      "reference": 1,
      "name": "",
      "email": "",
      "phone": "",
      "mobile": "",
      "contact": null,
      "type": [
        "email"
      ],
      "status": {
        "id": 0,
        "name": "new"
      },
      "rating": null,
      "summary": null,
      "created": 1767225600,
      "updated": 1767225600,
      "version": 1,
      "session": "",
      "avatar": "",
      "assign": [],
      "tag": [],
      "stat": true,
      "reopen": null,
      "vehicles": [],
      "data": {"vehicle":null,"junk":null},
      "ai": null
    }
    "#);
}

#[test]
fn the_simple_view() {
    assert_snapshot!(shown(&ann(), View::Simple), @r#"
    {
      "id": 501,
      "site": 2,
      "channel": "whatsapp",
      "reference": 12,
      "name": "Ann Lee",
      "email": "ann@example.com",
      "phone": "+441632960123",
      "mobile": "+447700900123",
      "contact": 31,
      "type": [
        "test_drive",
        "part_exchange"
      ],
      "status": {
        "id": 4,
        "name": "closed"
      },
      "rating": 4,
      "summary": "Wants to drive the Golf on Saturday",
      "created": 1767225600,
      "updated": 1767312000
    }
    "#);
}

#[test]
fn an_ai_read_that_found_nothing() {
    let mut lead = bare();
    lead.content.ai = Some(AiRead {
        intent: None,
        rating_reason: None,
        next_action: None,
        junk: true,
        junk_confidence: None,
        processed: None,
    });
    let full: serde_json::Value = serde_json::from_str(&shown(&lead, View::Full)).unwrap();
    assert_snapshot!(full["ai"], @r#"{"intent":null,"rating_reason":null,"next_action":null,"junk":true,"junk_confidence":null,"processed":null}"#);
}

#[test]
fn every_status_is_shown_by_code_and_name() {
    let mut lead = bare();
    let status = |status| {
        lead.content.status = status;
        let simple: serde_json::Value = serde_json::from_str(&shown(&lead, View::Simple)).unwrap();
        format!("{}\n", simple["status"])
    };
    assert_snapshot!(LeadStatus::ALL.map(status).concat(), @r#"
    {"id":0,"name":"new"}
    {"id":1,"name":"new_message"}
    {"id":2,"name":"read"}
    {"id":3,"name":"replied"}
    {"id":4,"name":"closed"}
    {"id":5,"name":"junk"}
    "#);
}

#[test]
fn the_simple_view_is_the_beginning_of_the_full_one() {
    let simple = shown(&ann(), View::Simple);
    let members = simple.strip_suffix("\n}").unwrap();
    assert!(shown(&ann(), View::Full).starts_with(members));
}

/// Stored records must stay readable, so no name in here ever changes.
#[test]
fn the_document_that_storage_keeps() {
    let document = serde_json::to_string_pretty(&ann().content).unwrap();
    assert_eq!(serde_json::from_str::<LeadDraft>(&document).unwrap(), ann().content);
    assert_snapshot!(document, @r#"
    {
      "site": 2,
      "channel": "whatsapp",
      "name": "Ann Lee",
      "email": "ann@example.com",
      "phone": "+441632960123",
      "mobile": "+447700900123",
      "contact": 31,
      "type": [
        "test_drive",
        "part_exchange"
      ],
      "status": 4,
      "rating": 4,
      "summary": "Wants to drive the Golf on Saturday",
      "session": "s-1",
      "avatar": "https://example.com/ann.png",
      "assign": [
        3,
        1
      ],
      "tag": [
        {
          "name": "Hot",
          "checked": true
        },
        {
          "name": "Forgotten",
          "checked": false
        }
      ],
      "stat": false,
      "reopen": "2026-02-28",
      "data": {"source":"web","message":"Is the \"Golf\" there? Grüße","vehicle":{"id":7,"price":9995.5}},
      "ai": {
        "intent": "test_drive",
        "rating_reason": "Names a vehicle and a day",
        "next_action": "Confirm Saturday",
        "junk": false,
        "junk_confidence": "high",
        "processed": 1767225660
      },
      "answered": true
    }
    "#);
}
