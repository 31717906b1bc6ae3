//! The use cases. None begins, commits or retries a transaction.

use forecourt_accounts::{Business, Caller};
use forecourt_kernel::{Clock, Page, PageRequest, StoreError, StoreResult, Timestamp, VehicleId};
use forecourt_vehicles::Vehicle;

use crate::{Advert, DueExpiry, Listing, ListingError, ListingFilter, ListingReader, ListingStore};

/// A page of the caller's listings, those that changed last at the end.
///
/// # Errors
/// [`ListingError::Store`].
pub async fn list_listings(
    store: &mut dyn ListingReader,
    clock: &dyn Clock,
    by: &Caller,
    filter: &ListingFilter,
    page: &PageRequest,
) -> Result<Page<Listing>, ListingError> {
    Ok(store.listings(by.business_id(), filter, clock.now(), page).await?)
}

/// The listing of one of the caller's vehicles.
///
/// # Errors
/// [`ListingError::NotFound`], [`ListingError::Store`].
pub async fn read_listing(
    store: &mut dyn ListingReader,
    clock: &dyn Clock,
    by: &Caller,
    id: VehicleId,
) -> Result<Listing, ListingError> {
    store
        .listing(by.business_id(), id, clock.now())
        .await?
        .ok_or(ListingError::NotFound(id))
}

/// Has the listing of a vehicle show what the vehicle has become, in the transaction that changes the vehicle.
///
/// # Errors
/// As the store's.
pub async fn follow(
    store: &mut dyn ListingStore,
    business: &Business,
    vehicle: &Vehicle,
    now: Timestamp,
) -> StoreResult<()> {
    let advert = Advert::of(vehicle, business, now).map_err(|failure| StoreError::Other(failure.into()))?;
    let listed = store.listed(business.id, vehicle.id).await?;
    match (advert, listed) {
        (None, None) => Ok(()),
        (None, Some(_)) => store.remove_listing(business.id, vehicle.id).await,
        (Some(advert), Some(listed)) if advert.hash == listed.hash && advert.expires == listed.expires => Ok(()),
        (Some(advert), Some(listed)) if advert.hash == listed.hash => {
            store.save_listing(business.id, &advert, listed.updated).await
        }
        (Some(advert), _) => store.save_listing(business.id, &advert, now).await,
    }
}

/// Removes a listing whose time is over, unless it was prolonged meanwhile.
///
/// # Errors
/// As the store's.
pub async fn remove_expired(
    store: &mut dyn ListingStore,
    now: Timestamp,
    DueExpiry { business, vehicle }: DueExpiry,
) -> StoreResult<()> {
    match store.listed(business, vehicle).await? {
        Some(listed) if listed.expires.is_some_and(|expires| expires <= now) => {
            store.remove_listing(business, vehicle).await
        }
        _ => Ok(()),
    }
}
