//! A flat comma-separated file of the listings, for aggregators and marketplaces in the United Kingdom.
//!
//! There is no specification that all of them share. The file follows RFC 4180, with a header line and one line for each vehicle,
//! and a recipient maps the columns to its own. Such files are full sets: a vehicle that is no longer in the file is withdrawn.
//! So the file has no sold vehicles, but it has reserved ones, with their `status`.
//!
//! - Aggregators recognise vehicles by their registration mark, or by the identification number: used road vehicles need one of
//!   them.
//! - `price` is empty if `price_on_application` is `yes`.
//! - `mileage` is in miles, `engine_size` in litres, dates are YYYY-MM-DD. `options` and the addresses of photos and
//!   videos are separated by `|`.

use super::common::{Item, Needs, Offer, Separator, field, line, write_row};
use super::{Dealer, Missing};

const HEADER: [&str; 39] = [
    "stock_id",
    "reference",
    "registration",
    "vin",
    "status",
    "type",
    "new_or_used",
    "make",
    "model",
    "generation",
    "derivative",
    "trim",
    "year",
    "first_registered",
    "price",
    "currency",
    "price_on_application",
    "mileage",
    "fuel",
    "transmission",
    "drivetrain",
    "body",
    "doors",
    "seats",
    "engine_size",
    "colour",
    "colour_name",
    "interior_colour",
    "condition",
    "service_history",
    "keys",
    "title",
    "attention",
    "description",
    "options",
    "image_urls",
    "video_urls",
    "url",
    "dealer",
];

/// Returns the fields that aggregators still need.
pub(super) fn missing(item: Item<'_>) -> Vec<Missing> {
    let mut needs = Needs::default();
    needs.require(
        matches!(item.offer(), Some(Offer::Available | Offer::Reserved)),
        field::STATUS,
        "Aggregators take vehicles that are for sale or reserved, none that are sold.",
    );
    needs.require(
        item.integer(field::ID).is_some(),
        field::ID,
        "Aggregators need an id for the vehicle.",
    );
    needs.require(
        item.line(field::CLASS).is_some(),
        field::CLASS,
        "Aggregators need the class of the vehicle.",
    );
    needs.require(
        item.line(field::MAKE).is_some(),
        field::MAKE,
        "Aggregators need the make.",
    );
    needs.require(
        item.line(field::MODEL).is_some(),
        field::MODEL,
        "Aggregators need the model.",
    );
    let is_registered = matches!(
        item.line(field::CLASS).as_deref(),
        Some("Car" | "Van" | "Bike" | "Truck" | "Crossover" | "Motorhome")
    );
    needs.require(
        item.line(field::REGISTRATION).is_some() || item.line(field::VIN).is_some() || item.is_new() || !is_registered,
        field::REGISTRATION,
        "Aggregators need the registration mark or the vehicle identification number of used road vehicles.",
    );
    needs.into_missing()
}

pub(super) fn start(out: &mut Vec<u8>) {
    write_row(Separator::Comma, &HEADER, out);
}

pub(super) fn append(dealer: &Dealer<'_>, item: Item<'_>, out: &mut Vec<u8>) {
    let text = |path| item.line(path).unwrap_or_default();
    let price = item.money(field::PRICE).map(|price| price.to_string());
    let status = match item.offer() {
        Some(Offer::Available) => "for-sale",
        Some(Offer::Reserved) => "reserved",
        Some(Offer::Sold) => "sold",
        None => "",
    };
    let videos = item.media("video").into_iter().chain(item.media("youtube"));
    let row: [String; HEADER.len()] = [
        item.digits(field::ID),
        text(field::TAG),
        text(field::REGISTRATION),
        text(field::VIN),
        status.to_owned(),
        text(field::CLASS),
        if item.is_new() { "new" } else { "used" }.to_owned(),
        text(field::MAKE),
        text(field::MODEL),
        text(field::GENERATION),
        text(field::DERIVATIVE),
        text(field::TRIM),
        item.year().map_or_else(String::new, |year| year.to_string()),
        item.registered().unwrap_or_default(),
        price.clone().unwrap_or_default(),
        dealer.currency.to_string(),
        if price.is_some() { "no" } else { "yes" }.to_owned(),
        item.digits(field::MILEAGE),
        text(field::FUEL),
        text(field::TRANSMISSION),
        text(field::DRIVETRAIN),
        text(field::BODY),
        item.digits(field::DOORS),
        item.digits(field::SEATS),
        text(field::ENGINE_SIZE),
        text(field::COLOUR),
        text(field::COLOUR_NAME),
        text(field::INTERIOR_COLOUR),
        text(field::CONDITION),
        text(field::SERVICE_HISTORY),
        item.digits(field::KEYS),
        item.title(),
        text(field::ATTENTION),
        item.paragraphs(field::DESCRIPTION).unwrap_or_default(),
        list(item.equipment().into_iter()),
        list(item.media("photo").into_iter()),
        list(videos),
        item.page().unwrap_or_default(),
        line(dealer.name),
    ];
    write_row(Separator::Comma, &row, out);
}

/// Joins values in one cell. A separator within a value becomes a slash; addresses contain none.
fn list(values: impl Iterator<Item = String>) -> String {
    let values: Vec<_> = values.map(|value| value.replace('|', "/")).collect();
    values.join("|")
}
