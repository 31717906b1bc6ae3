//! The record of a vehicle.

use forecourt_accounts::Business;
use forecourt_kernel::{ContactId, Country, StaffId, Timestamp, VehicleId, Version};
use forecourt_reference::{Catalogue, RecordTags, StockType, TagChoice};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::slug::{self, slug_within};
use crate::{
    Acquisition, AppraisalOffer, ChannelOptions, Data, Media, Registration, Reservations, Sale, VehicleStatus,
    VehicleTag,
};

/// Number of days for which a sold vehicle is advertised, unless its business sets another.
const SOLD_RETENTION_DAYS: u32 = 14;

const SECONDS_PER_DAY: i64 = 86_400;

/// The content of a vehicle: everything except its id, its tag, its version and its timestamps.
///
/// Storage keeps its serialised form as one document: a new member needs `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct VehicleDraft {
    /// Its stock type.
    #[serde(rename = "type", serialize_with = "key_of", deserialize_with = "kind_of")]
    pub kind: StockType,
    /// Its current state.
    pub status: VehicleStatus,
    /// The country that it is in.
    pub country: Country,
    /// Its registration mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration: Option<Registration>,
    /// The staff user that it is assigned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<StaffId>,
    /// The record that it is a variant of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<VehicleId>,
    /// The tags that it carries.
    #[serde(default, rename = "tag", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<TagChoice>,
    /// The ids of the channels that it is published on, in the order of the business's list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// The advertising options of the channels.
    #[serde(default, skip_serializing_if = "ChannelOptions::is_unset")]
    pub channel_options: ChannelOptions,
    /// The sections of its data.
    pub data: Box<Data>,
    /// Its pictures and videos.
    #[serde(default, skip_serializing_if = "Media::is_empty")]
    pub media: Media,
    /// Its current reservation and the former ones.
    #[serde(default, skip_serializing_if = "Reservations::is_empty")]
    pub reservation: Reservations,
    /// Its sale, while it is sold or complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale: Option<Sale>,
    /// The offer for it, if it is an appraisal: the values that are not part of its data.
    #[serde(default, skip_serializing_if = "AppraisalOffer::is_empty")]
    pub offer: AppraisalOffer,
    /// Its acquisition, while it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acquisition: Option<Acquisition>,
    /// Its number in the stock book, while its entry there is not returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock_number: Option<i64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn key_of<S: Serializer>(kind: &StockType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.key())
}

fn kind_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StockType, D::Error> {
    let key = std::borrow::Cow::<str>::deserialize(deserializer)?;
    key.parse().map_err(serde::de::Error::custom)
}

/// A vehicle.
#[derive(Clone, PartialEq, Debug)]
pub struct Vehicle {
    /// Its id, unique across businesses.
    pub id: VehicleId,
    /// Its code, unique within the business.
    pub tag: VehicleTag,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// The version, raised with each change.
    pub version: Version,
    /// Everything else.
    pub content: VehicleDraft,
}

impl Vehicle {
    /// Returns the last part of its public address: year, make, model, derivative and tag (decisions §7). The tag distinguishes
    /// vehicles, so it is kept however long the names are.
    pub fn url(&self) -> String {
        let Data { vehicle, history, .. } = &*self.content.data;
        let year = history.year.map(|year| year.get().to_string()).unwrap_or_default();
        let tag = self.tag.as_str().to_ascii_lowercase();
        let names = [&*year, &vehicle.make, &vehicle.model, &vehicle.derivative];
        match slug_within(slug::MAX_CHARS - 1 - tag.len(), names) {
            names if names.is_empty() => tag,
            names => format!("{names}-{tag}"),
        }
    }

    /// Describes the vehicle for an invoice or a letter: year, make, model and registration, or its tag if it has none of them.
    pub fn description(&self) -> String {
        let Data { vehicle, history, .. } = &*self.content.data;
        let year = history.year.map(|year| year.get().to_string()).unwrap_or_default();
        let mark = self.content.registration.as_ref().map(ToString::to_string);
        let words = [
            &*year,
            &vehicle.make,
            &vehicle.model,
            mark.as_deref().unwrap_or_default(),
        ];
        let words: Vec<_> = words
            .into_iter()
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .collect();
        if words.is_empty() {
            self.tag.to_string()
        } else {
            words.join(" ")
        }
    }

    /// Returns the time of its sale; `None` unless it is sold or complete. A vehicle that was sold without a recorded sale has
    /// none either.
    pub fn sold_at(&self) -> Option<Timestamp> {
        self.content.sale.as_ref().map(|sale| sale.at)
    }

    /// Returns the time until which its channels advertise it: `None` if they do not, `Some(None)` if there is no known end. For
    /// a sold vehicle the period begins with the day of the sale, or with the time of recording if that is the same day
    /// (decisions §8).
    pub fn advertised_until(&self, business: &Business) -> Option<Option<Timestamp>> {
        let content = &self.content;
        if !matches!(content.kind, StockType::InStock | StockType::ToOrder) {
            return None;
        }
        match content.status {
            VehicleStatus::ForSale | VehicleStatus::Reserved => Some(None),
            VehicleStatus::Sold | VehicleStatus::Complete => {
                let days = business.settings.sold_retention_days.unwrap_or(SOLD_RETENTION_DAYS);
                // For a vehicle that was loaded without its sale, the period begins with its last change.
                let sold = content.sale.as_ref().map_or(self.updated, |sale| match sale.at.date() {
                    day if day == sale.date => sale.at,
                    _ => sale.date.midnight(),
                });
                (days > 0).then(|| Some(sold.plus_seconds(i64::from(days) * SECONDS_PER_DAY)))
            }
            _ => None,
        }
    }

    /// Returns `true` if its channels advertise it at `now`.
    pub(crate) fn is_advertised(&self, business: &Business, now: Timestamp) -> bool {
        match self.advertised_until(business) {
            Some(until) => until.is_none_or(|until| until > now),
            None => false,
        }
    }

    /// Returns the contacts that it is or was reserved for and the one that it is sold to; a contact may occur more than once.
    /// The vehicle changes when one of them is erased ([`forget_person_in_vehicle`](crate::forget_person_in_vehicle)).
    pub fn buyers(&self) -> impl Iterator<Item = ContactId> {
        let sale = self.content.sale.as_ref().and_then(|sale| sale.customer);
        let reservations = self.content.reservation.all();
        reservations.filter_map(|reservation| reservation.customer).chain(sale)
    }

    /// Returns its tags, together with those that vehicles of its stock type can have.
    pub fn tags<'a>(&'a self, catalogue: &'a Catalogue) -> RecordTags<'a> {
        catalogue.record_tags(self.content.kind, &self.content.tags)
    }
}
