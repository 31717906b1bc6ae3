//! Why a use case of this area did not do what was asked.

use forecourt_kernel::{StoreError, ValidationErrors};

use crate::{InvoiceId, TransitionError};

/// A use case's refusal or failure.
#[derive(Debug, thiserror::Error)]
pub enum InvoiceError {
    /// The business has no invoice of that id.
    #[error("invoice {0} does not exist")]
    NotFound(InvoiceId),
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// The invoice's state does not allow it (`invoice_not_issued`, `invoice_fully_credited`).
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
