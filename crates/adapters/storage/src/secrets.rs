//! Encryption of what must not be read from a stolen database.

use std::fmt;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use forecourt_kernel::{BoxError, Random, StoreError, StoreResult};

const NONCE_BYTES: usize = 24;

/// Encrypts with the server's secret key: XChaCha20-Poly1305 under a random nonce, which stands in front.
pub(crate) struct SecretCipher(XChaCha20Poly1305);

/// The secret key of a server, 32 bytes.
#[derive(Clone)]
pub struct SecretKey([u8; 32]);

impl SecretKey {
    /// Takes the bytes that the setting holds.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretKey(…)")
    }
}

impl SecretCipher {
    pub(crate) fn new(key: &SecretKey) -> Self {
        Self(XChaCha20Poly1305::new(&key.0.into()))
    }

    /// Encrypts `plain` for one place, which `context` names: moved to another place it cannot be opened.
    pub(crate) fn seal(&self, plain: &[u8], context: &[u8], random: &dyn Random) -> StoreResult<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        random.fill(&mut nonce);
        let payload = Payload {
            msg: plain,
            aad: context,
        };
        let sealed = self
            .0
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| failed("cannot be encrypted"))?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// Decrypts what [`SecretCipher::seal`] made for the same place.
    pub(crate) fn open(&self, sealed: &[u8], context: &[u8]) -> StoreResult<Vec<u8>> {
        let (nonce, sealed) = sealed
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or_else(|| failed("is cut short"))?;
        let payload = Payload {
            msg: sealed,
            aad: context,
        };
        self.0
            .decrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| failed("was encrypted with another secret key"))
    }
}

const PROOF: &[u8] = b"forecourt";

impl SecretCipher {
    /// Text that [`SecretCipher::proves`] recognises with the same key.
    pub(crate) fn proof(&self, random: &dyn Random) -> StoreResult<String> {
        let sealed = self.seal(PROOF, PROOF, random)?;
        Ok(sealed.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether a cipher with the same key made `proof`.
    pub(crate) fn proves(&self, proof: &str) -> bool {
        let (pairs, rest) = proof.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| {
            str::from_utf8(pair)
                .ok()
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        };
        let sealed: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        rest.is_empty() && sealed.is_some_and(|sealed| self.open(&sealed, PROOF).is_ok())
    }
}

fn failed(what: &str) -> StoreError {
    StoreError::Other(BoxError::from(format!("a stored secret {what}")))
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
    fn a_key_is_known_again_by_its_proof() {
        let cipher = SecretCipher::new(&SecretKey::from_bytes([1; 32]));
        let proof = cipher.proof(&Sevens).unwrap();
        assert!(cipher.proves(&proof) && !cipher.proves(&proof[1..]) && !cipher.proves("é"));
        assert!(!SecretCipher::new(&SecretKey::from_bytes([2; 32])).proves(&proof));
    }

    #[test]
    fn a_secret_opens_in_its_place_only() {
        let cipher = SecretCipher::new(&SecretKey::from_bytes([1; 32]));
        let sealed = cipher.seal(b"whsec_1", b"here", &Sevens).unwrap();
        assert!(!sealed.windows(7).any(|bytes| bytes == b"whsec_1"));
        assert_eq!(cipher.open(&sealed, b"here").unwrap(), b"whsec_1");
        assert!(cipher.open(&sealed, b"there").is_err());
        assert!(cipher.open(&sealed[..10], b"here").is_err());
        assert!(
            SecretCipher::new(&SecretKey::from_bytes([2; 32]))
                .open(&sealed, b"here")
                .is_err()
        );
    }
}
