//! A dealership with a file of contacts.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use async_trait::async_trait;
use forecourt_accounts::{Business, BusinessFile, Caller};
use forecourt_contacts::{
    BlockKey, Contact, ContactChanges, ContactDraft, ContactError, ContactFilter, ContactKeys, ContactNote,
    ContactReader, ContactStore, ContactView, DuplicateProbe, FollowBlocks, LinkedLead, LoginInvitation, NewNote,
    PasswordHash, PastEvent, SetFollowBlocks, abandon_login_email, add_note, begin_login_email, create_contact,
    delete_contact, delete_note, finish_login_email, read_follow_blocks, set_follow_blocks, update_contact,
};
use forecourt_kernel::{
    BusinessId, Clock, ContactId, ContactNoteId, Country, EventLog, EventName, EventSequence, LeadId, NewEvent, Page,
    PageRequest, Phone, ScopeSet, StoreResult, Timestamp, Version, View, bounds::MAX_NOTES_SHOWN,
};
use forecourt_reference::Catalogue;
use serde_json::{Value, json};

/// 2026-03-01T09:30:00Z, when the office opens.
pub(crate) const OPENING: i64 = 1_772_357_400;

/// A moment that many seconds after [`OPENING`].
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(OPENING + seconds)
}

const ACME: BusinessId = BusinessId::new(7);
const OTHER: BusinessId = BusinessId::new(8);

/// A business with a second site, one staff user and two tags for contacts, of which new ones take one.
pub(crate) fn acme() -> Business {
    let file: BusinessFile = serde_json::from_value(json!({
        "tag": "acme", "name": "Acme Cars", "email": "office@acme.example", "website": "https://acme.example",
        "sites": [{"id": 2, "name": "North"}],
        "staff": [{"id": 1, "name": "Sam Hill"}],
        "tags": [
            {"resource": "contact", "name": "Good", "colour": "#3a3", "type": "mood", "defaulted": true},
            {"resource": "contact", "name": "Bad", "colour": "#d33"},
            {"resource": "lead", "name": "Hot", "defaulted": true},
        ],
    }))
    .unwrap();
    let business = file.apply(None, at(0)).unwrap();
    Business { id: ACME, ..business }
}

fn caller(business: Business) -> Caller {
    Caller {
        key: "fck_0123456789abcdef".parse().unwrap(),
        scopes: ScopeSet::all(),
        business: Arc::new(business),
    }
}

/// A caller of [`acme`].
pub(crate) fn acme_caller() -> Caller {
    caller(acme())
}

/// A clock that shows the time it was set to.
pub(crate) struct At(pub(crate) Timestamp);

impl Clock for At {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Everything that the use cases work on, and the use cases.
pub(crate) struct Office {
    pub(crate) store: Memory,
    pub(crate) caller: Caller,
    pub(crate) clock: At,
}

impl Office {
    pub(crate) fn open() -> Self {
        Self {
            store: Memory::default(),
            caller: acme_caller(),
            clock: At(at(0)),
        }
    }

    /// An office with one contact on file, and that was noted.
    pub(crate) async fn with_contact(fields: ContactChanges) -> (Self, Contact) {
        let mut office = Self::open();
        let contact = office.create(fields).await.unwrap();
        office.store.events.clear();
        (office, contact)
    }

    /// Makes it that many seconds after [`OPENING`].
    pub(crate) fn set_clock(&mut self, seconds: i64) {
        self.clock = At(at(seconds));
    }

    /// Makes the next calls come from another business.
    pub(crate) fn change_business(&mut self) {
        self.caller = caller(Business { id: OTHER, ..acme() });
    }

    pub(crate) async fn create(&mut self, fields: ContactChanges) -> Result<Contact, ContactError> {
        create_contact(&mut self.store, &self.clock, &self.caller, fields).await
    }

    pub(crate) async fn update(&mut self, id: ContactId, fields: ContactChanges) -> Result<Contact, ContactError> {
        update_contact(&mut self.store, &self.clock, &self.caller, id, fields).await
    }

    pub(crate) async fn delete(&mut self, id: ContactId) -> Result<(), ContactError> {
        delete_contact(&mut self.store, &self.clock, &self.caller, id).await
    }

    pub(crate) async fn add_note(
        &mut self,
        id: ContactId,
        note: &str,
        user: Option<i64>,
    ) -> Result<ContactNote, ContactError> {
        let note = NewNote {
            note: note.into(),
            user: user.map(forecourt_kernel::StaffId::new),
        };
        add_note(&mut self.store, &self.clock, &self.caller, id, note).await
    }

    pub(crate) async fn delete_note(&mut self, id: ContactId, note: ContactNoteId) -> Result<(), ContactError> {
        delete_note(&mut self.store, &self.caller, id, note).await
    }

    /// Begins to mail the contact's login details.
    pub(crate) async fn begin_mail(&mut self, id: ContactId) -> Result<Option<LoginInvitation>, ContactError> {
        begin_login_email(&mut self.store, &self.clock, &self.caller, id).await
    }

    /// Does what follows once the mail was sent.
    pub(crate) async fn finish_mail(
        &mut self,
        invitation: &LoginInvitation,
        hash: PasswordHash,
    ) -> Result<(), ContactError> {
        finish_login_email(&mut self.store, &self.caller, invitation, hash).await
    }

    /// Does what follows once the mail has failed.
    pub(crate) async fn abandon_mail(&mut self, invitation: &LoginInvitation) {
        let abandoned = abandon_login_email(&mut self.store, &self.caller, invitation).await;
        abandoned.unwrap();
    }

    pub(crate) async fn blocks(&mut self, id: ContactId) -> Result<FollowBlocks, ContactError> {
        read_follow_blocks(&mut self.store, &self.caller, id).await
    }

    pub(crate) async fn block(
        &mut self,
        id: ContactId,
        email: Option<bool>,
        sms: Option<bool>,
    ) -> Result<FollowBlocks, ContactError> {
        let command = SetFollowBlocks { email, sms };
        set_follow_blocks(&mut self.store, &self.clock, &self.caller, id, command).await
    }

    /// The contact as it is kept.
    pub(crate) fn stored(&self, id: ContactId) -> Contact {
        self.store.contacts[&(self.caller.business_id(), id)].clone()
    }

    /// The contact as an integrator sees it in full.
    pub(crate) fn view(&self, contact: &Contact) -> Value {
        serde_json::to_value(ContactView::new(
            contact,
            View::Full,
            &self.caller.business.catalogue,
            self.caller.scopes,
        ))
        .unwrap()
    }

    /// Asserts that `contact` is stored, and that the one event recorded since has this name and shows it in full.
    #[track_caller]
    pub(crate) fn assert_told(&mut self, name: EventName, contact: &Contact) {
        assert_eq!(self.stored(contact.id), *contact);
        let events = std::mem::take(&mut self.store.events);
        let [(business, event)] = &*events else {
            panic!("one event was expected: {events:?}")
        };
        assert_eq!(*business, self.caller.business_id());
        assert_eq!(
            (event.name, event.record, event.at),
            (name, contact.id.get(), self.clock.0)
        );
        let full = ContactView::new(contact, View::Full, &self.caller.business.catalogue, ScopeSet::all());
        assert_eq!(event.data, serde_json::to_string(&full).unwrap());
    }

    /// Asserts that `contact` is stored, and that nothing was written or recorded since.
    #[track_caller]
    pub(crate) fn assert_untouched(&self, contact: &Contact) {
        assert_eq!(self.stored(contact.id), *contact);
        assert_eq!(self.store.saves, 0);
        assert_eq!(self.store.events, []);
    }
}

/// What a body says.
pub(crate) fn changes(body: Value) -> ContactChanges {
    serde_json::from_value(body).unwrap()
}

/// A contact with that name and nothing else.
pub(crate) fn named(name: &str) -> ContactChanges {
    changes(json!({"name": name}))
}

/// A contact who logs in with that email.
pub(crate) fn login(name: &str, email: &str) -> ContactChanges {
    changes(json!({"name": name, "email": email, "login": true}))
}

pub(crate) fn phone(text: &str) -> Phone {
    Phone::parse(text, Country::GB).unwrap()
}

/// The invalid fields.
#[track_caller]
pub(crate) fn faults<T: std::fmt::Debug>(outcome: Result<T, ContactError>) -> Vec<String> {
    match outcome {
        Err(ContactError::Invalid(errors)) => errors.as_slice().iter().map(|error| error.field.clone()).collect(),
        other => panic!("a refusal of fields was expected: {other:?}"),
    }
}

/// Storage that forgets.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) contacts: BTreeMap<(BusinessId, ContactId), Contact>,
    pub(crate) passwords: BTreeMap<ContactId, PasswordHash>,
    /// Until when a contact's login details are being mailed.
    pub(crate) mailing: BTreeMap<(BusinessId, ContactId), Timestamp>,
    pub(crate) blocks: BTreeSet<(BusinessId, BlockKey)>,
    pub(crate) events: Vec<(BusinessId, NewEvent)>,
    pub(crate) erased: Vec<Contact>,
    /// How often a contact was saved.
    pub(crate) saves: u32,
    ids: i64,
}

impl Memory {
    fn next_id(&mut self) -> i64 {
        self.ids += 1;
        500 + self.ids
    }

    fn of(&self, business: BusinessId) -> impl Iterator<Item = &Contact> {
        self.contacts
            .iter()
            .filter(move |((owner, _), _)| *owner == business)
            .map(|(_, contact)| contact)
    }
}

#[async_trait]
impl ContactReader for Memory {
    async fn contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>> {
        Ok(self.contacts.get(&(business, id)).cloned())
    }

    async fn contacts(
        &mut self,
        _: BusinessId,
        _: &ContactFilter,
        _: &PageRequest,
        _: View,
    ) -> StoreResult<Page<Contact>> {
        panic!("what a list has is storage's affair")
    }

    async fn contact_like(&mut self, business: BusinessId, probe: &DuplicateProbe) -> StoreResult<Option<ContactId>> {
        let mut contacts = self.of(business);
        let found = contacts.find(|contact| probe.matches(&ContactKeys::new(&contact.content)));
        Ok(found.map(|contact| contact.id))
    }

    async fn contact_notes(
        &mut self,
        _: BusinessId,
        _: ContactId,
        _: &PageRequest,
    ) -> StoreResult<Option<Page<ContactNote>>> {
        panic!("what a list has is storage's affair")
    }

    async fn blocked(&mut self, business: BusinessId, keys: &[BlockKey]) -> StoreResult<Vec<BlockKey>> {
        let known = keys.iter().filter(|key| self.blocks.contains(&(business, **key)));
        Ok(known.copied().collect())
    }

    async fn newest_contact_notes(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Vec<ContactNote>> {
        let notes = &self.contacts[&(business, id)].notes;
        Ok(notes.iter().take(MAX_NOTES_SHOWN).cloned().collect())
    }

    async fn has_contact_password(&mut self, _: BusinessId, id: ContactId) -> StoreResult<bool> {
        Ok(self.passwords.contains_key(&id))
    }

    async fn contact_leads(
        &mut self,
        _: BusinessId,
        _: ContactId,
        _: LeadId,
        _: &Catalogue,
    ) -> StoreResult<Vec<LinkedLead>> {
        Ok(Vec::new())
    }

    async fn contact_events(&mut self, _: BusinessId, _: ContactId, _: EventSequence) -> StoreResult<Vec<PastEvent>> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl ContactStore for Memory {
    async fn lock_contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>> {
        let contact = self.contacts.get(&(business, id)).cloned();
        Ok(contact.map(|contact| Contact {
            notes: Vec::new(),
            ..contact
        }))
    }

    async fn login_holder(&mut self, business: BusinessId, email: &str) -> StoreResult<Option<ContactId>> {
        let email = email.to_lowercase();
        let mut contacts = self.of(business);
        let holder = contacts.find(|contact| contact.content.login && contact.content.email.to_lowercase() == email);
        Ok(holder.map(|contact| contact.id))
    }

    async fn insert_contact(
        &mut self,
        business: BusinessId,
        content: ContactDraft,
        at: Timestamp,
    ) -> StoreResult<Contact> {
        let contact = Contact {
            id: ContactId::new(self.next_id()),
            created: at,
            updated: at,
            version: Version::FIRST,
            notes: Vec::new(),
            content,
        };
        self.contacts.insert((business, contact.id), contact.clone());
        Ok(contact)
    }

    async fn save_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()> {
        self.saves += 1;
        let stored = self.contacts.get_mut(&(business, contact.id)).unwrap();
        let notes = std::mem::take(&mut stored.notes);
        *stored = Contact {
            notes,
            ..contact.clone()
        };
        Ok(())
    }

    async fn set_contact_password(
        &mut self,
        _: BusinessId,
        id: ContactId,
        hash: Option<PasswordHash>,
    ) -> StoreResult<()> {
        match hash {
            Some(hash) => self.passwords.insert(id, hash),
            None => self.passwords.remove(&id),
        };
        Ok(())
    }

    async fn lease_login_mail(
        &mut self,
        business: BusinessId,
        id: ContactId,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool> {
        let free = self.mailing.get(&(business, id)).is_none_or(|until| *until <= now);
        if free {
            self.mailing.insert((business, id), until);
        }
        Ok(free)
    }

    async fn return_login_mail(&mut self, business: BusinessId, id: ContactId, until: Timestamp) -> StoreResult<bool> {
        let held = self.mailing.get(&(business, id)) == Some(&until);
        if held {
            self.mailing.remove(&(business, id));
        }
        Ok(held)
    }

    async fn count_contact_notes(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<usize> {
        Ok(self.contacts[&(business, contact)].notes.len())
    }

    async fn insert_contact_note(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        note: NewNote,
        at: Timestamp,
    ) -> StoreResult<ContactNote> {
        let NewNote { note, user } = note;
        let note = ContactNote {
            id: ContactNoteId::new(self.next_id()),
            contact,
            created: at,
            user,
            note,
        };
        let contact = self.contacts.get_mut(&(business, contact)).unwrap();
        contact.notes.insert(0, note.clone());
        Ok(note)
    }

    async fn delete_contact_note(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        note: ContactNoteId,
    ) -> StoreResult<bool> {
        let contact = self.contacts.get_mut(&(business, contact)).unwrap();
        let before = contact.notes.len();
        contact.notes.retain(|kept| kept.id != note);
        Ok(contact.notes.len() < before)
    }

    async fn set_blocked(&mut self, business: BusinessId, key: &BlockKey, blocked: bool) -> StoreResult<()> {
        let changed = if blocked {
            self.blocks.insert((business, *key))
        } else {
            self.blocks.remove(&(business, *key))
        };
        assert!(changed, "nothing is to be set that is set");
        Ok(())
    }

    async fn erase_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()> {
        let erased = self.contacts.remove(&(business, contact.id)).unwrap();
        self.passwords.remove(&contact.id);
        self.erased.push(erased);
        Ok(())
    }
}

#[async_trait]
impl EventLog for Memory {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.events.push((business, event));
        Ok(())
    }
}
