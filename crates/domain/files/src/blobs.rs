//! The port to content under keys of any form: backups, and the content of files as a backup copies it.

use async_trait::async_trait;
use forecourt_kernel::Timestamp;

use crate::{ContentStream, FileStoreError, OpenFile};

/// Stored content, as its store describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blob {
    /// Its key: names with slashes between them.
    pub key: String,
    /// Its length in bytes.
    pub size: u64,
    /// The time at which it was stored.
    pub stored: Timestamp,
    /// The bucket's entity tag; a folder has none.
    pub etag: Option<String>,
}

/// Stores content under keys. Stored content is durable and complete, or not there.
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Stores `size` bytes, in place of the former content of the key.
    ///
    /// # Errors
    /// [`FileStoreError`] if the content ends early, has another length, or cannot be stored at the moment.
    async fn put(&self, key: &str, size: u64, content: ContentStream) -> Result<(), FileStoreError>;

    /// Opens content. `None` if there is none of that key.
    ///
    /// # Errors
    /// [`FileStoreError`] if the store cannot be reached.
    async fn get(&self, key: &str) -> Result<Option<OpenFile>, FileStoreError>;

    /// Describes content. `None` if there is none of that key.
    ///
    /// # Errors
    /// As for [`BlobStore::get`].
    async fn stat(&self, key: &str) -> Result<Option<Blob>, FileStoreError>;

    /// Returns all content whose key begins with `folder` and a slash, at any depth.
    ///
    /// # Errors
    /// As for [`BlobStore::get`].
    async fn list(&self, folder: &str) -> Result<Vec<Blob>, FileStoreError>;

    /// Returns the first names of all keys that have more than one, in order.
    ///
    /// # Errors
    /// As for [`BlobStore::get`].
    async fn folders(&self) -> Result<Vec<String>, FileStoreError>;

    /// Removes content, if there is any.
    ///
    /// # Errors
    /// As for [`BlobStore::get`].
    async fn delete(&self, key: &str) -> Result<(), FileStoreError>;
}
