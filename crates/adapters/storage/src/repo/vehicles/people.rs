//! People's data in vehicles, with their documents and test drives, and its erasure.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_accounts::Business;
use forecourt_files::FileName;
use forecourt_kernel::{BusinessId, Person, PersonKeys, StoreError, StoreResult};
use forecourt_vehicles::{
    TestDrive, TestDriveId, Vehicle, VehicleDocument, VehicleError, forget_person_in_document, forget_person_in_drive,
    forget_person_in_event, forget_person_in_vehicle,
};
use serde_json::Value;

use super::super::people::{DOCUMENT, DRIVE, OF_VEHICLES, PersonalArea, VEHICLE, note_linked};
use super::super::session::{Session, Write};
use super::documents::{DocumentRow, vehicle_documents};
use super::drives::{self, vehicle_drives};
use super::resolve_references;
use crate::error::other;
use crate::models::VehicleRow;
use crate::personal::{
    Erasure::{Cleared, Deleted, Derived, Redacted},
    PersonalTable, held, table, withheld,
};
use crate::schema::{file_removals, vehicle_customers, vehicles};
use crate::statement::RunQueryDsl;

pub(in super::super) const TABLES: &[PersonalTable] = &[
    table(
        "vehicles",
        &[
            // Cleared: data.appraisal.details, data.stock.funding_provider and purchase_supplier with their ids, the customers of
            // sale and reservations with the payment's reference. Redacted: the offer's comments, and what staff wrote in data.
            held("document", "vehicles", Redacted),
            held("preview", "vehicles", Derived),
            held("contact", "vehicles", Cleared),
            held("funder", "vehicles", Cleared),
            held("supplier", "vehicles", Cleared),
        ],
        &["id", "business_id", "tag", "created", "updated", "deleted", "version"],
    ),
    table(
        "vehicle_facts",
        &[held("appraisal_contact", "vehicles", Cleared)],
        &[
            "business_id",
            "id",
            "kind",
            "status",
            "owner",
            "registration",
            "created",
            "updated",
            "make",
            "model",
            "generation",
            "derivative",
            "body",
            "colour",
            "fuel",
            "transmission",
            "reference",
            "number",
            "vin",
            "location",
            "mileage",
            "year",
            "price",
        ],
    ),
    table(
        "vehicle_customers",
        &[held("contact", "reservations", Deleted)],
        &["business_id", "vehicle"],
    ),
    table("vehicle_channels", &[], &["business_id", "channel", "vehicle_id"]),
    table("vehicle_tags", &[], &["business_id", "name", "vehicle_id"]),
    table(
        "vehicle_drives",
        &[
            // contact, licence, insurance number, birthday and signature are cleared, photos removed, notes redacted.
            held("document", "drives", Redacted),
            held("contact", "drives", Cleared),
            held("signature", "drives", Cleared),
        ],
        &["id", "business_id", "vehicle", "code", "started", "ended"],
    ),
    table(
        "vehicle_documents",
        &[held("document", "documents", Redacted)],
        &["id", "business_id", "vehicle", "version", "uploaded", "file"],
    ),
    table(
        "listings",
        &[withheld("json", "the advert of a vehicle", Derived)],
        &[
            "business_id",
            "id",
            "updated",
            "hash",
            "expires",
            "make",
            "model",
            "fuel",
            "transmission",
            "body",
            "colour",
            "year",
            "mileage",
            "price",
            "sequence",
            "ready",
        ],
    ),
    table("listing_builds", &[], &["business_id", "built_of", "below"]),
    table(
        "listing_removals",
        &[],
        &["business_id", "id", "sequence", "at", "reason"],
    ),
    table("listing_removals_kept", &[], &["business_id", "since"]),
];

fn failed(error: VehicleError) -> StoreError {
    match error {
        VehicleError::Store(error) => error,
        error => other(error),
    }
}

/// The vehicles that a contact has offered, funded, supplied, reserved or bought, deleted ones as well.
pub(in super::super) struct Vehicles;

#[async_trait]
impl PersonalArea for Vehicles {
    fn kind(&self) -> i32 {
        VEHICLE
    }

    fn answers(&self) -> Option<i32> {
        Some(VEHICLE)
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        let named = vehicles::contact
            .assume_not_null()
            .eq(by)
            .or(vehicles::funder.assume_not_null().eq(by))
            .or(vehicles::supplier.assume_not_null().eq(by));
        note_linked!(session, business, keys, VEHICLE, vehicles, created, named)?;
        let bought = vehicle_customers::table
            .filter(vehicle_customers::business_id.eq(business.get()))
            .filter(vehicle_customers::contact.eq(by));
        let ids: Vec<i64> = bought
            .select(vehicle_customers::vehicle)
            .load(session.conn().await?)
            .await?;
        for id in ids {
            // Only leads need the time of a record's creation.
            session.note_record(business, keys.contact(), VEHICLE, (id, 0)).await?;
        }
        diesel::delete(bought).execute(session.conn().await?).await.map(drop)
    }

    fn table(&self) -> &'static str {
        "vehicles"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let now = session.dependencies.clock.now();
        let row: Option<VehicleRow> = vehicles::table
            .find((business.id.get(), id))
            .select(VehicleRow::as_select())
            .get_optional(session.conn().await?)
            .await?;
        if let Some(row) = row {
            let mut vehicle = Vehicle::try_from(row)?;
            resolve_references(session.conn().await?, business.id, std::slice::from_mut(&mut vehicle)).await?;
            let forgotten = forget_person_in_vehicle(session, now, business, vehicle, person).await;
            forgotten.map_err(failed)?;
        }
        Ok(())
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_VEHICLES)
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        forget_person_in_event(shown, person)
    }
}

/// The test drives of a contact. No event shows one. Stored answers that do are found by their contact.
pub(in super::super) struct Drives;

#[async_trait]
impl PersonalArea for Drives {
    fn kind(&self) -> i32 {
        DRIVE
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        let driven = vehicle_drives::contact.assume_not_null().eq(by);
        note_linked!(session, business, keys, DRIVE, vehicle_drives, started, driven)?;
        let contact = keys.contact();
        for drive in drives::of_contact(session.conn().await?, business, contact, TestDriveId::new(0)).await? {
            let TestDrive { content, .. } = drive;
            for number in [&content.license_number, &content.license_code, &content.ni] {
                keys.add_identifier(number.as_str());
            }
        }
        Ok(())
    }

    fn table(&self) -> &'static str {
        "vehicle_drives"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let drive = drives::drive(session.conn().await?, business.id, TestDriveId::new(id)).await?;
        if let Some(drive) = drive {
            let removed = forget_person_in_drive(session, business.id, drive, person).await;
            session.remove_content(business.id, &removed.map_err(failed)?).await?;
        }
        Ok(())
    }
}

/// The documents that are kept with vehicles: none is linked to a contact.
pub(in super::super) struct Documents;

#[async_trait]
impl PersonalArea for Documents {
    fn kind(&self) -> i32 {
        DOCUMENT
    }

    async fn note(&self, _: &mut Session<Write>, _: BusinessId, _: &mut PersonKeys) -> StoreResult<()> {
        Ok(())
    }

    fn table(&self) -> &'static str {
        "vehicle_documents"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let row: Option<DocumentRow> = vehicle_documents::table
            .find((business.id.get(), id))
            .select(DocumentRow::as_select())
            .get_optional(session.conn().await?)
            .await?;
        if let Some(row) = row {
            let document = VehicleDocument::try_from(row)?;
            let forgotten = forget_person_in_document(session, business.id, document, person).await;
            forgotten.map_err(failed)?;
        }
        Ok(())
    }
}

impl Session<Write> {
    /// Has the background remove the content of files whose records are gone.
    async fn remove_content(&mut self, business: BusinessId, names: &[FileName]) -> StoreResult<()> {
        for name in names {
            diesel::insert_into(file_removals::table)
                .values((
                    file_removals::business_id.eq(business.get()),
                    file_removals::name.eq(name.as_str()),
                ))
                .on_conflict_do_nothing()
                .execute(self.conn().await?)
                .await?;
        }
        Ok(())
    }
}
