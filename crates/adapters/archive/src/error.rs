//! The failures of reading and writing backups.

use std::io;

use forecourt_files::FileStoreError;

/// A backup cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The content is not a backup, or is damaged.
    #[error("{0}")]
    Damaged(String),
    /// A later program made it.
    #[error(
        "the backup has format {format}, made by Forecourt {program}; this program knows format {}",
        crate::FORMAT
    )]
    NewerFormat {
        /// Its format.
        format: u64,
        /// The version of the program that made it.
        program: String,
    },
    /// It is encrypted.
    #[error("the backup is encrypted: decrypt it with age first (`age -d`)")]
    Encrypted,
    /// There is no such backup.
    #[error("{0}")]
    NotFound(String),
    /// A file of this machine fails.
    #[error("{0}")]
    File(String, #[source] io::Error),
    /// The repository or the store of files fails.
    #[error(transparent)]
    Store(#[from] FileStoreError),
}

impl ArchiveError {
    /// A failure of a file at that path.
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |error| Self::File(format!("{path} cannot be used"), error)
    }
}
