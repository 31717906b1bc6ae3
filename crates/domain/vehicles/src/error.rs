//! Why a use case of this area failed.

use forecourt_kernel::{StoreError, ValidationErrors, VehicleId, VersionMismatch};

use crate::Immovable;

/// A use case's refusal or failure.
#[derive(Debug, thiserror::Error)]
pub enum VehicleError {
    /// The business has no vehicle of that id (`vehicle_not_found`).
    #[error("vehicle {0} does not exist")]
    NotFound(VehicleId),
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// More cost rows than a vehicle may have (`vehicle_costs_full`).
    #[error("a vehicle may have at most {} purchase cost rows", crate::CostRows::MAX)]
    CostsFull,
    /// The vehicle cannot go from its state to the requested one (`vehicle_status_process_required`,
    /// `vehicle_status_transition_invalid`).
    #[error(transparent)]
    Immovable(#[from] Immovable),
    /// Fields that publishing needs are not set (`vehicle_publish_incomplete`); by dot-path.
    #[error("fields that publishing needs are missing: {}", .0.join(", "))]
    PublishIncomplete(Vec<&'static str>),
    /// One vehicle more for sale would be too many (`vehicle_publish_limit_reached`).
    #[error("at most {0} vehicles may be for sale")]
    PublishLimitReached(u32),
    /// The record is not at the version that the write was meant for (`precondition_failed`).
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
