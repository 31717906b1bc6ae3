//! The reasons why a command failed, each as one line for the operator.

use std::{io, path::PathBuf};

use forecourt_accounts::KeyId;
use forecourt_files::FileStoreError;
use forecourt_kernel::{BoxError, StoreError};

use super::{business_file::FileError, listen::ListenError};
use crate::{
    backup::BackupError,
    logging::LoggingError,
    output::OutputError,
    settings::{SecretKeyError, SettingError},
    transaction::UnitError,
    wiring::WiringError,
};

/// A command's failure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// A setting is unknown or malformed.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// There is no key to encrypt with.
    #[error(transparent)]
    SecretKey(#[from] SecretKeyError),
    /// The log cannot be written.
    #[error(transparent)]
    Logging(#[from] LoggingError),
    /// The program could not be set up.
    #[error(transparent)]
    Wiring(#[from] WiringError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The result cannot be printed.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The business's file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The manual pages cannot be written.
    #[error("the manual pages cannot be written into {folder}")]
    Manual {
        /// Their folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The data for trying the API is invalid.
    #[error("the sample dealership cannot be made")]
    Demo(#[source] BoxError),
    /// The system lacks a resource that every server needs.
    #[error("the server cannot be started")]
    Start(#[source] io::Error),
    /// No business has that tag.
    #[error("no business has the tag {0:?}; `forecourt business list` shows those there are")]
    NoBusiness(String),
    /// The deletion of a business was not confirmed.
    #[error("this deletes the business {0:?} and all that it owns: confirm it with --yes")]
    Unconfirmed(String),
    /// The typed text is not the tag of the business to be deleted.
    #[error("nothing was deleted: what was typed is not {0:?}")]
    Mistyped(String),
    /// No key has that id.
    #[error("there is no key {0}; `forecourt key list` shows those there are")]
    NoKey(KeyId),
    /// A key that is no longer valid has no successor.
    #[error("the key {0} is revoked or has expired: create a new one")]
    DeadKey(KeyId),
    /// Running servers could not read what is encrypted with the new key.
    #[error(
        "these servers run without the new secret key: {0}; restart them with both keys (FORECOURT_SECRET_KEY_PREVIOUS has the one \
         before, or they find both in their data folder), then run this again"
    )]
    LackNewKey(String),
    /// The key is not lost.
    #[error("the secret key is the one that this database is used with: nothing is lost")]
    KeyNotLost,
    /// Servers use the database.
    #[error("servers run on this database (`forecourt servers` lists them): stop them first")]
    ServersRun,
    /// Data would be lost, and that was not confirmed.
    #[error("this drops what the lost key encrypted: confirm it with --yes")]
    UnconfirmedForgetting,
    /// The server is not ready.
    #[error("the server is not ready: {0}")]
    NotReady(String),
    /// The output says what is not in order.
    #[error("not everything is in order")]
    NotInOrder,
    /// The command line makes no sense.
    #[error("{0}")]
    Misused(String),
    /// What waits may be discarded only while it is held.
    #[error("nothing was discarded: outgoing is not held; `forecourt outgoing hold` first")]
    NotHeld,
    /// Some mails have not become leads; each was reported.
    #[error("{failed} of {of} mails were not imported")]
    Import {
        /// The number of these mails.
        failed: usize,
        /// The number of all mails.
        of: usize,
    },
    /// The content of files cannot be reached.
    #[error(transparent)]
    Files(#[from] FileStoreError),
    /// A backup, a restore or a move was not made.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// A server's events cannot be followed.
    #[error(transparent)]
    Listen(#[from] ListenError),
}

impl CommandError {
    /// Returns true if the output has said it all.
    pub(crate) const fn is_reported(&self) -> bool {
        matches!(self, Self::NotInOrder)
    }

    /// Returns the exit code: 1 if it could not be done, 2 if it was called wrongly, 3 if what was looked at is not in order.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Backup(BackupError::Usage(_))
            | Self::Misused(_)
            | Self::UnconfirmedForgetting
            | Self::SecretKey(SecretKeyError::NoPrevious) => 2,
            Self::NotInOrder => 3,
            _ => 1,
        }
    }

    /// Returns true if the command failed because its output is no longer read.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(OutputError::Closed(error)) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl UnitError for CommandError {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }

    fn is_conflict(&self) -> bool {
        // A duplicate means that another process was faster; run again, the unit finds its record.
        matches!(self, Self::Store(StoreError::Conflict | StoreError::Duplicate(_)))
    }
}
