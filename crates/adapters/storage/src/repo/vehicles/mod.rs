//! Vehicles.
//!
//! Their list is in [`listed`]. Locks are taken in the order of [`repo`](super).

pub(super) mod documents;
pub(super) mod drives;
mod listed;
pub(super) mod people;

use std::collections::BTreeSet;

use async_trait::async_trait;
use diesel::dsl::case_when;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use forecourt_dealership::Loaded;
use forecourt_kernel::{BusinessId, ContactId, Page, PageRequest, StoreResult, Timestamp, VehicleId, Version};
use forecourt_vehicles::{
    ContactVehicleReader, TestDrive, TestDriveId, Vehicle, VehicleDraft, VehicleFilter, VehiclePreview, VehicleReader,
    VehicleStatus, VehicleStore, VehicleTag,
};

use super::owned::OwnedTable;
use super::session::{Reading, Writing};
use super::{Conn, contacts, dialect, list};
use crate::models::{FactsValues, NewFactsRow, NewVehicleRow, VehicleRow, VehicleValues};
use crate::schema::{business_counters, vehicle_channels, vehicle_customers, vehicle_facts, vehicle_tags, vehicles};
use crate::statement::{Prepare as _, RunQueryDsl};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("vehicle_channels", "channel, vehicle_id", 500),
    OwnedTable::new("vehicle_tags", "name, vehicle_id", 500),
    OwnedTable::new("vehicle_facts", "id", 100),
    OwnedTable::new("vehicles", "id", 100),
];

macro_rules! vehicle_reader {
    ($session:ty, $contact_name:path) => {
        #[async_trait]
        impl VehicleReader for $session {
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
                let row = business_counters::table
                    .find(business.get())
                    .select(business_counters::vehicles_for_sale);
                Ok(count_of(row.get_optional(self.conn().await?).await?))
            }

            async fn contact_name(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<String>> {
                $contact_name(self.conn().await?, business, id).await
            }
        }
    };
}

vehicle_reader!(Reading, contacts::name);
vehicle_reader!(Writing, contacts::name_for_now);

/// The number of a contact's vehicles that are read at once.
const OF_CONTACT_AT_ONCE: i64 = 10;

#[async_trait]
impl ContactVehicleReader for Reading {
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

/// Converts the count of a business, which is 0 if the business is deleted.
fn count_of(count: Option<i64>) -> u32 {
    u32::try_from(count.unwrap_or_default()).unwrap_or(u32::MAX)
}

#[async_trait]
impl VehicleStore for Writing {
    async fn lock_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>> {
        let query = not_deleted(business, id).select(VehicleRow::as_select());
        let row = dialect::for_no_key_update!(query)
            .get_optional(self.conn().await?)
            .await?;
        read(self.conn().await?, business, row).await
    }

    async fn lock_vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32> {
        let row = business_counters::table
            .find(business.get())
            .select(business_counters::vehicles_for_sale);
        Ok(count_of(
            dialect::for_no_key_update!(row)
                .get_optional(self.conn().await?)
                .await?,
        ))
    }

    async fn insert_vehicle(
        &mut self,
        business: BusinessId,
        draft: VehicleDraft,
        at: Timestamp,
    ) -> StoreResult<Vehicle> {
        let more = More::of([&draft]);
        let (number, created) = next_vehicle(self.conn().await?, business, at, 1, more).await?;
        let mut vehicle = unsaved(draft, number, created);
        let row = NewVehicleRow::new(business, &vehicle)?;
        let inserted = diesel::insert_into(vehicles::table).values(row).returning(vehicles::id);
        let id: i64 = inserted.get_result(self.conn().await?).await?;
        vehicle.id = VehicleId::new(id);
        self.list_vehicles(business, std::slice::from_ref(&vehicle)).await?;
        Ok(vehicle)
    }

    async fn save_vehicle(&mut self, business: BusinessId, vehicle: &Vehicle) -> StoreResult<()> {
        let row = vehicles::table.find((business.get(), vehicle.id.get()));
        let stored = row
            .select(VehicleRow::as_select())
            .get_optional(self.conn().await?)
            .await;
        let Some(stored) = stored? else {
            return Ok(());
        };
        let stored = Vehicle::try_from(stored)?;
        // If the clock went back to before the vehicle's creation, the change counts as made then.
        let vehicle = &Vehicle {
            created: stored.created,
            updated: vehicle.updated.max(stored.created),
            ..vehicle.clone()
        };
        let (was, is) = (&stored.content, &vehicle.content);
        let more = More {
            vehicles: kept(is) - kept(was),
            for_sale: for_sale(is) - for_sale(was),
        };
        count_writes(self.conn().await?, business, more).await?;
        diesel::update(row)
            .set((
                VehicleValues::new(vehicle)?,
                vehicles::version.eq(vehicle.version.number()),
            ))
            .prepared()
            .execute(self.conn().await?)
            .await?;
        let known: BTreeSet<ContactId> = stored.buyers().collect();
        self.note_buyers(business, vehicle, &known).await?;
        let facts = vehicle_facts::table.find((business.get(), vehicle.id.get()));
        if kept(is) == 0 {
            // The rest of its place in lists refers to this row, and goes with it.
            diesel::delete(facts).execute(self.conn().await?).await?;
            return Ok(());
        }
        let conn = self.conn().await?;
        let known = dialect::stored!(conn, facts, FactsValues)?;
        if let Some(changes) = FactsValues::new(vehicle).changes(known.as_ref()) {
            diesel::update(facts).set(changes).prepared().execute(conn).await?;
        }
        if was.channels != is.channels || was.tags != is.tags {
            self.unlist(business, vehicle.id).await?;
            self.list_details(business, std::slice::from_ref(vehicle)).await?;
        }
        Ok(())
    }
}

impl Writing {
    /// Stores vehicles with their stamps, in order.
    pub(super) async fn insert_vehicles(
        &mut self,
        business: BusinessId,
        made: Vec<Loaded<VehicleDraft>>,
    ) -> StoreResult<()> {
        let Some(latest) = made.iter().map(|vehicle| vehicle.created).max() else {
            return Ok(());
        };
        self.delete_build(business).await?;
        let count = i64::try_from(made.len()).unwrap_or(i64::MAX);
        let more = More::of(made.iter().map(|vehicle| &vehicle.content));
        let mut floor = latest_vehicle(self.conn().await?, business).await?;
        let latest = latest.max(Timestamp::from_epoch_seconds(floor));
        let (last, _) = next_vehicle(self.conn().await?, business, latest, count, more).await?;
        let mut loaded = Vec::with_capacity(made.len());
        for (number, vehicle) in (last - count + 1..).zip(made) {
            floor = vehicle.created.epoch_seconds().max(floor);
            let unsaved = unsaved(vehicle.content, number, floor);
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
fn unsaved(content: VehicleDraft, number: i64, created: i64) -> Vehicle {
    let created = Timestamp::from_epoch_seconds(created);
    Vehicle {
        id: VehicleId::new(0),
        tag: VehicleTag::nth(number.unsigned_abs()),
        created,
        updated: created,
        version: Version::FIRST,
        content,
    }
}

/// A change of the number of a business's vehicles, and of those that are for sale or reserved.
#[derive(Clone, Copy, Debug, Default)]
struct More {
    vehicles: i64,
    for_sale: i64,
}

impl More {
    fn of<'a>(drafts: impl IntoIterator<Item = &'a VehicleDraft>) -> Self {
        let mut more = Self::default();
        for draft in drafts {
            more.vehicles += kept(draft);
            more.for_sale += for_sale(draft);
        }
        more
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

/// Takes the business's next `count` numbers. Returns the last of them with the stamp of that vehicle ([`Timestamp::stamp_after`]
/// that of the vehicle before).
///
/// The row stays locked until the transaction ends, so the numbers have no gaps.
async fn next_vehicle(
    conn: &mut Conn,
    business: BusinessId,
    at: Timestamp,
    count: i64,
    more: More,
) -> StoreResult<(i64, i64)> {
    let (at, put_back) = (
        at.epoch_seconds(),
        at.plus_seconds(Timestamp::MAX_REPEATED_SECONDS).epoch_seconds(),
    );
    let follows = business_counters::vehicle_created.lt(at);
    let was_put_back = business_counters::vehicle_created.gt(put_back);
    let latest =
        case_when(follows.or(was_put_back), at.into_sql::<BigInt>()).otherwise(business_counters::vehicle_created);
    diesel::update(business_counters::table.find(business.get()))
        .set((
            business_counters::vehicles.eq(business_counters::vehicles + more.vehicles),
            business_counters::vehicles_for_sale.eq(business_counters::vehicles_for_sale + more.for_sale),
            business_counters::vehicle_writes.eq(business_counters::vehicle_writes + 1),
            business_counters::vehicle_number.eq(business_counters::vehicle_number + count),
            business_counters::vehicle_created.eq(latest),
            business_counters::stamps_unordered.eq(business_counters::stamps_unordered.or(was_put_back)),
        ))
        .returning((business_counters::vehicle_number, business_counters::vehicle_created))
        .prepared()
        .get_result(conn)
        .await
}

/// Counts a write of vehicles, and adds `more` to their numbers. It comes before the writes, so that a reader of the count sees
/// every write that it includes.
async fn count_writes(conn: &mut Conn, business: BusinessId, more: More) -> StoreResult<()> {
    diesel::update(business_counters::table.find(business.get()))
        .set((
            business_counters::vehicles.eq(business_counters::vehicles + more.vehicles),
            business_counters::vehicles_for_sale.eq(business_counters::vehicles_for_sale + more.for_sale),
            business_counters::vehicle_writes.eq(business_counters::vehicle_writes + 1),
        ))
        .prepared()
        .execute(conn)
        .await
        .map(drop)
}

/// Returns the stamp of the business's latest vehicle.
async fn latest_vehicle(conn: &mut Conn, business: BusinessId) -> StoreResult<i64> {
    let row = business_counters::table
        .find(business.get())
        .select(business_counters::vehicle_created);
    row.get_result(conn).await
}
