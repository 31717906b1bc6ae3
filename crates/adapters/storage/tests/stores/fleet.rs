//! Many vehicles, as a busy dealership has them: most values are common, and some are rare.

use forecourt_kernel::Timestamp;
use forecourt_vehicles::VehicleDraft;
use serde_json::{Value, json};

use crate::samples::{Dice, at};

const MAKES: [(&str, &[&str]); 8] = [
    ("Ford", &["Fiesta", "Focus", "Kuga", "Puma", "Transit"]),
    ("Volkswagen", &["Golf", "Polo", "Tiguan", "Transporter"]),
    ("Vauxhall", &["Corsa", "Astra", "Mokka"]),
    ("BMW", &["1 Series", "3 Series", "X1", "X5"]),
    ("Audi", &["A1", "A3", "A4", "Q3"]),
    ("Toyota", &["Yaris", "Corolla", "RAV4"]),
    ("Kia", &["Picanto", "Sportage", "Niro"]),
    ("Škoda", &["Fabia", "Octavia", "Superb"]),
];
const TRIMS: [&str; 10] = [
    "SE", "Titanium", "ST-Line", "Zetec", "M Sport", "S line", "GT", "Design", "Life", "4",
];
const BODIES: [&str; 5] = ["Hatchback", "Estate", "SUV", "Saloon", "Convertible"];
const COLOURS: [&str; 8] = ["Black", "White", "Grey", "Blue", "Silver", "Red", "Green", "Yellow"];
const FUELS: [&str; 4] = ["Petrol", "Diesel", "Electric", "Petrol Hybrid"];

/// Between two vehicles, in seconds on average.
pub(crate) const SECONDS_BETWEEN: i64 = 600;

/// Vehicles of one business, in the order in which they come in.
pub(crate) struct Fleet {
    dice: Dice,
    number: i64,
    second: i64,
}

impl Fleet {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            number: 0,
            second: 0,
        }
    }

    /// The first of some are common, and the last rare.
    fn early<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.dice.roll(list.len()).min(self.dice.roll(list.len()))]
    }
}

/// A vehicle as it is stored.
pub(crate) fn draft(document: Value) -> VehicleDraft {
    serde_json::from_value(document).unwrap()
}

/// A vehicle of which little is known.
pub(crate) fn a_vehicle() -> VehicleDraft {
    draft(json!({"type": "s", "status": "draft", "country": "GB", "data": {}}))
}

/// A vehicle with something in every section.
pub(crate) fn a_full_vehicle() -> VehicleDraft {
    draft(json!({
        "type": "a", "status": "appraised", "country": "DE", "registration": "AB12CDE", "owner": 7, "parent": 3,
        "tag": [{"name": "Hot \\ % _ \" 🚗", "checked": false}, {"name": "Ready", "checked": true}],
        "channels": ["website", "platform_a"],
        "channel_options": {"platform_a": {"advert": true}, "platform_b": {"location": "Leeds"}},
        "data": {
            "vehicle": {
                "make": "Škoda", "model": "Octavia \"RS\" 100%", "generation": "Mk_3", "derivative": "2.0\\TDI 李小龍",
                "body": "Estate", "colour": "Nardo Grey", "fuel": "Diesel", "transmission": "Automatic",
                "seats": 5, "mileage": 123_456, "registered": "2015-02-28", "wheelchair": "No",
            },
            "option": {
                "factory": ["Sunroof"], "option_custom": ["Hook"], "description": "Line\r\nline", "feature": {"a": ["Sunroof"]},
            },
            "history": {"previous_owner": 2, "year": 2015, "service_history": "Full", "v5": "Yes"},
            "stock": {
                "reference": "REF-1", "number": "N/1", "location": "1", "vin": "WVWZZZ1KZAW000001", "price_website": "12995.50",
                "funding_provider_id": 4, "stock_variation": {"z": [1.5, null, {"a": "é"}], "a": {}},
                "purchase_cost_data": [{"kind": "Wash", "cost": "10.00", "id": 1}],
            },
            "setting": {"featured": "Yes", "poa": "No"},
            "spec": {"performance": {"top_speed": "135 mph"}, "engine": {"bhp": 184, "start_stop": true}},
            "appraisal": {
                "details": {"customer_id": 9_223_372_036_854_775_807_i64, "customer": "Zoë O'Neill"},
                "calculation": {"offer": "9000.00"}, "confirm": {"decision": "accepted", "stock_id": "5"},
            },
            "lookup": {"dvla": {"make": "SKODA", "year_of_manufacture": 2015}, "check": {"stolen": false}},
        },
        "media": [
            {"type": "photo", "file": "0123456789abcdef0123456789abcdef.jpg", "kind": "jpeg", "size": 1, "uploaded": 1},
            {"type": "youtube", "id": "dQw4w9WgXcQ", "uploaded": 1},
        ],
    }))
}

impl Iterator for Fleet {
    type Item = (VehicleDraft, Timestamp);

    fn next(&mut self) -> Option<Self::Item> {
        self.number += 1;
        self.second += self.dice.number(2 * SECONDS_BETWEEN);
        let (make, models) = *self.early(&MAKES);
        let model = *self.early(models);
        let year = 2026 - self.dice.number(15).min(self.dice.number(15));
        let fuel = *self.early(&FUELS);
        let litres = ["1.0", "1.2", "1.5", "1.6", "2.0", "3.0"][self.dice.roll(6)];
        let trim = *self.early(&TRIMS);
        let power = 70 + 5 * self.dice.number(40);
        let (kind, status) = match self.dice.roll(100) {
            0..50 => ("s", "complete"),
            50..70 => ("s", "for_sale"),
            70..75 => ("s", "reserved"),
            75..80 => ("s", "sold"),
            80..83 => ("s", "draft"),
            83..86 => ("t", "for_sale"),
            86..91 => ("u", "closed"),
            91..93 => ("r", "in_use"),
            93..98 => ("a", "rejected"),
            _ => ("a", "added"),
        };
        let published = matches!(status, "for_sale" | "reserved");
        // One in ten thousand, whom a search by a pattern is to find.
        let make = if self.number % 10_000 == 7 { "Quetzal" } else { make };
        let document = json!({
            "type": kind, "status": status, "country": "GB",
            "registration": format!("{}{}{:02}{}{}{}", letter(&mut self.dice), letter(&mut self.dice), year - 2000,
                letter(&mut self.dice), letter(&mut self.dice), letter(&mut self.dice)),
            "owner": 1 + self.dice.number(9),
            "tag": if self.dice.chance(30) { json!([{"name": "Ready", "checked": true}]) } else { json!([]) },
            "channels": if published { json!(["website", "platform_a"]) } else { json!([]) },
            "data": {
                "vehicle": {
                    "make": make, "model": model, "generation": format!("{model} Mk{}", 1 + (2026 - year) / 5),
                    "derivative": format!("{litres} {fuel} {trim} {power}"),
                    "body": *self.early(&BODIES), "colour": *self.early(&COLOURS), "fuel": fuel,
                    "transmission": if self.dice.chance(60) { "Manual" } else { "Automatic" },
                    "mileage": self.dice.number(120_000), "seats": 5, "doors": 5, "engine_size": litres, "trim": trim,
                },
                "option": {
                    "factory": ["Alloy wheels", "Cruise control", "Heated seats", "Parking sensors", "Sunroof", "Sat nav"],
                    "attention": "One owner, full service history",
                    "description": "A well kept car with a full service history. ".repeat(12),
                },
                "history": {"previous_owner": 1, "year": year, "service_history": "Full", "keys": 2},
                "stock": {
                    "reference": format!("R{}", self.number), "number": format!("S{}", self.number),
                    "location": self.dice.pick(&["1", "1", "1", "2", "3"]),
                    "vin": format!("WVW{:014}", self.number), "price_website": format!("{}.00", 995 + 50 * self.dice.number(800)),
                },
                "appraisal": if kind == "a" {
                    json!({"details": {"customer_id": 1 + self.dice.number(20_000), "customer": "Ann Smith"}})
                } else {
                    json!({})
                },
            },
            "media": [
                {"type": "photo", "file": "0123456789abcdef0123456789abcdef.jpg", "kind": "jpeg", "size": 1, "uploaded": 1},
                {"type": "photo", "file": "0123456789abcdef0123456789abcdee.jpg", "kind": "jpeg", "size": 1, "uploaded": 1},
            ],
        });
        Some((draft(document), at(self.second)))
    }
}

fn letter(dice: &mut Dice) -> char {
    *dice.pick(&['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K', 'L', 'M'])
}
