//! The errors of this area's use cases.

use forecourt_kernel::{BoxError, ContactId, ContactNoteId, StoreError, ValidationErrors, VersionMismatch};

use crate::LOGIN_EMAIL_RULE;

/// A refusal or failure of a use case.
#[derive(Debug, thiserror::Error)]
pub enum ContactError {
    /// The business has no contact with that id (`contact_not_found`).
    #[error("contact {0} does not exist")]
    NotFound(ContactId),
    /// The contact has no note with that id (`contact_note_not_found`).
    #[error("note {0} does not exist")]
    NoteNotFound(ContactNoteId),
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// Another contact of the business logs in with that email (`contact_email_duplicate`).
    #[error("another contact logs in with this email")]
    EmailDuplicate,
    /// The contact may not log in (`contact_login_disabled`).
    #[error("the contact has no customer login")]
    LoginDisabled,
    /// No password could be generated (`contact_login_password_unavailable`).
    #[error("a new password could not be made")]
    PasswordUnavailable(#[source] BoxError),
    /// The login details could not be mailed (`contact_login_email_failed`).
    #[error("the login details could not be mailed")]
    LoginEmailFailed(#[source] BoxError),
    /// The record is not at the version that the write expects (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// Storage failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<ValidationErrors> for ContactError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}

/// Storage alone decides which contact logs in with an email.
impl From<StoreError> for ContactError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Duplicate(rule) if rule == LOGIN_EMAIL_RULE => Self::EmailDuplicate,
            error => Self::Store(error),
        }
    }
}
