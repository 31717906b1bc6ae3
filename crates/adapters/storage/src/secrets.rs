//! Encryption of data that must not be read from a stolen database.

use std::fmt;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use forecourt_kernel::{BoxError, Random, StoreError, StoreResult};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

const NONCE_BYTES: usize = 24;
/// The purpose that the key of digests is derived for.
const DIGEST_KEY: &[u8] = b"forecourt digests of personal values";

fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "an HMAC takes keys of any length")]
    <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(key).expect("a key of any length")
}

/// Encrypts with the server's secret key: XChaCha20-Poly1305 under a random nonce, which stands in front.
pub(crate) struct SecretCipher {
    cipher: XChaCha20Poly1305,
    digests: Hmac<Sha256>,
}

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
        // A key of its own: uses of the one reveal nothing about the other.
        let derived = keyed(&key.0).chain_update(DIGEST_KEY).finalize().into_bytes();
        Self {
            cipher: XChaCha20Poly1305::new(&key.0.into()),
            digests: keyed(&derived.into()),
        }
    }

    /// Computes a digest of a personal value, which cannot be computed or guessed without the secret key. `purpose` names its
    /// use: digests for two purposes have nothing in common.
    pub(crate) fn digest(&self, purpose: &str, value: &[u8]) -> [u8; 32] {
        let mut digest = self.digests.clone();
        digest.update(purpose.as_bytes());
        digest.update(&[0]);
        digest.update(value);
        digest.finalize().into_bytes().into()
    }

    /// Encrypts `plain` for one place, which `context` names. Moved to another place it cannot be opened.
    pub(crate) fn seal(&self, plain: &[u8], context: &[u8], random: &dyn Random) -> StoreResult<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        random.fill(&mut nonce);
        let payload = Payload {
            msg: plain,
            aad: context,
        };
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| failed("cannot be encrypted"))?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// Decrypts the output of [`SecretCipher::seal`] for the same place.
    pub(crate) fn open(&self, sealed: &[u8], context: &[u8]) -> StoreResult<Vec<u8>> {
        let (nonce, sealed) = sealed
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or_else(|| failed("is cut short"))?;
        let payload = Payload {
            msg: sealed,
            aad: context,
        };
        self.cipher
            .decrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| failed("was encrypted with another secret key"))
    }
}

const PROOF: &[u8] = b"forecourt";

impl SecretCipher {
    /// Makes a text that [`SecretCipher::proves`] recognises with the same key.
    pub(crate) fn proof(&self, random: &dyn Random) -> StoreResult<String> {
        let sealed = self.seal(PROOF, PROOF, random)?;
        Ok(sealed.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns `true` if a cipher with the same key made `proof`.
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
    fn a_digest_needs_the_key() {
        let cipher = |byte| SecretCipher::new(&SecretKey::from_bytes([byte; 32]));
        let digest = cipher(1).digest("block", b"+447700900471");
        assert_eq!(digest, cipher(1).digest("block", b"+447700900471"));
        for other in [
            cipher(2).digest("block", b"+447700900471"),
            cipher(1).digest("mail", b"+447700900471"),
            cipher(1).digest("block", b"+447700900472"),
        ] {
            assert_ne!(digest, other);
        }
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
