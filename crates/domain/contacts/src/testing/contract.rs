//! The contract suite for stores of contacts.

use std::collections::BTreeMap;

use forecourt_kernel::{
    BusinessId, ContactId, Country, Cursor, EventName, EventSequence, LeadId, NewEvent, PageRequest, Phone, Position,
    Range, StaffId, StoreError, TextFilter, Timestamp, Version, View,
    bounds::MAX_NOTES_SHOWN,
    testing::{Choices, assert_pages},
};
use forecourt_reference::Catalogue;

use super::samples::{a_contact, a_full_contact};
use crate::{
    Address, BlockKey, Contact, ContactDraft, ContactFilter, ContactKeys, ContactNote, ContactReader, ContactStore,
    DuplicateKind, DuplicateProbe, LOGIN_EMAIL_RULE, NewNote, PasswordHash, WholeText,
};

/// The contacts that [`contact_store_contract`] leaves in a store, for readers to find.
#[derive(Clone, Debug)]
pub struct ContactBook {
    business: BusinessId,
    contacts: BTreeMap<ContactId, Contact>,
}

/// Tests that `store` meets the contract of a store of contacts, and leaves contacts in it for [`contact_reader_contract`]. The
/// two businesses must have no contacts.
///
/// # Panics
/// If the store violates the contract.
pub async fn contact_store_contract(store: &mut dyn ContactStore, ours: BusinessId, theirs: BusinessId) -> ContactBook {
    keeps_every_field(store, ours).await;
    changes_one_contact_as_a_whole(store, ours).await;
    keeps_businesses_apart(store, ours, theirs).await;
    finds_who_logs_in(store, ours, theirs).await;
    keeps_notes(store, ours).await;
    keeps_blocks(store, ours, theirs).await;
    keeps_passwords(store, ours).await;
    leases_a_login_mail_to_one_at_a_time(store, ours).await;
    shows_what_has_happened(store, ours).await;
    erases_contacts(store, ours).await;
    let book = fill(store, ours, theirs).await;
    for filter in filters_of_each_kind() {
        assert_lists(store, &book, &filter).await;
    }
    book
}

/// Tests that `reader` lists and finds the contacts that [`contact_store_contract`] has stored.
///
/// # Panics
/// If it misses or adds a contact.
pub async fn contact_reader_contract(reader: &mut dyn ContactReader, book: &ContactBook) {
    for contact in book.contacts.values() {
        assert_eq!(stored(reader, book.business, contact.id).await.as_ref(), Some(contact));
    }
    let filters = filters_of_each_kind();
    for (place, one) in filters.iter().enumerate() {
        for other in &filters[..=place] {
            assert_lists(reader, book, &joined_filter(one, other)).await;
        }
    }
    finds_the_first_duplicate(reader, book).await;
}

/// Tests that `store` keeps the emails of logins unique within a business. The last step fails, so the transaction must be rolled
/// back.
///
/// # Panics
/// If the store violates the rule.
pub async fn login_email_contract(store: &mut dyn ContactStore, business: BusinessId) {
    let first = inserted(store, business, logging_in("Zoë@Example.com", true), 0).await;
    inserted(store, business, logging_in("zoë@example.com", false), 0).await;
    // A contact that no longer logs in leaves the email to others.
    let silent = Contact {
        content: logging_in("Zoë@Example.com", false),
        ..first
    };
    store.save_contact(business, &silent).await.expect("it is saved");
    inserted(store, business, logging_in("ZOË@example.com", true), 0).await;
    let twin = store
        .insert_contact(business, logging_in("ZOË@EXAMPLE.COM", true), at(1))
        .await;
    assert!(matches!(twin, Err(StoreError::Duplicate(rule)) if rule == LOGIN_EMAIL_RULE));
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(1_790_000_000 + seconds)
}

fn logging_in(email: &str, login: bool) -> ContactDraft {
    ContactDraft {
        email: email.to_owned(),
        login,
        ..a_contact()
    }
}

async fn stored(reader: &mut dyn ContactReader, business: BusinessId, id: ContactId) -> Option<Contact> {
    reader.contact(business, id).await.expect("it is read")
}

async fn inserted(store: &mut dyn ContactStore, business: BusinessId, draft: ContactDraft, second: i64) -> Contact {
    store
        .insert_contact(business, draft, at(second))
        .await
        .expect("it is stored")
}

async fn noted(
    store: &mut dyn ContactStore,
    business: BusinessId,
    contact: ContactId,
    text: &str,
    second: i64,
) -> ContactNote {
    let note = NewNote {
        note: text.to_owned(),
        user: (second % 2 == 0).then_some(StaffId::new(7)),
    };
    let stored = store
        .insert_contact_note(business, contact, note.clone(), at(second))
        .await
        .expect("it is stored");
    let expected = ContactNote {
        id: stored.id,
        contact,
        created: at(second),
        user: note.user,
        note: note.note,
    };
    assert_eq!(stored, expected);
    stored
}

async fn listed(reader: &mut dyn ContactReader, business: BusinessId) -> (Vec<Contact>, Option<i64>) {
    let everything = ContactFilter::default();
    let page = reader
        .contacts(business, &everything, &PageRequest::first(), View::Simple)
        .await;
    let page = page.expect("they are listed");
    (page.items, page.total)
}

fn drafts() -> [ContactDraft; 4] {
    let long = ContactDraft {
        name: "n".repeat(3000),
        company: "İSTANBUL ǅ ß ﬁ".repeat(200),
        vat: "9".repeat(3000),
        address: Address {
            line1: "é".repeat(3000),
            line2: "é".repeat(3000),
            city: "c".repeat(3000),
            state: "s".repeat(3000),
            zip: "z".repeat(3000),
            ..Address::default()
        },
        ..a_contact()
    };
    let signs = ContactDraft {
        name: "  \\ % _ \" 🚗 ".to_owned(),
        ..a_contact()
    };
    let full = ContactDraft {
        login: false,
        ..a_full_contact()
    };
    [a_contact(), full, signs, long]
}

async fn keeps_every_field(store: &mut dyn ContactStore, ours: BusinessId) {
    for (number, draft) in (1..).zip(drafts()) {
        let contact = inserted(store, ours, draft.clone(), number).await;
        let expected = Contact {
            id: contact.id,
            created: at(number),
            updated: at(number),
            version: Version::FIRST,
            notes: Vec::new(),
            content: draft,
        };
        assert_eq!(contact, expected);
        assert_eq!(stored(store, ours, contact.id).await.as_ref(), Some(&expected));
        let locked = store.lock_contact(ours, contact.id).await.expect("it is locked");
        assert_eq!(locked.as_ref(), Some(&expected));
        let (contacts, total) = listed(store, ours).await;
        assert_eq!(
            (contacts.first(), total),
            (Some(&expected), Some(number)),
            "newest first"
        );
    }
}

async fn changes_one_contact_as_a_whole(store: &mut dyn ContactStore, ours: BusinessId) {
    let bystander = inserted(store, ours, a_contact(), 0).await;
    let contact = inserted(store, ours, a_contact(), 0).await;
    for (step, content) in (1..).zip(drafts().into_iter().rev()) {
        let changed = Contact {
            content,
            updated: at(step),
            version: Version::new(step + 1),
            ..contact.clone()
        };
        store.save_contact(ours, &changed).await.expect("it is saved");
        assert_eq!(stored(store, ours, contact.id).await, Some(changed));
    }
    assert_eq!(stored(store, ours, bystander.id).await, Some(bystander));
    let early = Contact {
        updated: at(-9),
        ..contact.clone()
    };
    store.save_contact(ours, &early).await.expect("it is saved");
    assert_eq!(
        stored(store, ours, contact.id).await,
        Some(contact),
        "a clock that goes back is not followed"
    );
}

async fn keeps_businesses_apart(store: &mut dyn ContactStore, ours: BusinessId, theirs: BusinessId) {
    let contact = inserted(store, ours, a_full_contact(), 0).await;
    let note = noted(store, ours, contact.id, "Ours", 0).await;
    let first = PageRequest::first();
    assert_eq!(stored(store, theirs, contact.id).await, None);
    assert_eq!(store.lock_contact(theirs, contact.id).await.expect("an answer"), None);
    assert_eq!(
        store
            .contact_notes(theirs, contact.id, &first)
            .await
            .expect("an answer"),
        None
    );
    assert_eq!(
        store
            .login_holder(theirs, &contact.content.email)
            .await
            .expect("an answer"),
        None
    );
    let probe = DuplicateProbe::Email(ContactKeys::new(&contact.content).email);
    assert_eq!(store.contact_like(theirs, &probe).await.expect("an answer"), None);
    let changed = Contact {
        content: a_contact(),
        ..contact.clone()
    };
    store.save_contact(theirs, &changed).await.expect("nothing is saved");
    assert!(
        !store
            .delete_contact_note(theirs, contact.id, note.id)
            .await
            .expect("an answer")
    );
    let hash = PasswordHash::from_phc("$x".into());
    store
        .set_contact_password(theirs, contact.id, Some(hash))
        .await
        .expect("nothing is kept");
    assert!(!store.has_contact_password(ours, contact.id).await.expect("an answer"));
    assert!(!lease(store, theirs, contact.id, 0, 9).await);
    assert!(lease(store, ours, contact.id, 0, 9).await);
    assert!(!give_back(store, theirs, contact.id, 9).await);
    assert!(give_back(store, ours, contact.id, 9).await);
    let expected = Contact {
        notes: vec![note],
        ..contact.clone()
    };
    assert_eq!(stored(store, ours, contact.id).await, Some(expected));
    assert_eq!(listed(store, theirs).await, (Vec::new(), Some(0)));
    let theirs_alike = inserted(store, theirs, a_full_contact(), 0).await;
    store.erase_contact(theirs, &theirs_alike).await.expect("it is erased");
    store.erase_contact(ours, &contact).await.expect("it is erased");
}

async fn finds_who_logs_in(store: &mut dyn ContactStore, ours: BusinessId, theirs: BusinessId) {
    inserted(store, ours, logging_in("bob@example.com", false), 0).await;
    let bob = inserted(store, ours, logging_in("Bob@Example.com", true), 0).await;
    for (business, email, expected) in [
        (ours, "BOB@example.COM", Some(bob.id)),
        (ours, "b@example.com", None),
        (theirs, "bob@example.com", None),
    ] {
        assert_eq!(
            store.login_holder(business, email).await.expect("an answer"),
            expected,
            "{email}"
        );
    }
}

async fn keeps_notes(store: &mut dyn ContactStore, ours: BusinessId) {
    let contact = inserted(store, ours, a_contact(), 0).await.id;
    let other = inserted(store, ours, a_contact(), 0).await.id;
    let foreign = noted(store, ours, other, "Another's", 0).await;
    let mut notes = Vec::new();
    for second in 0..60 {
        notes.insert(
            0,
            noted(store, ours, contact, &format!("Line {second}\nand\tmore 🚗"), second).await,
        );
    }
    assert_eq!(store.count_contact_notes(ours, contact).await.expect("a count"), 60);
    assert_eq!(store.count_contact_notes(ours, other).await.expect("a count"), 1);
    assert_pages(
        &notes,
        |note| note.id.get(),
        async |request| {
            let page = store
                .contact_notes(ours, contact, &request)
                .await
                .expect("they are listed");
            page.expect("a contact")
        },
    )
    .await;
    let newest = store.newest_contact_notes(ours, contact).await.expect("they are read");
    assert_eq!(newest, notes[..MAX_NOTES_SHOWN]);
    let shown = stored(store, ours, contact).await.expect("a contact").notes;
    assert_eq!(shown, notes[..MAX_NOTES_SHOWN]);
    let locked = store
        .lock_contact(ours, contact)
        .await
        .expect("it is locked")
        .expect("a contact");
    assert_eq!(locked.notes, [], "a writer loads none");
    let everything = ContactFilter::default();
    for (view, expected) in [(View::Simple, 0), (View::Full, MAX_NOTES_SHOWN)] {
        let page = store
            .contacts(ours, &everything, &PageRequest::first(), view)
            .await
            .expect("they are listed");
        assert_eq!(page.items[1].notes.len(), expected);
    }
    for (contact, note, there) in [
        (contact, foreign.id, false),
        (contact, notes[1].id, true),
        (contact, notes[1].id, false),
        (other, notes[2].id, false),
    ] {
        assert_eq!(
            store.delete_contact_note(ours, contact, note).await.expect("an answer"),
            there
        );
    }
    notes.remove(1);
    assert_eq!(store.count_contact_notes(ours, contact).await.expect("a count"), 59);
    let missing = ContactId::new(i64::MAX);
    assert_eq!(
        store
            .contact_notes(ours, missing, &PageRequest::first())
            .await
            .expect("an answer"),
        None
    );
}

async fn keeps_blocks(store: &mut dyn ContactStore, ours: BusinessId, theirs: BusinessId) {
    let key = |email| BlockKey::email(ours, email).expect("an address");
    let keys = [key("a@example.com"), key("b@example.com")];
    for (blocked, left) in [(true, &keys[..1]), (false, &[])] {
        for _ in 0..2 {
            store.set_blocked(ours, &keys[0], blocked).await.expect("it is set");
        }
        assert_eq!(store.blocked(ours, &keys).await.expect("an answer"), left);
        assert_eq!(store.blocked(theirs, &keys).await.expect("an answer"), []);
    }
}

async fn keeps_passwords(store: &mut dyn ContactStore, ours: BusinessId) {
    let contact = inserted(store, ours, a_contact(), 0).await;
    for hash in [Some("$argon2id$one"), Some("$argon2id$two"), None] {
        let kept = hash.map(|hash| PasswordHash::from_phc(hash.to_owned()));
        store
            .set_contact_password(ours, contact.id, kept)
            .await
            .expect("it is kept");
        // A change of the record does not change the password.
        store.save_contact(ours, &contact).await.expect("it is saved");
        let known = store.has_contact_password(ours, contact.id).await.expect("an answer");
        assert_eq!(known, hash.is_some());
    }
}

async fn lease(store: &mut dyn ContactStore, business: BusinessId, id: ContactId, from: i64, until: i64) -> bool {
    store
        .lease_login_mail(business, id, at(from), at(until))
        .await
        .expect("an answer")
}

async fn give_back(store: &mut dyn ContactStore, business: BusinessId, id: ContactId, until: i64) -> bool {
    store
        .return_login_mail(business, id, at(until))
        .await
        .expect("an answer")
}

async fn leases_a_login_mail_to_one_at_a_time(store: &mut dyn ContactStore, ours: BusinessId) {
    let contact = inserted(store, ours, a_contact(), 0).await;
    let (ann, bob) = (contact.id, inserted(store, ours, a_contact(), 0).await.id);
    assert!(lease(store, ours, ann, 0, 10).await);
    assert!(!lease(store, ours, ann, 9, 19).await);
    assert!(lease(store, ours, bob, 0, 10).await);
    // A change of the record or of the password does not affect the lease.
    store.save_contact(ours, &contact).await.expect("it is saved");
    store
        .set_contact_password(ours, ann, None)
        .await
        .expect("it is dropped");
    assert!(!lease(store, ours, ann, 9, 19).await);
    assert!(lease(store, ours, ann, 10, 20).await, "it is over");
    assert!(!give_back(store, ours, ann, 10).await, "it is another's");
    assert!(!lease(store, ours, ann, 11, 21).await);
    assert!(give_back(store, ours, ann, 20).await);
    assert!(!give_back(store, ours, ann, 20).await);
    assert!(lease(store, ours, ann, 11, 21).await);
    assert!(give_back(store, ours, bob, 10).await, "late, but nobody came");
    let missing = ContactId::new(i64::MAX);
    assert!(!lease(store, ours, missing, 0, 10).await);
    assert!(!give_back(store, ours, missing, 10).await);
}

async fn shows_what_has_happened(store: &mut dyn ContactStore, ours: BusinessId) {
    let id = inserted(store, ours, a_contact(), 0).await.id;
    for (name, record) in [
        (EventName::ContactCreated, id.get()),
        (EventName::LeadCreated, id.get()),
        (EventName::ContactUpdated, id.get() + 1),
        (EventName::ContactUpdated, id.get()),
    ] {
        let event = NewEvent {
            name,
            record,
            data: format!(r#"{{"id":{record}}}"#),
            at: at(3),
        };
        store.record(ours, event).await.expect("it is recorded");
    }
    let events = store
        .contact_events(ours, id, EventSequence(0))
        .await
        .expect("they are read");
    let names: Vec<_> = events.iter().map(|event| event.name).collect();
    assert_eq!(names, [EventName::ContactCreated, EventName::ContactUpdated]);
    for event in &events {
        assert!(event.id.starts_with("evt_"));
        assert_eq!(
            (event.created, event.data.get()),
            (at(3), &*format!(r#"{{"id":{id}}}"#))
        );
    }
    for (seen, left) in [(0, 1), (1, 0)] {
        let rest = store
            .contact_events(ours, id, events[seen].sequence)
            .await
            .expect("they are read");
        assert_eq!(rest.len(), left);
    }
    let leads = store
        .contact_leads(ours, id, LeadId::new(0), &Catalogue::default())
        .await;
    assert!(leads.expect("an answer").is_empty());
}

async fn erases_contacts(store: &mut dyn ContactStore, ours: BusinessId) {
    let draft = ContactDraft {
        name: "Only One".to_owned(),
        ..logging_in("only@example.com", true)
    };
    let contact = inserted(store, ours, draft, 0).await;
    let id = contact.id;
    noted(store, ours, id, "Hers", 0).await;
    let hash = PasswordHash::from_phc("$x".into());
    store
        .set_contact_password(ours, id, Some(hash))
        .await
        .expect("it is kept");
    let key = BlockKey::email(ours, "only@example.com").expect("an address");
    store.set_blocked(ours, &key, true).await.expect("it is set");
    let (_, before) = listed(store, ours).await;
    let locked = store
        .lock_contact(ours, id)
        .await
        .expect("it is locked")
        .expect("a contact");
    store.erase_contact(ours, &locked).await.expect("it is erased");

    assert_eq!(stored(store, ours, id).await, None);
    assert_eq!(store.lock_contact(ours, id).await.expect("an answer"), None);
    let (left, total) = listed(store, ours).await;
    assert!(left.iter().all(|contact| contact.id != id));
    assert_eq!(total, before.map(|before| before - 1));
    assert_eq!(
        store.login_holder(ours, "only@example.com").await.expect("an answer"),
        None
    );
    for (kind, text) in [
        (DuplicateKind::Email, "only@example.com"),
        (DuplicateKind::Name, "only one"),
    ] {
        let probe = DuplicateProbe::text(kind, text, Country::GB).expect("a probe");
        assert_eq!(store.contact_like(ours, &probe).await.expect("an answer"), None);
    }
    assert_eq!(
        store
            .contact_notes(ours, id, &PageRequest::first())
            .await
            .expect("an answer"),
        None
    );
    assert!(!store.has_contact_password(ours, id).await.expect("an answer"));
    assert_eq!(
        store.blocked(ours, &[key]).await.expect("an answer"),
        [key],
        "blocks stay"
    );
    // Its email is free again.
    let next = inserted(store, ours, logging_in("only@example.com", true), 0).await;
    assert!(next.id > id, "no id is used twice");
}

const NAMES: [&str; 6] = ["Ann Smith", "ANN SMITH", "Ann-Smith", "Zoë", "100%", ""];
const EMAILS: [&str; 5] = [
    "ann@example.com",
    "Ann@Example.com",
    "zoë@example.org",
    "a_b@example.com",
    "",
];
const PHONES: [&str; 3] = ["+441632960123", "+447700900123", ""];
const ZIPS: [&str; 4] = ["LS1 4AB", "ls14ab", "SW1A 1AA", ""];
const LINES: [&str; 4] = ["1 High Street", "1, high street.", "2 Low Road", ""];

/// A contact made of few different values, so that many contacts are alike.
pub fn any_contact(choices: &mut Choices) -> ContactDraft {
    let mut text = |list: &[&str]| (*choices.pick(list)).to_owned();
    ContactDraft {
        name: text(&NAMES),
        email: text(&EMAILS),
        company: text(&["Lee & Sons", "LEE & SONS", "Lee and Sons", ""]),
        vat: text(&["GB 123", "gb123", ""]),
        telephone: text(&PHONES),
        mobile: text(&PHONES),
        address: Address {
            line1: text(&LINES),
            city: text(&["Leeds", "LEEDS", "York", ""]),
            state: text(&["Yorks", ""]),
            country: text(&["GB", "IE", ""]).parse().ok(),
            zip: text(&ZIPS),
            ..Address::default()
        },
        ..a_contact()
    }
}

/// Replaces all contacts of the businesses with contacts made of few different values.
async fn fill(store: &mut dyn ContactStore, ours: BusinessId, theirs: BusinessId) -> ContactBook {
    let whole = PageRequest {
        per_page: PageRequest::MAX_PER_PAGE,
        position: Position::After(Cursor::at([i64::MAX])),
    };
    let before = store
        .contacts(ours, &ContactFilter::default(), &whole, View::Simple)
        .await;
    for contact in before.expect("they are listed").items {
        store.erase_contact(ours, &contact).await.expect("it is erased");
    }
    let (mut choices, mut contacts) = (Choices::new(1), BTreeMap::new());
    for number in 0..200 {
        let draft = any_contact(&mut choices);
        if number % 4 == 3 {
            inserted(store, theirs, draft, number).await;
            continue;
        }
        let mut contact = inserted(store, ours, draft, number).await;
        if number % 4 == 2 {
            contact.content = any_contact(&mut choices);
            contact.version = contact.version.next();
            contact.updated = contact.created.plus_seconds(100);
            store.save_contact(ours, &contact).await.expect("it is saved");
        }
        contacts.insert(contact.id, contact);
    }
    ContactBook {
        business: ours,
        contacts,
    }
}

/// Filters of every kind, for lists of contacts from [`any_contact`].
pub fn filters_of_each_kind() -> Vec<ContactFilter> {
    let all = ContactFilter::default;
    let phone = |text: &str| Phone::parse(text, Country::GB).ok();
    let emails = EMAILS
        .into_iter()
        .chain(["%example.com", "ann%", "%nn@ex%", "%a_b@%", "%nobody%"]);
    let mut filters = vec![all()];
    filters.extend(emails.map(|text| ContactFilter {
        email: TextFilter::parse(text).ok(),
        ..all()
    }));
    filters.extend(NAMES.map(|text| ContactFilter {
        name: Some(WholeText::new(text)),
        ..all()
    }));
    filters.extend(["lee & sons", "Lee and Sons", "%", ""].map(|text| ContactFilter {
        company: Some(WholeText::new(text)),
        ..all()
    }));
    filters.extend(["gb 123", "GB123", "x"].map(|text| ContactFilter {
        vat: Some(WholeText::new(text)),
        ..all()
    }));
    filters.extend(ZIPS.map(|text| ContactFilter {
        zip: Some(WholeText::new(text)),
        ..all()
    }));
    for text in ["01632 960123", "07700 900123"] {
        filters.push(ContactFilter {
            telephone: phone(text),
            ..all()
        });
        filters.push(ContactFilter {
            mobile: phone(text),
            ..all()
        });
    }
    let seconds = |seconds: i64| Some(at(seconds));
    for (from, to) in [
        (seconds(20), seconds(60)),
        (None, seconds(100)),
        (seconds(150), None),
        (seconds(42), seconds(42)),
    ] {
        let range = Some(Range { from, to });
        filters.push(ContactFilter {
            created: range,
            ..all()
        });
        filters.push(ContactFilter {
            updated: range,
            ..all()
        });
    }
    filters
}

/// Joins two filters. If both have a field, the first one's is taken.
pub fn joined_filter(one: &ContactFilter, other: &ContactFilter) -> ContactFilter {
    let (one, other) = (one.clone(), other.clone());
    ContactFilter {
        email: one.email.or(other.email),
        name: one.name.or(other.name),
        company: one.company.or(other.company),
        vat: one.vat.or(other.vat),
        zip: one.zip.or(other.zip),
        telephone: one.telephone.or(other.telephone),
        mobile: one.mobile.or(other.mobile),
        created: one.created.or(other.created),
        updated: one.updated.or(other.updated),
    }
}

async fn assert_lists(reader: &mut dyn ContactReader, book: &ContactBook, filter: &ContactFilter) {
    let passing = book.contacts.values().rev().filter(|contact| filter.matches(contact));
    let expected: Vec<Contact> = passing.cloned().collect();
    for view in [View::Simple, View::Full] {
        assert_pages(
            &expected,
            |contact| contact.id.get(),
            async |request| {
                let page = reader.contacts(book.business, filter, &request, view).await;
                page.unwrap_or_else(|failure| panic!("{filter:?}: {failure}"))
            },
        )
        .await;
    }
}

async fn finds_the_first_duplicate(reader: &mut dyn ContactReader, book: &ContactBook) {
    let text = |kind, value| DuplicateProbe::text(kind, value, Country::GB).expect("a probe");
    let mut probes = vec![
        text(DuplicateKind::Email, "ANN@example.com"),
        text(DuplicateKind::Email, "nobody@example.com"),
        text(DuplicateKind::Phone, "01632 960123"),
        text(DuplicateKind::Phone, "+447700900123"),
        text(DuplicateKind::Phone, "+447700900999"),
        text(DuplicateKind::Name, "ann smith"),
        text(DuplicateKind::Name, "Bea"),
        text(DuplicateKind::Company, "lee&sons"),
        text(DuplicateKind::Vat, "GB-123"),
    ];
    for line1 in LINES {
        for zip in ZIPS {
            for (city, country) in [("", ""), ("leeds", "GB"), ("York", "IE"), ("Hull", "")] {
                let address = Address {
                    line1: line1.to_owned(),
                    zip: zip.to_owned(),
                    city: city.to_owned(),
                    country: country.parse().ok(),
                    ..Address::default()
                };
                probes.extend(DuplicateProbe::address(&address));
            }
        }
    }
    let mut hits = 0;
    for probe in &probes {
        let mut contacts = book.contacts.values();
        let first = contacts.find(|contact| probe.matches(&ContactKeys::new(&contact.content)));
        hits += usize::from(first.is_some());
        let found = reader.contact_like(book.business, probe).await.expect("an answer");
        assert_eq!(found, first.map(|contact| contact.id), "{probe:?}");
    }
    assert!(hits > 20 && hits < probes.len(), "{hits} of {}", probes.len());
}
