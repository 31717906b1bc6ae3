//! Makes, models and their variants. Names that are not in here are accepted as they are sent (contract, "data.vehicle").

use std::sync::OnceLock;

use crate::{
    VehicleClass,
    outline::{self, Line},
};

/// The known vehicles: makes by class, models, generations, derivatives, trims and engine sizes. Each class is read on first use.
#[derive(Debug)]
pub struct Taxonomy {
    classes: [OnceLock<Vec<Make>>; VehicleClass::ALL.len()],
}

/// A make of vehicles of one class.
#[derive(Debug)]
pub struct Make {
    name: &'static str,
    aliases: &'static str,
    class: VehicleClass,
    models: Vec<Model>,
}

/// A model of a make.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    name: &'static str,
    aliases: &'static str,
    variants: Variants,
}

/// The columns of a model's line, not yet parsed: comma-separated lists.
#[derive(Clone, Copy, Debug, Default)]
struct Variants {
    generations: &'static str,
    engine_sizes: &'static str,
    trims: &'static str,
    derivatives: &'static str,
}

/// A generation of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generation {
    /// Its name.
    pub name: &'static str,
    /// The year in which it was first sold new.
    pub from: u16,
    /// The year in which it was last sold new; `None` if it still is.
    pub to: Option<u16>,
}

impl Taxonomy {
    /// The taxonomy that is embedded in the program.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: Taxonomy = Taxonomy {
            classes: [const { OnceLock::new() }; VehicleClass::ALL.len()],
        };
        &BUILT_IN
    }

    /// The makes of a class, sorted by name.
    pub fn makes(&self, class: VehicleClass) -> &[Make] {
        let makes = self.classes.get(class as usize);
        makes.map_or(&[], |makes| makes.get_or_init(|| read(class, text(class), |_| ())))
    }

    /// Finds a make by its name or by another usual name. Case, accents, spaces and punctuation do not matter. Without a class,
    /// the first class that has the make is taken.
    pub fn make(&self, class: Option<VehicleClass>, name: &str) -> Option<&Make> {
        self.makes_named(class, name).next()
    }

    /// Finds a model and its make, each as [`Taxonomy::make`] does. Without a class, the first class that has the model is taken.
    pub fn model(&self, class: Option<VehicleClass>, make: &str, name: &str) -> Option<(&Make, &Model)> {
        self.makes_named(class, make)
            .find_map(|make| Some((make, make.model(name)?)))
    }

    /// Returns the taxonomy's names of makes, of any class, that `name` may mean.
    pub fn spellings_of_make(&self, name: &str) -> impl Iterator<Item = &'static str> {
        self.makes_named(None, name).map(Make::name)
    }

    /// Returns the taxonomy's names of models that `name` may mean, of the make with that name or of any make.
    pub fn spellings_of_model(&self, make: Option<&str>, name: &str) -> impl Iterator<Item = &'static str> {
        let makes = VehicleClass::ALL.into_iter().flat_map(|class| self.makes(class));
        let of_make = move |known: &&Make| make.is_none_or(|make| goes_by(known.name, known.aliases, make));
        makes
            .filter(of_make)
            .filter_map(move |make| make.model(name).map(Model::name))
    }

    /// Returns the makes with that name, at most one of each class.
    fn makes_named(&self, class: Option<VehicleClass>, name: &str) -> impl Iterator<Item = &Make> {
        VehicleClass::ALL
            .into_iter()
            .filter(move |&one| class.is_none_or(|class| one == class))
            .filter_map(move |class| {
                let mut makes = self.makes(class).iter();
                makes.find(|make| goes_by(make.name, make.aliases, name))
            })
    }
}

impl Make {
    /// The name, in the taxonomy's spelling.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The class of its vehicles.
    pub const fn class(&self) -> VehicleClass {
        self.class
    }

    /// Its models, sorted by name.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// Finds a model as [`Taxonomy::make`] finds makes.
    pub fn model(&self, name: &str) -> Option<&Model> {
        self.models
            .iter()
            .find(|model| goes_by(model.name, model.aliases, name))
    }
}

/// Returns `true` if `wanted` is the name or one of the aliases.
fn goes_by(name: &'static str, aliases: &'static str, wanted: &str) -> bool {
    outline::alike(name, wanted) || outline::items(aliases).any(|alias| outline::alike(alias, wanted))
}

impl Model {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The generations, the oldest first.
    pub fn generations(&self) -> impl Iterator<Item = Generation> + Clone + use<> {
        outline::items(self.variants.generations).filter_map(Generation::read)
    }

    /// Returns the generation with exactly that name.
    pub fn generation(&self, name: &str) -> Option<Generation> {
        self.generations().find(|generation| generation.name == name)
    }

    /// The engine sizes, in litres.
    pub fn engine_sizes(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        outline::items(self.variants.engine_sizes)
    }

    /// The trims: the model's own, or else those that are common to its make.
    pub fn trims(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        outline::items(self.variants.trims)
    }

    /// The best known derivatives.
    pub fn derivatives(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        outline::items(self.variants.derivatives)
    }
}

impl Generation {
    /// Returns `true` if the generation was sold new in that year.
    pub fn sold_in(self, year: u16) -> bool {
        self.from <= year && self.to.is_none_or(|to| year <= to)
    }

    /// Reads `Mk7 2008-2017`, or `Mk8 2017-` for a generation that is still sold.
    fn read(text: &'static str) -> Option<Self> {
        let (name, years) = text.rsplit_once(' ')?;
        let (from, to) = years.split_once('-')?;
        let to = if to.is_empty() { None } else { Some(to.parse().ok()?) };
        Some(Self {
            name: name.trim_end(),
            from: from.parse().ok()?,
            to,
        })
    }
}

const fn text(class: VehicleClass) -> &'static str {
    match class {
        VehicleClass::Car => include_str!("../data/taxonomy/car.txt"),
        VehicleClass::Van => include_str!("../data/taxonomy/van.txt"),
        VehicleClass::Bike => include_str!("../data/taxonomy/bike.txt"),
        VehicleClass::Truck => include_str!("../data/taxonomy/truck.txt"),
        VehicleClass::Crossover => include_str!("../data/taxonomy/crossover.txt"),
        VehicleClass::Motorhome => include_str!("../data/taxonomy/motorhome.txt"),
        VehicleClass::Caravan => include_str!("../data/taxonomy/caravan.txt"),
        VehicleClass::Farm => include_str!("../data/taxonomy/farm.txt"),
        VehicleClass::Plant => include_str!("../data/taxonomy/plant.txt"),
    }
}

/// Reads the makes of a class. Under each make there is a line for each model, `name | generations | engine sizes | trims |
/// derivatives`; the last columns may be missing. The line of a model `*` has the values of columns that the models below it
/// leave empty. ` = ` after the name of a make or model separates its other names. Lines that cannot be read are passed to
/// `skipped`.
fn read(class: VehicleClass, text: &'static str, mut skipped: impl FnMut(&str)) -> Vec<Make> {
    let mut makes: Vec<Make> = Vec::new();
    let mut common = Variants::default();
    for line in outline::lines(text) {
        match line {
            Line::Heading(heading) => {
                common = Variants::default();
                let (name, aliases) = outline::aliased(heading);
                makes.push(Make {
                    name,
                    aliases,
                    class,
                    models: Vec::new(),
                });
            }
            Line::Entry(entry) => match (makes.last_mut(), columns(entry)) {
                (Some(_), Some(("*", variants))) => common = variants,
                (Some(make), Some((name, variants))) => {
                    let (name, aliases) = outline::aliased(name);
                    make.models.push(Model {
                        name,
                        aliases,
                        variants: variants.or(common),
                    });
                }
                _ => skipped(entry),
            },
        }
    }
    makes.sort_by_cached_key(|make| place(make.name));
    for make in &mut makes {
        make.models.sort_by_cached_key(|model| place(model.name));
    }
    makes
}

/// Returns the sort key of a name: case does not count, and numbers are compared as numbers (DB9, DB11).
fn place(name: &str) -> Vec<(u64, char)> {
    let mut place = Vec::new();
    let mut letters = outline::folded(name).peekable();
    while let Some(letter) = letters.next() {
        let Some(digit) = letter.to_digit(10) else {
            place.push((if letter < '0' { 0 } else { u64::MAX }, letter));
            continue;
        };
        let mut number = u64::from(digit);
        while let Some(digit) = letters.peek().and_then(|next| next.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(digit.into());
            letters.next();
        }
        place.push((number, '0'));
    }
    place
}

fn columns(entry: &'static str) -> Option<(&'static str, Variants)> {
    let mut columns = entry.split('|').map(str::trim);
    let name = columns.next().filter(|name| !name.is_empty())?;
    let mut next = || columns.next().unwrap_or_default();
    let variants = Variants {
        generations: next(),
        engine_sizes: next(),
        trims: next(),
        derivatives: next(),
    };
    columns.next().is_none().then_some((name, variants))
}

impl Variants {
    fn or(self, common: Self) -> Self {
        let either = |own: &'static str, common| if own.is_empty() { common } else { own };
        Self {
            generations: either(self.generations, common.generations),
            engine_sizes: either(self.engine_sizes, common.engine_sizes),
            trims: either(self.trims, common.trims),
            derivatives: either(self.derivatives, common.derivatives),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use forecourt_kernel::fold;

    use super::*;

    fn makes() -> impl Iterator<Item = &'static Make> {
        VehicleClass::ALL
            .into_iter()
            .flat_map(|class| Taxonomy::built_in().makes(class))
    }

    fn models() -> impl Iterator<Item = (&'static Make, &'static Model)> {
        makes().flat_map(|make| make.models().iter().map(move |model| (make, model)))
    }

    #[track_caller]
    fn once<'a>(values: impl Iterator<Item = &'a str>, of: &str) {
        let mut seen = HashSet::new();
        let twice: Vec<_> = values.filter(|value| !seen.insert(fold(value))).collect();
        assert!(twice.is_empty(), "{of}: {twice:?}");
    }

    #[test]
    fn every_line_is_read() {
        for class in VehicleClass::ALL {
            let mut skipped = Vec::new();
            read(class, text(class), |line| skipped.push(line.to_owned()));
            assert_eq!(skipped, [""; 0], "{class:?}");
        }
        for (make, model) in models() {
            let said = outline::items(model.variants.generations).count();
            assert_eq!(model.generations().count(), said, "{} {}", make.name(), model.name());
        }
    }

    #[test]
    fn nothing_is_listed_twice() {
        for class in VehicleClass::ALL {
            once(Taxonomy::built_in().makes(class).iter().map(Make::name), class.name());
        }
        for make in makes() {
            assert!(!make.models().is_empty(), "{}", make.name());
            once(make.models().iter().map(Model::name), make.name());
        }
        for (make, model) in models() {
            let name = format!("{} {}", make.name(), model.name());
            once(model.generations().map(|generation| generation.name), &name);
            once(model.engine_sizes(), &name);
            once(model.trims(), &name);
            once(model.derivatives(), &name);
        }
    }

    #[test]
    fn names_differ_without_accents_case_and_punctuation_too() {
        fn apart(names: impl Iterator<Item = (&'static str, &'static str)>, of: &str) {
            let mut seen = HashSet::new();
            for (name, aliases) in names {
                for name in std::iter::once(name).chain(outline::items(aliases)) {
                    let bare: String = outline::bare(name).collect();
                    assert!(!bare.is_empty() && seen.insert(bare), "{of}: {name}");
                }
            }
        }
        for class in VehicleClass::ALL {
            let makes = Taxonomy::built_in().makes(class).iter();
            apart(makes.map(|make| (make.name, make.aliases)), class.name());
        }
        for make in makes() {
            apart(
                make.models().iter().map(|model| (model.name, model.aliases)),
                make.name(),
            );
        }
    }

    #[test]
    fn the_data_is_neat() {
        for class in VehicleClass::ALL {
            let mut makes = Vec::new();
            let mut models = vec![Vec::new()];
            for line in text(class).lines() {
                assert_eq!(line.trim(), line);
                assert!(
                    !line.contains("  ") && !line.contains(" ,") && !line.contains(",,"),
                    "{line}"
                );
            }
            for line in outline::lines(text(class)) {
                match line {
                    Line::Heading(heading) => {
                        makes.push(place(outline::aliased(heading).0));
                        models.push(Vec::new());
                    }
                    Line::Entry(entry) => match columns(entry).unwrap() {
                        ("*", _) => models.push(Vec::new()),
                        (name, _) => models.last_mut().unwrap().push(place(outline::aliased(name).0)),
                    },
                }
            }
            assert!(makes.is_sorted(), "{class:?}");
            assert!(models.iter().all(|models| models.is_sorted()), "{class:?}");
        }
        for (make, model) in models() {
            assert!(
                make.name().is_ascii() && model.name().is_ascii(),
                "{} {}",
                make.name(),
                model.name()
            );
        }
    }

    #[test]
    fn what_a_dealer_writes_is_found() {
        let table = [
            (VehicleClass::Car, "Citroën", "C3", "Citroen", "C3"),
            (VehicleClass::Car, "Škoda", "octavia", "Skoda", "Octavia"),
            (
                VehicleClass::Car,
                "MERCEDES BENZ",
                "A-Class",
                "Mercedes-Benz",
                "A Class",
            ),
            (
                VehicleClass::Car,
                "MERCEDES-BENZ",
                "a class",
                "Mercedes-Benz",
                "A Class",
            ),
            (VehicleClass::Car, "Mercedes", "GLC", "Mercedes-Benz", "GLC Class"),
            (VehicleClass::Car, "VW", "T Roc", "Volkswagen", "T-Roc"),
            (VehicleClass::Car, "VOLKSWAGEN", "UP", "Volkswagen", "up!"),
            (VehicleClass::Car, "Mazda", "Mazda3", "Mazda", "3"),
            (VehicleClass::Car, "MG", "3", "MG", "MG3"),
            (VehicleClass::Car, "MG", "MG4", "MG", "MG4 EV"),
            (VehicleClass::Car, "Ford", "KA+", "Ford", "Ka+"),
            (VehicleClass::Car, "Ford", "Bronco", "Ford", "Bronco"),
            (VehicleClass::Car, "Rolls Royce", "Ghost", "Rolls-Royce", "Ghost"),
            (VehicleClass::Car, "Saab", "9 5", "Saab", "9-5"),
            (VehicleClass::Car, "Jaecoo", "e5", "Jaecoo", "E5"),
            (VehicleClass::Car, "Chery", "Tiggo 4", "Chery", "Tiggo 4"),
            (VehicleClass::Car, "Chery", "Tiggo 9", "Chery", "Tiggo 9"),
            (VehicleClass::Car, "SsangYong", "Actyon", "SsangYong", "Actyon"),
            (VehicleClass::Car, "KG Mobility", "Actyon", "KGM", "Actyon"),
            (VehicleClass::Car, "Geely", "EX5", "Geely", "EX5"),
            (VehicleClass::Car, "Changan", "Deepal S07", "Changan", "Deepal S07"),
            (VehicleClass::Car, "Bristol", "Blenheim", "Bristol", "Blenheim"),
            (VehicleClass::Car, "Corvette", "Stingray", "Corvette", "Stingray"),
            (VehicleClass::Car, "Hillman", "Imp", "Hillman", "Imp"),
            (VehicleClass::Car, "Humber", "Hawk", "Humber", "Hawk"),
            (VehicleClass::Car, "Talbot", "Sunbeam", "Talbot", "Sunbeam"),
            (VehicleClass::Car, "Marcos", "Mantis", "Marcos", "Mantis"),
            (VehicleClass::Bike, "YAMAHA", "R1", "Yamaha", "YZF-R1"),
            (VehicleClass::Bike, "yamaha", "YZF R1", "Yamaha", "YZF-R1"),
            (VehicleClass::Farm, "Pöttinger", "hit", "Pottinger", "Hit"),
            (VehicleClass::Truck, "Renault", "Magnum", "Renault Trucks", "Magnum"),
        ];
        for (class, make, model, known_make, known_model) in table {
            for class in [Some(class), None] {
                let found = Taxonomy::built_in().model(class, make, model);
                let names = found.map(|(make, model)| (make.name(), model.name()));
                assert_eq!(names, Some((known_make, known_model)), "{make} {model}");
            }
        }
        let ford = Taxonomy::built_in().make(None, "Ford").unwrap();
        assert!(ford.model("Ka ++").is_none() && ford.model("").is_none());
        assert_eq!(ford.model("ka").map(Model::name), Some("Ka"));
    }

    #[test]
    fn the_values_make_sense() {
        for (make, model) in models() {
            let name = format!("{} {}", make.name(), model.name());
            for size in model.engine_sizes() {
                let litres: f32 = size.parse().unwrap_or_default();
                assert!(size.contains('.') && (0.04..=20.0).contains(&litres), "{name}: {size}");
            }
            let generations: Vec<_> = model.generations().collect();
            for one in &generations {
                assert!(
                    one.from >= 1940 && one.to.is_none_or(|to| to >= one.from),
                    "{name}: {one:?}"
                );
            }
            assert!(generations.is_sorted_by_key(|one| one.from), "{name}: {generations:?}");
        }
    }

    #[test]
    fn it_is_large_enough_to_be_useful() {
        let taxonomy = Taxonomy::built_in();
        for class in VehicleClass::ALL {
            let makes = taxonomy.makes(class);
            assert!(makes.len() >= 10, "{class:?}");
            assert!(makes.is_sorted_by_key(|make| fold(make.name())), "{class:?}");
        }
        let cars = taxonomy.makes(VehicleClass::Car);
        assert!(cars.len() >= 150, "{}", cars.len());
        let models: usize = cars.iter().map(|make| make.models().len()).sum();
        assert!(models >= 1_800, "{models}");
        let dated = cars
            .iter()
            .flat_map(Make::models)
            .filter(|model| model.generations().next().is_some())
            .count();
        assert!(dated >= 150, "{dated}");
    }

    #[test]
    fn makes_and_models_are_found_in_any_case() {
        let taxonomy = Taxonomy::built_in();
        for make in makes() {
            let found = taxonomy.make(Some(make.class()), &make.name().to_uppercase()).unwrap();
            assert_eq!(found.name(), make.name());
        }
        let ford = taxonomy.make(Some(VehicleClass::Car), "FORD").unwrap();
        assert_eq!(ford.name(), "Ford");
        let fiesta = ford.model("Fiesta").unwrap();
        assert_eq!(ford.model("FIESTA").map(Model::name), Some("Fiesta"));
        assert!(ford.model("Golf").is_none());
        assert_eq!(
            fiesta.generation("Mk7").map(|mk7| (mk7.from, mk7.to)),
            Some((2008, Some(2017)))
        );
        assert!(fiesta.generations().any(|generation| generation.sold_in(2010)));
        assert!(fiesta.trims().any(|trim| trim == "Zetec") && fiesta.engine_sizes().any(|size| size == "1.0"));

        assert_eq!(taxonomy.make(None, "ford").map(Make::class), Some(VehicleClass::Car));
        assert_eq!(taxonomy.make(None, "jcb").map(Make::name), Some("JCB"));
        assert!(taxonomy.make(Some(VehicleClass::Caravan), "Ford").is_none());
        assert!(taxonomy.make(None, "").is_none());
    }

    #[test]
    fn what_a_line_leaves_empty_is_the_makes() {
        let text = "Stray\n[Acme]\n* | | 1.0, 1.2 | S, SE\nOne\nTwo | A 2001-2005, B 2005- | | GT | 1.0 GT\n|\na|b|c|d|e|f\n[Other]\nOne";
        let mut skipped = Vec::new();
        let makes = read(VehicleClass::Car, text, |line| skipped.push(line.to_owned()));
        assert_eq!(skipped, ["Stray", "|", "a|b|c|d|e|f"]);
        let [one, two] = makes[0].models() else {
            panic!("there are two models")
        };
        assert_eq!(one.trims().collect::<Vec<_>>(), ["S", "SE"]);
        assert_eq!(
            (two.trims().collect::<Vec<_>>(), two.engine_sizes().count()),
            (vec!["GT"], 2)
        );
        assert_eq!(two.derivatives().collect::<Vec<_>>(), ["1.0 GT"]);
        assert_eq!(
            two.generations().map(|one| one.to).collect::<Vec<_>>(),
            [Some(2005), None]
        );
        assert_eq!(makes[1].models()[0].trims().count(), 0);
    }
}
