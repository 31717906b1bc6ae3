//! Why a use case of this area did not do what was asked.

use forecourt_kernel::{LeadId, StoreError, ValidationErrors};

/// A use case's refusal or failure.
#[derive(Debug, thiserror::Error)]
pub enum LeadError {
    /// The business has no lead of that id.
    #[error("lead {0} does not exist")]
    NotFound(LeadId),
    /// What was asked for is not valid.
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ValidationErrors> for LeadError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}
