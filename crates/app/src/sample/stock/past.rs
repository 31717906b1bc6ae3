//! The history of a vehicle, and the data of public registers on it.

use chrono::{Datelike, NaiveDate};
use forecourt_reference::VehicleClass;
use forecourt_vehicles::{
    DvlaRecord, DvsaRecord, Figure, History, Lookup, MotTest, MotTests, ProvenanceCheck, Text, WordOrEmpty, YesNo,
};
use rand::{Rng, RngExt};

use super::{
    build::{Build, Lists},
    calendar::{date, days_after, days_between, years_after},
    figures::{co2, euro},
    models::Power,
    words::SERVICES,
};
use crate::sample::pick::{chance, weighted};

const YEAR: u32 = 365;
/// The number of tests of a vehicle that are listed.
const TESTS_TOLD: usize = 6;

/// A vehicle's tests, newest first, and the day until which the last one is valid.
pub(super) struct Tests {
    tests: Vec<MotTest>,
    holds_until: NaiveDate,
}

impl Tests {
    /// Makes random tests. They are due each year: the first after three years, for trucks after one. Machines and towed
    /// vehicles have none.
    pub(super) fn random(rng: &mut impl Rng, build: &Build) -> Option<Self> {
        if !build.has_mark() || build.is_machine() {
            return None;
        }
        let first = if build.class == VehicleClass::Truck { 1 } else { 3 };
        let mut due = first;
        let mut tests = Vec::new();
        loop {
            // A test within the month before it is due is valid for a year from the due day.
            let day = days_after(years_after(build.registered, due), -rng.random_range(1..28));
            if day > build.booked {
                break;
            }
            let odometer = build.mileage.unwrap_or(0) / build.age().max(1) * days_between(build.registered, day);
            if chance(rng, 15) {
                tests.push(test(days_after(day, -2), odometer, "FAILED"));
            }
            tests.push(test(day, odometer + 1, "PASSED"));
            due += 1;
        }
        tests.reverse();
        tests.truncate(TESTS_TOLD);
        Some(Self {
            tests,
            holds_until: years_after(build.registered, due),
        })
    }
}

fn test(day: NaiveDate, odometer: u32, result: &str) -> MotTest {
    MotTest {
        completed_date: day.to_string(),
        test_result: result.to_owned(),
        odometer_value: odometer.to_string(),
    }
}

/// Returns the number of years for which a maker warrants its vehicles.
fn warranted_years(make: &str) -> u32 {
    match make {
        "Kia" | "MG" => 7,
        "Hyundai" | "Toyota" | "Renault" => 5,
        _ => 3,
    }
}

/// Returns its history.
pub(super) fn history(rng: &mut impl Rng, build: &Build, tests: Option<&Tests>, lists: Lists<'_>) -> History {
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
    let yes_or_no = |yes: bool| WordOrEmpty(Some(if yes { YesNo::Yes } else { YesNo::No }));
    let serviced = driven && age > YEAR;
    let since_service = rng.random_range(10..YEAR.min(age).max(11));
    let warranty = years_after(build.registered, warranted_years(build.model.make));
    let warranted = driven && warranty > build.booked && !build.is_machine();
    let electric = build.engine.power == Power::Electric;
    History {
        previous_owner: Some(if build.is_new() {
            0
        } else {
            1 + rng.random_range(0..=years.min(12)) / 3
        }),
        keys: driven.then(|| if chance(rng, 82) { 2 } else { 1 }),
        v5: if build.has_mark() {
            yes_or_no(chance(rng, 92))
        } else {
            WordOrEmpty(None)
        },
        year: build.year(lists),
        condition: condition.to_owned(),
        condition_interior: condition.to_owned(),
        condition_exterior: condition.to_owned(),
        condition_tyre: if build.is_new() {
            condition.to_owned()
        } else {
            (*weighted(rng, &[(3, "Good"), (2, "Excellent"), (1, "Average")])).to_owned()
        },
        service_history: if serviced {
            (*weighted(rng, &SERVICES)).to_owned()
        } else {
            String::new()
        },
        service_last: serviced.then(|| date(days_after(build.booked, -i64::from(since_service)))),
        service_miles: build
            .mileage
            .filter(|_| serviced)
            .map(|mileage| mileage - mileage / age.max(1) * since_service),
        mot_expiry: tests.map(|tests| date(tests.holds_until)),
        mot_year: if tests.is_some() {
            yes_or_no(chance(rng, 30))
        } else {
            WordOrEmpty(None)
        },
        mot_insurance: if tests.is_some() {
            yes_or_no(chance(rng, 10))
        } else {
            WordOrEmpty(None)
        },
        warranty_expiry: warranted.then(|| date(warranty)),
        warranty_month: driven.then(|| {
            let left = days_between(build.booked, warranty) / 30;
            if warranted {
                left
            } else {
                *weighted(rng, &[(6, 3), (3, 6), (2, 12)])
            }
        }),
        warranty_battery_month: electric.then(|| 96_u32.saturating_sub(age / 30)),
        service_note: if serviced && chance(rng, 25) {
            format!("Serviced {} times, last with oil and filters", years.max(1)).into()
        } else {
            Text::default()
        },
    }
}

/// Returns the data of public registers, if they were queried.
pub(super) fn lookup(rng: &mut impl Rng, build: &Build, tests: Option<Tests>, owners: u32) -> Lookup {
    if !build.has_mark() || chance(rng, 35) {
        return Lookup::default();
    }
    let Build {
        model,
        engine,
        registered,
        booked,
        ..
    } = *build;
    let fuel_type = match engine.power {
        Power::Petrol => "PETROL",
        Power::Diesel => "DIESEL",
        Power::Electric => "ELECTRICITY",
        _ => "HYBRID ELECTRIC",
    };
    let untaxed = chance(rng, 20);
    let taxed_until = days_after(booked, rng.random_range(20..340));
    let light = matches!(build.class, VehicleClass::Car | VehicleClass::Crossover);
    Lookup {
        dvla: DvlaRecord {
            make: model.make.to_uppercase(),
            colour: build.colour.to_uppercase(),
            fuel_type: fuel_type.to_owned(),
            year_of_manufacture: u32::try_from(registered.year()).ok(),
            month_of_first_registration: format!("{}-{:02}", registered.year(), registered.month()),
            engine_capacity: (engine.cc > 0).then_some(engine.cc),
            co2_emissions: co2(build).map(|grammes| Figure::Number(grammes.into())),
            euro_status: if co2(build).is_some_and(|grammes| grammes > 0) {
                format!("EURO {}", euro(registered))
            } else {
                String::new()
            },
            tax_status: if untaxed { "SORN" } else { "Taxed" }.to_owned(),
            tax_due_date: (!untaxed).then(|| date(taxed_until)),
            mot_status: if tests.is_some() {
                "Valid"
            } else {
                "No details held by DVLA"
            }
            .to_owned(),
            mot_expiry_date: tests.as_ref().map(|tests| date(tests.holds_until)),
            date_of_last_v5c_issued: Some(date(days_after(booked, -i64::from(rng.random_range(0..build.age()))))),
            type_approval: match build.class {
                _ if light => "M1",
                VehicleClass::Van => "N1",
                VehicleClass::Truck => "N3",
                VehicleClass::Bike => "L3e",
                _ => "",
            }
            .to_owned(),
            wheelplan: if build.class == VehicleClass::Bike {
                "2 WHEEL"
            } else {
                "2 AXLE RIGID BODY"
            }
            .to_owned(),
            marked_for_export: Some(false),
        },
        dvsa: DvsaRecord {
            mot_tests: MotTests(tests.map(|tests| tests.tests).unwrap_or_default()),
        },
        check: ProvenanceCheck {
            stolen: Some(false),
            finance: Some(chance(rng, 6)),
            written_off: Some(chance(rng, 2)),
            previous_keepers: Some(owners),
        },
    }
}
