//! The purchases whose cost a job caused.

use forecourt_accounts::Caller;
use forecourt_kernel::{BusinessId, Clock, JobId, Target, Timestamp, ValidationErrors, VehicleId, bounds::MAX_ITEMS};

use super::{lock, save};
use crate::{Job, JobError, JobStore, LinkedPurchase, PurchaseId};

/// Links a purchase to a job. A purchase that is linked already is linked anew, at the amounts that it has now.
///
/// # Errors
/// [`JobError::Invalid`] (`purchase`) if the business has no such purchase, or it has no line for the vehicle. Then
/// [`JobError::VehicleNotFound`], then [`JobError::NotFound`], then [`JobError::VersionMismatch`]. Then [`JobError::Invalid`] if too many
/// are linked (`purchases`); [`JobError::Store`].
pub async fn link_purchase(
    store: &mut dyn JobStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<JobId>>,
    purchase: PurchaseId,
) -> Result<Job, JobError> {
    let business = by.business_id();
    // Documents are locked before vehicles.
    let linked = store.purchase_lines(business, purchase, vehicle).await?;
    let message = "names no purchase of this business with a line for the vehicle";
    let linked = linked.ok_or_else(|| ValidationErrors::one("purchase", message))?;
    let (stored, precondition) = lock(store, business, vehicle, id).await?;
    precondition.check(stored.version)?;
    let now = clock.now();
    let mut content = stored.content.clone();
    if let Some(known) = content.purchases.iter_mut().find(|known| known.id == purchase) {
        *known = linked;
    } else if content.purchases.len() >= MAX_ITEMS {
        let message = format!("a job may have at most {MAX_ITEMS} purchases");
        return Err(ValidationErrors::one("purchases", message).into());
    } else {
        content.purchases.push(linked);
        let job = Some((vehicle, stored.id));
        store.set_purchase_job(business, purchase, job, now).await?;
    }
    save(store, now, business, stored, content).await
}

/// Removes the link of a purchase to a job.
///
/// # Errors
/// [`JobError::VehicleNotFound`], then [`JobError::NotFound`], [`JobError::PurchaseNotFound`], then [`JobError::VersionMismatch`], of the
/// job; [`JobError::Store`].
pub async fn unlink_purchase(
    store: &mut dyn JobStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<JobId>>,
    purchase: PurchaseId,
) -> Result<Job, JobError> {
    let business = by.business_id();
    // Documents are locked before vehicles.
    store.purchase_lines(business, purchase, vehicle).await?;
    let (stored, precondition) = lock(store, business, vehicle, id).await?;
    let index = stored.content.purchases.iter().position(|known| known.id == purchase);
    let index = index.ok_or(JobError::PurchaseNotFound(purchase))?;
    precondition.check(stored.version)?;
    let now = clock.now();
    let mut content = stored.content.clone();
    content.purchases.remove(index);
    store.set_purchase_job(business, purchase, None, now).await?;
    save(store, now, business, stored, content).await
}

/// Shows a purchase in the job that it is linked to as it is now. It is called in the transaction that changes the purchase.
///
/// # Errors
/// [`JobError::Store`].
pub async fn refresh_purchase(
    store: &mut dyn JobStore,
    now: Timestamp,
    business: BusinessId,
    (vehicle, job): (VehicleId, JobId),
    purchase: LinkedPurchase,
) -> Result<(), JobError> {
    let stored = match lock(store, business, vehicle, job).await {
        Ok((stored, _)) => stored,
        // Its vehicle was deleted, and the job with it.
        Err(JobError::VehicleNotFound(_) | JobError::NotFound(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut content = stored.content.clone();
    for known in content.purchases.iter_mut().filter(|known| known.id == purchase.id) {
        known.clone_from(&purchase);
    }
    save(store, now, business, stored, content).await.map(drop)
}
