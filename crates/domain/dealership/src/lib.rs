//! The transaction over the stores of all areas, and the database that opens it.
//!
//! The crate has no logic. A [`Session`] coerces to any area's store (`&mut dyn LeadStore`). So use cases of several areas, the
//! events that they record and the idempotency record of the request commit together or not at all.

use async_trait::async_trait;
use forecourt_contacts::ContactDraft;
use forecourt_files::FileName;
use forecourt_kernel::{
    BusinessId, ContactId, Epoch, Moment, PendingMail, PersonKeys, StoreResult, Timestamp, VehicleId,
};
use forecourt_leads::LeadDraft;
use forecourt_vehicles::VehicleDraft;

pub use areas::{AreaReaders, AreaStores};

mod areas;
#[cfg(feature = "testing")]
pub mod testing;

/// A session that only reads. Each statement sees what was committed before it.
pub trait ReadSession: AreaReaders + BacklogReader + AgeReader {}

impl<S: AreaReaders + BacklogReader + AgeReader> ReadSession for S {}

/// A transaction over all stores. If it is dropped without a commit, it leaves nothing behind, not even locks.
#[async_trait]
pub trait Session: AreaStores + MailQueue + DeletionQueue + BulkLoad {
    /// Sets a savepoint for [`Session::rollback_to_savepoint`]. There is only one at a time.
    async fn savepoint(&mut self) -> StoreResult<()>;

    /// Undoes all changes since [`Session::savepoint`].
    async fn rollback_to_savepoint(&mut self) -> StoreResult<()>;

    /// Commits all changes durably. Once this returns, a power cut does not lose any of them.
    async fn commit(self: Box<Self>) -> StoreResult<()>;

    /// Undoes all changes, and waits until everything that the session has read is durable. A refusal that is based on it is then
    /// true.
    ///
    /// # Errors
    /// If the data that the session has read never became durable. On
    /// [`StoreError::Conflict`](forecourt_kernel::StoreError::Conflict) the work should be run again.
    async fn rollback(self: Box<Self>) -> StoreResult<()>;
}

/// Opens sessions.
#[async_trait]
pub trait Database: Send + Sync {
    /// Begins a transaction for a business, or for work of no business. Each business has its own share of connections, so a busy
    /// business delays only itself.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](forecourt_kernel::StoreError::Unavailable) if the database cannot be reached, none of its
    /// connections comes free in time, or too many sessions of the business wait already.
    async fn begin_for(&self, business: Option<BusinessId>) -> StoreResult<Box<dyn Session>>;

    /// Opens a session for reading, as [`Database::begin_for`] does for writing.
    ///
    /// # Errors
    /// As for [`Database::begin_for`].
    async fn read_for(&self, business: Option<BusinessId>) -> StoreResult<Box<dyn ReadSession>>;

    /// Begins a transaction for work of no particular business.
    ///
    /// # Errors
    /// As for [`Database::begin_for`].
    async fn begin(&self) -> StoreResult<Box<dyn Session>> {
        self.begin_for(None).await
    }

    /// Opens a session to read data of no particular business.
    ///
    /// # Errors
    /// As for [`Database::begin_for`].
    async fn read(&self) -> StoreResult<Box<dyn ReadSession>> {
        self.read_for(None).await
    }

    /// Checks that the database accepts writes, in less than two seconds.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](forecourt_kernel::StoreError::Unavailable) if it does not, or if it does not answer in time.
    async fn ping(&self) -> StoreResult<()>;

    /// The use of the connections.
    fn load(&self) -> PoolLoad;

    /// The period in which the database issues each number once, as far as this process knows. A change by another process is
    /// known within seconds.
    fn epoch(&self) -> Epoch;

    /// Returns `true` while no webhook, mail or request to a model may leave, as far as this process knows. A change by another
    /// process is known within seconds.
    fn is_outgoing_held(&self) -> bool;

    /// Runs regular maintenance of the database, for example gathers the planner's statistics.
    ///
    /// # Errors
    /// As for [`Database::begin`].
    async fn maintain(&self) -> StoreResult<()> {
        Ok(())
    }

    /// Gathers the database's statistics after many records were loaded at once.
    ///
    /// # Errors
    /// As for [`Database::begin`].
    async fn analyze(&self) -> StoreResult<()> {
        Ok(())
    }
}

/// The use of a database's connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolLoad {
    /// The number of open connections.
    pub open: usize,
    /// The number of connections in use.
    pub in_use: usize,
    /// The number of sessions that wait for a connection.
    pub waiting: usize,
}

/// The result of taking mails from the queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TakenMails {
    /// The mails that are leased.
    pub mails: Vec<PendingMail>,
    /// The business that had the last turn, if any.
    pub last: Option<BusinessId>,
    /// Set if more mails may be due.
    pub more: bool,
    /// The businesses that have reached their daily number of mails. Their other mails wait for the next day.
    pub over_quota: Vec<BusinessId>,
    /// The mails that were given up, with their businesses, because the next day is later than the mails may wait.
    pub given_up: Vec<(i64, BusinessId)>,
}

impl TakenMails {
    /// The maximum time that a mail waits for a day on which its business may send it, in seconds.
    pub const MAX_WAIT_SECONDS: i64 = 7 * 86_400;
}

/// The queue of mails, for the background work that sends them.
#[async_trait]
pub trait MailQueue: Send {
    /// Leases at most `limit` due mails until `lease`; no other caller gets them before then. Businesses take turns, beginning
    /// with the first one after `after`. Each mail that was not leased before counts towards the number that its business may
    /// send in the UTC day.
    async fn take_mails(
        &mut self,
        after: BusinessId,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<TakenMails>;

    /// Leases at most `limit` due mails to one address until `lease`, whatever the businesses may send. Such mails leave while all
    /// others are held.
    async fn take_mails_to(
        &mut self,
        address: &str,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<PendingMail>>;

    /// Removes a mail that was sent, or that can never be sent.
    async fn drop_mail(&mut self, id: i64) -> StoreResult<()>;

    /// Returns a mail to the queue, due again at `due`, and counts the attempt.
    async fn retry_mail(&mut self, id: i64, due: Timestamp) -> StoreResult<()>;
}

/// The deliveries and mails of all businesses that wait to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// The number of webhook deliveries in the queue: those that are due, those that settle or are retried later, and those of
    /// disabled webhooks.
    pub deliveries: u32,
    /// The earliest time at which a delivery to an active webhook is, or was, due.
    pub oldest_due: Option<Moment>,
    /// The number of disabled webhooks.
    pub disabled_webhooks: u32,
    /// The number of mails in the queue.
    pub mails: u32,
}

impl Backlog {
    /// The maximum of each count, so that measuring a long backlog does not make it longer.
    pub const MOST: u32 = 100_000;
}

/// Measures the backlog for the operator.
#[async_trait]
pub trait BacklogReader: Send {
    /// Returns the current backlog. The call takes milliseconds, regardless of its size.
    async fn backlog(&mut self) -> StoreResult<Backlog>;
}

/// The kinds of old data that are purged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Purged {
    /// Stored answers, which idempotency keys replay.
    Answers,
    /// The histories of webhooks, without deliveries that still wait.
    Deliveries,
    /// The remains of deleted webhooks.
    Webhooks,
    /// The event log.
    Events,
    /// Records of removed listings.
    ListingRemovals,
}

/// Measures the age of stored data, so that a wrong clock does not cause it to be purged.
#[async_trait]
pub trait AgeReader: Send {
    /// Returns the stamp of the newest record; `None` if there is none.
    async fn newest_record(&mut self) -> StoreResult<Option<Timestamp>>;

    /// Returns the maximum number of rows that one purge may remove of those older than `before`. It is the number of them that
    /// are not older than `since`, or a tenth of all rows if that is more.
    async fn purge_quota(&mut self, what: Purged, before: Timestamp, since: Timestamp) -> StoreResult<u32>;
}

/// The kinds of deletions that run in the background.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeletionKind {
    /// A contact: personal data in other records.
    Contact,
    /// A webhook: its pending deliveries.
    Webhook,
    /// A business: all its records.
    Business,
    /// A lead: its data in events and stored answers.
    Lead,
}

/// A person whose erasure from the database is complete.
#[derive(Clone, PartialEq, Eq)]
pub struct ErasedPerson {
    /// The business whose contact the person was.
    pub business: BusinessId,
    /// The id of the former contact.
    pub contact: ContactId,
    /// The time until which servers search for the person in data outside of the database.
    pub until: Timestamp,
    /// The names, addresses and numbers by which the person was known.
    pub keys: PersonKeys,
}

/// A deletion that takes more than one transaction. No reader sees the deleted record any longer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OpenDeletion {
    /// The business that owns the record, or the deleted business itself.
    pub business: BusinessId,
    /// The kind of deletion.
    pub kind: DeletionKind,
    /// The record's id.
    pub record: i64,
}

/// The queue of long deletions, which background work finishes in small transactions.
#[async_trait]
pub trait DeletionQueue: Send {
    /// Returns at most `limit` unfinished deletions.
    async fn open_deletions(&mut self, limit: u32) -> StoreResult<Vec<OpenDeletion>>;

    /// Does the next part of a deletion, small enough not to delay others. Returns `false` if nothing is left to do, or if
    /// another transaction is doing it.
    async fn continue_deletion(&mut self, deletion: OpenDeletion) -> StoreResult<bool>;

    /// Returns people who were erased recently, so that each server can erase them from data outside of the database. Entries
    /// whose time has ended by `now` are removed.
    async fn erased_people(&mut self, now: Timestamp) -> StoreResult<Vec<ErasedPerson>>;

    /// Returns at most `limit` files whose records are deleted, and whose content is still to be removed.
    async fn file_removals(&mut self, limit: u32) -> StoreResult<Vec<(BusinessId, FileName)>>;

    /// Adds the key to some digests of personal values that an earlier release made without one. Returns `false` if none is left.
    async fn key_digests(&mut self) -> StoreResult<bool>;

    /// Notes that the content of a file has been removed.
    async fn content_removed(&mut self, business: BusinessId, name: &FileName) -> StoreResult<()>;
}

/// A record to be loaded, with its timestamps.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded<T> {
    /// The content of the record.
    pub content: T,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change, not before its creation.
    pub updated: Timestamp,
}

/// Converts a record that has not changed since its creation.
impl<T> From<(T, Timestamp)> for Loaded<T> {
    fn from((content, created): (T, Timestamp)) -> Self {
        Self {
            content,
            created,
            updated: created,
        }
    }
}

/// Bulk loading of sample data. The records are a starting state, so no events report them.
#[async_trait]
pub trait BulkLoad: Send {
    /// Stores leads with their timestamps, in order, under the business's next reference numbers. Each lead is associated with
    /// the vehicle given with it, which the business must have.
    async fn load_made_leads(
        &mut self,
        business: BusinessId,
        leads: Vec<(Loaded<LeadDraft>, Option<VehicleId>)>,
    ) -> StoreResult<()>;

    /// Stores contacts with their timestamps, in order.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`](forecourt_kernel::StoreError::Duplicate) if two of the business's contacts would log in with the
    /// same email.
    async fn load_made_contacts(
        &mut self,
        business: BusinessId,
        contacts: Vec<Loaded<ContactDraft>>,
    ) -> StoreResult<()>;

    /// Stores vehicles with their timestamps, in order.
    async fn load_made_vehicles(
        &mut self,
        business: BusinessId,
        vehicles: Vec<Loaded<VehicleDraft>>,
    ) -> StoreResult<()>;

    /// Stores leads that have not changed since their creation.
    ///
    /// # Errors
    /// As for [`BulkLoad::load_made_leads`].
    async fn load_leads(&mut self, business: BusinessId, leads: Vec<(LeadDraft, Timestamp)>) -> StoreResult<()> {
        let leads = leads.into_iter().map(|lead| (lead.into(), None)).collect();
        self.load_made_leads(business, leads).await
    }

    /// Stores contacts that have not changed since their creation.
    ///
    /// # Errors
    /// As for [`BulkLoad::load_made_contacts`].
    async fn load_contacts(
        &mut self,
        business: BusinessId,
        contacts: Vec<(ContactDraft, Timestamp)>,
    ) -> StoreResult<()> {
        let contacts = contacts.into_iter().map(Into::into).collect();
        self.load_made_contacts(business, contacts).await
    }

    /// Stores vehicles that have not changed since their creation.
    ///
    /// # Errors
    /// As for [`BulkLoad::load_made_vehicles`].
    async fn load_vehicles(
        &mut self,
        business: BusinessId,
        vehicles: Vec<(VehicleDraft, Timestamp)>,
    ) -> StoreResult<()> {
        let vehicles = vehicles.into_iter().map(Into::into).collect();
        self.load_made_vehicles(business, vehicles).await
    }
}

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
