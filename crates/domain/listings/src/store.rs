//! The ports to the storage of listings.

use std::fmt;

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, Page, PageRequest, Range, StoreResult, TextFilter, Timestamp, VehicleId};
use forecourt_vehicles::FileAddresses;

use crate::{Advert, AdvertFacts, Feed, ReadyFor};

/// A listing, ready to be shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// The vehicle.
    pub id: VehicleId,
    /// The time at which its content last changed.
    pub updated: Timestamp,
    /// A digest that changes exactly when the content does.
    pub hash: String,
    /// The whole listing, as JSON.
    pub json: String,
}

/// A summary of a stored listing, without its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its hash.
    pub hash: String,
    /// The time from which it is no longer shown; `None` if that is not known yet.
    pub expires: Option<Timestamp>,
    /// The feeds whose requirements it meets.
    pub ready: ReadyFor,
    /// The time of its last change.
    pub updated: Timestamp,
}

/// Everything that is stored of a vehicle's listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredListing {
    /// The listing as it is shown.
    pub listing: Listing,
    /// The time from which it is no longer shown; `None` if that is not known yet.
    pub expires: Option<Timestamp>,
    /// The feeds whose requirements it meets.
    pub ready: ReadyFor,
    /// The values that it is filtered by.
    pub facts: AdvertFacts,
}

/// The reason why a vehicle is no longer listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemovalReason {
    /// It was sold, and the period in which the business shows sold vehicles is over.
    Sold,
    /// It was taken off the website.
    Unpublished,
    /// Its state is not one in which vehicles are offered.
    Status,
    /// It was deleted.
    Deleted,
}

impl RemovalReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::Sold, Self::Unpublished, Self::Status, Self::Deleted];

    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sold => "sold",
            Self::Unpublished => "unpublished",
            Self::Status => "status",
            Self::Deleted => "deleted",
        }
    }
}

/// The latest change of a vehicle's listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Its number among the changes of the business's listings. Numbers rise from 1 in the order of commits.
    pub sequence: i64,
    /// The state after the change.
    pub to: ChangedTo,
}

/// The state of a listing after a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangedTo {
    /// It is listed with this content.
    Listed(Listing),
    /// It is no longer listed.
    Removed {
        /// The vehicle.
        id: VehicleId,
        /// The time of the removal.
        at: Timestamp,
        /// The reason.
        reason: RemovalReason,
    },
}

/// A range of changes to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangeRange {
    /// Excludes this number and all lower ones.
    pub after: i64,
    /// Excludes all higher numbers.
    pub up_to: i64,
    /// `true` to include removals, `false` to read only vehicles that are listed.
    pub with_removals: bool,
}

/// The number of listings that are ready for exactly one set of feeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadyCount {
    /// The feeds.
    pub ready: ReadyFor,
    /// Number of listings.
    pub listings: i64,
}

/// An entry of the manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManifestEntry {
    /// The vehicle.
    pub id: VehicleId,
    /// The time at which its listing last changed.
    pub updated: Timestamp,
    /// Its hash.
    pub hash: String,
}

/// A fingerprint of all listings together: as long as it is the same, they are unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ManifestState {
    /// Raised with each change of any listing.
    pub revision: i64,
    /// Number of stored listings that have expired. They are no longer shown, but the revision does not count their removal yet.
    pub overdue: i64,
}

/// Different states have different texts.
impl fmt::Display for ManifestState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { revision, overdue } = self;
        write!(formatter, "{revision}-{overdue}")
    }
}

/// A filter of listings. A field that is `None` does not restrict the result.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ListingFilter {
    /// Make.
    pub make: Option<TextFilter>,
    /// Model.
    pub model: Option<TextFilter>,
    /// Fuel.
    pub fuel: Option<TextFilter>,
    /// Transmission.
    pub transmission: Option<TextFilter>,
    /// Body.
    pub body: Option<TextFilter>,
    /// Colour.
    pub colour: Option<TextFilter>,
    /// Model year.
    pub year: Option<Range<i64>>,
    /// Mileage, in miles.
    pub mileage: Option<Range<i64>>,
    /// Price, in minor units.
    pub price: Option<Range<i64>>,
    /// Last change at or after this time.
    pub updated_since: Option<Timestamp>,
    /// Last change before this time.
    pub updated_before: Option<Timestamp>,
}

impl ListingFilter {
    /// Returns `true` if the filter accepts an advert that last changed at `updated`.
    pub fn matches(&self, facts: &AdvertFacts, updated: Timestamp) -> bool {
        let text = |filter: &Option<TextFilter>, text: &str| filter.as_ref().is_none_or(|filter| filter.matches(text));
        let number = |range: Option<Range<i64>>, number: Option<i64>| {
            range.is_none_or(|range| number.is_some_and(|number| range.contains(&number)))
        };
        text(&self.make, &facts.make)
            && text(&self.model, &facts.model)
            && text(&self.fuel, &facts.fuel)
            && text(&self.transmission, &facts.transmission)
            && text(&self.body, &facts.body)
            && text(&self.colour, &facts.colour)
            && number(self.year, facts.year)
            && number(self.mileage, facts.mileage)
            && number(self.price, facts.price)
            && self.updated_since.is_none_or(|since| updated >= since)
            && self.updated_before.is_none_or(|before| updated < before)
    }
}

/// Reads listings. A listing that has expired by `now` is not returned.
#[async_trait]
pub trait ListingReader: Send {
    /// Returns the listing of a vehicle.
    async fn listing(&mut self, business: BusinessId, id: VehicleId, now: Timestamp) -> StoreResult<Option<Listing>>;

    /// Returns a page of the business's listings that pass `filter`, by `updated`, then id, ascending. A cursor holds both.
    async fn listings(
        &mut self,
        business: BusinessId,
        filter: &ListingFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> StoreResult<Page<Listing>>;

    /// Returns at most `limit` entries of the manifest after the vehicle `after`, by id.
    async fn manifest(
        &mut self,
        business: BusinessId,
        after: VehicleId,
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<ManifestEntry>>;

    /// Returns the fingerprint of all listings at `now`. Later reads return nothing older. The revision is the number of the
    /// latest change.
    async fn manifest_state(&mut self, business: BusinessId, now: Timestamp) -> StoreResult<ManifestState>;

    /// Returns the first `limit` changes in `range`, in the order of their numbers, and only the latest change of each vehicle.
    async fn listing_changes(
        &mut self,
        business: BusinessId,
        range: ChangeRange,
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<Change>>;

    /// Returns the number after which no removal is missing, or 0 if none was ever purged.
    async fn removals_kept_since(&mut self, business: BusinessId) -> StoreResult<i64>;

    /// Counts the listings by the set of feeds that they are ready for.
    async fn ready_counts(&mut self, business: BusinessId, now: Timestamp) -> StoreResult<Vec<ReadyCount>>;

    /// Returns the vehicles whose listings are ready for `feed`, by id.
    async fn ready_listings(&mut self, business: BusinessId, feed: Feed, now: Timestamp)
    -> StoreResult<Vec<VehicleId>>;

    /// Returns the listings of those of these vehicles that have one, by id.
    async fn listings_of(
        &mut self,
        business: BusinessId,
        ids: &[VehicleId],
        now: Timestamp,
    ) -> StoreResult<Vec<Listing>>;
}

/// A listing that has expired.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DueExpiry {
    /// The business that owns it.
    pub business: BusinessId,
    /// The vehicle.
    pub vehicle: VehicleId,
}

/// The progress of rebuilding the listings of a business.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Build {
    /// The time of the business's change that the rebuild is for.
    pub of: Timestamp,
    /// The vehicles with lower ids are still to be rebuilt; `None` if none is left.
    pub below: Option<VehicleId>,
}

/// Stores listings. All operations through one store commit together or not at all.
#[async_trait]
pub trait ListingStore: ListingReader {
    /// Returns the public addresses of files. Stored listings contain those of the vehicle's pictures and videos.
    fn file_addresses(&self) -> FileAddresses;

    /// Returns the summary of a vehicle's listing, expired or not. No other transaction changes it until this one ends.
    async fn listed(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Listed>>;

    /// Returns everything stored of a vehicle's listing, expired or not.
    async fn stored_listing(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<StoredListing>>;

    /// Returns at most `limit` vehicles above `after` that have a stored listing, by id.
    async fn stored_listings(
        &mut self,
        business: BusinessId,
        after: VehicleId,
        limit: u32,
    ) -> StoreResult<Vec<VehicleId>>;

    /// Stores a listing, which replaces the vehicle's earlier one, as the latest change.
    async fn save_listing(&mut self, business: BusinessId, advert: &Advert, updated: Timestamp) -> StoreResult<()>;

    /// Removes the listing of a vehicle, if there is one, as the latest change.
    async fn remove_listing(
        &mut self,
        business: BusinessId,
        id: VehicleId,
        at: Timestamp,
        reason: RemovalReason,
    ) -> StoreResult<()>;

    /// Deletes at most `limit` removals of all businesses from before `before`, and returns their number. A removal is kept while
    /// a listing of the business has a lower number than it: a reader that starts from 0 passes the removal after that listing.
    async fn purge_removals(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;

    /// Returns at most `limit` listings of all businesses that have expired by `now`, the first to expire first.
    async fn due_expiries(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueExpiry>>;

    /// Returns at most `limit` businesses with vehicles whose listings need a rebuild: those never built, those whose rebuild is
    /// unfinished, and those that changed since their last rebuild, by `settled`.
    async fn due_builds(&mut self, settled: Timestamp, limit: u32) -> StoreResult<Vec<BusinessId>>;

    /// Locks the progress of a rebuild of the business's listings until the transaction ends, and returns it. `None` if another
    /// transaction holds the lock.
    async fn lock_build(&mut self, business: BusinessId) -> StoreResult<Option<Build>>;

    /// Stores the progress of a rebuild.
    async fn save_build(&mut self, business: BusinessId, build: Build) -> StoreResult<()>;
}
