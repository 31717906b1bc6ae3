//! The errors of this area's use cases.

use forecourt_kernel::{JobId, StoreError, ValidationErrors, VehicleId, VersionMismatch};

use crate::{JobDocumentId, PurchaseId, StageId};

/// A refusal or failure of a use case.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The business has no vehicle with that id (`vehicle_not_found`).
    #[error("vehicle {0} does not exist")]
    VehicleNotFound(VehicleId),
    /// The vehicle has no job with that id (`vehicle_job_not_found`).
    #[error("job {0} does not exist")]
    NotFound(JobId),
    /// The job has no stage with that id (`vehicle_job_stage_not_found`).
    #[error("stage {0} does not exist")]
    StageNotFound(StageId),
    /// The job has no document with that id (`vehicle_job_document_not_found`).
    #[error("document {0} does not exist")]
    DocumentNotFound(JobDocumentId),
    /// The purchase is not linked to the job (`vehicle_job_purchase_not_found`).
    #[error("purchase {0} is not linked")]
    PurchaseNotFound(PurchaseId),
    /// Another job of the same board is open on the vehicle (`vehicle_job_duplicate`).
    #[error("a job of board {0} is open on the vehicle already")]
    Duplicate(i64),
    /// Fields failed validation.
    #[error(transparent)]
    Invalid(#[from] ValidationErrors),
    /// The record is not at the version that the write expects (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
