//! People's data: its places, and its erasure.
//!
//! Each area declares its own places. Its [`PersonalTable`]s list the data of a person that each column can hold, and a
//! [`PersonalArea`] erases a person from its records. The driver of an erasure ([`erasure`]) knows only this trait, and walks the
//! areas in order.

mod budget;
mod erasure;
mod log;

use async_trait::async_trait;
use diesel::sql_types::{BigInt, Integer, Text};
use forecourt_accounts::Business;
use forecourt_kernel::{BusinessId, Person, PersonKeys, StoreResult};
use serde_json::Value;

use super::owned::OwnedTable;
use super::session::{Session, Write};
use super::{
    appointments, calls, contacts, deals, invoices, jobs, leads, orders, purchases, reviews, stock_book, vehicles,
};
use crate::personal::PersonalTable;
use crate::statement::{RunQueryDsl, Sql, for_no_key_update};

pub(super) use budget::Budget;
pub(super) use erasure::{erased_place, nameless_erasure, place as erasure_place};
pub(super) use log::{
    OF_APPOINTMENTS, OF_CALLS, OF_CHANGED_LEADS, OF_CONTACTS, OF_DEALS, OF_INVOICES, OF_ORDERS, OF_PURCHASES,
    OF_VEHICLE_JOBS, OF_VEHICLES, READ_AT_ONCE,
};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("erasure_records", "contact, kind, record", 500),
    OwnedTable::new("erased_people", "contact", 100),
    OwnedTable::new("file_removals", "name", 500),
];

/// The kinds of records in `erasure_records`, and in stored answers.
pub(super) const LEAD: i32 = 1;
pub(super) const VEHICLE: i32 = 2;
pub(super) const INVOICE: i32 = 3;
pub(super) const DRIVE: i32 = 4;
/// A lead that is linked to no contact, but has this one suggested.
pub(super) const SUGGESTED: i32 = 5;
pub(super) const DOCUMENT: i32 = 6;
pub(super) const REVIEW: i32 = 7;
pub(super) const ORDER: i32 = 8;
pub(super) const CALL: i32 = 9;
/// A call with a withheld or unknown number about a lead of the contact.
pub(super) const CALL_OF_LEAD: i32 = 10;
pub(super) const PURCHASE: i32 = 11;
pub(super) const APPOINTMENT: i32 = 20;
pub(super) const JOB: i32 = 21;
pub(super) const DEAL: i32 = 30;

/// The records of an area that can name a person, in the order in which they are locked.
const AREAS: &[&dyn PersonalArea] = &[
    &appointments::people::Appointments,
    &calls::people::Calls,
    &calls::people::CallsAboutLeads,
    &leads::people::Leads,
    &vehicles::people::Vehicles,
    &invoices::people::Invoices,
    &orders::people::Orders,
    &purchases::people::Purchases,
    &deals::people::Deals,
    &vehicles::people::Drives,
    &leads::people::SuggestedLeads,
    &vehicles::people::Documents,
    &reviews::people::Reviews,
    &jobs::people::Jobs,
];

/// Texts whose rows each stand for themselves: nothing refers to them.
const TEXTS: &[&dyn PersonalTexts] = &[
    &leads::people::Messages,
    &leads::people::Notes,
    &contacts::people::Notes,
    &log::Events,
    &log::ReceivedAnswers,
];

/// The columns that can hold a person's data, area by area.
pub(crate) const TABLES: &[&[PersonalTable]] = &[
    leads::people::TABLES,
    contacts::people::TABLES,
    vehicles::people::TABLES,
    invoices::people::TABLES,
    orders::people::TABLES,
    purchases::people::TABLES,
    deals::people::TABLES,
    stock_book::TABLES,
    reviews::people::TABLES,
    appointments::people::TABLES,
    calls::people::TABLES,
    jobs::people::TABLES,
    log::TABLES,
];

/// An area's records that can name a person, with the way to find and to clean those that do.
#[async_trait]
pub(super) trait PersonalArea: Sync {
    /// The kind in `erasure_records`.
    fn kind(&self) -> i32;

    /// The kind of the stored answers about a record.
    fn answers(&self) -> Option<i32> {
        None
    }

    /// Records the area's records that are linked to a contact ([`Session::note_record`]), and adds their names and numbers to
    /// its keys.
    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()>;

    /// The table of the records, with `id` and `document`.
    fn table(&self) -> &'static str;

    /// Locks these records, in the order of their ids; returns those that exist, with the lengths of their texts.
    async fn lock(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        ids: Vec<i64>,
    ) -> StoreResult<Vec<(i64, i32)>> {
        let mut rows: Sql<Lengths> = Sql::new(&format!(
            "SELECT id, octet_length(document) FROM {} WHERE ",
            self.table()
        ));
        of_ids(&mut rows, business, &ids);
        rows.sql(" ORDER BY id");
        for_no_key_update(rows).load(session.conn().await?).await
    }

    /// Takes the person out of a record that is locked.
    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()>;

    /// Records that are linked to no contact may name a person too.
    fn is_searched(&self) -> bool {
        true
    }

    /// Returns the next few records after `after`, linked or not, with the lengths of their texts.
    async fn next(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        after: i64,
    ) -> StoreResult<Vec<(i64, i32)>> {
        if !self.is_searched() {
            return Ok(Vec::new());
        }
        next_texts(session, business, self.table(), "document", None, after).await
    }

    /// Returns those of these records that name the person without being linked.
    async fn naming(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        ids: Vec<i64>,
        person: &Person,
    ) -> StoreResult<Vec<i64>> {
        let mut rows: Sql<(BigInt, Text)> = Sql::new(&format!("SELECT id, document FROM {} WHERE ", self.table()));
        of_ids(&mut rows, business, &ids);
        let rows: Vec<(i64, String)> = rows.load(session.conn().await?).await?;
        let naming = rows
            .iter()
            .filter(|(_, document)| person.is_certainly_in_json(document));
        Ok(naming.map(|(id, _)| *id).collect())
    }

    /// The texts that are attached to each record.
    fn attached(&self) -> &'static [&'static dyn PersonalTexts] {
        &[]
    }

    /// The condition that an event is about a record of the area, if events are searched for by their records.
    fn event_condition(&self) -> Option<&'static str> {
        None
    }

    /// Returns the event of a record's creation, if [`PersonalArea::event_condition`] does not find it. `created` is the time of that.
    async fn creation(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        record: i64,
        created: i64,
    ) -> StoreResult<Option<(i64, i32)>> {
        let _ = (session, business, record, created);
        Ok(None)
    }

    /// Takes the person out of a record's representation in an event; returns `false` if it held nothing of them.
    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        person.redact_certain_value(shown)
    }
}

/// Texts that may name anyone, such as notes.
#[async_trait]
pub(super) trait PersonalTexts: Sync {
    /// Takes the person out of the next texts after `after`. Returns the last text done, or `None` if none is left.
    ///
    /// Texts `of` a record that names the person lose every name and number that the person is known by, all others only those
    /// that are certain to be the person's.
    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        of: Option<i64>,
        after: i64,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>>;
}

/// The SQL types of ids with lengths.
type Lengths = (BigInt, Integer);

/// Appends the condition that rows are the business's and have one of these ids.
fn of_ids<ST>(sql: &mut Sql<ST>, business: BusinessId, ids: &[i64]) {
    // PostgreSQL takes no empty list.
    sql.sql("business_id = ").bind(business.get()).sql(" AND id IN (NULL");
    for id in ids {
        sql.sql(", ").bind(*id);
    }
    sql.sql(")");
    // There are as many texts as numbers of ids: too many to stay prepared.
    sql.plan_by_values();
}

/// Returns the next rows of a table after an id, with the lengths of one of their texts: all, or those that have a value in a
/// column.
pub(super) async fn next_texts(
    session: &mut Session<Write>,
    business: BusinessId,
    table: &str,
    text: &str,
    with: Option<(&str, i64)>,
    after: i64,
) -> StoreResult<Vec<(i64, i32)>> {
    let mut rows: Sql<Lengths> = Sql::new(&format!(
        "SELECT id, octet_length({text}) FROM {table} WHERE business_id = "
    ));
    rows.bind(business.get()).sql(" AND id > ").bind(after);
    if let Some((column, value)) = with {
        rows.sql(&format!(" AND {column} = ")).bind(value);
    }
    rows.sql(" ORDER BY id LIMIT ").bind(READ_AT_ONCE);
    rows.load(session.conn().await?).await
}

/// Returns the area of a kind, found or linked.
fn area(kind: i32) -> Option<&'static dyn PersonalArea> {
    AREAS
        .iter()
        .copied()
        .find(|area| area.kind() == kind % crate::erasure_state::FOUND)
}

/// Reads the ids of linked records with the times of their creation, and records them.
macro_rules! note_linked {
    ($session:expr, $business:expr, $keys:expr, $kind:expr, $table:ident, $created:ident, $condition:expr) => {{
        let by: i64 = $keys.contact().get();
        $table::table
            .filter($table::business_id.eq($business.get()))
            .filter($condition)
            .select((
                $table::business_id,
                diesel::IntoSql::into_sql::<diesel::sql_types::BigInt>(by),
                diesel::IntoSql::into_sql::<diesel::sql_types::Integer>($kind),
                $table::id,
                $table::$created,
            ))
            .insert_into($crate::schema::erasure_records::table)
            .into_columns((
                $crate::schema::erasure_records::business_id,
                $crate::schema::erasure_records::contact,
                $crate::schema::erasure_records::kind,
                $crate::schema::erasure_records::record,
                $crate::schema::erasure_records::created,
            ))
            .execute($session.conn().await?)
            .await
    }};
}

pub(super) use note_linked;
