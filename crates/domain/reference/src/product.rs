//! The products that a business sells besides its vehicles.

use std::{fmt, str::FromStr};

use forecourt_kernel::Money;
use serde::{Deserialize, Serialize};

use crate::UnknownValue;

/// The treatment of a product in value added tax.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProductVat {
    /// Taxed at the product's rate, or at the standard rate of the country.
    #[default]
    Standard,
    /// Taxed at zero.
    Zero,
    /// Exempt from the tax.
    Exempt,
    /// Outside the scope of the tax.
    Outside,
    /// Sold under the margin scheme.
    Margin,
}

impl ProductVat {
    /// All treatments.
    pub const ALL: [Self; 5] = [Self::Standard, Self::Zero, Self::Exempt, Self::Outside, Self::Margin];

    /// The name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Zero => "zero",
            Self::Exempt => "exempt",
            Self::Outside => "outside",
            Self::Margin => "margin",
        }
    }
}

impl FromStr for ProductVat {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        Self::ALL
            .into_iter()
            .find(|scheme| scheme.as_str() == text)
            .ok_or(UnknownValue(&["standard", "zero", "exempt", "outside", "margin"]))
    }
}

/// A percentage from 0 to 100 with at most two decimals, written with both: `"20.00"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Percent(u16);

impl Percent {
    const MAX_HUNDREDTHS: u16 = 10_000;

    /// The hundredths of a percent: 2,000 for 20 %.
    pub const fn hundredths(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

impl FromStr for Percent {
    type Err = InvalidPercent;

    fn from_str(text: &str) -> Result<Self, InvalidPercent> {
        // A decimal with at most two places is read as an amount is.
        let amount: Money = text.parse().map_err(|_| InvalidPercent)?;
        match u16::try_from(amount.minor()) {
            Ok(hundredths @ 0..=Self::MAX_HUNDREDTHS) if !text.starts_with('-') => Ok(Self(hundredths)),
            _ => Err(InvalidPercent),
        }
    }
}

impl From<Percent> for String {
    fn from(percent: Percent) -> Self {
        percent.to_string()
    }
}

impl TryFrom<String> for Percent {
    type Error = InvalidPercent;

    fn try_from(text: String) -> Result<Self, InvalidPercent> {
        text.parse()
    }
}

/// The text is not a percentage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a percentage from 0 to 100 with at most two decimals")]
pub struct InvalidPercent;

/// A product that a business sells besides its vehicles.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// Its id, which lines of invoices, orders and purchases name.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// Its price with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "399.00"))]
    pub gross: Money,
    /// Its treatment in value added tax.
    #[serde(default)]
    pub vat_scheme: ProductVat,
    /// Its rate of value added tax in percent, with the scheme `standard` alone. Null means the standard rate of the country.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "20.00"))]
    pub vat_rate: Option<Percent>,
    /// The code of its account in the books.
    #[serde(default)]
    pub nominal: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_reads_back() {
        for scheme in ProductVat::ALL {
            assert_eq!(scheme.as_str().parse(), Ok(scheme));
            assert_eq!(serde_json::to_value(scheme).unwrap(), scheme.as_str());
        }
        let UnknownValue(names) = "Standard".parse::<ProductVat>().unwrap_err();
        assert_eq!(names, ProductVat::ALL.map(ProductVat::as_str));
    }

    #[test]
    fn a_percentage_has_at_most_two_decimals() {
        for (text, hundredths, written) in [
            ("0", 0, "0.00"),
            ("5.5", 550, "5.50"),
            ("20", 2_000, "20.00"),
            ("100.00", 10_000, "100.00"),
        ] {
            let percent: Percent = text.parse().unwrap();
            assert_eq!(
                (percent.hundredths(), percent.to_string().as_str()),
                (hundredths, written)
            );
        }
        for text in ["", "-0", "-1", "100.01", "700", "20.005", "20%", "1e1"] {
            assert_eq!(text.parse::<Percent>(), Err(InvalidPercent), "{text:?}");
        }
    }
}
