//! Registration marks.

use std::{fmt, str::FromStr};

use forecourt_kernel::{InvalidText, Line, bounds::MAX_LINE_CHARS};
use serde::{Deserialize, Serialize};

/// A vehicle's registration mark, in capitals. Marks of British shapes are written with the usual space. Any other mark, such as
/// a foreign one or a trade plate, keeps the spaces and hyphens that it was sent with.
///
/// A mark leads to the keeper of the vehicle, so it must not be logged.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Registration {
    /// The written form.
    text: String,
    /// The form for comparison.
    key: String,
}

impl Registration {
    /// Maximum length of a mark, without spaces.
    pub const MAX_CHARS: usize = 20;

    /// Returns the form for searching and comparing: capitals without spaces and hyphens.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the mark with the space of a British one, or `None` if it has another shape. A mark of British shape need not have
/// been issued.
fn british(words: &[String]) -> Option<String> {
    let mark = words.concat();
    if !mark.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let mut runs = mark
        .as_bytes()
        .chunk_by(|left, right| left.is_ascii_digit() == right.is_ascii_digit());
    let letters_first = mark.starts_with(|character: char| character.is_ascii_alphabetic());
    let northern_irish = || mark.contains(['I', 'Z']);
    let lengths = [(); 4].map(|()| runs.next().map_or(0, <[u8]>::len));
    let at = match (letters_first, lengths) {
        // Since 2001: AB12 CDE.
        (true, [2, 2, 3, 0]) => 4,
        // Prefix, from 1983: A123 BCD.
        (true, [1, digits @ 1..=3, 3, 0]) => 1 + digits,
        // Suffix, from 1963: ABC 123D.
        (true, [3, 1..=3, 1, 0]) => 3,
        // Dateless, in either order: AB 1234, 1234 AB. Only Northern Ireland has seven characters: AIZ 1234.
        (true, [letters @ 1..=3, digits @ 1..=4, 0, 0]) if letters + digits <= 6 || northern_irish() => letters,
        (false, [digits @ 1..=4, letters @ 1..=3, 0, 0]) if letters + digits <= 6 => digits,
        _ => return None,
    };
    let (first, second) = mark.split_at_checked(at)?;
    // Foreign marks (B AB 123) have the same letters and digits as dateless ones, but more words.
    let dateless = lengths[2] == 0;
    if dateless && words.len() > 2 {
        return None;
    }
    Some(format!("{first} {second}"))
}

/// Reads a mark with any spacing, in either case.
impl FromStr for Registration {
    type Err = InvalidRegistration;

    fn from_str(text: &str) -> Result<Self, InvalidRegistration> {
        if Line::check(text) == Err(InvalidText::TooLong(MAX_LINE_CHARS)) {
            return Err(InvalidRegistration::TooLong);
        }
        let text = text.trim();
        if text.contains(char::is_control) {
            return Err(InvalidRegistration::ControlCharacter);
        }
        let words: Vec<String> = text.split_whitespace().map(str::to_uppercase).collect();
        let key = words.concat().replace('-', "");
        if key.is_empty() {
            return Err(InvalidRegistration::Empty);
        }
        if words.iter().map(|word| word.chars().count()).sum::<usize>() > Self::MAX_CHARS {
            return Err(InvalidRegistration::TooLong);
        }
        let text = british(&words).unwrap_or_else(|| words.join(" "));
        Ok(Self { text, key })
    }
}

impl TryFrom<String> for Registration {
    type Error = InvalidRegistration;

    fn try_from(text: String) -> Result<Self, InvalidRegistration> {
        text.parse()
    }
}

impl From<Registration> for String {
    fn from(registration: Registration) -> Self {
        registration.text
    }
}

/// The reasons why a text is not a registration mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidRegistration {
    /// It has only spaces and hyphens.
    #[error("must not be empty")]
    Empty,
    /// It has more than [`Registration::MAX_CHARS`] characters.
    #[error("must have at most {} characters", Registration::MAX_CHARS)]
    TooLong,
    /// It has a line break or another control character.
    #[error("must not have control characters")]
    ControlCharacter,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<Registration>().unwrap().to_string()
    }

    #[test]
    fn british_marks_are_spaced_as_usual() {
        let spaced = [
            "AB12 CDE", "A1 BCD", "A12 BCD", "A123 BCD", "Q123 ABC", "ABC 1D", "ABC 123D", "1234 AB", "AB 1234",
            "123 ABC", "ABC 123", "A 1", "1 A", "1234 A", "A 1234", "AIZ 1234", "ZIG 1", "IA 1234", "XZA 1234",
        ];
        for spaced in spaced {
            assert_eq!(shown(&spaced.replace(' ', "").to_lowercase()), spaced);
            assert_eq!(shown(spaced), spaced);
        }
    }

    #[test]
    fn other_marks_keep_their_spaces_and_hyphens() {
        for other in [
            "ABC1234",
            "1234ABC",
            "AB12CD",
            "AB123CDE",
            "ABCD12",
            "12345",
            "ABCDEFG",
            "B-AB123",
            "W12345X",
            "Ä12BCD",
            "A1B2C3",
            "AB12CDE1",
            "1234AIZ",
            "B-AB 123",
            "B AB 123",
            "AB-123-CD",
            "12-ABC-3",
            "12 D 34567",
            "AB-12 CDE",
        ] {
            assert_eq!(shown(other), other);
        }
        assert_eq!(shown(" 12  d\u{a0}34567 "), "12 D 34567");
    }

    #[test]
    fn marks_compare_without_spaces_and_hyphens() {
        let key = |text: &str| text.parse::<Registration>().unwrap().key().to_owned();
        for text in ["W-AB 123", "w ab123", "WAB123", "WAB-123"] {
            assert_eq!(key(text), "WAB123", "{text}");
        }
    }

    #[test]
    fn the_key_ignores_spaces_and_case() {
        for text in [" ab12cde ", "AB12 CDE", "a b 1 2 c d e", "\u{a0}aB12\u{3000}CdE\n"] {
            let registration: Registration = text.parse().unwrap();
            assert_eq!(registration.key(), "AB12CDE");
            assert_eq!(serde_json::to_string(&registration).unwrap(), r#""AB12 CDE""#);
        }
        let stored: Registration = serde_json::from_str(r#""ab12cde""#).unwrap();
        assert_eq!(stored.key(), "AB12CDE");
    }

    #[test]
    fn what_is_no_mark_is_refused_with_the_reason() {
        let read = |text: &str| text.parse::<Registration>();
        for nothing in [" \t", "-", " - - "] {
            assert_eq!(read(nothing), Err(InvalidRegistration::Empty), "{nothing:?}");
        }
        assert_eq!(read("AB\0CD"), Err(InvalidRegistration::ControlCharacter));
        assert_eq!(read("AB\nCD"), Err(InvalidRegistration::ControlCharacter));
        assert!(read("12345 67890 12345 67890").is_ok());
        assert_eq!(read("123456789012345678901"), Err(InvalidRegistration::TooLong));
        assert_eq!(
            InvalidRegistration::TooLong.to_string(),
            "must have at most 20 characters"
        );
        assert!(serde_json::from_str::<Registration>(r#""""#).is_err());
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back_as_the_same_mark(
            text in prop_oneof![any::<String>(), "[A-Za-z]{0,3}[ -]?[0-9]{0,4}[ -]?[a-zA-Z]{0,3}", "\\PC{1,8}"],
        ) {
            if let Ok(registration) = text.parse::<Registration>() {
                prop_assert_eq!(registration.to_string().parse(), Ok(registration.clone()));
                let again: Registration = registration.key().parse().unwrap();
                prop_assert_eq!(again.key(), registration.key());
                prop_assert!(!registration.key().contains(|one: char| one.is_whitespace() || one == '-'));
            }
        }
    }
}
