//! The models of dealers, with their prices as new and their engines.

use std::{
    collections::{BTreeMap, HashMap},
    iter::once,
    str::FromStr,
    sync::{LazyLock, OnceLock},
};

use forecourt_reference::{self as reference, Taxonomy, VehicleClass};

use crate::sample::{
    data::{Row, lines, parsed, table},
    pick::Weighted,
};

/// Declares an enum, and the words for its variants in the data files.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident: $($(#[$of_variant:meta])* $word:literal $variant:ident,)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum $name {
            $($(#[$of_variant])* $variant,)+
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(word: &str) -> Result<Self, ()> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(()),
                }
            }
        }

        parsed!($name);
    };
}

words! {
    /// The source of a vehicle's power.
    Power:
    "petrol" Petrol,
    "diesel" Diesel,
    "hybrid" Hybrid,
    "plug-in" PlugIn,
    "electric" Electric,
    /// The vehicle is towed.
    "none" None,
}

words! {
    /// The gearboxes of an engine.
    Gearbox:
    "manual" Manual,
    "automatic" Automatic,
    "either" Either,
}

words! {
    /// The driven wheels.
    Driven:
    "front" Front,
    "rear" Rear,
    "four" Four,
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
    /// The wheels that it drives, if not those that the model's other engines do.
    pub(super) driven: Option<Driven>,
    /// The maker's name for it; empty if there is none.
    pub(super) badge: &'static str,
}

impl Driven {
    /// Returns the drivetrain, as the option list names it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Front => "Front Wheel Drive",
            Self::Rear => "Rear Wheel Drive",
            Self::Four => "Four Wheel Drive",
        }
    }
}

/// The size of a model in millimetres, kilogrammes and litres.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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
    /// The body style; for farm machines and plant the category.
    pub(super) body: &'static str,
    /// 0 if it has none.
    pub(super) doors: u32,
    /// 0 if it has none.
    pub(super) seats: u32,
    /// The first year in which one was registered, and the last one; `None` if it is still sold.
    pub(super) years: (i32, Option<i32>),
    /// The price of a usual one as new, in pounds.
    pub(super) price: u32,
    /// At least one.
    pub(super) engines: Vec<Engine>,
    /// The wheels that most of its engines drive, if known.
    pub(super) driven: Option<Driven>,
    /// Its size, if known.
    pub(super) measures: Option<Measures>,
    /// Its trims, if known; else those of the taxonomy.
    pub(super) trims: Vec<&'static str>,
    /// Its entry in the taxonomy, once it was looked up.
    known: OnceLock<Option<&'static reference::Model>>,
}

impl Model {
    /// Returns its entry in the taxonomy, as a model of this class.
    pub(super) fn known(&self, class: VehicleClass) -> Option<&'static reference::Model> {
        *self.known.get_or_init(|| {
            let make = Taxonomy::built_in().make(Some(class), self.make);
            make.and_then(|make| make.model(self.name))
        })
    }
}

impl Power {
    /// Returns the fuel, as the option list names it.
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
    /// Returns the capacity in litres: for bikes to the cubic centimetre, for others with one decimal; `None` without
    /// cylinders.
    pub(super) fn litres(&self, class: VehicleClass) -> Option<String> {
        let tenths = (self.cc + 50) / 100;
        let litres = match class {
            VehicleClass::Bike if !self.cc.is_multiple_of(100) => format!("{}.{:03}", self.cc / 1_000, self.cc % 1_000),
            _ => format!("{}.{}", tenths / 10, tenths % 10),
        };
        (self.cc > 0).then_some(litres)
    }
}

/// Returns the models of a class, each with its frequency as the weight.
pub(super) fn of_class(class: VehicleClass) -> &'static [Weighted<Model>] {
    static MODELS: LazyLock<HashMap<VehicleClass, Vec<Weighted<Model>>>> = LazyLock::new(|| {
        let models = |class: VehicleClass| (class, table(include_str!("models.txt"), class.name()));
        VehicleClass::ALL.map(models).into()
    });
    MODELS.get(&class).map_or(&[], Vec::as_slice)
}

/// Lists of engines by name.
static ENGINES: LazyLock<BTreeMap<&str, Vec<Engine>>> = LazyLock::new(|| {
    let mut lists = BTreeMap::<_, Vec<_>>::new();
    for (name, list) in lines(include_str!("engines.txt")).filter_map(|line| line.split_once(':')) {
        lists.entry(name).or_default().extend(engines(list).unwrap_or_default());
    }
    lists
});

fn engines(list: &'static str) -> Option<Vec<Engine>> {
    let engine = |text: &'static str| Engine::read(&mut text.split_whitespace());
    list.split(',').map(engine).collect()
}

/// Its columns are words.
impl Row for Engine {
    fn read(words: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
        let mut engine = Self {
            power: Row::read(words)?,
            cc: Row::read(words)?,
            bhp: Row::read(words)?,
            gearbox: Row::read(words)?,
            kwh: 0,
            driven: None,
            badge: "",
        };
        for word in words {
            match (word.parse(), word.parse()) {
                (Ok(kwh), _) => engine.kwh = kwh,
                (_, Ok(driven)) => engine.driven = Some(driven),
                _ => engine.badge = word,
            }
        }
        Some(engine)
    }
}

impl Row for Model {
    fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
        let (make, name, body) = Row::read(columns)?;
        let (doors, seats) = columns.next()?.split_once(' ')?;
        let (from, to) = columns.next()?.split_once('-')?;
        let to = if to.is_empty() { "-" } else { to };
        Some(Self {
            make,
            name,
            body,
            doors: doors.parse().ok()?,
            seats: seats.parse().ok()?,
            years: (from.parse().ok()?, Row::read(&mut once(to))?),
            price: Row::read(columns)?,
            engines: {
                let list = columns.next()?;
                ENGINES.get(list).cloned().or_else(|| engines(list))?
            },
            driven: Row::read(columns)?,
            measures: Row::read(columns)?,
            trims: <Option<Vec<_>>>::read(columns)?.unwrap_or_default(),
            known: OnceLock::new(),
        })
    }
}

impl Row for Measures {
    fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
        let numbers = columns.next()?.split_whitespace().map(|word| word.parse().ok());
        let [length, width, height, wheelbase, weight, boot] = numbers.collect::<Option<Vec<_>>>()?.try_into().ok()?;
        Some(Self {
            length,
            width,
            height,
            wheelbase,
            weight,
            boot,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use forecourt_reference::OptionList;

    use super::*;

    #[test]
    fn every_line_is_read() {
        let read: usize = VehicleClass::ALL.iter().map(|&class| of_class(class).len()).sum();
        let written = lines(include_str!("models.txt")).filter(|line| !line.starts_with('['));
        assert_eq!(read, written.count());
        let read: usize = ENGINES.values().map(Vec::len).sum();
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
