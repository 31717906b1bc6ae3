//! A dealership with a fixture at which leads come in.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use async_trait::async_trait;
use forecourt_accounts::{Business, BusinessFile, Caller};
use forecourt_kernel::{
    BusinessId, Clock, ContactId, EventLog, EventName, LeadId, Mail, MailOutbox, NewEvent, Page, PageRequest, ScopeSet,
    StoreResult, Target, Timestamp, VehicleId, Version, View,
};
use forecourt_leads::{
    ContactSuggestion, DueReopening, Lead, LeadChanges, LeadDraft, LeadError, LeadFilter, LeadReader, LeadStore,
    LeadVehicle, LeadView, SenderKeys, SetAssignment, StatusChange, StockVehicle, VehicleChoice, VehicleClue,
    add_lead_vehicle, assign_lead, create_lead, delete_lead, remove_lead_vehicle, reopen_lead, set_lead_status,
    testing::{HoldsConversations, MemoryConversations},
    update_lead,
};
use forecourt_reference::StockType;
use serde_json::{Map, Value, json};

/// 2026-03-01T09:30:00Z, when the fixture opens.
pub(crate) const OPENING: i64 = 1_772_357_400;

/// A moment that many seconds after [`OPENING`].
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(OPENING + seconds)
}

/// The contacts that the business has; another business has others.
pub(crate) const ANN: ContactId = ContactId::new(31);
pub(crate) const BOB: ContactId = ContactId::new(32);
pub(crate) const SOMEBODY_ELSES: ContactId = ContactId::new(33);

/// A vehicle that the business has; another business has another.
pub(crate) const GOLF: VehicleId = VehicleId::new(61);
pub(crate) const SOMEBODY_ELSES_CAR: VehicleId = VehicleId::new(62);

/// All that leads know of [`GOLF`], whose tag is `KQVRK`.
pub(crate) fn golf() -> StockVehicle {
    StockVehicle {
        id: GOLF,
        tag: "KQVRK".into(),
        registration: Some("AB12 CDE".into()),
        kind: StockType::InStock,
        make: "Volkswagen".into(),
        model: "Golf".into(),
        derivative: "1.5 TSI Match".into(),
        url: "2021-volkswagen-golf-1-5-tsi-match-kqvrk".into(),
    }
}

const ACME: BusinessId = BusinessId::new(7);
const OTHER: BusinessId = BusinessId::new(8);

/// A business with two sites, and two tags for leads, of which new ones take one.
pub(crate) fn acme() -> Business {
    let file: BusinessFile = serde_json::from_value(json!({
        "tag": "acme", "name": "Acme Cars", "email": "office@acme.example",
        "sites": [{"id": 1, "name": "North"}, {"id": 2, "name": "South"}],
        "tags": [
            {"resource": "lead", "name": "Hot", "colour": "#d33", "type": "mood", "defaulted": true},
            {"resource": "lead", "name": "Cold", "colour": "#33d"},
            {"resource": "contact", "name": "Trade", "defaulted": true},
        ],
    }))
    .unwrap();
    let business = file.apply(None, at(0)).unwrap();
    Business { id: ACME, ..business }
}

fn caller(business: Business) -> Caller {
    Caller {
        key: "fck_0123456789abcdef".parse().unwrap(),
        scopes: ScopeSet::all(),
        business: Arc::new(business),
    }
}

/// A caller of [`acme`].
pub(crate) fn acme_caller() -> Caller {
    caller(acme())
}

/// A clock that shows the time it was set to.
pub(crate) struct At(pub(crate) Timestamp);

impl Clock for At {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Everything that the use cases work on, and the use cases.
pub(crate) struct Fixture {
    pub(crate) store: Memory,
    pub(crate) caller: Caller,
    pub(crate) clock: At,
}

impl Fixture {
    pub(crate) fn open() -> Self {
        Self {
            store: Memory::default(),
            caller: acme_caller(),
            clock: At(at(0)),
        }
    }

    /// A fixture at which one lead has come in, and that was noted.
    pub(crate) async fn with_lead(changes: LeadChanges) -> (Self, Lead) {
        let mut fixture = Self::open();
        let lead = fixture.create(changes).await.unwrap();
        fixture.store.events.clear();
        fixture.store.mails.clear();
        (fixture, lead)
    }

    /// Makes it that many seconds after [`OPENING`].
    pub(crate) fn set_clock(&mut self, seconds: i64) {
        self.clock = At(at(seconds));
    }

    /// Makes the next calls come from another business.
    pub(crate) fn change_business(&mut self) {
        self.caller = caller(Business { id: OTHER, ..acme() });
    }

    pub(crate) async fn create(&mut self, changes: LeadChanges) -> Result<Lead, LeadError> {
        create_lead(&mut self.store, &self.clock, &self.caller, changes).await
    }

    pub(crate) async fn update(
        &mut self,
        id: impl Into<Target<LeadId>>,
        changes: LeadChanges,
    ) -> Result<Lead, LeadError> {
        update_lead(&mut self.store, &self.clock, &self.caller, id, changes).await
    }

    pub(crate) async fn set_status(&mut self, id: LeadId, change: StatusChange) -> Result<Lead, LeadError> {
        set_lead_status(&mut self.store, &self.clock, &self.caller, id, change.validate()?).await
    }

    pub(crate) async fn assign(&mut self, id: LeadId, assign: &[i64]) -> Result<Lead, LeadError> {
        let assign = assign.iter().copied().map(forecourt_kernel::StaffId::new).collect();
        let command = SetAssignment { assign };
        assign_lead(&mut self.store, &self.clock, &self.caller, id, command).await
    }

    pub(crate) async fn delete(&mut self, id: impl Into<Target<LeadId>>) -> Result<(), LeadError> {
        delete_lead(&mut self.store, &self.clock, &self.caller, id).await
    }

    pub(crate) async fn add_vehicle(
        &mut self,
        id: impl Into<Target<LeadId>>,
        choice: VehicleChoice,
    ) -> Result<LeadVehicle, LeadError> {
        add_lead_vehicle(&mut self.store, &self.clock, &self.caller, id, choice).await
    }

    pub(crate) async fn remove_vehicle(
        &mut self,
        id: impl Into<Target<LeadId>>,
        vehicle: VehicleId,
    ) -> Result<(), LeadError> {
        remove_lead_vehicle(&mut self.store, &self.caller, id, vehicle).await
    }

    pub(crate) async fn reopen(&mut self, id: LeadId) -> Result<(), LeadError> {
        reopen_lead(&mut self.store, &self.clock, &self.caller.business, id).await
    }

    /// The lead as it is kept.
    pub(crate) fn stored(&self, id: LeadId) -> Lead {
        self.store.leads[&(self.caller.business_id(), id)].clone()
    }

    /// The lead as an integrator sees it in full.
    pub(crate) fn view(&self, lead: &Lead) -> Value {
        serde_json::to_value(LeadView::new(lead, View::Full, &self.caller.business.catalogue)).unwrap()
    }

    /// Asserts that `lead` is stored, and that the one event recorded since has this name and shows it in full.
    #[track_caller]
    pub(crate) fn assert_told(&mut self, name: EventName, lead: &Lead) {
        assert_eq!(self.stored(lead.id), *lead);
        let events = std::mem::take(&mut self.store.events);
        let [(business, event)] = &*events else {
            panic!("one event was expected: {events:?}")
        };
        assert_eq!(*business, self.caller.business_id());
        assert_eq!(
            (event.name, event.record, event.at),
            (name, lead.id.get(), self.clock.0)
        );
        let full = LeadView::new(lead, View::Full, &self.caller.business.catalogue);
        assert_eq!(event.data, serde_json::to_string(&full).unwrap());
    }

    /// Asserts that `lead` is stored, and that nothing was written or recorded since.
    #[track_caller]
    pub(crate) fn assert_untouched(&self, lead: &Lead) {
        assert_eq!(self.stored(lead.id), *lead);
        assert_eq!(self.store.saves, 0);
        assert_eq!(self.store.events, []);
        assert_eq!(self.store.mails, []);
    }
}

/// The invalid fields.
#[track_caller]
pub(crate) fn faults<T: std::fmt::Debug>(outcome: Result<T, LeadError>) -> Vec<String> {
    match outcome {
        Err(LeadError::Invalid(errors)) => errors.as_slice().iter().map(|error| error.field.clone()).collect(),
        other => panic!("a refusal of fields was expected: {other:?}"),
    }
}

/// The members of a JSON object.
/// What a body says.
pub(crate) fn changes(body: Value) -> LeadChanges {
    serde_json::from_value(body).unwrap()
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}

/// Storage that forgets.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) leads: BTreeMap<(BusinessId, LeadId), Lead>,
    pub(crate) events: Vec<(BusinessId, NewEvent)>,
    pub(crate) mails: Vec<(BusinessId, Mail, Timestamp)>,
    /// Which leads concern which vehicles.
    pub(crate) vehicles: BTreeSet<(BusinessId, LeadId, VehicleId)>,
    /// How often a lead was saved.
    pub(crate) saves: u32,
    /// Contacts with their folded emails and their numbers.
    pub(crate) known_senders: Vec<(ContactId, String, String)>,
    /// What is written on leads.
    pub(crate) conversations: MemoryConversations,
}

impl HoldsConversations for Memory {
    fn held_conversations(&mut self) -> &mut MemoryConversations {
        &mut self.conversations
    }
}

#[async_trait]
impl LeadReader for Memory {
    async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        Ok(self.leads.get(&(business, id)).cloned())
    }

    async fn leads(&mut self, _: BusinessId, _: &LeadFilter, _: &PageRequest) -> StoreResult<Page<Lead>> {
        panic!("what a list has is storage's affair")
    }

    async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool> {
        Ok(match business {
            ACME => [ANN, BOB].contains(&id),
            _ => id == SOMEBODY_ELSES,
        })
    }

    async fn stock_vehicle(
        &mut self,
        business: BusinessId,
        choice: &VehicleChoice,
    ) -> StoreResult<Option<StockVehicle>> {
        let theirs = StockVehicle {
            id: SOMEBODY_ELSES_CAR,
            tag: "6FQH7".into(),
            ..golf()
        };
        let vehicle = if business == ACME { golf() } else { theirs };
        let is_meant = match choice {
            VehicleChoice::Id(id) => *id == vehicle.id,
            VehicleChoice::Tag(tag) => *tag == vehicle.tag,
        };
        Ok(is_meant.then_some(vehicle))
    }

    async fn vehicle_with(&mut self, business: BusinessId, clue: &VehicleClue) -> StoreResult<Option<VehicleId>> {
        let golf = match clue {
            VehicleClue::StockNumber(number) => number == "A-17",
            VehicleClue::Vin(vin) => vin == "WVWZZZ1KZ6W000001",
            VehicleClue::Registration(mark) => mark == "AB12CDE",
        };
        Ok((business == ACME && golf).then_some(GOLF))
    }

    async fn lead_vehicles(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        _: &PageRequest,
    ) -> StoreResult<Option<Page<LeadVehicle>>> {
        let own = self
            .vehicles
            .iter()
            .filter(|(owner, of, _)| (*owner, *of) == (business, lead));
        let items = own
            .map(|_| LeadVehicle {
                lead,
                vehicle: golf(),
                created: at(0),
            })
            .collect();
        Ok(Some(Page {
            items,
            next: None,
            total: None,
        }))
    }
}

#[async_trait]
impl LeadStore for Memory {
    async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        self.lead(business, id).await
    }

    async fn insert_lead(&mut self, business: BusinessId, content: LeadDraft, at: Timestamp) -> StoreResult<Lead> {
        let reference = 1 + self.leads.keys().filter(|(owner, _)| *owner == business).count();
        let lead = Lead {
            id: LeadId::new(501 + i64::try_from(self.leads.len()).unwrap()),
            reference: i64::try_from(reference).unwrap(),
            created: at,
            updated: at,
            version: Version::FIRST,
            content,
        };
        self.leads.insert((business, lead.id), lead.clone());
        Ok(lead)
    }

    async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()> {
        self.saves += 1;
        self.leads.insert((business, lead.id), lead.clone()).unwrap();
        Ok(())
    }

    async fn delete_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<()> {
        self.leads.remove(&(business, id)).unwrap();
        self.conversations.forget(id);
        Ok(())
    }

    async fn associate_vehicle(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        vehicle: VehicleId,
        _: Timestamp,
    ) -> StoreResult<bool> {
        Ok(self.vehicles.insert((business, lead, vehicle)))
    }

    async fn dissociate_vehicle(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        vehicle: VehicleId,
    ) -> StoreResult<bool> {
        Ok(self.vehicles.remove(&(business, lead, vehicle)))
    }

    async fn contacts_like(&mut self, business: BusinessId, keys: &SenderKeys) -> StoreResult<Vec<ContactSuggestion>> {
        let known = self.known_senders.iter().filter(|_| business == ACME);
        let found = known.filter_map(|(contact, email, number)| {
            let by = keys.found_by(email, [number, ""])?;
            Some(ContactSuggestion { contact: *contact, by })
        });
        Ok(found.take(2).collect())
    }

    async fn request_assessment(&mut self, business: BusinessId, lead: LeadId, at: Timestamp) -> StoreResult<()> {
        self.conversations.request(business, lead, at);
        Ok(())
    }

    async fn due_reopenings(&mut self, _: Timestamp, _: u32) -> StoreResult<Vec<DueReopening>> {
        panic!("which leads are due is storage's affair")
    }
}

#[async_trait]
impl EventLog for Memory {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.events.push((business, event));
        Ok(())
    }
}

#[async_trait]
impl MailOutbox for Memory {
    async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()> {
        self.mails.push((business, mail, at));
        Ok(())
    }
}
