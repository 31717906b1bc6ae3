//! The option lists of vehicle fields (contract, "data.vehicle"; decisions §2, `vehicle_options`).

use std::str::FromStr;

use crate::UnknownValue;

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

impl FromStr for OptionList {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        let mut lists = Self::ALL.iter().copied();
        lists.find(|list| list.name() == text).ok_or(UnknownValue(Self::NAMES))
    }
}
