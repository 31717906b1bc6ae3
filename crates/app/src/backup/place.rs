//! The places of backups.

use std::{fmt, path::PathBuf, str::FromStr};

use forecourt_archive::{ArchiveError, Backup, Repository, Stamp};
use forecourt_file_store::{FileLocation, ObjectFileStore};

/// The location of a repository: `file://FOLDER`, a path, or `s3://BUCKET/PREFIX`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BackupUrl(pub(crate) FileLocation);

impl FromStr for BackupUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return text
                .parse()
                .map(Self)
                .map_err(|error: forecourt_file_store::InvalidFileLocation| error.to_string());
        }
        if text.is_empty() {
            return Err("names no folder".to_owned());
        }
        Ok(Self(FileLocation::Folder(PathBuf::from(text))))
    }
}

impl fmt::Display for BackupUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl BackupUrl {
    /// Opens the repository.
    ///
    /// # Errors
    /// [`ArchiveError::Store`] if the environment's variables for buckets are invalid.
    pub(crate) fn repository(&self) -> Result<Repository, ArchiveError> {
        Ok(Repository::new(ObjectFileStore::blobs(&self.0)?))
    }
}

/// A backup on the command line.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// An archive.
    File(PathBuf),
    /// A backup of a repository: the newest, or the one of a stamp.
    Repository(BackupUrl, Option<Stamp>),
}

impl Place {
    /// Opens the backup.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub(crate) async fn open(&self) -> Result<Backup, ArchiveError> {
        match self {
            Self::File(path) => Backup::open_archive(path).await,
            Self::Repository(url, stamp) => url.repository()?.backup(*stamp).await,
        }
    }
}
