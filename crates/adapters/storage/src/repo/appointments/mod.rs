//! Appointments, the lists of leads that have them, and the feeds that show them.

mod feeds;
pub(super) mod people;

use std::collections::BTreeSet;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error as QueryError};
use forecourt_accounts::Business;
use forecourt_appointments::{
    AgendaFilter, AgendaPlace, Appointment, AppointmentContent, AppointmentError, AppointmentFeed, AppointmentFeedId,
    AppointmentFilter, AppointmentReader, AppointmentStatus, AppointmentStore, ContactAppointmentReader, DueReminder,
    NewFeed, Occupied, Visitor, tell_of_lost_vehicle,
};
use forecourt_contacts::ContactDraft;
use forecourt_kernel::{
    AppointmentId, BusinessId, ContactId, LeadId, Page, PageRequest, Position, SiteId, StaffId, StoreError,
    StoreResult, Timestamp, VehicleId, Version,
};
use forecourt_leads::{LeadReader, StockVehicle, VehicleChoice};
use forecourt_reference::LeadChannel;
use forecourt_vehicles::Vehicle;

use super::owned::OwnedTable;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Read, Session, Write};
use super::{Conn, Db, contacts, list};
use crate::error::{other, store_error};
use crate::schema::{businesses, leads};
use crate::statement::{
    AnyStatement, Connection as _, ForKeyShare, MayScan as _, Prepare as _, RunQueryDsl, for_no_key_update, locking,
};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("lead_appointments", "lead_id, appointment_id", 500),
    OwnedTable::new("appointment_staff", "staff, appointment_id", 500),
    OwnedTable::new("appointments", "id", 100),
    OwnedTable::new("appointment_feeds", "id", 100),
];

const KIND: &str = "appointments";

const APPOINTMENTS: RecordKind = RecordKind {
    table: "appointments",
    rows: "appointments",
    texts: None,
};

/// No appointment is longer than a day, so those that overlap a moment begin at most this long before it.
const MAX_SECONDS: i64 = 86_400;

diesel::table! {
    appointments (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        version -> BigInt,
        created -> BigInt,
        updated -> BigInt,
        site -> BigInt,
        kind -> Text,
        calendar -> Text,
        status -> Text,
        source -> Text,
        starts -> BigInt,
        ends -> BigInt,
        contact -> Nullable<BigInt>,
        lead -> Nullable<BigInt>,
        vehicle -> Nullable<BigInt>,
        deal -> Nullable<BigInt>,
        staff -> Text,
        reminded -> Nullable<BigInt>,
        remind_at -> Nullable<BigInt>,
        document -> Text,
    }
}

diesel::table! {
    appointment_staff (business_id, staff, appointment_id) {
        business_id -> BigInt,
        staff -> BigInt,
        appointment_id -> BigInt,
    }
}

diesel::table! {
    lead_appointments (business_id, lead_id, appointment_id) {
        business_id -> BigInt,
        lead_id -> BigInt,
        appointment_id -> BigInt,
        created -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(appointments, appointment_staff);
diesel::allow_tables_to_appear_in_same_query!(appointments, lead_appointments);
diesel::allow_tables_to_appear_in_same_query!(appointments, businesses);

#[derive(Queryable, Selectable)]
#[diesel(table_name = appointments, check_for_backend(Db))]
struct AppointmentRow {
    id: i64,
    version: i64,
    created: i64,
    updated: i64,
    reminded: Option<i64>,
    remind_at: Option<i64>,
    document: String,
}

/// The columns of an appointment that conflicts depend on.
#[derive(Queryable, Selectable)]
#[diesel(table_name = appointments, check_for_backend(Db))]
struct OccupiedRow {
    id: i64,
    calendar: String,
    staff: String,
    vehicle: Option<i64>,
    starts: i64,
    ends: i64,
}

/// The columns of an appointment that are written, first and at each change: its document, and beside it the columns that lists
/// filter by.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = appointments, check_for_backend(Db), treat_none_as_null = true, treat_none_as_default_value = false)]
struct AppointmentValues {
    version: i64,
    updated: i64,
    site: i64,
    kind: String,
    calendar: String,
    status: &'static str,
    source: &'static str,
    starts: i64,
    ends: i64,
    contact: Option<i64>,
    lead: Option<i64>,
    vehicle: Option<i64>,
    deal: Option<i64>,
    staff: String,
    reminded: Option<i64>,
    remind_at: Option<i64>,
    document: String,
}

impl AppointmentValues {
    fn new(appointment: &Appointment) -> StoreResult<Self> {
        let content = &appointment.content;
        Ok(Self {
            version: appointment.version.number(),
            updated: appointment.updated.epoch_seconds(),
            site: content.site.get(),
            kind: content.kind.clone(),
            calendar: content.calendar.clone(),
            status: content.status.name(),
            source: content.source.id(),
            starts: content.start.epoch_seconds(),
            ends: content.end.epoch_seconds(),
            contact: content.contact.map(ContactId::get),
            lead: content.lead.map(LeadId::get),
            vehicle: content.vehicle.map(VehicleId::get),
            deal: content.deal,
            staff: serde_json::to_string(&content.staff).map_err(other)?,
            reminded: appointment.reminded.map(Timestamp::epoch_seconds),
            remind_at: appointment.remind_at.map(Timestamp::epoch_seconds),
            document: serde_json::to_string(content).map_err(other)?,
        })
    }
}

impl TryFrom<AppointmentRow> for Appointment {
    type Error = StoreError;

    fn try_from(row: AppointmentRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("appointment {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: AppointmentId::new(row.id),
            version: Version::new(row.version),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            reminded: row.reminded.map(Timestamp::from_epoch_seconds),
            remind_at: row.remind_at.map(Timestamp::from_epoch_seconds),
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
        })
    }
}

impl TryFrom<OccupiedRow> for Occupied {
    type Error = StoreError;

    fn try_from(row: OccupiedRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("appointment {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: AppointmentId::new(row.id),
            calendar: row.calendar,
            staff: serde_json::from_str(&row.staff).map_err(unreadable)?,
            vehicle: row.vehicle.map(VehicleId::new),
            start: Timestamp::from_epoch_seconds(row.starts),
            end: Timestamp::from_epoch_seconds(row.ends),
        })
    }
}

/// Selects the appointments that pass `filter`.
fn selection(business: BusinessId, filter: &AppointmentFilter) -> Selection {
    let AppointmentFilter {
        site,
        kind,
        calendar,
        status,
        contact,
        lead,
        vehicle,
        deal,
        staff,
        source,
        start,
        end,
        created,
        updated,
    } = filter;
    let mut list = Selection::all(APPOINTMENTS, business);
    list.is("site", site.map(SiteId::get));
    list.is("kind", kind.as_deref());
    list.is("calendar", calendar.as_deref());
    list.is("status", status.map(AppointmentStatus::name));
    list.is("contact", contact.map(ContactId::get));
    list.is("lead", lead.map(LeadId::get));
    list.is("vehicle", vehicle.map(VehicleId::get));
    list.is("deal", *deal);
    list.tagged("appointment_staff", "appointment_id", "staff", staff.map(StaffId::get));
    list.is("source", source.map(LeadChannel::id));
    list.during("starts", *start);
    list.during("ends", *end);
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

/// Returns the data of a contact that appointments show.
fn visitor(contact: ContactId, draft: ContactDraft) -> Visitor {
    let phone = if draft.mobile.is_empty() {
        draft.telephone
    } else {
        draft.mobile
    };
    Visitor {
        contact,
        name: draft.name,
        email: draft.email,
        phone,
    }
}

/// Returns the appointments of rows as they read, with the present data of their contacts.
async fn visited(conn: &mut Conn, business: BusinessId, rows: Vec<AppointmentRow>) -> StoreResult<Vec<Appointment>> {
    let read: Vec<Appointment> = rows
        .into_iter()
        .map(Appointment::try_from)
        .collect::<StoreResult<_>>()?;
    let linked: BTreeSet<ContactId> = read
        .iter()
        .filter_map(|appointment| appointment.content.contact)
        .collect();
    let mut known = Vec::new();
    if !linked.is_empty() {
        let contents = contacts::contents(conn, business, &linked).await?.into_iter();
        known.extend(contents.map(|(id, draft)| visitor(id, draft)));
    }
    let of = |contact: Option<ContactId>| known.iter().find(|visitor| Some(visitor.contact) == contact);
    let each = |appointment: Appointment| {
        let visitor = of(appointment.content.contact);
        appointment.visited_by(visitor)
    };
    Ok(read.into_iter().map(each).collect())
}

/// Returns the appointment of a row as it reads.
async fn one(conn: &mut Conn, business: BusinessId, row: Option<AppointmentRow>) -> StoreResult<Option<Appointment>> {
    let mut read = visited(conn, business, row.into_iter().collect()).await?;
    Ok(read.pop())
}

/// Makes the query of the chosen appointments.
macro_rules! chosen {
    ($business:expr, $filter:expr, $columns:expr) => {{
        let AgendaFilter {
            from,
            to,
            calendar,
            staff,
            site,
            vehicle,
            with_cancelled,
        } = $filter;
        let mut query = appointments::table
            .filter(appointments::business_id.eq($business.get()))
            .filter(appointments::starts.gt(from.epoch_seconds().saturating_sub(MAX_SECONDS)))
            .filter(appointments::starts.lt(to.epoch_seconds()))
            .filter(appointments::ends.gt(from.epoch_seconds()))
            .select($columns)
            .into_boxed::<Db>();
        if let Some(calendar) = calendar {
            query = query.filter(appointments::calendar.eq(calendar));
        }
        if let Some(staff) = staff {
            let theirs = appointment_staff::table
                .filter(appointment_staff::business_id.eq($business.get()))
                .filter(appointment_staff::staff.eq(staff.get()))
                .select(appointment_staff::appointment_id);
            query = query.filter(appointments::id.eq_any(theirs));
        }
        if let Some(site) = site {
            query = query.filter(appointments::site.eq(site.get()));
        }
        if let Some(vehicle) = vehicle {
            query = query.filter(appointments::vehicle.eq(vehicle.get()));
        }
        if !with_cancelled {
            query = query.filter(appointments::status.ne(AppointmentStatus::Cancelled.name()));
        }
        query
    }};
}

#[async_trait]
impl<M: Mode> AppointmentReader for Session<M> {
    async fn appointment(&mut self, business: BusinessId, id: AppointmentId) -> StoreResult<Option<Appointment>> {
        let query = appointments::table.find((business.get(), id.get()));
        let row: Option<AppointmentRow> = query
            .select(AppointmentRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        one(self.conn().await?, business, row).await
    }

    async fn appointments(
        &mut self,
        business: BusinessId,
        filter: &AppointmentFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<Appointment>> {
        // Appointments are still linked to a contact while that is erased.
        if contacts::is_being_erased(self.conn().await?, business, filter.contact).await? {
            return Ok(Page::of(Vec::new(), request, request.offset().map(|_| 0), |_| 0));
        }
        let selection = selection(business, filter);
        let columns = AppointmentRow::as_select();
        let page = list::page(self, &selection, request, columns, |row: &AppointmentRow| row.id).await?;
        let Page { items, next, total } = page;
        let items = visited(self.conn().await?, business, items).await?;
        Ok(Page { items, next, total })
    }

    async fn agenda(
        &mut self,
        business: BusinessId,
        filter: &AgendaFilter,
        after: Option<AgendaPlace>,
        limit: u32,
    ) -> StoreResult<Vec<Appointment>> {
        let mut query = chosen!(business, filter, AppointmentRow::as_select());
        if let Some((start, id)) = after {
            let start = start.epoch_seconds();
            // Both, so that the index is entered at the start.
            query = query
                .filter(appointments::starts.ge(start))
                .filter(appointments::starts.gt(start).or(appointments::id.gt(id.get())));
        }
        let rows: Vec<AppointmentRow> = query
            .order((appointments::starts, appointments::id))
            .limit(limit.into())
            .may_scan(true)
            .load(self.conn().await?)
            .await?;
        visited(self.conn().await?, business, rows).await
    }

    async fn count_agenda(&mut self, business: BusinessId, filter: &AgendaFilter, limit: u32) -> StoreResult<u32> {
        let ids: Vec<i64> = chosen!(business, filter, appointments::id)
            .limit(limit.into())
            .may_scan(true)
            .load(self.conn().await?)
            .await?;
        u32::try_from(ids.len()).map_err(other)
    }

    async fn occupied(&mut self, business: BusinessId, from: Timestamp, to: Timestamp) -> StoreResult<Vec<Occupied>> {
        let taking = AppointmentStatus::ALL
            .into_iter()
            .filter(|status| status.takes_up())
            .map(AppointmentStatus::name);
        let taking: Vec<&str> = taking.collect();
        let rows: Vec<OccupiedRow> = appointments::table
            .filter(appointments::business_id.eq(business.get()))
            .filter(appointments::starts.gt(from.epoch_seconds().saturating_sub(MAX_SECONDS)))
            .filter(appointments::starts.lt(to.epoch_seconds()))
            .filter(appointments::ends.gt(from.epoch_seconds()))
            .filter(appointments::status.eq_any(taking))
            .order((appointments::starts, appointments::id))
            .select(OccupiedRow::as_select())
            .may_scan(true)
            .load(self.conn().await?)
            .await?;
        rows.into_iter().map(Occupied::try_from).collect()
    }

    async fn visitor(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Option<Visitor>> {
        let content = contacts::content::<M::KeyShare>(self.conn().await?, business, contact).await?;
        Ok(content.map(|draft| visitor(contact, draft)))
    }

    async fn contact_of_lead(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<Option<Option<ContactId>>> {
        let query = leads::table.find((business.get(), lead.get())).select(leads::contact);
        let contact: Option<Option<i64>> = query.get_optional(self.flushed_conn().await?).await?;
        let Some(contact) = contact else {
            return Ok(None);
        };
        // A lead is still linked to a contact while that is erased.
        match contact.map(ContactId::new) {
            Some(contact) if contacts::exists::<M::KeyShare>(self.conn().await?, business, contact).await? => {
                Ok(Some(Some(contact)))
            }
            _ => Ok(Some(None)),
        }
    }

    async fn is_deal_known(&mut self, business: BusinessId, deal: i64) -> StoreResult<bool> {
        super::deals::exists(self, business, forecourt_billing::DealId::new(deal)).await
    }

    async fn vehicle_title(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Option<String>> {
        let choice = VehicleChoice::Id(vehicle);
        let found = LeadReader::stock_vehicle(self, business, &choice).await?;
        Ok(found.map(|vehicle| vehicle.title()))
    }

    async fn lead_appointments(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        request: &PageRequest,
    ) -> StoreResult<Option<Page<Appointment>>> {
        let known = leads::table.find((business.get(), lead.get())).select(leads::id);
        let known: Option<i64> = known.get_optional(self.flushed_conn().await?).await?;
        if known.is_none() {
            return Ok(None);
        }
        let all = || {
            lead_appointments::table
                .filter(lead_appointments::business_id.eq(business.get()))
                .filter(lead_appointments::lead_id.eq(lead.get()))
        };
        let total = match request.position {
            Position::Number(_) => Some(all().count().get_result(self.conn().await?).await?),
            Position::After(_) => None,
        };
        let same = appointments::business_id
            .eq(lead_appointments::business_id)
            .and(appointments::id.eq(lead_appointments::appointment_id));
        let mut query = all().inner_join(appointments::table.on(same)).into_boxed::<Db>();
        if let Position::After(cursor) = &request.position {
            query = query.filter(lead_appointments::appointment_id.lt(cursor.id()));
        }
        let rows: Vec<AppointmentRow> = query
            .order((
                lead_appointments::lead_id.desc(),
                lead_appointments::appointment_id.desc(),
            ))
            .limit(request.wanted())
            .offset(request.offset().unwrap_or_default())
            .select(AppointmentRow::as_select())
            .load(self.conn().await?)
            .await?;
        let Page { items, next, total } = Page::of(rows, request, total, |row| row.id);
        let items = visited(self.conn().await?, business, items).await?;
        Ok(Some(Page { items, next, total }))
    }

    async fn appointment_feeds(
        &mut self,
        business: BusinessId,
        request: &PageRequest,
    ) -> StoreResult<Page<AppointmentFeed>> {
        feeds::page(self.conn().await?, business, request).await
    }

    async fn feed_of_token(&mut self, digest: &str) -> StoreResult<Option<(BusinessId, AppointmentFeed)>> {
        feeds::of_token(self.conn().await?, digest).await
    }
}

/// The number of a contact's appointments that are read at once.
const OF_CONTACT_AT_ONCE: i64 = 25;

#[async_trait]
impl ContactAppointmentReader for Session<Read> {
    async fn contact_appointments(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: AppointmentId,
    ) -> StoreResult<Vec<Appointment>> {
        let rows: Vec<AppointmentRow> = appointments::table
            .filter(appointments::business_id.eq(business.get()))
            .filter(appointments::contact.assume_not_null().eq(contact.get()))
            .filter(appointments::id.gt(after.get()))
            // Not the id alone: otherwise the planner might read all appointments in its order.
            .order((appointments::contact, appointments::id))
            .limit(OF_CONTACT_AT_ONCE)
            .select(AppointmentRow::as_select())
            .load(self.conn().await?)
            .await?;
        visited(self.conn().await?, business, rows).await
    }
}

impl Session<Write> {
    /// Notes the staff of an appointment, for the filter of lists.
    async fn note_staff(&mut self, business: BusinessId, id: AppointmentId, staff: &[StaffId]) -> StoreResult<()> {
        for staff in staff {
            diesel::insert_into(appointment_staff::table)
                .values((
                    appointment_staff::business_id.eq(business.get()),
                    appointment_staff::staff.eq(staff.get()),
                    appointment_staff::appointment_id.eq(id.get()),
                ))
                .on_conflict_do_nothing()
                .execute(self.conn().await?)
                .await?;
        }
        Ok(())
    }
}

/// Tells the business of the appointments of a vehicle that was sold or deleted.
pub(super) async fn vehicle_lost(
    session: &mut Session<Write>,
    business: &Business,
    vehicle: &Vehicle,
    at: Timestamp,
) -> StoreResult<()> {
    let content = &vehicle.content;
    let described = &content.data.vehicle;
    let named = StockVehicle {
        id: vehicle.id,
        tag: vehicle.tag.clone().into(),
        registration: content.registration.as_ref().map(ToString::to_string),
        kind: content.kind,
        make: described.make.clone(),
        model: described.model.clone(),
        derivative: described.derivative.clone(),
        url: String::new(),
    };
    let buyer = content.sale.as_ref().and_then(|sale| sale.customer);
    let told = tell_of_lost_vehicle(session, at, business, vehicle.id, &named.title(), buyer).await;
    told.map_err(|error| match error {
        AppointmentError::Store(error) => error,
        error => other(error),
    })
}

#[async_trait]
impl AppointmentStore for Session<Write> {
    async fn lock_appointment(&mut self, business: BusinessId, id: AppointmentId) -> StoreResult<Option<Appointment>> {
        let query = appointments::table.find((business.get(), id.get()));
        let row: Option<AppointmentRow> = for_no_key_update(query.select(AppointmentRow::as_select()))
            .get_optional(self.conn().await?)
            .await?;
        one(self.conn().await?, business, row).await
    }

    async fn lock_calendars(&mut self, business: BusinessId) -> StoreResult<()> {
        self.lock_counters(business).await.map(drop)
    }

    async fn insert_appointment(
        &mut self,
        business: BusinessId,
        content: AppointmentContent,
        remind_at: Option<Timestamp>,
        at: Timestamp,
    ) -> StoreResult<Appointment> {
        self.counter(business, KIND).await?.write(1);
        let conn = self.conn().await?;
        let mut appointment = Appointment {
            id: AppointmentId::new(0),
            version: Version::FIRST,
            created: at,
            updated: at,
            reminded: None,
            remind_at,
            content,
        };
        let id = diesel::insert_into(appointments::table)
            .values((
                appointments::business_id.eq(business.get()),
                appointments::created.eq(at.epoch_seconds()),
                AppointmentValues::new(&appointment)?,
            ))
            .returning(appointments::id)
            .get_result(conn)
            .await?;
        appointment.id = AppointmentId::new(id);
        self.note_staff(business, appointment.id, &appointment.content.staff)
            .await?;
        Ok(appointment)
    }

    async fn save_appointment(&mut self, business: BusinessId, appointment: &Appointment) -> StoreResult<()> {
        self.counter(business, KIND).await?.write(0);
        let id = appointment.id;
        diesel::update(appointments::table.find((business.get(), id.get())))
            .set(AppointmentValues::new(appointment)?)
            .prepared()
            .execute(self.conn().await?)
            .await?;
        let noted = appointment_staff::table
            .filter(appointment_staff::business_id.eq(business.get()))
            .filter(appointment_staff::appointment_id.eq(id.get()));
        diesel::delete(noted).execute(self.conn().await?).await?;
        self.note_staff(business, id, &appointment.content.staff).await
    }

    async fn lead_version(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<Option<Version>> {
        let query = leads::table.find((business.get(), lead.get())).select(leads::version);
        let version: Option<i64> = locking::<ForKeyShare, _>(query)
            .get_optional(self.flushed_conn().await?)
            .await?;
        Ok(version.map(Version::new))
    }

    async fn add_lead_appointment(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        appointment: AppointmentId,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let row = (
            lead_appointments::business_id.eq(business.get()),
            lead_appointments::lead_id.eq(lead.get()),
            lead_appointments::appointment_id.eq(appointment.get()),
            lead_appointments::created.eq(at.epoch_seconds()),
        );
        let insert = diesel::insert_into(lead_appointments::table)
            .values(row)
            .on_conflict_do_nothing();
        let conn = self.flushed_conn().await?;
        match conn.execute_any(AnyStatement::new(insert)).await {
            Ok(rows) => Ok(rows > 0),
            // Deleted since it was looked up: the retry reports that.
            Err(QueryError::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _)) => Err(StoreError::Conflict),
            Err(error) => Err(store_error(error)),
        }
    }

    async fn remove_lead_appointment(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        appointment: AppointmentId,
    ) -> StoreResult<bool> {
        let row = lead_appointments::table.find((business.get(), lead.get(), appointment.get()));
        let deleted = diesel::delete(row).execute(self.conn().await?).await?;
        Ok(deleted > 0)
    }

    async fn count_feeds(&mut self, business: BusinessId) -> StoreResult<usize> {
        self.lock_counters(business).await?;
        feeds::count(self.conn().await?, business).await
    }

    async fn insert_feed(
        &mut self,
        business: BusinessId,
        feed: NewFeed,
        digest: &str,
        at: Timestamp,
    ) -> StoreResult<AppointmentFeed> {
        feeds::insert(self.conn().await?, business, feed, digest, at).await
    }

    async fn delete_feed(&mut self, business: BusinessId, id: AppointmentFeedId) -> StoreResult<bool> {
        feeds::delete(self.conn().await?, business, id).await
    }

    async fn due_reminders(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReminder>> {
        let due: Vec<(i64, i64)> = appointments::table
            .filter(appointments::remind_at.assume_not_null().le(now.epoch_seconds()))
            .filter(diesel::dsl::not(diesel::dsl::exists(
                businesses::table
                    .filter(businesses::id.eq(appointments::business_id))
                    .filter(businesses::deleted.is_not_null()),
            )))
            .order(appointments::remind_at)
            .limit(limit.into())
            .select((appointments::business_id, appointments::id))
            .load(self.flushed_conn().await?)
            .await?;
        let each = |(business, appointment)| DueReminder {
            business: BusinessId::new(business),
            appointment: AppointmentId::new(appointment),
        };
        Ok(due.into_iter().map(each).collect())
    }
}
