//! Safe retries (contract, "Common rules" 9; decisions §3, "Idempotency").

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, ContactId, LeadId, StoreResult, Timestamp, VehicleId};
use sha2::{Digest, Sha256};

/// The name that a caller gives to one attempt to change something: 1 to 255 letters, digits, hyphens, underscores.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = InvalidIdempotencyKey;

    fn from_str(text: &str) -> Result<Self, InvalidIdempotencyKey> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if (1..=255).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidIdempotencyKey)
        }
    }
}

/// The text is no idempotency key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an Idempotency-Key has 1 to 255 letters, digits, hyphens or underscores")]
pub struct InvalidIdempotencyKey;

/// Distinguishes requests: a digest of method, path, query and body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a request.
    pub fn of(method: &str, path: &str, query: &str, body: &[u8]) -> Self {
        let mut digest = Sha256::new();
        for part in [method.as_bytes(), path.as_bytes(), query.as_bytes(), body] {
            // The length in front keeps "ab" + "c" apart from "a" + "bc".
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    /// Takes a fingerprint from storage.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest, for storage.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An answer to be given again.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// The HTTP status, below 500.
    pub status: u16,
    /// The JSON body. May hold a secret, so it is encrypted at rest and never logged.
    pub body: Vec<u8>,
}

impl fmt::Debug for StoredResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredResponse")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Whose personal data an answer may repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shown {
    /// The contact that it shows, or that the record is linked to which it shows.
    pub contact: Option<ContactId>,
    /// The record that it shows. The contact that this is linked to later may be the person that it names already.
    pub record: Option<ShownRecord>,
}

/// A record that may name people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShownRecord {
    /// A lead.
    Lead(LeadId),
    /// A vehicle.
    Vehicle(VehicleId),
}

/// A request that names itself, so that it is done once however often it arrives.
#[derive(Clone, Debug)]
pub struct KeyedRequest {
    /// The name.
    pub key: IdempotencyKey,
    /// What the request is, so that the name is not used for another one.
    pub fingerprint: Fingerprint,
}

/// What is stored under a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyUse {
    /// Nothing: do the work, then store the response.
    Free,
    /// The answer to the same request: give it again.
    Answered(StoredResponse),
    /// The answer to another request.
    Reused,
}

/// Keeps answers for 24 hours, committed together with the writes that they report.
#[async_trait]
pub trait IdempotencyStore: Send {
    /// What is stored under the request's key. A key whose answer is older than 24 hours before `now` is free.
    ///
    /// # Errors
    /// `Conflict` if a transaction that this one shares its commit with has the answer: try again.
    async fn key_use(&mut self, business: BusinessId, request: &KeyedRequest, now: Timestamp) -> StoreResult<KeyUse>;

    /// Stores the answer under a key that was free in this transaction. Once the contact that it shows is erased, or one that
    /// the record which it shows is linked to by then, nothing but the `id` of its `data` is left of the answer.
    ///
    /// A key is used once: where another transaction has stored an answer under it meanwhile, the commit fails with
    /// `Conflict`, and with it all that this transaction did.
    async fn store_response(
        &mut self,
        business: BusinessId,
        request: &KeyedRequest,
        now: Timestamp,
        response: &StoredResponse,
        shows: Shown,
    ) -> StoreResult<()>;

    /// Forgets at most `limit` answers that are older than 24 hours before `now`, of all businesses; answers how
    /// many it forgot.
    async fn purge_expired(&mut self, now: Timestamp, limit: u32) -> StoreResult<u32>;
}

impl dyn IdempotencyStore {
    /// For how long an answer is kept, in seconds.
    pub const KEPT_SECONDS: i64 = 24 * 60 * 60;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_of_plain_characters() {
        assert!("a".parse::<IdempotencyKey>().is_ok());
        assert!("A-z_0".repeat(51).parse::<IdempotencyKey>().is_ok());
        for text in ["", "with space", "é", "a.b", &"x".repeat(256)] {
            assert_eq!(text.parse::<IdempotencyKey>(), Err(InvalidIdempotencyKey), "{text:?}");
        }
    }

    #[test]
    fn every_part_of_a_request_counts() {
        let request = Fingerprint::of("POST", "/2.0/leads", "", b"{}");
        assert_eq!(request, Fingerprint::of("POST", "/2.0/leads", "", b"{}"));
        for other in [
            Fingerprint::of("PATCH", "/2.0/leads", "", b"{}"),
            Fingerprint::of("POST", "/2.0/lead", "s", b"{}"),
            Fingerprint::of("POST", "/2.0/leads", "a=1", b"{}"),
            Fingerprint::of("POST", "/2.0/leads", "", b"{ }"),
        ] {
            assert_ne!(request, other);
        }
    }
}
