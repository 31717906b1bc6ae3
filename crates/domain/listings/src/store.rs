//! The ports: what this area needs of the storage of its records.

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
    /// When what it shows last changed.
    pub updated: Timestamp,
    /// Changes exactly when what it shows does.
    pub hash: String,
    /// All of it.
    pub json: String,
}

/// What is known of a vehicle's listing without reading it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its hash.
    pub hash: String,
    /// From when on it is shown no more.
    pub expires: Option<Timestamp>,
    /// The feeds that it has all for.
    pub ready: ReadyFor,
    /// When it last changed.
    pub updated: Timestamp,
}

/// All that is stored of a vehicle's listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredListing {
    /// What is shown.
    pub listing: Listing,
    /// From when on it is shown no more.
    pub expires: Option<Timestamp>,
    /// The feeds that it has all for.
    pub ready: ReadyFor,
    /// What it is filtered by.
    pub facts: AdvertFacts,
}

/// Why a vehicle is no longer listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemovalReason {
    /// It was sold longer ago than the business shows sold vehicles.
    Sold,
    /// It was taken off the website.
    Unpublished,
    /// It is in a state in which it is not offered.
    Status,
    /// It was deleted.
    Deleted,
}

impl RemovalReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::Sold, Self::Unpublished, Self::Status, Self::Deleted];

    /// The word for it.
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
    /// Its number among the changes of the business's listings, which rises from 1 in the order in which they were committed.
    pub sequence: i64,
    /// What became of the listing.
    pub to: ChangedTo,
}

/// What became of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangedTo {
    /// It is listed, and shows this.
    Listed(Listing),
    /// It is not listed any more.
    Removed {
        /// The vehicle.
        id: VehicleId,
        /// Since when.
        at: Timestamp,
        /// Why.
        reason: RemovalReason,
    },
}

/// Which changes are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangeRange {
    /// Those with higher numbers.
    pub after: i64,
    /// None with a higher number.
    pub up_to: i64,
    /// Whether removals are among them, or only what is listed.
    pub with_removals: bool,
}

/// How many listings have all that a set of feeds needs, and no other does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadyCount {
    /// The feeds.
    pub ready: ReadyFor,
    /// How many.
    pub listings: i64,
}

/// A line of the manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManifestEntry {
    /// The vehicle.
    pub id: VehicleId,
    /// When its listing last changed.
    pub updated: Timestamp,
    /// Its hash.
    pub hash: String,
}

/// What all listings together are known by: as long as it is the same, so are they.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ManifestState {
    /// Raised with each change of any of them.
    pub revision: i64,
    /// How many are stored whose time is over: they are shown no more, and the revision does not know it yet.
    pub overdue: i64,
}

/// It differs if the states do.
impl fmt::Display for ManifestState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { revision, overdue } = self;
        write!(formatter, "{revision}-{overdue}")
    }
}

/// Which listings a list is of. What is `None` does not narrow it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ListingFilter {
    /// Of this make.
    pub make: Option<TextFilter>,
    /// Of this model.
    pub model: Option<TextFilter>,
    /// With this fuel.
    pub fuel: Option<TextFilter>,
    /// With this transmission.
    pub transmission: Option<TextFilter>,
    /// With this body.
    pub body: Option<TextFilter>,
    /// Of this colour.
    pub colour: Option<TextFilter>,
    /// Of these years.
    pub year: Option<Range<i64>>,
    /// With so many miles.
    pub mileage: Option<Range<i64>>,
    /// At this price, in minor units.
    pub price: Option<Range<i64>>,
    /// Changed at or after.
    pub updated_since: Option<Timestamp>,
    /// Changed before.
    pub updated_before: Option<Timestamp>,
}

impl ListingFilter {
    /// Whether an advert last changed at `updated` passes.
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
    /// The listing of a vehicle.
    async fn listing(&mut self, business: BusinessId, id: VehicleId, now: Timestamp) -> StoreResult<Option<Listing>>;

    /// A page of the business's listings that pass `filter`, by `updated`, then id, ascending: a cursor has both.
    async fn listings(
        &mut self,
        business: BusinessId,
        filter: &ListingFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> StoreResult<Page<Listing>>;

    /// At most `limit` entries of the manifest behind the vehicle `after`, by id.
    async fn manifest(
        &mut self,
        business: BusinessId,
        after: VehicleId,
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<ManifestEntry>>;

    /// What all listings are known by at `now`. What is read after it is no older. The revision is the number of the latest change.
    async fn manifest_state(&mut self, business: BusinessId, now: Timestamp) -> StoreResult<ManifestState>;

    /// The first `limit` of the changes in `range`, in the order of their numbers; of each vehicle the latest alone.
    async fn listing_changes(
        &mut self,
        business: BusinessId,
        range: ChangeRange,
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<Change>>;

    /// The number behind which no removal is missing; 0 if none was ever forgotten.
    async fn removals_kept_since(&mut self, business: BusinessId) -> StoreResult<i64>;

    /// How many listings have all that feeds need, by the feeds.
    async fn ready_counts(&mut self, business: BusinessId, now: Timestamp) -> StoreResult<Vec<ReadyCount>>;

    /// The vehicles whose listings have all that `feed` needs, by id.
    async fn ready_listings(&mut self, business: BusinessId, feed: Feed, now: Timestamp)
    -> StoreResult<Vec<VehicleId>>;

    /// The listings of these vehicles, as far as there are any, by id.
    async fn listings_of(
        &mut self,
        business: BusinessId,
        ids: &[VehicleId],
        now: Timestamp,
    ) -> StoreResult<Vec<Listing>>;
}

/// A listing whose time is over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DueExpiry {
    /// Whose it is.
    pub business: BusinessId,
    /// Of which vehicle.
    pub vehicle: VehicleId,
}

/// How far the listings of a business have been made anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Build {
    /// For the business as it was changed then.
    pub of: Timestamp,
    /// The vehicles with lower ids are still to be looked at; `None` if none is.
    pub below: Option<VehicleId>,
}

/// Where listings are kept. All that is done through one of them commits together or not at all.
#[async_trait]
pub trait ListingStore: ListingReader {
    /// Where the pictures and films of vehicles are read: stored listings have their addresses.
    fn file_addresses(&self) -> FileAddresses;

    /// What is stored of a vehicle's listing, whether its time is over or not. No other transaction changes it until this one ends.
    async fn listed(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Listed>>;

    /// All that is stored of a vehicle's listing, whether its time is over or not.
    async fn stored_listing(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<StoredListing>>;

    /// At most `limit` vehicles above `after` of whose listings anything is stored, by id.
    async fn stored_listings(
        &mut self,
        business: BusinessId,
        after: VehicleId,
        limit: u32,
    ) -> StoreResult<Vec<VehicleId>>;

    /// Stores a listing in the place of what was stored of the vehicle, as the latest change.
    async fn save_listing(&mut self, business: BusinessId, advert: &Advert, updated: Timestamp) -> StoreResult<()>;

    /// Removes the listing of a vehicle, if there is one, as the latest change.
    async fn remove_listing(
        &mut self,
        business: BusinessId,
        id: VehicleId,
        at: Timestamp,
        reason: RemovalReason,
    ) -> StoreResult<()>;

    /// Forgets at most `limit` removals of all businesses from before `before`, and returns how many. A removal that is newer than
    /// the latest change of any listing is kept: a copy that begins anew passes it on its way.
    async fn purge_removals(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;

    /// At most `limit` listings of all businesses whose time is over by `now`, the first to end first.
    async fn due_expiries(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueExpiry>>;

    /// At most `limit` businesses with vehicles whose listings are not known to be made of what the business is: those that have none
    /// yet, and those that last changed by `settled`.
    async fn due_builds(&mut self, settled: Timestamp, limit: u32) -> StoreResult<Vec<BusinessId>>;

    /// Locks the progress of a rebuild of the business's listings until the transaction ends, and returns it; `None` if another
    /// transaction holds it.
    async fn lock_build(&mut self, business: BusinessId) -> StoreResult<Option<Build>>;

    /// Notes how far they have been.
    async fn save_build(&mut self, business: BusinessId, build: Build) -> StoreResult<()>;
}
