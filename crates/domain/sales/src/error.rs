//! The errors of the use cases.

use forecourt_deals::DealError;
use forecourt_invoices::InvoiceError;
use forecourt_kernel::{StoreError, ValidationErrors};
use forecourt_leads::LeadError;
use forecourt_orders::OrderError;
use forecourt_purchases::PurchaseError;
use forecourt_vehicles::VehicleError;

/// The error of a use case: that of the area whose rule refused it.
#[derive(Debug, thiserror::Error)]
pub enum SaleError {
    /// Of an invoice.
    #[error(transparent)]
    Invoice(#[from] InvoiceError),
    /// Of an order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// Of a purchase.
    #[error(transparent)]
    Purchase(#[from] PurchaseError),
    /// Of a vehicle.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// Of a deal.
    #[error(transparent)]
    Deal(#[from] DealError),
}

/// The failure of a change to a deal's lead.
impl From<LeadError> for SaleError {
    fn from(error: LeadError) -> Self {
        match error {
            LeadError::Store(error) => error.into(),
            LeadError::Invalid(errors) => errors.into(),
            other => StoreError::Other(other.into()).into(),
        }
    }
}

impl From<StoreError> for SaleError {
    fn from(error: StoreError) -> Self {
        Self::Invoice(error.into())
    }
}

impl From<ValidationErrors> for SaleError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invoice(errors.into())
    }
}
