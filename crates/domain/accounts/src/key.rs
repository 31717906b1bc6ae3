//! API keys and their tokens (decisions §4).

use std::{fmt, net::IpAddr, str::FromStr};

use forecourt_kernel::{BusinessId, Random, ScopeSet, Timestamp};
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const PREFIX: &str = "fck_";
const KEY_ID_CHARS: usize = 16;
const KEY_ID_ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_BYTES: usize = 32;
/// The length of 32 bytes in base 62.
const SECRET_CHARS: usize = 43;
/// The length of 32 bits in base 62.
const CHECKSUM_CHARS: usize = 6;

/// The public name of a key: `fck_` and 16 characters of a–z and 0–9.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct KeyId(String);

impl KeyId {
    /// The id of callers without an issued key: `fck_internal00000000`.
    pub(crate) fn internal() -> Self {
        Self(format!("{PREFIX}internal00000000"))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for KeyId {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let rest = text.strip_prefix(PREFIX).ok_or(InvalidToken)?;
        if rest.len() == KEY_ID_CHARS && rest.bytes().all(|byte| KEY_ID_ALPHABET.contains(&byte)) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidToken)
        }
    }
}

/// The token that a caller presents: `<key_id>.<secret>`. The secret's checksum has been verified, but not that the key exists.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    key_id: KeyId,
    secret: String,
}

impl Token {
    /// The id of its key.
    pub const fn key_id(&self) -> &KeyId {
        &self.key_id
    }

    /// The digest that is stored instead of the secret.
    pub fn secret_hash(&self) -> SecretHash {
        SecretHash(Sha256::digest(self.secret.as_bytes()).into())
    }

    /// The whole token. It is shown to its owner once, and never logged.
    pub fn reveal(&self) -> String {
        format!("{}.{}", self.key_id, self.secret)
    }
}

/// Shows nothing of the secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

impl FromStr for Token {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let (key_id, secret) = text.split_once('.').ok_or(InvalidToken)?;
        let key_id = key_id.parse()?;
        if secret.len() != SECRET_CHARS + CHECKSUM_CHARS || !secret.is_ascii() {
            return Err(InvalidToken);
        }
        let (body, checksum) = secret.split_at(SECRET_CHARS);
        if checksum != checksum_of(body) {
            return Err(InvalidToken);
        }
        Ok(Self {
            key_id,
            secret: secret.to_owned(),
        })
    }
}

/// The text is not a token: its form or its checksum is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the token is malformed")]
pub struct InvalidToken;

/// The SHA-256 of a secret.
#[derive(Clone, Copy)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// Wraps a digest that was read from storage.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest, for storage.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns `true` if both are the same. The time does not depend on the position of the first difference.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(…)")
    }
}

/// A stored key.
#[derive(Clone, Debug)]
pub struct ApiKey {
    /// Its public name.
    pub id: KeyId,
    /// The digest of its secret.
    pub secret_hash: SecretHash,
    /// The business whose data it may access; `None` for none.
    pub business: Option<BusinessId>,
    /// Its permissions.
    pub scopes: ScopeSet,
    /// The addresses that it may be used from; if empty, any address.
    pub from: Vec<IpNet>,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time from which it is refused; `None` for never.
    pub expires: Option<Timestamp>,
    /// The time of its revocation.
    pub revoked: Option<Timestamp>,
    /// The hour of its last use that has been stored so far.
    pub last_used: Option<Timestamp>,
}

impl ApiKey {
    /// Returns `true` if the key may be used from `address`; `None` if the address is unknown.
    pub fn may_be_used_from(&self, address: Option<IpAddr>) -> bool {
        let listed = |address| self.from.iter().any(|network| network.contains(&address));
        self.from.is_empty() || address.is_some_and(listed)
    }

    /// Makes the key's successor: a new key with the same business, scopes, addresses and expiry.
    pub fn successor(&self, now: Timestamp, random: &dyn Random) -> IssuedKey {
        issue_key(self.business, self.scopes, self.from.clone(), self.expires, now, random)
    }
}

/// A newly made key with its token, which is available only now.
#[derive(Debug)]
pub struct IssuedKey {
    /// The key to store.
    pub key: ApiKey,
    /// The token to hand over.
    pub token: Token,
}

/// Makes a key.
pub fn issue_key(
    business: Option<BusinessId>,
    scopes: ScopeSet,
    from: Vec<IpNet>,
    expires: Option<Timestamp>,
    now: Timestamp,
    random: &dyn Random,
) -> IssuedKey {
    let mut secret = [0; SECRET_BYTES];
    random.fill(&mut secret);
    let body = base62(&secret, SECRET_CHARS);
    let secret = format!("{body}{}", checksum_of(&body));
    let token = Token {
        key_id: random_key_id(random),
        secret,
    };
    let key = ApiKey {
        id: token.key_id.clone(),
        secret_hash: token.secret_hash(),
        business,
        scopes,
        from,
        created: now,
        expires,
        revoked: None,
        last_used: None,
    };
    IssuedKey { key, token }
}

fn random_key_id(random: &dyn Random) -> KeyId {
    let mut id = PREFIX.to_owned();
    while id.len() < PREFIX.len() + KEY_ID_CHARS {
        let mut byte = [0];
        random.fill(&mut byte);
        // Bytes that would favour the first letters are drawn again.
        if let Some(&letter) = KEY_ID_ALPHABET.get(usize::from(byte[0] >> 2)) {
            id.push(char::from(letter));
        }
    }
    KeyId(id)
}

fn checksum_of(secret: &str) -> String {
    base62(&crc32fast::hash(secret.as_bytes()).to_be_bytes(), CHECKSUM_CHARS)
}

/// Encodes `bytes` as one big-endian number in base 62, with leading zeros up to `width` digits.
fn base62(bytes: &[u8], width: usize) -> String {
    let mut number = bytes.to_vec();
    let mut digits = Vec::with_capacity(width);
    for _ in 0..width {
        let mut remainder = 0_u32;
        for byte in &mut number {
            let value = (remainder << 8) | u32::from(*byte);
            *byte = u8::try_from(value / 62).unwrap_or(u8::MAX);
            remainder = value % 62;
        }
        digits.push(BASE62[remainder as usize]);
    }
    digits.into_iter().rev().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts up from a seed, which is enough to distinguish draws.
    struct Counting(std::sync::atomic::AtomicU8);

    impl Random for Counting {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill_with(|| self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        }
    }

    fn issue() -> IssuedKey {
        let random = Counting(7.into());
        let now = Timestamp::from_epoch_seconds(0);
        issue_key(None, ScopeSet::NONE, Vec::new(), None, now, &random)
    }

    #[test]
    fn a_token_reads_back_and_matches_its_key() {
        let issued = issue();
        let token: Token = issued.token.reveal().parse().unwrap();
        assert_eq!(token.key_id(), &issued.key.id);
        assert!(token.secret_hash().matches(&issued.key.secret_hash));
        assert_eq!(token.reveal().len(), 20 + 1 + 49);
    }

    #[test]
    fn a_key_is_bound_to_its_addresses() {
        let mut key = issue().key;
        let here = |text: &str| Some(text.parse().unwrap());
        assert!(key.may_be_used_from(here("192.0.2.7")) && key.may_be_used_from(None));
        key.from = vec!["192.0.2.0/29".parse().unwrap(), "2001:db8::/32".parse().unwrap()];
        for address in ["192.0.2.7", "2001:db8::1"] {
            assert!(key.may_be_used_from(here(address)), "{address}");
        }
        for address in ["192.0.2.8", "2001:db9::1", "::ffff:c000:207"] {
            assert!(!key.may_be_used_from(here(address)), "{address}");
        }
        assert!(!key.may_be_used_from(None), "an unknown address is none of them");
    }

    #[test]
    fn a_successor_is_what_the_key_is_but_for_its_token() {
        let IssuedKey { mut key, token } = issue();
        key.from = vec!["192.0.2.0/29".parse().unwrap()];
        key.expires = Some(Timestamp::from_epoch_seconds(99));
        key.last_used = Some(Timestamp::from_epoch_seconds(0));
        let now = Timestamp::from_epoch_seconds(50);
        let successor = key.successor(now, &Counting(99.into()));
        assert_ne!(successor.token, token);
        let next = successor.key;
        assert_eq!(
            (&next.from, next.expires, next.business, next.scopes),
            (&key.from, key.expires, key.business, key.scopes)
        );
        assert_eq!((next.created, next.revoked, next.last_used), (now, None, None));
    }

    #[test]
    fn every_single_mistyped_character_is_noticed() {
        let token = issue().token.reveal();
        for at in 21..token.len() {
            let mut typed = token.clone().into_bytes();
            typed[at] = if typed[at] == b'x' { b'y' } else { b'x' };
            assert!(
                String::from_utf8(typed).unwrap().parse::<Token>().is_err(),
                "character {at}"
            );
        }
    }

    #[test]
    fn what_has_not_the_form_of_a_token_is_refused() {
        for text in [
            "",
            ".",
            "fck_.",
            "fck_0123456789abcdef",
            "fck_0123456789ABCDEF.x",
            "é.é",
        ] {
            assert_eq!(text.parse::<Token>(), Err(InvalidToken), "{text:?}");
        }
    }

    #[test]
    fn base_62_is_that_of_the_number() {
        assert_eq!(base62(&[0, 0, 0, 0], 6), "000000");
        assert_eq!(base62(&[0, 0, 0, 62], 6), "000010");
        assert_eq!(base62(&[255, 255, 255, 255], 6), "4gfFC3");
    }

    #[test]
    fn debug_says_nothing_of_the_secret() {
        let issued = issue();
        let shown = format!("{issued:?}");
        assert!(!shown.contains(issued.token.reveal().split_once('.').unwrap().1));
    }
}
