//! The errors of the use cases.

use forecourt_billing::{CreditError, InvoiceId, InvoiceNumber, ReversalError};
use forecourt_kernel::{Money, StoreError, ValidationErrors, VersionMismatch};

use crate::{InvoiceStatus, TransitionError};

/// The error of a use case: a refusal or a failure.
#[derive(Debug, thiserror::Error)]
pub enum InvoiceError {
    /// The business has no invoice of that id.
    #[error("invoice {0} does not exist")]
    NotFound(InvoiceId),
    /// The invoice is at another version (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// The invoice's state does not allow the operation (`invoice_not_issued`, `invoice_fully_credited`,
    /// `invoice_invalid_status`).
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// The invoice has no such payment (`payment_not_found`).
    #[error("the invoice has no payment {0}")]
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
    /// The sale has no finance to invoice (`finance_invoice_ineligible`).
    #[error("the invoice lacks what a finance invoice needs: {}", .0.join(", "))]
    FinanceIneligible(Vec<&'static str>),
    /// There is a live finance invoice (`finance_invoice_exists`).
    #[error("{0} is the finance invoice already")]
    FinanceExists(InvoiceNumber),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl InvoiceError {
    /// Makes the refusal of an operation that the state does not allow.
    pub const fn status(status: InvoiceStatus) -> Self {
        Self::Transition(TransitionError::InvalidStatus(status))
    }

    pub(crate) const fn reversal(error: ReversalError, id: i64, status: InvoiceStatus) -> Self {
        match error {
            ReversalError::NotFound => Self::PaymentNotFound(id),
            ReversalError::Reversed => Self::PaymentReversed,
            ReversalError::NotReversible => Self::status(status),
        }
    }
}

impl From<ValidationErrors> for InvoiceError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}

impl From<CreditError> for InvoiceError {
    fn from(error: CreditError) -> Self {
        match error {
            CreditError::Invalid(errors) => Self::Invalid(errors),
            CreditError::CapExceeded { line, creditable } => Self::CapExceeded { line, creditable },
        }
    }
}
