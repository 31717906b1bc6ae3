//! The errors of the use cases.

use forecourt_billing::OrderId;
use forecourt_kernel::{StoreError, ValidationErrors, VersionMismatch};

use crate::OrderStatus;

/// The error of a use case: a refusal or a failure.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// The business has no order of that id.
    #[error("order {0} does not exist")]
    NotFound(OrderId),
    /// The order is at another version (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// The order's state does not allow the operation (`order_invalid_status`).
    #[error("the order is {}, which does not allow this", .0.name())]
    InvalidStatus(OrderStatus),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ValidationErrors> for OrderError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}
