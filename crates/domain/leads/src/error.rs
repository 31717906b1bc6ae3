//! The errors of this area's use cases.

use forecourt_kernel::{
    BoxError, LeadId, LeadMessageId, LeadNoteId, StoreError, ValidationErrors, VehicleId, VersionMismatch,
};

/// A refusal or failure of a use case.
#[derive(Debug, thiserror::Error)]
pub enum LeadError {
    /// The business has no lead with that id.
    #[error("lead {0} does not exist")]
    NotFound(LeadId),
    /// The lead has no such vehicle (`lead_vehicle_not_found`).
    #[error("vehicle {0} is not associated with the lead")]
    VehicleNotFound(VehicleId),
    /// The lead already has the vehicle (`lead_vehicle_duplicate`).
    #[error("vehicle {0} is associated with the lead already")]
    VehicleDuplicate(VehicleId),
    /// The lead has no such note (`lead_note_not_found`).
    #[error("note {0} does not exist")]
    NoteNotFound(LeadNoteId),
    /// The lead has no such message (`lead_message_not_found`).
    #[error("message {0} does not exist")]
    MessageNotFound(LeadMessageId),
    /// There is no address to send the reply to (`lead_send_failed`).
    #[error("the lead has no email address")]
    NoAddress,
    /// The mail server cannot be reached, or refuses the recipient (`lead_send_failed`).
    #[error("the reply could not be sent")]
    SendFailed(#[source] BoxError),
    /// The business has reached its daily number of mails (`lead_send_failed`).
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

impl From<ValidationErrors> for LeadError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}
