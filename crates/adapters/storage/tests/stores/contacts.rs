//! Contacts, beyond their domain's contract: concurrent writers, and the traces of erased contacts.

use std::time::Duration;

use forecourt_accounts::{Fingerprint, IdempotencyKey, KeyUse, KeyedRequest, Shown, ShownRecord, StoredResponse};
use forecourt_contacts::testing::{
    a_full_contact, any_contact, contact_reader_contract, contact_store_contract, filters_of_each_kind, joined_filter,
    login_email_contract,
};
use forecourt_contacts::{
    Address, Contact, ContactDraft, ContactFilter, ContactNote, FullContact, LOGIN_EMAIL_RULE, NewNote, PasswordHash,
    WholeText,
};
use forecourt_invoices::testing::a_draft_sale;
use forecourt_kernel::testing::Choices;
use forecourt_kernel::{
    BusinessId, ContactId, EventName, EventSequence, LeadId, Mail, NewEvent, PageRequest, Position, Range, StaffId,
    StoreError, TextFilter, Version, View, fold,
};
use forecourt_leads::{FullLead, Lead, LeadDraft, LeadFilter};
use forecourt_orders::testing::a_draft_order;
use forecourt_reference::Catalogue;
use forecourt_storage::Storage;
use forecourt_vehicles::{AppraisalDetails, FieldCondition, FieldFilter, Vehicle, VehicleFilter, VehicleStatus};
use forecourt_webhooks::{DueDelivery, EndpointKey, Topic};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::fleet::draft;
use crate::installation::{Installation, both_engines, on_sqlite};
use crate::samples::{a_contact, a_lead, a_webhook, at, data, key, moment, room};

both_engines!(
    contacts_are_kept_as_their_domain_asks,
    login_emails_are_kept_apart_as_their_domain_asks,
    no_two_contacts_log_in_with_one_email,
    a_contact_has_its_newest_notes_and_a_page_no_more_than_can_be_shown,
    a_password_is_kept_until_it_is_forgotten,
    a_second_login_mail_waits_for_the_first_ones_transaction,
    a_total_of_contacts_follows_every_change,
    traces_are_leads_and_events,
    what_is_erased_is_gone_everywhere,
    what_is_still_to_be_sent_of_a_lead_names_no_erased_contact,
    former_names_and_addresses_are_erased_as_well,
    numbers_are_erased_in_every_spelling,
    a_mail_that_waits_forgets_who_is_erased,
    pages_far_down_are_what_they_are_by_count,
    vehicles_forget_their_offerers,
    vehicles_forget_their_funders_and_suppliers,
    emails_are_found_whether_indexed_or_not,
    a_lead_knows_its_contact,
    a_long_erasure_continues_in_parts,
    all_former_names_of_a_contact_are_erased,
    answers_about_what_was_linked_later_are_emptied,
);

impl Installation {
    pub(crate) async fn contact(&self, business: BusinessId, draft: ContactDraft, second: i64) -> Contact {
        let mut session = self.begin().await;
        let contact = session.insert_contact(business, draft, at(second)).await.unwrap();
        session.commit().await.unwrap();
        contact
    }

    async fn save_contact(&self, business: BusinessId, contact: &Contact) {
        let mut session = self.begin().await;
        session.save_contact(business, contact).await.unwrap();
        session.commit().await.unwrap();
    }

    pub(crate) async fn erase(&self, business: BusinessId, contact: &Contact) {
        let mut session = self.begin().await;
        let locked = session.lock_contact(business, contact.id).await.unwrap().unwrap();
        session.erase_contact(business, &locked).await.unwrap();
        session.commit().await.unwrap();
    }

    /// Continues all deletions until none is left; returns the number of parts.
    pub(crate) async fn finish_deletions(&self) -> usize {
        let mut parts = 0;
        loop {
            let mut session = self.begin().await;
            let open = session.open_deletions(9).await.unwrap();
            session.commit().await.unwrap();
            if open.is_empty() {
                return parts;
            }
            for deletion in open {
                let mut session = self.begin().await;
                session.continue_deletion(deletion).await.unwrap();
                session.commit().await.unwrap();
                parts += 1;
            }
        }
    }

    async fn kept(&self, business: BusinessId, id: ContactId) -> Option<Contact> {
        self.read().await.contact(business, id).await.unwrap()
    }

    async fn listed(&self, business: BusinessId, filter: &ContactFilter) -> (Vec<ContactId>, Option<i64>) {
        let page = PageRequest {
            position: Position::Number(1),
            per_page: 500,
        };
        let mut reader = self.read().await;
        let page = reader.contacts(business, filter, &page, View::Full).await.unwrap();
        (page.items.iter().map(|contact| contact.id).collect(), page.total)
    }

    async fn note(&self, business: BusinessId, contact: ContactId, text: &str, second: i64) -> ContactNote {
        let mut session = self.begin().await;
        let note = NewNote {
            note: text.to_owned(),
            user: (second % 2 == 0).then_some(StaffId::new(7)),
        };
        let note = session
            .insert_contact_note(business, contact, note, at(second))
            .await
            .unwrap();
        session.commit().await.unwrap();
        note
    }
}

fn named(name: &str) -> ContactDraft {
    ContactDraft {
        name: name.to_owned(),
        ..a_contact()
    }
}

/// The same holds for leads.
#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_a_change_costs_the_indexes_of_what_differs() {
    on_sqlite(async |installation: Installation| {
        let business = installation.business("acme").await;
        let mut contact = installation.contact(business, a_contact(), 0).await;
        contact.content.ni = "AB123456C".to_owned();
        let of_one = installation
            .logged_pages(installation.save_contact(business, &contact))
            .await;
        contact.content.name = "Zoe Smith".to_owned();
        contact.content.company = "Smith & Sons".to_owned();
        contact.content.vat = "GB123456789".to_owned();
        contact.content.email = "zoe@example.com".to_owned();
        let of_four = installation
            .logged_pages(installation.save_contact(business, &contact))
            .await;
        // Four indexes have the new values.
        assert!(
            of_four >= of_one + 4,
            "{of_four} pages, and where no index changed {of_one}"
        );
    })
    .await;
}

async fn contacts_are_kept_as_their_domain_asks(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let mut session = installation.begin().await;
    let book = contact_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
    contact_reader_contract(installation.read().await.as_mut(), &book).await;
    let hashes = "SELECT count(*) FROM contacts WHERE password_hash IS NOT NULL";
    assert_eq!(installation.number(hashes).await, 0);
}

async fn login_emails_are_kept_apart_as_their_domain_asks(installation: Installation) {
    let business = installation.business("acme").await;
    login_email_contract(installation.begin().await.as_mut(), business).await;
}

async fn no_two_contacts_log_in_with_one_email(installation: Installation) {
    let business = installation.business("acme").await;
    let login = |email: &str, login| ContactDraft {
        email: email.to_owned(),
        login,
        ..a_contact()
    };
    let first = installation.contact(business, login("Zoë@Example.com", true), 0).await;
    let silent = installation.contact(business, login("zoë@example.com", false), 0).await;
    let mut session = installation.begin().await;
    assert_eq!(
        session.login_holder(business, "ZOË@example.COM").await.unwrap(),
        Some(first.id)
    );
    session.savepoint().await.unwrap();
    let twin = session
        .insert_contact(business, login("ZOË@EXAMPLE.COM", true), at(1))
        .await;
    assert!(matches!(twin, Err(StoreError::Duplicate(rule)) if rule == LOGIN_EMAIL_RULE));
    session.rollback_to_savepoint().await.unwrap();
    let silent = Contact {
        content: login("zoë@example.com", true),
        ..silent
    };
    session.savepoint().await.unwrap();
    let saved = session.save_contact(business, &silent).await;
    assert!(matches!(saved, Err(StoreError::Duplicate(rule)) if rule == LOGIN_EMAIL_RULE));
    session.rollback_to_savepoint().await.unwrap();
    // A contact that no longer logs in leaves the email to others.
    let first = Contact {
        content: login("Zoë@Example.com", false),
        ..first
    };
    session.save_contact(business, &first).await.unwrap();
    session.save_contact(business, &silent).await.unwrap();
    session.commit().await.unwrap();
    let loaded = vec![(login("zoë@example.com", true), at(2))];
    let mut session = installation.begin().await;
    let twin = session.load_contacts(business, loaded).await;
    assert!(matches!(twin, Err(StoreError::Duplicate(rule)) if rule == LOGIN_EMAIL_RULE));
}

async fn a_contact_has_its_newest_notes_and_a_page_no_more_than_can_be_shown(installation: Installation) {
    let business = installation.business("acme").await;
    let many = installation.contact(business, a_contact(), 0).await;
    let mut session = installation.begin().await;
    for number in 1..=60 {
        let note = NewNote {
            note: format!("{number}"),
            user: None,
        };
        session
            .insert_contact_note(business, many.id, note, at(0))
            .await
            .unwrap();
    }
    assert_eq!(session.count_contact_notes(business, many.id).await.unwrap(), 60);
    let locked = session.lock_contact(business, many.id).await.unwrap().unwrap();
    assert_eq!(locked.notes, [], "a writer loads none");
    session.commit().await.unwrap();
    let long = "x".repeat(400_000);
    let mut wordy = Vec::new();
    for _ in 0..4 {
        let contact = installation.contact(business, a_contact(), 0).await;
        installation.note(business, contact.id, &long, 0).await;
        wordy.push(contact.id);
    }
    let newest: Vec<String> = (11..=60).rev().map(|number| number.to_string()).collect();
    let texts = |contact: &Contact| contact.notes.iter().map(|note| note.note.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&installation.kept(business, many.id).await.unwrap()), newest);

    let mut reader = installation.read().await;
    let notes = reader.newest_contact_notes(business, many.id).await.unwrap();
    assert_eq!(notes.len(), 50);
    let mut request = PageRequest::first();
    let mut parts = Vec::new();
    loop {
        let everything = ContactFilter::default();
        let page = reader
            .contacts(business, &everything, &request, View::Full)
            .await
            .unwrap();
        for contact in &page.items {
            let expected = if contact.id == many.id {
                newest.clone()
            } else {
                vec![long.clone()]
            };
            assert_eq!(texts(contact), expected);
        }
        parts.push(page.items.iter().map(|contact| contact.id).collect::<Vec<_>>());
        let Some(next) = page.next else { break };
        request.position = Position::After(next);
    }
    assert_eq!(parts, [vec![wordy[3], wordy[2]], vec![wordy[1], wordy[0], many.id]]);
}

async fn a_password_is_kept_until_it_is_forgotten(installation: Installation) {
    let business = installation.business("acme").await;
    let contact = installation.contact(business, a_full_contact(), 0).await;
    for hash in [Some("$argon2id$one"), Some("$argon2id$two"), None] {
        let mut session = installation.begin().await;
        let kept = hash.map(|hash| PasswordHash::from_phc(hash.to_owned()));
        session.set_contact_password(business, contact.id, kept).await.unwrap();
        // A change of the record leaves the password alone.
        session.save_contact(business, &contact).await.unwrap();
        session.commit().await.unwrap();
        let stored = installation
            .texts("SELECT coalesce(password_hash, 'none') FROM contacts")
            .await;
        assert_eq!(stored, [hash.unwrap_or("none")]);
        let known = installation
            .read()
            .await
            .has_contact_password(business, contact.id)
            .await;
        assert_eq!(known.unwrap(), hash.is_some());
    }
}

async fn a_second_login_mail_waits_for_the_first_ones_transaction(installation: Installation) {
    let business = installation.business("acme").await;
    let id = installation.contact(business, a_contact(), 0).await.id;
    for (commits, second) in [(false, true), (true, false)] {
        let mut first = installation.begin().await;
        assert!(first.lease_login_mail(business, id, at(20), at(30)).await.unwrap());
        let twin = {
            let database = installation.database.clone();
            tokio::spawn(async move {
                let mut session = database.begin().await.unwrap();
                session.lease_login_mail(business, id, at(20), at(31)).await.unwrap()
            })
        };
        installation.until_one_waits().await;
        assert!(!twin.is_finished(), "the second does not wait");
        if commits {
            first.commit().await.unwrap();
        } else {
            drop(first);
        }
        assert_eq!(timeout(Duration::from_secs(20), twin).await.unwrap().unwrap(), second);
    }
}

async fn a_total_of_contacts_follows_every_change(installation: Installation) {
    let business = installation.business("acme").await;
    let filter = ContactFilter {
        name: Some(WholeText::new("ann")),
        ..ContactFilter::default()
    };
    let total = async || installation.listed(business, &filter).await.1;
    assert_eq!(total().await, Some(0));
    let contact = installation.contact(business, named("Ann"), 0).await;
    assert_eq!(total().await, Some(1));
    let mut session = installation.begin().await;
    let loaded = vec![(named("ANN"), at(1)), (named("Bea"), at(2))];
    session.load_contacts(business, loaded).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(total().await, Some(2));
    let changed = Contact {
        content: named("Bea"),
        ..contact.clone()
    };
    installation.save_contact(business, &changed).await;
    assert_eq!(total().await, Some(1));
    let (all, count) = installation.listed(business, &ContactFilter::default()).await;
    assert_eq!((all.len(), count), (3, Some(3)));
    let loaded = installation.kept(business, all[1]).await.unwrap();
    installation.erase(business, &loaded).await;
    assert_eq!(total().await, Some(0));
    assert_eq!(
        installation.listed(business, &ContactFilter::default()).await.1,
        Some(2)
    );
}

fn event(name: EventName, record: i64, data: &Value) -> NewEvent {
    NewEvent {
        name,
        record,
        data: data.to_string(),
        at: at(3),
    }
}

async fn traces_are_leads_and_events(installation: Installation) {
    let business = installation.business("acme").await;
    let contact = installation.contact(business, a_full_contact(), 0).await;
    let linked = LeadDraft {
        contact: Some(contact.id),
        ..a_lead()
    };
    let leads = [
        installation.lead(business, linked.clone(), 1).await,
        installation.lead(business, linked, 2).await,
    ];
    installation.lead(business, a_lead(), 3).await;
    let id = contact.id.get();
    let mut session = installation.begin().await;
    for (name, record) in [
        (EventName::ContactCreated, id),
        (EventName::LeadCreated, id),
        (EventName::ContactUpdated, id + 1),
        (EventName::ContactUpdated, id),
    ] {
        let data = event(name, record, &json!({"id": record}));
        session.record(business, data).await.unwrap();
    }
    session.commit().await.unwrap();
    let catalogue = Catalogue::default();
    let mut reader = installation.read().await;
    let mut after = LeadId::new(0);
    for lead in leads {
        let linked = reader.contact_leads(business, contact.id, after, &catalogue).await;
        let linked = linked.unwrap();
        let shown = serde_json::to_string(&FullLead::new(&lead, &catalogue)).unwrap();
        assert_eq!((linked[0].id, linked[0].shown.get()), (lead.id, shown.as_str()));
        after = lead.id;
    }
    let linked = reader.contact_leads(business, contact.id, after, &catalogue).await;
    assert!(linked.unwrap().is_empty());

    let events = reader
        .contact_events(business, contact.id, EventSequence(0))
        .await
        .unwrap();
    let names: Vec<EventName> = events.iter().map(|event| event.name).collect();
    assert_eq!(names, [EventName::ContactCreated, EventName::ContactUpdated]);
    assert!(
        events
            .iter()
            .all(|event| event.id.starts_with("evt_") && event.created == at(3))
    );
    for (seen, left) in [(0, 1), (1, 0)] {
        let rest = reader.contact_events(business, contact.id, events[seen].sequence).await;
        assert_eq!(rest.unwrap().len(), left);
    }
}

async fn vehicles_forget_their_offerers(installation: Installation) {
    let business = installation.business("acme").await;
    let contact = installation.contact(business, a_full_contact(), 0).await;
    let bystander = installation.contact(business, named("Bea"), 0).await;
    let offered = |by: &Contact| {
        let details = json!({"customer_id": by.id.get(), "customer": by.content.name});
        draft(json!({
            "type": "a", "status": "added", "country": "GB",
            "data": {"vehicle": {"make": "Kia"}, "appraisal": {"details": details, "confirm": {"decision": "rejected"}}},
        }))
    };
    let mut session = installation.begin().await;
    let mut own = Vec::new();
    for status in [VehicleStatus::Added, VehicleStatus::Deleted] {
        let mut vehicle = session
            .insert_vehicle(business, offered(&contact), at(3))
            .await
            .unwrap();
        let details = json!({"customer_id": contact.id.to_string(), "customer": contact.content.name});
        let data = json!({"id": vehicle.id.get(), "data": {"appraisal": {"details": details}}});
        for name in [EventName::VehicleCreated, EventName::VehicleUpdated] {
            session
                .record(business, event(name, vehicle.id.get(), &data))
                .await
                .unwrap();
        }
        vehicle.content.status = status;
        session.save_vehicle(business, &vehicle).await.unwrap();
        own.push(vehicle);
    }
    let other = session
        .insert_vehicle(business, offered(&bystander), at(3))
        .await
        .unwrap();
    session.commit().await.unwrap();
    let of_contact = VehicleFilter {
        fields: vec![FieldFilter {
            name: "appraisal_contact",
            wanted: FieldCondition::Within(Range::exactly(contact.id.get())),
        }],
        ..VehicleFilter::default()
    };
    let page = PageRequest {
        position: Position::Number(1),
        per_page: 9,
    };
    let total = async || {
        installation
            .read()
            .await
            .vehicles(business, &of_contact, &page)
            .await
            .unwrap()
            .total
    };
    assert_eq!(total().await, Some(1));

    installation.clock.set(moment(3_600_000));
    installation.erase(business, &contact).await;
    assert_eq!(total().await, Some(0));
    let mut reader = installation.read().await;
    let mut expected = own[0].clone();
    expected.content.data.appraisal.details = AppraisalDetails::default();
    let left = reader.vehicle(business, expected.id).await.unwrap().unwrap();
    assert!(left.updated > expected.updated);
    expected.updated = left.updated;
    expected.version = Version::new(2);
    assert_eq!(left, expected);
    assert_eq!(reader.vehicle(business, other.id).await.unwrap().as_ref(), Some(&other));
    let documents = installation.texts("SELECT document FROM vehicles ORDER BY id").await;
    assert!(!documents[1].contains("Zoë"), "a deleted vehicle forgets as well");
    let previews = installation
        .texts("SELECT preview FROM vehicles WHERE preview IS NOT NULL")
        .await;
    assert_eq!(previews.len(), 2);
    assert!(!previews.concat().contains("Zoë"));
    for event in installation.texts("SELECT data FROM events").await {
        let event: Value = serde_json::from_str(&event).unwrap();
        let left = json!({"customer_id": "", "customer": ""});
        assert_eq!(event["data"]["appraisal"]["details"], left);
    }
}

async fn vehicles_forget_their_funders_and_suppliers(installation: Installation) {
    let business = installation.business("acme").await;
    let contact = installation.contact(business, named("Ann"), 0).await;
    let bystander = installation.contact(business, named("Bea"), 0).await;
    let (own, other) = (contact.id.get(), bystander.id.get());
    let stocks = [
        json!({"funding_provider_id": own, "funding_provider": "ANN", "funding_provider_total": "7000.00"}),
        json!({"purchase_supplier_id": own, "purchase_supplier": "Ann", "funding_provider_id": other}),
        json!({"funding_provider_id": own, "funding_provider": "Bank", "purchase_supplier_id": own}),
        json!({"funding_provider_id": other, "funding_provider": "Ann"}),
    ];
    let expected = [
        json!({"funding_provider_id": null, "funding_provider": "", "funding_provider_total": "7000.00"}),
        json!({"purchase_supplier_id": null, "purchase_supplier": "", "funding_provider_id": other}),
        json!({"funding_provider_id": null, "funding_provider": "Bank", "purchase_supplier_id": null}),
        json!({"funding_provider_id": other, "funding_provider": "Ann"}),
    ];
    let of = |stock: &Value| {
        let details = json!({"customer_id": other, "customer": "Bea"});
        let data = json!({"stock": stock, "appraisal": {"details": details}});
        draft(json!({"type": "s", "status": "draft", "country": "GB", "data": data}))
    };
    let mut session = installation.begin().await;
    let mut vehicles = Vec::new();
    for stock in &stocks {
        let vehicle = session.insert_vehicle(business, of(stock), at(3)).await.unwrap();
        let data = json!({"id": vehicle.id.get(), "data": {"stock": stock}});
        session
            .record(business, event(EventName::VehicleUpdated, vehicle.id.get(), &data))
            .await
            .unwrap();
        vehicles.push(vehicle);
    }
    session.commit().await.unwrap();

    installation.erase(business, &contact).await;
    let mut reader = installation.read().await;
    // The last one names no erased contact.
    let versions = [2, 2, 2, 1].map(Version::new);
    for ((vehicle, stock), version) in vehicles.into_iter().zip(&expected).zip(versions) {
        let left = reader.vehicle(business, vehicle.id).await.unwrap().unwrap();
        let expected = Vehicle {
            content: of(stock),
            updated: left.updated,
            version,
            ..vehicle
        };
        assert_eq!(left, expected);
    }
    let page = PageRequest {
        position: Position::Number(1),
        per_page: 9,
    };
    let all = reader
        .vehicles(business, &VehicleFilter::default(), &page)
        .await
        .unwrap();
    assert_eq!((all.items.len(), all.total), (4, Some(4)));
    for (event, stock) in installation
        .texts("SELECT data FROM events ORDER BY sequence")
        .await
        .iter()
        .zip(&expected)
    {
        let event: Value = serde_json::from_str(event).unwrap();
        assert_eq!(&event["data"]["stock"], stock);
    }
    assert_eq!(
        installation
            .number(&format!(
                "SELECT count(*) FROM vehicles WHERE {own} IN (funder, supplier)"
            ))
            .await,
        0
    );
}

async fn what_is_erased_is_gone_everywhere(installation: Installation) {
    let business = installation.business("acme").await;
    let contact = installation.contact(business, a_full_contact(), 0).await;
    let bystander = installation.contact(business, named("Bea"), 0).await;
    installation.note(business, contact.id, "Secret note", 1).await;
    let own = &contact.content;
    let lead = LeadDraft {
        contact: Some(contact.id),
        name: own.name.clone(),
        email: own.email.to_uppercase(),
        phone: own.mobile.clone(),
        mobile: "+447700900999".to_owned(),
        ..a_lead()
    };
    let first = installation.lead(business, lead.clone(), 2).await;
    let lead = installation.lead(business, lead, 2).await;
    let data =
        |lead: LeadId| json!({"id": lead.get(), "name": own.name, "email": own.email, "mobile": "+447700900999"});
    let full = json!({"id": contact.id.get(), "name": own.name});
    let key: IdempotencyKey = "k".parse().unwrap();
    let fingerprint = Fingerprint::of("POST", "/2.0/contacts", "", b"");
    let mut session = installation.begin().await;
    for (name, record, data) in [
        (EventName::ContactCreated, contact.id.get(), full.clone()),
        (EventName::LeadCreated, first.id.get(), data(first.id)),
        (EventName::LeadCreated, lead.id.get(), data(lead.id)),
        (EventName::LeadUpdated, lead.id.get(), data(lead.id)),
        (EventName::ContactUpdated, contact.id.get(), full.clone()),
        (EventName::ContactUpdated, bystander.id.get(), json!({"name": "Bea"})),
    ] {
        session.record(business, event(name, record, &data)).await.unwrap();
    }
    let request = KeyedRequest { key, fingerprint };
    let found = session.key_use(business, &request, at(5)).await.unwrap();
    assert_eq!(found, KeyUse::Free);
    let answer = StoredResponse {
        status: 201,
        body: json!({"success": true, "data": full}).to_string().into_bytes(),
    };
    let shows = Shown {
        contact: Some(contact.id),
        record: None,
    };
    session
        .store_response(business, &request, at(5), &answer, shows)
        .await
        .unwrap();
    session.commit().await.unwrap();

    installation.clock.set(moment(3_600_000));
    installation.erase(business, &contact).await;
    assert_eq!(installation.kept(business, contact.id).await, None);
    assert_eq!(installation.kept(business, bystander.id).await, Some(bystander.clone()));
    assert_eq!(installation.number("SELECT count(*) FROM contact_notes").await, 0);
    let events = installation.texts("SELECT data FROM events ORDER BY sequence").await;
    let bare = json!({"id": contact.id.get()}).to_string();
    assert_eq!((&events[0], &events[4]), (&bare, &bare));
    for (event, lead) in [(&events[1], &first), (&events[2], &lead), (&events[3], &lead)] {
        let event: Value = serde_json::from_str(event).unwrap();
        let left = json!({"id": lead.id.get(), "name": "", "email": "", "mobile": "+447700900999"});
        assert_eq!(event, left);
    }
    assert_eq!(events[5], r#"{"name":"Bea"}"#);
    let left = installation.stored(business, lead.id).await.unwrap();
    let catalogue = Catalogue::default();
    let shown = serde_json::to_string(&FullLead::new(&left, &catalogue)).unwrap();
    assert_eq!(
        (events.len(), &events[7]),
        (8, &shown),
        "the change of each lead is recorded"
    );
    assert!(left.updated > lead.updated);
    let expected = Lead {
        updated: left.updated,
        version: Version::new(2),
        content: LeadDraft {
            contact: None,
            name: String::new(),
            email: String::new(),
            phone: String::new(),
            ..lead.content.clone()
        },
        ..lead.clone()
    };
    assert_eq!(left, expected);
    let mut session = installation.begin().await;
    let KeyUse::Answered(replay) = session.key_use(business, &request, at(6)).await.unwrap() else {
        panic!("the answer is still there");
    };
    let body: Value = serde_json::from_slice(&replay.body).unwrap();
    assert_eq!(
        (replay.status, body),
        (201, json!({"success": true, "data": {"id": contact.id.get()}}))
    );
    drop(session);
    if let Storage::Sqlite(_) = &installation.storage {
        let own = contact.content;
        let file = installation.compacted().await;
        let holds = |text: &str| file.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(holds("Bea") && holds("+447700900999"), "what is left is there");
        for text in [
            own.name.as_str(),
            &own.email,
            &fold(&own.email),
            &own.company,
            &own.vat,
            &own.telephone,
            &own.mobile,
            &own.license.number,
            &own.ni,
            &own.address.line2,
            "Secret note",
            "Passport",
        ] {
            assert!(!holds(text), "{text} is still in the file");
        }
    }
}

async fn what_is_still_to_be_sent_of_a_lead_names_no_erased_contact(installation: Installation) {
    let business = installation.business("acme").await;
    let webhook = installation.webhook(business, a_webhook()).await;
    let contact = installation.contact(business, named("Ann"), 0).await;
    let lead = LeadDraft {
        contact: Some(contact.id),
        name: "Somebody else".to_owned(),
        ..a_lead()
    };
    let lead = installation.lead(business, lead, 1).await;
    let data = serde_json::to_value(FullLead::new(&lead, &Catalogue::default())).unwrap();
    assert_eq!(data["contact"], contact.id.get());
    installation.clock.set(moment(0));
    let mut session = installation.begin().await;
    for name in [EventName::LeadCreated, EventName::LeadUpdated] {
        session
            .record(business, event(name, lead.id.get(), &data))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();

    installation.erase(business, &contact).await;
    let kept = installation.stored(business, lead.id).await.unwrap();
    let shown = serde_json::to_value(FullLead::new(&kept, &Catalogue::default())).unwrap();
    assert_eq!(shown["contact"], Value::Null);
    let sent = waiting(&installation, key(business, &webhook)).await;
    let mut sent: Vec<Value> = sent.into_iter().map(|(_, data)| data).collect();
    assert_eq!(sent[1], shown, "the update has the place of the one before");
    assert_eq!((&sent[0]["version"], &sent[1]["version"]), (&json!(1), &json!(2)));
    for member in ["updated", "version"] {
        sent[0][member] = shown[member].clone();
    }
    assert_eq!(sent, [shown.clone(), shown]);
}

/// Returns the subscription's waiting deliveries, with their data.
async fn waiting(installation: &Installation, endpoint: EndpointKey) -> Vec<(Topic, Value)> {
    let mut session = installation.begin().await;
    let (now, lease) = (moment(1_000_000), moment(2_000_000));
    let taken = session.take_due(endpoint, now, lease, room(99), lease).await.unwrap();
    session.commit().await.unwrap();
    let data = |due: DueDelivery| (due.topic, serde_json::from_str(&due.data.unwrap()).unwrap());
    taken.deliveries.into_iter().map(data).collect()
}

async fn former_names_and_addresses_are_erased_as_well(installation: Installation) {
    let business = installation.business("acme").await;
    let mut contact = installation
        .contact(
            business,
            ContactDraft {
                email: "old@ann.example".to_owned(),
                mobile: "+447700900123".to_owned(),
                address: Address {
                    line1: "2 High Street".to_owned(),
                    zip: "LS1 4AB".to_owned(),
                    city: "Leeds".to_owned(),
                    ..Address::default()
                },
                ..named("Ann Lee")
            },
            0,
        )
        .await;
    let text = json!({
        "message": "Ann Lee, 2 High Street, Leeds LS1 4AB, 07700 900123; now Ann Lee-Smith, 7 Low Road",
        "reply": "Old@Ann.example and new@ann.example",
    });
    let lead = LeadDraft {
        contact: Some(contact.id),
        name: "Ann Lee".to_owned(),
        email: "old@ann.example".to_owned(),
        mobile: "+447700900123".to_owned(),
        data: data(&text.to_string()),
        ..a_lead()
    };
    let lead = installation.lead(business, lead, 1).await;
    let catalogue = Catalogue::default();
    let mut session = installation.begin().await;
    let data = serde_json::to_value(FullLead::new(&lead, &catalogue)).unwrap();
    session
        .record(business, event(EventName::LeadUpdated, lead.id.get(), &data))
        .await
        .unwrap();
    let data = serde_json::to_value(FullContact::whole(&contact, &catalogue)).unwrap();
    session
        .record(business, event(EventName::ContactCreated, contact.id.get(), &data))
        .await
        .unwrap();
    contact.content = ContactDraft {
        email: "new@ann.example".to_owned(),
        address: Address {
            line1: "7 Low Road".to_owned(),
            ..Address::default()
        },
        ..named("Ann Lee-Smith")
    };
    session.save_contact(business, &contact).await.unwrap();
    session.commit().await.unwrap();

    installation.erase(business, &contact).await;
    let kept = installation.stored(business, lead.id).await.unwrap().content;
    assert_eq!([kept.name, kept.email, kept.mobile], ["", "", ""]);
    let left = json!({"message": "…, …, Leeds …, …; now …, …", "reply": "… and …"});
    let shown: Value = serde_json::from_str(kept.data.as_str()).unwrap();
    assert_eq!(shown, left);
    let events = installation.texts("SELECT data FROM events ORDER BY sequence").await;
    let mut event: Value = serde_json::from_str(&events[0]).unwrap();
    forget_added(&mut event["data"]);
    assert_eq!(event["data"], left);
    assert_eq!((&event["name"], &event["email"]), (&json!(""), &json!("")));
}

/// Removes the members that the store adds to a lead's detail.
fn forget_added(data: &mut Value) {
    for added in ["vehicle", "junk"] {
        assert_eq!(data.as_object_mut().unwrap().remove(added), Some(Value::Null));
    }
}

async fn numbers_are_erased_in_every_spelling(installation: Installation) {
    let business = installation.business("acme").await;
    let draft = ContactDraft {
        telephone: "+442079465555".to_owned(),
        ..named("Ann")
    };
    let contact = installation.contact(business, draft, 0).await;
    let message =
        "call 020 7946 5555 or 02079465555 or +442079465555, (020) 7946-5555, 0044 20 7946 5555; not 0207946555512";
    let text = json!({"message": message, "digits": 442_079_465_555_i64, "other": 442_079_465_556_i64});
    let lead = LeadDraft {
        contact: Some(contact.id),
        data: data(&text.to_string()),
        ..a_lead()
    };
    let lead = installation.lead(business, lead, 1).await;
    let data = json!({"id": lead.id.get(), "data": text});
    let mut session = installation.begin().await;
    session
        .record(business, event(EventName::LeadUpdated, lead.id.get(), &data))
        .await
        .unwrap();
    let mail = Mail::new("office@acme.example", "New lead", "Message: ring 020 7946 5555!\n");
    session.queue_mail(business, mail, at(1)).await.unwrap();
    session.commit().await.unwrap();

    installation.erase(business, &contact).await;
    let left =
        json!({"message": "call … or … or …, …, …; not 0207946555512", "digits": "…", "other": 442_079_465_556_i64});
    let kept = installation.stored(business, lead.id).await.unwrap();
    let shown: Value = serde_json::from_str(kept.content.data.as_str()).unwrap();
    assert_eq!(shown, left);
    let events = installation.texts("SELECT data FROM events ORDER BY sequence").await;
    let event: Value = serde_json::from_str(&events[0]).unwrap();
    assert_eq!(event["data"], left);
    assert_eq!(
        installation.texts("SELECT text FROM mails").await,
        ["Message: ring …!\n"]
    );
}

async fn a_mail_that_waits_forgets_who_is_erased(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let contact = installation
        .contact(
            ours,
            ContactDraft {
                name: "Ann Öz".to_owned(),
                email: "Ann@Example.com".to_owned(),
                mobile: "+447700900123".to_owned(),
                ..a_contact()
            },
            0,
        )
        .await;
    let mail = |subject: &str, text: &str| Mail::new("office@acme.example", subject, text);
    let about = mail(
        "New lead from Ann Öz",
        "Number 7.\n\nFrom: ann öz\nEmail: ann@example.com\nMobile: +447700900123\nMessage: Joann Özil and Ann Öz\n",
    );
    let nameless = mail("New lead", "Number 8.\n\nFrom: ANN ÖZ\nAbout: email\n");
    let others = mail("New lead", "Number 9.\n\nFrom: Bea\nMessage: ask Ann Öz\n");
    let mut session = installation.begin().await;
    for (business, mail) in [(ours, &about), (ours, &nameless), (ours, &others), (theirs, &about)] {
        session.queue_mail(business, mail.clone(), at(1)).await.unwrap();
    }
    session.commit().await.unwrap();
    installation.erase(ours, &contact).await;
    let mut session = installation.begin().await;
    let waiting = session
        .take_mails(BusinessId::new(0), at(2), at(9), 9)
        .await
        .unwrap()
        .mails;
    session.commit().await.unwrap();
    let mut left: Vec<(i64, Mail)> = waiting.into_iter().map(|pending| (pending.id, pending.mail)).collect();
    left.sort_by_key(|(id, _)| *id);
    let left: Vec<Mail> = left.into_iter().map(|(_, mail)| mail).collect();
    let expected = [
        mail(
            "New lead from …",
            "Number 7.\n\nFrom: …\nEmail: …\nMobile: …\nMessage: Joann Özil and …\n",
        ),
        mail("New lead", "Number 8.\n\nFrom: …\nAbout: email\n"),
        others,
        about,
    ];
    assert_eq!(left, expected);
}

async fn pages_far_down_are_what_they_are_by_count(installation: Installation) {
    let business = installation.business("acme").await;
    let mut choices = Choices::new(7);
    let mut session = installation.begin().await;
    for _ in 0..42 {
        let drafts = (0..500).map(|_| {
            let draft = ContactDraft {
                vat: "GB 9".to_owned(),
                ..any_contact(&mut choices)
            };
            (draft, at(0))
        });
        session.load_contacts(business, drafts.collect()).await.unwrap();
    }
    session.commit().await.unwrap();
    let by_cursor = async || {
        let mut reader = installation.read().await;
        let mut request = PageRequest {
            position: Position::Number(1),
            per_page: 500,
        };
        let mut all = Vec::new();
        loop {
            let page = reader
                .contacts(business, &ContactFilter::default(), &request, View::Simple)
                .await
                .unwrap();
            all.extend(page.items);
            let Some(next) = page.next else { break all };
            request.position = Position::After(next);
        }
    };
    for contact in by_cursor().await.iter().step_by(3_000) {
        installation.erase(business, contact).await;
    }
    let all = by_cursor().await;
    let counted = installation
        .number("SELECT records FROM counters WHERE kind = 'contacts'")
        .await;
    assert_eq!((all.len(), counted), (20_993, 20_993));
    let everyone = ContactFilter {
        vat: Some(WholeText::new("gb 9")),
        ..ContactFilter::default()
    };
    let mut filters = filters_of_each_kind();
    filters.extend([
        joined_filter(&filters[1], &everyone),
        joined_filter(&filters[9], &everyone),
        everyone,
    ]);
    let mut reader = installation.read().await;
    let mut far = 0;
    for filter in filters {
        let passing: Vec<ContactId> = all
            .iter()
            .filter(|contact| filter.matches(contact))
            .map(|contact| contact.id)
            .collect();
        let pages = passing.len().div_ceil(37);
        for number in [1, 15, 16, pages / 2, pages.saturating_sub(20), pages, pages + 1] {
            let number = number.max(1);
            let request = PageRequest {
                position: Position::Number(number as u64),
                per_page: 37,
            };
            let page = reader
                .contacts(business, &filter, &request, View::Simple)
                .await
                .unwrap();
            let found: Vec<ContactId> = page.items.iter().map(|contact| contact.id).collect();
            let expected: Vec<ContactId> = passing.iter().skip((number - 1) * 37).take(37).copied().collect();
            assert_eq!(
                (found, page.total, page.next.is_some()),
                (expected, Some(passing.len() as i64), number < pages),
                "page {number} of {filter:?}"
            );
            far += usize::from(number > 15 && number <= pages);
        }
    }
    assert!(far > 50, "{far} pages were far down");
}

async fn emails_are_found_whether_indexed_or_not(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    let draft = |number: usize| ContactDraft {
        email: format!(
            "somebody{number}@{}",
            if number % 1000 == 3 {
                "rare.example"
            } else {
                "example.com"
            }
        ),
        ..a_contact()
    };
    let drafts = (0..6_000).map(|number| (draft(number), at(0))).collect();
    session.load_contacts(business, drafts).await.unwrap();
    session.commit().await.unwrap();
    let rare = ContactFilter {
        email: TextFilter::parse("%@RARE.ex%").ok(),
        ..ContactFilter::default()
    };
    let found = async || {
        let mut reader = installation.read().await;
        let page = reader
            .contacts(business, &rare, &PageRequest::first(), View::Simple)
            .await
            .unwrap();
        let numbers = page.items.iter().map(|contact| contact.content.email.clone());
        assert_eq!(page.total, Some(page.items.len() as i64));
        numbers.collect::<Vec<_>>()
    };
    let expected: Vec<String> = [5003, 4003, 3003, 2003, 1003, 3]
        .map(|number| format!("somebody{number}@rare.example"))
        .into();
    assert_eq!(found().await, expected);
    // Changes and deletions are found as they are now.
    let (all, _) = installation.listed(business, &rare).await;
    let moved = installation.kept(business, all[3]).await.unwrap();
    let content = ContactDraft {
        email: "away@example.com".to_owned(),
        ..moved.content.clone()
    };
    installation.save_contact(business, &Contact { content, ..moved }).await;
    let gone = installation.kept(business, all[5]).await.unwrap();
    installation.erase(business, &gone).await;
    let come = installation.contact(business, draft(6003), 0).await;
    let mut expected = expected;
    expected.remove(5);
    expected.remove(3);
    expected.insert(0, come.content.email);
    assert_eq!(found().await, expected);
}

async fn a_lead_knows_its_contact(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let contact = installation.contact(ours, a_contact(), 0).await;
    let mut session = installation.begin().await;
    assert!(session.contact_exists(ours, contact.id).await.unwrap());
    assert!(!session.contact_exists(theirs, contact.id).await.unwrap());
    drop(session);
    assert!(
        installation
            .read()
            .await
            .contact_exists(ours, contact.id)
            .await
            .unwrap()
    );
    installation.erase(ours, &contact).await;
    assert!(
        !installation
            .read()
            .await
            .contact_exists(ours, contact.id)
            .await
            .unwrap()
    );
}

/// The columns with texts.
const TEXTS: [&str; 7] = [
    "SELECT document || preview || name_folded || email_folded FROM leads",
    "SELECT document FROM vehicles",
    "SELECT data FROM events",
    "SELECT coalesce(response_body, '') FROM webhook_deliveries",
    "SELECT subject || text FROM mails",
    "SELECT document FROM contacts",
    "SELECT note FROM contact_notes",
];

impl Installation {
    async fn assert_nowhere(&self, text: &str) {
        for query in TEXTS {
            let found = self.texts(query).await;
            assert!(
                !found.iter().any(|found| found.to_lowercase().contains(text)),
                "{query}"
            );
        }
    }
}

async fn a_long_erasure_continues_in_parts(installation: Installation) {
    const LEADS: usize = 80;
    let business = installation.business("acme").await;
    let contact = installation.contact(business, named("Ann Quillfeather"), 0).await;
    let bystander = installation.contact(business, named("Bea"), 0).await;
    let text = json!({"message": "Quillfeather, Ann Quillfeather. ".repeat(1500), "by": "ann quillfeather"});
    let mut leads = Vec::new();
    let mut session = installation.begin().await;
    for number in 0..LEADS {
        let draft = LeadDraft {
            contact: Some(contact.id),
            name: format!("Lead {number}"),
            data: data(&json!({"message": "Ann Quillfeather ".repeat(3_000), "number": number}).to_string()),
            ..a_lead()
        };
        let lead = session.insert_lead(business, draft, at(1)).await.unwrap();
        let data = serde_json::to_value(FullLead::new(&lead, &Catalogue::default())).unwrap();
        for name in [EventName::LeadCreated, EventName::LeadUpdated] {
            session
                .record(business, event(name, lead.id.get(), &data))
                .await
                .unwrap();
        }
        leads.push(lead);
    }
    let other = LeadDraft {
        contact: Some(bystander.id),
        data: data(&text.to_string()),
        ..a_lead()
    };
    let other = session.insert_lead(business, other, at(1)).await.unwrap();
    session.commit().await.unwrap();

    installation.clock.set(moment(3_600_000));
    installation.erase(business, &contact).await;
    assert_eq!(installation.kept(business, contact.id).await, None);
    let of_contact = LeadFilter {
        contact: Some(contact.id),
        ..LeadFilter::default()
    };
    let page = PageRequest {
        position: Position::Number(1),
        per_page: 500,
    };
    let mut reader = installation.read().await;
    let linked = reader.leads(business, &of_contact, &page).await.unwrap();
    assert_eq!((linked.items.len(), linked.total), (0, Some(0)));
    let all = reader.leads(business, &LeadFilter::default(), &page).await.unwrap();
    let links: Vec<_> = all.items.iter().filter_map(|lead| lead.content.contact).collect();
    assert_eq!(links, [bystander.id], "no link is shown from then on");
    let previews = reader
        .lead_previews(business, &LeadFilter::default(), &page)
        .await
        .unwrap();
    for preview in previews.items {
        let mut json = Vec::new();
        preview.write_to(&mut json).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        let expected = (preview.id() == other.id).then(|| bystander.id.get());
        assert_eq!(json["contact"], json!(expected));
    }
    drop(reader);
    // A lead is unlinked before it is cleaned: it is cleaned all the same.
    let mut session = installation.begin().await;
    let last = leads.last().unwrap().id;
    let mut locked = session.lock_lead(business, last).await.unwrap().unwrap();
    assert!(
        locked.content.data.as_str().contains("Quillfeather"),
        "that takes longer"
    );
    locked.content.contact = None;
    session.save_lead(business, &locked).await.unwrap();
    session.commit().await.unwrap();

    let parts = installation.finish_deletions().await;
    assert!(parts > 4, "{parts} parts are too few to be small");
    let all = installation
        .read()
        .await
        .leads(business, &LeadFilter::default(), &page)
        .await
        .unwrap();
    assert_eq!(all.items.len(), LEADS + 1);
    assert!(all.items[1..].iter().all(|lead| lead.updated > at(1)));
    let [left, ..] = all.items.as_slice() else {
        panic!("a lead is left");
    };
    assert_eq!((left.id, left.content.contact), (other.id, Some(bystander.id)));
    let said = left.content.data.as_str();
    assert!(
        !said.contains("Ann Quillfeather") && said.contains("…"),
        "they are named no more"
    );
    let mut session = installation.begin().await;
    session.delete_lead(business, other.id).await.unwrap();
    session.commit().await.unwrap();
    installation.assert_nowhere("quillfeather").await;
    let updates = "SELECT count(*) FROM events WHERE name = 'lead.updated'";
    assert_eq!(installation.number(updates).await, 2 * LEADS as i64 + 1);
    let left = "SELECT (SELECT count(*) FROM erasure_records) + (SELECT count(*) FROM deletions)";
    assert_eq!(installation.number(left).await, 0);
}

async fn all_former_names_of_a_contact_are_erased(installation: Installation) {
    const NAMES: usize = 1_100;
    let business = installation.business("acme").await;
    let contact = installation.contact(business, named("Ann Now"), 0).await;
    let all: Vec<String> = (0..NAMES).map(|number| format!("Quill{number}feather")).collect();
    let lead = LeadDraft {
        contact: Some(contact.id),
        data: data(&json!({"message": all.join(", ")}).to_string()),
        ..a_lead()
    };
    let lead = installation.lead(business, lead, 1).await;
    let mut session = installation.begin().await;
    for name in &all {
        let data = json!({"id": contact.id.get(), "data": {"name": name}});
        session
            .record(business, event(EventName::ContactUpdated, contact.id.get(), &data))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    installation.erase(business, &contact).await;
    installation.finish_deletions().await;
    installation.assert_nowhere("quill").await;
    let left = installation.stored(business, lead.id).await.unwrap();
    assert_eq!(left.content.data.as_str().matches('…').count(), NAMES);
}

async fn answers_about_what_was_linked_later_are_emptied(installation: Installation) {
    let business = installation.business("acme").await;
    let contact = installation.contact(business, named("Ann"), 0).await;
    let mut lead = installation.lead(business, a_lead(), 1).await;
    let vehicle = draft(json!({"type": "s", "status": "draft", "country": "GB", "data": {}}));
    let other = installation.lead(business, a_lead(), 1).await;
    let mut session = installation.begin().await;
    let mut vehicle = session.insert_vehicle(business, vehicle, at(1)).await.unwrap();
    let sale = a_draft_sale(contact.id, vehicle.id);
    let invoice = session.insert_invoice(business, sale, at(1)).await.unwrap();
    let order = a_draft_order(contact.id, vehicle.id);
    let order = session.insert_order(business, order, at(1)).await.unwrap();
    let fingerprint = Fingerprint::of("POST", "/2.0/leads", "", b"");
    let records = [
        ("invoice", ShownRecord::Invoice(invoice.id), invoice.id.get()),
        ("order", ShownRecord::Order(order.id), order.id.get()),
        ("lead", ShownRecord::Lead(lead.id), lead.id.get()),
        ("other", ShownRecord::Lead(other.id), other.id.get()),
        ("vehicle", ShownRecord::Vehicle(vehicle.id), vehicle.id.get()),
    ];
    for (name, record, id) in records {
        let request = KeyedRequest {
            key: name.parse().unwrap(),
            fingerprint,
        };
        let answer = StoredResponse {
            status: 201,
            body: json!({"success": true, "data": {"id": id, "name": "Ann"}})
                .to_string()
                .into_bytes(),
        };
        let shows = Shown {
            contact: None,
            record: Some(record),
        };
        session
            .store_response(business, &request, at(5), &answer, shows)
            .await
            .unwrap();
    }
    lead.content.contact = Some(contact.id);
    session.save_lead(business, &lead).await.unwrap();
    vehicle.content.data.stock.purchase_supplier_id = Some(contact.id);
    session.save_vehicle(business, &vehicle).await.unwrap();
    session.commit().await.unwrap();

    installation.erase(business, &contact).await;
    let mut session = installation.begin().await;
    for (name, _, id) in records {
        let request = KeyedRequest {
            key: name.parse().unwrap(),
            fingerprint,
        };
        let KeyUse::Answered(replay) = session.key_use(business, &request, at(6)).await.unwrap() else {
            panic!("the answer is still there");
        };
        let body: Value = serde_json::from_slice(&replay.body).unwrap();
        let expected = if name == "other" {
            json!({"id": id, "name": "Ann"})
        } else {
            json!({"id": id})
        };
        assert_eq!((replay.status, &body["data"]), (201, &expected), "{name}");
    }
}
