//! The primary feed for Google vehicle ads, as a tab-separated file.
//!
//! It follows the Merchant Center help: "Create a primary feed" (answer 11192663) with the pages of its attributes, "Vehicle ads
//! policies" (11544533), "Quoted attributes" (14998273) and "Vehicle ads Content API guidelines" (11190480). Their rules, as this
//! module applies them:
//!
//! - `VIN` is optional in the United Kingdom, France, Germany, Italy, Spain, the Netherlands and Japan, and required elsewhere. A
//!   number that does not have 17 characters is left out where it is optional. There is no attribute for the registration mark.
//! - `year` is required outside France, Italy, Spain, the Netherlands and Germany, where used vehicles need
//!   `date_first_registered` instead; `engine` is required in the last four of those.
//! - `vehicle_msrp` is required for new vehicles outside Canada.
//! - Only passenger vehicles that need no commercial licence are accepted: no motorcycles, motorhomes, trucks, plant or vans.
//! - A reserved or sold vehicle must not be in the feed, because there is no state for it.
//! - `store_code` is the dealer's tag: the dealership gives its Business Profile the same code. `vehicle_fulfillment` says that
//!   the vehicle can be bought there.
//! - New vehicles in Canada and all vehicles in Australia need `vehicle_price_type`, which no listing has.

use super::common::{Item, Needs, Offer, Separator, field, shortened, write_row};
use super::{Dealer, Missing};

/// "Vehicles & Parts > Vehicles > Motor Vehicles > Cars, Trucks & Vans" in Google's product taxonomy.
const CATEGORY: &str = "916";
/// Maximum number of pictures after the main one.
const MAX_MORE_IMAGES: usize = 10;
/// Maximum number of options of a vehicle, and maximum length of one.
const MAX_OPTIONS: usize = 200;
const MAX_OPTION_CHARS: usize = 256;
const MAX_TITLE_CHARS: usize = 150;
const MAX_DESCRIPTION_CHARS: usize = 5_000;
const MAX_BRAND_CHARS: usize = 70;
const MAX_MODEL_CHARS: usize = 150;
const MAX_TRIM_CHARS: usize = 150;
const MAX_COLOUR_CHARS: usize = 40;

/// Countries in which `VIN` is optional.
const VIN_OPTIONAL: [&str; 7] = ["DE", "ES", "FR", "GB", "IT", "JP", "NL"];
/// Countries in which used vehicles need `date_first_registered`, and `year` is optional.
const BY_REGISTRATION: [&str; 5] = ["DE", "ES", "FR", "IT", "NL"];
/// Countries in which `engine` is required.
const ENGINE_REQUIRED: [&str; 4] = ["DE", "ES", "IT", "NL"];

const HEADER: [&str; 24] = [
    "id",
    "title",
    "description",
    "link",
    "link_template",
    "image_link",
    "additional_image_link",
    "price",
    "vehicle_msrp",
    "condition",
    "google_product_category",
    "brand",
    "model",
    "trim",
    "year",
    "date_first_registered",
    "mileage",
    "color",
    "body_style",
    "engine",
    "VIN",
    "vehicle_option",
    "store_code",
    "vehicle_fulfillment(option:store_code)",
];

/// Returns the fields that Google still needs.
pub(super) fn missing(dealer: &Dealer<'_>, item: Item<'_>) -> Vec<Missing> {
    let country = dealer.country;
    let is_new = item.is_new();
    let mut needs = Needs::default();
    let is_available = item.offer() == Some(Offer::Available);
    needs.require(
        is_available,
        field::STATUS,
        "Google shows only vehicles that are for sale, none that are reserved or sold.",
    );
    require_passenger_vehicle(item, &mut needs);
    needs.require(
        item.integer(field::ID).is_some(),
        field::ID,
        "Google needs an id for the vehicle.",
    );
    needs.require(item.line(field::MAKE).is_some(), field::MAKE, "Google needs the make.");
    needs.require(
        item.line(field::MODEL).is_some(),
        field::MODEL,
        "Google needs the model.",
    );
    let by_registration = BY_REGISTRATION.contains(&country);
    needs.require(
        item.year().is_some() || by_registration,
        field::YEAR,
        "Google needs the year of the model.",
    );
    needs.require(
        item.registered().is_some() || is_new || !by_registration,
        field::REGISTERED,
        "Google needs the date of first registration of used vehicles in this country.",
    );
    needs.require(
        item.mileage().is_some(),
        field::MILEAGE,
        "Google needs the mileage of used vehicles.",
    );
    needs.require(
        item.word(field::COLOUR).is_some(),
        field::COLOUR,
        "Google needs the colour.",
    );
    needs.require(
        engine(item).is_some() || !ENGINE_REQUIRED.contains(&country),
        field::FUEL,
        "Google needs the fuel in this country.",
    );
    needs.require(
        item.vin().is_some() || VIN_OPTIONAL.contains(&country),
        field::VIN,
        "Google needs the vehicle identification number of 17 characters in this country.",
    );
    needs.require(
        item.money(field::PRICE).is_some(),
        field::PRICE,
        "Google needs a price above 0; vehicles with a price on application are not taken.",
    );
    needs.require(
        country != "AU" && !(country == "CA" && is_new),
        field::PRICE,
        "Google needs to know in this country which charges the price includes, which listings do not say.",
    );
    needs.require(
        item.money(field::RRP).is_some() || !is_new || country == "CA",
        field::RRP,
        "Google needs the recommended retail price of new vehicles.",
    );
    needs.require(
        !item.media("photo").is_empty(),
        field::MEDIA,
        "Google needs a photo with a public web address.",
    );
    needs.require(
        item.page().is_some(),
        field::URL,
        "Google needs the address of the vehicle's page: the business has to have a website.",
    );
    needs.into_missing()
}

/// Checks that the vehicle is a passenger vehicle, the only ones that Google accepts. In classes that also have commercial
/// bodies, the body decides.
fn require_passenger_vehicle(item: Item<'_>, needs: &mut Needs) {
    let body = item.word(field::BODY);
    let body = body.as_deref().unwrap_or_default();
    match item.line(field::CLASS).as_deref() {
        Some("Car") => {}
        Some("Crossover") => needs.require(
            body_style(body).is_some(),
            field::BODY,
            "Google takes passenger vehicles only: it needs the body of a car, a pickup or a minibus.",
        ),
        Some("Van") => needs.require(
            body == "Pickup",
            field::BODY,
            "Google takes passenger vehicles only: of vans none but pickups.",
        ),
        _ => needs.require(
            false,
            field::CLASS,
            "Google takes passenger vehicles only: cars, crossovers and pickups.",
        ),
    }
}

pub(super) fn start(out: &mut Vec<u8>) {
    write_row(Separator::Tab, &HEADER, out);
}

pub(super) fn append(dealer: &Dealer<'_>, item: Item<'_>, out: &mut Vec<u8>) {
    let page = item.page().unwrap_or_default();
    let mut images = item.media("photo").into_iter();
    let image = images.next().unwrap_or_default();
    let limited = |text: Option<String>, limit| shortened(text.unwrap_or_default(), limit);
    let row: [String; HEADER.len()] = [
        item.digits(field::ID),
        shortened(item.title(), MAX_TITLE_CHARS),
        shortened(item.description(), MAX_DESCRIPTION_CHARS),
        page.clone(),
        link_template(&page),
        image,
        list(images.take(MAX_MORE_IMAGES), "%2C"),
        item.price(field::PRICE, dealer.currency).unwrap_or_default(),
        item.price(field::RRP, dealer.currency).unwrap_or_default(),
        if item.is_new() { "new" } else { "used" }.to_owned(),
        CATEGORY.to_owned(),
        limited(item.line(field::MAKE), MAX_BRAND_CHARS),
        limited(item.line(field::MODEL), MAX_MODEL_CHARS),
        limited(item.line(field::TRIM), MAX_TRIM_CHARS),
        item.year().map_or_else(String::new, |year| year.to_string()),
        // Google accepts the month only: YYYY-MM.
        item.registered()
            .and_then(|day| Some(day.get(..7)?.to_owned()))
            .unwrap_or_default(),
        item.mileage()
            .map_or_else(String::new, |mileage| format!("{mileage} miles")),
        limited(item.word(field::COLOUR), MAX_COLOUR_CHARS),
        body_style(&item.word(field::BODY).unwrap_or_default())
            .unwrap_or_default()
            .to_owned(),
        engine(item).unwrap_or_default().to_owned(),
        item.vin().unwrap_or_default(),
        list(
            item.equipment()
                .into_iter()
                .map(|option| shortened(option, MAX_OPTION_CHARS))
                .take(MAX_OPTIONS),
            ";",
        ),
        dealer.tag.to_owned(),
        format!("in_store:{}", dealer.tag),
    ];
    write_row(Separator::Tab, &row, out);
}

/// Joins the values of a repeated attribute with commas. A comma within a value becomes `substitute`.
fn list(values: impl Iterator<Item = String>, substitute: &str) -> String {
    let values: Vec<_> = values.map(|value| value.replace(',', substitute)).collect();
    values.join(",")
}

/// Returns the page's address with the parameter that Google replaces by the store code.
fn link_template(page: &str) -> String {
    if page.is_empty() {
        return String::new();
    }
    let (address, fragment) = page.split_at(page.find('#').unwrap_or(page.len()));
    let separator = if address.contains('?') { '&' } else { '?' };
    format!("{address}{separator}store={{store_code}}{fragment}")
}

/// Returns Google's name of the body; `None` if it is not one of a passenger vehicle.
fn body_style(body: &str) -> Option<&'static str> {
    Some(match body {
        "Convertible" => "convertible",
        "Coupe" => "coupe",
        "Estate" => "station wagon",
        "Hatchback" => "hatchback",
        "Limousine" | "Saloon" => "sedan",
        "MPV" => "minivan",
        "Minibus" => "full size van",
        "Pickup" => "truck",
        "SUV" => "suv",
        _ => return None,
    })
}

/// Returns Google's name of the fuel. Two fuels in one engine are `other`.
fn engine(item: Item<'_>) -> Option<&'static str> {
    let fuel = item.word(field::FUEL)?;
    Some(match &*fuel {
        "Petrol" => "gasoline",
        "Diesel" => "diesel",
        "Electric" => "electric",
        "Hybrid" | "Petrol Hybrid" | "Diesel Hybrid" | "Hybrid Electric (Clean)" => "hybrid",
        "Plug-in Hybrid" | "Petrol Plug-in Hybrid" | "Diesel Plug-in Hybrid" | "Elec/Pet Range Ext" => "plug-in_hybrid",
        "LPG" => "lpg",
        "CNG" | "LNG" => "natural_gas",
        _ => "other",
    })
}
