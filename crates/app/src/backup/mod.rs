//! Backups of an installation: taking, verifying and restoring them, and moving a database.

mod place;
mod restore;
mod take;
mod target;
mod transfer;
mod verify;

pub(crate) use place::{BackupUrl, Place};
pub(crate) use restore::{RestoreReport, restore};
pub(crate) use take::{TakeReport, Taking, Target, take};
pub(crate) use transfer::transfer;
pub(crate) use verify::{VerifyReport, Verifying, verify};

use std::path::PathBuf;

use forecourt_archive::ArchiveError;
use forecourt_files::FileStoreError;
use forecourt_kernel::StoreError;
use forecourt_storage::{MigrateError, OpenError};
use tokio::task::{JoinError, spawn_blocking};

use crate::{
    scratch::ScratchError,
    settings::{SecretKey, SecretKeyError, SettingError},
    wiring::WiringError,
};

/// The reason why a backup, a restore or a move was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    /// The backup cannot be read or written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The database fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The schema cannot be brought up to date.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The store of files fails.
    #[error(transparent)]
    Files(#[from] FileStoreError),
    /// The program cannot be set up.
    #[error(transparent)]
    Wiring(#[from] WiringError),
    /// A setting is wrong.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The secret key cannot be read.
    #[error(transparent)]
    SecretKey(#[from] SecretKeyError),
    /// There is no room to work in.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// A thread failed.
    #[error("a part of the work failed")]
    Join(#[from] JoinError),
    /// A file of this machine cannot be used.
    #[error("{0} cannot be used")]
    File(PathBuf, #[source] std::io::Error),
    /// A condition is not met, and nothing was done.
    #[error("{0}")]
    Refused(String),
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
}

impl BackupError {
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into())
    }
}

/// Returns the text by which a key is recognised.
fn key_mark(key: &SecretKey) -> String {
    storage_key(key).id()
}

/// Returns the key as storage takes it.
fn storage_key(key: &SecretKey) -> forecourt_storage::SecretKey {
    forecourt_storage::SecretKey::from_bytes(*key.reveal())
}

/// Runs work that waits for files on a thread that may wait.
async fn blocking<T: Send + 'static, E: Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, BackupError>
where
    BackupError: From<E>,
{
    Ok(spawn_blocking(work).await??)
}
