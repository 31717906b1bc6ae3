//! `/2.0/contacts/{id}/follow-blocks`

use forecourt_contacts::{ContactChanges, ContactError, FollowBlock};
use forecourt_kernel::{ContactId, EventName};
use serde_json::json;

use crate::support::{Office, at, changes, faults, named};

fn reachable(name: &str) -> ContactChanges {
    changes(json!({
        "name": name,
        "email": "ann@example.com",
        "telephone": "01632 960123",
        "mobile": "07700 900123",
    }))
}

#[tokio::test]
async fn no_address_is_blocked_at_first() {
    let (mut office, ann) = Office::with_contact(reachable("Ann")).await;
    let expected = json!({
        "contact": ann.id,
        "email": {"value": "ann@example.com", "blocked": false},
        "sms": {"value": "+447700900123", "blocked": false},
    });
    let blocks = office.blocks(ann.id).await.unwrap();
    assert_eq!(serde_json::to_value(blocks).unwrap(), expected);
    let outcome = office.blocks(ContactId::new(404)).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(_))));
}

#[tokio::test]
async fn a_block_is_a_change_that_is_reported_once() {
    let (mut office, ann) = Office::with_contact(reachable("Ann")).await;
    office.set_clock(60);
    let blocks = office.block(ann.id, Some(true), None).await.unwrap();
    assert_eq!((blocks.email.blocked, blocks.sms.blocked), (true, false));
    let stored = office.stored(ann.id);
    assert_eq!(stored.updated, at(60));
    office.assert_recorded(EventName::ContactUpdated, &stored);

    office.set_clock(120);
    office.forget_outcomes();
    for (email, sms) in [(Some(true), Some(false)), (None, None)] {
        assert_eq!(office.block(ann.id, email, sms).await.unwrap(), blocks);
    }
    office.assert_untouched(&stored);

    let blocks = office.block(ann.id, Some(false), Some(true)).await.unwrap();
    assert_eq!((blocks.email.blocked, blocks.sms.blocked), (false, true));
    assert_eq!(office.store.events.len(), 1);
}

#[tokio::test]
async fn text_messages_go_to_the_mobile_or_else_to_the_landline() {
    let (mut office, ann) = Office::with_contact(reachable("Ann")).await;
    office.block(ann.id, None, Some(true)).await.unwrap();
    office.update(ann.id, changes(json!({"mobile": null}))).await.unwrap();
    let landline = FollowBlock {
        value: "+441632960123".into(),
        blocked: false,
    };
    assert_eq!(office.blocks(ann.id).await.unwrap().sms, landline);
    office
        .update(ann.id, changes(json!({"telephone": null})))
        .await
        .unwrap();
    let nothing = FollowBlock {
        value: String::new(),
        blocked: false,
    };
    assert_eq!(office.blocks(ann.id).await.unwrap().sms, nothing);
}

#[tokio::test]
async fn what_is_not_there_cannot_be_blocked() {
    let (mut office, ann) = Office::with_contact(named("Ann")).await;
    assert_eq!(
        faults(office.block(ann.id, Some(true), Some(true)).await),
        ["email", "sms"]
    );
    office.block(ann.id, Some(false), Some(false)).await.unwrap();
    office.assert_untouched(&ann);
    let outcome = office.block(ContactId::new(404), Some(true), None).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(_))));
}

#[tokio::test]
async fn a_block_belongs_to_the_address_and_outlives_the_contact() {
    let (mut office, ann) = Office::with_contact(reachable("Ann")).await;
    office.block(ann.id, Some(true), Some(true)).await.unwrap();
    office.delete(ann.id).await.unwrap();
    let again = ContactChanges {
        email: changes(json!({"email": "ANN@Example.com"})).email,
        ..reachable("Ann")
    };
    let again = office.create(again).await.unwrap();
    let blocks = office.blocks(again.id).await.unwrap();
    assert_eq!((blocks.email.blocked, blocks.sms.blocked), (true, true));

    office.change_business();
    let theirs = office.create(reachable("Ann")).await.unwrap();
    let blocks = office.blocks(theirs.id).await.unwrap();
    assert_eq!((blocks.email.blocked, blocks.sms.blocked), (false, false));
    let kept = format!("{:?}", office.store.contacts.blocks().collect::<Vec<_>>());
    assert!(!kept.contains("example.com") && !kept.contains("7700900123"), "{kept}");
}
