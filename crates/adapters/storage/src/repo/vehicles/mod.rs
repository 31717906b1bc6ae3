//! Vehicles.
//!
//! Their list is in [`listed`]. Locks are taken in the order of [`repo`](super).

pub(super) mod documents;
pub(super) mod drives;
mod listed;
pub(super) mod people;

use std::collections::BTreeSet;

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_dealership::Loaded;
use forecourt_kernel::{BusinessId, ContactId, Page, PageRequest, StoreResult, Timestamp, VehicleId, Version};
use forecourt_vehicles::{
    ContactVehicleReader, TestDrive, TestDriveId, Vehicle, VehicleDraft, VehicleFilter, VehiclePreview, VehicleReader,
    VehicleStatus, VehicleStore, VehicleTag,
};

use super::owned::OwnedTable;
use super::session::{Mode, Read, Session, Write};
use super::{Conn, contacts, dialect, list};
use crate::models::{Counter, FactsValues, NewFactsRow, NewVehicleRow, VehicleRow, VehicleValues};
use crate::schema::{counters, vehicle_channels, vehicle_customers, vehicle_facts, vehicle_tags, vehicles};
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update};

/// The kind of their counter.
const VEHICLES: &str = "vehicles";
/// The counter of those that are for sale or reserved.
const FOR_SALE: &str = "vehicles_for_sale";

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("vehicle_channels", "channel, vehicle_id", 500),
    OwnedTable::new("vehicle_tags", "name, vehicle_id", 500),
    OwnedTable::new("vehicle_facts", "id", 100),
    OwnedTable::new("vehicles", "id", 100),
];

#[async_trait]
impl<M: Mode> VehicleReader for Session<M> {
    async fn vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
        let query = not_deleted(business, id).select(VehicleRow::as_select());
        let row = query.get_optional(self.conn().await?).await?;
        read(self.conn().await?, business, row).await
    }

    async fn vehicles(
        &mut self,
        business: BusinessId,
        filter: &VehicleFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Vehicle>> {
        let mut page = listed::page(self, business, filter, page).await?;
        resolve_references(self.conn().await?, business, &mut page.items).await?;
        Ok(page)
    }

    async fn vehicle_previews(
        &mut self,
        business: BusinessId,
        filter: &VehicleFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<VehiclePreview>> {
        listed::previews(self, business, filter, page).await
    }

    async fn vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32> {
        let row = counters::table
            .find((business.get(), FOR_SALE))
            .select(counters::records);
        let count: Option<i64> = row.get_optional(self.flushed_conn().await?).await?;
        Ok(count_of(count.unwrap_or_default()))
    }

    async fn contact_name(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<String>> {
        let contact = contacts::content::<M::KeyShare>(self.conn().await?, business, id).await?;
        Ok(contact.map(|content| content.name))
    }
}

/// The number of a contact's vehicles that are read at once.
const OF_CONTACT_AT_ONCE: i64 = 10;

#[async_trait]
impl ContactVehicleReader for Session<Read> {
    async fn contact_vehicles(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: VehicleId,
    ) -> StoreResult<Vec<Vehicle>> {
        let by = contact.get();
        let named = vehicles::contact
            .assume_not_null()
            .eq(by)
            .or(vehicles::funder.assume_not_null().eq(by))
            .or(vehicles::supplier.assume_not_null().eq(by));
        let mut ids: Vec<i64> = vehicles::table
            .filter(vehicles::business_id.eq(business.get()))
            .filter(named)
            .filter(vehicles::id.gt(after.get()))
            // Not the id itself: otherwise the planner might read all vehicles in its order.
            .order((vehicles::id + 0).asc())
            .limit(OF_CONTACT_AT_ONCE)
            .select(vehicles::id)
            .load(self.conn().await?)
            .await?;
        let bought: Vec<i64> = vehicle_customers::table
            .filter(vehicle_customers::business_id.eq(business.get()))
            .filter(vehicle_customers::contact.eq(by))
            .filter(vehicle_customers::vehicle.gt(after.get()))
            .order(vehicle_customers::vehicle)
            .limit(OF_CONTACT_AT_ONCE)
            .select(vehicle_customers::vehicle)
            .load(self.conn().await?)
            .await?;
        ids.extend(bought);
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(usize::try_from(OF_CONTACT_AT_ONCE).unwrap_or(usize::MAX));
        let rows: Vec<VehicleRow> = vehicles::table
            .filter(vehicles::business_id.eq(business.get()))
            .filter(vehicles::id.eq_any(ids))
            .order(vehicles::id)
            .select(VehicleRow::as_select())
            .load(self.conn().await?)
            .await?;
        let mut of_contact = rows
            .into_iter()
            .map(Vehicle::try_from)
            .collect::<StoreResult<Vec<_>>>()?;
        resolve_references(self.conn().await?, business, &mut of_contact).await?;
        Ok(of_contact)
    }

    async fn contact_drives(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: TestDriveId,
    ) -> StoreResult<Vec<TestDrive>> {
        drives::of_contact(self.conn().await?, business, contact, after).await
    }
}

/// The row of a vehicle, unless it is deleted.
#[diesel::dsl::auto_type]
fn not_deleted(business: BusinessId, id: VehicleId) -> _ {
    let (business, id): (i64, i64) = (business.get(), id.get());
    vehicles::table.find((business, id)).filter(vehicles::deleted.eq(false))
}

/// Returns the vehicle of a row, with its references resolved.
async fn read(conn: &mut Conn, business: BusinessId, row: Option<VehicleRow>) -> StoreResult<Option<Vehicle>> {
    let vehicle = row.map(Vehicle::try_from).transpose()?;
    let mut vehicles: Vec<_> = vehicle.into_iter().collect();
    resolve_references(conn, business, &mut vehicles).await?;
    Ok(vehicles.pop())
}

/// Resolves the references of vehicles: the customers who offer them get their present names, and a deleted parent is left out.
pub(super) async fn resolve_references(
    conn: &mut Conn,
    business: BusinessId,
    vehicles: &mut [Vehicle],
) -> StoreResult<()> {
    let offered_by = |vehicle: &Vehicle| vehicle.content.data.appraisal.details.customer_id.0.map(|by| by.0);
    let customers: BTreeSet<_> = vehicles.iter().filter_map(offered_by).collect();
    let parents: BTreeSet<_> = vehicles.iter().filter_map(|vehicle| vehicle.content.parent).collect();
    if !customers.is_empty() {
        let names = contacts::names(conn, business, &customers).await?;
        for vehicle in &mut *vehicles {
            let name = offered_by(vehicle).and_then(|by| names.get(&by));
            let shown = &mut vehicle.content.data.appraisal.details.customer;
            if let Some(name) = name.filter(|name| *name != shown) {
                name.clone_into(shown);
                vehicle.version = vehicle.version.shown_with(name);
            }
        }
    }
    if !parents.is_empty() {
        let ids: Vec<i64> = parents.iter().map(|id| id.get()).collect();
        let query = vehicles::table
            .filter(vehicles::business_id.eq(business.get()))
            .filter(vehicles::id.eq_any(ids))
            .filter(vehicles::deleted.eq(true))
            .select(vehicles::id);
        let gone: Vec<i64> = query.load(conn).await?;
        for vehicle in vehicles {
            if vehicle
                .content
                .parent
                .is_some_and(|parent| gone.contains(&parent.get()))
            {
                vehicle.content.parent = None;
                vehicle.version = vehicle.version.shown_with(vehicle.content.parent);
            }
        }
    }
    Ok(())
}

fn count_of(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[async_trait]
impl VehicleStore for Session<Write> {
    async fn lock_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
        let query = not_deleted(business, id).select(VehicleRow::as_select());
        let row = for_no_key_update(query).get_optional(self.conn().await?).await?;
        let vehicle = read(self.conn().await?, business, row).await?;
        if let Some(vehicle) = &vehicle {
            self.remember((business, id), StoredVehicle::of(vehicle));
        }
        Ok(vehicle)
    }

    async fn lock_vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32> {
        let locked = self.lock_counters(business).await?;
        Ok(count_of(locked.get(FOR_SALE).records))
    }

    async fn insert_vehicle(
        &mut self,
        business: BusinessId,
        draft: VehicleDraft,
        at: Timestamp,
    ) -> StoreResult<Vehicle> {
        let counter = self.count_vehicles(business, Counts::of([&draft])).await?;
        let mut vehicle = unsaved(draft, counter.next(at));
        let row = NewVehicleRow::new(business, &vehicle)?;
        let inserted = diesel::insert_into(vehicles::table).values(row).returning(vehicles::id);
        let id: i64 = inserted.get_result(self.conn().await?).await?;
        vehicle.id = VehicleId::new(id);
        self.list_vehicles(business, std::slice::from_ref(&vehicle)).await?;
        Ok(vehicle)
    }

    async fn save_vehicle(&mut self, business: BusinessId, vehicle: &Vehicle) -> StoreResult<()> {
        let row = vehicles::table.find((business.get(), vehicle.id.get()));
        let known: Option<StoredVehicle> = self.recall(&(business, vehicle.id));
        let stored = match known {
            Some(stored) => stored,
            None => {
                let row = row.select(VehicleRow::as_select());
                let row: Option<VehicleRow> = row.get_optional(self.conn().await?).await?;
                let Some(row) = row else { return Ok(()) };
                StoredVehicle::of(&Vehicle::try_from(row)?)
            }
        };
        // If the clock went back to before the vehicle's creation, the change counts as made then.
        let vehicle = &Vehicle {
            created: stored.created,
            updated: vehicle.updated.max(stored.created),
            ..vehicle.clone()
        };
        let is = StoredVehicle::of(vehicle);
        self.count_vehicles(business, is.counts.since(stored.counts)).await?;
        diesel::update(row)
            .set((
                VehicleValues::new(vehicle)?,
                vehicles::version.eq(vehicle.version.number()),
            ))
            .prepared()
            .execute(self.conn().await?)
            .await?;
        self.note_buyers(business, vehicle, &stored.buyers).await?;
        let facts = vehicle_facts::table.find((business.get(), vehicle.id.get()));
        if is.counts.vehicles == 0 {
            // The rest of its place in lists refers to this row, and goes with it.
            diesel::delete(facts).execute(self.conn().await?).await?;
            return Ok(());
        }
        let conn = self.conn().await?;
        let known = dialect::stored!(conn, facts, FactsValues)?;
        if let Some(changes) = FactsValues::new(vehicle).changes(known.as_ref()) {
            diesel::update(facts).set(changes).prepared().execute(conn).await?;
        }
        if (stored.channels, stored.tags) != (is.channels, is.tags) {
            self.unlist(business, vehicle.id).await?;
            self.list_details(business, std::slice::from_ref(vehicle)).await?;
        }
        Ok(())
    }
}

impl Session<Write> {
    /// Stores vehicles with their stamps, in order.
    pub(super) async fn insert_vehicles(
        &mut self,
        business: BusinessId,
        made: Vec<Loaded<VehicleDraft>>,
    ) -> StoreResult<()> {
        if made.is_empty() {
            return Ok(());
        }
        self.delete_build(business).await?;
        let more = Counts::of(made.iter().map(|vehicle| &vehicle.content));
        let counter = self.count_vehicles(business, more).await?;
        let mut loaded = Vec::with_capacity(made.len());
        for vehicle in made {
            let unsaved = unsaved(vehicle.content, counter.next_loaded(vehicle.created));
            loaded.push(Vehicle {
                updated: vehicle.updated.max(unsaved.created),
                ..unsaved
            });
        }
        for vehicles in loaded.chunks_mut(dialect::ROWS_AT_ONCE) {
            let rows = vehicles.iter().map(|vehicle| NewVehicleRow::new(business, vehicle));
            let rows = rows.collect::<StoreResult<Vec<_>>>()?;
            let ids = dialect::insert_for_ids!(self.conn().await?, vehicles::table, vehicles::id, rows);
            let ids: Vec<i64> = ids?;
            for (vehicle, id) in vehicles.iter_mut().zip(ids) {
                vehicle.id = VehicleId::new(id);
            }
            self.list_vehicles(business, vehicles).await?;
            for vehicle in vehicles.iter() {
                self.note_buyers(business, vehicle, &BTreeSet::new()).await?;
            }
        }
        Ok(())
    }

    /// Counts a write of vehicles, and adds `more` to their numbers. Returns the counter that numbers them.
    async fn count_vehicles(&mut self, business: BusinessId, more: Counts) -> StoreResult<&mut Counter> {
        if more.for_sale != 0 {
            self.counter(business, FOR_SALE).await?.records += more.for_sale;
        }
        let counter = self.counter(business, VEHICLES).await?;
        counter.write(more.vehicles);
        Ok(counter)
    }

    /// Records the customers who reserved or bought a vehicle, for their erasure, unless they are `known`. A customer whom the
    /// vehicle no longer names stays recorded: then there is nothing to erase.
    async fn note_buyers(
        &mut self,
        business: BusinessId,
        vehicle: &Vehicle,
        known: &BTreeSet<ContactId>,
    ) -> StoreResult<()> {
        let buyers: BTreeSet<ContactId> = vehicle.buyers().collect();
        for contact in buyers.difference(known) {
            diesel::insert_into(vehicle_customers::table)
                .values((
                    vehicle_customers::business_id.eq(business.get()),
                    vehicle_customers::contact.eq(contact.get()),
                    vehicle_customers::vehicle.eq(vehicle.id.get()),
                ))
                .on_conflict_do_nothing()
                .execute(self.conn().await?)
                .await?;
        }
        Ok(())
    }

    /// Gives new vehicles their places in lists, except for deleted ones.
    async fn list_vehicles(&mut self, business: BusinessId, vehicles: &[Vehicle]) -> StoreResult<()> {
        let listed = vehicles.iter().filter(|vehicle| kept(&vehicle.content) > 0);
        let rows: Vec<_> = listed.map(|vehicle| NewFactsRow::new(business, vehicle)).collect();
        dialect::insert_many!(self.conn().await?, vehicle_facts::table, rows)?;
        self.list_details(business, vehicles).await
    }

    /// Stores the channels and the tags of vehicles.
    async fn list_details(&mut self, business: BusinessId, vehicles: &[Vehicle]) -> StoreResult<()> {
        let business = business.get();
        let mut channels = Vec::new();
        let mut tags = Vec::new();
        for vehicle in vehicles.iter().filter(|vehicle| kept(&vehicle.content) > 0) {
            let id = vehicle.id.get();
            channels.extend(self::channels(&vehicle.content).into_iter().map(|channel| {
                (
                    vehicle_channels::business_id.eq(business),
                    vehicle_channels::channel.eq(channel.to_owned()),
                    vehicle_channels::vehicle_id.eq(id),
                )
            }));
            tags.extend(self::tags(&vehicle.content).into_iter().map(|tag| {
                (
                    vehicle_tags::business_id.eq(business),
                    vehicle_tags::name.eq(tag.to_owned()),
                    vehicle_tags::vehicle_id.eq(id),
                )
            }));
        }
        dialect::insert_many!(self.conn().await?, vehicle_channels::table, channels)?;
        dialect::insert_many!(self.conn().await?, vehicle_tags::table, tags)?;
        Ok(())
    }

    /// Deletes the channels and the tags of a vehicle.
    async fn unlist(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<()> {
        let channels = vehicle_channels::table
            .filter(vehicle_channels::business_id.eq(business.get()))
            .filter(vehicle_channels::vehicle_id.eq(id.get()));
        diesel::delete(channels).execute(self.conn().await?).await?;
        let tags = vehicle_tags::table
            .filter(vehicle_tags::business_id.eq(business.get()))
            .filter(vehicle_tags::vehicle_id.eq(id.get()));
        diesel::delete(tags).execute(self.conn().await?).await.map(drop)
    }
}

/// A new vehicle, which gets its id from the database.
fn unsaved(content: VehicleDraft, (number, created): (i64, Timestamp)) -> Vehicle {
    Vehicle {
        id: VehicleId::new(0),
        tag: VehicleTag::nth(number.unsigned_abs()),
        created,
        updated: created,
        version: Version::FIRST,
        content,
    }
}

/// The part of a stored vehicle that a change of it is compared with.
struct StoredVehicle {
    created: Timestamp,
    counts: Counts,
    buyers: BTreeSet<ContactId>,
    channels: BTreeSet<String>,
    tags: BTreeSet<String>,
}

impl StoredVehicle {
    fn of(vehicle: &Vehicle) -> Self {
        let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
        Self {
            created: vehicle.created,
            counts: Counts::of([&vehicle.content]),
            buyers: vehicle.buyers().collect(),
            channels: owned(channels(&vehicle.content)),
            tags: owned(tags(&vehicle.content)),
        }
    }
}

/// A number of a business's vehicles, and of those of them that are for sale or reserved.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    vehicles: i64,
    for_sale: i64,
}

impl Counts {
    fn of<'a>(drafts: impl IntoIterator<Item = &'a VehicleDraft>) -> Self {
        let mut more = Self::default();
        for draft in drafts {
            more.vehicles += kept(draft);
            more.for_sale += for_sale(draft);
        }
        more
    }
}

impl Counts {
    const fn since(self, earlier: Self) -> Self {
        Self {
            vehicles: self.vehicles - earlier.vehicles,
            for_sale: self.for_sale - earlier.for_sale,
        }
    }
}

/// 1 for a vehicle that is not deleted.
fn kept(vehicle: &VehicleDraft) -> i64 {
    i64::from(vehicle.status != VehicleStatus::Deleted)
}

/// 1 for a vehicle that is for sale or reserved.
fn for_sale(vehicle: &VehicleDraft) -> i64 {
    i64::from(vehicle.status.counts_as_for_sale())
}

/// The channels that a vehicle is published on, each once.
fn channels(vehicle: &VehicleDraft) -> BTreeSet<&str> {
    vehicle.channels.iter().map(String::as_str).collect()
}

/// The tags that a vehicle carries, each once.
fn tags(vehicle: &VehicleDraft) -> BTreeSet<&str> {
    vehicle.tags.iter().map(|tag| tag.name.as_str()).collect()
}
