//! What this area needs from storage.

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, ContactId, ContactNoteId, EventLog, EventName, EventSequence, LeadId, Page, PageRequest, StoreResult,
    Timestamp, View,
};
use forecourt_reference::Catalogue;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{BlockKey, Contact, ContactDraft, ContactFilter, ContactNote, DuplicateProbe, NewNote, PasswordHash};

/// The uniqueness rule that storage keeps: within a business, the folded emails of the contacts that may log in differ.
/// Storage names it in [`StoreError::Duplicate`](forecourt_kernel::StoreError::Duplicate).
pub const LOGIN_EMAIL_RULE: &str = "contacts_login_email";

/// A lead that is linked to a contact.
#[derive(Clone, Debug)]
pub struct LinkedLead {
    /// Its id.
    pub id: LeadId,
    /// The lead in the full view.
    pub shown: Box<RawValue>,
}

/// An event of the log that shows a contact as it once was.
#[derive(Clone, Debug)]
pub struct PastEvent {
    /// Its number within the business.
    pub sequence: EventSequence,
    /// `evt_` and hexadecimal text.
    pub id: String,
    /// What happened.
    pub name: EventName,
    /// When it happened.
    pub created: Timestamp,
    /// The contact's representation at that moment.
    pub data: Box<RawValue>,
}

/// A mail to a contact that waits to be sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WaitingMail {
    /// Its place in the queue.
    #[serde(skip)]
    pub id: i64,
    /// The address that it goes to.
    pub to: String,
    /// What it is about.
    pub subject: String,
    /// What it says.
    pub text: String,
}

/// Reads the mails to a contact that wait to be sent, for its export.
#[async_trait]
pub trait ContactMailReader: Send {
    /// The first few of the mails behind `after` that go to that address, compared without regard to case, in the order in which
    /// they were queued; none if there are no more.
    async fn mails_to(&mut self, business: BusinessId, address: &str, after: i64) -> StoreResult<Vec<WaitingMail>>;
}

/// Reads contacts.
#[async_trait]
pub trait ContactReader: Send {
    /// The contact with its newest notes, or `None` if the business has none of that id.
    async fn contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>>;

    /// A page of the contacts that pass `filter`, newest first (id descending). In the full view they have their newest notes,
    /// and a page whose notes are long may be shorter than requested: its cursor marks where it ends. In the simple view they
    /// have none.
    async fn contacts(
        &mut self,
        business: BusinessId,
        filter: &ContactFilter,
        page: &PageRequest,
        view: View,
    ) -> StoreResult<Page<Contact>>;

    /// The contact that `probe` matches; of several the first one, that of the lowest id.
    async fn contact_like(&mut self, business: BusinessId, probe: &DuplicateProbe) -> StoreResult<Option<ContactId>>;

    /// A page of the contact's notes, newest first (id descending), or `None` if the business has no such contact.
    async fn contact_notes(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<ContactNote>>>;

    /// The newest notes of the contact, newest first: at most
    /// [`MAX_NOTES_SHOWN`](forecourt_kernel::bounds::MAX_NOTES_SHOWN).
    async fn newest_contact_notes(&mut self, business: BusinessId, contact: ContactId)
    -> StoreResult<Vec<ContactNote>>;

    /// Those of `keys` that the business leaves alone.
    async fn blocked(&mut self, business: BusinessId, keys: &[BlockKey]) -> StoreResult<Vec<BlockKey>>;

    /// Whether the contact has a password.
    async fn has_contact_password(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;

    /// The first few of the leads behind `after` that are linked to the contact, oldest first; none if there are no more. They
    /// show their tags as `catalogue` paints them.
    async fn contact_leads(
        &mut self,
        business: BusinessId,
        id: ContactId,
        after: LeadId,
        catalogue: &Catalogue,
    ) -> StoreResult<Vec<LinkedLead>>;

    /// The first few of the contact's events behind `after` that are still in the log, oldest first; none if there are no more.
    async fn contact_events(
        &mut self,
        business: BusinessId,
        id: ContactId,
        after: EventSequence,
    ) -> StoreResult<Vec<PastEvent>>;
}

/// Writes contacts, and looks up what else the rules need. One value of it is one transaction.
#[async_trait]
pub trait ContactStore: ContactReader + EventLog {
    /// The contact without its notes, locked against other writers until the transaction ends.
    async fn lock_contact(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<Contact>>;

    /// The contact that logs in with that email, compared without regard to case. A courtesy: [`LOGIN_EMAIL_RULE`] is what
    /// holds against a twin at the same moment.
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

    /// Stores a contact that has changed. Its notes and its password are not touched.
    ///
    /// # Errors
    /// As for [`ContactStore::insert_contact`].
    async fn save_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()>;

    /// Keeps `hash` as the contact's password; `None` leaves it without one.
    async fn set_contact_password(
        &mut self,
        business: BusinessId,
        id: ContactId,
        hash: Option<PasswordHash>,
    ) -> StoreResult<()>;

    /// Leases the mailing of the contact's login details until `until`: no other caller gets it before then, unless it is
    /// returned. `false`, and no lease, if another caller has it at `now`.
    async fn lease_login_mail(
        &mut self,
        business: BusinessId,
        id: ContactId,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool>;

    /// Returns the lease that lasts until `until`; `false` if it was returned before, or is over and another caller's now.
    async fn return_login_mail(&mut self, business: BusinessId, id: ContactId, until: Timestamp) -> StoreResult<bool>;

    /// How many notes the contact has.
    async fn count_contact_notes(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<usize>;

    /// Stores a note under an id that no business has used.
    async fn insert_contact_note(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        note: NewNote,
        at: Timestamp,
    ) -> StoreResult<ContactNote>;

    /// Removes a note; `false` if the contact has none of that id.
    async fn delete_contact_note(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        note: ContactNoteId,
    ) -> StoreResult<bool>;

    /// Keeps or drops the block of an address or a number.
    async fn set_blocked(&mut self, business: BusinessId, key: &BlockKey, blocked: bool) -> StoreResult<()>;

    /// Removes the contact, and erases its personal data from all that remains (decisions §6). It is gone for every reader when
    /// this commits; what of the rest is more than one transaction holds is erased in the background. Of this business:
    ///
    /// - its row, its password and its notes are deleted;
    /// - each event in the log that describes it (`contact.*` of its id) keeps its place, name and stamps, and has `{"id":…}`
    ///   as its data; what is still to be delivered of such events is delivered so;
    /// - deliveries of these events keep neither what was sent nor what was answered (a receiver may repeat what it was
    ///   sent), and the answer to an attempt that is under way is not kept either;
    /// - stored idempotency answers that show it, or a lead or vehicle that names it, keep their key and their status, and have
    ///   `{"id":…}` as their data: a retried creation makes no second contact;
    /// - leads that are linked to it stay, linked to none; of their name, email, phone and mobile those that are the contact's
    ///   own, or were as far as its events still show, are emptied, and taken out of their free texts (numbers in any usual
    ///   spelling) as are its address and its licence and insurance numbers, in the leads as in the data of their events, which name
    ///   no contact either;
    /// - messages and notes of these leads lose these values too; leads that it is suggested for suggest it no more;
    /// - mails about it that wait to be sent lose these values too, and those to it are dropped;
    /// - vehicles that it has offered (`data.appraisal.details`), funded (`data.stock.funding_provider_id`) or supplied
    ///   (`data.stock.purchase_supplier_id`) stay, deleted ones as well, and no longer name it, neither themselves nor in the
    ///   data of their events;
    /// - vehicles that it has reserved or bought stay without it; its test drives without what was copied of it, signature and photos;
    ///   invoices for it without the link and with redacted texts;
    /// - what names it without being linked to it is found by its email, its numbers or its whole name, as far as no other contact
    ///   has them too, and loses them: leads, vehicles, documents, drives, invoices, reviews, messages, notes, events and answers;
    /// - leads, vehicles and reviews that change by this have their stamps moved, and their events recorded;
    /// - blocks stay: they hold no address and no number ([`BlockKey`]), and what is stored of them is keyed.
    ///
    /// Nothing of it may be left in the database's files once these are compacted.
    async fn erase_contact(&mut self, business: BusinessId, contact: &Contact) -> StoreResult<()>;
}

#[cfg(feature = "mock")]
mod mocks {
    use forecourt_kernel::NewEvent;
    use mockall::mock;

    use super::*;

    mock! {
        /// A scripted [`ContactReader`].
        pub ContactReader {}

        #[async_trait]
        impl ContactReader for ContactReader {
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
    }

    mock! {
        /// A scripted [`ContactStore`].
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
pub use mocks::{MockContactReader, MockContactStore};
