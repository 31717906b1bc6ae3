//! A JSON-LD document of the listings in the vocabulary of schema.org.
//!
//! It follows <https://schema.org/Car>, <https://schema.org/Vehicle>, <https://schema.org/Motorcycle> and
//! <https://schema.org/Offer>. Units are codes of UN/CEFACT Recommendation 20, as `QuantitativeValue.unitCode` requires. The
//! vocabulary itself requires no member, so a vehicle is ready once it has a name and an availability:
//!
//! - A reserved or sold vehicle stays in the document, with its state in `availability`.
//! - A price on application is an offer without a price.
//! - Members without a value are left out.
//!
//! The document can be embedded in an HTML page: `<`, `>` and `&` are escaped.

use serde_json::{Map, Value, json};

use super::common::{Item, Needs, Offer, field, line, web_address};
use super::{Dealer, Missing};

/// UN/CEFACT codes of units.
mod unit {
    /// Mile (statute).
    pub(super) const MILE: &str = "SMI";
    /// Litre.
    pub(super) const LITRE: &str = "LTR";
    /// Cubic centimetre.
    pub(super) const CUBIC_CENTIMETRE: &str = "CMQ";
    /// Brake horse power.
    pub(super) const BRAKE_HORSE_POWER: &str = "BHP";
    /// Newton metre.
    pub(super) const NEWTON_METRE: &str = "NU";
}

/// Returns the fields that the document still needs.
pub(super) fn missing(item: Item<'_>) -> Vec<Missing> {
    let mut needs = Needs::default();
    needs.require(
        item.line(field::MAKE).is_some(),
        field::MAKE,
        "The vehicle's name needs the make.",
    );
    needs.require(
        item.line(field::MODEL).is_some(),
        field::MODEL,
        "The vehicle's name needs the model.",
    );
    needs.require(
        item.offer().is_some(),
        field::STATUS,
        "The offer needs to say whether the vehicle can be bought.",
    );
    needs.into_missing()
}

pub(super) fn start(out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"@context":"https://schema.org","@graph":["#);
}

pub(super) fn append(dealer: &Dealer<'_>, item: Item<'_>, is_first: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if is_first { b"\n" } else { b",\n" });
    out.extend_from_slice(escaped(&vehicle(dealer, item).to_string()).as_bytes());
}

pub(super) fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\n]}\n");
}

/// Escapes JSON for a script element of an HTML page. The escaped characters occur only in JSON strings, where escapes are
/// allowed.
fn escaped(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            other => safe.push(other),
        }
    }
    safe
}

/// The members of an object, without those that have no value.
#[derive(Debug, Default)]
struct Members(Map<String, Value>);

impl Members {
    fn of(kind: &str) -> Self {
        let mut members = Self::default();
        members.add("@type", Some(kind));
        members
    }

    fn add(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
    }

    /// Returns the object, if it has more than its type.
    fn unless_bare(self) -> Option<Value> {
        (self.0.len() > 1).then_some(Value::Object(self.0))
    }
}

fn vehicle(dealer: &Dealer<'_>, item: Item<'_>) -> Value {
    let kind = match item.line(field::CLASS).as_deref() {
        Some("Car" | "Crossover") => "Car",
        Some("Bike") => "Motorcycle",
        _ => "Vehicle",
    };
    let images = item.media("photo");
    let mut vehicle = Members::of(kind);
    vehicle.add("name", Some(item.title()));
    vehicle.add("sku", item.line(field::TAG));
    vehicle.add("url", item.page());
    vehicle.add("description", Some(item.description()));
    vehicle.add("image", (!images.is_empty()).then_some(images));
    vehicle.add(
        "brand",
        item.line(field::MAKE)
            .map(|make| json!({"@type": "Brand", "name": make})),
    );
    vehicle.add("model", item.line(field::MODEL));
    vehicle.add(
        "vehicleConfiguration",
        item.line(field::DERIVATIVE).or_else(|| item.line(field::TRIM)),
    );
    vehicle.add("vehicleModelDate", item.year().map(|year| year.to_string()));
    vehicle.add("dateVehicleFirstRegistered", item.registered());
    vehicle.add("vehicleIdentificationNumber", item.line(field::VIN));
    vehicle.add(
        "mileageFromOdometer",
        item.mileage().map(|miles| quantity(miles, unit::MILE)),
    );
    vehicle.add("bodyType", item.word(field::BODY));
    vehicle.add("color", item.word(field::COLOUR));
    vehicle.add("vehicleInteriorColor", item.word(field::INTERIOR_COLOUR));
    vehicle.add("vehicleInteriorType", item.word(field::UPHOLSTERY));
    vehicle.add("fuelType", item.word(field::FUEL));
    vehicle.add("vehicleTransmission", item.word(field::TRANSMISSION));
    vehicle.add("driveWheelConfiguration", drive_wheels(item));
    vehicle.add("steeringPosition", steering_position(item));
    vehicle.add("numberOfDoors", item.integer(field::DOORS));
    vehicle.add("vehicleSeatingCapacity", item.integer(field::SEATS));
    vehicle.add("emissionsCO2", item.figure(field::CO2).map(number));
    vehicle.add("vehicleEngine", engine(item));
    vehicle.add("itemCondition", Some(condition(item)));
    vehicle.add("offers", Some(offer(dealer, item)));
    Value::Object(vehicle.0)
}

fn quantity(value: impl Into<Value>, code: &str) -> Value {
    json!({"@type": "QuantitativeValue", "value": value.into(), "unitCode": code})
}

/// Returns a figure as JSON, without a fraction if it is a whole number.
fn number(figure: f64) -> Value {
    /// Floating point represents every whole number up to this one.
    const LIMIT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    if figure.fract() == 0.0 && figure.abs() < LIMIT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number within the limit")]
        return json!(figure as i64);
    }
    json!(figure)
}

fn engine(item: Item<'_>) -> Option<Value> {
    let measured = |path, code| item.figure(path).map(|figure| quantity(number(figure), code));
    let mut engine = Members::of("EngineSpecification");
    engine.add(
        "engineDisplacement",
        measured(field::CAPACITY, unit::CUBIC_CENTIMETRE).or_else(|| measured(field::ENGINE_SIZE, unit::LITRE)),
    );
    engine.add("enginePower", measured(field::BHP, unit::BRAKE_HORSE_POWER));
    engine.add("torque", measured(field::TORQUE, unit::NEWTON_METRE));
    engine.unless_bare()
}

fn drive_wheels(item: Item<'_>) -> Option<&'static str> {
    Some(match &*item.word(field::DRIVETRAIN)? {
        "Front Wheel Drive" => "https://schema.org/FrontWheelDriveConfiguration",
        "Rear Wheel Drive" => "https://schema.org/RearWheelDriveConfiguration",
        "Four Wheel Drive" | "4x4" => "https://schema.org/FourWheelDriveConfiguration",
        "All Wheel Drive" => "https://schema.org/AllWheelDriveConfiguration",
        _ => return None,
    })
}

fn steering_position(item: Item<'_>) -> Option<&'static str> {
    Some(match &*item.word(field::DRIVER_POSITION)? {
        "Left" => "https://schema.org/LeftHandDriving",
        "Right" => "https://schema.org/RightHandDriving",
        _ => return None,
    })
}

fn condition(item: Item<'_>) -> &'static str {
    if item.is_new() {
        "https://schema.org/NewCondition"
    } else {
        "https://schema.org/UsedCondition"
    }
}

fn offer(dealer: &Dealer<'_>, item: Item<'_>) -> Value {
    let price = item.money(field::PRICE).map(|price| price.to_string());
    let mut seller = Members::of("AutoDealer");
    seller.add("name", Some(line(dealer.name)));
    seller.add("url", web_address(dealer.website));
    seller.add(
        "address",
        Some(json!({"@type": "PostalAddress", "addressCountry": dealer.country})),
    );
    let mut offer = Members::of("Offer");
    offer.add("url", item.page());
    offer.add("priceCurrency", price.is_some().then_some(dealer.currency.to_string()));
    offer.add("price", price);
    offer.add(
        "availability",
        item.offer().map(|offer| match offer {
            Offer::Available => "https://schema.org/InStock",
            Offer::Reserved => "https://schema.org/Reserved",
            Offer::Sold => "https://schema.org/SoldOut",
        }),
    );
    offer.add("itemCondition", Some(condition(item)));
    offer.add("seller", Some(Value::Object(seller.0)));
    Value::Object(offer.0)
}
