//! A place for many backups.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use forecourt_files::{Blob, BlobStore};
use forecourt_kernel::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backup::{Backup, all, content_of};
use crate::error::ArchiveError;
use crate::files::read_file_lines;
use crate::keep::KeepRules;
use crate::manifest::Manifest;
use crate::stamp::Stamp;
use crate::writer::BackupWriter;
use crate::{FILES, FOLDER, MANIFEST};

/// The member that notes a verification.
const VERIFIED: &str = "verified.json";
/// The age from which what is not finished, or named by no backup, is abandoned.
const ABANDONED_SECONDS: i64 = 86_400;

/// A place for many backups, each in a folder named by its stamp, and their files, each once.
#[derive(Clone)]
pub struct Repository {
    store: Arc<dyn BlobStore>,
}

/// The thoroughness of a verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerifyLevel {
    /// Digests of the members, and what SQLite finds quickly.
    Quick,
    /// Every rule on every row and file.
    Full,
}

impl VerifyLevel {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

/// The outcome of a verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Verification {
    /// True if no fault was found.
    pub ok: bool,
    /// Its thoroughness.
    pub how: VerifyLevel,
    /// Its time, in epoch seconds.
    pub at: i64,
}

/// A finished backup of a repository.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its name.
    pub stamp: Stamp,
    /// Its manifest; `None` if it is encrypted, damaged or of a later format.
    pub manifest: Option<Manifest>,
    /// Its latest verification.
    pub verified: Option<Verification>,
}

/// The result of pruning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The backups that were removed.
    pub removed: Vec<Stamp>,
    /// The backups that stay.
    pub kept: Vec<Stamp>,
    /// The number of files that were removed.
    pub files: u64,
}

impl Repository {
    /// The repository in a store.
    #[must_use]
    pub fn new(store: Arc<dyn BlobStore>) -> Self {
        Self { store }
    }

    /// Begins a backup.
    #[must_use]
    pub fn writer(&self, stamp: Stamp) -> BackupWriter {
        BackupWriter::stored(Arc::clone(&self.store), stamp)
    }

    /// Returns true if there is anything of that stamp.
    ///
    /// # Errors
    /// [`ArchiveError::Store`].
    pub async fn has(&self, stamp: Stamp) -> Result<bool, ArchiveError> {
        Ok(!self.store.list(&stamp.to_string()).await?.is_empty())
    }

    /// Returns all stamps, those of unfinished backups too, the oldest first.
    async fn stamps(&self) -> Result<Vec<Stamp>, ArchiveError> {
        let mut stamps: Vec<Stamp> = self
            .store
            .folders()
            .await?
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect();
        stamps.sort_unstable();
        Ok(stamps)
    }

    async fn is_finished(&self, stamp: Stamp) -> Result<bool, ArchiveError> {
        Ok(self.store.stat(&format!("{stamp}/{MANIFEST}")).await?.is_some())
    }

    /// Returns the stamps of finished backups, the oldest first.
    async fn finished(&self) -> Result<Vec<Stamp>, ArchiveError> {
        let mut finished = Vec::new();
        for stamp in self.stamps().await? {
            if self.is_finished(stamp).await? {
                finished.push(stamp);
            }
        }
        Ok(finished)
    }

    /// Returns the newest finished backup.
    ///
    /// # Errors
    /// [`ArchiveError::Store`].
    pub async fn newest(&self) -> Result<Option<Stamp>, ArchiveError> {
        for stamp in self.stamps().await?.into_iter().rev() {
            if self.is_finished(stamp).await? {
                return Ok(Some(stamp));
            }
        }
        Ok(None)
    }

    /// Opens a backup: the one of that stamp, or else the newest that is finished.
    ///
    /// # Errors
    /// [`ArchiveError`] if there is none.
    pub async fn backup(&self, stamp: Option<Stamp>) -> Result<Backup, ArchiveError> {
        let stamp = match stamp {
            Some(stamp) => stamp,
            None => {
                let newest = self.newest().await?;
                newest.ok_or_else(|| ArchiveError::NotFound("there is no finished backup".to_owned()))?
            }
        };
        if !self.has(stamp).await? {
            return Err(ArchiveError::NotFound(format!("there is no backup {stamp}")));
        }
        Backup::open_stored(Arc::clone(&self.store), stamp).await
    }

    /// Returns the finished backups, the oldest first.
    ///
    /// # Errors
    /// [`ArchiveError::Store`].
    pub async fn list(&self) -> Result<Vec<Listed>, ArchiveError> {
        let mut listed = Vec::new();
        for stamp in self.finished().await? {
            let manifest = self.read(&format!("{stamp}/{MANIFEST}")).await?;
            listed.push(Listed {
                stamp,
                manifest: manifest.and_then(|bytes| Manifest::read(&bytes).ok()),
                verified: self.verification(stamp).await?,
            });
        }
        Ok(listed)
    }

    async fn read(&self, key: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
        match self.store.get(key).await? {
            Some(open) => Ok(Some(all(open.content).await?)),
            None => Ok(None),
        }
    }

    /// Returns the latest verification of a backup.
    ///
    /// # Errors
    /// [`ArchiveError::Store`].
    pub async fn verification(&self, stamp: Stamp) -> Result<Option<Verification>, ArchiveError> {
        let noted = self.read(&format!("{stamp}/{VERIFIED}")).await?;
        Ok(noted.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Notes a verification. A quick one without faults does not replace the note of a full one without faults.
    ///
    /// # Errors
    /// [`ArchiveError::Store`].
    pub async fn note(&self, stamp: Stamp, verification: Verification) -> Result<(), ArchiveError> {
        let former = self.verification(stamp).await?;
        let is_less = verification.ok && verification.how == VerifyLevel::Quick;
        if is_less && former.is_some_and(|former| former.ok && former.how == VerifyLevel::Full) {
            return Ok(());
        }
        let note = serde_json::to_vec(&verification).map_err(|error| ArchiveError::Damaged(error.to_string()))?;
        let key = format!("{stamp}/{VERIFIED}");
        Ok(self.store.put(&key, note.len() as u64, content_of(note)).await?)
    }

    /// Removes backups that the rules do not keep, and files that no backup names. The newest backup that was verified always
    /// stays; what is not finished stays for a day.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn prune(&self, rules: &KeepRules, now: Timestamp) -> Result<Pruned, ArchiveError> {
        let abandoned = now.plus_seconds(-ABANDONED_SECONDS);
        let (mut good, mut finished, mut young) = (Vec::new(), Vec::new(), Vec::new());
        let mut newest_verified = None;
        for stamp in self.stamps().await? {
            if !self.is_finished(stamp).await? {
                if stamp.time() > abandoned {
                    young.push(stamp);
                } else {
                    self.remove(stamp).await?;
                }
                continue;
            }
            finished.push(stamp);
            match self.verification(stamp).await? {
                Some(verification) if !verification.ok => {}
                verification => {
                    good.push(stamp);
                    newest_verified = verification.map(|_| stamp).or(newest_verified);
                }
            }
        }
        let mut kept = rules.kept(&good);
        kept.extend(newest_verified);
        let mut pruned = Pruned::default();
        for stamp in finished {
            if kept.contains(&stamp) {
                pruned.kept.push(stamp);
            } else {
                self.remove(stamp).await?;
                pruned.removed.push(stamp);
            }
        }
        pruned.files = self.remove_files(&kept, &young, abandoned).await?;
        Ok(pruned)
    }

    /// Removes a backup. Without its manifest it is none, so that goes first.
    async fn remove(&self, stamp: Stamp) -> Result<(), ArchiveError> {
        self.store.delete(&format!("{stamp}/{MANIFEST}")).await?;
        for Blob { key, .. } in self.store.list(&stamp.to_string()).await? {
            self.store.delete(&key).await?;
        }
        Ok(())
    }

    /// Removes old files that no backup names. A backup that is being made may need any file until its list is there.
    async fn remove_files(
        &self,
        kept: &BTreeSet<Stamp>,
        young: &[Stamp],
        abandoned: Timestamp,
    ) -> Result<u64, ArchiveError> {
        let mut named = HashSet::new();
        for stamp in kept.iter().chain(young) {
            let Some(list) = self.read(&format!("{stamp}/{FILES}")).await? else {
                return Ok(0);
            };
            // A list that cannot be read may name any file.
            let Ok(lines) = read_file_lines(&list) else {
                return Ok(0);
            };
            named.extend(lines.into_iter().map(|line| format!("{FOLDER}/{}", line.name)));
        }
        let mut removed = 0;
        for Blob { key, stored, .. } in self.store.list(FOLDER).await? {
            if stored < abandoned && !named.contains(&key) {
                self.store.delete(&key).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}
