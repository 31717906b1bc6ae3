//! Why a use case of this area did not do what was asked.

use forecourt_kernel::{StoreError, VehicleId};

/// A use case's refusal or failure.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The business lists no vehicle of that id (`listing_not_found`).
    #[error("vehicle {0} is not listed")]
    NotFound(VehicleId),
    /// Removals are missing behind the requested number (`listing_changes_expired`).
    #[error("removals are kept since change {oldest}")]
    ChangesExpired {
        /// The lowest number behind which none is missing.
        oldest: i64,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
