//! Publishing a vehicle on channels (contract, "Vehicles": channels; decisions §7).

use forecourt_accounts::Business;
use forecourt_kernel::Timestamp;
use forecourt_reference::{Channel, StockType};
use serde::Serialize;

use crate::declare::{Detail, FieldValue, ViewContext, section};
use crate::{Data, MediumKind, Vehicle, VehicleDraft, VehicleStatus};

section! {
    /// The advertising options of the channels.
    pub struct ChannelOptions: ChannelOptionsPatch {
        /// Options of platform_a.
        platform_a: PlatformA;
        /// Options of platform_b.
        platform_b: PlatformB;
    }
}

section! {
    /// The advertising options of platform_a.
    pub struct PlatformA: PlatformAPatch {
        /// Show it in the search of platform_a.
        advert: bool;
        /// Show it on the dealer's own website by way of platform_a.
        advertiser: bool;
        /// Show it on the dealer's page.
        profile: bool;
        /// Show it in the manufacturer's locator.
        locator: bool;
        /// Advertise it as a demonstrator.
        demo: bool;
        /// Advertise it with the price on application.
        poa: bool;
        /// Leave it out of exports.
        exclude: bool;
        /// Overwrite entries that were made on platform_a.
        overwrite: bool;
        /// Show differences to platform_a.
        discrepancy: bool;
    }
}

section! {
    /// The advertising options of platform_b.
    pub struct PlatformB: PlatformBPatch {
        /// Place of collection.
        location: String;
    }
}

impl ChannelOptions {
    pub(crate) fn is_unset(&self) -> bool {
        *self == Self::default()
    }
}

/// The channels of a vehicle.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleChannels))]
pub struct ChannelsView<'a> {
    /// `true` if it is published on a channel.
    published: bool,
    /// Channels of the business.
    channels: Vec<ChannelView<'a>>,
    /// Advertising options of the channels.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::view::ChannelOptionsSchema))]
    options: OptionsView<'a>,
}

/// A channel, and the state of a vehicle on it.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleChannel))]
struct ChannelView<'a> {
    /// Channel id.
    id: &'a str,
    /// Name of the channel.
    name: &'a str,
    /// Category of the channel.
    category: &'a str,
    /// `true` if the vehicle is published on the channel.
    enabled: bool,
    /// `true` if the vehicle is being removed from the channel.
    removing: bool,
    /// `true` if the channel does not show it: it is not published there, is a draft, or was sold too long ago.
    offline: bool,
    /// Reason why the channel cannot show it; empty if there is none.
    error: &'a str,
}

#[derive(Clone, Copy, Debug)]
struct OptionsView<'a> {
    options: &'a ChannelOptions,
    business: &'a Business,
}

impl Serialize for OptionsView<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let context = ViewContext::new(Detail::Full, false, self.business);
        self.options.show(&context, serializer)
    }
}

impl<'a> ChannelsView<'a> {
    /// Returns the state of `vehicle` on the channels of `business` at `now`.
    pub fn new(vehicle: &'a Vehicle, business: &'a Business, now: Timestamp) -> Self {
        let content = &vehicle.content;
        let shown = vehicle.is_advertised(business, now);
        let channel = |channel: &'a Channel| {
            let enabled = content.channels.contains(&channel.id);
            ChannelView {
                id: &channel.id,
                name: &channel.name,
                category: &channel.category,
                enabled,
                removing: false,
                offline: !(enabled && shown),
                error: "",
            }
        };
        let channels: Vec<_> = business.catalogue.channels.iter().map(channel).collect();
        Self {
            published: channels.iter().any(|channel| channel.enabled),
            channels,
            options: OptionsView {
                options: &content.channel_options,
                business,
            },
        }
    }
}

/// Returns the dot-paths of the fields that publishing needs and that are empty (decisions §7).
pub(crate) fn missing_for_publishing(content: &VehicleDraft) -> Vec<&'static str> {
    let data = &content.data;
    let price = data.stock.price_website.is_some_and(|price| price.minor() > 0);
    let mut missing = missing_of_identity(data);
    missing.extend(absent(&[(
        "data.stock.price_website",
        price || data.setting.is_price_on_application(),
    )]));
    missing
}

/// Returns the dot-paths of the identity fields that are empty. A vehicle needs them to be published or taken into stock
/// (decisions §7).
pub(crate) fn missing_of_identity(data: &Data) -> Vec<&'static str> {
    let vehicle = &data.vehicle;
    absent(&[
        ("data.vehicle.type", vehicle.class.0.is_some()),
        ("data.vehicle.make", !vehicle.make.trim().is_empty()),
        ("data.vehicle.model", !vehicle.model.trim().is_empty()),
    ])
}

/// Returns the dot-paths of empty fields that buyers look for in an advert. A vehicle can be published without them, but is hard
/// to find.
fn advised_for_adverts(content: &VehicleDraft) -> Vec<&'static str> {
    let data = &content.data;
    let vehicle = &data.vehicle;
    let advised = [
        ("registration", content.registration.is_some()),
        ("data.vehicle.derivative", !vehicle.derivative.is_empty()),
        ("data.vehicle.body", vehicle.body.0.is_some()),
        ("data.vehicle.colour", vehicle.colour.0.is_some()),
        ("data.vehicle.fuel", vehicle.fuel.0.is_some()),
        ("data.vehicle.transmission", vehicle.transmission.0.is_some()),
        ("data.vehicle.mileage", vehicle.mileage.is_some()),
        ("data.history.year", data.history.year.is_some()),
        (
            "data.option.description",
            !data.option.description.is_empty() || !data.option.website.is_empty(),
        ),
        ("media.photo", !content.media.ids(MediumKind::Photo).is_empty()),
    ];
    absent(&advised)
}

fn absent(wanted: &[(&'static str, bool)]) -> Vec<&'static str> {
    wanted
        .iter()
        .filter(|(_, there)| !there)
        .map(|(field, _)| *field)
        .collect()
}

/// Returns `true` if vehicles of this stock type can be offered for sale.
pub(crate) const fn can_be_published(kind: StockType) -> bool {
    matches!(kind, StockType::InStock | StockType::ToOrder)
}

/// The result of a check before publishing a vehicle.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PublishCheck))]
pub struct PublishCheck<'a> {
    /// Vehicle id.
    id: i64,
    /// `true` if it may be published now.
    ready: bool,
    /// `true` if its stock type and status allow publishing.
    publishable: bool,
    /// Limit of vehicles for sale.
    limit: PublishLimit,
    /// Missing fields, by channel of the business.
    channels: Vec<ChannelCheck<'a>>,
}

/// The limit of vehicles for sale.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PublishLimit {
    /// Maximum number of vehicles for sale; null for no limit.
    #[cfg_attr(feature = "openapi", schema(required))]
    limit: Option<u32>,
    /// Number of vehicles that are for sale or reserved.
    used: u32,
    /// `true` if publishing this vehicle would exceed the limit.
    reached: bool,
}

/// The fields that a channel misses.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ChannelCheck))]
struct ChannelCheck<'a> {
    /// Channel id.
    id: &'a str,
    /// Name of the channel.
    name: &'a str,
    /// `true` if the vehicle is published on the channel.
    enabled: bool,
    /// `true` if nothing is missing.
    ready: bool,
    /// Dot-paths of the empty fields that publishing needs.
    missing: Vec<&'static str>,
    /// Dot-paths of the empty fields that buyers search by.
    advised: Vec<&'static str>,
}

impl<'a> PublishCheck<'a> {
    /// Checks `vehicle`, while `for_sale` vehicles of `business` are for sale or reserved.
    pub fn new(vehicle: &'a Vehicle, business: &'a Business, for_sale: u32) -> Self {
        let content = &vehicle.content;
        let limit = business.settings.publish_limit;
        let counted = content.status.counts_as_for_sale();
        let reached = !counted && limit.is_some_and(|limit| for_sale >= limit);
        let publishable = can_be_published(content.kind) && (content.status == VehicleStatus::Draft || counted);
        let missing = missing_for_publishing(content);
        let check = |channel: &'a Channel| ChannelCheck {
            id: &channel.id,
            name: &channel.name,
            enabled: content.channels.contains(&channel.id),
            ready: publishable && missing.is_empty(),
            missing: missing.clone(),
            advised: advised_for_adverts(content),
        };
        Self {
            id: vehicle.id.get(),
            ready: publishable && missing.is_empty() && !reached,
            publishable,
            limit: PublishLimit {
                limit,
                used: for_sale,
                reached,
            },
            channels: business.catalogue.channels.iter().map(check).collect(),
        }
    }
}
