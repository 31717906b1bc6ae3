//! The ports for the storage of businesses and keys.

use std::sync::Arc;

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, StoreResult, Timestamp};

use crate::{ApiKey, Business, KeyId};

/// A key with its business.
#[derive(Clone, Debug)]
pub struct StoredCredential {
    /// The key.
    pub key: ApiKey,
    /// Its business; `None` if it has none, or if the business no longer exists.
    pub business: Option<Arc<Business>>,
}

/// Reads businesses and keys.
#[async_trait]
pub trait AccountReader: Send {
    /// Returns the key with that id and its business, in one query.
    async fn credential(&mut self, key: &KeyId) -> StoreResult<Option<StoredCredential>>;

    /// Returns the business, if it exists.
    async fn business(&mut self, id: BusinessId) -> StoreResult<Option<Business>>;

    /// Returns the business with that tag, if there is one.
    async fn business_by_tag(&mut self, tag: &str) -> StoreResult<Option<Business>>;

    /// Returns all businesses, ordered by tag.
    async fn businesses(&mut self) -> StoreResult<Vec<Business>>;

    /// Returns the keys of one business, or all keys, newest first.
    async fn keys(&mut self, business: Option<BusinessId>) -> StoreResult<Vec<ApiKey>>;
}

/// Writes businesses and keys.
#[async_trait]
pub trait AccountStore: AccountReader {
    /// Stores a new business and returns the id that it was given. `business.id` is ignored.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`](forecourt_kernel::StoreError::Duplicate) if another business has its tag.
    async fn insert_business(&mut self, business: &Business) -> StoreResult<BusinessId>;

    /// Stores a changed business.
    async fn update_business(&mut self, business: &Business) -> StoreResult<()>;

    /// Deletes a business and everything it owns except its keys, which then belong to a business that no longer exists. On
    /// commit it disappears for every reader, and its tag is free. Records that one transaction cannot remove are removed in the
    /// background.
    async fn delete_business(&mut self, id: BusinessId) -> StoreResult<()>;

    /// Stores a new key.
    async fn insert_key(&mut self, key: &ApiKey) -> StoreResult<()>;

    /// Marks a key as revoked from `at` on. An earlier revocation is kept. Returns `false` if the key does not exist.
    async fn revoke_key(&mut self, key: &KeyId, at: Timestamp) -> StoreResult<bool>;

    /// Makes a key that is not revoked expire at `at`. Returns `false` if there is no such key. No other transaction can revoke
    /// the key until this one ends.
    async fn expire_key(&mut self, key: &KeyId, at: Timestamp) -> StoreResult<bool>;

    /// Stores the hours in which keys were last used, unless a later one is stored. Keys must be in order, so that two servers
    /// cannot deadlock.
    async fn note_key_uses(&mut self, uses: &[(KeyId, Timestamp)]) -> StoreResult<()>;
}
