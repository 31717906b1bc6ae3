//! People's data: where it lies, and how it is erased.
//!
//! Each area declares its own: in its [`PersonalTable`]s what of a person each column can hold, and in a [`PersonalArea`] how its
//! records forget one. The driver of an erasure ([`erasure`]) knows only this trait, and walks the areas in order.

mod budget;
mod erasure;
mod log;

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_kernel::{BusinessId, Person, PersonKeys, StoreResult};
use serde_json::Value;

use super::owned::OwnedTable;
use super::session::Writing;
use super::{contacts, invoices, leads, reviews, vehicles};
use crate::personal::PersonalTable;

pub(super) use budget::Budget;
pub(super) use erasure::erased_place;
pub(super) use log::{READ_AT_ONCE, of_changed_leads};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("erasure_records", "contact, kind, record", 500),
    OwnedTable::new("erased_people", "contact", 100),
    OwnedTable::new("file_removals", "name", 500),
];

/// What an entry of `erasure_records` is, and what a stored answer shows.
pub(super) const LEAD: i32 = 1;
pub(super) const VEHICLE: i32 = 2;
pub(super) const INVOICE: i32 = 3;
pub(super) const DRIVE: i32 = 4;
/// A lead that is linked to no contact, and that the contact is suggested for.
pub(super) const SUGGESTED: i32 = 5;
pub(super) const DOCUMENT: i32 = 6;
pub(super) const REVIEW: i32 = 7;

/// Added to the kind of a record that is linked to no contact, and was found to name one.
const FOUND: i32 = 100;

/// The records of an area that can name a person, in the order in which they are locked.
const AREAS: &[&dyn PersonalArea] = &[
    &leads::people::Leads,
    &vehicles::people::Vehicles,
    &invoices::people::Invoices,
    &vehicles::people::Drives,
    &leads::people::SuggestedLeads,
    &vehicles::people::Documents,
    &reviews::people::Reviews,
];

/// Texts of which each row stands for itself: nothing refers to what they say.
const TEXTS: &[&dyn PersonalTexts] = &[
    &leads::people::Messages,
    &leads::people::Notes,
    &contacts::people::Notes,
    &log::Events,
    &log::ReceivedAnswers,
];

/// What of a person each table can hold, area by area.
pub(crate) const TABLES: &[&[PersonalTable]] = &[
    leads::people::TABLES,
    contacts::people::TABLES,
    vehicles::people::TABLES,
    invoices::people::TABLES,
    reviews::people::TABLES,
    log::TABLES,
];

/// Records of an area that can name a person: how those are found that do, and how they forget it.
#[async_trait]
pub(super) trait PersonalArea: Sync {
    /// The kind in `erasure_records`.
    fn kind(&self) -> i32;

    /// The kind of the stored answers about a record.
    fn answers(&self) -> Option<i32> {
        None
    }

    /// Notes the records that are linked to a contact ([`Writing::note_record`]), and adds to its keys what they say of it.
    async fn note(&self, session: &mut Writing, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()>;

    /// Locks these records, in the order of their ids; answers which there are, and how long their texts are.
    async fn lock(&self, session: &mut Writing, business: BusinessId, ids: Vec<i64>) -> StoreResult<Vec<(i64, i32)>>;

    /// Takes the person out of a record that is locked.
    async fn clean(&self, session: &mut Writing, business: &Business, id: i64, person: &Person) -> StoreResult<()>;

    /// The next few records behind `after`, linked or not, and how long their texts are; none for an area whose records name only
    /// whom they are linked to.
    async fn next(&self, session: &mut Writing, business: BusinessId, after: i64) -> StoreResult<Vec<(i64, i32)>> {
        let _ = (session, business, after);
        Ok(Vec::new())
    }

    /// Those of these records that name the person without being linked.
    async fn naming(
        &self,
        session: &mut Writing,
        business: BusinessId,
        ids: Vec<i64>,
        person: &Person,
    ) -> StoreResult<Vec<i64>> {
        let _ = (session, business, ids, person);
        Ok(Vec::new())
    }

    /// The texts that hang on each record.
    fn attached(&self) -> &'static [&'static dyn AttachedTexts] {
        &[]
    }

    /// The next events of a record behind that number, and how long they are.
    async fn events(
        &self,
        session: &mut Writing,
        business: BusinessId,
        record: i64,
        after: i64,
    ) -> StoreResult<Vec<(i64, i32)>> {
        let _ = (session, business, record, after);
        Ok(Vec::new())
    }

    /// The event of a record's creation, where [`PersonalArea::events`] has it not; `created` is when the record was made.
    async fn creation(
        &self,
        session: &mut Writing,
        business: BusinessId,
        record: i64,
        created: i64,
    ) -> StoreResult<Option<(i64, i32)>> {
        let _ = (session, business, record, created);
        Ok(None)
    }

    /// Takes the person out of a record's representation, as an event has it; `false` if nothing of them was in it.
    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        person.redact_certain_value(shown)
    }
}

/// Texts that hang on the records of an area: of a record that names the person they lose all that the person is known by.
#[async_trait]
pub(super) trait AttachedTexts: Sync {
    /// Takes the person out of the next texts of a record behind `after`; answers up to which one, or `None` if none is left.
    async fn clean(
        &self,
        session: &mut Writing,
        at: (BusinessId, i64),
        after: i64,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>>;
}

/// Texts of a business that may name anybody: they lose what is certain to be the person.
#[async_trait]
pub(super) trait PersonalTexts: Sync {
    /// Takes the person out of the next texts behind `after`; answers up to which one, or `None` if none is left.
    async fn clean(
        &self,
        session: &mut Writing,
        business: BusinessId,
        after: i64,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>>;
}

/// The area of a kind, found or linked.
fn area(kind: i32) -> Option<&'static dyn PersonalArea> {
    AREAS.iter().copied().find(|area| area.kind() == kind % FOUND)
}

/// Reads the ids of linked records with when they were made, and notes them.
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

/// Locks rows of a table in the order of their ids; answers how long their documents are.
macro_rules! lock_rows {
    ($session:expr, $business:expr, $ids:expr, $table:ident) => {{
        let rows = $table::table
            .filter($table::business_id.eq($business.get()))
            .filter($table::id.eq_any($ids))
            .order($table::id)
            .select(($table::id, octet_length($table::document)));
        let rows: StoreResult<Vec<(i64, i32)>> = dialect::for_no_key_update!(rows).load($session.conn().await?).await;
        rows
    }};
}

/// The next rows of a table behind an id, and how long a text of theirs is.
macro_rules! next_rows {
    ($session:expr, $business:expr, $after:expr, $table:ident, $text:ident $(, $condition:expr)*) => {{
        let rows: StoreResult<Vec<(i64, i32)>> = $table::table
            .filter($table::business_id.eq($business.get()))
            .filter($table::id.gt($after))
            $(.filter($condition))*
            .order($table::id)
            .limit(READ_AT_ONCE)
            .select(($table::id, octet_length($table::$text)))
            .load($session.conn().await?)
            .await;
        rows
    }};
}

/// Those of these rows whose documents have what is certain to be the person's.
macro_rules! naming_rows {
    ($session:expr, $business:expr, $ids:expr, $person:expr, $table:ident) => {{
        let rows: Vec<(i64, String)> = $table::table
            .filter($table::business_id.eq($business.get()))
            .filter($table::id.eq_any($ids))
            .select(($table::id, $table::document))
            .load($session.conn().await?)
            .await?;
        let naming = rows.iter().filter(|(_, document)| $person.is_certainly_in(document));
        Ok(naming.map(|(id, _)| *id).collect())
    }};
}

pub(super) use {lock_rows, naming_rows, next_rows, note_linked};
