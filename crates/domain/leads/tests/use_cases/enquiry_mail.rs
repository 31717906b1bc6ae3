//! Leads that are created from mails.

use forecourt_kernel::EventName;
use forecourt_leads::{EnquiryMail, Lead, LeadError, create_lead_from_mail};
use forecourt_reference::LeadChannel;
use serde_json::json;

use crate::support::{Fixture, faults};

fn mail() -> EnquiryMail {
    EnquiryMail {
        message_id: "one@example.com".into(),
        name: "Ann Lee".into(),
        address: "Ann@example.com".into(),
        subject: "Golf".into(),
        text: "Is it there?".into(),
        attachments: vec!["car.jpg".into()],
    }
}

async fn import(fixture: &mut Fixture, mail: EnquiryMail) -> Result<Option<Lead>, LeadError> {
    let business = fixture.caller.business.clone();
    create_lead_from_mail(&mut fixture.store, &fixture.clock, &business, mail).await
}

#[tokio::test]
async fn a_mail_becomes_a_lead_once() {
    let mut fixture = Fixture::open();
    let lead = import(&mut fixture, mail()).await.unwrap().unwrap();
    fixture.assert_recorded(EventName::LeadCreated, &lead);
    let content = &lead.content;
    assert_eq!(
        (content.channel, content.name.as_str(), content.email.as_str()),
        (LeadChannel::Email, "Ann Lee", "Ann@example.com")
    );
    let data = json!({
        "subject": "Golf", "message": "Is it there?", "message_id": "one@example.com", "attachments": ["car.jpg"],
        "vehicle": null, "junk": null,
    });
    assert_eq!(fixture.view(&lead)["data"], data);
    assert_eq!(fixture.store.mails.len(), 1);
    assert_eq!(fixture.store.leads.waiting(), [lead.id]);
    // Not again, and not after the lead was deleted.
    assert_eq!(import(&mut fixture, mail()).await.unwrap(), None);
    fixture.delete(lead.id).await.unwrap();
    assert_eq!(import(&mut fixture, mail()).await.unwrap(), None);
    let other = EnquiryMail {
        message_id: "two@example.com".into(),
        address: "no address".into(),
        attachments: Vec::new(),
        ..mail()
    };
    let other = import(&mut fixture, other).await.unwrap().unwrap();
    assert_eq!(
        (&*other.content.email, &fixture.view(&other)["data"]["email"]),
        ("", &json!("no address"))
    );
}

#[tokio::test]
async fn a_mail_beyond_its_bounds_becomes_none() {
    let mut fixture = Fixture::open();
    let long = |count: usize| "ä".repeat(count);
    for (mail, field) in [
        (
            EnquiryMail {
                message_id: String::new(),
                ..mail()
            },
            "Message-ID",
        ),
        (
            EnquiryMail {
                message_id: long(500),
                ..mail()
            },
            "Message-ID",
        ),
        (
            EnquiryMail {
                name: long(256),
                ..mail()
            },
            "From",
        ),
        (
            EnquiryMail {
                address: long(256),
                ..mail()
            },
            "From",
        ),
        (
            EnquiryMail {
                subject: long(256),
                ..mail()
            },
            "Subject",
        ),
        (
            EnquiryMail {
                text: long(20_001),
                ..mail()
            },
            "text",
        ),
        (
            EnquiryMail {
                attachments: vec![long(256)],
                ..mail()
            },
            "attachments",
        ),
        (
            EnquiryMail {
                attachments: vec![String::new(); 501],
                ..mail()
            },
            "attachments",
        ),
        (
            EnquiryMail {
                text: "🚗".repeat(20_000),
                ..mail()
            },
            "data",
        ),
    ] {
        assert_eq!(faults(import(&mut fixture, mail).await), [field]);
    }
    assert!(fixture.store.events.is_empty());
    // A refused mail may be imported again.
    assert!(import(&mut fixture, mail()).await.unwrap().is_some());
}
