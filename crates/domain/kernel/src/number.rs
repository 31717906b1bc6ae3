//! Numbers in JSON, which has only one kind of them.

use serde_json::Value;

/// The limit above which a floating-point number no longer distinguishes neighbouring integers.
const EXACT: f64 = (1_i64 << f64::MANTISSA_DIGITS) as f64;

/// Returns the integer that `value` is, if it is one: `1.0` and `1e0` are the integer 1 (decisions §3).
pub fn integer(value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    number.as_i64().or_else(|| {
        let number = number.as_f64()?;
        #[expect(clippy::cast_possible_truncation, reason = "it has no fraction and fits")]
        (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_fraction_is_an_integer() {
        let read = |text: &str| integer(&serde_json::from_str(text).unwrap());
        for (text, number) in [
            ("1", Some(1)),
            ("1.0", Some(1)),
            ("-0.0", Some(0)),
            ("-2e3", Some(-2000)),
            ("9007199254740991.0", Some(9_007_199_254_740_991)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("1.5", None),
            ("1e19", None),
            ("1e300", None),
            ("9223372036854775808", None),
            ("\"1\"", None),
            ("true", None),
            ("null", None),
            ("[1]", None),
        ] {
            assert_eq!(read(text), number, "{text}");
        }
    }
}
