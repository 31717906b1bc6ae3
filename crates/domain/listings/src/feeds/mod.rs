//! Feeds of the listings, in the formats of advertising platforms and aggregators (decisions §8).
//!
//! A feed consists of listings, which are public, and of the [`Dealer`]; nothing else can reach it. [`Feed::missing`] and
//! [`Feed::append`] read a listing through the same functions, so every listing that is ready is also valid: a value that a
//! format does not accept counts as missing. Each format's module names the public specification that it follows.

mod common;
mod csv;
mod google;
mod meta;
mod schema_org;

use forecourt_accounts::Business;
use forecourt_kernel::Currency;
use serde_json::Value;

use self::common::Item;
pub use self::common::write_csv_row;

/// A feed of the listings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Feed {
    /// Primary feed for Google vehicle ads, tab-separated.
    Google,
    /// Automotive inventory catalogue of Meta (Facebook and Instagram), comma-separated.
    Meta,
    /// JSON-LD document in the vocabulary of schema.org.
    SchemaOrg,
    /// Flat comma-separated file for aggregators.
    Csv,
}

impl Feed {
    /// Every feed, in the order of display. Append only: storage keeps the bits of [`ReadyFor`] in this order.
    pub const ALL: [Self; 4] = [Self::Google, Self::Meta, Self::SchemaOrg, Self::Csv];

    /// Returns the name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::Meta => "meta",
            Self::SchemaOrg => "schema-org",
            Self::Csv => "csv",
        }
    }

    /// Returns the feed of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feed| feed.name() == name)
    }

    /// Returns the media type of the output.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Google => "text/tab-separated-values; charset=utf-8",
            Self::Meta | Self::Csv => "text/csv; charset=utf-8",
            Self::SchemaOrg => "application/ld+json",
        }
    }

    /// Returns the fields that the feed still needs; empty if the listing is ready for it.
    pub fn missing(self, dealer: &Dealer<'_>, listing: &Value) -> Vec<Missing> {
        let item = Item::new(listing);
        match self {
            Self::Google => google::missing(dealer, item),
            Self::Meta => meta::missing(item),
            Self::SchemaOrg => schema_org::missing(item),
            Self::Csv => csv::missing(item),
        }
    }

    /// Writes the part before the first listing: the header line, or the opening of the document.
    pub fn start(self, out: &mut Vec<u8>) {
        match self {
            Self::Google => google::start(out),
            Self::Meta => meta::start(out),
            Self::SchemaOrg => schema_org::start(out),
            Self::Csv => csv::start(out),
        }
    }

    /// Writes a listing that is ready ([`Self::missing`] is empty). `is_first` is `true` for the first one of the output. A
    /// listing that is not ready is written too, with gaps that the platform refuses.
    pub fn append(self, dealer: &Dealer<'_>, listing: &Value, is_first: bool, out: &mut Vec<u8>) {
        let item = Item::new(listing);
        match self {
            Self::Google => google::append(dealer, item, out),
            Self::Meta => meta::append(dealer, item, out),
            Self::SchemaOrg => schema_org::append(dealer, item, is_first, out),
            Self::Csv => csv::append(dealer, item, out),
        }
    }

    /// Writes the part after the last listing.
    pub fn end(self, out: &mut Vec<u8>) {
        match self {
            Self::Google | Self::Meta | Self::Csv => {}
            Self::SchemaOrg => schema_org::end(out),
        }
    }

    /// Returns the feed's bit in [`ReadyFor`].
    const fn bit(self) -> u8 {
        match self {
            Self::Google => 1,
            Self::Meta => 1 << 1,
            Self::SchemaOrg => 1 << 2,
            Self::Csv => 1 << 3,
        }
    }
}

/// The dealership's data in feeds; all of it is public.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dealer<'a> {
    /// The business's short name. Platforms that identify dealerships by a code of the dealer's choice get this one.
    pub tag: &'a str,
    /// The business's name.
    pub name: &'a str,
    /// The address of its website; empty if it has none.
    pub website: &'a str,
    /// The currency of its prices.
    pub currency: Currency,
    /// Its country, by ISO 3166-1 alpha-2.
    pub country: &'a str,
}

impl<'a> From<&'a Business> for Dealer<'a> {
    fn from(business: &'a Business) -> Self {
        Self {
            tag: &business.tag,
            name: &business.name,
            website: &business.website,
            currency: business.country.currency(),
            country: business.country.code(),
        }
    }
}

/// A field that a feed needs and a listing lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// The field to fill in or to correct, as a path in the listing: `data.vehicle.colour`, `media`, `status`.
    pub field: String,
    /// The reason, as a sentence for the dealer.
    pub reason: String,
}

/// The feeds that a listing is ready for. Storage keeps one bit of it for each feed, in the order of [`Feed::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ReadyFor(u8);

impl ReadyFor {
    /// Returns the feeds that `listing` is ready for.
    pub fn of(dealer: &Dealer<'_>, listing: &Value) -> Self {
        let ready = Feed::ALL
            .into_iter()
            .filter(|feed| feed.missing(dealer, listing).is_empty());
        Self(ready.fold(0, |bits, feed| bits | feed.bit()))
    }

    /// Reads stored bits; bits of no feed are ignored.
    pub fn from_bits(bits: u8) -> Self {
        Self(bits & Feed::ALL.into_iter().fold(0, |known, feed| known | feed.bit()))
    }

    /// Returns the bits to store.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns `true` if the listing is ready for `feed`.
    pub const fn contains(self, feed: Feed) -> bool {
        self.0 & feed.bit() != 0
    }
}
