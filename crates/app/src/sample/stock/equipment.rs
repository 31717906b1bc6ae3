//! The equipment of vehicles, by `equipment.txt`.

use std::sync::OnceLock;

use chrono::Datelike;
use forecourt_reference::VehicleClass;
use rand::Rng;

use super::{build::Build, models::Power};
use crate::sample::{
    data::lines,
    pick::{any, chance},
};

/// The price of a new one, in pounds, from which a model counts as expensive.
const DEAR: u32 = 30_000;

/// A line of the file: a condition on vehicles, and the equipment of which each has one at most.
struct Slot {
    classes: Vec<VehicleClass>,
    conditions: Vec<&'static str>,
    equipment: Vec<&'static str>,
}

fn slots() -> &'static [Slot] {
    static SLOTS: OnceLock<Vec<Slot>> = OnceLock::new();
    SLOTS.get_or_init(|| lines(include_str!("equipment.txt")).filter_map(slot).collect())
}

fn slot(line: &'static str) -> Option<Slot> {
    let (vehicles, equipment) = line.split_once(':')?;
    let (mut classes, mut conditions) = (Vec::new(), Vec::new());
    for word in vehicles.split_whitespace() {
        match word.parse() {
            Ok(class) => classes.push(class),
            Err(_) => conditions.push(word),
        }
    }
    let equipment = equipment.split(" / ").map(str::trim).collect();
    (!classes.is_empty()).then_some(Slot {
        classes,
        conditions,
        equipment,
    })
}

impl Slot {
    fn suits(&self, build: &Build) -> bool {
        self.classes.contains(&build.class) && self.conditions.iter().all(|condition| holds(condition, build))
    }
}

/// Returns true if a condition holds for a vehicle. Any other word is the beginning of a body's name.
fn holds(condition: &str, build: &Build) -> bool {
    let power = build.engine.power;
    let year = build.registered.year();
    let named = |prefix: &str| condition.strip_prefix(prefix)?.parse::<i32>().ok();
    if let Some(since) = named("since-") {
        return year >= since;
    }
    if let Some(until) = named("until-") {
        return year <= until;
    }
    match condition {
        "burns" => matches!(power, Power::Petrol | Power::Diesel | Power::Hybrid | Power::PlugIn),
        "electric" => power == Power::Electric,
        "plugged" => matches!(power, Power::Electric | Power::PlugIn),
        "manual" => !build.automatic,
        "automatic" => build.automatic,
        "open" => build.model.body == "Convertible",
        "closed" => build.model.body != "Convertible",
        "hatch" => build.model.body == "Hatchback",
        "dear" => build.model.price >= DEAR,
        body => build.model.body.split(' ').any(|word| word == body) || build.model.body.starts_with(body),
    }
}

/// Returns some of the equipment that such a vehicle may have.
pub(super) fn equipment(rng: &mut impl Rng, build: &Build) -> Vec<String> {
    let share = match build.class {
        VehicleClass::Car | VehicleClass::Crossover => 20 + (build.model.price / 1_500).min(30),
        _ => 55,
    };
    let mut found: Vec<&str> = Vec::new();
    for slot in slots().iter().filter(|slot| slot.suits(build)) {
        if chance(rng, share) {
            let free = any(rng, &slot.equipment).filter(|one| !found.contains(one));
            found.extend(free.copied());
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use forecourt_reference::feature;

    use super::*;

    #[test]
    fn every_line_is_read_and_every_name_is_the_products_own() {
        let text = include_str!("equipment.txt");
        assert_eq!(slots().len(), lines(text).count());
        for slot in slots() {
            for name in &slot.equipment {
                assert_eq!(feature(name).map(|known| known.name), Some(*name), "{name}");
            }
        }
    }
}
