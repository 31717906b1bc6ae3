//! The errors of the use cases.

use forecourt_billing::DealId;
use forecourt_kernel::{StoreError, ValidationErrors, VersionMismatch};

use crate::DealStage;

/// The error of a use case: a refusal or a failure.
#[derive(Debug, thiserror::Error)]
pub enum DealError {
    /// The business has no deal of that id (`deal_not_found`).
    #[error("deal {0} does not exist")]
    NotFound(DealId),
    /// The deal is at another version (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// The deal's stage, which is this one, does not allow the operation (`deal_invalid_stage`).
    #[error("the deal is in {}, which does not allow this", .0.name())]
    InvalidStage(DealStage),
    /// The deal lacks what the operation needs (`deal_incomplete`).
    #[error("the deal has no {}", .0.join(" and no "))]
    Incomplete(Vec<&'static str>),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ValidationErrors> for DealError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}
