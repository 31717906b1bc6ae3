//! The errors of the use cases.

use forecourt_kernel::{StoreError, ValidationErrors};

use crate::{InvoiceId, TransitionError};

/// The error of a use case: a refusal or a failure.
#[derive(Debug, thiserror::Error)]
pub enum InvoiceError {
    /// The business has no invoice of that id.
    #[error("invoice {0} does not exist")]
    NotFound(InvoiceId),
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// The invoice's state does not allow the operation (`invoice_not_issued`, `invoice_fully_credited`).
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ValidationErrors> for InvoiceError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}
