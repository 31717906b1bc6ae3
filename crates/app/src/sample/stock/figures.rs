//! A vehicle's data sheet: rounded, consistent figures, computed from its engine and its body.

use chrono::{Datelike, NaiveDate};
use forecourt_reference::VehicleClass;
use forecourt_vehicles::{
    Battery, Engine as EngineSheet, Figure, Figures, Fuel, Insurance, OtherSpec, Performance, Size, Spec,
};
use serde_json::Number;

use super::{
    build::Build,
    models::{Engine, Measures, Power},
    words::SIZES,
};

/// Returns the European emission standard that was in force when it was registered.
pub(super) fn euro(registered: NaiveDate) -> u32 {
    match (registered.year(), registered.month()) {
        when if when >= (2015, 9) => 6,
        when if when >= (2011, 1) => 5,
        when if when >= (2006, 1) => 4,
        when if when >= (2001, 1) => 3,
        _ => 2,
    }
}

/// Returns the grammes of carbon dioxide per kilometre, for cars, crossovers, vans and bikes.
pub(super) fn co2(build: &Build) -> Option<u32> {
    let emits = !build.is_machine() && !matches!(build.class, VehicleClass::Truck | VehicleClass::Caravan);
    let weight = weight(build);
    let petrol = 52 + weight / 24 + build.engine.bhp / 5;
    match build.engine.power {
        _ if !emits => None,
        Power::None => None,
        Power::Petrol => Some(petrol),
        Power::Diesel => Some(petrol * 92 / 100),
        Power::Hybrid => Some(petrol * 73 / 100),
        Power::PlugIn => Some(34),
        Power::Electric => Some(0),
    }
}

/// Returns true if it may be driven in the ultra low emission zone without a charge.
fn is_clean(build: &Build) -> bool {
    let least = match (build.class, build.engine.power) {
        (VehicleClass::Bike, _) => 3,
        (_, Power::Diesel) => 6,
        (_, Power::Electric) => 0,
        _ => 4,
    };
    euro(build.registered) >= least
}

/// Scales a size: expensive models are larger than cheap ones of the same body, 90 to 110 % of the usual size within a class.
/// Known sizes of a model are not changed.
fn scaled(build: &Build, usual: u32) -> u32 {
    if build.class == VehicleClass::Bike || build.model.measures.is_some() {
        return usual;
    }
    let percent = 94 + (build.model.price / 5_000).min(16);
    usual * percent / 100 / 5 * 5
}

fn measures(build: &Build) -> Measures {
    let known = build.model.measures;
    let fits = |(class, body, _): &&(Option<VehicleClass>, Option<&str>, Measures)| {
        class.is_none_or(|class| class == build.class) && body.is_none_or(|body| body == build.model.body)
    };
    let usual = || SIZES.iter().find(fits).map(|(_, _, size)| *size).unwrap_or_default();
    known.unwrap_or_else(usual)
}

/// Returns its weight. The known weight of an electric-only model includes the battery.
fn weight(build: &Build) -> u32 {
    let battery = match build.engine.power {
        Power::Electric if build.model.measures.is_some() => 0,
        _ => build.engine.kwh * 5,
    };
    scaled(build, measures(build).weight) + battery
}

/// Returns the data sheet.
pub(super) fn spec(build: &Build) -> Spec {
    Spec {
        performance: performance(build),
        engine: engine(build),
        battery: battery(build.engine),
        fuel: fuel(build),
        size: size(build),
        insurance: insurance(build),
        other: OtherSpec {
            axles: matches!(build.class, VehicleClass::Truck | VehicleClass::Motorhome).then(|| whole(2)),
            ..OtherSpec::default()
        },
    }
}

fn whole(number: u32) -> Figure {
    Figure::Number(number.into())
}

fn tenths(number: u32) -> Figure {
    Number::from_f64(f64::from(number) / 10.0).map_or_else(|| whole(number / 10), Figure::Number)
}

fn performance(build: &Build) -> Performance {
    let bhp = build.engine.bhp;
    let top = match build.class {
        VehicleClass::Car | VehicleClass::Crossover => (78 + bhp * 2 / 5).min(155),
        VehicleClass::Van | VehicleClass::Motorhome => (76 + bhp / 5).min(112),
        VehicleClass::Bike => (60 + bhp * 4 / 5).min(186),
        VehicleClass::Truck => 56,
        VehicleClass::Caravan | VehicleClass::Farm | VehicleClass::Plant => return Performance::default(),
    };
    let sprints = build.class != VehicleClass::Truck;
    let sprint = 20 + 7 * weight(build) / bhp.max(1);
    Performance {
        top_speed: Some(whole(top)),
        zero_sixty: sprints.then(|| tenths(sprint)),
        zero_sixty_two: sprints.then(|| tenths(sprint + sprint / 25)),
    }
}

fn engine(build: &Build) -> EngineSheet {
    let Engine { power, cc, bhp, .. } = *build.engine;
    if power == Power::None {
        return EngineSheet::default();
    }
    let nm = match power {
        Power::Diesel => bhp * 12 / 5,
        Power::Electric | Power::PlugIn => bhp * 9 / 5,
        _ => bhp * 3 / 2,
    };
    let combustion = cc > 0;
    let cylinders = match cc {
        0..=130 => 1,
        131..=700 => 2,
        701..=1_299 => 3,
        1_300..=2_600 => 4,
        4_300..=5_100 if build.class == VehicleClass::Car => 8,
        _ => 6,
    };
    let gears = match (build.automatic, power) {
        (_, Power::Electric) => 1,
        (true, _) => 8,
        (false, _) if build.registered.year() < 2012 => 5,
        (false, _) => 6,
    };
    EngineSheet {
        cylinders: combustion.then(|| whole(cylinders)),
        cylinder_layout: combustion.then(|| Figure::Text(layout(build, cylinders).to_owned())),
        capacity: combustion.then(|| whole(cc)),
        bhp: Some(whole(bhp)),
        ps: Some(whole(bhp * 1_014 / 1_000)),
        kw: Some(whole(bhp * 746 / 1_000)),
        nm: Some(whole(nm)),
        lb_ft: Some(whole(nm * 738 / 1_000)),
        gears: Some(whole(gears)),
        valves: combustion.then(|| whole(cylinders * 4)),
        start_stop: (combustion && build.class == VehicleClass::Car).then(|| Figure::Flag(euro(build.registered) >= 5)),
        ..EngineSheet::default()
    }
}

fn layout(build: &Build, cylinders: u32) -> &'static str {
    match (build.model.make, cylinders) {
        ("Porsche", 6) if build.model.name == "911" => "Flat",
        (_, 8) => "V",
        ("BMW" | "Mercedes-Benz" | "Land Rover" | "Jaguar", _) | (_, 1..=4) => "Inline",
        (_, 6) if matches!(build.class, VehicleClass::Car | VehicleClass::Crossover) => "V",
        _ => "Inline",
    }
}

fn battery(&Engine { power, kwh, .. }: &Engine) -> Battery {
    if kwh == 0 {
        return Battery::default();
    }
    let electric = power == Power::Electric;
    Battery {
        charge_time: Some(Figure::Text(format!("{} h at 7 kW", kwh.div_ceil(7)))),
        charge_time_rapid: electric.then(|| Figure::Text("30 min to 80 %".to_owned())),
        range: Some(whole(kwh * if electric { 37 } else { 24 } / 10)),
        kwh: Some(whole(kwh)),
        kwh_usable: Some(tenths(kwh * 19 / 2)),
        connector: Some(Figure::Text(if electric { "CCS" } else { "Type 2" }.to_owned())),
        ..Battery::default()
    }
}

fn fuel(build: &Build) -> Fuel {
    let Some(co2) = co2(build) else {
        return Fuel::default();
    };
    let mut fuel = Fuel {
        ulez: Some(Figure::Flag(is_clean(build))),
        caz: Some(Figure::Flag(is_clean(build))),
        ..Fuel::default()
    };
    let emission = &mut fuel.emission.0;
    emission.insert("emission_co2".to_owned(), whole(co2));
    // The product of miles per imperial gallon and grammes per kilometre, for the fuel that is burnt.
    let product = if build.engine.power == Power::Diesel {
        74_300_u32
    } else {
        65_100
    };
    if let Some(combined) = product.checked_div(co2) {
        let standard = Figure::Text(format!("Euro {}", euro(build.registered)));
        emission.insert("emission_euro".to_owned(), standard);
        fuel.mpg = Figures(
            [
                ("mpg_combined".to_owned(), tenths(combined)),
                ("mpg_urban".to_owned(), tenths(combined * 4 / 5)),
                ("mpg_extra_urban".to_owned(), tenths(combined * 6 / 5)),
            ]
            .into(),
        );
        let tank = match build.class {
            VehicleClass::Bike => 15,
            VehicleClass::Van | VehicleClass::Motorhome => 80,
            _ => 42 + (build.model.price / 5_000).min(25),
        };
        fuel.tank = Some(whole(tank));
    }
    fuel
}

fn size(build: &Build) -> Size {
    let Measures {
        length,
        width,
        height,
        wheelbase,
        boot,
        ..
    } = measures(build);
    let measure = |usual: u32| (usual > 0).then(|| whole(scaled(build, usual)));
    let kerb = weight(build);
    let gross =
        kerb * match build.class {
            VehicleClass::Van => 158,
            VehicleClass::Truck => 210,
            VehicleClass::Bike => 190,
            VehicleClass::Caravan => 113,
            _ => 134,
        } / 100
            / 5
            * 5;
    let towed = build.class == VehicleClass::Caravan;
    let towing = matches!(
        build.class,
        VehicleClass::Car | VehicleClass::Crossover | VehicleClass::Van
    );
    let mut size = Size {
        length: measure(length),
        width: measure(width),
        width_mirrors: towing.then(|| whole(scaled(build, width) + 220)),
        height: measure(height),
        wheelbase: measure(wheelbase),
        kerb_weight: (!towed).then(|| whole(kerb)),
        gross_weight: (!build.is_machine() && !towed).then(|| whole(gross)),
        mass_in_running_order: towed.then(|| whole(kerb)),
        mtplm: towed.then(|| whole(gross)),
        payload: build
            .is_commercial()
            .then(|| whole(gross - kerb))
            .filter(|_| !build.is_machine()),
        towing_braked: towing.then(|| whole(kerb * 9 / 10 / 50 * 50)),
        towing_unbraked: towing.then(|| whole((kerb / 2).min(750) / 10 * 10)),
        boot_seats_up: measure(boot),
        boot_seats_down: measure(boot * 14 / 5),
        ..Size::default()
    };
    if build.class == VehicleClass::Van && build.model.body != "Pickup" {
        let load = [
            ("load_length", scaled(build, 2_500)),
            ("load_width", scaled(build, 1_690)),
            ("load_height", scaled(build, 1_400)),
        ];
        size.load.0 = load.map(|(name, value)| (name.to_owned(), whole(value))).into();
    }
    size
}

/// Returns the insurance group, 1 to 50, by power and price.
fn insurance(build: &Build) -> Insurance {
    if !matches!(build.class, VehicleClass::Car | VehicleClass::Crossover) {
        return Insurance::default();
    }
    let group = (build.engine.bhp / 14 + build.model.price / 2_600).clamp(1, 50);
    Insurance {
        group: Some(Figure::Text(format!("{group}E"))),
        ..Insurance::default()
    }
}
