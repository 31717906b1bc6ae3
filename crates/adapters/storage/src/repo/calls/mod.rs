//! Calls.

pub(super) mod people;

use async_trait::async_trait;
use diesel::dsl::{count_star, exists};
use diesel::prelude::*;
use forecourt_calls::{
    Call, CallContent, CallDirection, CallFilter, CallOutcome, CallReader, CallStore, ContactCallReader,
};
use forecourt_kernel::{
    BusinessId, CallId, ContactId, LeadId, Page, PageRequest, Phone, SiteId, StaffId, StoreError, StoreResult,
    Timestamp, VehicleId, Version,
};
use forecourt_leads::LeadStatus;

use super::owned::OwnedTable;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Read, Session, Write};
use super::{Db, contacts, list};
use crate::error::other;
use crate::schema::leads;
use crate::statement::{MayScan as _, Prepare as _, RunQueryDsl, Unlocked, for_no_key_update};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[OwnedTable::new("calls", "id", 100)];

const KIND: &str = "calls";

const CALLS: RecordKind = RecordKind {
    table: "calls",
    rows: "calls",
    texts: None,
};

diesel::table! {
    calls (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        version -> BigInt,
        created -> BigInt,
        updated -> BigInt,
        site -> BigInt,
        direction -> Text,
        outcome -> Text,
        started -> BigInt,
        staff -> Nullable<BigInt>,
        contact -> Nullable<BigInt>,
        lead -> Nullable<BigInt>,
        vehicle -> Nullable<BigInt>,
        from_number -> Nullable<Text>,
        to_number -> Nullable<Text>,
        provider -> Nullable<Text>,
        external_id -> Nullable<Text>,
        tracking -> Nullable<Text>,
        document -> Text,
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = calls, check_for_backend(Db))]
struct CallRow {
    id: i64,
    version: i64,
    created: i64,
    updated: i64,
    document: String,
}

/// The columns of a call that are written, first and at each change: its document, and beside it the columns that lists filter
/// by.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = calls, check_for_backend(Db), treat_none_as_null = true, treat_none_as_default_value = false)]
struct CallValues {
    version: i64,
    updated: i64,
    site: i64,
    direction: &'static str,
    outcome: &'static str,
    started: i64,
    staff: Option<i64>,
    contact: Option<i64>,
    lead: Option<i64>,
    vehicle: Option<i64>,
    from_number: Option<String>,
    to_number: Option<String>,
    provider: Option<String>,
    external_id: Option<String>,
    tracking: Option<String>,
    document: String,
}

impl CallValues {
    fn new(call: &Call) -> StoreResult<Self> {
        let content = &call.content;
        // Unknown values are not indexed. A part of a name alone does not distinguish a call.
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Self {
            version: call.version.number(),
            updated: call.updated.epoch_seconds(),
            site: content.site.get(),
            direction: content.direction.name(),
            outcome: content.actual_outcome().name(),
            started: content.started.epoch_seconds(),
            staff: content.staff.map(StaffId::get),
            contact: content.contact.map(ContactId::get),
            lead: content.lead.map(LeadId::get),
            vehicle: content.vehicle.map(VehicleId::get),
            from_number: known(&content.from),
            to_number: known(&content.to),
            provider: known(&content.provider),
            external_id: known(&content.external_id),
            tracking: known(&content.tracking),
            document: serde_json::to_string(content).map_err(other)?,
        })
    }
}

impl TryFrom<CallRow> for Call {
    type Error = StoreError;

    fn try_from(row: CallRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("call {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: CallId::new(row.id),
            version: Version::new(row.version),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
        })
    }
}

/// Selects the calls that pass `filter`.
fn selection(business: BusinessId, filter: &CallFilter) -> Selection {
    let CallFilter {
        site,
        direction,
        outcome,
        contact,
        lead,
        vehicle,
        staff,
        from,
        to,
        number,
        provider,
        external_id,
        tracking,
        started,
        created,
        updated,
    } = filter;
    let mut list = Selection::all(CALLS, business);
    list.is("site", site.map(SiteId::get));
    list.is("direction", direction.map(CallDirection::name));
    list.is("outcome", outcome.map(CallOutcome::name));
    list.is("contact", contact.map(ContactId::get));
    list.is("lead", lead.map(LeadId::get));
    list.is("vehicle", vehicle.map(VehicleId::get));
    list.is("staff", staff.map(StaffId::get));
    list.is("from_number", from.as_ref().map(Phone::as_str));
    list.is("to_number", to.as_ref().map(Phone::as_str));
    list.in_either(["from_number", "to_number"], number.as_ref().map(Phone::as_str));
    list.is("provider", provider.as_deref());
    list.is("external_id", external_id.as_deref());
    list.is("tracking", tracking.as_deref());
    list.during("started", *started);
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

/// The error of a call whose name another transaction has just given to one: the work is done again, and finds that call.
fn taken(error: StoreError) -> StoreError {
    match error {
        StoreError::Duplicate(_) => StoreError::Conflict,
        error => error,
    }
}

#[async_trait]
impl<M: Mode> CallReader for Session<M> {
    async fn call(&mut self, business: BusinessId, id: CallId) -> StoreResult<Option<Call>> {
        let query = calls::table.find((business.get(), id.get()));
        let row: Option<CallRow> = query
            .select(CallRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(Call::try_from).transpose()
    }

    async fn calls(
        &mut self,
        business: BusinessId,
        filter: &CallFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<Call>> {
        // Calls are still linked to a contact while that is erased.
        if contacts::is_being_erased(self.conn().await?, business, filter.contact).await? {
            return Ok(Page::of(Vec::new(), request, request.offset().map(|_| 0), |_| 0));
        }
        let selection = selection(business, filter);
        let columns = CallRow::as_select();
        let page = list::page(self, &selection, request, columns, |row: &CallRow| row.id).await?;
        page.try_map(Call::try_from)
    }
}

/// The number of a contact's calls that are read at once.
const OF_CONTACT_AT_ONCE: i64 = 25;

#[async_trait]
impl ContactCallReader for Session<Read> {
    async fn contact_calls(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: CallId,
    ) -> StoreResult<Vec<Call>> {
        let rows: Vec<CallRow> = calls::table
            .filter(calls::business_id.eq(business.get()))
            .filter(calls::contact.assume_not_null().eq(contact.get()))
            .filter(calls::id.gt(after.get()))
            // Not the id alone: otherwise the planner might read all calls in its order.
            .order((calls::contact, calls::id))
            .limit(OF_CONTACT_AT_ONCE)
            .select(CallRow::as_select())
            .load(self.conn().await?)
            .await?;
        rows.into_iter().map(Call::try_from).collect()
    }
}

#[async_trait]
impl CallStore for Session<Write> {
    async fn lock_call(&mut self, business: BusinessId, id: CallId) -> StoreResult<Option<Call>> {
        let query = calls::table.find((business.get(), id.get()));
        let row: Option<CallRow> = for_no_key_update(query.select(CallRow::as_select()))
            .get_optional(self.conn().await?)
            .await?;
        row.map(Call::try_from).transpose()
    }

    async fn call_reported_as(
        &mut self,
        business: BusinessId,
        provider: &str,
        external_id: &str,
    ) -> StoreResult<Option<CallId>> {
        let known: Option<i64> = calls::table
            .filter(calls::business_id.eq(business.get()))
            .filter(calls::external_id.eq(external_id))
            .filter(calls::provider.eq(provider))
            .select(calls::id)
            .get_optional(self.conn().await?)
            .await?;
        Ok(known.map(CallId::new))
    }

    async fn insert_call(&mut self, business: BusinessId, content: CallContent, at: Timestamp) -> StoreResult<Call> {
        self.counter(business, KIND).await?.write(1);
        // A lead that the call has made comes first.
        let conn = self.flushed_conn().await?;
        let mut call = Call {
            id: CallId::new(0),
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        };
        let id = diesel::insert_into(calls::table)
            .values((
                calls::business_id.eq(business.get()),
                calls::created.eq(at.epoch_seconds()),
                CallValues::new(&call)?,
            ))
            .returning(calls::id)
            .get_result(conn)
            .await
            .map_err(taken)?;
        call.id = CallId::new(id);
        Ok(call)
    }

    async fn save_call(&mut self, business: BusinessId, call: &Call) -> StoreResult<()> {
        self.counter(business, KIND).await?.write(0);
        let conn = self.conn().await?;
        diesel::update(calls::table.find((business.get(), call.id.get())))
            .set(CallValues::new(call)?)
            .prepared()
            .execute(conn)
            .await
            .map(drop)
            .map_err(taken)
    }

    async fn delete_call(&mut self, business: BusinessId, id: CallId) -> StoreResult<()> {
        let conn = self.conn().await?;
        let gone = diesel::delete(calls::table.find((business.get(), id.get())))
            .execute(conn)
            .await?;
        if gone > 0 {
            self.counter(business, KIND).await?.write(-1);
        }
        Ok(())
    }

    async fn contact_name(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Option<String>> {
        let content = contacts::content::<Unlocked>(self.conn().await?, business, contact).await?;
        Ok(content.map(|content| content.name))
    }

    async fn lead_of_party(
        &mut self,
        business: BusinessId,
        contact: Option<ContactId>,
        number: &str,
        since: Timestamp,
    ) -> StoreResult<Option<LeadId>> {
        // One after the other, so that each has its index and stops at the newest lead.
        macro_rules! newest {
            ($column:ident, $value:expr) => {
                leads::table
                    .filter(leads::business_id.eq(business.get()))
                    .filter(leads::$column.assume_not_null().eq($value))
                    .filter(leads::created.ge(since.epoch_seconds()))
                    .filter(leads::status.ne(i32::from(LeadStatus::Closed.code())))
                    .filter(leads::status.ne(i32::from(LeadStatus::Junk.code())))
                    .order((leads::$column.desc(), leads::id.desc()))
                    .limit(1)
                    .select(leads::id)
                    .get_optional::<i64>(self.flushed_conn().await?)
                    .await?
            };
        }
        let mut newest: Option<i64> = None;
        if let Some(contact) = contact {
            newest = newest.max(newest!(contact, contact.get()));
        }
        if !number.is_empty() {
            newest = newest.max(newest!(phone, number));
            newest = newest.max(newest!(mobile, number));
        }
        Ok(newest.map(LeadId::new))
    }

    async fn call_purge_quota(
        &mut self,
        business: BusinessId,
        before: Timestamp,
        since: Timestamp,
    ) -> StoreResult<u32> {
        let own = || calls::table.filter(calls::business_id.eq(business.get()));
        let older = own().filter(calls::started.lt(since.epoch_seconds()));
        let older: bool = diesel::select(exists(older))
            .may_scan(true)
            .get_result(self.conn().await?)
            .await?;
        let recent: i64 = own()
            .filter(calls::started.ge(since.epoch_seconds()))
            .filter(calls::started.lt(before.epoch_seconds()))
            .select(count_star())
            .may_scan(true)
            .get_result(self.conn().await?)
            .await?;
        let all: i64 = if older {
            own()
                .select(count_star())
                .may_scan(true)
                .get_result(self.conn().await?)
                .await?
        } else {
            0
        };
        let tenth = all / 10 + i64::from(all % 10 > 0);
        Ok(u32::try_from(recent.max(tenth)).unwrap_or(u32::MAX))
    }

    async fn purge_calls(&mut self, business: BusinessId, before: Timestamp, limit: u32) -> StoreResult<u32> {
        let old = calls::table
            .filter(calls::business_id.eq(business.get()))
            .filter(calls::started.lt(before.epoch_seconds()))
            // By the list's index. An index of the starts would tempt SQLite to sort whole lists.
            .order(calls::id)
            .limit(limit.into())
            .select(calls::id)
            .may_scan(true);
        let old: Vec<i64> = old.load(self.conn().await?).await?;
        let gone = calls::table
            .filter(calls::business_id.eq(business.get()))
            .filter(calls::id.eq_any(old));
        let gone = diesel::delete(gone).execute(self.conn().await?).await?;
        if gone > 0 {
            let gone = i64::try_from(gone).unwrap_or(i64::MAX);
            self.counter(business, KIND).await?.write(-gone);
        }
        Ok(u32::try_from(gone).unwrap_or(u32::MAX))
    }
}
