//! Amounts of money and rates as callers send them (areas §10.0).

use forecourt_kernel::{FromJson, InvalidValue, Money};
use serde_json::Value;

use crate::VatRate;

/// An amount of money, sent as a JSON number with at most two decimals, within ±99,999,999.99.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Amount(pub Money);

impl Amount {
    /// The largest amount that a caller can send, in minor units.
    pub const MAX_MINOR: i64 = 9_999_999_999;
}

impl FromJson for Amount {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let money = decimal(&value).map_err(InvalidValue::here)?;
        if money.minor().abs() > Self::MAX_MINOR {
            return Err(InvalidValue::here("must be within 99999999.99 and -99999999.99"));
        }
        Ok(Self(money))
    }
}

/// A rate in percent, sent as a JSON number from 0 to 100 with at most two decimals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Percent(pub VatRate);

impl FromJson for Percent {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let hundredths = decimal(&value).map_err(InvalidValue::here)?.minor();
        let rate = u16::try_from(hundredths)
            .ok()
            .filter(|&hundredths| hundredths <= 10_000);
        let rate = rate.ok_or(InvalidValue::here("must be a number from 0 to 100"))?;
        Ok(Self(VatRate::from_hundredths(rate)))
    }
}

/// Reads a number with at most two decimals. The shortest decimal text of the number counts, which is the value that the caller
/// wrote in any notation. Nothing is rounded.
fn decimal(value: &Value) -> Result<Money, &'static str> {
    let number = value.as_number().ok_or("must be a number")?;
    let text = match number.as_f64() {
        // Rust writes a floating-point number without an exponent.
        Some(float) if number.is_f64() => float.to_string(),
        _ => number.to_string(),
    };
    text.parse().map_err(|_| "must be a number with at most two decimals")
}

#[cfg(feature = "openapi")]
mod schemas {
    use utoipa::openapi::{
        ObjectBuilder, RefOr, Schema,
        schema::{SchemaType, Type},
    };

    use super::{Amount, Percent};

    impl utoipa::PartialSchema for Amount {
        fn schema() -> RefOr<Schema> {
            number(-99_999_999.99, 99_999_999.99)
        }
    }

    impl utoipa::ToSchema for Amount {}

    impl utoipa::PartialSchema for Percent {
        fn schema() -> RefOr<Schema> {
            number(0.0, 100.0)
        }
    }

    impl utoipa::ToSchema for Percent {}

    fn number(least: f64, most: f64) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::Type(Type::Number))
            .minimum(Some(least))
            .maximum(Some(most))
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(json: &str) -> Option<i64> {
        let value = serde_json::from_str(json).unwrap();
        Amount::from_json(value).ok().map(|amount| amount.0.minor())
    }

    #[test]
    fn an_amount_may_be_written_in_any_way_and_is_never_rounded() {
        for (json, minor) in [
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("12", Some(1_200)),
            ("12.3", Some(1_230)),
            ("12.3400", Some(1_234)),
            ("1e2", Some(10_000)),
            ("100e-4", Some(1)),
            ("0.29", Some(29)),
            ("4.35", Some(435)),
            ("-4.35", Some(-435)),
            ("99999999.99", Some(9_999_999_999)),
            ("-99999999.99", Some(-9_999_999_999)),
            ("100000000", None),
            ("99999999.995", None),
            ("0.001", None),
            ("1e300", None),
            ("1e-300", None),
            ("18446744073709551615", None),
            ("-9223372036854775808", None),
            ("\"1\"", None),
            ("true", None),
        ] {
            assert_eq!(amount(json), minor, "{json}");
        }
    }

    #[test]
    fn a_rate_is_a_percentage() {
        let rate = |json: &str| {
            let value = serde_json::from_str(json).unwrap();
            Percent::from_json(value).ok().map(|rate| rate.0.to_string())
        };
        assert_eq!(rate("20").as_deref(), Some("20.00"));
        assert_eq!(rate("8.1").as_deref(), Some("8.10"));
        assert_eq!(rate("100").as_deref(), Some("100.00"));
        for json in ["-1", "100.01", "20.005", "\"20\""] {
            assert_eq!(rate(json), None, "{json}");
        }
    }
}
