//! A database in memory, made of the areas' stores in memory. A session works on a copy of all data, and a commit replaces the
//! data with the copy. It serves tests that need a whole database.

use std::{
    collections::BTreeMap,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_accounts::testing::{HoldsAccounts, MemoryAccounts};
use forecourt_billing::{BilledContact, BilledVehicle, BillingReader, DealId};
use forecourt_contacts::{
    Contact, ContactDraft, ContactMailReader, ContactReader as _, ContactStore as _, WaitingMail,
};
use forecourt_deals::{DealDeposit, DealReader as _, DealSurroundings};
use forecourt_files::FileName;
use forecourt_jobs::{apply_boards, remove_jobs};
use forecourt_kernel::testing::{HoldsEvents, MemoryEvents};
use forecourt_kernel::{
    BusinessId, ContactId, Epoch, EventHold, LeadId, Mail, MailOutbox, PendingMail, StoreError, StoreResult, Timestamp,
    VehicleId, fold,
};
use forecourt_leads::{Lead, LeadDraft, LeadReader as _, LeadStore as _};
use forecourt_orders::OrderReader as _;
use forecourt_stock_book::follow_vehicle;
use forecourt_vehicles::{
    ReservationMaker, Vehicle, VehicleDraft, VehicleFollower, VehicleReader as _, VehicleStatus, VehicleStore as _,
};

pub use crate::areas::memory::MemoryRecords;
use crate::{
    AgeReader, Backlog, BacklogReader, BulkLoad, Database, DeletionQueue, ErasedPerson, Loaded, MailQueue,
    OpenDeletion, PoolLoad, Purged, ReadSession, Session, TakenMails,
};

/// All stored data. The records of the areas are members of it.
#[derive(Clone, Default)]
pub struct MemoryState {
    /// The records of the areas.
    pub records: MemoryRecords,
    /// Businesses and keys.
    pub accounts: MemoryAccounts,
    /// The recorded events.
    pub events: MemoryEvents,
    /// The queued mails, by their ids.
    pub mails: BTreeMap<i64, QueuedMail>,
    /// Unfinished deletions, with the number of parts left of each. A deletion with a negative record id fails.
    pub deletions: Vec<(OpenDeletion, u32)>,
    /// The stamp of the newest record, as reported by the database.
    pub newest_record: Option<Timestamp>,
    /// The maximum number of rows of one purge.
    pub purge_quota: Option<u32>,
    /// People who were erased recently.
    pub erased: Vec<ErasedPerson>,
    /// Files whose content is still to be removed.
    pub file_removals: Vec<(BusinessId, FileName)>,
    last_mail: i64,
    /// The number of mails that a business may send in a day; `None` for no limit.
    pub mails_per_day: Option<u32>,
    /// The day of each business's latest mail, and the number of mails sent on it.
    mails_sent: BTreeMap<BusinessId, (i64, u32)>,
}

impl Deref for MemoryState {
    type Target = MemoryRecords;

    fn deref(&self) -> &MemoryRecords {
        &self.records
    }
}

impl DerefMut for MemoryState {
    fn deref_mut(&mut self) -> &mut MemoryRecords {
        &mut self.records
    }
}

/// A mail in the queue.
#[derive(Clone)]
pub struct QueuedMail {
    pending: PendingMail,
    due: Timestamp,
    queued: Timestamp,
    /// Set if the mail already counts towards the day's number of its business.
    claimed: bool,
}

#[derive(Default)]
struct Shared {
    state: MemoryState,
    /// The number of commits that are still to be refused.
    refusals: usize,
    unreachable: bool,
    is_outgoing_held: bool,
    begun: usize,
    refused: usize,
}

/// The database. Clones share it.
#[derive(Clone, Default)]
pub struct MemoryDatabase(Arc<Mutex<Shared>>);

impl MemoryDatabase {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a copy of the committed data.
    pub fn state(&self) -> MemoryState {
        self.shared().state.clone()
    }

    /// Changes the committed data.
    pub fn arrange(&self, change: impl FnOnce(&mut MemoryState)) {
        change(&mut self.shared().state);
    }

    /// Makes the next commits fail as if they had conflicted with others.
    pub fn refuse_commits(&self, count: usize) {
        self.shared().refusals = count;
    }

    /// Cuts or restores the connection.
    pub fn cut(&self, unreachable: bool) {
        self.shared().unreachable = unreachable;
    }

    /// Holds or releases what would leave the server.
    pub fn hold_outgoing(&self, is_held: bool) {
        self.shared().is_outgoing_held = is_held;
    }

    /// The number of sessions that were begun.
    pub fn sessions(&self) -> usize {
        self.shared().begun
    }

    /// The number of sessions that could not begin because the connection was cut.
    pub fn refused(&self) -> usize {
        self.shared().refused
    }

    fn session(&self) -> StoreResult<MemorySession> {
        let mut shared = self.shared();
        if shared.unreachable {
            shared.refused += 1;
            return Err(StoreError::Unavailable("the cable is cut".into()));
        }
        shared.begun += 1;
        Ok(MemorySession {
            state: shared.state.clone(),
            savepoint: None,
            database: self.clone(),
            held: Vec::new(),
        })
    }
}

#[async_trait]
impl Database for MemoryDatabase {
    async fn begin_for(&self, _business: Option<BusinessId>) -> StoreResult<Box<dyn Session>> {
        Ok(Box::new(self.session()?))
    }

    async fn read_for(&self, _business: Option<BusinessId>) -> StoreResult<Box<dyn ReadSession>> {
        Ok(Box::new(self.session()?))
    }

    async fn ping(&self) -> StoreResult<()> {
        self.session().map(|_| ())
    }

    fn load(&self) -> PoolLoad {
        PoolLoad::default()
    }

    fn epoch(&self) -> Epoch {
        Epoch::FIRST
    }

    fn is_outgoing_held(&self) -> bool {
        self.shared().is_outgoing_held
    }
}

/// A session of a [`MemoryDatabase`].
pub struct MemorySession {
    pub(crate) state: MemoryState,
    savepoint: Option<MemoryState>,
    database: MemoryDatabase,
    /// The events that are held, the innermost last.
    held: Vec<MemoryEvents>,
}

#[async_trait]
impl Session for MemorySession {
    async fn savepoint(&mut self) -> StoreResult<()> {
        self.savepoint = Some(self.state.clone());
        Ok(())
    }

    async fn rollback_to_savepoint(&mut self) -> StoreResult<()> {
        let savepoint = self.savepoint.take();
        self.state = savepoint.ok_or_else(|| StoreError::Other("there is no savepoint".into()))?;
        Ok(())
    }

    async fn commit(self: Box<Self>) -> StoreResult<()> {
        let mut shared = self.database.shared();
        if shared.refusals > 0 {
            shared.refusals -= 1;
            return Err(StoreError::Conflict);
        }
        shared.state = self.state;
        Ok(())
    }

    async fn rollback(self: Box<Self>) -> StoreResult<()> {
        Ok(())
    }
}

impl HoldsEvents for MemorySession {
    fn held_events(&mut self) -> &mut MemoryEvents {
        self.held.last_mut().unwrap_or(&mut self.state.events)
    }
}

impl EventHold for MemorySession {
    fn hold_events(&mut self) {
        self.held.push(MemoryEvents::new());
    }

    fn release_events(&mut self) -> MemoryEvents {
        self.held.pop().unwrap_or_default()
    }
}

impl HoldsAccounts for MemorySession {
    fn held_accounts(&mut self) -> &mut MemoryAccounts {
        &mut self.state.accounts
    }

    fn drop_property(&mut self, business: BusinessId) {
        self.state.leads.forget_business(business);
    }
}

#[async_trait]
impl VehicleFollower for MemorySession {
    async fn vehicle_changed(&mut self, business: &Business, vehicle: &Vehicle, _: Timestamp) -> StoreResult<()> {
        let is_deleted = vehicle.content.status == VehicleStatus::Deleted;
        let version = (!is_deleted).then_some(vehicle.version);
        self.state.jobs.set_vehicle(business.id, vehicle.id, version);
        follow_vehicle(self, business, vehicle).await
    }

    async fn vehicle_created(&mut self, business: &Business, vehicle: &Vehicle, at: Timestamp) -> StoreResult<()> {
        apply_boards(self, business, vehicle.id, vehicle.content.kind, at).await
    }

    async fn vehicle_deleted(
        &mut self,
        business: &Business,
        vehicle: VehicleId,
        at: Timestamp,
    ) -> StoreResult<Vec<FileName>> {
        remove_jobs(self, business.id, vehicle, at).await
    }
}

#[async_trait]
impl MailOutbox for MemorySession {
    async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()> {
        self.state.insert_mail(business, mail, at, false);
        Ok(())
    }

    async fn queue_awaited_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<bool> {
        let is_claimed = self.state.claim_mail(business, at);
        if is_claimed {
            self.state.insert_mail(business, mail, at, true);
        }
        Ok(is_claimed)
    }

    async fn claim_mail(&mut self, business: BusinessId, at: Timestamp) -> StoreResult<bool> {
        Ok(self.state.claim_mail(business, at))
    }

    async fn queue_claimed_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()> {
        self.state.insert_mail(business, mail, at, true);
        Ok(())
    }
}

const DAY: i64 = 86_400;

impl MemoryState {
    fn insert_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp, claimed: bool) {
        self.last_mail += 1;
        let id = self.last_mail;
        let pending = PendingMail {
            id,
            business,
            mail,
            attempts: 0,
        };
        let queued = QueuedMail {
            pending,
            due: at,
            queued: at,
            claimed,
        };
        self.mails.insert(id, queued);
    }

    fn claim_mail(&mut self, business: BusinessId, at: Timestamp) -> bool {
        let today = at.epoch_seconds().div_euclid(DAY);
        let (day, sent) = self.mails_sent.entry(business).or_insert((today, 0));
        if *day != today {
            (*day, *sent) = (today, 0);
        }
        let is_left = self.mails_per_day.is_none_or(|limit| *sent < limit);
        *sent += u32::from(is_left);
        is_left
    }

    /// Returns the due mail that has waited longest, of the next business after `after` that has one.
    fn next_mail(&self, after: BusinessId, now: Timestamp) -> Option<i64> {
        let due = self.mails.iter().filter(|(_, mail)| mail.due <= now);
        let next = due.min_by_key(|(id, mail)| {
            let business = mail.pending.business;
            (business <= after, business, mail.due, **id)
        });
        next.map(|(id, _)| *id)
    }
}

#[async_trait]
impl BillingReader for MemorySession {
    async fn billed_contacts(&mut self, business: BusinessId, ids: &[ContactId]) -> StoreResult<Vec<BilledContact>> {
        let mut billed = Vec::new();
        for &id in ids {
            billed.extend(self.contact(business, id).await?.as_ref().map(BilledContact::from));
        }
        Ok(billed)
    }

    async fn billed_vehicles(&mut self, business: BusinessId, ids: &[VehicleId]) -> StoreResult<Vec<BilledVehicle>> {
        let mut billed = Vec::new();
        for &id in ids {
            billed.extend(self.vehicle(business, id).await?.as_ref().map(BilledVehicle::from));
        }
        Ok(billed)
    }

    async fn deal_exists(&mut self, business: BusinessId, deal: DealId) -> StoreResult<bool> {
        Ok(self.deal(business, deal).await?.is_some())
    }
}

#[async_trait]
impl DealSurroundings for MemorySession {
    async fn deposits_paid(&mut self, business: BusinessId, contacts: &[ContactId]) -> StoreResult<Vec<DealDeposit>> {
        let deposits = self.paid_deposits(business, contacts).await?;
        let paid = deposits.into_iter().map(|deposit| DealDeposit {
            contact: deposit.customer,
            vehicle: deposit.vehicle,
            paid: deposit.paid,
        });
        Ok(paid.collect())
    }

    async fn reserved_by_deals(
        &mut self,
        business: BusinessId,
        vehicles: &[VehicleId],
    ) -> StoreResult<Vec<(VehicleId, DealId)>> {
        let mut reserved = Vec::new();
        for &id in vehicles {
            let vehicle = self.vehicle(business, id).await?;
            let current = vehicle.and_then(|vehicle| vehicle.content.reservation.current);
            if let Some(ReservationMaker::Deal(deal)) = current.and_then(|current| current.made_by) {
                reserved.push((id, deal));
            }
        }
        Ok(reserved)
    }

    async fn is_lead_known(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<bool> {
        Ok(self.lead(business, lead).await?.is_some())
    }
}

#[async_trait]
impl ContactMailReader for MemorySession {
    async fn mails_to(&mut self, business: BusinessId, address: &str, after: i64) -> StoreResult<Vec<WaitingMail>> {
        let own = self.state.mails.values().map(|queued| &queued.pending);
        let own = own.filter(|pending| pending.business == business && pending.id > after);
        let to = own.filter(|pending| !address.is_empty() && fold(&pending.mail.to) == fold(address));
        let waiting = to.map(|PendingMail { id, mail, .. }| WaitingMail {
            id: *id,
            to: mail.to.clone(),
            subject: mail.subject.clone(),
            text: mail.text.clone(),
        });
        Ok(waiting.collect())
    }
}

#[async_trait]
impl MailQueue for MemorySession {
    async fn take_mails(
        &mut self,
        after: BusinessId,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<TakenMails> {
        let mut taken = TakenMails::default();
        let tomorrow = Timestamp::from_epoch_seconds((now.epoch_seconds().div_euclid(DAY) + 1) * DAY);
        while taken.mails.len() < limit as usize
            && let Some(id) = self.state.next_mail(taken.last.unwrap_or(after), now)
            && let Some(mut mail) = self.state.mails.remove(&id)
        {
            let business = mail.pending.business;
            taken.last = Some(business);
            if mail.claimed || self.state.claim_mail(business, now) {
                (mail.claimed, mail.due) = (true, lease);
                taken.mails.push(mail.pending.clone());
            } else if mail.queued.plus_seconds(TakenMails::MAX_WAIT_SECONDS) < tomorrow {
                taken.given_up.push((id, business));
                continue;
            } else {
                mail.due = tomorrow;
                taken.over_quota.push(business);
            }
            self.state.mails.insert(id, mail);
        }
        taken.more = taken.mails.len() >= limit as usize;
        Ok(taken)
    }

    async fn take_mails_to(
        &mut self,
        address: &str,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<PendingMail>> {
        let due = self.state.mails.values_mut().filter(|mail| mail.due <= now);
        let to = due.filter(|mail| fold(&mail.pending.mail.to) == fold(address));
        let taken = to.take(limit as usize).map(|mail| {
            (mail.claimed, mail.due) = (true, lease);
            mail.pending.clone()
        });
        Ok(taken.collect())
    }

    async fn drop_mail(&mut self, id: i64) -> StoreResult<()> {
        self.state.mails.remove(&id);
        Ok(())
    }

    async fn retry_mail(&mut self, id: i64, due: Timestamp) -> StoreResult<()> {
        if let Some(mail) = self.state.mails.get_mut(&id) {
            mail.due = due;
            mail.pending.attempts += 1;
        }
        Ok(())
    }
}

/// Deletions here are complete when their transaction commits. Only tests add unfinished ones.
#[async_trait]
impl DeletionQueue for MemorySession {
    async fn open_deletions(&mut self, limit: u32) -> StoreResult<Vec<OpenDeletion>> {
        let open = self.state.deletions.iter().filter(|(_, parts)| *parts > 0);
        Ok(open.map(|(deletion, _)| *deletion).take(limit as usize).collect())
    }

    async fn continue_deletion(&mut self, deletion: OpenDeletion) -> StoreResult<bool> {
        if deletion.record < 0 {
            return Err(StoreError::Other("it cannot go on".into()));
        }
        let open = self.state.deletions.iter_mut().find(|(open, _)| *open == deletion);
        Ok(open.is_some_and(|(_, parts)| {
            *parts = parts.saturating_sub(1);
            *parts > 0
        }))
    }

    async fn erased_people(&mut self, now: Timestamp) -> StoreResult<Vec<ErasedPerson>> {
        self.state.erased.retain(|person| person.until > now);
        Ok(self.state.erased.clone())
    }

    async fn file_removals(&mut self, limit: u32) -> StoreResult<Vec<(BusinessId, FileName)>> {
        Ok(self.state.file_removals.iter().take(limit as usize).cloned().collect())
    }

    async fn key_digests(&mut self) -> StoreResult<bool> {
        Ok(false)
    }

    async fn content_removed(&mut self, business: BusinessId, name: &FileName) -> StoreResult<()> {
        let removals = &mut self.state.file_removals;
        removals.retain(|(owner, removal)| *owner != business || removal != name);
        Ok(())
    }
}

#[async_trait]
impl AgeReader for MemorySession {
    async fn newest_record(&mut self) -> StoreResult<Option<Timestamp>> {
        Ok(self.state.newest_record)
    }

    async fn purge_quota(&mut self, _: Purged, _: Timestamp, _: Timestamp) -> StoreResult<u32> {
        Ok(self.state.purge_quota.unwrap_or(u32::MAX))
    }
}

#[async_trait]
impl BacklogReader for MemorySession {
    async fn backlog(&mut self) -> StoreResult<Backlog> {
        Ok(Backlog {
            disabled_webhooks: u32::try_from(self.state.webhooks.disabled()).unwrap_or(u32::MAX),
            mails: u32::try_from(self.state.mails.len()).unwrap_or(u32::MAX),
            ..Backlog::default()
        })
    }
}

#[async_trait]
impl BulkLoad for MemorySession {
    async fn load_made_leads(
        &mut self,
        business: BusinessId,
        leads: Vec<(Loaded<LeadDraft>, Option<VehicleId>)>,
    ) -> StoreResult<()> {
        for (
            Loaded {
                content,
                created,
                updated,
            },
            vehicle,
        ) in leads
        {
            let lead = self.insert_lead(business, content, created).await?;
            self.save_lead(
                business,
                &Lead {
                    updated,
                    ..lead.clone()
                },
            )
            .await?;
            if let Some(vehicle) = vehicle {
                self.state.leads.associate(lead.id, vehicle, created);
            }
        }
        Ok(())
    }

    async fn load_made_contacts(
        &mut self,
        business: BusinessId,
        contacts: Vec<Loaded<ContactDraft>>,
    ) -> StoreResult<()> {
        for Loaded {
            content,
            created,
            updated,
        } in contacts
        {
            let contact = self.insert_contact(business, content, created).await?;
            self.state
                .vehicles
                .know_contact(business, contact.id, &contact.content.name);
            self.save_contact(business, &Contact { updated, ..contact }).await?;
        }
        Ok(())
    }

    async fn load_made_vehicles(
        &mut self,
        business: BusinessId,
        vehicles: Vec<Loaded<VehicleDraft>>,
    ) -> StoreResult<()> {
        for Loaded {
            content,
            created,
            updated,
        } in vehicles
        {
            let vehicle = self.insert_vehicle(business, content, created).await?;
            self.save_vehicle(business, &Vehicle { updated, ..vehicle }).await?;
        }
        Ok(())
    }
}
