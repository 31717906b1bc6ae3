//! Secrets that sign deliveries.

use std::fmt;

use forecourt_kernel::Random;

const PREFIX: &str = "whsec_";
/// The characters of base64 without `+` and `/`, so that every variant of base64 decodes a secret alike.
const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// The number of characters that stand for 33 bytes.
const CHARS: usize = 44;
const HINT_CHARS: usize = 4;

/// A subscription's signing secret: `whsec_` and 33 random bytes in base64 (decisions §9). The whole text is the key.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Generates a new secret.
    pub fn generate(random: &dyn Random) -> Self {
        let mut secret = PREFIX.to_owned();
        let mut bytes = [0; CHARS];
        while secret.len() < PREFIX.len() + CHARS {
            random.fill(&mut bytes);
            // A character takes six bits. Two of the 64 values have no character and are drawn again.
            let characters = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte & 0x3f)));
            let missing = PREFIX.len() + CHARS - secret.len();
            secret.extend(characters.take(missing).map(|character| char::from(*character)));
        }
        Self(secret)
    }

    /// Wraps a secret that was read from storage.
    pub const fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The text, for signing or for the caller that just created it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The last four characters, by which people recognise a secret.
    pub fn hint(&self) -> &str {
        let start = self.0.char_indices().rev().nth(HINT_CHARS - 1);
        start.map_or(&self.0, |(at, _)| &self.0[at..])
    }
}

/// Shows only the hint.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret(…{})", self.hint())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use base64::{
        Engine as _,
        prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
    };

    use super::*;

    struct Counting(AtomicU8);

    impl Random for Counting {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill_with(|| self.0.fetch_add(1, Ordering::Relaxed));
        }
    }

    #[test]
    fn a_secret_is_not_shown_by_accident() {
        let secret = Secret::generate(&Counting(AtomicU8::new(40)));
        assert_eq!(secret.reveal(), "whsec_opqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUV");
        assert_eq!(format!("{secret:?}"), "Secret(…STUV)");
    }

    #[test]
    fn a_secret_is_33_bytes_in_every_flavour_of_base64() {
        let random = Counting(AtomicU8::new(0));
        for _ in 0..50 {
            let secret = Secret::generate(&random);
            let text = secret.reveal().strip_prefix("whsec_").unwrap();
            for decoded in [BASE64_STANDARD.decode(text), BASE64_URL_SAFE_NO_PAD.decode(text)] {
                assert_eq!(decoded.unwrap().len(), 33);
            }
        }
    }

    #[test]
    fn a_short_text_is_its_own_hint() {
        assert_eq!(Secret::from_stored("é".into()).hint(), "é");
    }
}
