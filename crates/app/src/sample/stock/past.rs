//! The history of a vehicle.

use forecourt_reference::VehicleClass;
use forecourt_vehicles::{History, WordOrEmpty, YesNo};
use rand::{Rng, RngExt};

use super::{
    build::{Build, Lists},
    calendar::{date, days_after, days_between, years_after},
    models::Power,
    words::SERVICES,
};
use crate::sample::pick::{chance, weighted, when};

const YEAR: u32 = 365;

/// Returns its history.
pub(super) fn history(rng: &mut impl Rng, build: &Build, lists: Lists<'_>) -> History {
    let age = build.age();
    let years = age / YEAR;
    let driven = build.engine.power != Power::None;
    let worn = weighted(rng, &[(5, 0), (3, 1)]) + years / 6;
    let condition = match worn {
        _ if build.is_new() => "New",
        0 => "Excellent",
        1 | 2 => "Good",
        _ => "Average",
    };
    let serviced = driven && age > YEAR;
    let since_service = rng.random_range(10..YEAR.min(age).max(11));
    let warranty = years_after(build.registered, warranted_years(build.model.make));
    let warranted = driven && warranty > build.booked && !build.is_machine();
    let owners = 1 + rng.random_range(0..=years.min(12)) / 3;
    let registered = chance(rng, 92);
    History {
        previous_owner: Some(if build.is_new() { 0 } else { owners }),
        keys: driven.then(|| if chance(rng, 82) { 2 } else { 1 }),
        v5: WordOrEmpty(
            build
                .has_mark()
                .then_some(if registered { YesNo::Yes } else { YesNo::No }),
        ),
        year: build.year(lists),
        condition: condition.to_owned(),
        condition_interior: condition.to_owned(),
        condition_exterior: condition.to_owned(),
        condition_tyre: condition.to_owned(),
        service_history: when(serviced, weighted::<&str>(rng, &SERVICES)),
        service_last: serviced.then(|| date(days_after(build.booked, -i64::from(since_service)))),
        service_miles: build
            .mileage
            .filter(|_| serviced)
            .map(|mileage| mileage - mileage / age.max(1) * since_service),
        mot_expiry: test_due(build).map(date),
        warranty_expiry: warranted.then(|| date(warranty)),
        warranty_month: driven.then(|| {
            let left = days_between(build.booked, warranty) / 30;
            if warranted { left } else { 3 }
        }),
        ..History::default()
    }
}

/// Returns the day of the next test. They are due each year: the first after three years, for trucks after one. Machines and
/// towed vehicles have none.
fn test_due(build: &Build) -> Option<chrono::NaiveDate> {
    let first = if build.class == VehicleClass::Truck { 1 } else { 3 };
    let due = first.max(build.age() / YEAR + 1);
    let is_tested = build.has_mark() && !build.is_machine();
    is_tested.then(|| years_after(build.registered, due))
}

/// Returns the number of years for which a maker warrants its vehicles.
fn warranted_years(make: &str) -> u32 {
    match make {
        "Kia" | "MG" => 7,
        "Hyundai" | "Toyota" | "Renault" => 5,
        _ => 3,
    }
}
