//! The ports for the storage of contacts.

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, ContactId, ContactNoteId, EventLog, EventName, EventSequence, LeadId, Page, PageRequest, StoreResult,
    Timestamp, View,
};
use forecourt_reference::Catalogue;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{BlockKey, Contact, ContactDraft, ContactFilter, ContactNote, DuplicateProbe, NewNote, PasswordHash};

/// The uniqueness rule of storage: within a business, no two contacts with a login have the same folded email. Storage names it
/// in [`StoreError::Duplicate`](forecourt_kernel::StoreError::Duplicate).
pub const LOGIN_EMAIL_RULE: &str = "contacts_login_email";

/// A lead that is linked to a contact.
#[derive(Clone, Debug)]
pub struct LinkedLead {
    /// The lead's id.
    pub id: LeadId,
    /// The lead in the full view.
    pub shown: Box<RawValue>,
}

/// An event of the log with an earlier representation of a contact.
#[derive(Clone, Debug)]
pub struct PastEvent {
    /// The event's number within the business.
    pub sequence: EventSequence,
    /// `evt_` and hexadecimal text.
    pub id: String,
    /// The event's name.
    pub name: EventName,
    /// The time of the event.
    pub created: Timestamp,
    /// The contact's representation at that moment.
    pub data: Box<RawValue>,
}

/// A mail to a contact that waits to be sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WaitingMail {
    /// The mail's place in the queue.
    #[serde(skip)]
    pub id: i64,
    /// The recipient's address.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The text.
    pub text: String,
}

/// Reads the waiting mails to a contact, for its export.
#[async_trait]
pub trait ContactMailReader: Send {
    /// Returns some mails to that address after `after`, in the order in which they were queued. Addresses are compared without
    /// regard to case. The list is empty if there are no more.
    async fn mails_to(&mut self, business: BusinessId, address: &str, after: i64) -> StoreResult<Vec<WaitingMail>>;
}

/// Reads contacts.
#[async_trait]
pub trait ContactReader: Send {
    /// Returns the contact with its newest notes, or `None` if the business has none with that id.
    async fn contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>>;

    /// Returns a page of the contacts that pass `filter`, newest first (id descending). In the full view they have their newest
    /// notes. A page with long notes may be shorter than requested; its cursor marks where it ends. In the simple view they have
    /// no notes.
    async fn contacts(
        &mut self,
        business: BusinessId,
        filter: &ContactFilter,
        page: &PageRequest,
        view: View,
    ) -> StoreResult<Page<Contact>>;

    /// Returns the contact that `probe` matches. If there are several, it is the one with the lowest id.
    async fn contact_like(&mut self, business: BusinessId, probe: &DuplicateProbe) -> StoreResult<Option<ContactId>>;

    /// Returns a page of the contact's notes, newest first (id descending), or `None` if the business has no such contact.
    async fn contact_notes(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<ContactNote>>>;

    /// Returns the newest notes of the contact, newest first: at most
    /// [`MAX_NOTES_SHOWN`](forecourt_kernel::bounds::MAX_NOTES_SHOWN).
    async fn newest_contact_notes(&mut self, business: BusinessId, contact: ContactId)
    -> StoreResult<Vec<ContactNote>>;

    /// Returns the keys among `keys` that the business has blocked.
    async fn blocked(&mut self, business: BusinessId, keys: &[BlockKey]) -> StoreResult<Vec<BlockKey>>;

    /// Returns `true` if the contact has a password.
    async fn has_contact_password(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;

    /// Returns some leads after `after` that are linked to the contact, oldest first; none if there are no more. Colours and
    /// types of their tags are taken from `catalogue`.
    async fn contact_leads(
        &mut self,
        business: BusinessId,
        id: ContactId,
        after: LeadId,
        catalogue: &Catalogue,
    ) -> StoreResult<Vec<LinkedLead>>;

    /// Returns some of the contact's events after `after` that are still in the log, oldest first; none if there are no more.
    async fn contact_events(
        &mut self,
        business: BusinessId,
        id: ContactId,
        after: EventSequence,
    ) -> StoreResult<Vec<PastEvent>>;
}

/// Writes contacts, and reads the other data that the rules need. One value of it is one transaction.
#[async_trait]
pub trait ContactStore: ContactReader + EventLog {
    /// Returns the contact without its notes, locked against other writers until the transaction ends.
    async fn lock_contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>>;

    /// Returns the contact that logs in with that email, compared without regard to case. This check is not a guard: only
    /// [`LOGIN_EMAIL_RULE`] prevents two contacts from taking the email at the same moment.
    async fn login_holder(&mut self, business: BusinessId, email: &str) -> StoreResult<Option<ContactId>>;

    /// Stores a new contact under an id that no business has used.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`](forecourt_kernel::StoreError::Duplicate) of [`LOGIN_EMAIL_RULE`].
    async fn insert_contact(
        &mut self,
        business: BusinessId,
        draft: ContactDraft,
        at: Timestamp,
    ) -> StoreResult<Contact>;

    /// Stores a changed contact. Its notes and its password are not changed.
    ///
    /// # Errors
    /// As for [`ContactStore::insert_contact`].
    async fn save_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()>;

    /// Stores `hash` as the contact's password; `None` removes the password.
    async fn set_contact_password(
        &mut self,
        business: BusinessId,
        id: ContactId,
        hash: Option<PasswordHash>,
    ) -> StoreResult<()>;

    /// Leases the mailing of the contact's login details until `until`: no other caller gets it before then, unless it is
    /// returned. Returns `false`, without a lease, if another caller has it at `now`.
    async fn lease_login_mail(
        &mut self,
        business: BusinessId,
        id: ContactId,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool>;

    /// Returns the lease that lasts until `until`. Returns `false` if it was returned before, or has ended and another caller has
    /// a new one.
    async fn return_login_mail(&mut self, business: BusinessId, id: ContactId, until: Timestamp) -> StoreResult<bool>;

    /// Returns the number of the contact's notes.
    async fn count_contact_notes(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<usize>;

    /// Stores a note under an id that no business has used.
    async fn insert_contact_note(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        note: NewNote,
        at: Timestamp,
    ) -> StoreResult<ContactNote>;

    /// Deletes a note. Returns `false` if the contact has none with that id.
    async fn delete_contact_note(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        note: ContactNoteId,
    ) -> StoreResult<bool>;

    /// Adds or removes the block of an address or a number.
    async fn set_blocked(&mut self, business: BusinessId, key: &BlockKey, blocked: bool) -> StoreResult<()>;

    /// Deletes the contact, and erases its personal data from all other records (decisions §6). On commit it disappears for every
    /// reader. Data that one transaction cannot erase is erased in the background. For this business:
    ///
    /// - its row, its password and its notes are deleted;
    /// - each event in the log that describes it (`contact.*` with its id) keeps its place, name and stamps, and has `{"id":…}`
    ///   as its data; pending deliveries of such events are sent with that data;
    /// - deliveries of these events lose the request and the answer (a receiver may repeat what it was sent); the answer to an
    ///   attempt in progress is not stored either;
    /// - stored idempotency answers that show it, or a lead or vehicle that names it, keep their key and their status, and have
    ///   `{"id":…}` as their data, so that a retried creation does not create a second contact;
    /// - leads that are linked to it stay without the link. Their name, email, phone and mobile are emptied if they are the
    ///   contact's, or were according to its remaining events. Free texts of the leads lose these values (numbers in any usual
    ///   spelling), the contact's address, and its licence and insurance numbers. The data of the leads' events loses the same
    ///   values and the link;
    /// - messages and notes of these leads lose these values too; leads that suggest it no longer do so;
    /// - waiting mails about it lose these values too, and those to it are removed;
    /// - vehicles that it has offered (`data.appraisal.details`), funded (`data.stock.funding_provider_id`) or supplied
    ///   (`data.stock.purchase_supplier_id`) stay, deleted ones as well. Neither they nor the data of their events name it any
    ///   longer;
    /// - vehicles that it has reserved or bought stay without it. Its test drives lose the data copied from it, signature and
    ///   photos. Invoices for it lose the link, and their texts are redacted;
    /// - records that name it without a link are found by its email, its numbers or its whole name, unless another contact has
    ///   them too. They lose these values: leads, vehicles, documents, drives, invoices, reviews, messages, notes, events and
    ///   answers;
    /// - leads, vehicles and reviews that this changes get a new stamp and an event;
    /// - blocks stay: they hold no address and no number ([`BlockKey`]), and the stored form is keyed.
    ///
    /// None of it may remain in the database's files once they are compacted.
    async fn erase_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()>;
}

#[cfg(feature = "mock")]
mod mocks {
    use forecourt_kernel::NewEvent;
    use mockall::mock;

    use super::*;

    mock! {
        /// A scripted [`ContactStore`], and so a [`ContactReader`].
        pub ContactStore {}

        #[async_trait]
        impl EventLog for ContactStore {
            async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()>;
        }

        #[async_trait]
        impl ContactReader for ContactStore {
            async fn contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>>;
            async fn contacts(&mut self, business: BusinessId, filter: &ContactFilter, page: &PageRequest, view: View) -> StoreResult<Page<Contact>>;
            async fn contact_like(&mut self, business: BusinessId, probe: &DuplicateProbe) -> StoreResult<Option<ContactId>>;
            async fn contact_notes(&mut self, business: BusinessId, contact: ContactId, page: &PageRequest) -> StoreResult<Option<Page<ContactNote>>>;
            async fn blocked(&mut self, business: BusinessId, keys: &[BlockKey]) -> StoreResult<Vec<BlockKey>>;
            async fn newest_contact_notes(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Vec<ContactNote>>;
            async fn has_contact_password(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;
            async fn contact_leads(&mut self, business: BusinessId, id: ContactId, after: LeadId, catalogue: &Catalogue) -> StoreResult<Vec<LinkedLead>>;
            async fn contact_events(&mut self, business: BusinessId, id: ContactId, after: EventSequence) -> StoreResult<Vec<PastEvent>>;
        }

        #[async_trait]
        impl ContactStore for ContactStore {
            async fn lock_contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>>;
            async fn login_holder(&mut self, business: BusinessId, email: &str) -> StoreResult<Option<ContactId>>;
            async fn insert_contact(&mut self, business: BusinessId, draft: ContactDraft, at: Timestamp) -> StoreResult<Contact>;
            async fn save_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()>;
            async fn set_contact_password(&mut self, business: BusinessId, id: ContactId, hash: Option<PasswordHash>) -> StoreResult<()>;
            async fn lease_login_mail(&mut self, business: BusinessId, id: ContactId, now: Timestamp, until: Timestamp) -> StoreResult<bool>;
            async fn return_login_mail(&mut self, business: BusinessId, id: ContactId, until: Timestamp) -> StoreResult<bool>;
            async fn count_contact_notes(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<usize>;
            async fn insert_contact_note(&mut self, business: BusinessId, contact: ContactId, note: NewNote, at: Timestamp) -> StoreResult<ContactNote>;
            async fn delete_contact_note(&mut self, business: BusinessId, contact: ContactId, note: ContactNoteId) -> StoreResult<bool>;
            async fn set_blocked(&mut self, business: BusinessId, key: &BlockKey, blocked: bool) -> StoreResult<()>;
            async fn erase_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()>;
        }
    }
}

#[cfg(feature = "mock")]
pub use mocks::MockContactStore;
