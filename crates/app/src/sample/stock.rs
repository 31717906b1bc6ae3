//! Makes vehicles.

mod advert;
mod build;
mod calendar;
mod equipment;
mod figures;
mod marks;
mod models;
mod past;
mod trade;
mod words;

use forecourt_accounts::Business;
use forecourt_dealership::Loaded;
use forecourt_kernel::{Country, StaffId, Timestamp};
use forecourt_reference::{Catalogue, StockType, TagChoice, VehicleClass};
use forecourt_vehicles::{
    AppraisalOffer, ChannelOptions, Data, Lookup, Media, PlatformA, Setting, VehicleDraft, VehicleStatus, WordOrEmpty,
    YesNo,
};
use rand::{Rng, RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use self::{
    build::{Build, Lists},
    trade::Terms,
    words::{APPRAISALS, CLASSES, COURTESY, COURTESY_CLASSES, CUSTOMERS, KINDS, NEW_STOCK, OLD_STOCK},
};
use super::{
    ExistingRecords, Period,
    pick::{any, chance, weighted},
};

const DAY: i64 = 86_400;
/// The time in seconds for which a vehicle counts as recent: many that arrived since are still in stock.
const RECENT: i64 = 120 * DAY;
/// The price in pounds from which a price may be on application only.
const DEAR: i64 = 60_000;

/// An endless source of vehicles for one business. The same business, existing, seed and calls give the same vehicles.
pub(crate) struct Stock {
    rng: Xoshiro256PlusPlus,
    period: Period,
    country: Country,
    catalogue: Catalogue,
    staff: Vec<StaffId>,
    locations: Vec<String>,
    known: ExistingRecords,
    /// The number of further vehicles that may be for sale, if there is a limit.
    room: Option<u32>,
}

impl Stock {
    /// Makes a source of vehicles that came into the books over `period`.
    pub(crate) fn new(business: &Business, seed: u64, period: Period, known: ExistingRecords) -> Self {
        let catalogue = &business.catalogue;
        let limit = business.settings.publish_limit;
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            period,
            country: business.country,
            staff: catalogue.staff.iter().map(|user| user.id).collect(),
            locations: catalogue.locations.iter().map(|location| location.id.clone()).collect(),
            room: limit.map(|limit| limit.saturating_sub(known.for_sale)),
            known,
            catalogue: catalogue.clone(),
        }
    }

    /// Returns the `at`th of `count` vehicles, in order of arrival, with its time. No more of them are for sale than the
    /// business may have.
    pub(crate) fn vehicle(&mut self, at: u64, count: u64) -> Loaded<VehicleDraft> {
        let rng = &mut self.next();
        let kind = *weighted(rng, &KINDS);
        let class = class(rng, kind);
        let created = self.period.moment(rng, at, count);
        let age = self.period.end().epoch_seconds() - created.epoch_seconds();
        let statuses: &[_] = match kind {
            StockType::InStock | StockType::ToOrder if age < RECENT => &NEW_STOCK,
            StockType::InStock | StockType::ToOrder => &OLD_STOCK,
            StockType::Customer => &CUSTOMERS,
            StockType::Courtesy => &COURTESY,
            StockType::Appraisal => &APPRAISALS,
        };
        let mut status = *weighted(rng, statuses);
        if status.counts_as_for_sale() && !self.takes_room(rng, count.saturating_sub(at)) {
            status = VehicleStatus::Complete;
        }
        self.made(rng, kind, class, status, created, at)
    }

    /// Returns the same, with a given stock type and state; of any class if none is given.
    pub(crate) fn vehicle_with(
        &mut self,
        (kind, status): (StockType, VehicleStatus),
        wanted: Option<VehicleClass>,
        at: u64,
        count: u64,
    ) -> Loaded<VehicleDraft> {
        let rng = &mut self.next();
        let usual = class(rng, kind);
        let created = self.period.moment(rng, at, count);
        self.made(rng, kind, wanted.unwrap_or(usual), status, created, at)
    }

    /// Returns the random source of the next vehicle. Each has its own, so that values of one vehicle that depend on the day do
    /// not change others.
    fn next(&mut self) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.rng.random())
    }

    /// Returns true if one more may be for sale, while `left` vehicles are still to come. Room is granted in
    /// proportion to those that are left, so that the first ones do not use it all.
    fn takes_room(&mut self, rng: &mut impl Rng, left: u64) -> bool {
        let Some(room) = &mut self.room else {
            return true;
        };
        let granted = *room > 0 && rng.random_range(0..left.max(1)) < u64::from(*room);
        *room -= u32::from(granted);
        granted
    }

    fn made(
        &self,
        rng: &mut impl Rng,
        kind: StockType,
        class: VehicleClass,
        status: VehicleStatus,
        created: Timestamp,
        at: u64,
    ) -> Loaded<VehicleDraft> {
        let build = Build::random(rng, class, kind, calendar::day_of(created));
        let lists = Lists::new(&self.catalogue, created);
        let price = trade::value(rng, &build);
        let terms = Terms {
            kind,
            status,
            price,
            at,
            created,
            now: self.period.end(),
            locations: &self.locations,
            known: &self.known,
        };
        let history = past::history(rng, &build, lists);
        let stock_type = matches!(kind, StockType::InStock | StockType::ToOrder);
        let written = stock_type && (status != VehicleStatus::Draft || chance(rng, 50));
        let mut data = Box::new(Data {
            vehicle: build.identity(rng, lists),
            option: advert::options(rng, &build, &history, written),
            stock: trade::stock(rng, &build, &terms),
            setting: setting(rng, &terms),
            spec: figures::spec(&build),
            appraisal: trade::appraisal(rng, &terms),
            lookup: Lookup::default(),
            history,
        });
        data.derive_values();
        let channels = channels(rng, &self.catalogue, kind, status);
        let updated = trade::touched(rng, &terms, &data);
        let paid = data.stock.price_website;
        let content = VehicleDraft {
            kind,
            status,
            country: self.country,
            registration: if build.has_mark() {
                marks::registration(rng, build.registered)
            } else {
                None
            },
            owner: any(rng, &self.staff).copied().filter(|_| chance(rng, 80)),
            parent: None,
            tags: tags(rng, &self.catalogue, kind),
            channel_options: channel_options(&channels),
            channels,
            data,
            media: Media::default(),
            reservation: trade::reservation(rng, &terms, updated),
            sale: trade::sale(rng, &terms, paid, updated),
            offer: AppraisalOffer::default(),
            acquisition: None,
            stock_number: None,
        };
        Loaded {
            content,
            created,
            updated,
        }
    }
}

fn class(rng: &mut impl Rng, kind: StockType) -> VehicleClass {
    let is_courtesy = kind == StockType::Courtesy;
    *weighted(rng, if is_courtesy { &COURTESY_CLASSES } else { &CLASSES })
}

fn setting(rng: &mut impl Rng, terms: &Terms<'_>) -> Setting {
    let offered = matches!(terms.kind, StockType::InStock | StockType::ToOrder);
    let yes = |wanted: bool| WordOrEmpty((offered && wanted).then_some(YesNo::Yes));
    Setting {
        featured: yes(chance(rng, 6)),
        poa: yes(terms.price >= DEAR && chance(rng, 25)),
    }
}

/// Returns the channels of a vehicle: one that is or was for sale is on the website, and mostly on other channels too.
fn channels(rng: &mut impl Rng, catalogue: &Catalogue, kind: StockType, status: VehicleStatus) -> Vec<String> {
    let published = matches!(kind, StockType::InStock | StockType::ToOrder) && status != VehicleStatus::Draft;
    let mut channels = Vec::new();
    for channel in &catalogue.channels {
        if published && (channel.id == "website" || chance(rng, 85)) {
            channels.push(channel.id.clone());
        }
    }
    channels
}

fn channel_options(channels: &[String]) -> ChannelOptions {
    let advertised = channels.iter().any(|channel| channel == "platform_a");
    ChannelOptions {
        platform_a: PlatformA {
            advert: advertised,
            advertiser: advertised,
            profile: advertised,
            ..PlatformA::default()
        },
        ..ChannelOptions::default()
    }
}

/// Returns the tags that new vehicles of the stock type start with, ticked or not, and some others.
fn tags(rng: &mut impl Rng, catalogue: &Catalogue, kind: StockType) -> Vec<TagChoice> {
    let mut tags = Vec::new();
    for tag in catalogue.tags_of(kind) {
        if tag.defaulted || chance(rng, 25) {
            tags.push(TagChoice {
                name: tag.name.clone(),
                checked: chance(rng, 75),
            });
        }
    }
    tags
}

#[cfg(test)]
mod tests;
