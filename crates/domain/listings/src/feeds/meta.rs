//! The automotive inventory catalogue of Meta (Facebook, Instagram), as a comma-separated file.
//!
//! It follows "Automotive Inventory Ads: Catalogs and Feeds" and "Automotive Ads: Reference" of the Meta for Developers
//! documentation. Nested fields are columns named by their path (`mileage.value`, `image[0].url`). The rules, as this module
//! applies them:
//!
//! - `vin` is required and has 17 characters; a vehicle without it is not ready.
//! - `availability` has a state for vehicles that cannot be bought: `NOT_AVAILABLE`. Reserved and sold vehicles stay in the
//!   catalogue with this state. They are not advertised, and visits to their pages are still recognised.
//! - A price above 0 is required: no price on application.
//! - `description` falls back to the attention line and then to the title, so it is never missing.
//! - Values that Meta's enumerations lack are `OTHER`.
//! - `address` is required in full, and a business has only its country: the dealer completes it in the
//!   catalogue, by a rule for `dealer_id`, which is the dealer's tag.

use super::common::{Item, Needs, Offer, Separator, field, line, shortened, write_row};
use super::{Dealer, Missing};

/// Maximum number of pictures of a vehicle.
const MAX_IMAGES: usize = 20;
const MAX_TITLE_CHARS: usize = 500;
const MAX_DESCRIPTION_CHARS: usize = 5_000;

const HEADER: [&str; 26] = [
    "vehicle_id",
    "title",
    "description",
    "url",
    "make",
    "model",
    "year",
    "trim",
    "mileage.value",
    "mileage.unit",
    "transmission",
    "fuel_type",
    "body_style",
    "drivetrain",
    "vin",
    "condition",
    "price",
    "exterior_color",
    "interior_color",
    "availability",
    "state_of_vehicle",
    "vehicle_type",
    "dealer_id",
    "dealer_name",
    "address.country",
    "image[0].tag[0]",
];

/// Returns the fields that Meta still needs.
pub(super) fn missing(item: Item<'_>) -> Vec<Missing> {
    let mut needs = Needs::default();
    needs.require(
        item.offer().is_some(),
        field::STATUS,
        "Meta needs to know whether the vehicle can be bought.",
    );
    needs.require(
        item.integer(field::ID).is_some(),
        field::ID,
        "Meta needs an id for the vehicle.",
    );
    needs.require(item.line(field::MAKE).is_some(), field::MAKE, "Meta needs the make.");
    needs.require(item.line(field::MODEL).is_some(), field::MODEL, "Meta needs the model.");
    needs.require(item.year().is_some(), field::YEAR, "Meta needs the year of make.");
    needs.require(body_style(item).is_some(), field::BODY, "Meta needs the body.");
    needs.require(
        item.mileage().is_some(),
        field::MILEAGE,
        "Meta needs the mileage of used vehicles.",
    );
    needs.require(
        item.word(field::COLOUR).is_some(),
        field::COLOUR,
        "Meta needs the colour.",
    );
    needs.require(
        item.vin().is_some(),
        field::VIN,
        "Meta needs the vehicle identification number of 17 characters.",
    );
    needs.require(
        item.money(field::PRICE).is_some(),
        field::PRICE,
        "Meta needs a price above 0; vehicles with a price on application are not taken.",
    );
    needs.require(
        !item.media("photo").is_empty(),
        field::MEDIA,
        "Meta needs a photo with a public web address.",
    );
    needs.require(
        item.page().is_some(),
        field::URL,
        "Meta needs the address of the vehicle's page: the business has to have a website.",
    );
    needs.into_missing()
}

pub(super) fn start(out: &mut Vec<u8>) {
    let images = (0..MAX_IMAGES).map(|at| format!("image[{at}].url"));
    let header: Vec<String> = HEADER.into_iter().map(str::to_owned).chain(images).collect();
    write_row(Separator::Comma, &header, out);
}

pub(super) fn append(dealer: &Dealer<'_>, item: Item<'_>, out: &mut Vec<u8>) {
    let text = |path| item.line(path).unwrap_or_default();
    let word = |word: Option<&'static str>| word.unwrap_or_default().to_owned();
    let title = shortened(item.title(), MAX_TITLE_CHARS);
    let row: [String; HEADER.len()] = [
        item.digits(field::ID),
        title.clone(),
        shortened(item.description(), MAX_DESCRIPTION_CHARS),
        item.page().unwrap_or_default(),
        text(field::MAKE),
        text(field::MODEL),
        item.year().map_or_else(String::new, |year| year.to_string()),
        text(field::TRIM),
        item.mileage().map_or_else(String::new, |mileage| mileage.to_string()),
        "MI".to_owned(),
        word(transmission(item)),
        word(fuel_type(item)),
        word(body_style(item)),
        word(drivetrain(item)),
        item.vin().unwrap_or_default(),
        word(condition(item)),
        item.price(field::PRICE, dealer.currency).unwrap_or_default(),
        item.word(field::COLOUR).unwrap_or_default(),
        item.word(field::INTERIOR_COLOUR).unwrap_or_default(),
        match item.offer() {
            Some(Offer::Available) => "AVAILABLE",
            _ => "NOT_AVAILABLE",
        }
        .to_owned(),
        if item.is_new() { "NEW" } else { "USED" }.to_owned(),
        vehicle_type(item).to_owned(),
        dealer.tag.to_owned(),
        line(dealer.name),
        dealer.country.to_owned(),
        // The tag of a photo describes what it shows; only the vehicle is known.
        title,
    ];
    let mut images = item.media("photo");
    images.resize(MAX_IMAGES, String::new());
    let row: Vec<String> = row.into_iter().chain(images).collect();
    write_row(Separator::Comma, &row, out);
}

fn transmission(item: Item<'_>) -> Option<&'static str> {
    Some(match &*item.word(field::TRANSMISSION)? {
        "Automatic" => "AUTOMATIC",
        "Manual" => "MANUAL",
        _ => "OTHER",
    })
}

fn fuel_type(item: Item<'_>) -> Option<&'static str> {
    Some(match &*item.word(field::FUEL)? {
        "Petrol" => "GASOLINE",
        "Diesel" => "DIESEL",
        "Electric" => "ELECTRIC",
        "Hybrid"
        | "Petrol Hybrid"
        | "Diesel Hybrid"
        | "Hybrid Electric (Clean)"
        | "Plug-in Hybrid"
        | "Petrol Plug-in Hybrid"
        | "Diesel Plug-in Hybrid"
        | "Elec/Pet Range Ext" => "HYBRID",
        _ => "OTHER",
    })
}

/// Returns Meta's name of the body. Meta has names for cars, vans and trucks only: other vehicles are `OTHER`, whatever their
/// body.
fn body_style(item: Item<'_>) -> Option<&'static str> {
    match item.line(field::CLASS).as_deref() {
        Some("Car" | "Van" | "Crossover") => {}
        Some("Truck") => return Some("TRUCK"),
        _ => return Some("OTHER"),
    }
    Some(match &*item.word(field::BODY)? {
        "Convertible" => "CONVERTIBLE",
        "Coupe" => "COUPE",
        "Estate" => "WAGON",
        "Hatchback" => "HATCHBACK",
        "Limousine" | "Saloon" => "SEDAN",
        "MPV" => "MINIVAN",
        "SUV" => "SUV",
        "Pickup" => "TRUCK",
        "Box Van"
        | "Camper"
        | "Car Derived Van"
        | "Combi Van"
        | "High Roof Van"
        | "Luton"
        | "Minibus"
        | "Panel Van"
        | "Temperature Controlled"
        | "Welfare"
        | "Window Van" => "VAN",
        _ => "OTHER",
    })
}

fn drivetrain(item: Item<'_>) -> Option<&'static str> {
    Some(match &*item.word(field::DRIVETRAIN)? {
        "Front Wheel Drive" => "FWD",
        "Rear Wheel Drive" => "RWD",
        "All Wheel Drive" => "AWD",
        "Four Wheel Drive" | "4x4" => "4X4",
        "4x2" => "4X2",
        _ => "OTHER",
    })
}

fn condition(item: Item<'_>) -> Option<&'static str> {
    Some(match &*item.word(field::CONDITION)? {
        "New" | "Excellent" => "EXCELLENT",
        "Good" => "GOOD",
        "Average" => "FAIR",
        "Poor" => "POOR",
        _ => "OTHER",
    })
}

fn vehicle_type(item: Item<'_>) -> &'static str {
    match item.line(field::CLASS).as_deref() {
        Some("Car" | "Van" | "Crossover") => "CAR_TRUCK",
        Some("Bike") => "MOTORCYCLE",
        Some("Truck") => "COMMERCIAL",
        Some("Motorhome" | "Caravan") => "RV_CAMPER",
        _ => "OTHER",
    }
}
