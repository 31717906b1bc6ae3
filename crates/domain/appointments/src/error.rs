//! The errors of this area's use cases.

use forecourt_kernel::{AppointmentId, BoxError, ContactId, LeadId, StoreError, ValidationErrors, VersionMismatch};

use crate::{AppointmentFeedId, AppointmentStatus, Conflict};

/// A refusal or failure of a use case.
#[derive(Debug, thiserror::Error)]
pub enum AppointmentError {
    /// The business has no appointment with that id (`appointment_not_found`).
    #[error("appointment {0} does not exist")]
    NotFound(AppointmentId),
    /// The business has no feed with that id (`appointment_feed_not_found`).
    #[error("feed {0} does not exist")]
    FeedNotFound(AppointmentFeedId),
    /// The business has no lead with that id (`lead_not_found`).
    #[error("lead {0} does not exist")]
    LeadNotFound(LeadId),
    /// The lead's list does not have the appointment (`lead_appointment_not_found`).
    #[error("appointment {0} is not on the lead's list")]
    NotOnLead(AppointmentId),
    /// The lead's list has the appointment already (`lead_vehicle_duplicate`).
    #[error("appointment {0} is on the lead's list already")]
    LeadDuplicate(AppointmentId),
    /// The business has no contact with that id (`appointment_contact_not_found`).
    #[error("contact {0} does not exist")]
    ContactNotFound(ContactId),
    /// The status does not allow it (`appointment_invalid_status`).
    #[error("an appointment that is {} does not allow this", .0.name())]
    InvalidStatus(AppointmentStatus),
    /// Other appointments or the hours are in the way (`appointment_conflict`).
    #[error("the appointment is in conflict with others, or with the opening hours")]
    Conflict(Vec<Conflict>),
    /// The mail server cannot be reached, or refuses the visitor's address (`appointment_notify_failed`).
    #[error("the visitor could not be notified")]
    NotifyFailed(#[source] BoxError),
    /// The business has reached its daily number of mails (`appointment_notify_failed`).
    #[error("the business may send no more mails today")]
    TooManyMails,
    /// The request is not valid.
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// The record is not at the version that the write expects (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ValidationErrors> for AppointmentError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}
