//! A dealership with leads, contacts and vehicles.

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_kernel::{
    BusinessId, Clock as _, ContactId, EventName, LeadId, ScopeSet, SiteId, Target, Timestamp, Valid, VehicleId, View,
    testing::FixedClock,
};
use forecourt_leads::{
    Lead, LeadChanges, LeadError, LeadVehicle, LeadView, SetAssignment, StatusChange, StockVehicle, VehicleChoice,
    add_lead_vehicle, assign_lead, create_lead, delete_lead, remove_lead_vehicle, reopen_lead, set_lead_status,
    testing::{KnownContact, KnownVehicle, MemoryStore},
    update_lead, validate_lead, validate_lead_references, validate_new_lead_references,
};
use forecourt_reference::{Site, StockType, Tag, TagResource};
use serde_json::{Map, Value};

/// 2026-03-01T09:30:00Z, when the fixture opens.
pub(crate) const OPENING: i64 = 1_772_357_400;

/// The moment `seconds` after [`OPENING`].
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(OPENING + seconds)
}

/// The contacts of the business; another business has others.
pub(crate) const ANN: ContactId = ContactId::new(31);
pub(crate) const BOB: ContactId = ContactId::new(32);
pub(crate) const SOMEBODY_ELSES: ContactId = ContactId::new(33);

/// A vehicle of the business; another business has another.
pub(crate) const GOLF: VehicleId = VehicleId::new(61);
pub(crate) const SOMEBODY_ELSES_CAR: VehicleId = VehicleId::new(62);

/// The data of [`GOLF`] that leads know. Its tag is `KQVRK`.
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

/// A contact about whom nothing is known.
pub(crate) fn a_contact(id: ContactId) -> KnownContact {
    KnownContact {
        id,
        email: String::new(),
        numbers: [String::new(), String::new()],
    }
}

/// A store with the contacts and vehicles of the businesses.
fn store() -> MemoryStore {
    let mut store = MemoryStore::default();
    for (business, contact) in [(ACME, ANN), (ACME, BOB), (OTHER, SOMEBODY_ELSES)] {
        store.leads.know_contact(business, a_contact(contact));
    }
    let known = KnownVehicle {
        vehicle: golf(),
        numbers: ["A-17".into(), String::new()],
        vin: "WVWZZZ1KZ6W000001".into(),
    };
    let theirs = StockVehicle {
        id: SOMEBODY_ELSES_CAR,
        tag: "6FQH7".into(),
        ..golf()
    };
    let theirs = KnownVehicle {
        vehicle: theirs,
        ..known.clone()
    };
    store.leads.know_vehicle(ACME, known);
    store.leads.know_vehicle(OTHER, theirs);
    store
}

fn site(id: i64, name: &str) -> Site {
    Site {
        id: SiteId::new(id),
        name: name.into(),
        tag: String::new(),
        domain: String::new(),
        kind: String::new(),
        active: true,
    }
}

/// A business with two sites, and two tags for leads, one of which new leads get.
pub(crate) fn acme() -> Business {
    let tag = |resource, name: &str, colour: &str, kind: &str, defaulted| Tag {
        resource,
        name: name.into(),
        colour: colour.into(),
        kind: kind.into(),
        defaulted,
    };
    let mut acme = Business::new(ACME, "acme", "Acme Cars");
    acme.email = "office@acme.example".into();
    acme.catalogue.sites = [(1, "North"), (2, "South")].map(|(id, name)| site(id, name)).into();
    acme.catalogue.tags = vec![
        tag(TagResource::Lead, "Hot", "#d33", "mood", true),
        tag(TagResource::Lead, "Cold", "#33d", "", false),
        tag(TagResource::Contact, "Trade", "", "", true),
    ];
    acme
}

/// A caller of [`acme`].
pub(crate) fn acme_caller() -> Caller {
    Caller::of(acme(), ScopeSet::all())
}

/// The use cases, with the data that they work on.
pub(crate) struct Fixture {
    pub(crate) store: MemoryStore,
    pub(crate) caller: Caller,
    pub(crate) clock: FixedClock,
    saves: usize,
}

impl Fixture {
    pub(crate) fn open() -> Self {
        Self {
            store: store(),
            caller: acme_caller(),
            clock: FixedClock::at(at(0)),
            saves: 0,
        }
    }

    /// Opens a fixture with one lead, whose creation is not counted.
    pub(crate) async fn with_lead(changes: LeadChanges) -> (Self, Lead) {
        let mut fixture = Self::open();
        let lead = fixture.create(changes).await.unwrap();
        fixture.forget_outcomes();
        (fixture, lead)
    }

    /// Ignores everything that was written, recorded or queued before.
    pub(crate) fn forget_outcomes(&mut self) {
        self.store.events.clear();
        self.store.mails.clear();
        self.saves = self.store.leads.saves();
    }

    /// Sets the clock to `seconds` after [`OPENING`].
    pub(crate) fn set_clock(&mut self, seconds: i64) {
        self.clock.set(at(seconds));
    }

    /// Makes the next calls come from another business.
    pub(crate) fn change_business(&mut self) {
        self.caller = Caller::of(Business { id: OTHER, ..acme() }, ScopeSet::all());
    }

    fn rules(&self) -> Rules<'_> {
        Rules {
            business: &self.caller.business,
            now: self.clock.now(),
        }
    }

    pub(crate) async fn create(&mut self, changes: LeadChanges) -> Result<Lead, LeadError> {
        let mut faults = validate_lead(&changes, &self.rules());
        if !faults.is_empty() {
            faults.extend(validate_new_lead_references(&mut self.store, &self.caller, &changes).await?);
        }
        let changes = Valid::new(changes, |_| faults)?;
        create_lead(&mut self.store, &self.clock, &self.caller, changes).await
    }

    pub(crate) async fn update(
        &mut self,
        id: impl Into<Target<LeadId>>,
        changes: LeadChanges,
    ) -> Result<Lead, LeadError> {
        let mut faults = validate_lead(&changes, &self.rules());
        if !faults.is_empty() {
            faults.extend(validate_lead_references(&mut self.store, &self.caller, &changes).await?);
        }
        let changes = Valid::new(changes, |_| faults)?;
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
        remove_lead_vehicle(&mut self.store, &self.clock, &self.caller, id, vehicle).await
    }

    pub(crate) async fn reopen(&mut self, id: LeadId) -> Result<(), LeadError> {
        reopen_lead(&mut self.store, &self.clock, &self.caller.business, id).await
    }

    /// The stored lead.
    pub(crate) fn stored(&self, id: LeadId) -> Lead {
        self.store.leads.get(id).unwrap().clone()
    }

    /// The lead in the full view, as integrators see it.
    pub(crate) fn view(&self, lead: &Lead) -> Value {
        serde_json::to_value(LeadView::new(lead, View::Full, &self.caller.business.catalogue)).unwrap()
    }

    /// Asserts that `lead` is stored, and that one event was recorded since, with this name and the full lead.
    #[track_caller]
    pub(crate) fn assert_recorded(&mut self, name: EventName, lead: &Lead) {
        assert_eq!(self.stored(lead.id), *lead);
        let events = std::mem::take(&mut self.store.events);
        let [(business, event)] = &*events else {
            panic!("one event was expected: {events:?}")
        };
        assert_eq!(*business, self.caller.business_id());
        assert_eq!(
            (event.name, event.record, event.at),
            (name, lead.id.get(), self.clock.now())
        );
        let full = LeadView::new(lead, View::Full, &self.caller.business.catalogue);
        assert_eq!(event.data, serde_json::to_string(&full).unwrap());
    }

    /// Asserts that `lead` is stored, and that nothing was written or recorded since.
    #[track_caller]
    pub(crate) fn assert_untouched(&self, lead: &Lead) {
        assert_eq!(self.stored(lead.id), *lead);
        assert_eq!(self.store.leads.saves(), self.saves);
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

/// Reads a body.
pub(crate) fn changes(body: Value) -> LeadChanges {
    serde_json::from_value(body).unwrap()
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}

/// Validated changes.
pub(crate) fn valid(changes: LeadChanges) -> Valid<LeadChanges> {
    let (business, now) = (&acme(), at(0));
    Valid::new(changes, |changes| validate_lead(changes, &Rules { business, now })).unwrap()
}
