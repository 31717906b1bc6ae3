//! Listings: the public adverts of the vehicles on a dealership's website.
//!
//! [`Advert`] is a pure function of a vehicle and its business. It consists of the fields that the vehicle's sections declare for
//! the advert, so private fields cannot reach it. [`follow`] updates the listing of a vehicle in the transaction that changes the
//! vehicle. [`Feed`] writes listings in the formats of advertising platforms. The rules are those of the contract's sections
//! "Listing" and "Listings", and of decisions §8.
//!
//! The feature `testing` adds a store in memory, and the suite that every store must pass, `testing::listing_store_contract`.
//!
//! ```
//! use forecourt_accounts::{Business, Caller};
//! use forecourt_kernel::{BusinessId, Scope, Timestamp, VehicleId, Version, testing::FixedClock};
//! use forecourt_listings::{follow, read_listing, testing::MemoryListings};
//! use forecourt_vehicles::{Vehicle, VehicleTag};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let by = Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), Scope::ListingsRead);
//! let now = Timestamp::from_epoch_seconds(1_767_225_600);
//! let focus = Vehicle {
//!     id: VehicleId::new(1),
//!     tag: VehicleTag::nth(1),
//!     created: now,
//!     updated: now,
//!     version: Version::FIRST,
//!     content: serde_json::from_str(
//!         r#"{"type": "s", "status": "for_sale", "country": "GB", "channels": ["website"],
//!             "data": {"vehicle": {"class": "Car", "make": "Ford", "model": "Focus"}, "stock": {"notes": "secret"}}}"#,
//!     )?,
//! };
//! let mut store = MemoryListings::default();
//! follow(&mut store, &by.business, &focus, now).await?;
//! let listing = read_listing(&mut store, &FixedClock::at(now), &by, focus.id).await?;
//! assert!(listing.json.contains("Focus") && !listing.json.contains("secret"));
//! # Ok(())
//! # }
//! ```

mod advert;
mod error;
mod feeds;
#[cfg(feature = "openapi")]
mod schema;
mod service;
mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use advert::{Advert, AdvertFacts, WEBSITE, content_hash};
pub use error::ListingError;
pub use feeds::{Dealer, Feed, Missing, ReadyFor, write_csv_row};
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

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
