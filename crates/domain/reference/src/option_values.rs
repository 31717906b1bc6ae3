//! The built-in values of the option lists, in the order to show them in.

use std::sync::OnceLock;

use crate::{
    OptionList, VehicleClass, VehicleOptions,
    outline::{self, Line},
};

static TEXT: &str = include_str!("../data/options.txt");

/// A value of a built-in list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionValue {
    /// The value, which vehicles carry.
    pub value: &'static str,
    /// A bit for each class.
    classes: u16,
}

impl OptionValue {
    /// Returns `true` if the value is for vehicles of this class.
    pub const fn is_for(self, class: VehicleClass) -> bool {
        self.classes & bit(class) != 0
    }

    /// The classes of vehicles that the value is for.
    pub fn classes(self) -> impl Iterator<Item = VehicleClass> {
        VehicleClass::ALL.into_iter().filter(move |&class| self.is_for(class))
    }

    fn fits(self, class: Option<VehicleClass>) -> bool {
        class.is_none_or(|class| self.is_for(class))
    }
}

/// A built-in list.
#[derive(Clone, Debug, Default)]
struct BuiltIn {
    values: Vec<OptionValue>,
    /// The position of a value, and its other names.
    aliases: Vec<(usize, &'static str)>,
}

const fn bit(class: VehicleClass) -> u16 {
    1 << class as u16
}

impl OptionList {
    /// The values that every business has, in the order in which to show them.
    pub fn built_in(self) -> &'static [OptionValue] {
        &self.list().values
    }

    fn list(self) -> &'static BuiltIn {
        static LISTS: OnceLock<Vec<BuiltIn>> = OnceLock::new();
        static NONE: BuiltIn = BuiltIn {
            values: Vec::new(),
            aliases: Vec::new(),
        };
        let lists = LISTS.get_or_init(|| read(TEXT, |_| ()));
        lists.get(self as usize).unwrap_or(&NONE)
    }

    /// Returns the values of the list, the business's additions last. With a class, the built-in values are only those for this
    /// class.
    pub fn values(self, class: Option<VehicleClass>, own: &VehicleOptions) -> impl Iterator<Item = &str> {
        let fitting = move |option: &&OptionValue| option.fits(class);
        let built_in = self.built_in().iter().filter(fitting).map(|option| option.value);
        let own = own.get(self.name()).into_iter().flatten().map(String::as_str);
        let same = move |known: &OptionValue, value: &str| known.fits(class) && outline::same(known.value, value);
        let new = own.filter(move |value| !self.built_in().iter().any(|known| same(known, value)));
        built_in.chain(new)
    }

    /// Finds a value for the class (or for any class, if `None`), among the built-in ones and the business's additions. Returns
    /// it in the spelling of the list. Case, accents, spaces and punctuation do not matter, and other usual names are found too.
    pub fn find<'a>(self, value: &str, class: Option<VehicleClass>, own: &'a VehicleOptions) -> Option<&'a str> {
        let BuiltIn { values, aliases } = self.list();
        let own = || own.get(self.name()).into_iter().flatten().map(String::as_str);
        let fitting = || values.iter().filter(|known| known.fits(class)).map(|known| known.value);
        let by_alias = || {
            let named = aliases
                .iter()
                .filter(|(_, names)| outline::items(names).any(|alias| outline::alike(alias, value)));
            let mut found = named.filter_map(|(at, _)| values.get(*at));
            found.find(|known| known.fits(class)).map(|known| known.value)
        };
        fitting()
            .find(|known| outline::same(known, value))
            .or_else(|| own().find(|known| outline::same(known, value)))
            .or_else(|| fitting().find(|known| outline::alike(known, value)))
            .or_else(|| own().find(|known| outline::alike(known, value)))
            .or_else(by_alias)
    }
}

/// Reads the built-in lists, in the order of [`OptionList::ALL`]. They have lines `classes: values`, and `value = other names`
/// below the line with the value. A line that cannot be read is passed to `skipped`.
fn read(text: &'static str, mut skipped: impl FnMut(&str)) -> Vec<BuiltIn> {
    let mut lists = vec![BuiltIn::default(); OptionList::ALL.len()];
    let mut current = None;
    for line in outline::lines(text) {
        match line {
            Line::Heading(name) => {
                current = name
                    .parse::<OptionList>()
                    .ok()
                    .and_then(|list| lists.get_mut(list as usize));
                if current.is_none() {
                    skipped(name);
                }
            }
            Line::Entry(entry) => {
                let understood = current.as_deref_mut().and_then(|list| list.take(entry));
                if understood.is_none() {
                    skipped(entry);
                }
            }
        }
    }
    lists
}

impl BuiltIn {
    /// Adds the content of a line; `None` if the line is invalid.
    fn take(&mut self, entry: &'static str) -> Option<()> {
        let (value, aliases) = outline::aliased(entry);
        if !aliases.is_empty() {
            let at = self.values.iter().position(|known| known.value == value)?;
            self.aliases.push((at, aliases));
            return Some(());
        }
        let (classes, values) = entry.split_once(':')?;
        let classes = bits(classes)?;
        for value in outline::items(values) {
            match self.values.iter_mut().find(|option| option.value == value) {
                Some(option) => option.classes |= classes,
                None => self.values.push(OptionValue { value, classes }),
            }
        }
        Some(())
    }
}

/// Reads the classes of a line: their names, or `any`.
fn bits(classes: &'static str) -> Option<u16> {
    if classes == "any" {
        return Some(u16::MAX);
    }
    outline::items(classes).try_fold(0, |bits, class| Some(bits | bit(class.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use forecourt_kernel::fold;

    use super::*;

    fn own() -> VehicleOptions {
        BTreeMap::from([("colour".to_owned(), vec!["Nardo Grey".to_owned(), "black".to_owned()])])
    }

    #[test]
    fn every_line_is_read_and_every_list_has_values() {
        let mut skipped = Vec::new();
        read(TEXT, |line| skipped.push(line.to_owned()));
        assert_eq!(skipped, [""; 0]);
        for list in OptionList::ALL {
            assert!(!list.built_in().is_empty(), "{list:?}");
            assert_eq!(list.name().parse(), Ok(*list));
            let folded: HashSet<_> = list.built_in().iter().map(|option| fold(option.value)).collect();
            assert_eq!(folded.len(), list.built_in().len(), "{list:?} has a value twice");
        }
        assert!("colr".parse::<OptionList>().unwrap_err().to_string().contains("colour"));
    }

    #[test]
    fn the_data_is_neat() {
        let none = VehicleOptions::new();
        let mut wrong = Vec::new();
        for line in TEXT.lines() {
            assert_eq!(line.trim(), line);
            assert!(
                !line.contains("  ") && !line.contains(" ,") && !line.contains(",,"),
                "{line}"
            );
        }
        for list in OptionList::ALL {
            let BuiltIn { values, aliases } = list.list();
            let named: Vec<_> = aliases.iter().map(|(at, _)| fold(values[*at].value)).collect();
            assert!(named.is_sorted(), "{list:?}: other names are sorted by value");
            for (at, names) in aliases {
                let value = values[*at];
                for alias in outline::items(names) {
                    assert!(!outline::alike(alias, value.value), "{list:?}: {alias} needs no saying");
                    for class in value.classes() {
                        let found = list.find(alias, Some(class), &none);
                        if found != Some(value.value) {
                            wrong.push((alias, class, value.value, found));
                        }
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn a_line_that_makes_no_sense_is_skipped() {
        let mut skipped = Vec::new();
        let text =
            "any: Early\n[nonsense]\nany: Lost\n[fuel]\nBoat: Wind\nPetrol\nCar: Petrol\nOil = Fat\nPetrol = Gas";
        let lists = read(text, |line| skipped.push(line.to_owned()));
        assert_eq!(
            skipped,
            [
                "any: Early",
                "nonsense",
                "any: Lost",
                "Boat: Wind",
                "Petrol",
                "Oil = Fat"
            ]
        );
        assert_eq!(lists.iter().flat_map(|list| &list.values).count(), 1);
        assert_eq!(lists.iter().flat_map(|list| &list.aliases).count(), 1);
    }

    #[test]
    fn finding_is_blind_to_case_and_gives_the_lists_spelling() {
        let own = own();
        for list in OptionList::ALL {
            for option in list.built_in() {
                for written in [option.value, &option.value.to_uppercase(), &option.value.to_lowercase()] {
                    for class in option.classes().map(Some).chain([None]) {
                        assert_eq!(list.find(written, class, &own), Some(option.value), "{list:?}");
                    }
                }
            }
        }
        let colour = |value| OptionList::Colour.find(value, Some(VehicleClass::Car), &own);
        assert_eq!(colour("nardo GREY"), Some("Nardo Grey"));
        assert_eq!(colour("Nardo-Grey"), Some("Nardo Grey"));
        assert_eq!(colour("BLACK"), Some("Black"), "the built-in spelling goes first");
        assert_eq!(OptionList::Body.find("Nardo Grey", None, &own), None);
        assert_eq!(colour(""), None);
        assert_eq!(colour("-"), None);
    }

    #[test]
    fn the_usual_other_names_are_known() {
        use OptionList::{BedroomLayout, Body, Colour, Drivetrain, EndLayout, Fuel, Transmission};
        use VehicleClass::{Bike, Car, Caravan, Motorhome, Truck, Van};
        let none = VehicleOptions::new();
        let table = [
            (Fuel, Car, "PETROL", "Petrol"),
            (Fuel, Car, "DIESEL", "Diesel"),
            (Fuel, Car, "HEAVY OIL", "Diesel"),
            (Fuel, Car, "ELECTRICITY", "Electric"),
            (Fuel, Car, "EV", "Electric"),
            (Fuel, Car, "HYBRID ELECTRIC", "Hybrid"),
            (Fuel, Car, "GAS", "LPG"),
            (Fuel, Car, "GAS BI-FUEL", "Bi Fuel"),
            (Fuel, Car, "GAS DIESEL", "Gas Diesel"),
            (Fuel, Car, "ELECTRIC DIESEL", "Diesel Hybrid"),
            (Fuel, Car, "FUEL CELLS", "Hydrogen"),
            (Fuel, Car, "STEAM", "Steam"),
            (Fuel, Car, "PETROL/ELECTRIC", "Petrol Hybrid"),
            (Fuel, Car, "Petrol / Electric Hybrid", "Petrol Hybrid"),
            (Fuel, Car, "Mild hybrid petrol", "Petrol Hybrid"),
            (Fuel, Car, "Petrol Mild Hybrid", "Petrol Hybrid"),
            (Fuel, Car, "Mild Hybrid Diesel", "Diesel Hybrid"),
            (Fuel, Car, "diesel mild-hybrid", "Diesel Hybrid"),
            (Fuel, Car, "Mild Hybrid", "Hybrid"),
            (Fuel, Car, "PHEV", "Plug-in Hybrid"),
            (Fuel, Car, "plug in hybrid", "Plug-in Hybrid"),
            (Fuel, Car, "Petrol PHEV", "Petrol Plug-in Hybrid"),
            (Fuel, Car, "Petrol/Plugin Elec Hybrid", "Petrol Plug-in Hybrid"),
            (Transmission, Car, "Auto", "Automatic"),
            (Transmission, Car, "Semi-Automatic", "Automatic"),
            (Transmission, Car, "semi auto", "Automatic"),
            (Transmission, Car, "CVT", "Automatic"),
            (Transmission, Car, "DSG", "Automatic"),
            (Transmission, Car, "Tiptronic", "Automatic"),
            (Transmission, Car, "S-tronic", "Automatic"),
            (Transmission, Car, "6 Speed Manual", "Manual"),
            (Drivetrain, Car, "FWD", "Front Wheel Drive"),
            (Drivetrain, Car, "RWD", "Rear Wheel Drive"),
            (Drivetrain, Car, "AWD", "All Wheel Drive"),
            (Drivetrain, Car, "4x4", "Four Wheel Drive"),
            (Drivetrain, Car, "4WD", "Four Wheel Drive"),
            (Drivetrain, Truck, "4x4", "4x4"),
            (Drivetrain, Bike, "Shaft drive", "Shaft"),
            (Colour, Car, "Burgundy", "Maroon"),
            (Colour, Car, "Gray", "Grey"),
            (Colour, Car, "Navy Blue", "Blue"),
            (Colour, Car, "Multicolour", "Multi-colour"),
            (Body, Car, "Cabriolet", "Convertible"),
            (Body, Car, "Coupé", "Coupe"),
            (Body, Car, "Sedan", "Saloon"),
            (Body, Car, "4x4", "SUV"),
            (Body, Car, "Touring", "Estate"),
            (Body, Car, "People Carrier", "MPV"),
            (Body, Van, "Pick-up", "Pickup"),
            (Body, Van, "Campervan", "Camper"),
            (Body, Motorhome, "Coachbuilt", "Coach Built"),
            (Body, Motorhome, "Camper", "Campervan"),
            (Body, Caravan, "Tourer", "Touring"),
            (Body, Bike, "Roadster", "Roadster/Retro"),
            (BedroomLayout, Caravan, "Island bed", "Fixed island bed"),
            (BedroomLayout, Motorhome, "Overcab bed - double", "Overcab bed – double"),
            (EndLayout, Caravan, "Rear washroom", "End washroom"),
        ];
        for (list, class, written, expected) in table {
            assert_eq!(list.find(written, Some(class), &none), Some(expected), "{written}");
            assert!(
                list.find(written, None, &none).is_some(),
                "{written} of a vehicle without a class"
            );
        }
    }

    #[test]
    fn a_list_has_values_for_a_class() {
        let none = VehicleOptions::new();
        let bodies = |class| OptionList::Body.values(Some(class), &none).collect::<Vec<_>>();
        assert!(bodies(VehicleClass::Car).contains(&"Saloon"));
        assert!(!bodies(VehicleClass::Van).contains(&"Saloon"));
        assert!(bodies(VehicleClass::Crossover).contains(&"Saloon"));
        let shared = OptionList::Body
            .built_in()
            .iter()
            .find(|option| option.value == "Tipper")
            .unwrap();
        assert_eq!(
            shared.classes().collect::<Vec<_>>(),
            [VehicleClass::Van, VehicleClass::Truck, VehicleClass::Crossover]
        );
        let of_car = |list: OptionList, value| list.find(value, Some(VehicleClass::Car), &none);
        assert_eq!(of_car(OptionList::Body, "Concrete Mixer"), None);
        assert_eq!(of_car(OptionList::Drivetrain, "8x4"), None);
        assert_eq!(OptionList::Drivetrain.find("8x4", None, &none), Some("8x4"));
        let colours: Vec<_> = OptionList::Colour
            .values(Some(VehicleClass::Car), &own())
            .map(str::to_owned)
            .collect();
        assert_eq!(colours.last().map(String::as_str), Some("Nardo Grey"));
        assert_eq!(colours.iter().filter(|colour| fold(colour) == "black").count(), 1);
    }
}
