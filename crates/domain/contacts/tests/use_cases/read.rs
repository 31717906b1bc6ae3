//! `GET /2.0/contacts`, `GET /2.0/contacts/{id}`, its tags and its export

use forecourt_contacts::{
    ContactError, ContactFilter, ContactTraces, MockContactReader, PasswordHash, PastEvent, WholeText, export_contact,
    list_contacts, read_contact,
};
use forecourt_kernel::{ContactId, Cursor, EventName, Page, PageRequest, TextFilter, View};
use mockall::predicate::eq;
use serde_json::{json, value::RawValue};

use crate::{
    create::{everything, tag},
    support::{At, Office, acme_caller, asking, at, named, phone},
};

#[tokio::test]
async fn a_business_reads_its_own_contacts_alone() {
    let (mut office, contact) = Office::with_contact(everything()).await;
    let read = read_contact(&mut office.store, &office.caller, contact.id).await;
    assert_eq!(read.unwrap(), contact);
    let missing = ContactId::new(404);
    let outcome = read_contact(&mut office.store, &office.caller, missing).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(id)) if id == missing));
    office.change_business();
    let outcome = read_contact(&mut office.store, &office.caller, contact.id).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(_))));
}

#[tokio::test]
async fn a_list_is_asked_of_the_store_as_it_was_asked_for() {
    let (_, contact) = Office::with_contact(everything()).await;
    let caller = acme_caller();
    let filter = ContactFilter {
        zip: Some(WholeText::new("LS1 4AB")),
        ..ContactFilter::default()
    };
    let page = PageRequest::first();
    let answer = Page {
        items: vec![contact.clone()],
        next: Some(Cursor::at([contact.id.get()])),
        total: Some(2),
    };
    let mut store = MockContactReader::new();
    store
        .expect_contacts()
        .with(
            eq(caller.business_id()),
            eq(filter.clone()),
            eq(page.clone()),
            eq(View::Simple),
        )
        .times(1)
        .return_once(move |_, _, _, _| Ok(answer));
    let listed = list_contacts(&mut store, &caller, &filter, &page, View::Simple)
        .await
        .unwrap();
    assert_eq!((listed.items, listed.total), (vec![contact], Some(2)));
}

#[tokio::test]
async fn a_filter_wants_the_whole_field_whatever_its_case() {
    let (_, ann) = Office::with_contact(everything()).await;
    type Ask = fn(&mut ContactFilter, &str);
    let table: [(Ask, &[&str], &[&str]); 5] = [
        (
            |filter, text| filter.email = TextFilter::parse(text).ok(),
            &["ann@example.com", "ANN@EXAMPLE.COM", "%@example.com"],
            &["ann@example", "%@example.org"],
        ),
        (
            |filter, text| filter.name = Some(WholeText::new(text)),
            &["Ann Lee", "ann lee"],
            &["Ann", "annlee", "Ann%", ""],
        ),
        (
            |filter, text| filter.company = Some(WholeText::new(text)),
            &["LEE & SONS LTD"],
            &["Lee Sons Ltd", "%Sons%"],
        ),
        (
            |filter, text| filter.vat = Some(WholeText::new(text)),
            &["gb 123 4567 89"],
            &["GB123456789"],
        ),
        (
            |filter, text| filter.zip = Some(WholeText::new(text)),
            &["ls1 4ab"],
            &["LS1", "LS14AB"],
        ),
    ];
    for (ask, hits, misses) in table {
        for (text, hit) in hits
            .iter()
            .map(|text| (text, true))
            .chain(misses.iter().map(|text| (text, false)))
        {
            let mut filter = ContactFilter::default();
            ask(&mut filter, text);
            assert_eq!(filter.matches(&ann), hit, "{text:?}");
        }
    }
    let by_number = |telephone: Option<&str>, mobile: Option<&str>| ContactFilter {
        telephone: telephone.map(phone),
        mobile: mobile.map(phone),
        ..ContactFilter::default()
    };
    assert!(by_number(Some("01632 960 123"), Some("+44 7700 900123")).matches(&ann));
    assert!(
        !by_number(Some("07700 900123"), None).matches(&ann),
        "each number on its own"
    );
    assert!(ContactFilter::default().matches(&ann));
}

#[tokio::test]
async fn the_tags_that_it_has_and_those_that_it_could() {
    let fields = asking(|ask| {
        ask.name = Some("Ann".into());
        ask.tags = Some(vec![tag("Bad", false)]);
    });
    let (office, contact) = Office::with_contact(fields).await;
    let tags = contact.tags(&office.caller.business.catalogue);
    let expected = json!({
        "applied": [{"name": "Bad", "checked": false, "colour": "#d33", "type": ""}],
        "available": [
            {"name": "Good", "colour": "#3a3", "type": "mood", "defaulted": true},
            {"name": "Bad", "colour": "#d33", "type": "", "defaulted": false},
        ],
    });
    assert_eq!(serde_json::to_value(tags).unwrap(), expected);
}

#[tokio::test]
async fn the_export_of_a_contact_that_left_no_traces() {
    let (mut office, ann) = Office::with_contact(everything()).await;
    office.block(ann.id, Some(true), None).await.unwrap();
    office.add_note(ann.id, "Called", None).await.unwrap();
    let hash = PasswordHash::from_phc("$argon2id$secret".into());
    office.store.passwords.insert(ann.id, hash);
    let export = export_contact(&mut office.store, &office.clock, &office.caller, ann.id)
        .await
        .unwrap();
    let export = serde_json::to_value(&export).unwrap();
    let expected = json!({
        "exported": at(0), "contact": office.view(&office.stored(ann.id)), "password": true,
        "follow_blocks": office.blocks(ann.id).await.unwrap(), "leads": [], "events": [],
    });
    assert_eq!(export, expected);
    let outcome = export_contact(&mut office.store, &At(at(0)), &office.caller, ContactId::new(404)).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(_))));
}

#[tokio::test]
async fn the_export_tells_what_else_is_held() {
    let (_, ann) = Office::with_contact(named("Ann")).await;
    let id = ann.id;
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let traces = ContactTraces {
        has_password: false,
        leads: vec![raw(r#"{"id":7,"name":"Ann"}"#)],
        events: vec![PastEvent {
            id: "evt_1f".into(),
            name: EventName::ContactCreated,
            created: at(0),
            data: raw(r#"{"id":501,"email":"old@example.com"}"#),
        }],
    };
    let mut store = MockContactReader::new();
    store.expect_contact().return_once(|_, _| Ok(Some(ann)));
    let caller = acme_caller();
    store
        .expect_contact_traces()
        .with(eq(caller.business_id()), eq(id), eq(caller.business.catalogue.clone()))
        .return_once(|_, _, _| Ok(traces));
    let export = export_contact(&mut store, &At(at(60)), &caller, id).await.unwrap();
    let export = serde_json::to_value(&export).unwrap();
    assert_eq!(export["leads"], json!([{"id": 7, "name": "Ann"}]));
    let event = json!({
        "id": "evt_1f", "event": "contact.created", "created": at(0),
        "data": {"id": 501, "email": "old@example.com"},
    });
    assert_eq!(export["events"], json!([event]));
}
