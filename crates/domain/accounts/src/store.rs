//! What the rules of this crate need from storage.

use std::sync::Arc;

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, StoreResult, Timestamp};

use crate::{ApiKey, Business, KeyId};

/// A key with its business.
#[derive(Clone, Debug)]
pub struct StoredCredential {
    /// The key.
    pub key: ApiKey,
    /// Its business; `None` if it has none, or if that no longer exists.
    pub business: Option<Arc<Business>>,
}

/// Reads businesses and keys.
#[async_trait]
pub trait AccountReader: Send {
    /// The key of that name with its business, in one query.
    async fn credential(&mut self, key: &KeyId) -> StoreResult<Option<StoredCredential>>;

    /// The business, if it exists.
    async fn business(&mut self, id: BusinessId) -> StoreResult<Option<Business>>;

    /// The business of that tag, if there is one.
    async fn business_by_tag(&mut self, tag: &str) -> StoreResult<Option<Business>>;

    /// Every business, ordered by tag.
    async fn businesses(&mut self) -> StoreResult<Vec<Business>>;

    /// The keys of one business, or all keys, newest first.
    async fn keys(&mut self, business: Option<BusinessId>) -> StoreResult<Vec<ApiKey>>;
}

/// Writes businesses and keys.
#[async_trait]
pub trait AccountStore: AccountReader {
    /// Stores a business that is new, and answers the id that it gave it. `business.id` is not looked at.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`](forecourt_kernel::StoreError::Duplicate) if another one has its tag.
    async fn insert_business(&mut self, business: &Business) -> StoreResult<BusinessId>;

    /// Stores a business that has changed.
    async fn update_business(&mut self, business: &Business) -> StoreResult<()>;

    /// Removes a business and everything it owns but its keys, which then belong to a business that is no more. It is gone for
    /// every reader, and its tag is free, when this commits; what of its property is more than one transaction removes goes in
    /// the background.
    async fn delete_business(&mut self, id: BusinessId) -> StoreResult<()>;

    /// Stores a new key.
    async fn insert_key(&mut self, key: &ApiKey) -> StoreResult<()>;

    /// Marks a key as revoked from `at` on; an earlier revocation stands. Returns whether the key exists.
    async fn revoke_key(&mut self, key: &KeyId, at: Timestamp) -> StoreResult<bool>;

    /// Has a key that is not revoked expire at `at`. Returns whether there is such a key; no other transaction revokes it until
    /// this one ends.
    async fn expire_key(&mut self, key: &KeyId, at: Timestamp) -> StoreResult<bool>;

    /// Stores the hours in which keys were last used, where a later one is not stored yet. Keys come in their order, so that no
    /// two servers wait for each other.
    async fn note_key_uses(&mut self, uses: &[(KeyId, Timestamp)]) -> StoreResult<()>;
}
