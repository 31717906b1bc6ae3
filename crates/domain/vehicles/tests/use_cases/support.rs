//! A dealership with a yard of vehicles.

use forecourt_accounts::{Business, Caller};
use forecourt_files::FileName;
use forecourt_kernel::{
    BusinessId, Clock as _, ContactId, EventName, ScopeSet, Timestamp, VehicleId, testing::FixedClock,
};
use forecourt_reference::{StockType, TagChoice};
use forecourt_vehicles::testing::MemoryStore;
use forecourt_vehicles::{
    AcceptOffer, Detail, MakeOffer, NewVehicle, ReserveVehicle, SellVehicle, SetChannels, SetTags, UpdateVehicle,
    Vehicle, VehicleDraft, VehicleError, VehicleStatus, VehicleStore as _, VehicleView, accept_offer,
    cancel_reservation, create_vehicle, delete_vehicle, hand_over_vehicle, make_offer, read_channel_options, read_data,
    read_sale, reject_offer, request_offer, reserve_vehicle, sell_vehicle, set_channels, set_vehicle_status,
    set_vehicle_tags, undo_sale, update_vehicle,
};
use serde_json::{Value, json};

use crate::dealership::{OPENING, acme};

/// Returns the time that many seconds after [`OPENING`].
pub(crate) const fn at(seconds: i64) -> Timestamp {
    OPENING.plus_seconds(seconds)
}

const OTHER: BusinessId = BusinessId::new(8);

pub(crate) fn caller(business: Business) -> Caller {
    Caller::of(business, ScopeSet::all())
}

/// The store and ports of the use cases, with a method for each operation of the API.
pub(crate) struct Yard {
    pub(crate) store: MemoryStore,
    pub(crate) caller: Caller,
    pub(crate) clock: FixedClock,
    saves: usize,
}

impl Yard {
    /// Creates a yard of [`acme`], with the contacts 501, Ann, and 502, Bob.
    pub(crate) fn open() -> Self {
        let mut store = MemoryStore::default();
        for (id, name) in [(501, "Ann Lee"), (502, "Bob")] {
            store.vehicles.know_contact(acme().id, ContactId::new(id), name);
        }
        Self {
            store,
            caller: caller(acme()),
            clock: FixedClock::at(at(0)),
            saves: 0,
        }
    }

    /// Clears the recorded events, and the writes so far.
    pub(crate) fn forget_outcomes(&mut self) {
        self.store.events.clear();
        self.forget_saves();
    }

    /// Ignores the writes so far.
    pub(crate) fn forget_saves(&mut self) {
        self.saves = self.store.vehicles.saves();
    }

    /// Creates a yard with one vehicle of that stock type, whose creation event is checked.
    pub(crate) async fn with(kind: StockType, data: Value) -> (Self, Vehicle) {
        let mut yard = Self::open();
        let vehicle = yard.create(kind, data).await.unwrap();
        yard.forget_outcomes();
        yard.set_clock(60);
        (yard, vehicle)
    }

    /// Creates a yard with one vehicle that is for sale on the website.
    pub(crate) async fn selling(data: Value) -> (Self, Vehicle) {
        let (mut yard, vehicle) = Self::with(StockType::InStock, data).await;
        let vehicle = yard.publish(vehicle.id, &["website"]).await.unwrap();
        yard.forget_outcomes();
        (yard, vehicle)
    }

    /// Sets the clock to that many seconds after [`OPENING`].
    pub(crate) fn set_clock(&mut self, seconds: i64) {
        self.clock.set(at(seconds));
    }

    /// Makes the next calls come from another business.
    pub(crate) fn change_business(&mut self) {
        self.caller = caller(Business { id: OTHER, ..acme() });
    }

    /// Changes the business.
    pub(crate) fn reform(&mut self, change: impl FnOnce(&mut Business)) {
        let mut business = (*self.caller.business).clone();
        change(&mut business);
        self.caller = caller(business);
    }

    /// Returns the command of `POST /2.0/vehicles` for a body with only a type and this data.
    pub(crate) fn command(&self, kind: StockType, data: &Value) -> NewVehicle {
        NewVehicle {
            kind,
            registration: None,
            country: None,
            owner: None,
            parent: None,
            data: read_data(data, &self.caller.business, self.clock.now(), true).unwrap(),
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
        let data = read_data(&data, &self.caller.business, self.clock.now(), false)?;
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
            channels: Some(channels.iter().map(|channel| (*channel).to_owned()).collect()),
            options: read_channel_options(&options, &self.caller.business, self.clock.now())?,
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
        accept_offer(&mut self.store, &self.clock, &self.caller, id, AcceptOffer::default()).await
    }

    pub(crate) async fn reject_offer(&mut self, id: VehicleId) -> Result<Vehicle, VehicleError> {
        reject_offer(&mut self.store, &self.clock, &self.caller, id).await
    }

    /// Returns the names of the events recorded since the last call, in order.
    pub(crate) fn recorded(&mut self) -> Vec<&'static str> {
        let events = std::mem::take(&mut self.store.events);
        events.iter().map(|(_, event)| event.name.as_str()).collect()
    }

    /// Puts a vehicle into a state that a use case of another crate leads to.
    pub(crate) async fn force(&mut self, id: VehicleId, status: VehicleStatus) -> Vehicle {
        let mut content = self.stored(id).content;
        content.status = status;
        self.put(id, content).await
    }

    /// Sets a vehicle's content to one that no use case produces.
    pub(crate) async fn put(&mut self, id: VehicleId, content: VehicleDraft) -> Vehicle {
        let vehicle = Vehicle {
            content,
            ..self.stored(id)
        };
        let saved = self.store.save_vehicle(self.caller.business_id(), &vehicle).await;
        saved.unwrap();
        self.forget_saves();
        vehicle
    }

    /// Returns the vehicle as it is stored.
    pub(crate) fn stored(&self, id: VehicleId) -> Vehicle {
        self.store.vehicles.get(id).unwrap().clone()
    }

    /// Returns the vehicle in full, as a caller with every scope sees it.
    pub(crate) fn view(&self, vehicle: &Vehicle) -> Value {
        self.view_as(vehicle, Detail::Full)
    }

    /// Returns the vehicle in that detail, as a caller with every scope sees it.
    pub(crate) fn view_as(&self, vehicle: &Vehicle, detail: Detail) -> Value {
        let view = VehicleView::new(vehicle, &self.caller.business, detail, ScopeSet::all());
        serde_json::to_value(view).unwrap()
    }

    /// Asserts that `vehicle` is stored, and that the one event recorded since then has this name and shows it in full, now.
    #[track_caller]
    pub(crate) fn assert_recorded(&mut self, name: EventName, vehicle: &Vehicle) {
        assert_eq!(self.stored(vehicle.id), *vehicle);
        assert_eq!(vehicle.updated, self.clock.now());
        let events = std::mem::take(&mut self.store.events);
        let [(business, event)] = &*events else {
            panic!("one event was expected: {events:?}")
        };
        assert_eq!(*business, self.caller.business_id());
        assert_eq!(
            (event.name, event.record, event.at),
            (name, vehicle.id.get(), self.clock.now())
        );
        let full = VehicleView::new(vehicle, &self.caller.business, Detail::Full, ScopeSet::all());
        let mut shown: Value = serde_json::from_str(&event.data).unwrap();
        if name == EventName::VehicleSold {
            let sale = shown.as_object_mut().unwrap().remove("sale");
            assert_eq!(sale, Some(json!(read_sale(vehicle))));
        }
        assert_eq!(shown, json!(full));
    }

    /// Asserts that `vehicle` is stored, and that nothing was written or recorded since then.
    #[track_caller]
    pub(crate) fn assert_untouched(&self, vehicle: &Vehicle) {
        assert_eq!(self.stored(vehicle.id), *vehicle);
        assert_eq!(
            (self.store.vehicles.saves(), &*self.store.events),
            (self.saves, &[][..])
        );
    }
}

/// The data that publishing needs.
pub(crate) fn complete() -> Value {
    json!({
        "vehicle": {"type": "Car", "make": "Ford", "model": "Fiesta"},
        "stock": {"price_website": 9_995},
    })
}

/// Returns the invalid fields.
#[track_caller]
pub(crate) fn faults<T: std::fmt::Debug>(outcome: Result<T, VehicleError>) -> Vec<String> {
    match outcome {
        Err(VehicleError::Invalid(errors)) => errors.as_slice().iter().map(|error| error.field.clone()).collect(),
        other => panic!("a refusal of fields was expected: {other:?}"),
    }
}
