//! Chooses a vehicle's model, engine, age and colour.

use chrono::{Datelike, NaiveDate};
use forecourt_kernel::Timestamp;
use forecourt_reference::{Catalogue, StockType, VehicleClass};
use forecourt_vehicles::{
    BedroomLayouts, EndLayouts, Identity, Listed, OptionWords, Rules, Scalar as _, WordOrEmpty, Year, YesNo,
};
use rand::{Rng, RngExt};

use super::{
    calendar::{date, days_after, days_between},
    models::{self, Driven, Engine, Gearbox, Model, Power},
    words::{
        AGES, BEDROOMS, COLOURS, ENDS, FINISHES, GROUPS, INTERIOR_COLOURS, LIVERIES, MACHINE_COLOURS, PALE_COLOURS,
        UPHOLSTERY, WHEELBASES,
    },
};
use crate::sample::pick::{any, chance, one, weighted, when};

const YEAR: u32 = 365;

/// A vehicle's build, and its age when it came into the books.
#[derive(Debug)]
pub(super) struct Build {
    pub(super) class: VehicleClass,
    pub(super) model: &'static Model,
    pub(super) engine: &'static Engine,
    pub(super) generation: &'static str,
    pub(super) trim: &'static str,
    pub(super) automatic: bool,
    pub(super) colour: &'static str,
    pub(super) colour_name: &'static str,
    /// The day on which it came into the books.
    pub(super) booked: NaiveDate,
    /// The day on which it was first registered, or would have been; for a new one, the day on which it came into the books.
    pub(super) registered: NaiveDate,
    /// Its mileage by then, if it has an odometer.
    pub(super) mileage: Option<u32>,
    /// Its working hours by then, if they are counted.
    pub(super) hours: Option<u32>,
}

impl Build {
    /// Makes a random build of a vehicle that is in stock on that day with that stock type.
    pub(super) fn random(rng: &mut impl Rng, class: VehicleClass, kind: StockType, booked: NaiveDate) -> Self {
        let current = matches!(kind, StockType::ToOrder | StockType::Courtesy);
        let model = model(rng, class, current);
        let registered = registered(rng, model, kind, booked);
        let known = model.known(class);
        let year = u16::try_from(registered.year()).unwrap_or_default();
        let generation = known.and_then(|model| model.generations().filter(|one| one.sold_in(year)).last());
        let trims = if model.driven.is_some() {
            model.trims.clone()
        } else {
            known.map_or_else(Vec::new, |model| model.trims().collect())
        };
        let trim = any(rng, &trims).copied();
        let sizes: Vec<&str> = known.map_or_else(Vec::new, |model| model.engine_sizes().collect());
        let engine = engine(rng, class, model, &sizes, registered.year());
        let (colour, names) = colour(rng, class, model);
        let mut build = Self {
            class,
            model,
            engine,
            generation: generation.map_or("", |generation| generation.name),
            trim: trim.unwrap_or_default(),
            automatic: match engine.gearbox {
                Gearbox::Manual => false,
                Gearbox::Automatic => true,
                Gearbox::Either => chance(rng, 35),
            },
            colour,
            colour_name: any(rng, names).copied().unwrap_or_default(),
            booked,
            registered,
            mileage: None,
            hours: None,
        };
        build.run(rng);
        build
    }

    /// Returns its age in days when it comes into the books.
    pub(super) fn age(&self) -> u32 {
        days_between(self.registered, self.booked)
    }

    /// Returns true if it is as good as new.
    pub(super) fn is_new(&self) -> bool {
        self.age() == 0
    }

    /// Returns true if it is driven on roads with its own registration mark.
    pub(super) fn has_mark(&self) -> bool {
        let off_road = self.class == VehicleClass::Plant && self.model.body != "Backhoe";
        !self.is_new() && !off_road && self.engine.power != Power::None
    }

    /// Returns true for a machine, whose work is counted in hours.
    pub(super) const fn is_machine(&self) -> bool {
        matches!(self.class, VehicleClass::Farm | VehicleClass::Plant)
    }

    /// Returns true if companies buy it: its price is shown without VAT.
    pub(super) const fn is_commercial(&self) -> bool {
        self.is_machine() || matches!(self.class, VehicleClass::Van | VehicleClass::Truck)
    }

    /// Returns the minimum number of miles, or hours, that it runs in a year.
    const fn yearly(&self) -> u32 {
        match (self.class, self.engine.power) {
            (VehicleClass::Car | VehicleClass::Crossover, Power::Diesel) => 7_000,
            (VehicleClass::Car | VehicleClass::Crossover, _) => 4_500,
            (VehicleClass::Van, _) => 8_000,
            (VehicleClass::Truck, _) => 25_000,
            (VehicleClass::Bike, _) => 1_300,
            (VehicleClass::Motorhome, _) => 2_500,
            (VehicleClass::Farm, _) => 250,
            (VehicleClass::Plant, _) => 400,
            (VehicleClass::Caravan, _) => 0,
        }
    }

    /// Returns its mileage for its age, in percent of the usual one.
    pub(super) fn run_percent(&self) -> u32 {
        let usual = self.yearly() * 7 / 4 * self.age() / YEAR;
        match self.mileage.or(self.hours) {
            Some(ran) if usual > 0 => ran * 100 / usual,
            _ => 100,
        }
    }

    fn run(&mut self, rng: &mut impl Rng) {
        if self.engine.power == Power::None {
            return;
        }
        let yearly = self.yearly();
        let a_year = rng.random_range(yearly..yearly * 2 + yearly / 2);
        let ran = a_year * self.age() / YEAR + rng.random_range(2..20);
        if self.is_machine() {
            self.hours = Some(ran);
        } else {
            self.mileage = Some(ran);
        }
    }

    /// Returns its derivative, such as `1.0 EcoBoost 95 Zetec 5dr`.
    pub(super) fn derivative(&self) -> String {
        let Engine { power, bhp, kwh, .. } = *self.engine;
        let mut parts = Vec::with_capacity(6);
        let size = self.engine.litres(self.class);
        parts.extend(size.filter(|_| !self.is_machine() && self.class != VehicleClass::Bike));
        let badge = match (self.engine.badge, power) {
            ("", Power::Hybrid) => "Hybrid",
            ("", Power::PlugIn) => "PHEV",
            (badge, _) => badge,
        };
        parts.extend((!badge.is_empty()).then(|| badge.replace('_', " ")));
        if power == Power::Electric {
            parts.push(format!("{kwh}kWh"));
        } else if power != Power::None {
            parts.push(format!("{bhp}"));
        }
        parts.extend(Some(self.trim).filter(|trim| !trim.is_empty()).map(str::to_owned));
        if matches!(self.class, VehicleClass::Car | VehicleClass::Crossover) {
            parts.push(format!("{}dr", self.model.doors));
        }
        if self.automatic && power != Power::Electric && !self.is_machine() {
            parts.push("Auto".to_owned());
        }
        parts.join(" ")
    }

    /// Returns the fields that identify it.
    pub(super) fn identity(&self, rng: &mut impl Rng, lists: Lists<'_>) -> Identity {
        let Self { class, model, .. } = *self;
        let some = |count: u32| (count > 0).then_some(count);
        let camping = matches!(class, VehicleClass::Caravan | VehicleClass::Motorhome);
        let driven = self.engine.power != Power::None && class != VehicleClass::Bike;
        let (&bedroom, &end) = (one(rng, &BEDROOMS), one(rng, &ENDS));
        let berths = *one(rng, &[2, 2, 4, 4, 4, 6]);
        Identity {
            class: WordOrEmpty(Some(class)),
            make: model.make.to_owned(),
            model: model.name.to_owned(),
            generation: self.generation.to_owned(),
            derivative: self.derivative(),
            trim: self.trim.to_owned(),
            engine_size: self.engine.litres(class).unwrap_or_default(),
            body: lists.word(if self.is_machine() { "" } else { model.body }),
            colour: lists.word(self.colour),
            colour_name: self.colour_name.to_owned(),
            fuel: lists.word(self.engine.power.fuel()),
            transmission: lists.word(self.transmission()),
            drivetrain: lists.word(self.drivetrain()),
            seats: some(model.seats),
            doors: some(model.doors),
            wheelbase: when(
                class == VehicleClass::Van && model.body != "Pickup",
                weighted::<&str>(rng, &WHEELBASES),
            ),
            cab_type: cab(class, model.body).to_owned(),
            mileage: self.mileage,
            registered: (!self.is_new() && self.engine.power != Power::None).then(|| date(self.registered)),
            category: match class {
                VehicleClass::Farm | VehicleClass::Plant => model.body.to_owned(),
                VehicleClass::Truck if model.body == "Tractor Unit" => "Tractor Unit".to_owned(),
                VehicleClass::Truck if self.engine.cc < 4_000 => "Up to 7.5 Tonnes".to_owned(),
                VehicleClass::Truck if self.engine.cc < 7_000 => "7.5 to 18 Tonnes".to_owned(),
                VehicleClass::Truck => "18 to 26 Tonnes".to_owned(),
                _ => String::new(),
            },
            driver_position: when(driven && !self.is_machine(), "Right"),
            interior_upholstery: when(driven && !self.is_machine(), weighted::<&str>(rng, &UPHOLSTERY)),
            interior_colour: when(driven, weighted::<&str>(rng, &INTERIOR_COLOURS)),
            exterior_finish: when(!self.is_machine(), weighted::<&str>(rng, &FINISHES)),
            group: when(chance(rng, 12), one::<&str>(rng, &GROUPS)),
            hour: self.hours.map(|hours| hours.to_string()).unwrap_or_default(),
            bedroom_layout: if camping {
                lists.read::<BedroomLayouts>(bedroom)
            } else {
                None
            },
            end_layout: if camping { lists.read::<EndLayouts>(end) } else { None },
            bedroom: (camping && model.body == "Static").then_some(2),
            berth: camping.then_some(berths),
            seat_belt: (class == VehicleClass::Motorhome).then_some(model.seats),
            wheelchair: camping.then_some(YesNo::No),
        }
    }

    fn transmission(&self) -> &'static str {
        match self.engine.power {
            Power::None => "",
            _ if self.automatic => "Automatic",
            _ => "Manual",
        }
    }

    fn drivetrain(&self) -> &'static str {
        match (self.class, self.model.make) {
            (VehicleClass::Bike, "BMW") => "Shaft",
            (VehicleClass::Bike, "Harley-Davidson") => "Belt",
            (VehicleClass::Bike, _) if self.model.body == "Scooter" => "Belt",
            (VehicleClass::Bike, _) => "Chain",
            _ => self.engine.driven.or(self.model.driven).map_or("", Driven::name),
        }
    }

    /// Returns the year in which it was made; `None` before the first motor car.
    pub(super) fn year(&self, lists: Lists<'_>) -> Option<Year> {
        Year::parse(&self.registered.year().into(), &lists.0).ok()
    }
}

/// Returns a model of a class; if `current`, one that is still sold.
fn model(rng: &mut impl Rng, class: VehicleClass, current: bool) -> &'static Model {
    loop {
        let model = weighted(rng, models::of_class(class));
        if !current || model.years.1.is_none() {
            return model;
        }
    }
}

/// Returns one of a model's engines. If the sizes are known, it has one with which the model was built, and is no hybrid in
/// early years.
fn engine(
    rng: &mut impl Rng,
    class: VehicleClass,
    model: &'static Model,
    sizes: &[&str],
    year: i32,
) -> &'static Engine {
    let fits = |engine: &&Engine| {
        let early = year < 2017 && matches!(engine.power, Power::Hybrid | Power::PlugIn);
        !early && engine.litres(class).is_none_or(|litres| sizes.contains(&&*litres))
    };
    let fitting: Vec<_> = model.engines.iter().filter(fits).collect();
    any(rng, &fitting).copied().unwrap_or_else(|| one(rng, &model.engines))
}

/// Returns the day of registration of a vehicle that the business has on that day.
fn registered(rng: &mut impl Rng, model: &Model, kind: StockType, booked: NaiveDate) -> NaiveDate {
    let (from, to) = model.years;
    let day = |year, month, day| NaiveDate::from_ymd_opt(year, month, day).unwrap_or(booked);
    let first = day(from, 1, 1);
    let last = to.map_or(booked, |to| day(to, 12, 31)).min(booked);
    if kind == StockType::ToOrder || first >= last {
        return booked;
    }
    let (least, most) = match kind {
        StockType::Courtesy => (0, 3),
        StockType::Customer | StockType::Appraisal => (1, 12),
        StockType::InStock | StockType::ToOrder => *weighted(rng, &AGES),
    };
    let age = rng.random_range(least * YEAR + 30..most * YEAR);
    let registered = days_after(last, -i64::from(age));
    if registered >= first {
        return registered;
    }
    days_after(first, i64::from(rng.random_range(0..days_between(first, last))))
}

/// Returns a colour, and the maker's name for it.
fn colour(rng: &mut impl Rng, class: VehicleClass, model: &Model) -> (&'static str, &'static [&'static str]) {
    let livery = LIVERIES.iter().find(|(make, _)| *make == model.make);
    match (class, livery) {
        (VehicleClass::Farm | VehicleClass::Plant, Some((_, colour))) => (colour, &[]),
        (VehicleClass::Farm | VehicleClass::Plant, None) => (*weighted(rng, &MACHINE_COLOURS), &[]),
        (VehicleClass::Caravan | VehicleClass::Motorhome | VehicleClass::Truck, _) => {
            (*weighted(rng, &PALE_COLOURS), &[])
        }
        (VehicleClass::Van, _) if chance(rng, 60) => (*weighted(rng, &PALE_COLOURS), &[]),
        _ => {
            let (colour, names) = weighted(rng, &COLOURS);
            (colour, names)
        }
    }
}

fn cab(class: VehicleClass, body: &str) -> &'static str {
    match (class, body) {
        (VehicleClass::Van, "Pickup") => "Double",
        (VehicleClass::Van, "Combi Van") => "Crew",
        (VehicleClass::Van, "Tipper" | "Dropside" | "Luton") => "Single",
        (VehicleClass::Van, _) => "Standard",
        (VehicleClass::Truck, "Tractor Unit") => "Sleeper",
        (VehicleClass::Truck, _) => "Day",
        _ => "",
    }
}

/// The lists from which words are chosen.
#[derive(Clone, Copy)]
pub(super) struct Lists<'a>(Rules<'a>);

impl<'a> Lists<'a> {
    /// Makes the lists of a business as of that moment.
    pub(super) const fn new(catalogue: &'a Catalogue, now: Timestamp) -> Self {
        Self(Rules {
            catalogue,
            now,
            creating: true,
        })
    }

    /// Returns a word of a list, or nothing if it is not in it.
    fn read<L: OptionWords>(self, word: &str) -> Option<Listed<L>> {
        Listed::parse(&word.into(), &self.0).ok()
    }

    fn word<L: OptionWords>(self, word: &str) -> WordOrEmpty<Listed<L>> {
        WordOrEmpty(if word.is_empty() { None } else { self.read(word) })
    }
}
