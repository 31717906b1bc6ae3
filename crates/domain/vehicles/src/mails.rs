//! The mails of this crate.

use forecourt_accounts::{MailContent, MailKind, mail_kind};

/// The mails of this crate, whose wording businesses can change.
pub const MAILS: &[&MailKind] = &[TestDriveSummary::KIND, OfferRequested::KIND];

mail_kind! {
    /// Sent to the business when an offer for a vehicle under appraisal is requested.
    pub(crate) OfferRequested as "offer_requested";

    /// The business's name.
    business;
    /// The vehicle, in words.
    vehicle;
    /// The appraisal's id.
    number, required;
    /// The appraisal's short code.
    tag;
    /// When the offer was requested, in the time of the business, such as `2026-03-01 09:30 GMT`.
    requested;
}

mail_kind! {
    /// Sent to the contact that drives when the terms of a test drive are mailed.
    pub(crate) TestDriveSummary as "test_drive_summary";

    /// The contact's name.
    name;
    /// The business's name.
    business;
    /// The vehicle.
    vehicle;
    /// The test drive's code.
    code;
    /// When it started, in the time of the business, such as `2026-03-01 09:30 GMT`.
    started;
    /// The name of the location that it started from.
    location;
    /// When the vehicle is to be back, such as `2026-03-01 10:30 GMT`.
    return_by;
    /// The business's terms for test drives.
    terms, required, lines;
}
