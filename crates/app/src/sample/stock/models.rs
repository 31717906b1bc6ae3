//! What dealers have: models with what they cost new, and the engines that they are built with.

use std::{collections::BTreeMap, str::FromStr, sync::OnceLock};

use forecourt_reference::VehicleClass;

use crate::sample::{data::lines, pick::Weighted};

/// Classes with how many of a dealer's vehicles are of each.
pub(super) const CLASSES: &[Weighted<VehicleClass>] = &[
    (62, VehicleClass::Car),
    (14, VehicleClass::Van),
    (7, VehicleClass::Bike),
    (4, VehicleClass::Motorhome),
    (4, VehicleClass::Crossover),
    (3, VehicleClass::Caravan),
    (2, VehicleClass::Truck),
    (2, VehicleClass::Farm),
    (2, VehicleClass::Plant),
];

/// What drives a vehicle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Power {
    Petrol,
    Diesel,
    Hybrid,
    PlugIn,
    Electric,
    /// It is towed.
    None,
}

/// Which gearboxes an engine comes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gearbox {
    Manual,
    Automatic,
    Either,
}

/// An engine.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub(super) power: Power,
    /// Capacity in cubic centimetres; 0 without cylinders.
    pub(super) cc: u32,
    /// Brake horsepower.
    pub(super) bhp: u32,
    pub(super) gearbox: Gearbox,
    /// Capacity of the traction battery in kilowatt-hours; 0 without one.
    pub(super) kwh: u32,
    /// Which wheels it drives, if not those that the model's other engines do.
    pub(super) driven: Option<Driven>,
    /// What the maker calls it; empty if that is nothing.
    pub(super) badge: &'static str,
}

/// Which wheels are driven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Driven {
    Front,
    Rear,
    Four,
}

impl Driven {
    /// The drivetrain, as the option list names it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Front => "Front Wheel Drive",
            Self::Rear => "Rear Wheel Drive",
            Self::Four => "Four Wheel Drive",
        }
    }

    fn read(word: &str) -> Option<Self> {
        match word {
            "front" => Some(Self::Front),
            "rear" => Some(Self::Rear),
            "four" => Some(Self::Four),
            _ => None,
        }
    }
}

/// How large a model is: in millimetres, kilogrammes and litres.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Measures {
    pub(super) length: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) wheelbase: u32,
    pub(super) weight: u32,
    /// 0 if unknown.
    pub(super) boot: u32,
}

/// A model.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) make: &'static str,
    pub(super) name: &'static str,
    /// Body style; of farm machines and plant the category.
    pub(super) body: &'static str,
    /// 0 if it has none.
    pub(super) doors: u32,
    /// 0 if it has none.
    pub(super) seats: u32,
    /// The first year in which one was registered, and the last one; `None` if it is still sold.
    pub(super) years: (i32, Option<i32>),
    /// What a usual one costs new, in pounds.
    pub(super) price: u32,
    /// At least one.
    pub(super) engines: Vec<Engine>,
    /// Which wheels most of its engines drive, if known.
    pub(super) driven: Option<Driven>,
    /// How large it is, if known; else it has the usual size of its body.
    pub(super) measures: Option<Measures>,
    /// Its trims, if known; else the taxonomy has them.
    pub(super) trims: Vec<&'static str>,
}

impl Power {
    /// The fuel, as the option list names it.
    pub(super) const fn fuel(self) -> &'static str {
        match self {
            Self::Petrol => "Petrol",
            Self::Diesel => "Diesel",
            Self::Hybrid => "Petrol Hybrid",
            Self::PlugIn => "Petrol Plug-in Hybrid",
            Self::Electric => "Electric",
            Self::None => "",
        }
    }
}

impl Engine {
    /// Capacity in litres: of bikes to the cubic centimetre, of others with one decimal; `None` without cylinders.
    pub(super) fn litres(&self, class: VehicleClass) -> Option<String> {
        let tenths = (self.cc + 50) / 100;
        let litres = match class {
            VehicleClass::Bike if !self.cc.is_multiple_of(100) => format!("{}.{:03}", self.cc / 1_000, self.cc % 1_000),
            _ => format!("{}.{}", tenths / 10, tenths % 10),
        };
        (self.cc > 0).then_some(litres)
    }
}

/// The models of a class with how often each is seen.
pub(super) fn of_class(class: VehicleClass) -> &'static [Weighted<Model>] {
    static MODELS: OnceLock<Vec<(VehicleClass, Vec<Weighted<Model>>)>> = OnceLock::new();
    let models = MODELS.get_or_init(|| {
        let engines = engines(include_str!("engines.txt"));
        models(include_str!("models.txt"), &engines)
    });
    let found = models.iter().find(|(known, _)| *known == class);
    found.map_or(&[], |(_, models)| models)
}

/// Lists of engines by name. What cannot be read is left out.
fn engines(text: &'static str) -> BTreeMap<&'static str, Vec<Engine>> {
    let mut lists = BTreeMap::<&str, Vec<Engine>>::new();
    for (name, engines) in lines(text).filter_map(|line| line.split_once(':')) {
        let engines = engines.split(',').filter_map(engine);
        lists.entry(name).or_default().extend(engines);
    }
    lists
}

fn engine(text: &'static str) -> Option<Engine> {
    let mut words = text.split_whitespace();
    let power = match words.next()? {
        "petrol" => Power::Petrol,
        "diesel" => Power::Diesel,
        "hybrid" => Power::Hybrid,
        "plug-in" => Power::PlugIn,
        "electric" => Power::Electric,
        "none" => Power::None,
        _ => return None,
    };
    let (cc, bhp) = (number(words.next()?)?, number(words.next()?)?);
    let gearbox = match words.next()? {
        "manual" => Gearbox::Manual,
        "automatic" => Gearbox::Automatic,
        "either" => Gearbox::Either,
        _ => return None,
    };
    let mut engine = Engine {
        power,
        cc,
        bhp,
        gearbox,
        kwh: 0,
        driven: None,
        badge: "",
    };
    for word in words {
        match (number(word), Driven::read(word)) {
            (Some(kwh), _) => engine.kwh = kwh,
            (_, Some(driven)) => engine.driven = Some(driven),
            _ => engine.badge = word,
        }
    }
    Some(engine)
}

/// Models by class. What cannot be read is left out.
fn models(
    text: &'static str,
    engines: &BTreeMap<&'static str, Vec<Engine>>,
) -> Vec<(VehicleClass, Vec<Weighted<Model>>)> {
    let mut classes = Vec::new();
    for line in lines(text) {
        let heading = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(class) = heading.and_then(|name| name.parse().ok()) {
            classes.push((class, Vec::new()));
        } else if let Some((_, models)) = classes.last_mut() {
            models.extend(model(line, engines));
        }
    }
    classes
}

fn model(line: &'static str, known: &BTreeMap<&'static str, Vec<Engine>>) -> Option<Weighted<Model>> {
    let columns: Vec<_> = line.split('|').map(str::trim).collect();
    let &[
        weight,
        make,
        name,
        body,
        room,
        years,
        price,
        engines,
        driven,
        size,
        trims,
    ] = columns.as_slice()
    else {
        return None;
    };
    let told = |column: &'static str| (column != "-").then_some(column);
    let (doors, seats) = room.split_once(' ')?;
    let (from, to) = years.split_once('-')?;
    let to = if to.is_empty() { None } else { Some(number(to)?) };
    let model = Model {
        make,
        name,
        body,
        doors: number(doors)?,
        seats: number(seats)?,
        years: (number(from)?, to),
        price: number(price)?,
        engines: match known.get(engines) {
            Some(engines) => engines.clone(),
            None => engines.split(',').map(engine).collect::<Option<_>>()?,
        },
        driven: match told(driven) {
            Some(word) => Some(Driven::read(word)?),
            None => None,
        },
        measures: match told(size) {
            Some(size) => Some(measures(size)?),
            None => None,
        },
        trims: told(trims).map_or_else(Vec::new, |trims| trims.split(',').map(str::trim).collect()),
    };
    Some((number(weight)?, model))
}

fn measures(text: &str) -> Option<Measures> {
    let numbers: Vec<_> = text.split_whitespace().map(|word| number(word).unwrap_or(0)).collect();
    let &[length, width, height, wheelbase, weight, boot] = numbers.as_slice() else {
        return None;
    };
    let measures = Measures {
        length,
        width,
        height,
        wheelbase,
        weight,
        boot,
    };
    (length > 0 && width > 0 && height > 0 && wheelbase > 0 && weight > 0).then_some(measures)
}

fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use forecourt_reference::{OptionList, Taxonomy};

    use super::*;

    #[test]
    fn every_line_is_read() {
        let read: usize = VehicleClass::ALL.iter().map(|&class| of_class(class).len()).sum();
        let written = lines(include_str!("models.txt")).filter(|line| !line.starts_with('['));
        assert_eq!(read, written.count());
        let engines = engines(include_str!("engines.txt"));
        let read: usize = engines.values().map(Vec::len).sum();
        let written: usize = lines(include_str!("engines.txt"))
            .map(|line| line.split(',').count())
            .sum();
        assert_eq!(read, written);
    }

    #[test]
    fn every_model_is_one_that_the_lists_know() {
        let own = BTreeMap::new();
        let mut unknown = Vec::new();
        for class in VehicleClass::ALL {
            assert!(of_class(class).len() >= 5, "{class:?}");
            assert!(
                of_class(class).iter().any(|(_, model)| model.years.1.is_none()),
                "{class:?}"
            );
            for (_, model) in of_class(class) {
                let name = format!("{class:?}: {} {}", model.make, model.name);
                let make = Taxonomy::built_in().make(Some(class), model.make);
                let known = make.filter(|make| make.name() == model.make && make.model(model.name).is_some());
                let machine = matches!(class, VehicleClass::Farm | VehicleClass::Plant);
                let list = if machine {
                    OptionList::Category
                } else {
                    OptionList::Body
                };
                let mut usual = list.values(Some(class), &own);
                assert!(usual.any(|body| body == model.body), "{name}: {}", model.body);
                assert!(!model.engines.is_empty() && model.price > 1_000, "{name}");
                for engine in &model.engines {
                    let fuel = engine.power.fuel();
                    assert!(fuel.is_empty() || OptionList::Fuel.find(fuel, Some(class), &own) == Some(fuel));
                }
                let Some(known) = known.and_then(|make| make.model(model.name)) else {
                    unknown.push(name);
                    continue;
                };
                if !matches!(class, VehicleClass::Car | VehicleClass::Crossover) {
                    continue;
                }
                let sizes: Vec<_> = known.engine_sizes().collect();
                for engine in &model.engines {
                    let litres = engine.litres(class);
                    let built = sizes.is_empty() || litres.as_ref().is_none_or(|litres| sizes.contains(&&**litres));
                    assert!(built, "{name}: {litres:?} of {sizes:?}");
                }
                let (from, to) = model.years;
                let in_year = |year: i32| {
                    let year = u16::try_from(year).unwrap();
                    known
                        .generations()
                        .filter(|one| one.sold_in(year))
                        .last()
                        .map(|one| one.name)
                };
                let generations: HashSet<_> = (from..=to.unwrap_or(2026)).map(in_year).collect();
                assert_eq!(generations.len(), 1, "{name} {from}: {generations:?}");
                assert!(model.driven.is_some() && model.measures.is_some(), "{name} {from}");
            }
        }
        assert_eq!(unknown, [""; 0]);
    }
}
