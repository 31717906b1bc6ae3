//! What deliveries are signed with.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use forecourt_kernel::Random;

const PREFIX: &str = "whsec_";
const BYTES: usize = 32;
const HINT_CHARS: usize = 4;

/// A subscription's signing secret: `whsec_` and 32 random bytes in base64url (decisions §9). The whole text is the key.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new secret.
    pub fn generate(random: &dyn Random) -> Self {
        let mut bytes = [0; BYTES];
        random.fill(&mut bytes);
        Self(format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// A secret as storage kept it.
    pub const fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The text itself, to sign with or to show to the caller that just made it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The last four characters, by which people distinguish secrets.
    pub fn hint(&self) -> &str {
        let start = self.0.char_indices().rev().nth(HINT_CHARS - 1);
        start.map_or(&self.0, |(at, _)| &self.0[at..])
    }
}

/// Shows the hint alone.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret(…{})", self.hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sevens;

    impl Random for Sevens {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(7);
        }
    }

    #[test]
    fn a_secret_is_not_shown_by_accident() {
        let secret = Secret::generate(&Sevens);
        assert_eq!(secret.reveal(), "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc");
        assert_eq!(format!("{secret:?}"), "Secret(…Bwc)".replace("Bwc", secret.hint()));
        assert_eq!(secret.hint().len(), 4);
    }

    #[test]
    fn a_short_text_is_its_own_hint() {
        assert_eq!(Secret::from_stored("é".into()).hint(), "é");
    }
}
