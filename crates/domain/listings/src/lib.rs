//! Listings: what the public may know of the vehicles that a dealership advertises on its website.
//!
//! [`Advert`] is a pure function of a vehicle and its business, made of the fields that the vehicle's sections declare for the
//! advert and of nothing else: what is not for the public cannot reach it. [`follow`] keeps the listing of a vehicle in step with
//! it, in the transaction that changes the vehicle. [`Feed`] writes listings in the formats that advertising platforms take. The
//! rules are those of the contract's sections "Listing" and "Listings", and of decisions §8.

mod advert;
mod error;
mod feeds;
#[cfg(feature = "openapi")]
mod schema;
mod service;
mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use advert::{Advert, AdvertFacts, WEBSITE};
pub use error::ListingError;
pub use feeds::{Dealer, Feed, Missing, ReadyFor};
pub use forecourt_vehicles::FileAddresses;
#[cfg(feature = "openapi")]
pub use schema::ListingSchema;
pub use service::{
    ChangePage, Difference, continue_changes, follow, list_changes, list_listings, read_listing, rebuild,
    remove_expired,
};
pub use store::{
    Build, Change, ChangeRange, ChangedTo, DueExpiry, Listed, Listing, ListingFilter, ListingReader, ListingStore,
    ManifestEntry, ManifestState, ReadyCount, RemovalReason, StoredListing,
};
