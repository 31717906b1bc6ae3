//! Jobs that begin and end with their vehicle.

use forecourt_accounts::Business;
use forecourt_files::FileName;
use forecourt_kernel::{BusinessId, StoreError, Timestamp, VehicleId};
use forecourt_reference::StockType;

use super::{open, remove};
use crate::{Job, JobContent, JobStore};

/// Applies each board whose `apply` names the stock type of a new vehicle, in the order of the business's file. It is called in the
/// transaction that creates the vehicle, after vehicle.created.
///
/// # Errors
/// The errors of the store.
pub async fn apply_boards(
    store: &mut dyn JobStore,
    business: &Business,
    vehicle: VehicleId,
    kind: StockType,
    at: Timestamp,
) -> Result<(), StoreError> {
    let boards = business.catalogue.job_boards.iter();
    let applied = boards.filter(|board| board.apply.iter().any(|key| key == kind.key()));
    for board in applied.take(Job::MAX_PER_VEHICLE as usize) {
        let content = JobContent {
            automatic: true,
            ..JobContent::by_board(board, vehicle)
        };
        open(store, business.id, content, at).await?;
    }
    Ok(())
}

/// Removes the jobs of a vehicle that is being deleted, with their documents. It records no events. Returns the names of the files,
/// whose content must be deleted after the transaction has committed. The caller has locked the vehicle.
///
/// # Errors
/// The errors of the store.
pub async fn remove_jobs(
    store: &mut dyn JobStore,
    business: BusinessId,
    vehicle: VehicleId,
    at: Timestamp,
) -> Result<Vec<FileName>, StoreError> {
    let mut files = Vec::new();
    // One at a time: a job may be long.
    while let Some(job) = store.any_job(business, vehicle).await? {
        files.extend(remove(store, business, &job, at).await?);
    }
    Ok(files)
}
