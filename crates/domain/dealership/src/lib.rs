//! The one place that names all stores together: a transaction over everything, and what opens one.
//!
//! It has no logic. A [`Session`] coerces to any area's store (`&mut dyn LeadStore`), so that use cases of several areas,
//! the events they record and the idempotency record of the request commit or vanish together.

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

/// What only reads. Each statement sees what has been committed by then.
pub trait ReadSession: AreaReaders + BacklogReader + AgeReader {}

impl<S: AreaReaders + BacklogReader + AgeReader> ReadSession for S {}

/// One transaction over all stores. Dropped uncommitted, it leaves nothing behind, locks included.
#[async_trait]
pub trait Session: AreaStores + MailQueue + DeletionQueue + BulkLoad {
    /// Marks a point to return to with [`Session::rollback_to_savepoint`]. There is one at a time.
    async fn savepoint(&mut self) -> StoreResult<()>;

    /// Undoes what was done since [`Session::savepoint`].
    async fn rollback_to_savepoint(&mut self) -> StoreResult<()>;

    /// Makes everything durable. When this returns, a power cut loses nothing of it.
    async fn commit(self: Box<Self>) -> StoreResult<()>;

    /// Undoes everything, and waits until what the session has read is durable: a refusal that speaks of it is true then.
    ///
    /// # Errors
    /// What it has read was never kept. On [`StoreError::Conflict`](forecourt_kernel::StoreError::Conflict) the work is to be run
    /// again.
    async fn rollback(self: Box<Self>) -> StoreResult<()>;
}

/// Opens sessions.
#[async_trait]
pub trait Database: Send + Sync {
    /// Begins a transaction for a business, or for work that is done for none. Each business has its share of what sessions
    /// need, and waits for itself alone.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](forecourt_kernel::StoreError::Unavailable) if the database cannot be reached, none of its
    /// connections comes free in time, or too many sessions of the business wait already.
    async fn begin_for(&self, business: Option<BusinessId>) -> StoreResult<Box<dyn Session>>;

    /// Opens a session for reading, as [`Database::begin_for`] does one for writing.
    ///
    /// # Errors
    /// As for [`Database::begin_for`].
    async fn read_for(&self, business: Option<BusinessId>) -> StoreResult<Box<dyn ReadSession>>;

    /// Begins a transaction for work of no business in particular.
    ///
    /// # Errors
    /// As for [`Database::begin_for`].
    async fn begin(&self) -> StoreResult<Box<dyn Session>> {
        self.begin_for(None).await
    }

    /// Opens a session to read what belongs to no business in particular.
    ///
    /// # Errors
    /// As for [`Database::begin_for`].
    async fn read(&self) -> StoreResult<Box<dyn ReadSession>> {
        self.read_for(None).await
    }

    /// Whether the database would take a write. Answers in less than two seconds.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](forecourt_kernel::StoreError::Unavailable) if not, or if it does not say in time.
    async fn ping(&self) -> StoreResult<()>;

    /// How busy the connections are.
    fn load(&self) -> PoolLoad;

    /// The period in which the database gives out each number once, as far as this process knows: a change that another one makes
    /// is known within seconds.
    fn epoch(&self) -> Epoch;

    /// Does what the database needs now and then, such as to gather the statistics that it plans by.
    ///
    /// # Errors
    /// As for [`Database::begin`].
    async fn maintain(&self) -> StoreResult<()> {
        Ok(())
    }

    /// Does what the database needs after many records were loaded at once.
    ///
    /// # Errors
    /// As for [`Database::begin`].
    async fn analyze(&self) -> StoreResult<()> {
        Ok(())
    }
}

/// How busy a database's connections are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolLoad {
    /// Connections that are open.
    pub open: usize,
    /// Connections that are in use.
    pub in_use: usize,
    /// Sessions that wait for one.
    pub waiting: usize,
}

/// What a look into the queue of mails came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TakenMails {
    /// The mails that are leased.
    pub mails: Vec<PendingMail>,
    /// The business that had the last turn, if any had one.
    pub last: Option<BusinessId>,
    /// Whether more may be due.
    pub more: bool,
    /// The businesses that have sent as many mails as they may in a day; theirs wait for the next.
    pub over_quota: Vec<BusinessId>,
    /// The mails that were given up, with their businesses: the next day comes later than they may wait.
    pub given_up: Vec<(i64, BusinessId)>,
}

impl TakenMails {
    /// How long a mail may wait for a day on which its business may send it, in seconds.
    pub const MAX_WAIT_SECONDS: i64 = 7 * 86_400;
}

/// The queue of mails, for the background work that sends them.
#[async_trait]
pub trait MailQueue: Send {
    /// Leases at most `limit` due mails until `lease`: no other caller gets them before then. Businesses take turns, beginning
    /// behind the one of `after`. Each mail that was not leased before is one of those that its business may send in the UTC day.
    async fn take_mails(
        &mut self,
        after: BusinessId,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<TakenMails>;

    /// Drops a mail that was sent, or that never can be.
    async fn drop_mail(&mut self, id: i64) -> StoreResult<()>;

    /// Puts a mail back, due again at `due`, one attempt more to its count.
    async fn retry_mail(&mut self, id: i64, due: Timestamp) -> StoreResult<()>;
}

/// How much waits to be sent, over all businesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Deliveries of webhooks that wait in the queue: those that are due, those that settle or are tried again later, and those
    /// of disabled webhooks.
    pub deliveries: u32,
    /// When the first of them is due, or was, that an active webhook waits for.
    pub oldest_due: Option<Moment>,
    /// Webhooks that are disabled.
    pub disabled_webhooks: u32,
    /// Mails in the queue.
    pub mails: u32,
}

impl Backlog {
    /// No count goes beyond this, so that measuring a long backlog does not make it longer.
    pub const MOST: u32 = 100_000;
}

/// Measures what waits to be sent, for the operator.
#[async_trait]
pub trait BacklogReader: Send {
    /// How much waits, at this moment. It costs milliseconds, however much there is.
    async fn backlog(&mut self) -> StoreResult<Backlog>;
}

/// What is forgotten once it is so old.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Purged {
    /// Answers that idempotency keys replay.
    Answers,
    /// The histories of webhooks. Deliveries that still wait are none.
    Deliveries,
    /// What remains of deleted webhooks.
    Webhooks,
    /// The event log.
    Events,
    /// Removals of listings.
    ListingRemovals,
}

/// Measures how old what is stored is, so that a clock that is wrong makes nothing be forgotten.
#[async_trait]
pub trait AgeReader: Send {
    /// The stamp of the newest record; `None` if there is none.
    async fn newest_record(&mut self) -> StoreResult<Option<Timestamp>>;

    /// How much one purge may take of what is older than `before`: as much as is no older than `since`, or a tenth of all there is if
    /// that is more.
    async fn purge_quota(&mut self, what: Purged, before: Timestamp, since: Timestamp) -> StoreResult<u32>;
}

/// What is deleted in the background.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeletionKind {
    /// A contact: what is held on it elsewhere.
    Contact,
    /// A webhook: its pending deliveries.
    Webhook,
    /// A business: all that it owned.
    Business,
    /// A lead: what its events and stored answers say.
    Lead,
}

/// A person whose erasure from the database is done.
#[derive(Clone, PartialEq, Eq)]
pub struct ErasedPerson {
    /// The business that they were a contact of.
    pub business: BusinessId,
    /// The contact that they were.
    pub contact: ContactId,
    /// The end of the time in which servers look for them in what they keep outside of the database.
    pub until: Timestamp,
    /// What they were known by.
    pub keys: PersonKeys,
}

/// A deletion that is longer than one transaction. What is deleted is gone for every reader already.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OpenDeletion {
    /// Whose record it is, or the business itself.
    pub business: BusinessId,
    /// What is deleted.
    pub kind: DeletionKind,
    /// Its id.
    pub record: i64,
}

/// Long deletions, for the background work that finishes them in small transactions.
#[async_trait]
pub trait DeletionQueue: Send {
    /// At most `limit` deletions that are not finished.
    async fn open_deletions(&mut self, limit: u32) -> StoreResult<Vec<OpenDeletion>>;

    /// Does the next part of a deletion, so small that others hardly wait for it; `false` if nothing is left to be done, or
    /// another transaction is doing it.
    async fn continue_deletion(&mut self, deletion: OpenDeletion) -> StoreResult<bool>;

    /// People who were erased a short time ago, for what each server keeps outside of the database. Those whose time is over at
    /// `now` are forgotten.
    async fn erased_people(&mut self, now: Timestamp) -> StoreResult<Vec<ErasedPerson>>;

    /// At most `limit` files whose records are gone, and whose content is still to be removed.
    async fn file_removals(&mut self, limit: u32) -> StoreResult<Vec<(BusinessId, FileName)>>;

    /// Keys some of the digests of personal values that a version before made without a key; `false` if none is left.
    async fn key_digests(&mut self) -> StoreResult<bool>;

    /// Notes that the content of a file has been removed.
    async fn content_removed(&mut self, business: BusinessId, name: &FileName) -> StoreResult<()>;
}

/// A record to be loaded, with its stamps.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded<T> {
    /// What it says.
    pub content: T,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed; not before it was made.
    pub updated: Timestamp,
}

/// A record that nothing has happened to since it was made.
impl<T> From<(T, Timestamp)> for Loaded<T> {
    fn from((content, created): (T, Timestamp)) -> Self {
        Self {
            content,
            created,
            updated: created,
        }
    }
}

/// Loading many records at once, for sample data: they are a starting state, so no events report them.
#[async_trait]
pub trait BulkLoad: Send {
    /// Stores leads with their stamps, in order, under the business's next reference numbers, and associates each with the
    /// vehicle that is named beside it, which the business must have.
    async fn load_made_leads(
        &mut self,
        business: BusinessId,
        leads: Vec<(Loaded<LeadDraft>, Option<VehicleId>)>,
    ) -> StoreResult<()>;

    /// Stores contacts with their stamps, in order.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`](forecourt_kernel::StoreError::Duplicate) if two of the business's would log in with one
    /// email.
    async fn load_made_contacts(
        &mut self,
        business: BusinessId,
        contacts: Vec<Loaded<ContactDraft>>,
    ) -> StoreResult<()>;

    /// Stores vehicles with their stamps, in order.
    async fn load_made_vehicles(
        &mut self,
        business: BusinessId,
        vehicles: Vec<Loaded<VehicleDraft>>,
    ) -> StoreResult<()>;

    /// Stores leads that nothing has happened to since they came in.
    ///
    /// # Errors
    /// As for [`BulkLoad::load_made_leads`].
    async fn load_leads(&mut self, business: BusinessId, leads: Vec<(LeadDraft, Timestamp)>) -> StoreResult<()> {
        let leads = leads.into_iter().map(|lead| (lead.into(), None)).collect();
        self.load_made_leads(business, leads).await
    }

    /// Stores contacts that nothing has happened to since they were made.
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

    /// Stores vehicles that nothing has happened to since they came in.
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
