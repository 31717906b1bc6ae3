//! Many vehicles, as a busy dealership has them: most values are common, and some are rare.

use forecourt_kernel::Timestamp;
use forecourt_vehicles::VehicleDraft;
pub(crate) use forecourt_vehicles::testing::{a_full_vehicle, a_vehicle};
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

/// The time between two vehicles, in seconds on average.
pub(crate) const SECONDS_BETWEEN: i64 = 600;

/// Vehicles of one business, in the order of their arrival.
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

    /// Chooses a value: the first ones often, and the last ones rarely.
    fn early<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.dice.roll(list.len()).min(self.dice.roll(list.len()))]
    }
}

/// Returns a vehicle as it is stored.
pub(crate) fn draft(document: Value) -> VehicleDraft {
    serde_json::from_value(document).unwrap()
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
        // One in ten thousand, for a search by a pattern to find.
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
