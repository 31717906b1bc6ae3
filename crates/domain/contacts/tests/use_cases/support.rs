//! A dealership with a file of contacts.

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_contacts::{
    Contact, ContactChanges, ContactError, ContactNote, ContactView, FollowBlocks, LoginInvitation, NewNote,
    PasswordHash, SetFollowBlocks, abandon_login_email, add_note, begin_login_email, create_contact, delete_contact,
    delete_note, finish_login_email, read_follow_blocks, set_follow_blocks, testing::MemoryStore, update_contact,
    validate_contact_change, validate_new_contact,
};
use forecourt_kernel::{
    BusinessId, Clock as _, ContactId, ContactNoteId, Country, EventName, Phone, ScopeSet, SiteId, StaffId, Timestamp,
    Valid, View, testing::FixedClock,
};
use forecourt_reference::{Site, StaffUser, Tag, TagResource};
use serde_json::{Value, json};

/// 2026-03-01T09:30:00Z, when the office opens.
pub(crate) const OPENING: i64 = 1_772_357_400;

/// The moment `seconds` after [`OPENING`].
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(OPENING + seconds)
}

const ACME: BusinessId = BusinessId::new(7);
const OTHER: BusinessId = BusinessId::new(8);

/// A business with a second site, one staff user and two tags for contacts, one of which new contacts get.
pub(crate) fn acme() -> Business {
    let tag = |resource, name: &str, colour: &str, kind: &str, defaulted| Tag {
        resource,
        name: name.into(),
        colour: colour.into(),
        kind: kind.into(),
        defaulted,
    };
    let mut acme = Business::new(ACME, "acme", "Acme Cars");
    acme.email = "office@acme.example".into();
    acme.website = "https://acme.example".into();
    acme.catalogue.sites = vec![Site {
        id: SiteId::new(2),
        ..Site::main("North")
    }];
    acme.catalogue.staff = vec![StaffUser {
        id: StaffId::new(1),
        name: "Sam Hill".into(),
        role: Vec::new(),
        email: String::new(),
    }];
    acme.catalogue.tags = vec![
        tag(TagResource::Contact, "Good", "#3a3", "mood", true),
        tag(TagResource::Contact, "Bad", "#d33", "", false),
        tag(TagResource::Lead, "Hot", "", "", true),
    ];
    acme
}

/// A caller of [`acme`].
pub(crate) fn acme_caller() -> Caller {
    Caller::of(acme(), ScopeSet::all())
}

/// The use cases, with the data that they work on.
pub(crate) struct Office {
    pub(crate) store: MemoryStore,
    pub(crate) caller: Caller,
    pub(crate) clock: FixedClock,
    saves: usize,
}

impl Office {
    pub(crate) fn open() -> Self {
        Self {
            store: MemoryStore::default(),
            caller: acme_caller(),
            clock: FixedClock::at(at(0)),
            saves: 0,
        }
    }

    /// Opens an office with one contact on file, whose creation is not counted.
    pub(crate) async fn with_contact(fields: ContactChanges) -> (Self, Contact) {
        let mut office = Self::open();
        let contact = office.create(fields).await.unwrap();
        office.forget_outcomes();
        (office, contact)
    }

    /// Ignores everything that was written or recorded before.
    pub(crate) fn forget_outcomes(&mut self) {
        self.store.events.clear();
        self.saves = self.store.contacts.saves();
    }

    /// Sets the clock to `seconds` after [`OPENING`].
    pub(crate) fn set_clock(&mut self, seconds: i64) {
        self.clock.set(at(seconds));
    }

    /// Makes the next calls come from another business.
    pub(crate) fn change_business(&mut self) {
        self.caller = Caller::of(Business { id: OTHER, ..acme() }, ScopeSet::all());
    }

    fn rules(&self) -> Rules<'_> {
        Rules {
            business: &self.caller.business,
            now: self.clock.now(),
        }
    }

    pub(crate) async fn create(&mut self, fields: ContactChanges) -> Result<Contact, ContactError> {
        let fields = Valid::new(fields, |fields| validate_new_contact(fields, &self.rules()))?;
        create_contact(&mut self.store, &self.clock, &self.caller, fields).await
    }

    pub(crate) async fn update(&mut self, id: ContactId, fields: ContactChanges) -> Result<Contact, ContactError> {
        let fields = Valid::new(fields, |fields| validate_contact_change(fields, &self.rules()))?;
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

    /// Takes the step after a mail that was sent.
    pub(crate) async fn finish_mail(
        &mut self,
        invitation: &LoginInvitation,
        hash: PasswordHash,
    ) -> Result<(), ContactError> {
        finish_login_email(&mut self.store, &self.caller, invitation, hash).await
    }

    /// Takes the step after a mail that failed.
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

    /// The stored contact.
    pub(crate) fn stored(&self, id: ContactId) -> Contact {
        self.store.contacts.get(id).unwrap()
    }

    /// The contact in the full view, as integrators see it.
    pub(crate) fn view(&self, contact: &Contact) -> Value {
        serde_json::to_value(ContactView::new(
            contact,
            View::Full,
            &self.caller.business.catalogue,
            self.caller.scopes,
        ))
        .unwrap()
    }

    /// Asserts that `contact` is stored, and that one event was recorded since, with this name and the full contact.
    #[track_caller]
    pub(crate) fn assert_recorded(&mut self, name: EventName, contact: &Contact) {
        assert_eq!(self.stored(contact.id), *contact);
        let events = std::mem::take(&mut self.store.events);
        let [(business, event)] = &*events else {
            panic!("one event was expected: {events:?}")
        };
        assert_eq!(*business, self.caller.business_id());
        assert_eq!(
            (event.name, event.record, event.at),
            (name, contact.id.get(), self.clock.now())
        );
        let full = ContactView::new(contact, View::Full, &self.caller.business.catalogue, ScopeSet::all());
        assert_eq!(event.data, serde_json::to_string(&full).unwrap());
    }

    /// Asserts that `contact` is stored, and that nothing was written or recorded since.
    #[track_caller]
    pub(crate) fn assert_untouched(&self, contact: &Contact) {
        assert_eq!(self.stored(contact.id), *contact);
        assert_eq!(self.store.contacts.saves(), self.saves);
        assert_eq!(self.store.events, []);
    }
}

/// Reads a body.
pub(crate) fn changes(body: Value) -> ContactChanges {
    serde_json::from_value(body).unwrap()
}

/// A contact with nothing but that name.
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

/// Validated changes of an existing contact.
pub(crate) fn valid(changes: ContactChanges) -> Valid<ContactChanges> {
    let (business, now) = (&acme(), at(0));
    Valid::new(changes, |changes| {
        validate_contact_change(changes, &Rules { business, now })
    })
    .unwrap()
}
