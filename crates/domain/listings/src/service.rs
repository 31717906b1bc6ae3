//! The use cases. None of them begins, commits or retries a transaction.

use forecourt_accounts::{Business, Caller};
use forecourt_kernel::{Clock, Page, PageRequest, StoreError, StoreResult, Timestamp, VehicleId};
use forecourt_vehicles::{Vehicle, VehicleStatus};

use crate::{
    Advert, Change, ChangeRange, DueExpiry, Listing, ListingError, ListingFilter, ListingReader, ListingStore,
    RemovalReason, StoredListing, WEBSITE,
};

/// Returns a page of the caller's listings, in the order of their last change.
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

/// Returns the listing of one of the caller's vehicles.
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

/// A page of changes of the caller's listings, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangePage {
    /// The changes.
    pub changes: Vec<Change>,
    /// The number of the latest change at the time of the request. Neither this page nor a later part of it has a higher number.
    pub up_to: i64,
    /// `true` if more changes follow.
    pub more: bool,
}

/// Returns the first `limit` changes of the caller's listings after the number `after`. From 0 on they are the current listings.
///
/// # Errors
/// [`ListingError::ChangesExpired`] if removals after `after` are no longer kept, or if no change has that number yet;
/// [`ListingError::Store`].
pub async fn list_changes(
    store: &mut dyn ListingReader,
    clock: &dyn Clock,
    by: &Caller,
    after: i64,
    limit: u32,
) -> Result<ChangePage, ListingError> {
    let business = by.business_id();
    let now = clock.now();
    // Read first: a change made during the other reads has a higher number.
    let up_to = store.manifest_state(business, now).await?.revision;
    let with_removals = after > 0;
    if with_removals {
        let oldest = store.removals_kept_since(business).await?;
        // A number that no change has yet is from before the database was restored to an earlier state.
        if after < oldest || after > up_to {
            return Err(ListingError::ChangesExpired { oldest });
        }
    }
    let range = ChangeRange {
        after,
        up_to,
        with_removals,
    };
    Ok(continue_changes(store, clock, by, range, limit).await?)
}

/// Reads the next part of a page of changes.
///
/// # Errors
/// The errors of the store.
pub async fn continue_changes(
    store: &mut dyn ListingReader,
    clock: &dyn Clock,
    by: &Caller,
    range: ChangeRange,
    limit: u32,
) -> StoreResult<ChangePage> {
    let wanted = limit.saturating_add(1);
    let mut changes = store
        .listing_changes(by.business_id(), range, clock.now(), wanted)
        .await?;
    let more = changes.len() > limit as usize;
    changes.truncate(limit as usize);
    Ok(ChangePage {
        changes,
        up_to: range.up_to,
        more,
    })
}

/// Updates the listing of a vehicle, in the transaction that changes the vehicle.
///
/// # Errors
/// The errors of the store.
pub async fn follow(
    store: &mut dyn ListingStore,
    business: &Business,
    vehicle: &Vehicle,
    now: Timestamp,
) -> StoreResult<()> {
    let advert = advert_of(store, vehicle, business, now)?;
    let listed = store.listed(business.id, vehicle.id).await?;
    let Some(advert) = advert else {
        if listed.is_some() {
            let reason = reason(vehicle);
            store.remove_listing(business.id, vehicle.id, now, reason).await?;
        }
        return Ok(());
    };
    let same = listed.filter(|listed| listed.hash == advert.hash);
    if let Some(listed) = &same
        && listed.expires == advert.expires
        && listed.ready == advert.ready
    {
        return Ok(());
    }
    let updated = same.map_or(now, |listed| listed.updated);
    store.save_listing(business.id, &advert, updated).await
}

fn advert_of(
    store: &dyn ListingStore,
    vehicle: &Vehicle,
    business: &Business,
    now: Timestamp,
) -> StoreResult<Option<Advert>> {
    let advert = Advert::of(vehicle, business, &store.file_addresses(), now);
    advert.map_err(|failure| StoreError::Other(failure.into()))
}

/// Returns the reason why a listed vehicle is no longer listed.
fn reason(vehicle: &Vehicle) -> RemovalReason {
    let content = &vehicle.content;
    match content.status {
        VehicleStatus::Deleted => RemovalReason::Deleted,
        VehicleStatus::ForSale | VehicleStatus::Reserved | VehicleStatus::Sold | VehicleStatus::Complete => {
            if content.channels.iter().any(|channel| channel == WEBSITE) {
                RemovalReason::Sold
            } else {
                RemovalReason::Unpublished
            }
        }
        _ => RemovalReason::Status,
    }
}

/// Removes an expired listing, unless its time was extended meanwhile.
///
/// # Errors
/// The errors of the store.
pub async fn remove_expired(
    store: &mut dyn ListingStore,
    now: Timestamp,
    DueExpiry { business, vehicle }: DueExpiry,
) -> StoreResult<()> {
    match store.listed(business, vehicle).await? {
        Some(listed) if listed.expires.is_some_and(|expires| expires <= now) => {
            store.remove_listing(business, vehicle, now, RemovalReason::Sold).await
        }
        _ => Ok(()),
    }
}

/// The error found in the listing of a vehicle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Difference {
    /// It should be listed and was not.
    Missing,
    /// The stored listing differed from the one to show.
    Stale,
    /// It was listed and should not be.
    Extra,
}

impl Difference {
    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Stale => "stale",
            Self::Extra => "extra",
        }
    }
}

/// Compares a vehicle's stored listing with the expected one, and corrects it. `vehicle` is locked, or `None` if it was deleted.
///
/// The errors of the store.
pub async fn rebuild(
    store: &mut dyn ListingStore,
    business: &Business,
    id: VehicleId,
    vehicle: Option<&Vehicle>,
    now: Timestamp,
) -> StoreResult<Option<Difference>> {
    let advert = match vehicle {
        Some(vehicle) => advert_of(store, vehicle, business, now)?,
        None => None,
    };
    let stored = store.stored_listing(business.id, id).await?;
    let (advert, stored) = match (advert, stored) {
        (None, None) => return Ok(None),
        (None, Some(_)) => {
            let reason = vehicle.map_or(RemovalReason::Deleted, reason);
            store.remove_listing(business.id, id, now, reason).await?;
            return Ok(Some(Difference::Extra));
        }
        (Some(advert), None) => {
            store.save_listing(business.id, &advert, now).await?;
            return Ok(Some(Difference::Missing));
        }
        (Some(advert), Some(stored)) => (advert, stored),
    };
    let updated = stored.listing.updated;
    let expected = StoredListing {
        listing: Listing {
            id,
            updated,
            hash: advert.hash.clone(),
            json: advert.to_json(updated),
        },
        expires: advert.expires,
        ready: advert.ready,
        facts: advert.facts(),
    };
    if stored == expected {
        return Ok(None);
    }
    // Consumers that copied the wrong listing must notice the change.
    let updated = if stored.listing.json == expected.listing.json {
        updated
    } else {
        now
    };
    store.save_listing(business.id, &advert, updated).await?;
    Ok(Some(Difference::Stale))
}
