//! A store of vehicles in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_billing::{BilledContact, BilledVehicle, BillingReader, Party};
use forecourt_files::testing::{HoldsFiles, MemoryFileRegister};
use forecourt_invoices::testing::{HoldsInvoices, MemoryInvoices};
use forecourt_kernel::{
    BusinessId, ContactId, EventLog, LeadId, Page, PageRequest, StoreResult, Timestamp, VehicleId, Version,
    testing::{HoldsEvents, HoldsMails, MemoryEvents, MemoryMails, page_of},
};

use super::{HoldsVehicleRecords, MemoryVehicleRecords};
use crate::{
    Vehicle, VehicleDraft, VehicleFilter, VehicleFollower, VehicleReader, VehicleStatus, VehicleStore, VehicleTag,
};

/// The last running number of a business, and the creation time of the vehicle that has it.
#[derive(Clone, Copy, Debug)]
struct Given {
    number: u64,
    created: Timestamp,
}

/// Vehicles in memory, with the contacts and leads of the businesses that vehicles need.
#[derive(Clone, Debug, Default)]
pub struct MemoryVehicles {
    vehicles: BTreeMap<VehicleId, (BusinessId, Vehicle)>,
    given: BTreeMap<BusinessId, Given>,
    contacts: BTreeMap<ContactId, (BusinessId, String)>,
    leads: Vec<(LeadId, VehicleId)>,
    last_id: i64,
    saves: usize,
}

impl MemoryVehicles {
    /// Returns the vehicles of all businesses, including deleted ones, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Vehicle> {
        self.vehicles.values().map(|(_, vehicle)| vehicle)
    }

    /// Returns the vehicle with that id, of any business and even if it is deleted.
    pub fn get(&self, id: VehicleId) -> Option<&Vehicle> {
        self.vehicles.get(&id).map(|(_, vehicle)| vehicle)
    }

    /// Returns how often a vehicle was saved, even with the same content.
    pub const fn saves(&self) -> usize {
        self.saves
    }

    /// Adds a contact of that name to the business.
    pub fn know_contact(&mut self, business: BusinessId, id: ContactId, name: &str) {
        self.contacts.insert(id, (business, name.to_owned()));
    }

    /// Removes all contacts.
    pub fn forget_contacts(&mut self) {
        self.contacts.clear();
    }

    /// Associates a lead with the vehicle.
    pub fn know_lead(&mut self, lead: LeadId, vehicle: VehicleId) {
        self.leads.push((lead, vehicle));
    }

    /// Returns the vehicles of a business, including deleted ones, oldest first.
    pub(super) fn owned(&self, business: BusinessId) -> impl DoubleEndedIterator<Item = &Vehicle> {
        let own = self.vehicles.values().filter(move |(owner, _)| *owner == business);
        own.map(|(_, vehicle)| vehicle)
    }

    fn of(&self, business: BusinessId) -> impl DoubleEndedIterator<Item = &Vehicle> {
        let own = self.owned(business);
        own.filter(|vehicle| vehicle.content.status != VehicleStatus::Deleted)
    }

    fn passes(&self, filter: &VehicleFilter, vehicle: &Vehicle) -> bool {
        let concerned = |lead| self.leads.contains(&(lead, vehicle.id));
        filter.lead.is_none_or(concerned) && filter.matches(vehicle)
    }
}

/// A store in memory that holds vehicles, perhaps with other records. With a follower and an event log it is a [`VehicleStore`].
pub trait HoldsVehicles: Send {
    /// The vehicles.
    fn held_vehicles(&mut self) -> &mut MemoryVehicles;
}

/// A complete store: vehicles, their documents and test drives, the invoices and files that belong to them, and their events.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    /// The vehicles.
    pub vehicles: MemoryVehicles,
    /// Their documents and test drives.
    pub records: MemoryVehicleRecords,
    /// The invoices of deposits.
    pub invoices: MemoryInvoices,
    /// The records of files.
    pub files: MemoryFileRegister,
    /// The recorded events.
    pub events: MemoryEvents,
    /// The queued mails.
    pub mails: MemoryMails,
    /// The calls of the follower: each vehicle that changed, with its state.
    pub followed: Vec<(VehicleId, VehicleStatus)>,
}

#[async_trait]
impl BillingReader for MemoryStore {
    async fn billed_contacts(&mut self, business: BusinessId, ids: &[ContactId]) -> StoreResult<Vec<BilledContact>> {
        let known = self
            .vehicles
            .contacts
            .iter()
            .filter(|(_, (owner, _))| *owner == business);
        let billed = known
            .filter(|(id, _)| ids.contains(id))
            .map(|(id, (_, name))| BilledContact {
                id: *id,
                party: Party {
                    name: name.clone(),
                    ..Party::default()
                },
                email: String::new(),
                nominal_sales: String::new(),
                nominal_purchases: String::new(),
            });
        Ok(billed.collect())
    }

    async fn billed_vehicles(&mut self, business: BusinessId, ids: &[VehicleId]) -> StoreResult<Vec<BilledVehicle>> {
        let billed = self.vehicles.of(business).filter(|vehicle| ids.contains(&vehicle.id));
        Ok(billed.map(BilledVehicle::from).collect())
    }
}

impl HoldsVehicles for MemoryStore {
    fn held_vehicles(&mut self) -> &mut MemoryVehicles {
        &mut self.vehicles
    }
}

impl HoldsVehicleRecords for MemoryStore {
    fn held_vehicle_records(&mut self) -> &mut MemoryVehicleRecords {
        &mut self.records
    }
}

impl HoldsInvoices for MemoryStore {
    fn held_invoices(&mut self) -> &mut MemoryInvoices {
        &mut self.invoices
    }
}

impl HoldsFiles for MemoryStore {
    fn held_files(&mut self) -> &mut MemoryFileRegister {
        &mut self.files
    }
}

impl HoldsEvents for MemoryStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

impl HoldsMails for MemoryStore {
    fn held_mails(&mut self) -> &mut MemoryMails {
        &mut self.mails
    }
}

#[async_trait]
impl VehicleFollower for MemoryStore {
    async fn vehicle_changed(&mut self, _: &Business, vehicle: &Vehicle, _: Timestamp) -> StoreResult<()> {
        self.followed.push((vehicle.id, vehicle.content.status));
        Ok(())
    }
}

#[async_trait]
impl<S: HoldsVehicles> VehicleReader for S {
    async fn vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
        let found = self.held_vehicles().of(business).find(|vehicle| vehicle.id == id);
        Ok(found.cloned())
    }

    async fn vehicles(
        &mut self,
        business: BusinessId,
        filter: &VehicleFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Vehicle>> {
        let held = self.held_vehicles();
        let passing = held.of(business).rev().filter(|vehicle| held.passes(filter, vehicle));
        Ok(page_of(passing, page, |vehicle| vehicle.id.get()))
    }

    async fn vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32> {
        let own = self.held_vehicles().of(business);
        let counted = own.filter(|vehicle| vehicle.content.status.counts_as_for_sale());
        Ok(u32::try_from(counted.count()).unwrap_or(u32::MAX))
    }

    async fn contact_name(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<String>> {
        let known = self
            .held_vehicles()
            .contacts
            .get(&id)
            .filter(|(owner, _)| *owner == business);
        Ok(known.map(|(_, name)| name.clone()))
    }
}

#[async_trait]
impl<S: HoldsVehicles + VehicleFollower + EventLog> VehicleStore for S {
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
        let held = self.held_vehicles();
        held.last_id += 1;
        let before = held.given.get(&business);
        let given = Given {
            number: before.map_or(0, |before| before.number) + 1,
            created: before.map_or(at, |before| at.stamp_after(before.created)),
        };
        held.given.insert(business, given);
        let vehicle = Vehicle {
            id: VehicleId::new(held.last_id),
            tag: VehicleTag::nth(given.number),
            created: given.created,
            updated: given.created,
            version: Version::FIRST,
            content,
        };
        held.vehicles.insert(vehicle.id, (business, vehicle.clone()));
        Ok(vehicle)
    }

    async fn save_vehicle(&mut self, business: BusinessId, vehicle: &Vehicle) -> StoreResult<()> {
        let held = self.held_vehicles();
        let known = held
            .vehicles
            .get_mut(&vehicle.id)
            .filter(|(owner, _)| *owner == business);
        if let Some((_, stored)) = known {
            *stored = Vehicle {
                updated: vehicle.updated.max(stored.created),
                ..vehicle.clone()
            };
            held.saves += 1;
        }
        Ok(())
    }
}
