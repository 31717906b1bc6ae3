//! The ports for the storage of appointments.

use async_trait::async_trait;
use forecourt_kernel::{
    AppointmentId, BusinessId, ContactId, EventLog, LeadId, MailOutbox, Page, PageRequest, Range, SiteId, StaffId,
    StoreResult, Timestamp, VehicleId, Version,
};
use forecourt_reference::LeadChannel;

use crate::{
    Appointment, AppointmentContent, AppointmentFeed, AppointmentFeedId, AppointmentStatus, NewFeed, Occupied, Visitor,
};

/// A filter for lists of appointments. A field that is `None` does not narrow the list.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct AppointmentFilter {
    /// Appointments filed under this site.
    pub site: Option<SiteId>,
    /// Appointments of this booking type.
    pub kind: Option<String>,
    /// Appointments in this calendar.
    pub calendar: Option<String>,
    /// Appointments in this status.
    pub status: Option<AppointmentStatus>,
    /// Appointments of this contact.
    pub contact: Option<ContactId>,
    /// Appointments that belong to this lead.
    pub lead: Option<LeadId>,
    /// Appointments that concern this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Appointments that belong to this deal.
    pub deal: Option<i64>,
    /// Appointments in which this staff user takes part.
    pub staff: Option<StaffId>,
    /// Appointments booked by this channel.
    pub source: Option<LeadChannel>,
    /// Appointments that begin in this range.
    pub start: Option<Range<Timestamp>>,
    /// Appointments that end in this range.
    pub end: Option<Range<Timestamp>>,
    /// Appointments created in this range.
    pub created: Option<Range<Timestamp>>,
    /// Appointments last changed in this range.
    pub updated: Option<Range<Timestamp>>,
}

impl AppointmentFilter {
    /// Returns `true` if `appointment` passes the filter.
    pub fn matches(&self, appointment: &Appointment) -> bool {
        let Self {
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
        } = self;
        let content = &appointment.content;
        site.is_none_or(|site| site == content.site)
            && kind.as_ref().is_none_or(|kind| *kind == content.kind)
            && calendar.as_ref().is_none_or(|calendar| *calendar == content.calendar)
            && status.is_none_or(|status| status == content.status)
            && contact.is_none_or(|contact| Some(contact) == content.contact)
            && lead.is_none_or(|lead| Some(lead) == content.lead)
            && vehicle.is_none_or(|vehicle| Some(vehicle) == content.vehicle)
            && deal.is_none_or(|deal| Some(deal) == content.deal)
            && staff.is_none_or(|staff| content.staff.contains(&staff))
            && source.is_none_or(|source| source == content.source)
            && start.is_none_or(|range| range.contains(&content.start))
            && end.is_none_or(|range| range.contains(&content.end))
            && created.is_none_or(|range| range.contains(&appointment.created))
            && updated.is_none_or(|range| range.contains(&appointment.updated))
    }
}

/// A choice of the appointments that overlap a span of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgendaFilter {
    /// The first moment of the span.
    pub from: Timestamp,
    /// The moment after its last one.
    pub to: Timestamp,
    /// Appointments in this calendar.
    pub calendar: Option<String>,
    /// Appointments in which this staff user takes part.
    pub staff: Option<StaffId>,
    /// Appointments filed under this site.
    pub site: Option<SiteId>,
    /// Appointments that concern this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Set if cancelled appointments are chosen too.
    pub with_cancelled: bool,
}

impl AgendaFilter {
    /// All appointments that overlap the time between two moments, but cancelled ones.
    pub const fn between(from: Timestamp, to: Timestamp) -> Self {
        Self {
            from,
            to,
            calendar: None,
            staff: None,
            site: None,
            vehicle: None,
            with_cancelled: false,
        }
    }

    /// Returns `true` if `content` is chosen.
    pub fn matches(&self, content: &AppointmentContent) -> bool {
        let Self {
            from,
            to,
            calendar,
            staff,
            site,
            vehicle,
            with_cancelled,
        } = self;
        content.start < *to
            && content.end > *from
            && calendar.as_ref().is_none_or(|calendar| *calendar == content.calendar)
            && staff.is_none_or(|staff| content.staff.contains(&staff))
            && site.is_none_or(|site| site == content.site)
            && vehicle.is_none_or(|vehicle| Some(vehicle) == content.vehicle)
            && (*with_cancelled || content.status != AppointmentStatus::Cancelled)
    }
}

/// The place of an appointment in the order of time.
pub type AgendaPlace = (Timestamp, AppointmentId);

/// An appointment whose reminder is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueReminder {
    /// The business that owns the appointment.
    pub business: BusinessId,
    /// The appointment.
    pub appointment: AppointmentId,
}

/// Reads appointments. They read with the present data of their contacts ([`Appointment::visited_by`]).
#[async_trait]
pub trait AppointmentReader: Send {
    /// Returns the appointment, or `None` if the business has none with that id.
    async fn appointment(&mut self, business: BusinessId, id: AppointmentId) -> StoreResult<Option<Appointment>>;

    /// Returns a page of the business's appointments that pass `filter`, newest first.
    async fn appointments(
        &mut self,
        business: BusinessId,
        filter: &AppointmentFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Appointment>>;

    /// Returns at most `limit` chosen appointments after `after`, by their start, then by their id.
    async fn agenda(
        &mut self,
        business: BusinessId,
        filter: &AgendaFilter,
        after: Option<AgendaPlace>,
        limit: u32,
    ) -> StoreResult<Vec<Appointment>>;

    /// Returns the number of chosen appointments, at most `limit`.
    async fn count_agenda(&mut self, business: BusinessId, filter: &AgendaFilter, limit: u32) -> StoreResult<u32>;

    /// Returns the appointments that take up time between two moments.
    async fn occupied(&mut self, business: BusinessId, from: Timestamp, to: Timestamp) -> StoreResult<Vec<Occupied>>;

    /// Returns the data of a contact, or `None` if the business has none with that id.
    async fn visitor(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Option<Visitor>>;

    /// Returns the contact of a lead, if it has one, or `None` if the business has no lead with that id.
    async fn contact_of_lead(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<Option<Option<ContactId>>>;

    /// Returns `true` if the business has the deal.
    async fn is_deal_known(&mut self, business: BusinessId, deal: i64) -> StoreResult<bool>;

    /// Returns the name and mark by which people know a vehicle, or `None` if the business has no such vehicle or it was deleted.
    async fn vehicle_title(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Option<String>>;

    /// Returns a page of a lead's list of appointments, newest first (id descending), or `None` if the business has no such
    /// lead.
    async fn lead_appointments(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<Appointment>>>;

    /// Returns a page of the business's feeds, newest first (id descending).
    async fn appointment_feeds(
        &mut self,
        business: BusinessId,
        page: &PageRequest,
    ) -> StoreResult<Page<AppointmentFeed>>;

    /// Returns the feed whose token has this digest, with its business.
    async fn feed_of_token(&mut self, digest: &str) -> StoreResult<Option<(BusinessId, AppointmentFeed)>>;
}

/// Reads the appointments of a contact, for its export.
#[async_trait]
pub trait ContactAppointmentReader: Send {
    /// Returns some of the contact's appointments after `after`, in the order of their ids. The list is empty if there are no
    /// more.
    async fn contact_appointments(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: AppointmentId,
    ) -> StoreResult<Vec<Appointment>>;
}

/// Stores appointments. All changes through one value commit together or not at all.
#[async_trait]
pub trait AppointmentStore: AppointmentReader + EventLog + MailOutbox {
    /// Locks the appointment against other writers until the transaction ends, and returns it.
    async fn lock_appointment(&mut self, business: BusinessId, id: AppointmentId) -> StoreResult<Option<Appointment>>;

    /// Makes the transactions that book appointments of the business take turns: what [`AppointmentReader::occupied`] returns
    /// from then on stays true until the transaction ends. It comes after all locks of records.
    async fn lock_calendars(&mut self, business: BusinessId) -> StoreResult<()>;

    /// Stores a new appointment, with the moment of its reminder.
    async fn insert_appointment(
        &mut self,
        business: BusinessId,
        content: AppointmentContent,
        remind_at: Option<Timestamp>,
        at: Timestamp,
    ) -> StoreResult<Appointment>;

    /// Stores a changed appointment.
    async fn save_appointment(&mut self, business: BusinessId, appointment: &Appointment) -> StoreResult<()>;

    /// Returns the version of the lead, which is not deleted before the transaction ends, or `None` if the business has no such
    /// lead.
    async fn lead_version(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<Option<Version>>;

    /// Adds the appointment to the lead's list; the business has both. Returns `false` if it was there.
    async fn add_lead_appointment(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        appointment: AppointmentId,
        at: Timestamp,
    ) -> StoreResult<bool>;

    /// Takes the appointment off the lead's list. Returns `false` if it is not there.
    async fn remove_lead_appointment(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        appointment: AppointmentId,
    ) -> StoreResult<bool>;

    /// Returns the number of the business's feeds. None is added by others before the transaction ends.
    async fn count_feeds(&mut self, business: BusinessId) -> StoreResult<usize>;

    /// Stores a new feed under the digest of its token.
    async fn insert_feed(
        &mut self,
        business: BusinessId,
        feed: NewFeed,
        digest: &str,
        at: Timestamp,
    ) -> StoreResult<AppointmentFeed>;

    /// Deletes a feed. Returns `false` if the business has none with that id.
    async fn delete_feed(&mut self, business: BusinessId, id: AppointmentFeedId) -> StoreResult<bool>;

    /// Returns at most `limit` appointments of any business whose reminder is due at `now`.
    async fn due_reminders(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReminder>>;
}
