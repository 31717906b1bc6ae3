//! The advert of a vehicle: the public part of its record.

use std::fmt::Write as _;

use forecourt_accounts::Business;
use forecourt_kernel::{BusinessId, Money, ScopeSet, Timestamp, VehicleId, fold};
use forecourt_vehicles::{Detail, FileAddresses, Media, Vehicle, VehicleView};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{Dealer, ReadyFor};

/// The channel of the dealership's own website.
pub const WEBSITE: &str = "website";

/// Number of digest bytes that identify a version of an advert.
const HASH_BYTES: usize = 16;

/// The advert of a vehicle, as a website shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Advert {
    /// The vehicle.
    pub vehicle: VehicleId,
    /// A digest that changes exactly when the content does.
    pub hash: String,
    /// The whole advert except `updated` and `hash`.
    pub(crate) content: Map<String, Value>,
    /// The time from which it is no longer shown; `None` if that is not known yet.
    pub expires: Option<Timestamp>,
    /// The feeds whose requirements it meets.
    pub ready: ReadyFor,
}

/// The values that listings are filtered by. Texts are case-folded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AdvertFacts {
    /// Make.
    pub make: String,
    /// Model.
    pub model: String,
    /// Fuel.
    pub fuel: String,
    /// Transmission.
    pub transmission: String,
    /// Body.
    pub body: String,
    /// Colour.
    pub colour: String,
    /// Model year, from the vehicle's history.
    pub year: Option<i64>,
    /// Mileage, in miles.
    pub mileage: Option<i64>,
    /// Website price in minor units; `None` for a price on application.
    pub price: Option<i64>,
}

impl Advert {
    /// Returns the advert of `vehicle` on the website of `business` at `now`, with its files at `addresses`. `None` if the
    /// vehicle is not listed.
    ///
    /// # Errors
    /// None known: every value of a vehicle can be written as JSON.
    pub fn of(
        vehicle: &Vehicle,
        business: &Business,
        addresses: &FileAddresses,
        now: Timestamp,
    ) -> serde_json::Result<Option<Self>> {
        let Some(expires) = listed_until(vehicle, business) else {
            return Ok(None);
        };
        if expires.is_some_and(|expires| expires <= now) {
            return Ok(None);
        }
        let view = VehicleView::new(vehicle, business, Detail::Advert, ScopeSet::NONE);
        let mut content = match serde_json::to_value(view)? {
            Value::Object(content) => content,
            _ => Map::new(),
        };
        // The listing has its own time: the vehicle's also advances with changes that are not shown.
        content.remove("updated");
        content.insert(
            "media".to_owned(),
            media(&vehicle.content.media, business.id, addresses),
        );
        let hash = hash_of(&content)?;
        let content = Value::Object(content);
        let ready = ReadyFor::of(&Dealer::from(business), &content);
        let Value::Object(content) = content else {
            return Ok(None);
        };
        Ok(Some(Self {
            vehicle: vehicle.id,
            hash,
            content,
            expires,
            ready,
        }))
    }

    /// Returns the listing as JSON, last changed at `updated`.
    pub fn to_json(&self, updated: Timestamp) -> String {
        let mut content = self.content.clone();
        content.insert("updated".to_owned(), updated.epoch_seconds().into());
        content.insert("hash".to_owned(), self.hash.clone().into());
        Value::Object(content).to_string()
    }

    /// Returns the values to filter it by.
    pub fn facts(&self) -> AdvertFacts {
        let data = self.content.get("data");
        let member = |section: &str, name: &str| data.and_then(|data| data.get(section)?.get(name));
        let text = |name: &str| fold(member("vehicle", name).and_then(Value::as_str).unwrap_or_default());
        let price = member("stock", "price_website").and_then(Value::as_str);
        AdvertFacts {
            make: text("make"),
            model: text("model"),
            fuel: text("fuel"),
            transmission: text("transmission"),
            body: text("body"),
            colour: text("colour"),
            year: member("history", "year").and_then(Value::as_i64),
            mileage: member("vehicle", "mileage").and_then(Value::as_i64),
            price: price.and_then(|price| price.parse::<Money>().ok()).map(Money::minor),
        }
    }
}

/// Returns the time until which a vehicle is listed: `None` if it is not listed, `Some(None)` if it has no known end.
fn listed_until(vehicle: &Vehicle, business: &Business) -> Option<Option<Timestamp>> {
    let is_published = vehicle.content.channels.iter().any(|channel| channel == WEBSITE);
    is_published.then(|| vehicle.advertised_until(business)).flatten()
}

/// A picture or video of an advert.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(crate) struct ListingMedium {
    /// Public address.
    url: String,
    /// Kind of the medium.
    #[cfg_attr(feature = "openapi", schema(value_type = forecourt_vehicles::MediumKind))]
    r#type: &'static str,
    /// Position in the order of display, from 1.
    position: i64,
}

/// Returns the pictures and videos, numbered in the order of display.
fn media(media: &Media, business: BusinessId, addresses: &FileAddresses) -> Value {
    let media = (1..).zip(media.as_slice());
    media
        .map(|(position, medium)| {
            let medium = ListingMedium {
                url: medium.address(business, addresses),
                r#type: medium.kind().name(),
                position,
            };
            serde_json::to_value(medium).unwrap_or_default()
        })
        .collect()
}

/// Returns the hash of a listing's content.
fn hash_of(content: &Map<String, Value>) -> serde_json::Result<String> {
    let digest = Sha256::digest(serde_json::to_vec(content)?);
    let mut hash = String::with_capacity(2 * HASH_BYTES);
    for byte in digest.iter().take(HASH_BYTES) {
        // Writing to a string does not fail.
        let _ = write!(hash, "{byte:02x}");
    }
    Ok(hash)
}

/// Returns the hash that a stored listing ([`Advert::to_json`]) must have; `None` if it is no listing.
pub fn content_hash(listing: &str) -> Option<String> {
    let Ok(Value::Object(mut content)) = serde_json::from_str(listing) else {
        return None;
    };
    content.shift_remove("updated");
    content.shift_remove("hash");
    hash_of(&content).ok()
}
