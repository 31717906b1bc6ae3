//! The errors of the use cases.

use forecourt_kernel::{StoreError, VehicleId};

/// The error of a use case: a refusal or a failure.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The business lists no vehicle of that id (`listing_not_found`).
    #[error("vehicle {0} is not listed")]
    NotFound(VehicleId),
    /// Removals after the requested number are no longer kept (`listing_changes_expired`).
    #[error("removals are kept since change {oldest}")]
    ChangesExpired {
        /// The lowest number after which every removal is kept.
        oldest: i64,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
