//! The port to the content of files.

use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use forecourt_kernel::{BoxError, BusinessId, Timestamp};
use futures_util::Stream;

use crate::FileName;

/// Content, as a stream of chunks.
pub type ContentStream = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// A range of a file's bytes, from `start` up to and excluding `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteRange {
    /// The first byte, counted from 0.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
}

/// A file that is being read.
pub struct OpenFile {
    /// Length of the whole file in bytes.
    pub size: u64,
    /// The requested content.
    pub content: ContentStream,
}

/// A file in the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedFile {
    /// The business that owns it.
    pub business: BusinessId,
    /// Its name.
    pub name: FileName,
    /// Its length in bytes.
    pub size: u64,
    /// The time at which it was stored.
    pub stored: Timestamp,
}

/// Stores the content of files. Stored content is durable and never changes.
#[async_trait]
pub trait FileStore: Send + Sync {
    /// Stores a file of `size` bytes, completely or not at all.
    ///
    /// # Errors
    /// [`FileStoreError`] if the content ends early, has another length, or cannot be stored at the moment.
    async fn put(
        &self,
        business: BusinessId,
        name: &FileName,
        size: u64,
        content: ContentStream,
    ) -> Result<(), FileStoreError>;

    /// Opens a file, or a range that lies within it. `None` if there is no file of that name.
    ///
    /// # Errors
    /// [`FileStoreError`] if the store cannot be reached.
    async fn open(
        &self,
        business: BusinessId,
        name: &FileName,
        range: Option<ByteRange>,
    ) -> Result<Option<OpenFile>, FileStoreError>;

    /// Removes a file, if there is one.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn delete(&self, business: BusinessId, name: &FileName) -> Result<(), FileStoreError>;

    /// Returns at most `limit` files of the business after `after`, in the order of their names.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn list(
        &self,
        business: BusinessId,
        after: Option<&FileName>,
        limit: usize,
    ) -> Result<Vec<ListedFile>, FileStoreError>;

    /// Returns the businesses that have files.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn businesses(&self) -> Result<Vec<BusinessId>, FileStoreError>;

    /// Marks the files as those of an installation, unless they are marked already, and returns the installation that they belong
    /// to.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn claim(&self, installation: &str) -> Result<String, FileStoreError>;

    /// Moves a file, if there is one, to quarantine as of `now`. People can restore it from there.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn quarantine(&self, business: BusinessId, name: &FileName, now: Timestamp) -> Result<(), FileStoreError>;

    /// Deletes files that were quarantined before `before`, and returns their number.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn empty_quarantine(&self, before: Timestamp) -> Result<usize, FileStoreError>;

    /// Checks that a file could be stored now.
    ///
    /// # Errors
    /// [`FileStoreError`] if it could not.
    async fn ping(&self) -> Result<(), FileStoreError>;
}

/// Content could not be stored or read.
#[derive(Debug, thiserror::Error)]
#[error("the files cannot be reached")]
pub struct FileStoreError(#[source] pub BoxError);
