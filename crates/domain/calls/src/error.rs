//! The errors of this area's use cases.

use forecourt_kernel::{CallId, StoreError, ValidationErrors, VersionMismatch};
use forecourt_leads::LeadError;

/// A refusal or failure of a use case.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The business has no call with that id (`call_not_found`).
    #[error("call {0} does not exist")]
    NotFound(CallId),
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

impl From<ValidationErrors> for CallError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}

/// The failure of a change to the call's lead.
impl From<LeadError> for CallError {
    fn from(error: LeadError) -> Self {
        match error {
            LeadError::Store(error) => Self::Store(error),
            LeadError::Invalid(errors) => Self::Invalid(errors),
            other => Self::Store(StoreError::Other(other.into())),
        }
    }
}
