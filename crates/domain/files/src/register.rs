//! The port to the records of files.

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, StoreResult, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{FileKind, FileName};

/// The record of a stored file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredFile {
    /// Its name.
    pub name: FileName,
    /// Its kind.
    pub kind: FileKind,
    /// Its length in bytes.
    pub size: u64,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// The time at which it was stored.
    pub stored: Timestamp,
    /// `true` if it has a public address, which anyone who knows its name can read.
    pub public: bool,
}

/// Reads the records of a business's files.
#[async_trait]
pub trait FileReader: Send {
    /// Returns the file, or `None` if the business has none of that name.
    async fn file(&mut self, business: BusinessId, name: &FileName) -> StoreResult<Option<StoredFile>>;

    /// Returns the total size of the business's files, in bytes. In a transaction that has written some of them, no other
    /// transaction can change the total until it ends.
    async fn file_bytes(&mut self, business: BusinessId) -> StoreResult<u64>;

    /// Returns at most `limit` files of the business after `after`, in the order of their names.
    async fn files_after(
        &mut self,
        business: BusinessId,
        after: Option<&FileName>,
        limit: u32,
    ) -> StoreResult<Vec<StoredFile>>;
}

/// Writes the records of a business's files.
#[async_trait]
pub trait FileRegister: FileReader {
    /// Records files whose content is already stored.
    async fn insert_files(&mut self, business: BusinessId, files: &[StoredFile]) -> StoreResult<()>;

    /// Removes the records of a file and of the copies that share its key, and returns their names. Their content is deleted
    /// after the transaction has committed.
    async fn remove_files(&mut self, business: BusinessId, name: &FileName) -> StoreResult<Vec<FileName>>;
}
