//! Amounts of money, exact to the minor unit.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// An amount in minor units (pence), read and written as a decimal with two places: `"1234.00"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Money(i64);

impl Money {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// An amount in minor units.
    pub const fn from_minor(minor: i64) -> Self {
        Self(minor)
    }

    /// The amount in minor units.
    pub const fn minor(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let minor = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:02}", minor / 100, minor % 100)
    }
}

impl From<Money> for String {
    fn from(money: Money) -> Self {
        money.to_string()
    }
}

impl TryFrom<String> for Money {
    type Error = InvalidMoney;

    fn try_from(text: String) -> Result<Self, InvalidMoney> {
        text.parse()
    }
}

/// Reads a decimal with at most two places, such as `99`, `99.5` or `-99.50`.
impl FromStr for Money {
    type Err = InvalidMoney;

    fn from_str(text: &str) -> Result<Self, InvalidMoney> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
        let numeric = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !numeric(whole) || !numeric(part) || part.len() > 2 {
            return Err(InvalidMoney);
        }
        let whole: i64 = whole.parse().map_err(|_| InvalidMoney)?;
        let part: i64 = format!("{part:0<2}").parse().map_err(|_| InvalidMoney)?;
        let minor = whole
            .checked_mul(100)
            .and_then(|minor| minor.checked_add(part))
            .ok_or(InvalidMoney)?;
        Ok(Self(sign * minor))
    }
}

/// The text is not an amount with at most two decimals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be an amount with at most two decimals")]
pub struct InvalidMoney;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_reads_back(minor in -1_000_000_000_000_i64..1_000_000_000_000) {
            let money = Money::from_minor(minor);
            prop_assert_eq!(money.to_string().parse(), Ok(money));
        }
    }

    #[test]
    fn an_amount_has_at_most_two_decimals() {
        assert_eq!("99".parse(), Ok(Money::from_minor(9_900)));
        assert_eq!("99.5".parse(), Ok(Money::from_minor(9_950)));
        assert_eq!(Money::from_minor(-5).to_string(), "-0.05");
        for text in ["", "-", ".5", "5.", "1.005", "1e3", "1,000", "99999999999999999999"] {
            assert_eq!(text.parse::<Money>(), Err(InvalidMoney), "{text:?}");
        }
    }
}
