//! The errors of this area's use cases.

use forecourt_kernel::{StoreError, VersionMismatch};

use crate::ReviewId;

/// A refusal or failure of a use case.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The business has no review with that id (`review_not_found`).
    #[error("review {0} does not exist")]
    NotFound(ReviewId),
    /// The record is not at the version that the write expects (`precondition_failed`).
    #[error(transparent)]
    VersionMismatch(#[from] VersionMismatch),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
