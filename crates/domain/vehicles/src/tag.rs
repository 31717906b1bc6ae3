//! Short codes that name a business's vehicles.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Digits and capitals in Crockford's base 32, which excludes U and the letters that are easily misread (I, L, O).
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Number of bits in a character.
const BITS: u32 = 5;

/// Multiplier that spreads the codes. It is odd, so that multiplication modulo a power of two maps every number to a different
/// one. It is 2²⁵ divided by the golden ratio, so that consecutive numbers get distant codes.
const SPREAD: u64 = 0x13C_6EF3;

/// A short code, unique in its business, such as `KQVRK`. It is derived from the vehicle's running number there. Codes have no
/// visible order, yet no two numbers have the same one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct VehicleTag(String);

impl VehicleTag {
    /// Minimum length of a code, enough for the first 32⁵ numbers.
    pub const MIN_CHARS: usize = 5;

    /// Length of the code of the highest number.
    pub const MAX_CHARS: usize = u64::BITS.div_ceil(BITS) as usize;

    /// Returns the code of the business's `n`th vehicle, in the fewest characters that can distinguish so many numbers.
    pub fn nth(n: u64) -> Self {
        let needed = (u64::BITS - n.leading_zeros()).div_ceil(BITS) as usize;
        let chars = needed.max(Self::MIN_CHARS);
        let mut spread = n.wrapping_mul(SPREAD);
        let mut code = String::with_capacity(chars);
        for _ in 0..chars {
            code.push(char::from(ALPHABET[(spread % 32) as usize]));
            spread >>= BITS;
        }
        Self(code)
    }

    /// Returns the code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VehicleTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a code in either case.
impl FromStr for VehicleTag {
    type Err = InvalidVehicleTag;

    fn from_str(text: &str) -> Result<Self, InvalidVehicleTag> {
        let code = text.to_ascii_uppercase();
        let sized = (Self::MIN_CHARS..=Self::MAX_CHARS).contains(&code.len());
        if sized && code.bytes().all(|byte| ALPHABET.contains(&byte)) {
            Ok(Self(code))
        } else {
            Err(InvalidVehicleTag)
        }
    }
}

impl TryFrom<String> for VehicleTag {
    type Error = InvalidVehicleTag;

    fn try_from(text: String) -> Result<Self, InvalidVehicleTag> {
        text.parse()
    }
}

impl From<VehicleTag> for String {
    fn from(tag: VehicleTag) -> Self {
        tag.0
    }
}

/// The error for a text that is not a vehicle's code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a vehicle tag")]
pub struct InvalidVehicleTag;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_two_of_many_numbers_have_the_same_code() {
        let codes: HashSet<_> = (0..200_000).map(VehicleTag::nth).collect();
        assert_eq!(codes.len(), 200_000);
        assert!(codes.iter().all(|code| code.as_str().len() == VehicleTag::MIN_CHARS));
    }

    #[test]
    fn codes_grow_by_a_character_where_the_numbers_no_longer_fit() {
        let mut numbers = HashSet::new();
        for chars in VehicleTag::MIN_CHARS..VehicleTag::MAX_CHARS {
            let boundary = 1_u64 << (chars * 5);
            assert_eq!(VehicleTag::nth(boundary - 1).as_str().len(), chars);
            assert_eq!(VehicleTag::nth(boundary).as_str().len(), chars + 1);
            numbers.extend(boundary - 2_000..boundary + 2_000);
        }
        numbers.extend(u64::MAX - 2_000..=u64::MAX);
        assert_eq!(VehicleTag::nth(u64::MAX).as_str().len(), VehicleTag::MAX_CHARS);
        let codes: HashSet<_> = numbers.iter().copied().map(VehicleTag::nth).collect();
        assert_eq!(codes.len(), numbers.len());
    }

    #[test]
    fn the_code_of_a_number_never_changes() {
        let first: Vec<_> = (1..=4).map(|n| VehicleTag::nth(n).to_string()).collect();
        assert_eq!(first, ["KQVRK", "6FQH7", "S6KAV", "CYE3F"]);
    }

    #[test]
    fn a_code_is_read_in_either_case() {
        let tag: VehicleTag = "kqvrk".parse().unwrap();
        assert_eq!(tag.as_str(), "KQVRK");
        assert_eq!(serde_json::to_string(&tag).unwrap(), r#""KQVRK""#);
        for text in [
            "",
            "KQVR",
            "KQVRI",
            "KQVRL",
            "KQVRO",
            "KQVRU",
            "KQ-RK",
            " KQVRK",
            "KQVRé",
            "12345678901234",
        ] {
            assert_eq!(text.parse::<VehicleTag>(), Err(InvalidVehicleTag), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn codes_read_back_and_differ(one: u64, other: u64) {
            let tag = VehicleTag::nth(one);
            prop_assert_eq!(tag.as_str().to_lowercase().parse(), Ok(tag.clone()));
            prop_assert_eq!(one == other, tag == VehicleTag::nth(other));
        }
    }
}
