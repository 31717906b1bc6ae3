//! Vehicle identification numbers.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A vehicle identification number in capitals. Chassis numbers from before the standard are valid too, so shorter ones are
/// accepted (contract, "data.stock").
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Vin(String);

impl Vin {
    /// Maximum length of a number.
    pub const MAX_CHARS: usize = 17;

    /// Position of the check digit, counted from 0.
    const CHECK_DIGIT: usize = 8;

    /// The weight of each position in the check sum.
    const WEIGHTS: [u32; Self::MAX_CHARS] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];

    /// Returns the number as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `true` if it has the form of ISO 3779: 17 characters without I, O and Q.
    pub fn is_standard(&self) -> bool {
        self.0.len() == Self::MAX_CHARS && !self.0.contains(['I', 'O', 'Q'])
    }

    /// Returns `true` if the ninth character is the check digit of the others; `None` for a number that is not standard. It is
    /// only a hint: North America requires a check digit, European makers use that position freely.
    pub fn check_digit_matches(&self) -> Option<bool> {
        if !self.is_standard() {
            return None;
        }
        let values = self.0.bytes().map(value);
        let sum: u32 = values.zip(Self::WEIGHTS).map(|(value, weight)| value * weight).sum();
        let expected = match sum % 11 {
            10 => 'X',
            digit => char::from_digit(digit, 10)?,
        };
        Some(self.0.chars().nth(Self::CHECK_DIGIT) == Some(expected))
    }
}

/// Returns the value of a character in the check sum. A digit is its own value; the letters A–H count from 1, J–R from 1 and S–Z
/// from 2. I, O and Q do not occur.
fn value(character: u8) -> u32 {
    let value = match character {
        b'0'..=b'9' => character - b'0',
        b'A'..=b'H' => character - b'A' + 1,
        b'J'..=b'R' => character - b'J' + 1,
        b'S'..=b'Z' => character - b'S' + 2,
        _ => 0,
    };
    u32::from(value)
}

impl fmt::Display for Vin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a number in either case; surrounding spaces are dropped.
impl FromStr for Vin {
    type Err = InvalidVin;

    fn from_str(text: &str) -> Result<Self, InvalidVin> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidVin::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(InvalidVin::NotAlphanumeric);
        }
        if text.len() > Self::MAX_CHARS {
            return Err(InvalidVin::TooLong);
        }
        Ok(Self(text.to_ascii_uppercase()))
    }
}

impl TryFrom<String> for Vin {
    type Error = InvalidVin;

    fn try_from(text: String) -> Result<Self, InvalidVin> {
        text.parse()
    }
}

impl From<Vin> for String {
    fn from(vin: Vin) -> Self {
        vin.0
    }
}

/// The reasons why a text is not a vehicle identification number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidVin {
    /// It is blank.
    #[error("must not be empty")]
    Empty,
    /// It has a character other than the letters A to Z and digits.
    #[error("must have letters and digits only")]
    NotAlphanumeric,
    /// It has more than [`Vin::MAX_CHARS`] characters.
    #[error("must have at most {} characters", Vin::MAX_CHARS)]
    TooLong,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vin(text: &str) -> Vin {
        text.parse().unwrap()
    }

    #[test]
    fn a_number_is_kept_in_capitals() {
        assert_eq!(vin(" wf0kxxgcbkdp31574 ").as_str(), "WF0KXXGCBKDP31574");
        assert_eq!(vin("ab123").to_string(), "AB123");
        assert_eq!(serde_json::to_string(&vin("ab123")).unwrap(), r#""AB123""#);
        assert_eq!(serde_json::from_str::<Vin>(r#""ab123""#).unwrap(), vin("AB123"));
    }

    #[test]
    fn what_is_no_number_is_refused_with_the_reason() {
        let read = |text: &str| text.parse::<Vin>();
        assert_eq!(read("  "), Err(InvalidVin::Empty));
        for text in ["AB 123", "AB-123", "AB123\0", "ÄB123", "ＡＢ"] {
            assert_eq!(read(text), Err(InvalidVin::NotAlphanumeric), "{text:?}");
        }
        assert_eq!(read("123456789012345678"), Err(InvalidVin::TooLong));
        assert_eq!(InvalidVin::TooLong.to_string(), "must have at most 17 characters");
    }

    #[test]
    fn the_check_digit_is_a_hint() {
        assert_eq!(vin("1M8GDM9AXKP042788").check_digit_matches(), Some(true));
        assert_eq!(vin("1HGBH41JXMN109186").check_digit_matches(), Some(true));
        assert_eq!(vin("11111111111111111").check_digit_matches(), Some(true));
        assert_eq!(vin("WF0KXXGCBKDP31574").check_digit_matches(), Some(false));
        assert_eq!(vin("WF0KXXGC1KDP31574").check_digit_matches(), Some(true));
        for text in [
            "AB123",
            "1M8GDM9AXKP04278",
            "1M8GDM9AXKP04278O",
            "IM8GDM9AXKP042788",
            "1Q8GDM9AXKP042788",
        ] {
            assert!(!vin(text).is_standard());
            assert_eq!(vin(text).check_digit_matches(), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn exactly_one_ninth_character_is_the_check_digit(start in "[A-HJ-NPR-Z0-9]{8}", end in "[A-HJ-NPR-Z0-9]{8}") {
            let matches = |digit: &char| vin(&format!("{start}{digit}{end}")).check_digit_matches() == Some(true);
            prop_assert_eq!("0123456789X".chars().filter(matches).count(), 1);
        }

        #[test]
        fn no_text_panics(text: String) {
            if let Ok(vin) = text.parse::<Vin>() {
                vin.check_digit_matches();
                prop_assert_eq!(vin.as_str().parse(), Ok(vin));
            }
        }
    }
}
