//! Appointments as iCalendar (RFC 5545).

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use forecourt_accounts::Business;
use forecourt_kernel::{Timestamp, VehicleId};
use icalendar::{Calendar, Component as _, Event, EventLike as _, EventStatus, Property};

use crate::{Appointment, AppointmentStatus, FeedDetails, appointment::booking_type};

/// The media type.
pub const MEDIA_TYPE: &str = "text/calendar; charset=utf-8";

/// The purpose of a calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// It shows an appointment.
    Publish,
    /// It invites the visitor, or updates the entry.
    Request,
    /// It tells the visitor that the appointment will not take place.
    Cancel,
}

impl Method {
    /// The name in iCalendar.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Publish => "PUBLISH",
            Self::Request => "REQUEST",
            Self::Cancel => "CANCEL",
        }
    }
}

/// Leaves out the characters that iCalendar cannot hold. Line breaks become line feeds, which the writer escapes.
fn text(raw: &str) -> String {
    let lines = raw.replace("\r\n", "\n").replace('\r', "\n");
    lines
        .chars()
        .filter(|character| *character == '\n' || !character.is_control())
        .collect()
}

/// Leaves out what could end the value of a parameter, or begin another line.
fn parameter(raw: &str) -> String {
    raw.chars()
        .filter(|character| !character.is_control() && *character != '"')
        .collect()
}

fn moment(at: Timestamp) -> DateTime<Utc> {
    DateTime::from_timestamp(at.epoch_seconds(), 0).unwrap_or_default()
}

fn calendar(method: Method) -> Calendar {
    let mut calendar = Calendar::empty();
    for (name, value) in [
        ("VERSION", "2.0"),
        ("PRODID", "-//Forecourt//Appointments//EN"),
        ("CALSCALE", "GREGORIAN"),
        ("METHOD", method.name()),
    ] {
        calendar.append_property(Property::new(name, value));
    }
    calendar
}

/// Returns the parts of an entry that show no more than that there is an appointment.
fn entry(appointment: &Appointment, host: &str) -> Event {
    let Appointment {
        id,
        version,
        updated,
        content,
        ..
    } = appointment;
    let sequence = u32::try_from(version.number().saturating_sub(1)).unwrap_or(u32::MAX);
    let status = match content.status {
        AppointmentStatus::Booked => EventStatus::Tentative,
        AppointmentStatus::Cancelled => EventStatus::Cancelled,
        _ => EventStatus::Confirmed,
    };
    let mut entry = Event::new();
    entry
        .uid(&format!("appointment-{id}@{host}"))
        .sequence(sequence)
        .timestamp(moment(*updated))
        .starts(moment(content.start))
        .ends(moment(content.end))
        .status(status)
        .append_property(Property::new(
            "LAST-MODIFIED",
            moment(*updated).format("%Y%m%dT%H%M%SZ").to_string(),
        ));
    entry
}

/// The title of an appointment: the name of its type, and the vehicle or its title.
pub(crate) fn summary(appointment: &Appointment, business: &Business, vehicle: Option<&str>) -> String {
    let content = &appointment.content;
    let kind = booking_type(business, &content.kind).map_or(&*content.kind, |kind| &*kind.name);
    let about = vehicle.unwrap_or(&content.title);
    if about.is_empty() {
        kind.to_owned()
    } else {
        format!("{kind}: {about}")
    }
}

/// Writes an appointment as a calendar with one entry. `vehicle` is the name of its vehicle. An invitation names the visitor.
pub(crate) fn write(
    appointment: &Appointment,
    business: &Business,
    host: &str,
    vehicle: Option<&str>,
    method: Method,
) -> String {
    let content = &appointment.content;
    let mut entry = entry(appointment, host);
    entry.summary(&text(&summary(appointment, business, vehicle)));
    if !content.location.is_empty() {
        entry.location(&text(&content.location));
    }
    if !content.notes.is_empty() {
        entry.description(&text(&content.notes));
    }
    if !business.email.is_empty() {
        let mut organizer = Property::new("ORGANIZER", format!("mailto:{}", business.email));
        organizer.add_parameter("CN", &parameter(&business.name));
        entry.append_property(organizer.done());
    }
    if method != Method::Publish && !content.email.is_empty() {
        let mut visitor = Property::new("ATTENDEE", format!("mailto:{}", content.email));
        if !content.name.is_empty() {
            visitor.add_parameter("CN", &parameter(&content.name));
        }
        entry.append_multi_property(visitor.done());
    }
    calendar(method).push(entry.done()).to_string()
}

/// Writes the calendar of a feed, entry by entry.
pub(crate) struct FeedWriter<'a> {
    business: &'a Business,
    host: &'a str,
    details: FeedDetails,
    calendar: Calendar,
    /// The names of vehicles; empty for one that is gone.
    vehicles: HashMap<VehicleId, String>,
}

impl<'a> FeedWriter<'a> {
    pub(crate) fn new(business: &'a Business, host: &'a str, name: &str, details: FeedDetails) -> Self {
        let mut calendar = calendar(Method::Publish);
        // The writer escapes the names that the standard knows, and this is none.
        let name = text(name)
            .replace('\\', "\\\\")
            .replace(',', "\\,")
            .replace(';', "\\;")
            .replace('\n', " ");
        calendar.append_property(Property::new("X-WR-CALNAME", name));
        Self {
            business,
            host,
            details,
            calendar,
            vehicles: HashMap::new(),
        }
    }

    /// The vehicle whose name the entry of an appointment shows.
    pub(crate) fn vehicle_of(&self, appointment: &Appointment) -> Option<VehicleId> {
        appointment
            .content
            .vehicle
            .filter(|_| self.details == FeedDetails::Full)
    }

    pub(crate) fn knows(&self, vehicle: VehicleId) -> bool {
        self.vehicles.contains_key(&vehicle)
    }

    /// Adds an appointment. `title` is the name of its vehicle, if that is not known from an earlier one.
    pub(crate) fn add(&mut self, appointment: &Appointment, title: Option<String>) {
        let mut entry = entry(appointment, self.host);
        match self.details {
            FeedDetails::Busy => {
                entry.summary("Busy");
            }
            FeedDetails::Full => {
                let vehicle = appointment.content.vehicle.map(|id| {
                    let known = self.vehicles.entry(id).or_insert_with(|| title.unwrap_or_default());
                    known.as_str()
                });
                let vehicle = vehicle.filter(|title| !title.is_empty());
                // The title of an appointment is free text, so it is left out.
                let content = &appointment.content;
                let kind = booking_type(self.business, &content.kind).map_or(&*content.kind, |kind| &*kind.name);
                let summary = vehicle.map_or_else(|| kind.to_owned(), |vehicle| format!("{kind}: {vehicle}"));
                entry.summary(&text(&summary));
                if !content.name.is_empty() {
                    entry.description(&text(&content.name));
                }
            }
        }
        self.calendar.push(entry.done());
    }

    pub(crate) fn finish(self) -> String {
        self.calendar.to_string()
    }
}
