//! A vehicle's data sheet, as far as adverts and feeds show it.

use forecourt_reference::VehicleClass;
use forecourt_vehicles::{Battery, Engine, Figure, Fuel, Performance, Size, Spec};

use super::{build::Build, models::Power};

/// Returns the data sheet.
pub(super) fn spec(build: &Build) -> Spec {
    let engine = build.engine;
    let size = build.model.measures.unwrap_or_default();
    let nm = match engine.power {
        Power::Diesel => engine.bhp * 12 / 5,
        Power::Electric | Power::PlugIn => engine.bhp * 9 / 5,
        _ => engine.bhp * 3 / 2,
    };
    let range = engine.kwh * if engine.power == Power::Electric { 37 } else { 24 } / 10;
    let mut spec = Spec {
        performance: Performance {
            top_speed: top_speed(build).map(whole),
            ..Performance::default()
        },
        engine: Engine {
            capacity: some(engine.cc),
            bhp: some(engine.bhp),
            nm: some(nm),
            ..Engine::default()
        },
        battery: Battery {
            kwh: some(engine.kwh),
            range: some(range),
            ..Battery::default()
        },
        fuel: Fuel::default(),
        size: Size {
            length: some(size.length),
            width: some(size.width),
            height: some(size.height),
            wheelbase: some(size.wheelbase),
            kerb_weight: some(size.weight),
            boot_seats_up: some(size.boot),
            ..Size::default()
        },
        ..Spec::default()
    };
    let co2 = co2(build).map(|grammes| ("emission_co2".to_owned(), whole(grammes)));
    spec.fuel.emission.0.extend(co2);
    spec
}

fn whole(number: u32) -> Figure {
    Figure::Number(number.into())
}

/// Returns the figure, unless it is 0, which is unknown.
fn some(number: u32) -> Option<Figure> {
    (number > 0).then(|| whole(number))
}

/// Returns the top speed in miles per hour, for what is driven on roads.
fn top_speed(build: &Build) -> Option<u32> {
    let bhp = build.engine.bhp;
    match build.class {
        VehicleClass::Car | VehicleClass::Crossover => Some((78 + bhp * 2 / 5).min(155)),
        VehicleClass::Van | VehicleClass::Motorhome => Some((76 + bhp / 5).min(112)),
        VehicleClass::Bike => Some((60 + bhp * 4 / 5).min(186)),
        VehicleClass::Truck => Some(56),
        VehicleClass::Caravan | VehicleClass::Farm | VehicleClass::Plant => None,
    }
}

/// Returns the grammes of carbon dioxide per kilometre, for cars, crossovers, vans and bikes.
fn co2(build: &Build) -> Option<u32> {
    let petrol = 92 + build.engine.bhp / 4 + build.engine.cc / 80;
    match build.engine.power {
        _ if build.is_machine() || matches!(build.class, VehicleClass::Truck | VehicleClass::Caravan) => None,
        Power::None => None,
        Power::Petrol => Some(petrol),
        Power::Diesel => Some(petrol * 92 / 100),
        Power::Hybrid => Some(petrol * 73 / 100),
        Power::PlugIn => Some(34),
        Power::Electric => Some(0),
    }
}
