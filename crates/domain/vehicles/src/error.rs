//! The errors of the use cases.

use forecourt_invoices::{InvoiceError, InvoiceNumber};
use forecourt_kernel::{StoreError, ValidationErrors, VehicleId, VersionMismatch};

use crate::{TransitionError, VehicleDocumentId};

/// The error of a use case: a refusal or a failure.
#[derive(Debug, thiserror::Error)]
pub enum VehicleError {
    /// The business has no vehicle of that id (`vehicle_not_found`).
    #[error("vehicle {0} does not exist")]
    NotFound(VehicleId),
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// The vehicle would have more cost rows than allowed (`vehicle_costs_full`).
    #[error("a vehicle may have at most {} purchase cost rows", crate::CostRows::MAX)]
    CostsFull,
    /// The vehicle cannot move from its state to the requested one (`vehicle_status_process_required`,
    /// `vehicle_status_transition_invalid`).
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// Fields that publishing needs are not set (`vehicle_publish_incomplete`); holds their dot-paths.
    #[error("fields that publishing needs are missing: {}", .0.join(", "))]
    PublishIncomplete(Vec<&'static str>),
    /// One more vehicle for sale would exceed the limit (`vehicle_publish_limit_reached`).
    #[error("at most {0} vehicles may be for sale")]
    PublishLimitReached(u32),
    /// The vehicle has no reservation to cancel (`vehicle_not_reserved`).
    #[error("the vehicle is not reserved")]
    NotReserved,
    /// The vehicle is already reserved (`vehicle_already_reserved`).
    #[error("the vehicle is reserved already")]
    AlreadyReserved,
    /// The vehicle is not for sale, so it cannot be reserved (`vehicle_reserve_invalid_status`).
    #[error("only a vehicle that is for sale can be reserved")]
    ReserveInvalidStatus,
    /// The vehicle is not sold, so its sale can be neither undone nor completed (`vehicle_not_sold`).
    #[error("the vehicle is not sold")]
    NotSold,
    /// The invoice of the sale stands (`vehicle_sale_invoiced`); holds its number.
    #[error("the sale is billed by {0}")]
    SaleInvoiced(InvoiceNumber),
    /// The vehicle is acquired already (`vehicle_already_acquired`).
    #[error("the vehicle is acquired already")]
    AlreadyAcquired,
    /// The vehicle has no acquisition to undo (`vehicle_not_acquired`).
    #[error("the vehicle is not acquired")]
    NotAcquired,
    /// Vehicles of its stock type are not acquired (`vehicle_acquisition_not_allowed`).
    #[error("only vehicles in stock, to order and for courtesy are acquired")]
    AcquisitionNotAllowed,
    /// The vehicle is of another stock type (`vehicle_not_appraisal`).
    #[error("the vehicle is no appraisal")]
    NotAppraisal,
    /// The appraisal is at another stage (`vehicle_appraisal_invalid_status`).
    #[error("the appraisal's status does not allow it")]
    AppraisalInvalidStatus,
    /// Fields that an appraisal needs to be taken into stock are not set (`vehicle_appraisal_incomplete`); holds their dot-paths.
    #[error("fields that acceptance into stock needs are missing: {}", .0.join(", "))]
    AppraisalIncomplete(Vec<&'static str>),
    /// The vehicle has no document of that id (`vehicle_document_not_found`).
    #[error("document {0} does not exist")]
    DocumentNotFound(VehicleDocumentId),
    /// The vehicle has no medium of that id (`vehicle_media_not_found`).
    #[error("the vehicle has no such medium")]
    MediumNotFound,
    /// The vehicle has no test drive of that code (`vehicle_drive_not_found`).
    #[error("the vehicle has no such test drive")]
    DriveNotFound,
    /// The terms of the test drive are already signed (`vehicle_drive_signed`).
    #[error("the terms of the test drive are signed already")]
    DriveSigned,
    /// The vehicle already has an active test drive (`vehicle_drive_active`).
    #[error("a test drive of the vehicle is active already")]
    DriveActive,
    /// The vehicle has no active test drive (`vehicle_drive_not_active`).
    #[error("no test drive of the vehicle is active")]
    DriveNotActive,
    /// The record is not at the version that the write expects (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ValidationErrors> for VehicleError {
    fn from(errors: ValidationErrors) -> Self {
        Self::Invalid(errors)
    }
}

/// A storage failure stays one. Any other refusal contradicts an earlier check: the vehicle's record and the invoice's disagree,
/// which no caller can repair.
impl From<InvoiceError> for VehicleError {
    fn from(error: InvoiceError) -> Self {
        match error {
            InvoiceError::Store(error) => Self::Store(error),
            error => Self::Store(StoreError::Other(error.into())),
        }
    }
}
