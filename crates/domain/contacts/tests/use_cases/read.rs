//! `GET /2.0/contacts`, `GET /2.0/contacts/{id}`, its tags and its export

use forecourt_accounts::Caller;
use forecourt_contacts::{
    ContactError, ContactFilter, ContactStore as _, LinkedLead, MockContactStore, PasswordHash, PastEvent, WholeText,
    export_contact, export_events, export_leads, list_contacts, read_contact,
};
use forecourt_kernel::{
    ContactId, Cursor, EventName, EventSequence, LeadId, Page, PageRequest, Scope, TextFilter, View,
    testing::FixedClock,
};
use mockall::predicate::eq;
use serde_json::{json, value::RawValue};

use crate::{
    create::everything,
    support::{Office, acme_caller, at, changes, phone},
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
    let mut store = MockContactStore::new();
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
    let tagged = changes(json!({"name": "Ann", "tag": [{"name": "Bad", "checked": false}]}));
    let (office, contact) = Office::with_contact(tagged).await;
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
async fn an_export_begins_with_what_is_not_many() {
    let (mut office, ann) = Office::with_contact(everything()).await;
    office.block(ann.id, Some(true), None).await.unwrap();
    office.add_note(ann.id, "Called", None).await.unwrap();
    let hash = PasswordHash::from_phc("$argon2id$secret".into());
    let business = office.caller.business_id();
    office
        .store
        .set_contact_password(business, ann.id, Some(hash))
        .await
        .unwrap();
    let export = export_contact(&mut office.store, &office.clock, &office.caller, ann.id)
        .await
        .unwrap();
    let export = serde_json::to_value(&export).unwrap();
    let mut contact = office.view(&office.stored(ann.id));
    contact["data"]["notes"] = json!([]);
    let expected = json!({
        "exported": at(0), "contact": contact, "password": true,
        "follow_blocks": office.blocks(ann.id).await.unwrap(), "leads": [], "vehicles": [], "drives": [], "reservations": [],
        "sales": [], "invoices": [], "orders": [], "purchases": [], "deals": [], "calls": [], "appointments": [], "documents": [], "reviews": [], "mails": [], "events": [], "omitted": [],
    });
    assert_eq!(export, expected);
    let outcome = export_contact(
        &mut office.store,
        &FixedClock::at(at(0)),
        &office.caller,
        ContactId::new(404),
    )
    .await;
    assert!(matches!(outcome, Err(ContactError::NotFound(_))));
}

#[tokio::test]
async fn an_export_names_what_its_reader_may_not_see() {
    let (mut office, ann) = Office::with_contact(everything()).await;
    let contacts = Scope::ContactsRead;
    for scopes in [
        vec![contacts],
        vec![contacts, Scope::LeadsRead],
        vec![contacts, Scope::ContactNotesRead],
    ] {
        let caller = Caller {
            scopes: scopes.iter().copied().collect(),
            ..office.caller.clone()
        };
        let export = export_contact(&mut office.store, &office.clock, &caller, ann.id).await;
        let export = serde_json::to_value(export.unwrap()).unwrap();
        let omitted = export["omitted"].as_array().unwrap();
        assert_eq!(omitted.contains(&json!("leads")), !caller.may(Scope::LeadsRead));
        assert_eq!(omitted.contains(&json!("notes")), !caller.may(Scope::ContactNotesRead));
        assert!(omitted.contains(&json!("drives")));
        assert_eq!(export.get("leads").is_some(), caller.may(Scope::LeadsRead));
        let notes = export["contact"]["data"].get("notes");
        assert_eq!(notes.is_some(), caller.may(Scope::ContactNotesRead));
    }
}

#[tokio::test]
async fn the_rest_of_an_export_is_read_from_the_store_and_shown_by_scope() {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let (caller, id) = (acme_caller(), ContactId::new(501));
    let mut store = MockContactStore::new();
    let lead = LinkedLead {
        id: LeadId::new(7),
        shown: raw(r#"{"id":7,"name":"Ann"}"#),
    };
    let (business, catalogue) = (caller.business_id(), caller.business.catalogue.clone());
    store
        .expect_contact_leads()
        .with(eq(business), eq(id), eq(LeadId::new(6)), eq(catalogue))
        .return_once(|_, _, _, _| Ok(vec![lead]));
    let leads = export_leads(&mut store, &caller, id, LeadId::new(6)).await.unwrap();
    assert_eq!(leads[0].shown.get(), r#"{"id":7,"name":"Ann"}"#);

    let past = PastEvent {
        sequence: EventSequence(3),
        id: "evt_1f".into(),
        name: EventName::ContactCreated,
        created: at(0),
        data: raw(r#"{"id":501,"email":"old@example.com","data":{"notes":[{"id":1}]}}"#),
    };
    store
        .expect_contact_events()
        .with(eq(business), eq(id), eq(EventSequence(2)))
        .times(2)
        .returning(move |_, _, _| Ok(vec![past.clone()]));
    let withheld = Caller {
        scopes: Scope::ContactsRead.into(),
        ..caller.clone()
    };
    for (caller, data) in [(&caller, json!({"notes": [{"id": 1}]})), (&withheld, json!({}))] {
        let events = export_events(&mut store, caller, id, EventSequence(2)).await.unwrap();
        let [(EventSequence(3), event)] = &*events else {
            panic!("one event was expected: {events:?}")
        };
        let expected = json!({
            "id": "evt_1f", "event": "contact.created", "created": at(0),
            "data": {"id": 501, "email": "old@example.com", "data": data},
        });
        assert_eq!(serde_json::to_value(event).unwrap(), expected);
    }
}
