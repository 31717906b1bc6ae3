//! File names in the store and in addresses.

use std::fmt;
use std::str::FromStr;

use forecourt_kernel::Random;
use serde::{Deserialize, Serialize};

use crate::FileKind;

/// Number of random bytes in a name, enough that it cannot be guessed.
const RANDOM_BYTES: usize = 16;
/// Length of the key, the first part of a name: the random bytes in hexadecimal.
const KEY_CHARACTERS: usize = 2 * RANDOM_BYTES;
/// Maximum length of a name.
const MAX_CHARACTERS: usize = 64;

/// The name of a stored file, which is also the last part of its public address (decisions §7: "unguessable names"). It is a
/// random key and the extension of its kind, as in `0f…9a.jpg`; a smaller copy of a picture has its width between them, as in
/// `0f…9a-320.webp`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

/// The error for a text that is not the name of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no file has such a name")]
pub struct NotAFileName;

impl FileName {
    /// Draws a name that no other file has.
    pub fn random(random: &dyn Random, kind: FileKind) -> Self {
        let mut bytes = [0; RANDOM_BYTES];
        random.fill(&mut bytes);
        let key: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{key}.{}", kind.extension()))
    }

    /// Returns the name of the copy of this picture that is `width` pixels wide.
    pub fn thumbnail(&self, width: u32, kind: FileKind) -> Self {
        Self(format!("{}-{width}.{}", self.key(), kind.extension()))
    }

    /// Returns the key, which all copies of one picture share.
    pub fn key(&self) -> &str {
        self.0.get(..KEY_CHARACTERS).unwrap_or(&self.0)
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FileName {
    type Err = NotAFileName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_hexadecimal = |character: u8| matches!(character, b'0'..=b'9' | b'a'..=b'f');
        let (name, extension) = text.rsplit_once('.').ok_or(NotAFileName)?;
        let key = name.get(..KEY_CHARACTERS).ok_or(NotAFileName)?;
        let width = &name[KEY_CHARACTERS..];
        let is_name = text.len() <= MAX_CHARACTERS
            && key.bytes().all(is_hexadecimal)
            && (width.is_empty() || is_width(width))
            && FileKind::ALL.iter().any(|kind| kind.extension() == extension);
        if is_name {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotAFileName)
        }
    }
}

/// Returns `true` for a hyphen followed by a number.
fn is_width(text: &str) -> bool {
    text.strip_prefix('-')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

impl TryFrom<String> for FileName {
    type Error = NotAFileName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting;

    impl Random for Counting {
        fn fill(&self, buffer: &mut [u8]) {
            for (value, byte) in (0xa0_u8..).zip(buffer) {
                *byte = value;
            }
        }
    }

    #[test]
    fn names_are_random_and_have_the_extension_of_their_kind() {
        let name = FileName::random(&Counting, FileKind::Jpeg);
        assert_eq!(name.as_str(), "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf.jpg");
        let small = name.thumbnail(320, FileKind::Webp);
        assert_eq!(small.as_str(), "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf-320.webp");
        assert_eq!(small.key(), name.key());
        for name in [name, small] {
            assert_eq!(name.as_str().parse(), Ok(name));
        }
    }

    #[test]
    fn nothing_else_is_a_name() {
        let key = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf";
        for text in [
            String::new(),
            key.to_owned(),
            format!("{key}.exe"),
            format!("{key}-.jpg"),
            format!("{key}-3x.jpg"),
            format!("{key}/.jpg"),
            format!("../{key}.jpg"),
            format!("{key}-{}.jpg", "1".repeat(64)),
            key.to_uppercase() + ".jpg",
            "é".repeat(16) + ".jpg",
            "a.jpg".to_owned(),
        ] {
            assert_eq!(text.parse::<FileName>(), Err(NotAFileName), "{text}");
        }
    }
}
