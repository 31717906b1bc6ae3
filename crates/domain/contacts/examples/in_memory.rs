//! A team that has its own storage implements three small traits; here the storage is a map.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use forecourt_accounts::{BusinessFile, Caller};
use forecourt_contacts::{
    BlockKey, Contact, ContactChanges, ContactDraft, ContactFilter, ContactKeys, ContactNote, ContactReader,
    ContactStore, DuplicateKind, DuplicateProbe, LinkedLead, NewNote, PasswordHash, PastEvent, check_duplicate,
    create_contact, update_contact,
};
use forecourt_kernel::{
    BusinessId, Clock, ContactId, ContactNoteId, Country, EventLog, EventSequence, LeadId, NewEvent, Page, PageRequest,
    ScopeSet, StoreResult, Timestamp, Version, View, bounds::MAX_NOTES_SHOWN,
};
use forecourt_reference::Catalogue;
use serde_json::json;

#[derive(Default)]
struct Memory {
    contacts: BTreeMap<ContactId, Contact>,
    passwords: BTreeMap<ContactId, PasswordHash>,
    mailing: BTreeMap<ContactId, Timestamp>,
    blocks: BTreeSet<BlockKey>,
    events: Vec<NewEvent>,
    notes: i64,
}

fn whole<T>(items: Vec<T>) -> Page<T> {
    Page {
        items,
        next: None,
        total: None,
    }
}

#[async_trait]
impl ContactReader for Memory {
    async fn contact(&mut self, _: BusinessId, id: ContactId) -> StoreResult<Option<Contact>> {
        Ok(self.contacts.get(&id).cloned())
    }

    async fn contacts(
        &mut self,
        _: BusinessId,
        filter: &ContactFilter,
        _: &PageRequest,
        _: View,
    ) -> StoreResult<Page<Contact>> {
        let newest_first = self.contacts.values().rev();
        Ok(whole(
            newest_first
                .filter(|contact| filter.matches(contact))
                .cloned()
                .collect(),
        ))
    }

    async fn contact_like(&mut self, _: BusinessId, probe: &DuplicateProbe) -> StoreResult<Option<ContactId>> {
        let matches = |contact: &&Contact| probe.matches(&ContactKeys::new(&contact.content));
        Ok(self.contacts.values().find(matches).map(|contact| contact.id))
    }

    async fn contact_notes(
        &mut self,
        _: BusinessId,
        contact: ContactId,
        _: &PageRequest,
    ) -> StoreResult<Option<Page<ContactNote>>> {
        Ok(self.contacts.get(&contact).map(|contact| whole(contact.notes.clone())))
    }

    async fn blocked(&mut self, _: BusinessId, keys: &[BlockKey]) -> StoreResult<Vec<BlockKey>> {
        let known = keys.iter().filter(|key| self.blocks.contains(key));
        Ok(known.copied().collect())
    }

    async fn newest_contact_notes(&mut self, _: BusinessId, contact: ContactId) -> StoreResult<Vec<ContactNote>> {
        let notes = self
            .contacts
            .get(&contact)
            .map(|contact| &*contact.notes)
            .unwrap_or_default();
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
        self.contact(business, id).await
    }

    async fn login_holder(&mut self, _: BusinessId, email: &str) -> StoreResult<Option<ContactId>> {
        let email = email.to_lowercase();
        let holds = |contact: &&Contact| contact.content.login && contact.content.email.to_lowercase() == email;
        Ok(self.contacts.values().find(holds).map(|contact| contact.id))
    }

    async fn insert_contact(&mut self, _: BusinessId, content: ContactDraft, at: Timestamp) -> StoreResult<Contact> {
        let id = ContactId::new(1 + self.contacts.keys().last().map_or(0, |last| last.get()));
        let contact = Contact {
            id,
            created: at,
            updated: at,
            version: Version::FIRST,
            notes: Vec::new(),
            content,
        };
        self.contacts.insert(id, contact.clone());
        Ok(contact)
    }

    async fn save_contact(&mut self, _: BusinessId, contact: &Contact) -> StoreResult<()> {
        self.contacts.insert(contact.id, contact.clone());
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
        _: BusinessId,
        id: ContactId,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool> {
        let free = self.mailing.get(&id).is_none_or(|until| *until <= now);
        if free {
            self.mailing.insert(id, until);
        }
        Ok(free)
    }

    async fn return_login_mail(&mut self, _: BusinessId, id: ContactId, until: Timestamp) -> StoreResult<bool> {
        let held = self.mailing.get(&id) == Some(&until);
        if held {
            self.mailing.remove(&id);
        }
        Ok(held)
    }

    async fn count_contact_notes(&mut self, _: BusinessId, contact: ContactId) -> StoreResult<usize> {
        Ok(self.contacts.get(&contact).map_or(0, |contact| contact.notes.len()))
    }

    async fn insert_contact_note(
        &mut self,
        _: BusinessId,
        contact: ContactId,
        note: NewNote,
        at: Timestamp,
    ) -> StoreResult<ContactNote> {
        self.notes += 1;
        let NewNote { note, user } = note;
        let note = ContactNote {
            id: ContactNoteId::new(self.notes),
            contact,
            created: at,
            user,
            note,
        };
        if let Some(contact) = self.contacts.get_mut(&contact) {
            contact.notes.insert(0, note.clone());
        }
        Ok(note)
    }

    async fn delete_contact_note(
        &mut self,
        _: BusinessId,
        contact: ContactId,
        note: ContactNoteId,
    ) -> StoreResult<bool> {
        let Some(contact) = self.contacts.get_mut(&contact) else {
            return Ok(false);
        };
        let before = contact.notes.len();
        contact.notes.retain(|kept| kept.id != note);
        Ok(contact.notes.len() < before)
    }

    async fn set_blocked(&mut self, _: BusinessId, key: &BlockKey, blocked: bool) -> StoreResult<()> {
        if blocked {
            self.blocks.insert(*key);
        } else {
            self.blocks.remove(key);
        }
        Ok(())
    }

    async fn erase_contact(&mut self, _: BusinessId, contact: &Contact) -> StoreResult<()> {
        let id = contact.id;
        self.contacts.remove(&id);
        self.passwords.remove(&id);
        for event in self.events.iter_mut().filter(|event| event.record == id.get()) {
            event.data = format!(r#"{{"id":{id}}}"#);
        }
        Ok(())
    }
}

#[async_trait]
impl EventLog for Memory {
    async fn record(&mut self, _: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.events.push(event);
        Ok(())
    }
}

/// The time is a port too, so that a test can be at any hour.
struct NewYear;

impl Clock for NewYear {
    fn now(&self) -> Timestamp {
        Timestamp::from_epoch_seconds(1_767_225_600)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let acme: BusinessFile = serde_json::from_str(r#"{"tag": "acme", "name": "Acme Cars"}"#)?;
    let by = Caller {
        key: "fck_0123456789abcdef".parse()?,
        scopes: ScopeSet::all(),
        business: acme.apply(None, NewYear.now())?.into(),
    };
    let mut store = Memory::default();

    let new: ContactChanges = serde_json::from_value(json!({
        "name": "Ann O'Neill",
        "address": {"line1": "Flat 1, 2 High Street", "zip": "LS1 4AB"},
    }))?;
    let ann = create_contact(&mut store, &NewYear, &by, new).await?;

    let probe = DuplicateProbe::text(DuplicateKind::Name, "ann oneill", Country::GB)?;
    let answer = check_duplicate(&mut store, &by, &probe).await?;
    assert_eq!(
        serde_json::to_string(&answer)?,
        r#"{"type":"name","duplicate":true,"contact":1}"#
    );

    let moved: ContactChanges = serde_json::from_value(json!({"address": {"line1": "3 Low Street"}}))?;
    let ann = update_contact(&mut store, &NewYear, &by, ann.id, moved).await?;
    assert_eq!(ann.content.address.zip, "LS1 4AB", "the address is merged");

    let events: Vec<_> = store.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(events, ["contact.created", "contact.updated"]);
    Ok(())
}
