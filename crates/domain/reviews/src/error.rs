//! Why a use case of this area did not do what was asked.

use forecourt_kernel::{StoreError, VersionMismatch};

use crate::ReviewId;

/// A use case's refusal or failure.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The business has no review of that id (`review_not_found`).
    #[error("review {0} does not exist")]
    NotFound(ReviewId),
    /// The record is not at the version that the write was meant for (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
