//! The option lists of vehicle fields (contract, "data.vehicle"; decisions §2, `vehicle_options`).

use std::str::FromStr;

use crate::UnknownValue;

macro_rules! option_lists {
    ($($(#[$meta:meta])* $list:ident = $name:literal, $enforced:literal;)+) => {
        /// A field of a vehicle whose values come from a list: the built-in list and the business's additions.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum OptionList {
            $($(#[$meta])* $list,)+
        }

        impl OptionList {
            /// All lists, in the order in which to show them.
            pub const ALL: &[Self] = &[$(Self::$list,)+];
            const NAMES: &[&str] = &[$($name,)+];

            /// The name of the field, and of the list in the business file.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$list => $name,)+
                }
            }

            /// Returns `true` if a value must be in the list. The values of the other lists are suggestions.
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
    /// The fuel or other source of energy.
    Fuel = "fuel", true;
    /// The kind of gearbox.
    Transmission = "transmission", true;
    /// The wheels that are driven, or the kind of drive; the axle configuration of a truck.
    Drivetrain = "drivetrain", true;
    /// The arrangement of beds in a caravan or motorhome.
    BedroomLayout = "bedroom_layout", true;
    /// The layout at the end of a caravan or motorhome.
    EndLayout = "end_layout", true;
    /// The wheelbase of a van.
    Wheelbase = "wheelbase", false;
    /// The cab of a van or truck.
    CabType = "cab_type", false;
    /// The kind of farm machine, plant or truck.
    Category = "category", false;
    /// The side that the driver sits on.
    DriverPosition = "driver_position", false;
    /// The material that covers the seats.
    InteriorUpholstery = "interior_upholstery", false;
    /// The colour inside.
    InteriorColour = "interior_colour", false;
    /// The kind of paint.
    ExteriorFinish = "exterior_finish", false;
    /// The condition of the whole and of its parts.
    Condition = "condition", false;
    /// The completeness of the documented services.
    ServiceHistory = "service_history", false;
}

impl FromStr for OptionList {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        let mut lists = Self::ALL.iter().copied();
        lists.find(|list| list.name() == text).ok_or(UnknownValue(Self::NAMES))
    }
}
