//! Where a vehicle is advertised (contract, "Vehicles": channels; decisions §7).

use forecourt_accounts::Business;
use forecourt_kernel::Timestamp;
use forecourt_reference::{Channel, StockType};
use serde::Serialize;

use crate::declare::{Detail, FieldValue, ViewContext, section};
use crate::{Data, MediumKind, Vehicle, VehicleDraft, VehicleStatus};

section! {
    /// How channels are to advertise a vehicle.
    pub struct ChannelOptions: ChannelOptionsPatch {
        /// Options of platform_a.
        platform_a: PlatformA;
        /// Options of platform_b.
        platform_b: PlatformB;
    }
}

section! {
    /// How platform_a is to advertise a vehicle.
    pub struct PlatformA: PlatformAPatch {
        /// In its search.
        advert: bool;
        /// On the dealer's own website by way of it.
        advertiser: bool;
        /// On the dealer's page.
        profile: bool;
        /// In the manufacturer's locator.
        locator: bool;
        /// As a demonstrator.
        demo: bool;
        /// With the price on application.
        poa: bool;
        /// Not in exports.
        exclude: bool;
        /// Over what was entered there.
        overwrite: bool;
        /// With the differences shown.
        discrepancy: bool;
    }
}

section! {
    /// How platform_b is to advertise a vehicle.
    pub struct PlatformB: PlatformBPatch {
        /// Where it is to be collected.
        location: String;
    }
}

impl ChannelOptions {
    pub(crate) fn is_unset(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a vehicle is published, as `GET` and `PUT /2.0/vehicles/{id}/channels` answer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleChannels))]
pub struct ChannelsView<'a> {
    /// Whether it is published on a channel.
    published: bool,
    /// The business's channels.
    channels: Vec<ChannelView<'a>>,
    /// How channels are to advertise it.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::view::ChannelOptionsSchema))]
    options: OptionsView<'a>,
}

/// A channel, and what it does with a vehicle.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleChannel))]
struct ChannelView<'a> {
    /// Its id.
    id: &'a str,
    /// Its name.
    name: &'a str,
    /// What sort of channel it is.
    category: &'a str,
    /// Whether the vehicle is published there.
    enabled: bool,
    /// Whether it is being taken off.
    removing: bool,
    /// Whether nothing of it is shown there: it is not published there, a draft, or sold for too long.
    offline: bool,
    /// What keeps the channel from showing it; empty if nothing does.
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
    /// Where `vehicle` is published at `now`, of the channels of `business`.
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

/// What is missing before a vehicle may be published (decisions §7), by dot-path.
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

/// What is missing of what says which vehicle it is, without which none is published or taken into stock (decisions §7), by
/// dot-path.
pub(crate) fn missing_of_identity(data: &Data) -> Vec<&'static str> {
    let vehicle = &data.vehicle;
    absent(&[
        ("data.vehicle.type", vehicle.class.0.is_some()),
        ("data.vehicle.make", !vehicle.make.trim().is_empty()),
        ("data.vehicle.model", !vehicle.model.trim().is_empty()),
    ])
}

/// What a buyer looks for in an advert: without it a vehicle can be published, and is hard to find.
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

/// Whether stock of this type is offered for sale at all.
pub(crate) const fn can_be_published(kind: StockType) -> bool {
    matches!(kind, StockType::InStock | StockType::ToOrder)
}

/// What keeps a vehicle from being published, as `GET /2.0/vehicles/{id}/publish-check` answers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PublishCheck))]
pub struct PublishCheck<'a> {
    /// Vehicle id.
    id: i64,
    /// Whether it may be published now.
    ready: bool,
    /// Whether its stock type and status allow it.
    publishable: bool,
    /// How many vehicles may be for sale.
    limit: PublishLimit,
    /// What is missing, by the business's channels.
    channels: Vec<ChannelCheck<'a>>,
}

/// How many vehicles may be for sale.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PublishLimit {
    /// At most so many; null is no limit.
    #[cfg_attr(feature = "openapi", schema(required))]
    limit: Option<u32>,
    /// So many are for sale or reserved.
    used: u32,
    /// Whether one more would be too many.
    reached: bool,
}

/// What a channel misses.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ChannelCheck))]
struct ChannelCheck<'a> {
    /// Channel id.
    id: &'a str,
    /// Its name.
    name: &'a str,
    /// Whether the vehicle is published there.
    enabled: bool,
    /// Whether nothing is missing.
    ready: bool,
    /// Dot-paths of the fields without which it cannot be published.
    missing: Vec<&'static str>,
    /// Dot-paths of the fields without which it is hard to find.
    advised: Vec<&'static str>,
}

impl<'a> PublishCheck<'a> {
    /// The verdict on `vehicle`, while `for_sale` vehicles of `business` are for sale or reserved.
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
