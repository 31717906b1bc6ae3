//! A database in memory for tests: a session works on a copy of everything, and a commit puts the copy in place.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use async_trait::async_trait;
use forecourt_accounts::{
    AccountReader, AccountStore, ApiKey, Business, IdempotencyStore, KeyId, KeyUse, KeyedRequest, Shown,
    StoredCredential, StoredResponse,
};
use forecourt_blogs::testing::{HoldsArticles, MemoryArticles};
use forecourt_contacts::ContactDraft;
use forecourt_dealership::{
    Backlog, BacklogReader, BulkLoad, Database, DeletionQueue, Loaded, MailQueue, OpenDeletion, PoolLoad, ReadSession,
    Session,
};
use forecourt_files::testing::{HoldsFiles, MemoryFileRegister};
use forecourt_invoices::testing::{HoldsInvoices, MemoryInvoices};
use forecourt_kernel::{
    BusinessId, Clock, ContactId, DeliveryId, EventLog, LeadId, Mail, MailOutbox, NewEvent, Page, PageRequest,
    PendingMail, StoreError, StoreResult, Timestamp, VehicleId, Version,
};
use forecourt_leads::{
    ContactSuggestion, DueReopening, Lead, LeadDraft, LeadFilter, LeadReader, LeadStatus, LeadStore, LeadVehicle,
    SenderKeys, StockVehicle, VehicleChoice, VehicleClue,
    testing::{HoldsConversations, MemoryConversations},
};
use forecourt_listings::testing::{HoldsListings, MemoryListings};
use forecourt_reviews::testing::{HoldsReviews, MemoryReviews};
use forecourt_vehicles::testing::{HoldsVehicleRecords, MemoryVehicleRecords};
use forecourt_vehicles::{Vehicle, VehicleDraft, VehicleStore};
use forecourt_webhooks::{AttemptRecord, Endpoint};

/// A clock that stands still until it is set.
#[derive(Clone)]
pub(crate) struct FixedClock(Arc<Mutex<Timestamp>>);

impl FixedClock {
    pub(crate) fn at(epoch_seconds: i64) -> Self {
        Self(Arc::new(Mutex::new(Timestamp::from_epoch_seconds(epoch_seconds))))
    }

    pub(crate) fn advance(&self, seconds: i64) {
        let mut now = self.0.lock().unwrap();
        *now = now.plus_seconds(seconds);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// All that is stored.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) businesses: BTreeMap<i64, Business>,
    pub(crate) keys: Vec<ApiKey>,
    pub(crate) leads: BTreeMap<i64, (BusinessId, Lead)>,
    pub(crate) contacts: Vec<(BusinessId, Loaded<ContactDraft>)>,
    pub(crate) lead_vehicles: Vec<(LeadId, VehicleId)>,
    pub(crate) vehicles: BTreeMap<i64, (BusinessId, Vehicle)>,
    pub(crate) listings: MemoryListings,
    files: MemoryFileRegister,
    pub(crate) vehicle_records: MemoryVehicleRecords,
    pub(crate) invoices: MemoryInvoices,
    pub(crate) articles: MemoryArticles,
    pub(crate) reviews: MemoryReviews,
    pub(crate) conversations: MemoryConversations,
    pub(crate) events: Vec<(BusinessId, NewEvent)>,
    pub(crate) mails: BTreeMap<i64, QueuedMail>,
    /// How many answers are past their time.
    pub(crate) expired_answers: u32,
    /// Where webhooks lead to. Nothing is ever due to them here.
    pub(crate) endpoints: Vec<Endpoint>,
    /// Deliveries that were taken and not tried.
    pub(crate) given_back: Vec<DeliveryId>,
    /// What came of attempts.
    pub(crate) attempts: Vec<AttemptRecord>,
    /// Leads that cannot be read.
    pub(crate) broken_leads: Vec<LeadId>,
    /// Deletions, and how many parts are left of each. One of a negative record cannot go on.
    pub(crate) deletions: Vec<(OpenDeletion, u32)>,
    last_id: i64,
}

#[derive(Clone)]
pub(crate) struct QueuedMail {
    pub(crate) pending: PendingMail,
    pub(crate) due: Timestamp,
}

impl State {
    fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }
}

#[derive(Default)]
struct Shared {
    state: State,
    /// How many commits are still to be refused.
    refusals: usize,
    unreachable: bool,
    begun: usize,
    refused: usize,
}

/// The database. Clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Shared>>);

impl Memory {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap()
    }

    /// What has been committed.
    pub(crate) fn state(&self) -> State {
        self.shared().state.clone()
    }

    /// Changes what has been committed.
    pub(crate) fn arrange(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.shared().state);
    }

    /// Makes the next commits fail as if they had conflicted with others.
    pub(crate) fn refuse_commits(&self, count: usize) {
        self.shared().refusals = count;
    }

    /// Cuts the connection, or mends it.
    pub(crate) fn cut(&self, unreachable: bool) {
        self.shared().unreachable = unreachable;
    }

    /// How many sessions were begun.
    pub(crate) fn sessions(&self) -> usize {
        self.shared().begun
    }

    /// How many sessions could not begin, since the connection was cut.
    pub(crate) fn refused(&self) -> usize {
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
        })
    }
}

#[async_trait]
impl Database for Memory {
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
}

struct MemorySession {
    state: State,
    savepoint: Option<State>,
    database: Memory,
}

#[async_trait]
impl Session for MemorySession {
    async fn savepoint(&mut self) -> StoreResult<()> {
        self.savepoint = Some(self.state.clone());
        Ok(())
    }

    async fn rollback_to_savepoint(&mut self) -> StoreResult<()> {
        self.state = self.savepoint.take().unwrap();
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
}

#[async_trait]
impl AccountReader for MemorySession {
    async fn credential(&mut self, key: &KeyId) -> StoreResult<Option<StoredCredential>> {
        let key = self.state.keys.iter().find(|stored| stored.id == *key);
        Ok(key.map(|key| StoredCredential {
            key: key.clone(),
            business: key
                .business
                .and_then(|id| self.state.businesses.get(&id.get()).cloned().map(Arc::new)),
        }))
    }

    async fn business(&mut self, id: BusinessId) -> StoreResult<Option<Business>> {
        Ok(self.state.businesses.get(&id.get()).cloned())
    }

    async fn business_by_tag(&mut self, tag: &str) -> StoreResult<Option<Business>> {
        Ok(self
            .state
            .businesses
            .values()
            .find(|business| business.tag == tag)
            .cloned())
    }

    async fn businesses(&mut self) -> StoreResult<Vec<Business>> {
        let mut all: Vec<_> = self.state.businesses.values().cloned().collect();
        all.sort_by(|one, other| one.tag.cmp(&other.tag));
        Ok(all)
    }

    async fn keys(&mut self, business: Option<BusinessId>) -> StoreResult<Vec<ApiKey>> {
        let wanted = |key: &&ApiKey| business.is_none() || key.business == business;
        Ok(self.state.keys.iter().rev().filter(wanted).cloned().collect())
    }
}

#[async_trait]
impl AccountStore for MemorySession {
    async fn insert_business(&mut self, business: &Business) -> StoreResult<BusinessId> {
        if self.business_by_tag(&business.tag).await?.is_some() {
            return Err(StoreError::Duplicate("businesses_tag_key".into()));
        }
        let id = BusinessId::new(self.state.next_id());
        let stored = Business { id, ..business.clone() };
        self.state.businesses.insert(id.get(), stored);
        Ok(id)
    }

    async fn update_business(&mut self, business: &Business) -> StoreResult<()> {
        self.state.businesses.insert(business.id.get(), business.clone());
        Ok(())
    }

    async fn delete_business(&mut self, id: BusinessId) -> StoreResult<()> {
        self.state.businesses.remove(&id.get());
        self.state.leads.retain(|_, (owner, _)| *owner != id);
        Ok(())
    }

    async fn insert_key(&mut self, key: &ApiKey) -> StoreResult<()> {
        self.state.keys.push(key.clone());
        Ok(())
    }

    async fn revoke_key(&mut self, key: &KeyId, at: Timestamp) -> StoreResult<bool> {
        let Some(key) = self.state.keys.iter_mut().find(|stored| stored.id == *key) else {
            return Ok(false);
        };
        key.revoked.get_or_insert(at);
        Ok(true)
    }
}

#[async_trait]
impl LeadReader for MemorySession {
    async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        if self.state.broken_leads.contains(&id) {
            return Err(StoreError::Other("the document is spoilt".into()));
        }
        let lead = self.state.leads.get(&id.get());
        Ok(lead
            .filter(|(owner, _)| *owner == business)
            .map(|(_, lead)| lead.clone()))
    }

    async fn contact_exists(&mut self, _: BusinessId, _: ContactId) -> StoreResult<bool> {
        Ok(false)
    }

    async fn leads(&mut self, _: BusinessId, _: &LeadFilter, _: &PageRequest) -> StoreResult<Page<Lead>> {
        panic!("nothing here lists leads")
    }

    async fn stock_vehicle(&mut self, _: BusinessId, _: &VehicleChoice) -> StoreResult<Option<StockVehicle>> {
        Ok(None)
    }

    async fn vehicle_with(&mut self, _: BusinessId, _: &VehicleClue) -> StoreResult<Option<VehicleId>> {
        Ok(None)
    }

    async fn lead_vehicles(
        &mut self,
        _: BusinessId,
        _: LeadId,
        _: &PageRequest,
    ) -> StoreResult<Option<Page<LeadVehicle>>> {
        // Nothing here associates vehicles.
        Ok(Some(Page {
            items: Vec::new(),
            next: None,
            total: None,
        }))
    }
}

#[async_trait]
impl EventLog for MemorySession {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.state.events.push((business, event));
        Ok(())
    }
}

#[async_trait]
impl MailOutbox for MemorySession {
    async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()> {
        let id = self.state.next_id();
        let pending = PendingMail {
            id,
            business,
            mail,
            attempts: 0,
        };
        self.state.mails.insert(id, QueuedMail { pending, due: at });
        Ok(())
    }
}

#[async_trait]
impl LeadStore for MemorySession {
    async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        self.lead(business, id).await
    }

    async fn insert_lead(&mut self, business: BusinessId, content: LeadDraft, at: Timestamp) -> StoreResult<Lead> {
        let id = self.state.next_id();
        let before = self
            .state
            .leads
            .values()
            .filter(|(owner, _)| *owner == business)
            .count();
        let lead = Lead {
            id: LeadId::new(id),
            reference: i64::try_from(before).unwrap() + 1,
            created: at,
            updated: at,
            version: Version::FIRST,
            content,
        };
        self.state.leads.insert(id, (business, lead.clone()));
        Ok(lead)
    }

    async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()> {
        self.state.leads.insert(lead.id.get(), (business, lead.clone()));
        Ok(())
    }

    async fn delete_lead(&mut self, _: BusinessId, id: LeadId) -> StoreResult<()> {
        self.state.leads.remove(&id.get());
        self.state.conversations.forget(id);
        Ok(())
    }

    async fn associate_vehicle(&mut self, _: BusinessId, _: LeadId, _: VehicleId, _: Timestamp) -> StoreResult<bool> {
        panic!("nothing here associates vehicles")
    }

    async fn dissociate_vehicle(&mut self, _: BusinessId, _: LeadId, _: VehicleId) -> StoreResult<bool> {
        panic!("nothing here associates vehicles")
    }

    async fn contacts_like(&mut self, _: BusinessId, _: &SenderKeys) -> StoreResult<Vec<ContactSuggestion>> {
        Ok(Vec::new())
    }

    async fn request_assessment(&mut self, business: BusinessId, lead: LeadId, at: Timestamp) -> StoreResult<()> {
        self.state.conversations.request(business, lead, at);
        Ok(())
    }

    async fn due_reopenings(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReopening>> {
        let due = |(_, lead): &&(BusinessId, Lead)| {
            let LeadDraft { status, reopen, .. } = &lead.content;
            *status == LeadStatus::Closed && reopen.is_some_and(|day| day.midnight() <= now)
        };
        let leads = self.state.leads.values().filter(due).take(limit as usize);
        Ok(leads
            .map(|(business, lead)| DueReopening {
                business: *business,
                lead: lead.id,
            })
            .collect())
    }
}

#[async_trait]
impl IdempotencyStore for MemorySession {
    async fn key_use(&mut self, _: BusinessId, _: &KeyedRequest, _: Timestamp) -> StoreResult<KeyUse> {
        panic!("only requests have keys")
    }

    async fn store_response(
        &mut self,
        _: BusinessId,
        _: &KeyedRequest,
        _: Timestamp,
        _: &StoredResponse,
        _: Shown,
    ) -> StoreResult<()> {
        panic!("only requests have answers")
    }

    async fn forget_expired(&mut self, _: Timestamp, limit: u32) -> StoreResult<u32> {
        let forgotten = self.state.expired_answers.min(limit);
        self.state.expired_answers -= forgotten;
        Ok(forgotten)
    }
}

/// What is deleted here is gone with its transaction, but for what a test puts here.
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
}

#[async_trait]
impl MailQueue for MemorySession {
    async fn take_mails(&mut self, now: Timestamp, lease: Timestamp, limit: u32) -> StoreResult<Vec<PendingMail>> {
        let due = self.state.mails.values_mut().filter(|mail| mail.due <= now);
        Ok(due
            .take(limit as usize)
            .map(|mail| {
                mail.due = lease;
                mail.pending.clone()
            })
            .collect())
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

#[async_trait]
impl BacklogReader for MemorySession {
    async fn backlog(&mut self) -> StoreResult<Backlog> {
        let disabled = self.state.endpoints.iter().filter(|endpoint| !endpoint.active);
        Ok(Backlog {
            disabled_webhooks: u32::try_from(disabled.count()).unwrap(),
            mails: u32::try_from(self.state.mails.len()).unwrap(),
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
        for (made, vehicle) in leads {
            let id = self.insert_lead(business, made.content, made.created).await?.id;
            if let Some((_, lead)) = self.state.leads.get_mut(&id.get()) {
                lead.updated = made.updated;
            }
            self.state.lead_vehicles.extend(vehicle.map(|vehicle| (id, vehicle)));
        }
        Ok(())
    }

    async fn load_made_contacts(
        &mut self,
        business: BusinessId,
        contacts: Vec<Loaded<ContactDraft>>,
    ) -> StoreResult<()> {
        let contacts = contacts.into_iter().map(|made| (business, made));
        self.state.contacts.extend(contacts);
        Ok(())
    }

    async fn load_made_vehicles(
        &mut self,
        business: BusinessId,
        vehicles: Vec<Loaded<VehicleDraft>>,
    ) -> StoreResult<()> {
        for made in vehicles {
            let id = self.insert_vehicle(business, made.content, made.created).await?.id;
            if let Some((_, vehicle)) = self.state.vehicles.get_mut(&id.get()) {
                vehicle.updated = made.updated;
            }
        }
        Ok(())
    }
}

impl HoldsListings for MemorySession {
    fn held_listings(&mut self) -> &mut MemoryListings {
        &mut self.state.listings
    }
}

impl HoldsFiles for MemorySession {
    fn held_files(&mut self) -> &mut MemoryFileRegister {
        &mut self.state.files
    }
}

impl HoldsVehicleRecords for MemorySession {
    fn held_vehicle_records(&mut self) -> &mut MemoryVehicleRecords {
        &mut self.state.vehicle_records
    }
}

impl HoldsInvoices for MemorySession {
    fn held_invoices(&mut self) -> &mut MemoryInvoices {
        &mut self.state.invoices
    }
}

impl HoldsArticles for MemorySession {
    fn held_articles(&mut self) -> &mut MemoryArticles {
        &mut self.state.articles
    }
}

impl HoldsConversations for MemorySession {
    fn held_conversations(&mut self) -> &mut MemoryConversations {
        &mut self.state.conversations
    }
}

impl HoldsReviews for MemorySession {
    fn held_reviews(&mut self) -> &mut MemoryReviews {
        &mut self.state.reviews
    }
}

/// Vehicles are loaded and looked at; nothing here filters them.
mod vehicles {
    use forecourt_vehicles::{
        Vehicle, VehicleFilter, VehicleFollower, VehicleReader, VehicleStatus, VehicleStore, VehicleTag,
    };

    use super::*;

    #[async_trait]
    impl VehicleReader for MemorySession {
        async fn vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
            let stored = self.state.vehicles.get(&id.get());
            Ok(stored
                .filter(|(owner, vehicle)| *owner == business && vehicle.content.status != VehicleStatus::Deleted)
                .map(|(_, vehicle)| vehicle.clone()))
        }

        async fn vehicles(
            &mut self,
            business: BusinessId,
            _: &VehicleFilter,
            _: &PageRequest,
        ) -> StoreResult<Page<Vehicle>> {
            let newest = self.state.vehicles.values().rev();
            let own = newest.filter(|(owner, _)| *owner == business);
            Ok(Page {
                items: own.map(|(_, vehicle)| vehicle.clone()).collect(),
                next: None,
                total: None,
            })
        }

        async fn vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32> {
            let for_sale = |(owner, vehicle): &&(BusinessId, Vehicle)| {
                *owner == business && vehicle.content.status.counts_as_for_sale()
            };
            Ok(u32::try_from(self.state.vehicles.values().filter(for_sale).count()).unwrap())
        }

        async fn contact_name(&mut self, _: BusinessId, _: ContactId) -> StoreResult<Option<String>> {
            Ok(None)
        }
    }

    impl VehicleFollower for MemorySession {}

    #[async_trait]
    impl VehicleStore for MemorySession {
        async fn lock_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
            self.vehicle(business, id).await
        }

        async fn lock_vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32> {
            self.vehicles_for_sale(business).await
        }

        async fn insert_vehicle(
            &mut self,
            business: BusinessId,
            content: VehicleDraft,
            at: Timestamp,
        ) -> StoreResult<Vehicle> {
            let id = self.state.next_id();
            let earlier = self.state.vehicles.values().filter(|(owner, _)| *owner == business);
            let vehicle = Vehicle {
                id: VehicleId::new(id),
                tag: VehicleTag::nth(u64::try_from(earlier.count()).unwrap() + 1),
                created: at,
                updated: at,
                version: Version::FIRST,
                content,
            };
            self.state.vehicles.insert(id, (business, vehicle.clone()));
            Ok(vehicle)
        }

        async fn save_vehicle(&mut self, business: BusinessId, vehicle: &Vehicle) -> StoreResult<()> {
            self.state
                .vehicles
                .insert(vehicle.id.get(), (business, vehicle.clone()));
            Ok(())
        }
    }
}

/// Nothing here queries contacts: they are loaded and looked at.
mod contacts {
    use forecourt_contacts::{
        BlockKey, Contact, ContactFilter, ContactNote, ContactReader, ContactStore, DuplicateProbe, LinkedLead,
        NewNote, PasswordHash, PastEvent,
    };
    use forecourt_kernel::{ContactNoteId, EventSequence, View};
    use forecourt_reference::Catalogue;

    use super::*;

    fn none<T>() -> StoreResult<T> {
        Err(StoreError::Other("nobody asks for contacts here".into()))
    }

    #[async_trait]
    impl ContactReader for MemorySession {
        async fn contact(&mut self, _: BusinessId, _: ContactId) -> StoreResult<Option<Contact>> {
            none()
        }

        async fn contacts(
            &mut self,
            business: BusinessId,
            _: &ContactFilter,
            _: &PageRequest,
            _: View,
        ) -> StoreResult<Page<Contact>> {
            let numbered = (1..).zip(&self.state.contacts);
            let own = numbered.filter(|(_, (owner, _))| *owner == business);
            let contact = |(id, (_, made)): (i64, &(BusinessId, Loaded<ContactDraft>))| Contact {
                id: ContactId::new(id),
                created: made.created,
                updated: made.updated,
                version: Version::FIRST,
                notes: Vec::new(),
                content: made.content.clone(),
            };
            let mut items: Vec<_> = own.map(contact).collect();
            items.reverse();
            Ok(Page {
                items,
                next: None,
                total: None,
            })
        }

        async fn contact_like(&mut self, _: BusinessId, _: &DuplicateProbe) -> StoreResult<Option<ContactId>> {
            none()
        }

        async fn contact_notes(
            &mut self,
            _: BusinessId,
            _: ContactId,
            _: &PageRequest,
        ) -> StoreResult<Option<Page<ContactNote>>> {
            none()
        }

        async fn blocked(&mut self, _: BusinessId, _: &[BlockKey]) -> StoreResult<Vec<BlockKey>> {
            none()
        }

        async fn newest_contact_notes(&mut self, _: BusinessId, _: ContactId) -> StoreResult<Vec<ContactNote>> {
            none()
        }

        async fn has_contact_password(&mut self, _: BusinessId, _: ContactId) -> StoreResult<bool> {
            none()
        }

        async fn contact_leads(
            &mut self,
            _: BusinessId,
            _: ContactId,
            _: LeadId,
            _: &Catalogue,
        ) -> StoreResult<Vec<LinkedLead>> {
            none()
        }

        async fn contact_events(
            &mut self,
            _: BusinessId,
            _: ContactId,
            _: EventSequence,
        ) -> StoreResult<Vec<PastEvent>> {
            none()
        }
    }

    #[async_trait]
    impl ContactStore for MemorySession {
        async fn lock_contact(&mut self, _: BusinessId, _: ContactId) -> StoreResult<Option<Contact>> {
            none()
        }

        async fn login_holder(&mut self, _: BusinessId, _: &str) -> StoreResult<Option<ContactId>> {
            none()
        }

        async fn insert_contact(&mut self, _: BusinessId, _: ContactDraft, _: Timestamp) -> StoreResult<Contact> {
            none()
        }

        async fn save_contact(&mut self, _: BusinessId, _: &Contact) -> StoreResult<()> {
            none()
        }

        async fn set_contact_password(
            &mut self,
            _: BusinessId,
            _: ContactId,
            _: Option<PasswordHash>,
        ) -> StoreResult<()> {
            none()
        }

        async fn lease_login_mail(
            &mut self,
            _: BusinessId,
            _: ContactId,
            _: Timestamp,
            _: Timestamp,
        ) -> StoreResult<bool> {
            none()
        }

        async fn return_login_mail(&mut self, _: BusinessId, _: ContactId, _: Timestamp) -> StoreResult<bool> {
            none()
        }

        async fn count_contact_notes(&mut self, _: BusinessId, _: ContactId) -> StoreResult<usize> {
            none()
        }

        async fn insert_contact_note(
            &mut self,
            _: BusinessId,
            _: ContactId,
            _: NewNote,
            _: Timestamp,
        ) -> StoreResult<ContactNote> {
            none()
        }

        async fn delete_contact_note(&mut self, _: BusinessId, _: ContactId, _: ContactNoteId) -> StoreResult<bool> {
            none()
        }

        async fn set_blocked(&mut self, _: BusinessId, _: &BlockKey, _: bool) -> StoreResult<()> {
            none()
        }

        async fn erase_contact(&mut self, _: BusinessId, _: &Contact) -> StoreResult<()> {
            none()
        }
    }
}

/// No webhooks, but endpoints to deliver to.
mod webhooks {
    use forecourt_kernel::{EventSequence, Moment, WebhookId};
    use forecourt_webhooks::{
        Delivery, DeliveryFilter, DeliveryQueue, EndpointKey, EndpointState, EventFilter, EventHead, Health, LogPage,
        Room, Secret, Taken, Webhook, WebhookDraft, WebhookReader, WebhookStore,
    };

    use super::*;

    fn none<T>() -> StoreResult<T> {
        Err(StoreError::Other("there are no webhooks here".into()))
    }

    #[async_trait]
    impl WebhookReader for MemorySession {
        async fn webhook(&mut self, _: BusinessId, _: WebhookId) -> StoreResult<Option<Webhook>> {
            none()
        }

        async fn webhooks(&mut self, _: BusinessId, _: &PageRequest) -> StoreResult<Page<Webhook>> {
            none()
        }

        async fn deliveries(
            &mut self,
            _: BusinessId,
            _: WebhookId,
            _: &DeliveryFilter,
            _: &PageRequest,
        ) -> StoreResult<Option<Page<Delivery>>> {
            none()
        }

        async fn events(&mut self, _: BusinessId, _: &EventFilter, _: EventSequence, _: u32) -> StoreResult<LogPage> {
            none()
        }

        async fn event_heads(&mut self, _: BusinessId, _: EventSequence, _: u32) -> StoreResult<Vec<EventHead>> {
            none()
        }

        async fn latest_event(&mut self, _: BusinessId) -> StoreResult<EventSequence> {
            none()
        }
    }

    #[async_trait]
    impl WebhookStore for MemorySession {
        async fn lock_webhook(&mut self, _: BusinessId, _: WebhookId) -> StoreResult<Option<Webhook>> {
            none()
        }

        async fn lock_webhook_count(&mut self, _: BusinessId) -> StoreResult<usize> {
            none()
        }

        async fn insert_webhook(
            &mut self,
            _: BusinessId,
            _: WebhookDraft,
            _: &Secret,
            _: Timestamp,
        ) -> StoreResult<Webhook> {
            none()
        }

        async fn save_webhook(&mut self, _: BusinessId, _: &Webhook) -> StoreResult<()> {
            none()
        }

        async fn replace_secret(&mut self, _: BusinessId, _: WebhookId, _: &Secret, _: Timestamp) -> StoreResult<()> {
            none()
        }

        async fn delete_webhook(&mut self, _: BusinessId, _: WebhookId, _: Timestamp) -> StoreResult<()> {
            none()
        }

        async fn delivery(&mut self, _: BusinessId, _: WebhookId, _: DeliveryId) -> StoreResult<Option<Delivery>> {
            none()
        }

        async fn queue_ping(&mut self, _: BusinessId, _: WebhookId, _: Moment) -> StoreResult<DeliveryId> {
            none()
        }

        async fn queue_again(
            &mut self,
            _: BusinessId,
            _: WebhookId,
            _: DeliveryId,
            _: Moment,
        ) -> StoreResult<Delivery> {
            none()
        }
    }

    #[async_trait]
    impl DeliveryQueue for MemorySession {
        async fn due_endpoints(&mut self, _: Moment, _: u32) -> StoreResult<Vec<EndpointKey>> {
            Ok(Vec::new())
        }

        async fn next_due(&mut self) -> StoreResult<Option<Moment>> {
            Ok(None)
        }

        async fn take_due(&mut self, _: EndpointKey, _: Moment, _: Moment, _: Room, _: Moment) -> StoreResult<Taken> {
            Ok(Taken::default())
        }

        async fn give_back(&mut self, _: EndpointKey, deliveries: &[DeliveryId], _: Moment) -> StoreResult<()> {
            self.state.given_back.extend(deliveries);
            Ok(())
        }

        async fn reclaim(&mut self, _: Moment, _: u32) -> StoreResult<u32> {
            Ok(0)
        }

        async fn endpoint(&mut self, key: EndpointKey) -> StoreResult<EndpointState> {
            let mut endpoints = self.state.endpoints.iter();
            let found = endpoints.find(|endpoint| endpoint.key == key);
            Ok(found.cloned().map_or(EndpointState::Deleted, EndpointState::Ready))
        }

        async fn save_attempts(&mut self, attempts: &[AttemptRecord]) -> StoreResult<()> {
            self.state.attempts.extend_from_slice(attempts);
            Ok(())
        }

        async fn lock_health(&mut self, _: EndpointKey) -> StoreResult<Option<Health>> {
            Ok(None)
        }

        async fn save_health(&mut self, _: &Health, _: Timestamp) -> StoreResult<()> {
            none()
        }

        async fn purge_history(&mut self, _: Timestamp, _: u32) -> StoreResult<u32> {
            Ok(0)
        }
    }
}
