//! Exact reading of amounts from JSON numbers.

use forecourt_kernel::Money;
use serde_json::Number;

/// Maximum amount in minor units: every JSON reader represents whole numbers up to it exactly.
const MAX_MINOR: u64 = 1 << f64::MANTISSA_DIGITS;

/// Maximum amount in whole major units.
pub const MAX_WHOLE: u64 = MAX_MINOR / 100;

/// From this amount on, neighbouring floating-point numbers are more than a minor unit apart, so the decimals as written are
/// lost.
const COARSE: f64 = (1_u64 << 46) as f64;

/// Reads an amount from a JSON number: from 0 up, with at most two decimals. The number's shortest decimal text counts, which is
/// the value that the client wrote in any notation (`1e2` is `100`). Nothing is ever rounded, and −0 is 0.
///
/// # Errors
/// [`InvalidAmount`] for any other number.
pub fn money(number: &Number) -> Result<Money, InvalidAmount> {
    let minor = match number.as_u64() {
        Some(whole) => whole.checked_mul(100).ok_or(InvalidAmount::TooLarge)?,
        None => minor_units(number.as_f64().ok_or(InvalidAmount::TooLarge)?)?,
    };
    if minor > MAX_MINOR {
        return Err(InvalidAmount::TooLarge);
    }
    i64::try_from(minor)
        .map(Money::from_minor)
        .map_err(|_| InvalidAmount::TooLarge)
}

fn minor_units(amount: f64) -> Result<u64, InvalidAmount> {
    if amount < 0.0 {
        return Err(InvalidAmount::Negative);
    }
    if amount >= COARSE && amount.fract() != 0.0 {
        return Err(InvalidAmount::TooLarge);
    }
    // Such as `1.234e1`: the shortest digits that read back as the same number, without trailing zeros.
    let text = format!("{:e}", amount.abs());
    let (mantissa, exponent) = text.split_once('e').ok_or(InvalidAmount::TooLarge)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: u64 = format!("{whole}{fraction}")
        .parse()
        .map_err(|_| InvalidAmount::TooLarge)?;
    let exponent: i64 = exponent.parse().map_err(|_| InvalidAmount::TooLarge)?;
    let decimals = i64::try_from(fraction.len()).map_err(|_| InvalidAmount::TooLarge)? - exponent;
    let zeros = u32::try_from(2 - decimals).map_err(|_| InvalidAmount::TooManyDecimals)?;
    10_u64
        .checked_pow(zeros)
        .and_then(|scale| digits.checked_mul(scale))
        .ok_or(InvalidAmount::TooLarge)
}

/// The reasons why a number is not an amount of money.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidAmount {
    /// It is below 0.
    #[error("must not be negative")]
    Negative,
    /// It has a fraction of a minor unit.
    #[error("must have at most two decimals")]
    TooManyDecimals,
    /// It exceeds 2⁵³ minor units, or is so large that its decimals cannot be represented.
    #[error("is too large")]
    TooLarge,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(json: &str) -> Result<i64, InvalidAmount> {
        money(&serde_json::from_str(json).unwrap()).map(Money::minor)
    }

    #[test]
    fn an_amount_may_be_written_in_any_way() {
        for (json, minor) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0", 0),
            ("0e5", 0),
            ("12", 1_200),
            ("12.3", 1_230),
            ("12.34", 1_234),
            ("12.3400", 1_234),
            ("1e2", 10_000),
            ("1.5E1", 1_500),
            ("1e-2", 1),
            ("100e-4", 1),
            ("0.29", 29),
            ("1.1", 110),
            ("4.35", 435),
            ("1e13", 1_000_000_000_000_000),
            ("70000000000000.01", 7_000_000_000_000_001),
            ("90071992547409", 9_007_199_254_740_900),
            ("90071992547409.0", 9_007_199_254_740_900),
        ] {
            assert_eq!(read(json), Ok(minor), "{json}");
        }
    }

    #[test]
    fn each_fault_has_its_reason() {
        let refused = [
            (
                InvalidAmount::Negative,
                &["-1", "-0.01", "-1e-300", "-1e300", "-9223372036854775808", "-1.234"][..],
            ),
            (
                InvalidAmount::TooManyDecimals,
                &[
                    "12.345",
                    "0.001",
                    "0.30000000000000004",
                    "1e-3",
                    "5e-324",
                    "1.005",
                    "99999999999.999",
                ],
            ),
            (
                InvalidAmount::TooLarge,
                &[
                    "90071992547410",
                    "1e14",
                    "1e300",
                    "18446744073709551615",
                    "18446744073709551616",
                    "80000000000000.01",
                    "90071992547409.92",
                ],
            ),
        ];
        for (reason, numbers) in refused {
            for json in numbers {
                assert_eq!(read(json), Err(reason), "{json}");
            }
        }
        assert_eq!(read("-1").unwrap_err().to_string(), "must not be negative");
        let sum = Number::from_f64(0.1 + 0.2).unwrap();
        assert_eq!(money(&sum).unwrap_err().to_string(), "must have at most two decimals");
        assert_eq!(read("1e99").unwrap_err().to_string(), "is too large");
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(minor in prop_oneof![0..7_000_000_000_000_000_i64, 0..10_000_000_i64]) {
            let written = Money::from_minor(minor).to_string();
            prop_assert_eq!(read(&written), Ok(minor));
            prop_assert_eq!(read(&format!("{minor}e-2")), Ok(minor));
        }

        #[test]
        fn zeros_at_the_end_say_nothing(minor in 0..100_000_000_000_i64, zeros in 0_usize..6) {
            let written = format!("{}{}", Money::from_minor(minor), "0".repeat(zeros));
            prop_assert_eq!(read(&written), Ok(minor));
        }

        #[test]
        fn a_third_decimal_is_refused(minor in 0..1_000_000_000_000_i64, third in 1..10) {
            prop_assert_eq!(read(&format!("{}{third}", Money::from_minor(minor))), Err(InvalidAmount::TooManyDecimals));
        }

        #[test]
        fn whole_amounts_are_read_up_to_the_limit(whole: u64) {
            let limit = MAX_MINOR / 100;
            prop_assert_eq!(read(&whole.to_string()).is_ok(), whole <= limit);
            prop_assert_eq!(read(&(whole % limit).to_string()), Ok(i64::try_from(whole % limit * 100).unwrap()));
        }

        #[test]
        fn no_number_panics(number: f64) {
            if let Some(number) = Number::from_f64(number) {
                let read = money(&number);
                prop_assert!(read.is_err() || read.is_ok_and(|amount| amount >= Money::ZERO));
            }
        }
    }
}
