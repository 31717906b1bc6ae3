//! A team's own storage: a store that the crate has never seen, which passes the crate's contract suite.
//!
//! This one keeps a line of JSON for each vehicle. A real one is a database; what it has to implement, and how it is proved, is the
//! same.

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, ContactId, EventLog, NewEvent, Page, PageRequest, StoreError, StoreResult, Timestamp, VehicleId,
    Version, testing::page_of,
};
use forecourt_vehicles::{
    Vehicle, VehicleDraft, VehicleFilter, VehicleFollower, VehicleReader, VehicleStatus, VehicleStore, VehicleTag,
};

/// A row: whose the vehicle is, its identity and stamps, and what else is kept of it, as JSON.
#[derive(Clone)]
struct Row {
    business: BusinessId,
    tag: VehicleTag,
    stamps: [Timestamp; 2],
    version: Version,
    content: String,
}

/// The rows, and what the team's other tables say.
#[derive(Default)]
struct Rows {
    rows: BTreeMap<VehicleId, Row>,
    contacts: BTreeMap<(BusinessId, ContactId), String>,
    events: Vec<NewEvent>,
}

impl Rows {
    /// The vehicles of a business, deleted ones too, newest first.
    fn of(&self, business: BusinessId) -> StoreResult<Vec<Vehicle>> {
        let own = self.rows.iter().rev().filter(|(_, row)| row.business == business);
        let read = own.map(|(id, row)| {
            Ok(Vehicle {
                id: *id,
                tag: row.tag.clone(),
                created: row.stamps[0],
                updated: row.stamps[1],
                version: row.version,
                content: serde_json::from_str(&row.content).map_err(|fault| StoreError::Other(fault.into()))?,
            })
        });
        read.collect()
    }

    /// Those that are there for readers.
    fn present(&self, business: BusinessId) -> StoreResult<Vec<Vehicle>> {
        let mut vehicles = self.of(business)?;
        vehicles.retain(|vehicle| vehicle.content.status != VehicleStatus::Deleted);
        Ok(vehicles)
    }

    fn put(&mut self, business: BusinessId, vehicle: &Vehicle) -> StoreResult<()> {
        let row = Row {
            business,
            tag: vehicle.tag.clone(),
            stamps: [vehicle.created, vehicle.updated.max(vehicle.created)],
            version: vehicle.version,
            content: serde_json::to_string(&vehicle.content).map_err(|fault| StoreError::Other(fault.into()))?,
        };
        self.rows.insert(vehicle.id, row);
        Ok(())
    }
}

#[async_trait]
impl VehicleReader for Rows {
    async fn vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
        Ok(self.present(business)?.into_iter().find(|vehicle| vehicle.id == id))
    }

    async fn vehicles(
        &mut self,
        business: BusinessId,
        filter: &VehicleFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Vehicle>> {
        let present = self.present(business)?;
        // No lead concerns a vehicle here.
        let passing = present
            .iter()
            .filter(|vehicle| filter.lead.is_none() && filter.matches(vehicle));
        Ok(page_of(passing, page, |vehicle| vehicle.id.get()))
    }

    async fn vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32> {
        let present = self.present(business)?;
        let counted = present
            .iter()
            .filter(|vehicle| vehicle.content.status.counts_as_for_sale());
        Ok(u32::try_from(counted.count()).unwrap_or(u32::MAX))
    }

    async fn contact_name(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<String>> {
        Ok(self.contacts.get(&(business, id)).cloned())
    }
}

#[async_trait]
impl VehicleStore for Rows {
    async fn lock_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
        // The rows have one user at a time.
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
        let before = self.of(business)?;
        let created = before.first().map_or(at, |last| at.stamp_after(last.created));
        let vehicle = Vehicle {
            id: VehicleId::new(self.rows.last_key_value().map_or(0, |(id, _)| id.get()) + 1),
            tag: VehicleTag::nth(before.len() as u64 + 1),
            created,
            updated: created,
            version: Version::FIRST,
            content,
        };
        self.put(business, &vehicle)?;
        Ok(vehicle)
    }

    async fn save_vehicle(&mut self, business: BusinessId, vehicle: &Vehicle) -> StoreResult<()> {
        match self.rows.get(&vehicle.id) {
            Some(row) if row.business == business => self.put(business, vehicle),
            _ => Ok(()),
        }
    }
}

/// Nothing follows the vehicles of this team: the port's own answer is right.
impl VehicleFollower for Rows {}

#[async_trait]
impl EventLog for Rows {
    async fn record(&mut self, _: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.events.push(event);
        Ok(())
    }
}

/// The proof. It is a test too: `cargo test --example own_storage`.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    use forecourt_vehicles::testing::{vehicle_reader_contract, vehicle_store_contract};

    let (ours, theirs, ann) = (BusinessId::new(1), BusinessId::new(2), ContactId::new(501));
    let mut store = Rows::default();
    store.contacts.insert((ours, ann), "Ann Lee".to_owned());
    let book = vehicle_store_contract(&mut store, ours, theirs, (ann, "Ann Lee")).await;
    vehicle_reader_contract(&mut store, &book).await;
}

#[test]
fn it_keeps_the_contract() {
    main();
}
