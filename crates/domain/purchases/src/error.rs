//! The errors of the use cases.

use forecourt_billing::{BillStatus, CreditError, PurchaseId, PurchaseNumber, ReversalError, TransitionError};
use forecourt_kernel::{Money, StoreError, ValidationErrors, VersionMismatch};

/// The error of a use case: a refusal or a failure.
#[derive(Debug, thiserror::Error)]
pub enum PurchaseError {
    /// The business has no purchase of that id.
    #[error("purchase {0} does not exist")]
    NotFound(PurchaseId),
    /// The purchase is at another version (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// The purchase's state does not allow the operation (`purchase_invalid_status`).
    #[error("the purchase is {}, which does not allow this", .0.name())]
    InvalidStatus(BillStatus),
    /// The purchase belongs to the acquisition of a vehicle (`purchase_acquisition_linked`).
    #[error("the purchase belongs to the acquisition of a vehicle")]
    AcquisitionLinked,
    /// Another purchase has the same number of the same supplier (`purchase_duplicate`); holds its number, if it has one.
    #[error("another purchase has this supplier's invoice")]
    Duplicate(Option<PurchaseNumber>),
    /// The purchase has no such payment (`payment_not_found`).
    #[error("the purchase has no payment {0}")]
    PaymentNotFound(i64),
    /// The payment is reversed, or is a reversal (`payment_reversed`).
    #[error("the payment is reversed already, or is a reversal")]
    PaymentReversed,
    /// More would be credited than remains (`credit_cap_exceeded`).
    #[error("at most {creditable} can be credited")]
    CapExceeded {
        /// The number of the line; `None` if it is the whole that does not remain.
        line: Option<i64>,
        /// The amount that remains.
        creditable: Money,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PurchaseError {
    pub(crate) const fn reversal(error: ReversalError, id: i64, status: BillStatus) -> Self {
        match error {
            ReversalError::NotFound => Self::PaymentNotFound(id),
            ReversalError::Reversed => Self::PaymentReversed,
            ReversalError::NotReversible => Self::InvalidStatus(status),
        }
    }

    /// Makes the refusal of a transition from `status`.
    pub(crate) const fn transition(_: &TransitionError, status: BillStatus) -> Self {
        Self::InvalidStatus(status)
    }
}

impl From<ValidationErrors> for PurchaseError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}

impl From<CreditError> for PurchaseError {
    fn from(error: CreditError) -> Self {
        match error {
            CreditError::Invalid(errors) => Self::Invalid(errors),
            CreditError::CapExceeded { line, creditable } => Self::CapExceeded { line, creditable },
        }
    }
}
