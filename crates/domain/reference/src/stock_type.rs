//! The stock types of vehicles, by slug and by key.

use std::str::FromStr;

use serde::Serialize;

use crate::UnknownValue;

/// The role of a vehicle for the dealership (contract, "Vehicle").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StockType {
    /// On the forecourt, for sale.
    InStock,
    /// Can be ordered.
    ToOrder,
    /// Belongs to a customer.
    Customer,
    /// Lent to customers.
    Courtesy,
    /// Offered to the dealership.
    Appraisal,
}

impl StockType {
    /// All stock types, in the order in which to show them.
    pub const ALL: [Self; 5] = [
        Self::InStock,
        Self::ToOrder,
        Self::Customer,
        Self::Courtesy,
        Self::Appraisal,
    ];

    /// The name in the API's responses.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::InStock => "in-stock",
            Self::ToOrder => "to-order",
            Self::Customer => "customer",
            Self::Courtesy => "courtesy",
            Self::Appraisal => "appraisal",
        }
    }

    /// The one-letter name that is stored.
    pub const fn key(self) -> &'static str {
        match self {
            Self::InStock => "s",
            Self::ToOrder => "t",
            Self::Customer => "u",
            Self::Courtesy => "r",
            Self::Appraisal => "a",
        }
    }

    /// The name to show.
    pub const fn label(self) -> &'static str {
        match self {
            Self::InStock => "In Stock",
            Self::ToOrder => "To Order",
            Self::Customer => "Customer",
            Self::Courtesy => "Courtesy",
            Self::Appraisal => "Appraisal",
        }
    }

    /// Returns all stock types, as in `GET /2.0/reference/vehicle-types`.
    pub fn list() -> Vec<VehicleType> {
        Self::ALL
            .iter()
            .map(|kind| VehicleType {
                id: kind.key(),
                name: kind.slug(),
                label: kind.label(),
            })
            .collect()
    }
}

/// Reads a slug or a key.
impl FromStr for StockType {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.slug() == text || kind.key() == text)
            .ok_or(UnknownValue(&[
                "in-stock",
                "to-order",
                "customer",
                "courtesy",
                "appraisal",
                "s",
                "t",
                "u",
                "r",
                "a",
            ]))
    }
}

/// A stock type in the reference list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VehicleType {
    /// The key: s, t, u, r or a.
    pub id: &'static str,
    /// The slug.
    pub name: &'static str,
    /// The name to show.
    pub label: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slug_and_key_both_read_back() {
        for kind in StockType::ALL {
            assert_eq!((kind.slug().parse(), kind.key().parse()), (Ok(kind), Ok(kind)));
        }
        assert!("S".parse::<StockType>().is_err());
    }
}
