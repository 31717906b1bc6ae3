//! The ports of contacts.

use async_trait::async_trait;
use forecourt_contacts::{
    BlockKey, Contact, ContactDraft, ContactFilter, ContactKeys, ContactNote, ContactReader, ContactStore,
    DuplicateProbe, LinkedLead, NewNote, PasswordHash, PastEvent,
};
use forecourt_kernel::{
    BusinessId, ContactId, ContactNoteId, EventSequence, LeadId, Page, PageRequest, StoreError, StoreResult, Timestamp,
    Version, View,
};
use forecourt_reference::Catalogue;
use rusqlite::Row;

use super::{Transaction, before, content, failed, not_here, page};

const CONTACTS: &str = "SELECT id, version, created, updated, content FROM contacts WHERE business = ?1 AND id";

fn contact(row: &Row<'_>) -> rusqlite::Result<Contact> {
    Ok(Contact {
        id: ContactId::new(row.get(0)?),
        version: Version::new(row.get(1)?),
        created: Timestamp::from_epoch_seconds(row.get(2)?),
        updated: Timestamp::from_epoch_seconds(row.get(3)?),
        content: content(row)?,
        notes: Vec::new(),
    })
}

impl Transaction {
    /// All contacts of a business, oldest first.
    pub(super) fn contacts_of(&self, business: BusinessId) -> StoreResult<Vec<Contact>> {
        self.all(&format!("{CONTACTS} > 0 ORDER BY id"), [business.get()], contact)
    }
}

#[async_trait]
impl ContactReader for Transaction {
    async fn contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>> {
        self.one(&format!("{CONTACTS} = ?2"), [business.get(), id.get()], contact)
    }

    async fn contacts(
        &mut self,
        business: BusinessId,
        filter: &ContactFilter,
        request: &PageRequest,
        _: View,
    ) -> StoreResult<Page<Contact>> {
        let all = self.all(
            &format!("{CONTACTS} < ?2 ORDER BY id DESC"),
            [business.get(), before(request)],
            contact,
        )?;
        let passing = all.into_iter().filter(|contact| filter.matches(contact));
        Ok(page(passing, request, |contact| contact.id.get()))
    }

    async fn contact_like(&mut self, business: BusinessId, probe: &DuplicateProbe) -> StoreResult<Option<ContactId>> {
        let mut all = self.contacts_of(business)?.into_iter();
        Ok(all
            .find(|contact| probe.matches(&ContactKeys::new(&contact.content)))
            .map(|contact| contact.id))
    }

    async fn contact_notes(
        &mut self,
        _: BusinessId,
        _: ContactId,
        _: &PageRequest,
    ) -> StoreResult<Option<Page<ContactNote>>> {
        not_here("notes")
    }

    async fn newest_contact_notes(&mut self, _: BusinessId, _: ContactId) -> StoreResult<Vec<ContactNote>> {
        Ok(Vec::new())
    }

    async fn blocked(&mut self, _: BusinessId, _: &[BlockKey]) -> StoreResult<Vec<BlockKey>> {
        Ok(Vec::new())
    }

    async fn has_contact_password(&mut self, _: BusinessId, _: ContactId) -> StoreResult<bool> {
        Ok(false)
    }

    async fn contact_leads(
        &mut self,
        _: BusinessId,
        _: ContactId,
        _: LeadId,
        _: &Catalogue,
    ) -> StoreResult<Vec<LinkedLead>> {
        not_here("export")
    }

    async fn contact_events(&mut self, _: BusinessId, _: ContactId, _: EventSequence) -> StoreResult<Vec<PastEvent>> {
        not_here("export")
    }
}

#[async_trait]
impl ContactStore for Transaction {
    async fn lock_contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>> {
        self.contact(business, id).await
    }

    async fn login_holder(&mut self, _: BusinessId, _: &str) -> StoreResult<Option<ContactId>> {
        Ok(None)
    }

    async fn insert_contact(
        &mut self,
        business: BusinessId,
        content: ContactDraft,
        at: Timestamp,
    ) -> StoreResult<Contact> {
        let document = serde_json::to_string(&content).map_err(failed)?;
        let sql = "INSERT INTO contacts (business, version, created, updated, content) VALUES (?1, 1, ?2, ?2, ?3)
            RETURNING id, version, created, updated, content";
        let stored = self.one(sql, (business.get(), at.epoch_seconds(), document), contact)?;
        stored.ok_or_else(|| StoreError::Other("nothing was inserted".into()))
    }

    async fn save_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()> {
        let document = serde_json::to_string(&contact.content).map_err(failed)?;
        let values = (
            business.get(),
            contact.id.get(),
            contact.version.number(),
            contact.updated.epoch_seconds(),
            document,
        );
        self.run(
            "UPDATE contacts SET version = ?3, updated = ?4, content = ?5 WHERE business = ?1 AND id = ?2",
            values,
        )
    }

    async fn set_contact_password(&mut self, _: BusinessId, _: ContactId, _: Option<PasswordHash>) -> StoreResult<()> {
        not_here("logins")
    }

    async fn lease_login_mail(&mut self, _: BusinessId, _: ContactId, _: Timestamp, _: Timestamp) -> StoreResult<bool> {
        not_here("logins")
    }

    async fn return_login_mail(&mut self, _: BusinessId, _: ContactId, _: Timestamp) -> StoreResult<bool> {
        not_here("logins")
    }

    async fn count_contact_notes(&mut self, _: BusinessId, _: ContactId) -> StoreResult<usize> {
        Ok(0)
    }

    async fn insert_contact_note(
        &mut self,
        _: BusinessId,
        _: ContactId,
        _: NewNote,
        _: Timestamp,
    ) -> StoreResult<ContactNote> {
        not_here("notes")
    }

    async fn delete_contact_note(&mut self, _: BusinessId, _: ContactId, _: ContactNoteId) -> StoreResult<bool> {
        Ok(false)
    }

    async fn set_blocked(&mut self, _: BusinessId, _: &BlockKey, _: bool) -> StoreResult<()> {
        not_here("blocks")
    }

    async fn erase_contact(&mut self, _: BusinessId, _: &Contact) -> StoreResult<()> {
        not_here("erasure of contacts")
    }
}
