//! The mails of this area.

use forecourt_accounts::{MailContent, MailKind, mail_kind};

/// The mails of this area, whose text businesses can change.
pub const MAILS: &[&MailKind] = &[
    AppointmentBooked::KIND,
    AppointmentChanged::KIND,
    AppointmentCancelled::KIND,
    AppointmentReminder::KIND,
    AppointmentVehicleSold::KIND,
];

/// Declares a mail to the visitor of an appointment; all have the same placeholders.
macro_rules! to_visitor {
    ($(#[doc = $purpose:literal])+ $content:ident as $name:literal) => {
        mail_kind! {
            $(#[doc = $purpose])+
            pub(crate) $content as $name;

            /// The visitor's name.
            name;
            /// The business's name.
            business;
            /// The name of the booking type.
            kind;
            /// The beginning, in the time of the business, such as `2026-03-01 09:30 GMT`.
            start, required;
            /// The end, in the time of the business, such as `2026-03-01 10:00 GMT`.
            end;
            /// The place.
            location;
            /// The vehicle, in words.
            vehicle;
            /// The names of the staff who take part.
            staff;
            /// The reason of a cancellation.
            reason, lines;
        }
    };
}

to_visitor! {
    /// Sent to the visitor when an appointment is booked.
    AppointmentBooked as "appointment_booked"
}

to_visitor! {
    /// Sent to the visitor when the time, the place, the type or the staff of an appointment changes.
    AppointmentChanged as "appointment_changed"
}

to_visitor! {
    /// Sent to the visitor when an appointment is cancelled.
    AppointmentCancelled as "appointment_cancelled"
}

to_visitor! {
    /// Sent to the visitor before an appointment.
    AppointmentReminder as "appointment_reminder"
}

mail_kind! {
    /// Sent to the business when a vehicle is sold or deleted for which others have appointments.
    pub(crate) AppointmentVehicleSold as "appointment_vehicle_sold";

    /// The business's name.
    business;
    /// The vehicle, in words.
    vehicle;
    /// The number of appointments.
    number;
    /// The appointments, one a line: start, type, visitor's name and the appointment's id.
    appointments, required, lines;
}
