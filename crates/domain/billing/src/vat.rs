//! Value added tax: its schemes, the standard rates by country, and the tax that an amount includes (areas §10.1).

use std::{fmt, str::FromStr};

use forecourt_kernel::{Country, FromJson, InvalidValue, Money, from_line};
use forecourt_reference::ProductVat;
use serde::{Deserialize, Serialize};

/// The standard rates in hundredths of a percent, with the countries that have them, as of November 2026.
///
/// The rates of the European Union are from the European Commission's Taxes in Europe Database (TEDB), that of the United Kingdom
/// is from gov.uk ("VAT rates"). The others are from the countries' tax authorities. IM and MC share the rates of GB and FR,
/// LI that of CH, AX that of FI. AU, CA, JE, NZ and SG call the tax GST; the rate of CA is the federal one alone. GG, GI and US
/// have no single rate for the country.
const STANDARD_RATES: &[(u16, &str)] = &[
    (0, "GG GI US"),
    (450, "AD"),
    (500, "AE CA JE"),
    (810, "CH LI"),
    (850, "GP MQ RE"),
    (900, "SG"),
    (1000, "AU JP"),
    (1500, "NZ ZA"),
    (1700, "BA LU"),
    (1800, "GE MK MT"),
    (1900, "CY DE"),
    (2000, "AL AT BG FR GB IM MC MD RS TR UA"),
    (2100, "BE CZ ES LT LV ME NL RO"),
    (2200, "IT SI"),
    (2300, "IE PL PT SK"),
    (2400, "EE GR IS"),
    (2500, "DK HR NO SE"),
    (2550, "AX FI"),
    (2700, "HU"),
];

/// A rate of 100 %, in hundredths of a percent.
const WHOLE: i128 = 10_000;

/// The treatment of a line under value added tax.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum VatScheme {
    /// Taxed at a rate.
    Standard,
    /// Taxed at zero per cent.
    Zero,
    /// Exempt from the tax.
    Exempt,
    /// Outside the scope of the tax.
    Outside,
    /// Sold under the margin scheme for second-hand goods, whose tax no document shows.
    Margin,
}

impl VatScheme {
    /// Every scheme.
    pub const ALL: [Self; 5] = [Self::Standard, Self::Zero, Self::Exempt, Self::Outside, Self::Margin];

    /// Returns the name in records and in storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Zero => "zero",
            Self::Exempt => "exempt",
            Self::Outside => "outside",
            Self::Margin => "margin",
        }
    }
}

impl From<ProductVat> for VatScheme {
    fn from(scheme: ProductVat) -> Self {
        match scheme {
            ProductVat::Standard => Self::Standard,
            ProductVat::Zero => Self::Zero,
            ProductVat::Exempt => Self::Exempt,
            ProductVat::Outside => Self::Outside,
            ProductVat::Margin => Self::Margin,
        }
    }
}

/// The error for a text that names no VAT scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of standard, zero, exempt, outside, margin")]
pub struct UnknownVatScheme;

impl FromStr for VatScheme {
    type Err = UnknownVatScheme;

    fn from_str(text: &str) -> Result<Self, UnknownVatScheme> {
        let found = Self::ALL.into_iter().find(|scheme| scheme.name() == text);
        found.ok_or(UnknownVatScheme)
    }
}

impl FromJson for VatScheme {
    fn from_json(value: serde_json::Value) -> Result<Self, InvalidValue> {
        from_line(value)
    }
}

/// A rate of value added tax in percent, exact to two decimals, written `"20.00"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct VatRate(u16);

/// An amount split into net and value added tax: `net + vat` is the amount to the minor unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VatSplit {
    /// The amount without the tax.
    pub net: Money,
    /// The tax.
    pub vat: Money,
}

impl VatRate {
    /// No tax.
    pub const ZERO: Self = Self(0);

    /// Creates a rate from hundredths of a percent: 2000 is 20 %.
    pub const fn from_hundredths(hundredths: u16) -> Self {
        Self(hundredths)
    }

    /// Returns the rate in hundredths of a percent.
    pub const fn hundredths(self) -> u16 {
        self.0
    }

    /// Returns the standard rate of `country`, or [`VatRate::ZERO`] if the table lacks the country. Too little tax is the easiest
    /// mistake to see, and it ends when the country is added; the customer pays the same amount either way.
    pub fn standard(country: Country) -> Self {
        let row = STANDARD_RATES
            .iter()
            .find(|(_, countries)| countries.split(' ').any(|code| code == country.code()));
        row.map_or(Self::ZERO, |&(hundredths, _)| Self(hundredths))
    }

    /// Splits `gross`, which includes the tax, into net and tax. The tax is `gross × rate / (100 % + rate)`, rounded to the
    /// nearest minor unit, and halves are rounded away from zero. The rest is net.
    ///
    /// ```
    /// use forecourt_billing::VatRate;
    /// use forecourt_kernel::Money;
    ///
    /// let split = VatRate::from_hundredths(2000).split(Money::from_minor(50_000));
    /// assert_eq!((split.net.to_string(), split.vat.to_string()), ("416.67".into(), "83.33".into()));
    /// ```
    pub fn split(self, gross: Money) -> VatSplit {
        let rate = i128::from(self.0);
        let whole = WHOLE + rate;
        let amount = i128::from(gross.minor().unsigned_abs());
        // Half of the divisor is added before an integer division that rounds down. Both are doubled, as the divisor may be odd.
        let vat = (2 * amount * rate + whole) / (2 * whole) * i128::from(gross.minor().signum());
        // The tax never exceeds the amount, so it fits.
        let vat = i64::try_from(vat).unwrap_or_default();
        VatSplit {
            net: Money::from_minor(gross.minor() - vat),
            vat: Money::from_minor(vat),
        }
    }

    /// Adds the tax to a net amount: `net × rate`, rounded to the nearest minor unit, a half away from zero.
    pub fn on_net(self, net: Money) -> Money {
        let tax = 2 * i128::from(net.minor().unsigned_abs()) * i128::from(self.0) + WHOLE;
        let tax = tax / (2 * WHOLE) * i128::from(net.minor().signum());
        Money::from_minor(i64::try_from(tax).unwrap_or_default())
    }
}

impl fmt::Display for VatRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

impl From<VatRate> for String {
    fn from(rate: VatRate) -> Self {
        rate.to_string()
    }
}

impl TryFrom<String> for VatRate {
    type Error = InvalidVatRate;

    fn try_from(text: String) -> Result<Self, InvalidVatRate> {
        text.parse()
    }
}

/// Reads a percentage with at most two decimals, such as `20`, `8.1` or `25.50`.
impl FromStr for VatRate {
    type Err = InvalidVatRate;

    fn from_str(text: &str) -> Result<Self, InvalidVatRate> {
        let hundredths: Money = text.parse().map_err(|_| InvalidVatRate)?;
        hundredths.minor().try_into().map(Self).map_err(|_| InvalidVatRate)
    }
}

/// The error for a text that is not a percentage with at most two decimals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a percentage with at most two decimals")]
pub struct InvalidVatRate;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn rate(country: &str) -> String {
        VatRate::standard(country.parse().unwrap()).to_string()
    }

    #[test]
    fn each_country_of_the_table_is_one_and_has_one_rate() {
        let mut seen = BTreeSet::new();
        for (_, countries) in STANDARD_RATES {
            for country in countries.split(' ') {
                assert!(country.parse::<Country>().is_ok() && seen.insert(country), "{country}");
            }
        }
        assert!(STANDARD_RATES.is_sorted());
    }

    #[test]
    fn the_standard_rate_depends_on_the_country() {
        for (country, expected) in [
            ("GB", "20.00"),
            ("IM", "20.00"),
            ("IE", "23.00"),
            ("DE", "19.00"),
            ("FR", "20.00"),
            ("FI", "25.50"),
            ("CH", "8.10"),
            ("NO", "25.00"),
            ("AU", "10.00"),
            ("NZ", "15.00"),
            ("US", "0.00"),
            ("AQ", "0.00"),
        ] {
            assert_eq!(rate(country), expected, "{country}");
        }
    }

    #[test]
    fn every_member_of_the_european_union_has_a_rate_within_its_law() {
        let members = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK";
        assert_eq!(members.split(' ').count(), 27);
        for member in members.split(' ') {
            // Directive 2006/112/EC, article 97: at least 15 %.
            assert!(VatRate::standard(member.parse().unwrap()) >= VatRate(1500), "{member}");
        }
    }

    #[test]
    fn a_rate_reads_back_as_it_is_written() {
        for hundredths in [0, 1, 99, 810, 2000, 2550, u16::MAX] {
            let rate = VatRate(hundredths);
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        for text in ["", "-1", "20.005", "655.36", "20%"] {
            assert_eq!(text.parse::<VatRate>(), Err(InvalidVatRate), "{text:?}");
        }
    }

    #[test]
    fn tax_on_a_net_amount_is_rounded_once() {
        let rate = VatRate(2000);
        for (net, vat) in [
            (1_999, 400),
            (-1_999, -400),
            (2, 0),
            (3, 1),
            (0, 0),
            (9_999_999_999, 2_000_000_000),
        ] {
            assert_eq!(rate.on_net(Money::from_minor(net)).minor(), vat, "{net}");
        }
        assert_eq!(VatRate(2000).split(Money::from_minor(5_000_000)).vat.minor(), 833_333);
    }

    #[test]
    fn a_half_is_rounded_up() {
        // 0.03 at 20 % includes 0.005 of tax.
        for (gross, vat) in [
            (1, 0),
            (2, 0),
            (3, 1),
            (6, 1),
            (9, 2),
            (120, 20),
            (-3, -1),
            (-120, -20),
            (0, 0),
        ] {
            let split = VatRate(2000).split(Money::from_minor(gross));
            assert_eq!(split.vat.minor(), vat, "{gross}");
        }
    }
}
