//! Encryption of data that must not be read from a stolen database.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use forecourt_kernel::{BoxError, Random, StoreError, StoreResult};
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

const NONCE_BYTES: usize = 24;
/// The purpose that the key of digests is derived for.
const DIGEST_KEY: &[u8] = b"forecourt digests of personal values";

/// The purpose that the identifier of a key is computed for.
const KEY_ID: &[u8] = b"forecourt secret key";
/// The place that the key of digests is encrypted for.
const DIGEST_PLACE: &[u8] = b"digest-key";
const PROOF: &[u8] = b"forecourt";

fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "an HMAC takes keys of any length")]
    <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(key).expect("a key of any length")
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

    /// Returns 16 hexadecimal digits by which the key is recognised, and from which it cannot be computed.
    #[must_use]
    pub fn id(&self) -> String {
        let digest = Sha256::new().chain_update(KEY_ID).chain_update(self.0).finalize();
        hex(&digest[..8])
    }

    /// The key of the digests of a database that has only been used with this key. It is one of its own: uses of the one reveal
    /// nothing about the other.
    fn digest_key(&self) -> [u8; 32] {
        keyed(&self.0).chain_update(DIGEST_KEY).finalize().into_bytes().into()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretKey(…)")
    }
}

/// A key that encrypts: XChaCha20-Poly1305 under a random nonce, which stands in front.
struct Cipher {
    key: SecretKey,
    cipher: XChaCha20Poly1305,
}

impl Cipher {
    fn new(key: SecretKey) -> Self {
        Self {
            cipher: XChaCha20Poly1305::new(&key.0.into()),
            key,
        }
    }

    fn seal(&self, plain: &[u8], context: &[u8], random: &dyn Random) -> StoreResult<Vec<u8>> {
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

    fn open(&self, sealed: &[u8], context: &[u8]) -> StoreResult<Vec<u8>> {
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

    /// Makes a text that [`Cipher::proves`] recognises with the same key.
    fn proof(&self, random: &dyn Random) -> StoreResult<String> {
        Ok(hex(&self.seal(PROOF, PROOF, random)?))
    }

    /// Returns `true` if a cipher with the same key made `proof`.
    fn proves(&self, proof: &str) -> bool {
        unhex(proof).is_some_and(|sealed| self.open(&sealed, PROOF).is_ok())
    }
}

/// The keys of a server. Clones share them.
///
/// Normally there is one. While a database is brought from one key to another there are two: everything that either has encrypted
/// can be read. The database says which of them encrypts, so that no server that lacks the new one meets its work too early.
#[derive(Clone)]
pub struct Keyring(Arc<Keys>);

struct Keys {
    current: Cipher,
    previous: Option<Cipher>,
    /// The database is still used with the previous key.
    uses_previous: AtomicBool,
    digests: Hmac<Sha256>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Keyring(…)")
    }
}

impl From<SecretKey> for Keyring {
    /// Makes the keys for a database that has only been used with this one.
    fn from(key: SecretKey) -> Self {
        let digests = keyed(&key.digest_key());
        Self::new(key, None, false, digests)
    }
}

/// The parts of [`Keyring`] that a database stores.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredKeys {
    /// Proves the key that the database is used with.
    pub(crate) proof: Option<String>,
    /// The key of digests, encrypted, if it is not that of the secret key.
    pub(crate) digest_key: Option<String>,
    /// The key from which the database is being brought to another, by its id.
    pub(crate) rotating_from: Option<String>,
}

/// The result of trying keys on a database.
#[derive(Debug)]
pub enum Unlocked {
    /// They are its keys.
    Keys(Keyring),
    /// The database was used with another key.
    WrongKey,
    /// A change of keys is not finished, and needs the key before too, which is missing.
    NeedsPrevious,
}

impl Keyring {
    fn new(current: SecretKey, previous: Option<SecretKey>, uses_previous: bool, digests: Hmac<Sha256>) -> Self {
        Self(Arc::new(Keys {
            current: Cipher::new(current),
            previous: previous.map(Cipher::new),
            uses_previous: AtomicBool::new(uses_previous),
            digests,
        }))
    }

    /// Tries keys on what a database stores, which has a proof.
    pub(crate) fn unlock(
        current: SecretKey,
        previous: Option<SecretKey>,
        stored: &StoredKeys,
    ) -> StoreResult<Unlocked> {
        let proves = |key: &SecretKey| {
            let proof = stored.proof.as_deref();
            proof.is_some_and(|proof| Cipher::new(key.clone()).proves(proof))
        };
        let uses_previous = !proves(&current);
        let used = if uses_previous {
            previous.as_ref()
        } else {
            Some(&current)
        };
        let Some(used) = used.filter(|key| proves(key)) else {
            return Ok(Unlocked::WrongKey);
        };
        let needed = stored.rotating_from.as_ref();
        if needed.is_some_and(|needed| previous.as_ref().is_none_or(|key| key.id() != *needed)) {
            return Ok(Unlocked::NeedsPrevious);
        }
        let digest_key = match &stored.digest_key {
            None => used.digest_key(),
            Some(sealed) => {
                let sealed = unhex(sealed).ok_or_else(|| failed("is damaged"))?;
                let opened = Cipher::new(used.clone()).open(&sealed, DIGEST_PLACE)?;
                opened.try_into().map_err(|_| failed("has another length"))?
            }
        };
        let digests = keyed(&digest_key);
        let keyring = Self::new(current, previous, uses_previous, digests);
        Ok(Unlocked::Keys(keyring))
    }

    /// Returns `true` if there are two.
    #[must_use]
    pub fn has_previous(&self) -> bool {
        self.0.previous.is_some()
    }

    /// Returns the identifiers of the keys, the one of the setting first.
    #[must_use]
    pub fn key_ids(&self) -> Vec<String> {
        let Keys { current, previous, .. } = &*self.0;
        [Some(current), previous.as_ref()]
            .into_iter()
            .flatten()
            .map(|cipher| cipher.key.id())
            .collect()
    }

    /// Returns the bytes of the key that the database is used with.
    #[must_use]
    pub fn used_key(&self) -> [u8; 32] {
        self.sealing().key.0
    }

    /// Learns which key the database is used with.
    pub(crate) fn note_proof(&self, proof: &str) {
        let keys = &*self.0;
        let is_previous = |previous: &Cipher| previous.proves(proof);
        if keys.previous.is_some() && keys.current.proves(proof) {
            keys.uses_previous.store(false, Ordering::Release);
        } else if keys.previous.as_ref().is_some_and(is_previous) {
            keys.uses_previous.store(true, Ordering::Release);
        }
    }

    /// The key that encrypts.
    fn sealing(&self) -> &Cipher {
        let Keys {
            current,
            previous,
            uses_previous,
            ..
        } = &*self.0;
        match previous {
            Some(previous) if uses_previous.load(Ordering::Acquire) => previous,
            _ => current,
        }
    }

    /// Computes a digest of a personal value, which cannot be computed or guessed without the secret key. `purpose` names its
    /// use: digests for two purposes have nothing in common.
    pub(crate) fn digest(&self, purpose: &str, value: &[u8]) -> [u8; 32] {
        let mut digest = self.0.digests.clone();
        digest.update(purpose.as_bytes());
        digest.update(&[0]);
        digest.update(value);
        digest.finalize().into_bytes().into()
    }

    /// Encrypts `plain` for one place, which `context` names. Moved to another place it cannot be opened.
    pub(crate) fn seal(&self, plain: &[u8], context: &[u8], random: &dyn Random) -> StoreResult<Vec<u8>> {
        self.sealing().seal(plain, context, random)
    }

    /// Decrypts the output of [`Keyring::seal`] for the same place, whichever of the keys made it.
    pub(crate) fn open(&self, sealed: &[u8], context: &[u8]) -> StoreResult<Vec<u8>> {
        let Keys { current, previous, .. } = &*self.0;
        match (current.open(sealed, context), previous) {
            (Err(_), Some(previous)) => previous.open(sealed, context),
            (opened, _) => opened,
        }
    }

    /// Encrypts with the current key what was encrypted with the previous one; `None` if it is the current key's already.
    ///
    /// # Errors
    /// It is of neither.
    pub(crate) fn reseal(&self, sealed: &[u8], context: &[u8], random: &dyn Random) -> StoreResult<Option<Vec<u8>>> {
        let current = &self.0.current;
        if current.open(sealed, context).is_ok() {
            return Ok(None);
        }
        let plain = self.open(sealed, context)?;
        current.seal(&plain, context, random).map(Some)
    }

    /// Makes a text by which the current key is recognised.
    pub(crate) fn proof(&self, random: &dyn Random) -> StoreResult<String> {
        self.0.current.proof(random)
    }

    /// Returns `true` if the current key made `proof`.
    pub(crate) fn proves(&self, proof: &str) -> bool {
        self.0.current.proves(proof)
    }

    /// Returns the id of the previous key, if there is one.
    pub(crate) fn previous_id(&self) -> Option<String> {
        self.0.previous.as_ref().map(|previous| previous.key.id())
    }

    /// Encrypts the key of digests with the current key. Values that are stored as digests alone could not be digested anew.
    pub(crate) fn sealed_digest_key(&self, stored: &StoredKeys, random: &dyn Random) -> StoreResult<String> {
        let Keys { current, previous, .. } = &*self.0;
        let digest_key = match (&stored.digest_key, previous) {
            (Some(sealed), _) => {
                let sealed = unhex(sealed).ok_or_else(|| failed("is damaged"))?;
                self.open(&sealed, DIGEST_PLACE)?
            }
            (None, Some(previous)) => previous.key.digest_key().to_vec(),
            (None, None) => current.key.digest_key().to_vec(),
        };
        Ok(hex(&current.seal(&digest_key, DIGEST_PLACE, random)?))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| {
        str::from_utf8(pair)
            .ok()
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    bytes.filter(|_| rest.is_empty())
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

    fn key(byte: u8) -> SecretKey {
        SecretKey::from_bytes([byte; 32])
    }

    fn keyring(byte: u8) -> Keyring {
        Keyring::from(key(byte))
    }

    fn unlocked(current: u8, previous: Option<u8>, stored: &StoredKeys) -> Keyring {
        match Keyring::unlock(key(current), previous.map(key), stored).unwrap() {
            Unlocked::Keys(keyring) => keyring,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_key_is_known_again_by_its_proof() {
        let keys = keyring(1);
        let proof = keys.proof(&Sevens).unwrap();
        assert!(keys.proves(&proof) && !keys.proves(&proof[1..]) && !keys.proves("é"));
        assert!(!keyring(2).proves(&proof));
        assert_eq!(key(1).id(), key(1).id());
        assert_ne!(key(1).id(), key(2).id());
        assert_eq!(key(1).id().len(), 16);
    }

    #[test]
    fn a_digest_needs_the_key() {
        let digest = keyring(1).digest("block", b"+447700900471");
        assert_eq!(digest, keyring(1).digest("block", b"+447700900471"));
        for other in [
            keyring(2).digest("block", b"+447700900471"),
            keyring(1).digest("mail", b"+447700900471"),
            keyring(1).digest("block", b"+447700900472"),
        ] {
            assert_ne!(digest, other);
        }
    }

    #[test]
    fn a_secret_opens_in_its_place_only() {
        let keys = keyring(1);
        let sealed = keys.seal(b"whsec_1", b"here", &Sevens).unwrap();
        assert!(!sealed.windows(7).any(|bytes| bytes == b"whsec_1"));
        assert_eq!(keys.open(&sealed, b"here").unwrap(), b"whsec_1");
        assert!(keys.open(&sealed, b"there").is_err());
        assert!(keys.open(&sealed[..10], b"here").is_err());
        assert!(keyring(2).open(&sealed, b"here").is_err());
    }

    #[test]
    fn two_keys_read_both_and_write_with_the_one_that_the_database_is_used_with() {
        let old = keyring(1);
        let stored = StoredKeys {
            proof: Some(old.proof(&Sevens).unwrap()),
            ..StoredKeys::default()
        };
        let both = unlocked(2, Some(1), &stored);
        let sealed = both.seal(b"x", b"here", &Sevens).unwrap();
        assert_eq!(old.open(&sealed, b"here").unwrap(), b"x");
        assert_eq!(both.digest("block", b"x"), old.digest("block", b"x"));
        assert!(matches!(Keyring::unlock(key(2), None, &stored), Ok(Unlocked::WrongKey)));
        assert!(matches!(
            Keyring::unlock(key(2), Some(key(3)), &stored),
            Ok(Unlocked::WrongKey)
        ));

        // The change begins.
        let resealed = both.reseal(&sealed, b"here", &Sevens).unwrap().unwrap();
        let begun = StoredKeys {
            proof: Some(both.proof(&Sevens).unwrap()),
            digest_key: Some(both.sealed_digest_key(&stored, &Sevens).unwrap()),
            rotating_from: both.previous_id(),
        };
        both.note_proof(begun.proof.as_deref().unwrap());
        assert!(old.open(&both.seal(b"x", b"here", &Sevens).unwrap(), b"here").is_err());
        assert!(both.reseal(&resealed, b"here", &Sevens).unwrap().is_none());
        assert!(matches!(
            Keyring::unlock(key(2), None, &begun),
            Ok(Unlocked::NeedsPrevious)
        ));
        assert_eq!(
            unlocked(2, Some(1), &begun).digest("block", b"x"),
            old.digest("block", b"x")
        );

        // The change is done, and another follows.
        let done = StoredKeys {
            rotating_from: None,
            ..begun
        };
        let new = unlocked(2, None, &done);
        assert_eq!(new.open(&resealed, b"here").unwrap(), b"x");
        assert_eq!(new.digest("block", b"x"), old.digest("block", b"x"));
        let next = unlocked(3, Some(2), &done);
        let next = StoredKeys {
            proof: Some(next.proof(&Sevens).unwrap()),
            digest_key: Some(next.sealed_digest_key(&done, &Sevens).unwrap()),
            rotating_from: None,
        };
        assert_eq!(
            unlocked(3, None, &next).digest("block", b"x"),
            old.digest("block", b"x")
        );
    }
}
