//! Test drives. A vehicle is locked while its drives are written; the erasure of a contact locks the drives alone.

use async_trait::async_trait;
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::Integer;
use forecourt_kernel::{
    BusinessId, ContactId, Cursor, Page, PageRequest, Position, StoreError, StoreResult, Timestamp, VehicleId, View,
};
use forecourt_vehicles::{
    DriveCode, Driver, TestDrive, TestDriveContent, TestDriveId, TestDriveReader, TestDriveStore,
};

use super::super::owned::OwnedTable;
use super::super::session::{Mode, Session, Write};
use super::super::size::within_bytes;
use super::super::{Conn, Db, contacts};
use crate::error::other;
use crate::statement::{Lock, Prepare as _, RunQueryDsl, locking};

pub(in super::super) const OWNED_TABLES: &[OwnedTable] = &[OwnedTable::new("vehicle_drives", "id", 20)];

diesel::table! {
    vehicle_drives (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        vehicle -> BigInt,
        code -> Text,
        contact -> Nullable<BigInt>,
        started -> BigInt,
        ended -> Nullable<BigInt>,
        document -> Text,
        signature -> Nullable<Text>,
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = vehicle_drives, check_for_backend(Db))]
struct DriveRow {
    id: i64,
    vehicle: i64,
    code: String,
    document: String,
}

#[derive(Insertable, AsChangeset)]
#[diesel(table_name = vehicle_drives, check_for_backend(Db), treat_none_as_default_value = false)]
struct DriveValues<'a> {
    #[diesel(treat_none_as_null = true)]
    contact: Option<i64>,
    started: i64,
    #[diesel(treat_none_as_null = true)]
    ended: Option<i64>,
    document: String,
    /// A signature that was not read stays as it is.
    signature: Option<&'a str>,
}

impl<'a> DriveValues<'a> {
    fn new(content: &'a TestDriveContent) -> StoreResult<Self> {
        let esign = content.esign.as_ref();
        Ok(Self {
            contact: content.contact.map(ContactId::get),
            started: content.started.epoch_seconds(),
            ended: content.ended.map(Timestamp::epoch_seconds),
            document: serde_json::to_string(content).map_err(other)?,
            signature: esign.and_then(|esign| esign.signature.as_deref()),
        })
    }
}

impl TryFrom<DriveRow> for TestDrive {
    type Error = StoreError;

    fn try_from(row: DriveRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("test drive {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: TestDriveId::new(row.id),
            vehicle: VehicleId::new(row.vehicle),
            code: DriveCode::stored(row.code),
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
        })
    }
}

/// Returns the drive of a row with its signature.
fn signed((row, signature): (DriveRow, Option<String>)) -> StoreResult<TestDrive> {
    let mut drive = TestDrive::try_from(row)?;
    if let Some(esign) = &mut drive.content.esign {
        esign.signature = signature;
    }
    Ok(drive)
}

/// The active drive of a vehicle.
#[diesel::dsl::auto_type]
fn active(business: BusinessId, vehicle: VehicleId) -> _ {
    let (business, vehicle): (i64, i64) = (business.get(), vehicle.get());
    vehicle_drives::table
        .filter(vehicle_drives::business_id.eq(business))
        .filter(vehicle_drives::vehicle.eq(vehicle))
        .filter(vehicle_drives::ended.is_null())
}

/// Returns the active drive of a vehicle, and locks it.
async fn active_drive<L: Lock>(
    conn: &mut Conn,
    business: BusinessId,
    vehicle: VehicleId,
) -> StoreResult<Option<TestDrive>> {
    let query = active(business, vehicle).select((DriveRow::as_select(), vehicle_drives::signature));
    let row = locking::<L, _>(query).get_optional(conn).await?;
    row.map(signed).transpose()
}

/// Returns a drive without its signature.
pub(in super::super) async fn drive(
    conn: &mut Conn,
    business: BusinessId,
    id: TestDriveId,
) -> StoreResult<Option<TestDrive>> {
    let row: Option<DriveRow> = vehicle_drives::table
        .find((business.get(), id.get()))
        .select(DriveRow::as_select())
        .get_optional(conn)
        .await?;
    row.map(TestDrive::try_from).transpose()
}

/// The number of bytes of a drive that a view shows.
fn bytes(view: View) -> SqlLiteral<Integer> {
    sql(match view {
        View::Simple => "octet_length(document)",
        View::Full => "octet_length(document) + coalesce(octet_length(signature), 0)",
    })
}

/// The number of a contact's drives that are read at once, with their signatures.
const OF_CONTACT_AT_ONCE: i64 = 5;

/// Returns the next few of a contact's drives after `after`.
pub(super) async fn of_contact(
    conn: &mut Conn,
    business: BusinessId,
    contact: ContactId,
    after: TestDriveId,
) -> StoreResult<Vec<TestDrive>> {
    let rows: Vec<(DriveRow, Option<String>)> = vehicle_drives::table
        .filter(vehicle_drives::business_id.eq(business.get()))
        .filter(vehicle_drives::contact.assume_not_null().eq(contact.get()))
        .filter(vehicle_drives::id.gt(after.get()))
        .order((vehicle_drives::contact, vehicle_drives::id))
        .limit(OF_CONTACT_AT_ONCE)
        .select((DriveRow::as_select(), vehicle_drives::signature))
        .load(conn)
        .await?;
    rows.into_iter().map(signed).collect()
}

#[async_trait]
impl<M: Mode> TestDriveReader for Session<M> {
    async fn active_drive(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Option<TestDrive>> {
        active_drive::<M::NoKeyUpdate>(self.conn().await?, business, vehicle).await
    }

    async fn drive(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        code: &DriveCode,
    ) -> StoreResult<Option<TestDrive>> {
        let row = vehicle_drives::table
            .filter(vehicle_drives::business_id.eq(business.get()))
            .filter(vehicle_drives::code.eq(code.as_str()))
            .filter(vehicle_drives::vehicle.eq(vehicle.get()))
            .select((DriveRow::as_select(), vehicle_drives::signature))
            .get_optional(self.conn().await?)
            .await;
        row?.map(signed).transpose()
    }

    async fn drives(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        request: &PageRequest,
        view: View,
    ) -> StoreResult<Page<TestDrive>> {
        let conn = self.conn().await?;
        let all = || {
            vehicle_drives::table
                .filter(vehicle_drives::business_id.eq(business.get()))
                .filter(vehicle_drives::vehicle.eq(vehicle.get()))
                .into_boxed::<Db>()
        };
        let total = match request.position {
            Position::Number(_) => Some(all().count().get_result(conn).await?),
            Position::After(_) => None,
        };
        let mut query = all();
        if let Position::After(cursor) = &request.position {
            query = query.filter(vehicle_drives::id.lt(cursor.id()));
        }
        let sizes: Vec<(i64, i32)> = query
            .order((vehicle_drives::vehicle.desc(), vehicle_drives::id.desc()))
            .limit(request.wanted())
            .offset(request.offset().unwrap_or_default())
            .select((vehicle_drives::id, bytes(view)))
            .load(conn)
            .await?;
        let (shown, _) = sizes.split_at(sizes.len().min(request.per_page as usize));
        let last = within_bytes(shown);
        let shown: Vec<i64> = shown
            .iter()
            .map(|(id, _)| *id)
            .filter(|id| last.is_some_and(|last| *id >= last))
            .collect();
        let next = last
            .filter(|_| shown.len() < sizes.len())
            .map(|last| Cursor::at([last]));
        let rows = vehicle_drives::table
            .filter(vehicle_drives::business_id.eq(business.get()))
            .filter(vehicle_drives::id.eq_any(shown))
            .order(vehicle_drives::id.desc());
        let items: StoreResult<Vec<TestDrive>> = match view {
            View::Simple => {
                let rows: Vec<DriveRow> = rows.select(DriveRow::as_select()).load(conn).await?;
                rows.into_iter().map(TestDrive::try_from).collect()
            }
            View::Full => {
                let rows = rows.select((DriveRow::as_select(), vehicle_drives::signature));
                let rows: Vec<(DriveRow, Option<String>)> = rows.load(conn).await?;
                rows.into_iter().map(signed).collect()
            }
        };
        Ok(Page {
            items: items?,
            next,
            total,
        })
    }

    async fn driver(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Option<Driver>> {
        let contact = contacts::content::<M::KeyShare>(self.conn().await?, business, contact).await?;
        Ok(contact.map(|content| Driver {
            name: content.name,
            email: content.email,
            license_number: content.license.number,
            license_code: content.license.code,
            license_checked: content.license.checked,
            license_checked_by: content.license.checked_by,
            ni: content.ni,
            dob: content.dob,
        }))
    }
}

#[async_trait]
impl TestDriveStore for Session<Write> {
    async fn insert_drive(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        code: DriveCode,
        content: TestDriveContent,
    ) -> StoreResult<TestDrive> {
        let id = diesel::insert_into(vehicle_drives::table)
            .values((
                vehicle_drives::business_id.eq(business.get()),
                vehicle_drives::vehicle.eq(vehicle.get()),
                vehicle_drives::code.eq(code.as_str()),
                DriveValues::new(&content)?,
            ))
            .returning(vehicle_drives::id)
            .get_result(self.conn().await?)
            .await?;
        Ok(TestDrive {
            id: TestDriveId::new(id),
            vehicle,
            code,
            content,
        })
    }

    async fn save_drive(&mut self, business: BusinessId, drive: &TestDrive) -> StoreResult<()> {
        diesel::update(vehicle_drives::table.find((business.get(), drive.id.get())))
            .set(DriveValues::new(&drive.content)?)
            .prepared()
            .execute(self.conn().await?)
            .await
            .map(drop)
    }
}
