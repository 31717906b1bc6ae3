//! A dealership with a yard of vehicles.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use forecourt_accounts::{Business, Caller};
use forecourt_files::FileName;
use forecourt_files::testing::{HoldsFiles, MemoryFileRegister};
use forecourt_invoices::testing::{HoldsInvoices, MemoryInvoices};
use forecourt_kernel::{
    BusinessId, Clock, ContactId, EventLog, EventName, NewEvent, Page, PageRequest, ScopeSet, StoreResult, Timestamp,
    VehicleId, Version,
};
use forecourt_reference::{StockType, TagChoice};
use forecourt_vehicles::testing::{HoldsVehicleRecords, MemoryVehicleRecords};
use forecourt_vehicles::{
    Detail, MakeOffer, NewVehicle, ReserveVehicle, SellVehicle, SetChannels, SetTags, UpdateVehicle, Vehicle,
    VehicleDraft, VehicleError, VehicleFilter, VehicleFollower, VehicleReader, VehicleStatus, VehicleStore, VehicleTag,
    VehicleView, accept_offer, cancel_reservation, create_vehicle, delete_vehicle, hand_over_vehicle, make_offer,
    read_channel_options, read_data, reject_offer, request_offer, reserve_vehicle, sell_vehicle, set_channels,
    set_vehicle_status, set_vehicle_tags, undo_sale, update_vehicle,
};
use serde_json::{Value, json};

use crate::dealership::{OPENING, acme};

/// A moment that many seconds after [`OPENING`].
pub(crate) const fn at(seconds: i64) -> Timestamp {
    OPENING.plus_seconds(seconds)
}

const OTHER: BusinessId = BusinessId::new(8);

pub(crate) fn caller(business: Business) -> Caller {
    Caller {
        key: "fck_0123456789abcdef".parse().unwrap(),
        scopes: ScopeSet::all(),
        business: Arc::new(business),
    }
}

/// A clock that shows the time it was set to.
pub(crate) struct At(pub(crate) Timestamp);

impl Clock for At {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Everything that the use cases work on, and the use cases in the words of the API.
pub(crate) struct Yard {
    pub(crate) store: Memory,
    pub(crate) caller: Caller,
    pub(crate) clock: At,
}

impl Yard {
    /// A yard of [`acme`], which knows the contacts 501, Ann, and 502, Bob.
    pub(crate) fn open() -> Self {
        let mut store = Memory::default();
        let contacts = [(501, "Ann Lee"), (502, "Bob")].map(|(id, name)| (ContactId::new(id), name.to_owned()));
        store.contacts.extend(contacts);
        Self {
            store,
            caller: caller(acme()),
            clock: At(at(0)),
        }
    }

    /// A yard with one vehicle of that stock type, whose creation event was checked.
    pub(crate) async fn with(kind: StockType, data: Value) -> (Self, Vehicle) {
        let mut yard = Self::open();
        let vehicle = yard.create(kind, data).await.unwrap();
        yard.store.events.clear();
        yard.set_clock(60);
        (yard, vehicle)
    }

    /// A yard with one vehicle that is for sale on the website.
    pub(crate) async fn selling(data: Value) -> (Self, Vehicle) {
        let (mut yard, vehicle) = Self::with(StockType::InStock, data).await;
        let vehicle = yard.publish(vehicle.id, &["website"]).await.unwrap();
        yard.store.events.clear();
        yard.store.saves = 0;
        (yard, vehicle)
    }

    /// Makes it that many seconds after [`OPENING`].
    pub(crate) fn set_clock(&mut self, seconds: i64) {
        self.clock = At(at(seconds));
    }

    /// Makes the next calls come from another business.
    pub(crate) fn change_business(&mut self) {
        self.caller = caller(Business { id: OTHER, ..acme() });
    }

    /// Has the business be as `change` makes it.
    pub(crate) fn reform(&mut self, change: impl FnOnce(&mut Business)) {
        let mut business = (*self.caller.business).clone();
        change(&mut business);
        self.caller = caller(business);
    }

    /// What `POST /2.0/vehicles` makes of a body that says no more.
    pub(crate) fn command(&self, kind: StockType, data: &Value) -> NewVehicle {
        NewVehicle {
            kind,
            registration: None,
            country: None,
            owner: None,
            parent: None,
            data: read_data(data, &self.caller.business, self.clock.0, true).unwrap(),
        }
    }

    pub(crate) async fn create(&mut self, kind: StockType, data: Value) -> Result<Vehicle, VehicleError> {
        let command = self.command(kind, &data);
        self.create_as(command).await
    }

    pub(crate) async fn create_as(&mut self, command: NewVehicle) -> Result<Vehicle, VehicleError> {
        create_vehicle(&mut self.store, &self.clock, &self.caller, command).await
    }

    pub(crate) async fn update(&mut self, id: VehicleId, data: Value) -> Result<Vehicle, VehicleError> {
        let data = read_data(&data, &self.caller.business, self.clock.0, false)?;
        let command = UpdateVehicle {
            data,
            ..UpdateVehicle::default()
        };
        self.change(id, command).await
    }

    pub(crate) async fn change(&mut self, id: VehicleId, command: UpdateVehicle) -> Result<Vehicle, VehicleError> {
        update_vehicle(&mut self.store, &self.clock, &self.caller, id, command).await
    }

    pub(crate) async fn delete(&mut self, id: VehicleId) -> Result<Vec<FileName>, VehicleError> {
        delete_vehicle(&mut self.store, &self.clock, &self.caller, id).await
    }

    pub(crate) async fn set_status(&mut self, id: VehicleId, status: &str) -> Result<Vehicle, VehicleError> {
        let choice = status.parse().unwrap();
        set_vehicle_status(&mut self.store, &self.clock, &self.caller, id, choice).await
    }

    pub(crate) async fn tag(&mut self, id: VehicleId, tags: &[(&str, bool)]) -> Result<Vehicle, VehicleError> {
        let choice = |(name, checked): &(&str, bool)| TagChoice {
            name: (*name).to_owned(),
            checked: *checked,
        };
        let command = SetTags {
            tags: tags.iter().map(choice).collect(),
        };
        set_vehicle_tags(&mut self.store, &self.clock, &self.caller, id, command).await
    }

    pub(crate) async fn publish(&mut self, id: VehicleId, channels: &[&str]) -> Result<Vehicle, VehicleError> {
        self.publish_with(id, channels, json!({})).await
    }

    pub(crate) async fn publish_with(
        &mut self,
        id: VehicleId,
        channels: &[&str],
        options: Value,
    ) -> Result<Vehicle, VehicleError> {
        let command = SetChannels {
            channels: channels.iter().map(|channel| (*channel).to_owned()).collect(),
            options: read_channel_options(&options, &self.caller.business, self.clock.0)?,
        };
        set_channels(&mut self.store, &self.clock, &self.caller, id, command).await
    }

    pub(crate) async fn reserve(&mut self, id: VehicleId, command: ReserveVehicle) -> Result<Vehicle, VehicleError> {
        reserve_vehicle(&mut self.store, &self.clock, &self.caller, id, command).await
    }

    pub(crate) async fn cancel(&mut self, id: VehicleId) -> Result<Vehicle, VehicleError> {
        cancel_reservation(&mut self.store, &self.clock, &self.caller, id).await
    }

    pub(crate) async fn sell(&mut self, id: VehicleId, command: SellVehicle) -> Result<Vehicle, VehicleError> {
        sell_vehicle(&mut self.store, &self.clock, &self.caller, id, command).await
    }

    pub(crate) async fn hand_over(&mut self, id: VehicleId) -> Result<Vehicle, VehicleError> {
        hand_over_vehicle(&mut self.store, &self.clock, &self.caller, id).await
    }

    pub(crate) async fn undo_sale(&mut self, id: VehicleId) -> Result<Vehicle, VehicleError> {
        undo_sale(&mut self.store, &self.clock, &self.caller, id).await
    }

    pub(crate) async fn request_offer(&mut self, id: VehicleId) -> Result<Vehicle, VehicleError> {
        request_offer(&mut self.store, &self.clock, &self.caller, id).await
    }

    pub(crate) async fn make_offer(&mut self, id: VehicleId, command: MakeOffer) -> Result<Vehicle, VehicleError> {
        make_offer(&mut self.store, &self.clock, &self.caller, id, command).await
    }

    pub(crate) async fn accept_offer(&mut self, id: VehicleId) -> Result<(Vehicle, Vehicle), VehicleError> {
        accept_offer(&mut self.store, &self.clock, &self.caller, id).await
    }

    pub(crate) async fn reject_offer(&mut self, id: VehicleId) -> Result<Vehicle, VehicleError> {
        reject_offer(&mut self.store, &self.clock, &self.caller, id).await
    }

    /// The names of the events recorded since, in their order.
    pub(crate) fn told(&mut self) -> Vec<&'static str> {
        let events = std::mem::take(&mut self.store.events);
        events.iter().map(|(_, event)| event.name.as_str()).collect()
    }

    /// Puts a vehicle into a state that another area's use case leads to.
    pub(crate) fn force(&mut self, id: VehicleId, status: VehicleStatus) -> Vehicle {
        let key = (self.caller.business_id(), id);
        let vehicle = self.store.vehicles.get_mut(&key).unwrap();
        vehicle.content.status = status;
        vehicle.clone()
    }

    /// The vehicle as it is kept.
    pub(crate) fn stored(&self, id: VehicleId) -> Vehicle {
        self.store.vehicles[&(self.caller.business_id(), id)].clone()
    }

    /// The vehicle in full, as a caller with every scope sees it.
    pub(crate) fn view(&self, vehicle: &Vehicle) -> Value {
        self.view_as(vehicle, Detail::Full)
    }

    /// The vehicle in that much detail, as a caller with every scope sees it.
    pub(crate) fn view_as(&self, vehicle: &Vehicle, detail: Detail) -> Value {
        let view = VehicleView::new(vehicle, &self.caller.business, detail, ScopeSet::all());
        serde_json::to_value(view).unwrap()
    }

    /// Asserts that `vehicle` is stored, and that the one event recorded since has this name and shows it in full, now.
    #[track_caller]
    pub(crate) fn assert_told(&mut self, name: EventName, vehicle: &Vehicle) {
        assert_eq!(self.stored(vehicle.id), *vehicle);
        assert_eq!(vehicle.updated, self.clock.0);
        let events = std::mem::take(&mut self.store.events);
        let [(business, event)] = &*events else {
            panic!("one event was expected: {events:?}")
        };
        assert_eq!(*business, self.caller.business_id());
        assert_eq!(
            (event.name, event.record, event.at),
            (name, vehicle.id.get(), self.clock.0)
        );
        let full = VehicleView::new(vehicle, &self.caller.business, Detail::Full, ScopeSet::all());
        assert_eq!(event.data, serde_json::to_string(&full).unwrap());
    }

    /// Asserts that `vehicle` is stored, and that nothing was written or recorded since.
    #[track_caller]
    pub(crate) fn assert_untouched(&self, vehicle: &Vehicle) {
        assert_eq!(self.stored(vehicle.id), *vehicle);
        assert_eq!((self.store.saves, &*self.store.events), (0, &[][..]));
    }
}

/// All that publishing needs.
pub(crate) fn complete() -> Value {
    json!({
        "vehicle": {"type": "Car", "make": "Ford", "model": "Fiesta"},
        "stock": {"price_website": 9_995},
    })
}

/// The invalid fields.
#[track_caller]
pub(crate) fn faults<T: std::fmt::Debug>(outcome: Result<T, VehicleError>) -> Vec<String> {
    match outcome {
        Err(VehicleError::Invalid(errors)) => errors.as_slice().iter().map(|error| error.field.clone()).collect(),
        other => panic!("a refusal of fields was expected: {other:?}"),
    }
}

/// Storage that forgets.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) vehicles: BTreeMap<(BusinessId, VehicleId), Vehicle>,
    pub(crate) contacts: BTreeMap<ContactId, String>,
    pub(crate) events: Vec<(BusinessId, NewEvent)>,
    /// How often a vehicle was saved.
    pub(crate) saves: u32,
    pub(crate) invoices: MemoryInvoices,
    pub(crate) files: MemoryFileRegister,
    pub(crate) records: MemoryVehicleRecords,
    /// What followed the vehicles that changed: their states.
    pub(crate) followed: Vec<(VehicleId, VehicleStatus)>,
}

impl HoldsInvoices for Memory {
    fn held_invoices(&mut self) -> &mut MemoryInvoices {
        &mut self.invoices
    }
}

impl HoldsFiles for Memory {
    fn held_files(&mut self) -> &mut MemoryFileRegister {
        &mut self.files
    }
}

impl HoldsVehicleRecords for Memory {
    fn held_vehicle_records(&mut self) -> &mut MemoryVehicleRecords {
        &mut self.records
    }
}

impl Memory {
    fn of(&self, business: BusinessId) -> impl Iterator<Item = &Vehicle> {
        self.vehicles
            .iter()
            .filter(move |((owner, _), vehicle)| *owner == business && vehicle.content.status != VehicleStatus::Deleted)
            .map(|(_, vehicle)| vehicle)
    }
}

#[async_trait]
impl VehicleReader for Memory {
    async fn vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
        Ok(self.of(business).find(|vehicle| vehicle.id == id).cloned())
    }

    async fn vehicles(
        &mut self,
        business: BusinessId,
        filter: &VehicleFilter,
        _: &PageRequest,
    ) -> StoreResult<Page<Vehicle>> {
        let mut items: Vec<_> = self
            .of(business)
            .filter(|vehicle| filter.matches(vehicle))
            .cloned()
            .collect();
        items.reverse();
        Ok(Page {
            items,
            next: None,
            total: None,
        })
    }

    async fn vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32> {
        let counted = self
            .of(business)
            .filter(|vehicle| vehicle.content.status.counts_as_for_sale());
        Ok(u32::try_from(counted.count()).unwrap())
    }

    async fn contact_name(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<String>> {
        assert_eq!(business, BusinessId::new(7), "contacts are looked for at home");
        Ok(self.contacts.get(&id).cloned())
    }
}

#[async_trait]
impl VehicleFollower for Memory {
    async fn vehicle_changed(&mut self, _: &Business, vehicle: &Vehicle, _: Timestamp) -> StoreResult<()> {
        self.followed.push((vehicle.id, vehicle.content.status));
        Ok(())
    }
}

#[async_trait]
impl VehicleStore for Memory {
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
        let number = 1 + self.vehicles.len() as u64;
        let vehicle = Vehicle {
            id: VehicleId::new(900 + i64::try_from(number).unwrap()),
            tag: VehicleTag::nth(number),
            created: at,
            updated: at,
            version: Version::FIRST,
            content,
        };
        self.vehicles.insert((business, vehicle.id), vehicle.clone());
        Ok(vehicle)
    }

    async fn save_vehicle(&mut self, business: BusinessId, vehicle: &Vehicle) -> StoreResult<()> {
        self.saves += 1;
        self.vehicles.insert((business, vehicle.id), vehicle.clone()).unwrap();
        Ok(())
    }
}

#[async_trait]
impl EventLog for Memory {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.events.push((business, event));
        Ok(())
    }
}
