//! Appointments: who comes when, for what, to whom, with which car.
//!
//! [`Appointment`] is the record. The use cases are the functions of this crate ([`create_appointment`], [`find_slots`] …), each over
//! the ports [`AppointmentReader`] and [`AppointmentStore`]. [`FullAppointment`] and [`SimpleAppointment`] are the representations in
//! the API and webhooks. The rules are those of areas §10.9.
//!
//! With the feature `testing` the crate has a store in memory, and the contract suite for every store,
//! `testing::appointment_store_contract`.

mod appointment;
mod conflicts;
mod error;
mod feed;
mod forget;
mod ical;
mod input;
mod mails;
mod open;
mod service;
mod slots;
mod status;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod view;

pub use appointment::{Appointment, AppointmentChanges, AppointmentContent, MAX_STAFF, StaffList, Visitor};
pub use conflicts::{Conflict, ConflictReason, MAX_CONFLICTS, Occupied};
pub use error::AppointmentError;
pub use feed::{
    AppointmentFeed, AppointmentFeedId, AppointmentFeedView, FeedDetails, FeedToken, MAX_FEEDS, NewFeed,
    UnknownFeedDetails,
};
pub use forecourt_kernel::AppointmentId;
pub use forget::{forget_person_in_appointment, forget_person_in_event};
pub use ical::MEDIA_TYPE as CALENDAR_MEDIA_TYPE;
pub use input::{DurationMinutes, EmailText, MomentInput, PhoneLine, ReminderMinutes};
pub use mails::MAILS;
pub use open::{Hours, Span};
pub use service::feeds::{create_feed, delete_feed, list_feeds, validate_feed, write_feed};
pub use service::leads::{
    add_lead_appointment, list_lead_appointments, remove_lead_appointment, require_lead, validate_lead_appointment,
};
pub use service::notices::{notice_of, remind, tell_of_lost_vehicle, write_calendar};
pub use service::times::{MAX_AGENDA, MAX_AGENDA_DAYS, MAX_SLOT_DAYS, find_slots, read_agenda};
pub use service::{
    cancel_appointment, create_appointment, list_appointments, read_appointment, update_appointment,
    validate_appointment_references,
};
pub use slots::{Slot, SlotQuery, Slots};
pub use status::{AppointmentStatus, UnknownAppointmentStatus};
pub use store::{
    AgendaFilter, AgendaPlace, AppointmentFilter, AppointmentReader, AppointmentStore, ContactAppointmentReader,
    DueReminder,
};
#[cfg(feature = "openapi")]
pub use view::example_appointment;
pub use view::{AppointmentView, FullAppointment, SimpleAppointment};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
