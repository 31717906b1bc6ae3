//! The classes of vehicles.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::UnknownValue;

/// The class of a vehicle (contract, "data.vehicle"). Names are case-sensitive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "each variant's meaning is its name")]
pub enum VehicleClass {
    Car,
    Van,
    Bike,
    Truck,
    Crossover,
    Motorhome,
    Caravan,
    Farm,
    Plant,
}

impl VehicleClass {
    /// All classes, in the order in which to show them.
    pub const ALL: [Self; 9] = [
        Self::Car,
        Self::Van,
        Self::Bike,
        Self::Truck,
        Self::Crossover,
        Self::Motorhome,
        Self::Caravan,
        Self::Farm,
        Self::Plant,
    ];

    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Car => "Car",
            Self::Van => "Van",
            Self::Bike => "Bike",
            Self::Truck => "Truck",
            Self::Crossover => "Crossover",
            Self::Motorhome => "Motorhome",
            Self::Caravan => "Caravan",
            Self::Farm => "Farm",
            Self::Plant => "Plant",
        }
    }
}

impl FromStr for VehicleClass {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        Self::ALL
            .into_iter()
            .find(|class| class.name() == text)
            .ok_or(UnknownValue(&[
                "Car",
                "Van",
                "Bike",
                "Truck",
                "Crossover",
                "Motorhome",
                "Caravan",
                "Farm",
                "Plant",
            ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_to_the_letter() {
        for class in VehicleClass::ALL {
            assert_eq!(class.name().parse(), Ok(class));
        }
        let UnknownValue(names) = "car".parse::<VehicleClass>().unwrap_err();
        assert_eq!(names, VehicleClass::ALL.map(VehicleClass::name));
    }
}
