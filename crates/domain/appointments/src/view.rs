//! The representation of an appointment in the API and in webhooks (areas §10.9).

use forecourt_kernel::{AppointmentId, ContactId, LeadId, SiteId, StaffId, Timestamp, VehicleId, Version, Viewed};
use forecourt_reference::LeadChannel;
use serde::Serialize;

use crate::{Appointment, AppointmentContent, AppointmentStatus};

/// An appointment in one of its views.
pub type AppointmentView<'a> = Viewed<SimpleAppointment<'a>, FullAppointment<'a>>;

/// An appointment in the simple view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimpleAppointment))]
pub struct SimpleAppointment<'a> {
    /// Appointment id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: AppointmentId,
    /// Site of the business; 0 means none.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
    /// The booking type's id.
    #[serde(rename = "type")]
    kind: &'a str,
    /// The calendar of the type; empty if it has none.
    calendar: &'a str,
    /// Its status.
    status: AppointmentStatus,
    /// Its title; empty if it has none.
    title: &'a str,
    /// Id of the contact who comes.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    contact: Option<ContactId>,
    /// Id of the lead that it belongs to.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    lead: Option<LeadId>,
    /// Id of the vehicle that it concerns.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    vehicle: Option<VehicleId>,
    /// Ids of the staff users who take part.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<i64>))]
    staff: &'a [StaffId],
    /// Its beginning, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    start: Timestamp,
    /// Its end, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    end: Timestamp,
    /// Time of its creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of its last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
}

/// An appointment in the full view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Appointment))]
pub struct FullAppointment<'a> {
    #[serde(flatten)]
    simple: SimpleAppointment<'a>,
    /// Id of the deal that it belongs to.
    #[cfg_attr(feature = "openapi", schema(required))]
    deal: Option<i64>,
    /// Its length, in whole minutes.
    duration_minutes: i64,
    /// The place; empty if none is given.
    location: &'a str,
    /// The visitor's name: with a contact, that of the contact.
    name: &'a str,
    /// The visitor's email address: with a contact, that of the contact.
    email: &'a str,
    /// The visitor's telephone number: with a contact, its mobile, or else its telephone number.
    phone: &'a str,
    /// Notes.
    notes: &'a str,
    /// The channel by which it was booked.
    source: LeadChannel,
    /// The minutes before the start at which the visitor is reminded; null for no reminder.
    #[cfg_attr(feature = "openapi", schema(required))]
    reminder_minutes: Option<u32>,
    /// The time at which the reminder of this start went, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    reminded: Option<Timestamp>,
    /// The reason why it was cancelled; empty if it was not, or without one.
    cancel_reason: &'a str,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
}

impl<'a> From<&'a Appointment> for SimpleAppointment<'a> {
    fn from(appointment: &'a Appointment) -> Self {
        let Appointment {
            id,
            version: _,
            created,
            updated,
            reminded: _,
            remind_at: _,
            content,
        } = appointment;
        Self {
            id: *id,
            site: content.site,
            kind: &content.kind,
            calendar: &content.calendar,
            status: content.status,
            title: &content.title,
            contact: content.contact,
            lead: content.lead,
            vehicle: content.vehicle,
            staff: &content.staff,
            start: content.start,
            end: content.end,
            created: *created,
            updated: *updated,
        }
    }
}

impl<'a> From<&'a Appointment> for FullAppointment<'a> {
    fn from(appointment: &'a Appointment) -> Self {
        let AppointmentContent {
            site: _,
            kind: _,
            calendar: _,
            status: _,
            title: _,
            contact: _,
            lead: _,
            vehicle: _,
            deal,
            staff: _,
            start: _,
            end: _,
            location,
            name,
            email,
            phone,
            notes,
            source,
            reminder_minutes,
            cancel_reason,
        } = &appointment.content;
        Self {
            simple: appointment.into(),
            deal: *deal,
            duration_minutes: appointment.content.duration_minutes(),
            location,
            name,
            email,
            phone,
            notes,
            source: *source,
            reminder_minutes: *reminder_minutes,
            reminded: appointment.reminded,
            cancel_reason,
            version: appointment.version,
        }
    }
}

/// An example of an appointment in an event, for the documentation.
#[cfg(feature = "openapi")]
pub fn example_appointment() -> serde_json::Value {
    serde_json::json!({
        "id": 512,
        "site": 0,
        "type": "test_drive",
        "calendar": "sales",
        "status": "booked",
        "title": "",
        "contact": 77,
        "lead": null,
        "vehicle": 1042,
        "staff": [2],
        "start": 1_767_261_600,
        "end": 1_767_263_400,
        "created": 1_767_225_600,
        "updated": 1_767_225_600,
        "deal": null,
        "duration_minutes": 30,
        "location": "Showroom",
        "name": "Ann Lee",
        "email": "ann@example.com",
        "phone": "+447700900123",
        "notes": "Has driven the petrol model.",
        "source": "api",
        "reminder_minutes": 1440,
        "reminded": null,
        "cancel_reason": "",
        "version": 1
    })
}
