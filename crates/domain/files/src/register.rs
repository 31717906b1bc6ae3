//! The port to the records of which files there are.

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, StoreResult, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{FileKind, FileName};

/// A file that is stored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredFile {
    /// Its name.
    pub name: FileName,
    /// What it is.
    pub kind: FileKind,
    /// How long it is, in bytes.
    pub size: u64,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// When it was stored.
    pub stored: Timestamp,
    /// Whether it has an address at which everyone who knows its name can read it.
    pub public: bool,
}

/// Reads which files a business has.
#[async_trait]
pub trait FileReader: Send {
    /// The file, or `None` if the business has none of that name.
    async fn file(&mut self, business: BusinessId, name: &FileName) -> StoreResult<Option<StoredFile>>;

    /// How many bytes all files of the business have together. Within a transaction that has written some of them, no other changes
    /// this until it ends.
    async fn file_bytes(&mut self, business: BusinessId) -> StoreResult<u64>;

    /// At most `limit` files of the business behind `after`, in the order of their names.
    async fn files_after(
        &mut self,
        business: BusinessId,
        after: Option<&FileName>,
        limit: u32,
    ) -> StoreResult<Vec<StoredFile>>;
}

/// Writes which files a business has.
#[async_trait]
pub trait FileRegister: FileReader {
    /// Records files whose content is stored already.
    async fn insert_files(&mut self, business: BusinessId, files: &[StoredFile]) -> StoreResult<()>;

    /// Removes the records of a file and of the copies that share its key, and answers which they were. Their content goes
    /// once this has committed.
    async fn remove_files(&mut self, business: BusinessId, name: &FileName) -> StoreResult<Vec<FileName>>;
}
