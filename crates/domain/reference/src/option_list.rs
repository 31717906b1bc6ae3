//! The option lists of vehicle fields (contract, "data.vehicle"; decisions §2, `vehicle_options`).

use std::str::FromStr;
use std::sync::OnceLock;

use crate::{
    UnknownValue, VehicleClass, VehicleOptions,
    outline::{self, Line},
};

static TEXT: &str = include_str!("../data/options.txt");

macro_rules! option_lists {
    ($($(#[$meta:meta])* $list:ident = $name:literal, $enforced:literal;)+) => {
        /// A field of a vehicle whose values come from a list: the built-in one and what the business adds to it.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum OptionList {
            $($(#[$meta])* $list,)+
        }

        impl OptionList {
            /// Every list, in the order to show them in.
            pub const ALL: &[Self] = &[$(Self::$list,)+];
            const NAMES: &[&str] = &[$($name,)+];

            /// The field's name, which is also the list's in the business file.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$list => $name,)+
                }
            }

            /// Whether a written value has to be in the list; of the other lists the values are suggestions.
            pub const fn is_enforced(self) -> bool {
                match self {
                    $(Self::$list => $enforced,)+
                }
            }
        }
    };
}

option_lists! {
    /// The shape of the body.
    Body = "body", true;
    /// The basic colour.
    Colour = "colour", true;
    /// What it runs on.
    Fuel = "fuel", true;
    /// How gears are changed.
    Transmission = "transmission", true;
    /// Which wheels are driven, or by what; of trucks the axle configuration.
    Drivetrain = "drivetrain", true;
    /// How one sleeps in a caravan or motorhome.
    BedroomLayout = "bedroom_layout", true;
    /// What is at the end of a caravan or motorhome.
    EndLayout = "end_layout", true;
    /// The wheelbase of a van.
    Wheelbase = "wheelbase", false;
    /// The cab of a van or truck.
    CabType = "cab_type", false;
    /// What sort of farm machine, plant or truck it is.
    Category = "category", false;
    /// The side that the driver sits on.
    DriverPosition = "driver_position", false;
    /// What the seats are covered with.
    InteriorUpholstery = "interior_upholstery", false;
    /// The colour inside.
    InteriorColour = "interior_colour", false;
    /// What the paint is like.
    ExteriorFinish = "exterior_finish", false;
    /// The condition, of the whole and of its parts.
    Condition = "condition", false;
    /// How completely its services are documented.
    ServiceHistory = "service_history", false;
}

/// A value of a built-in list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionValue {
    /// The value, as vehicles carry it.
    pub value: &'static str,
    /// A bit for each class.
    classes: u16,
}

impl OptionValue {
    /// Whether vehicles of this class usually have it. A vehicle of another class may have it all the same.
    pub const fn is_usual_for(self, class: VehicleClass) -> bool {
        self.classes & bit(class) != 0
    }

    /// The classes that it is usual for.
    pub fn classes(self) -> impl Iterator<Item = VehicleClass> {
        VehicleClass::ALL
            .into_iter()
            .filter(move |&class| self.is_usual_for(class))
    }
}

const fn bit(class: VehicleClass) -> u16 {
    1 << class as u16
}

impl OptionList {
    /// The values that every business has, in the order to show them in.
    pub fn built_in(self) -> &'static [OptionValue] {
        static LISTS: OnceLock<Vec<Vec<OptionValue>>> = OnceLock::new();
        let lists = LISTS.get_or_init(|| read(TEXT, |_| ()));
        lists.get(self as usize).map_or(&[], Vec::as_slice)
    }

    /// The values of the list, those that the business adds last; with a class only those that are usual for it, and the
    /// business's own.
    pub fn values(self, class: Option<VehicleClass>, own: &VehicleOptions) -> impl Iterator<Item = &str> {
        let usual = move |option: &&OptionValue| class.is_none_or(|class| option.is_usual_for(class));
        let built_in = self.built_in().iter().filter(usual).map(|option| option.value);
        let own = own.get(self.name()).into_iter().flatten().map(String::as_str);
        let new = own.filter(move |value| self.built_in_spelling(value).is_none());
        built_in.chain(new)
    }

    /// The value as the list spells it, found without regard to case among the built-in values, whatever class they are
    /// usual for, and those that the business adds.
    pub fn find<'a>(self, value: &str, own: &'a VehicleOptions) -> Option<&'a str> {
        self.built_in_spelling(value).or_else(|| {
            let mut own = own.get(self.name()).into_iter().flatten();
            own.find(|known| outline::same(known, value)).map(String::as_str)
        })
    }

    fn built_in_spelling(self, value: &str) -> Option<&'static str> {
        let mut known = self.built_in().iter().map(|option| option.value);
        known.find(|known| outline::same(known, value))
    }
}

impl FromStr for OptionList {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        let mut lists = Self::ALL.iter().copied();
        lists.find(|list| list.name() == text).ok_or(UnknownValue(Self::NAMES))
    }
}

/// Reads the built-in lists, in the order of [`OptionList::ALL`]. A line that cannot be read goes to `skipped`.
fn read(text: &'static str, mut skipped: impl FnMut(&str)) -> Vec<Vec<OptionValue>> {
    let mut lists = vec![Vec::<OptionValue>::new(); OptionList::ALL.len()];
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
                let parts = entry
                    .split_once(':')
                    .and_then(|(classes, values)| Some((bits(classes)?, values)));
                let (Some(list), Some((classes, values))) = (current.as_deref_mut(), parts) else {
                    skipped(entry);
                    continue;
                };
                for value in outline::items(values) {
                    match list.iter_mut().find(|option| option.value == value) {
                        Some(option) => option.classes |= classes,
                        None => list.push(OptionValue { value, classes }),
                    }
                }
            }
        }
    }
    lists
}

/// The classes that a line is for: their names, or `any`.
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
    fn a_line_that_makes_no_sense_is_skipped() {
        let mut skipped = Vec::new();
        let text = "any: Early\n[nonsense]\nany: Lost\n[fuel]\nBoat: Wind\nPetrol\nCar: Petrol";
        let lists = read(text, |line| skipped.push(line.to_owned()));
        assert_eq!(skipped, ["any: Early", "nonsense", "any: Lost", "Boat: Wind", "Petrol"]);
        assert_eq!(lists.concat().len(), 1);
    }

    #[test]
    fn finding_is_blind_to_case_and_gives_the_lists_spelling() {
        let own = own();
        for list in OptionList::ALL {
            for option in list.built_in() {
                for written in [option.value, &option.value.to_uppercase(), &option.value.to_lowercase()] {
                    assert_eq!(list.find(written, &own), Some(option.value), "{list:?}");
                }
            }
        }
        assert_eq!(OptionList::Colour.find("nardo GREY", &own), Some("Nardo Grey"));
        assert_eq!(
            OptionList::Colour.find("BLACK", &own),
            Some("Black"),
            "the built-in spelling goes first"
        );
        assert_eq!(OptionList::Body.find("Nardo Grey", &own), None);
        assert_eq!(OptionList::Colour.find("", &own), None);
    }

    #[test]
    fn a_class_says_what_is_usual() {
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
        let colours: Vec<_> = OptionList::Colour
            .values(Some(VehicleClass::Car), &own())
            .map(str::to_owned)
            .collect();
        assert_eq!(colours.last().map(String::as_str), Some("Nardo Grey"));
        assert_eq!(colours.iter().filter(|colour| fold(colour) == "black").count(), 1);
    }
}
