//! The documents that are kept with vehicles. A vehicle is locked while its documents are written.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_files::FileName;
use forecourt_kernel::{BusinessId, Page, PageRequest, StoreError, StoreResult, Timestamp, VehicleId, Version};
use forecourt_vehicles::{
    VehicleDocument, VehicleDocumentContent, VehicleDocumentId, VehicleDocumentReader, VehicleFileStore,
};

use super::super::owned::OwnedTable;
use super::super::page::page_of;
use super::super::session::{Mode, Session, Write};
use super::super::{Conn, Db};
use crate::error::other;
use crate::statement::{Prepare as _, RunQueryDsl};

pub(in super::super) const OWNED_TABLES: &[OwnedTable] = &[OwnedTable::new("vehicle_documents", "id", 100)];

diesel::table! {
    vehicle_documents (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        vehicle -> BigInt,
        version -> BigInt,
        uploaded -> BigInt,
        file -> Text,
        document -> Text,
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = vehicle_documents, check_for_backend(Db))]
pub(super) struct DocumentRow {
    id: i64,
    vehicle: i64,
    version: i64,
    uploaded: i64,
    document: String,
}

#[derive(Insertable, AsChangeset)]
#[diesel(table_name = vehicle_documents, check_for_backend(Db), treat_none_as_default_value = false)]
struct DocumentValues {
    version: i64,
    file: String,
    document: String,
}

impl DocumentValues {
    fn new(document: &VehicleDocument) -> StoreResult<Self> {
        Ok(Self {
            version: document.version.number(),
            file: document.content.file.name.to_string(),
            document: serde_json::to_string(&document.content).map_err(other)?,
        })
    }
}

impl TryFrom<DocumentRow> for VehicleDocument {
    type Error = StoreError;

    fn try_from(row: DocumentRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("document {} of a vehicle cannot be read: {failure}", row.id));
        Ok(Self {
            id: VehicleDocumentId::new(row.id),
            vehicle: VehicleId::new(row.vehicle),
            version: Version::new(row.version),
            uploaded: Timestamp::from_epoch_seconds(row.uploaded),
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
        })
    }
}

/// The documents of a vehicle.
#[diesel::dsl::auto_type]
fn of_vehicle(business: BusinessId, vehicle: VehicleId) -> _ {
    let (business, vehicle): (i64, i64) = (business.get(), vehicle.get());
    vehicle_documents::table
        .filter(vehicle_documents::business_id.eq(business))
        .filter(vehicle_documents::vehicle.eq(vehicle))
}

async fn count(conn: &mut Conn, business: BusinessId, vehicle: VehicleId) -> StoreResult<i64> {
    let count = of_vehicle(business, vehicle).count();
    count.get_result(conn).await
}

#[async_trait]
impl<M: Mode> VehicleDocumentReader for Session<M> {
    async fn vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        id: VehicleDocumentId,
    ) -> StoreResult<Option<VehicleDocument>> {
        let row: Option<DocumentRow> = vehicle_documents::table
            .find((business.get(), id.get()))
            .filter(vehicle_documents::vehicle.eq(vehicle.get()))
            .select(DocumentRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(VehicleDocument::try_from).transpose()
    }

    async fn vehicle_documents(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        request: &PageRequest,
    ) -> StoreResult<Page<VehicleDocument>> {
        let conn = self.conn().await?;
        let all = || of_vehicle(business, vehicle).into_boxed::<Db>();
        let order = (vehicle_documents::vehicle.desc(), vehicle_documents::id.desc());
        let page = page_of!(conn, request, DocumentRow, all, vehicle_documents::id, order, false);
        page.try_map(VehicleDocument::try_from)
    }
}

#[async_trait]
impl VehicleFileStore for Session<Write> {
    async fn count_vehicle_documents(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<u32> {
        let count = count(self.conn().await?, business, vehicle).await?;
        u32::try_from(count).map_err(other)
    }

    async fn insert_vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        content: VehicleDocumentContent,
        at: Timestamp,
    ) -> StoreResult<VehicleDocument> {
        let mut document = VehicleDocument {
            id: VehicleDocumentId::new(0),
            vehicle,
            version: Version::FIRST,
            uploaded: at,
            content,
        };
        let id = diesel::insert_into(vehicle_documents::table)
            .values((
                vehicle_documents::business_id.eq(business.get()),
                vehicle_documents::vehicle.eq(vehicle.get()),
                vehicle_documents::uploaded.eq(at.epoch_seconds()),
                DocumentValues::new(&document)?,
            ))
            .returning(vehicle_documents::id)
            .get_result(self.conn().await?)
            .await?;
        document.id = VehicleDocumentId::new(id);
        Ok(document)
    }

    async fn save_vehicle_document(&mut self, business: BusinessId, document: &VehicleDocument) -> StoreResult<()> {
        diesel::update(vehicle_documents::table.find((business.get(), document.id.get())))
            .set(DocumentValues::new(document)?)
            .prepared()
            .execute(self.conn().await?)
            .await
            .map(drop)
    }

    async fn remove_vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        id: VehicleDocumentId,
    ) -> StoreResult<()> {
        let row = vehicle_documents::table
            .find((business.get(), id.get()))
            .filter(vehicle_documents::vehicle.eq(vehicle.get()));
        diesel::delete(row).execute(self.conn().await?).await.map(drop)
    }

    async fn remove_vehicle_documents(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
    ) -> StoreResult<Vec<FileName>> {
        let names: Vec<String> = diesel::delete(of_vehicle(business, vehicle))
            .returning(vehicle_documents::file)
            .load(self.conn().await?)
            .await?;
        names.iter().map(|name| name.parse().map_err(other)).collect()
    }
}
