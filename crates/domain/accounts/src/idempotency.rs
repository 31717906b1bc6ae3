//! Safe retries (contract, "Common rules" 9; decisions §3, "Idempotency").

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use forecourt_kernel::{
    AppointmentId, BusinessId, CallId, ContactId, InvoiceId, JobId, LeadId, OrderId, StoreResult, Timestamp, VehicleId,
};
use sha2::{Digest, Sha256};

/// The name that a caller gives to one attempt to change something: 1 to 255 letters, digits, hyphens and underscores.
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

/// The text is not an idempotency key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an Idempotency-Key has 1 to 255 letters, digits, hyphens or underscores")]
pub struct InvalidIdempotencyKey;

/// A digest of method, path, query and body, which distinguishes requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes the fingerprint of a request.
    pub fn of(method: &str, path: &str, query: &str, body: &[u8]) -> Self {
        let mut digest = Sha256::new();
        for part in [method.as_bytes(), path.as_bytes(), query.as_bytes(), body] {
            // The length in front distinguishes "ab" + "c" from "a" + "bc".
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    /// Wraps a fingerprint that was read from storage.
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

/// An answer that is stored for replay.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// The HTTP status, below 500.
    pub status: u16,
    /// The JSON body. It may contain a secret, so it is encrypted at rest and never logged.
    pub body: Vec<u8>,
}

impl fmt::Debug for StoredResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredResponse")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// The people whose personal data an answer may repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shown {
    /// The contact that the answer shows, or that the record it shows is linked to.
    pub contact: Option<ContactId>,
    /// The record that the answer shows. It may name a person who is linked to it only later.
    pub record: Option<ShownRecord>,
}

/// A record that may name people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShownRecord {
    /// A lead.
    Lead(LeadId),
    /// A vehicle.
    Vehicle(VehicleId),
    /// An appointment.
    Appointment(AppointmentId),
    /// A telephone call.
    Call(CallId),
    /// A job on a vehicle.
    Job(JobId),
    /// An invoice.
    Invoice(InvoiceId),
    /// An order.
    Order(OrderId),
    /// A deal, by its id.
    Deal(i64),
}

/// A request with an idempotency key, which is carried out once even if it arrives several times.
#[derive(Clone, Debug)]
pub struct KeyedRequest {
    /// The key.
    pub key: IdempotencyKey,
    /// The fingerprint of the request. It prevents the use of the key for another request.
    pub fingerprint: Fingerprint,
}

/// The stored use of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyUse {
    /// The key is free: do the work, then store the response.
    Free,
    /// The key has the answer to the same request: send it again.
    Answered(StoredResponse),
    /// The key has the answer to another request.
    Reused,
}

/// Stores answers for 24 hours. An answer is committed together with the writes that it reports.
#[async_trait]
pub trait IdempotencyStore: Send {
    /// Returns the stored use of the request's key. A key whose answer is older than 24 hours at `now` is free.
    ///
    /// # Errors
    /// `Conflict` if the answer belongs to a transaction that commits together with this one: try again.
    async fn key_use(&mut self, business: BusinessId, request: &KeyedRequest, now: Timestamp) -> StoreResult<KeyUse>;

    /// Stores the answer under a key that was free in this transaction. When the contact that it shows is erased, only the `id`
    /// of its `data` is kept. The same applies to a contact that is linked by then to the record that it shows.
    ///
    /// A key is used once. If another transaction has stored an answer under it meanwhile, the commit fails with `Conflict`, and
    /// none of this transaction's changes take effect.
    async fn store_response(
        &mut self,
        business: BusinessId,
        request: &KeyedRequest,
        now: Timestamp,
        response: &StoredResponse,
        shows: Shown,
    ) -> StoreResult<()>;

    /// Removes at most `limit` answers of all businesses that are older than 24 hours at `now`. Returns the number removed.
    async fn purge_expired(&mut self, now: Timestamp, limit: u32) -> StoreResult<u32>;
}

impl dyn IdempotencyStore {
    /// The time for which an answer is kept, in seconds.
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
