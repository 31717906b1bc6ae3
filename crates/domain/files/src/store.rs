//! The port to where the content of files is kept.

use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use forecourt_kernel::{BoxError, BusinessId, Timestamp};
use futures_util::Stream;

use crate::FileName;

/// Content, in parts.
pub type ContentStream = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// Bytes of a file: from `start`, and before `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteRange {
    /// The first one, counted from 0.
    pub start: u64,
    /// The one behind the last one.
    pub end: u64,
}

/// A file that is being read.
pub struct OpenFile {
    /// How long the whole file is, in bytes.
    pub size: u64,
    /// What was requested of it.
    pub content: ContentStream,
}

/// A file that the store has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedFile {
    /// Whose it is.
    pub business: BusinessId,
    /// Its name.
    pub name: FileName,
    /// How long it is, in bytes.
    pub size: u64,
    /// When it was stored.
    pub stored: Timestamp,
}

/// Where the content of files is kept. What was stored is durable, and is never changed.
#[async_trait]
pub trait FileStore: Send + Sync {
    /// Stores a file of `size` bytes. It is there whole, or not at all.
    ///
    /// # Errors
    /// [`FileStoreError`] if the content breaks off or has another length, or cannot be kept now.
    async fn put(
        &self,
        business: BusinessId,
        name: &FileName,
        size: u64,
        content: ContentStream,
    ) -> Result<(), FileStoreError>;

    /// Opens a file, all of it or a range that lies within it; `None` if there is none of that name.
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

    /// At most `limit` files of the business behind `after`, in the order of their names.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn list(
        &self,
        business: BusinessId,
        after: Option<&FileName>,
        limit: usize,
    ) -> Result<Vec<ListedFile>, FileStoreError>;

    /// The businesses that have files.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn businesses(&self) -> Result<Vec<BusinessId>, FileStoreError>;

    /// Notes whose installation's files these are, unless that is noted already; yields the one that is noted.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn claim(&self, installation: &str) -> Result<String, FileStoreError>;

    /// Takes a file out of the store, if there is one, and keeps it aside as of `now`, from where people can bring it back.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn quarantine(&self, business: BusinessId, name: &FileName, now: Timestamp) -> Result<(), FileStoreError>;

    /// Deletes what was kept aside before that moment; yields how many files.
    ///
    /// # Errors
    /// As for [`FileStore::open`].
    async fn empty_quarantine(&self, before: Timestamp) -> Result<usize, FileStoreError>;

    /// Whether a file could be stored now.
    ///
    /// # Errors
    /// [`FileStoreError`] if not.
    async fn ping(&self) -> Result<(), FileStoreError>;
}

/// Content could not be kept or read.
#[derive(Debug, thiserror::Error)]
#[error("the files cannot be reached")]
pub struct FileStoreError(#[source] pub BoxError);
