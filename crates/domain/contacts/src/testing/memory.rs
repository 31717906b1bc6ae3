//! Contacts in memory, with the records that belong to them.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, ContactId, ContactNoteId, EventSequence, LeadId, Page, PageRequest, StoreError, StoreResult, Timestamp,
    Version, View,
    bounds::MAX_NOTES_SHOWN,
    fold_email,
    testing::{HoldsEvents, MemoryEvents, page_of},
};
use forecourt_reference::Catalogue;
use serde_json::value::RawValue;

use crate::{
    BlockKey, Contact, ContactDraft, ContactFilter, ContactKeys, ContactNote, ContactReader, ContactStore,
    DuplicateProbe, LOGIN_EMAIL_RULE, LinkedLead, NewNote, PasswordHash, PastEvent,
};

/// Contacts in memory, with their notes, passwords and blocks, and the leads that are linked to them.
#[derive(Clone, Debug, Default)]
pub struct MemoryContacts {
    contacts: BTreeMap<ContactId, (BusinessId, Contact)>,
    notes: Vec<ContactNote>,
    passwords: BTreeMap<ContactId, PasswordHash>,
    /// The end of the lease on mailing a contact's login details.
    mailing: BTreeMap<ContactId, Timestamp>,
    blocks: BTreeSet<(BusinessId, BlockKey)>,
    leads: Vec<(BusinessId, ContactId, LinkedLead)>,
    last_id: i64,
    saves: usize,
}

impl MemoryContacts {
    /// The contacts of all businesses without their notes, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Contact> {
        self.contacts.values().map(|(_, contact)| contact)
    }

    /// Returns the contact with that id of any business, with all its notes.
    pub fn get(&self, id: ContactId) -> Option<Contact> {
        let (_, contact) = self.contacts.get(&id)?;
        let notes = self.notes_of(id).cloned().collect();
        Some(Contact {
            notes,
            ..contact.clone()
        })
    }

    /// The number of times that a contact was saved, even with the same content.
    pub const fn saves(&self) -> usize {
        self.saves
    }

    /// The contact's password.
    pub fn password(&self, id: ContactId) -> Option<&PasswordHash> {
        self.passwords.get(&id)
    }

    /// The number of contacts with a password.
    pub fn passwords(&self) -> usize {
        self.passwords.len()
    }

    /// The number of leases on mails with login details.
    pub fn mailing(&self) -> usize {
        self.mailing.len()
    }

    /// The blocks of all businesses.
    pub fn blocks(&self) -> impl Iterator<Item = &BlockKey> {
        self.blocks.iter().map(|(_, key)| key)
    }

    /// Links a lead to the contact.
    pub fn link_lead(&mut self, business: BusinessId, contact: ContactId, lead: LinkedLead) {
        self.leads.push((business, contact, lead));
        self.leads.sort_by_key(|(.., lead)| lead.id);
    }

    fn of(&self, business: BusinessId, id: ContactId) -> Option<&Contact> {
        let owned = self.contacts.get(&id).filter(|(owner, _)| *owner == business);
        owned.map(|(_, contact)| contact)
    }

    fn of_business(&self, business: BusinessId) -> impl DoubleEndedIterator<Item = &Contact> {
        let own = self.contacts.values().filter(move |(owner, _)| *owner == business);
        own.map(|(_, contact)| contact)
    }

    /// The notes of a contact, newest first.
    fn notes_of(&self, id: ContactId) -> impl Iterator<Item = &ContactNote> {
        self.notes.iter().rev().filter(move |note| note.contact == id)
    }

    /// Returns the contact with the notes that it is shown with.
    fn with_notes(&self, contact: &Contact) -> Contact {
        Contact {
            notes: self.notes_of(contact.id).take(MAX_NOTES_SHOWN).cloned().collect(),
            ..contact.clone()
        }
    }

    fn login_holder(&self, business: BusinessId, email: &str) -> Option<ContactId> {
        let email = fold_email(email);
        let mut own = self.of_business(business).map(|contact| (contact.id, &contact.content));
        let holder = own.find(|(_, content)| content.login && fold_email(&content.email) == email);
        holder.map(|(id, _)| id)
    }

    /// Refuses a contact that would log in with another contact's email.
    fn validate_login(&self, business: BusinessId, id: Option<ContactId>, content: &ContactDraft) -> StoreResult<()> {
        let holder = content
            .login
            .then(|| self.login_holder(business, &content.email))
            .flatten();
        match holder {
            Some(holder) if Some(holder) != id && !content.email.is_empty() => {
                Err(StoreError::Duplicate(LOGIN_EMAIL_RULE.into()))
            }
            _ => Ok(()),
        }
    }

    fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }
}

/// A type that keeps contacts in memory, perhaps with other records. With events in memory it is a [`ContactStore`].
pub trait HoldsContacts: Send {
    /// The contacts.
    fn held_contacts(&mut self) -> &mut MemoryContacts;
}

/// A complete store: contacts, and the events of their changes.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    /// The contacts.
    pub contacts: MemoryContacts,
    /// The recorded events.
    pub events: MemoryEvents,
}

impl HoldsContacts for MemoryStore {
    fn held_contacts(&mut self) -> &mut MemoryContacts {
        &mut self.contacts
    }
}

impl HoldsEvents for MemoryStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

#[async_trait]
impl<S: HoldsContacts + HoldsEvents> ContactReader for S {
    async fn contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>> {
        let held = self.held_contacts();
        Ok(held.of(business, id).map(|contact| held.with_notes(contact)))
    }

    async fn contacts(
        &mut self,
        business: BusinessId,
        filter: &ContactFilter,
        page: &PageRequest,
        view: View,
    ) -> StoreResult<Page<Contact>> {
        let held = self.held_contacts();
        let newest_first = held.of_business(business).rev();
        let mut page = page_of(
            newest_first.filter(|contact| filter.matches(contact)),
            page,
            |contact| contact.id.get(),
        );
        if view == View::Full {
            page.items = page.items.iter().map(|contact| held.with_notes(contact)).collect();
        }
        Ok(page)
    }

    async fn contact_like(&mut self, business: BusinessId, probe: &DuplicateProbe) -> StoreResult<Option<ContactId>> {
        let mut own = self.held_contacts().of_business(business);
        let found = own.find(|contact| probe.matches(&ContactKeys::new(&contact.content)));
        Ok(found.map(|contact| contact.id))
    }

    async fn contact_notes(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<ContactNote>>> {
        let held = self.held_contacts();
        let known = held.of(business, contact);
        Ok(known.map(|_| page_of(held.notes_of(contact), page, |note| note.id.get())))
    }

    async fn newest_contact_notes(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Vec<ContactNote>> {
        Ok(self
            .contact(business, id)
            .await?
            .map(|contact| contact.notes)
            .unwrap_or_default())
    }

    async fn blocked(&mut self, business: BusinessId, keys: &[BlockKey]) -> StoreResult<Vec<BlockKey>> {
        let blocks = &self.held_contacts().blocks;
        Ok(keys
            .iter()
            .filter(|key| blocks.contains(&(business, **key)))
            .copied()
            .collect())
    }

    async fn has_contact_password(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool> {
        let held = self.held_contacts();
        Ok(held.of(business, id).is_some() && held.passwords.contains_key(&id))
    }

    async fn contact_leads(
        &mut self,
        business: BusinessId,
        id: ContactId,
        after: LeadId,
        _: &Catalogue,
    ) -> StoreResult<Vec<LinkedLead>> {
        let linked = self.held_contacts().leads.iter();
        let own = linked.filter(|(owner, contact, lead)| *owner == business && *contact == id && lead.id > after);
        Ok(own.map(|(.., lead)| lead.clone()).collect())
    }

    async fn contact_events(
        &mut self,
        business: BusinessId,
        id: ContactId,
        after: EventSequence,
    ) -> StoreResult<Vec<PastEvent>> {
        let own = self.held_events().iter().filter(|(owner, _)| *owner == business);
        let numbered = (1..).map(EventSequence).zip(own.map(|(_, event)| event));
        let of_contact = numbered.filter(|(sequence, event)| {
            *sequence > after && event.name.resource() == "contact" && event.record == id.get()
        });
        of_contact
            .map(|(sequence, event)| {
                let data = RawValue::from_string(event.data.clone());
                Ok(PastEvent {
                    sequence,
                    id: format!("evt_{:x}_{:x}", business.get(), sequence.0),
                    name: event.name,
                    created: event.at,
                    data: data.map_err(|failure| StoreError::Other(failure.into()))?,
                })
            })
            .collect()
    }
}

#[async_trait]
impl<S: HoldsContacts + HoldsEvents> ContactStore for S {
    async fn lock_contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>> {
        Ok(self.held_contacts().of(business, id).cloned())
    }

    async fn login_holder(&mut self, business: BusinessId, email: &str) -> StoreResult<Option<ContactId>> {
        Ok(self.held_contacts().login_holder(business, email))
    }

    async fn insert_contact(
        &mut self,
        business: BusinessId,
        content: ContactDraft,
        at: Timestamp,
    ) -> StoreResult<Contact> {
        let held = self.held_contacts();
        held.validate_login(business, None, &content)?;
        let contact = Contact {
            id: ContactId::new(held.next_id()),
            created: at,
            updated: at,
            version: Version::FIRST,
            notes: Vec::new(),
            content,
        };
        held.contacts.insert(contact.id, (business, contact.clone()));
        Ok(contact)
    }

    async fn save_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()> {
        let held = self.held_contacts();
        if held.of(business, contact.id).is_none() {
            return Ok(());
        }
        held.validate_login(business, Some(contact.id), &contact.content)?;
        let changed = Contact {
            updated: contact.updated.max(contact.created),
            notes: Vec::new(),
            ..contact.clone()
        };
        held.contacts.insert(contact.id, (business, changed));
        held.saves += 1;
        Ok(())
    }

    async fn set_contact_password(
        &mut self,
        business: BusinessId,
        id: ContactId,
        hash: Option<PasswordHash>,
    ) -> StoreResult<()> {
        let held = self.held_contacts();
        held.passwords
            .retain(|of, _| *of != id || held.contacts.get(of).is_none_or(|(owner, _)| *owner != business));
        if let Some(hash) = hash.filter(|_| held.of(business, id).is_some()) {
            held.passwords.insert(id, hash);
        }
        Ok(())
    }

    async fn lease_login_mail(
        &mut self,
        business: BusinessId,
        id: ContactId,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool> {
        let held = self.held_contacts();
        let free = held.mailing.get(&id).is_none_or(|until| *until <= now);
        let leased = free && held.of(business, id).is_some();
        if leased {
            held.mailing.insert(id, until);
        }
        Ok(leased)
    }

    async fn return_login_mail(&mut self, business: BusinessId, id: ContactId, until: Timestamp) -> StoreResult<bool> {
        let held = self.held_contacts();
        let in_force = held.of(business, id).is_some() && held.mailing.get(&id) == Some(&until);
        if in_force {
            held.mailing.remove(&id);
        }
        Ok(in_force)
    }

    async fn count_contact_notes(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<usize> {
        let held = self.held_contacts();
        Ok(held.of(business, contact).map_or(0, |_| held.notes_of(contact).count()))
    }

    async fn insert_contact_note(
        &mut self,
        _: BusinessId,
        contact: ContactId,
        note: NewNote,
        at: Timestamp,
    ) -> StoreResult<ContactNote> {
        let held = self.held_contacts();
        let NewNote { note, user } = note;
        let note = ContactNote {
            id: ContactNoteId::new(held.next_id()),
            contact,
            created: at,
            user,
            note,
        };
        held.notes.push(note.clone());
        Ok(note)
    }

    async fn delete_contact_note(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        note: ContactNoteId,
    ) -> StoreResult<bool> {
        let held = self.held_contacts();
        if held.of(business, contact).is_none() {
            return Ok(false);
        }
        let before = held.notes.len();
        held.notes.retain(|kept| kept.contact != contact || kept.id != note);
        Ok(held.notes.len() < before)
    }

    async fn set_blocked(&mut self, business: BusinessId, key: &BlockKey, blocked: bool) -> StoreResult<()> {
        let blocks = &mut self.held_contacts().blocks;
        if blocked {
            blocks.insert((business, *key));
        } else {
            blocks.remove(&(business, *key));
        }
        Ok(())
    }

    async fn erase_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()> {
        let (id, held) = (contact.id, self.held_contacts());
        if held.of(business, id).is_none() {
            return Ok(());
        }
        held.contacts.remove(&id);
        held.notes.retain(|note| note.contact != id);
        held.passwords.remove(&id);
        held.mailing.remove(&id);
        held.leads.retain(|(_, linked, _)| *linked != id);
        for (owner, event) in self.held_events() {
            if *owner == business && event.name.resource() == "contact" && event.record == id.get() {
                event.data = format!(r#"{{"id":{id}}}"#);
            }
        }
        Ok(())
    }
}
