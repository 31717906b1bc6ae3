//! Restoring a backup into an empty database and file store.

use std::{sync::Arc, time::Duration};

use forecourt_archive::{Backup, FileLine, FileMode, FilePath};
use forecourt_file_store::ObjectFileStore;
use forecourt_files::{Blob, BlobStore};
use forecourt_kernel::{Clock, Random};
use forecourt_storage::{BusinessNumbers, Renewal, Snapshot, known_migrations};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{
    BackupError, blocking, key_mark, storage_key,
    take::SharedProgress,
    target::TargetDatabase,
    verify::{Checked, check, unpacked},
};
use crate::{
    scratch::Scratch,
    settings::Settings,
    system::{SystemClock, SystemRandom},
    wiring,
};

/// A restored installation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RestoreReport {
    /// The backup's name.
    pub(crate) backup: String,
    /// The epoch that has begun.
    pub(crate) epoch: i64,
    /// The number of rows.
    pub(crate) rows: u64,
    /// The number of files.
    pub(crate) files: u64,
    /// The businesses, with the numbers that they had given out.
    pub(crate) businesses: Vec<RestoredBusiness>,
    /// The numbers of keys, webhooks and mails that were disarmed for a copy.
    #[serde(skip)]
    pub(crate) disarmed: Option<[u64; 3]>,
    /// The content that is neither in the backup nor in the store.
    #[serde(skip)]
    pub(crate) missing: Vec<String>,
    /// The installation that the store of files belongs to, if it is another one.
    #[serde(skip)]
    pub(crate) claimed: Option<String>,
    /// True if the key that the server needs is not known here.
    #[serde(skip)]
    pub(crate) lacks_key: bool,
}

/// The numbers that a business had given out when the backup was made.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RestoredBusiness {
    tag: String,
    last_event: i64,
    lead_reference: i64,
    invoice_number: i64,
    credit_number: i64,
}

impl RestoredBusiness {
    /// Describes them in a line.
    pub(crate) fn line(&self) -> String {
        let Self {
            tag,
            last_event,
            lead_reference,
            invoice_number,
            credit_number,
        } = self;
        format!(
            "{tag}: last event {last_event}, lead reference {lead_reference}, invoice {invoice_number}, credit note {credit_number}"
        )
    }
}

impl From<BusinessNumbers> for RestoredBusiness {
    fn from(numbers: BusinessNumbers) -> Self {
        Self {
            tag: numbers.tag,
            last_event: numbers.last_event,
            lead_reference: numbers.lead_reference,
            invoice_number: numbers.invoice_number,
            credit_number: numbers.credit_number,
        }
    }
}

/// The content of a prepared database.
struct Prepared {
    renewal: Renewal,
    businesses: Vec<BusinessNumbers>,
    rows: u64,
}

/// Restores a backup into the database and the file store of the settings.
///
/// # Errors
/// [`BackupError`]. Once it has begun to write, the same restore can be run again.
pub(crate) async fn restore(
    backup: &Backup,
    settings: &Settings,
    as_copy: bool,
    shown: bool,
) -> Result<RestoreReport, BackupError> {
    let manifest = backup.manifest();
    if !known_migrations()?.contains(&manifest.schema) {
        return Err(BackupError::refused(format!(
            "the backup has the schema {}, which this program does not know: Forecourt {} made it",
            manifest.schema, manifest.program
        )));
    }
    let key = settings.known_secret_key()?;
    if let (Some(key), Some(mark)) = (&key, &manifest.key)
        && key_mark(key) != *mark
    {
        return Err(BackupError::refused(
            "FORECOURT_SECRET_KEY, or the secret key in FORECOURT_DATA_DIR, is not the one that the backup was made with",
        ));
    }
    let work = format!("the restore of backup {}", backup.stamp());
    let target = TargetDatabase::open(settings.database_url.reveal()).await?;
    target.check_empty(&work).await?;
    let files = ObjectFileStore::blobs(&settings.files_location())?;
    let mut lines = backup.files().await?;
    lines.retain(|line| !line.gone);
    let lines = if manifest.files.mode == FileMode::None {
        Vec::new()
    } else {
        lines
    };
    check_files(&*files, &lines).await?;
    let scratch = Scratch::with_room(&settings.data_dir, manifest.database.unpacked_bytes)?;
    let Checked { faults, snapshot, .. } = check(backup, &scratch).await?;
    if let Some(fault) = faults.faults.first() {
        return Err(BackupError::refused(format!(
            "the backup is damaged: {} ({}): {}",
            fault.what, fault.place, fault.found
        )));
    }
    let snapshot = snapshot.ok_or_else(|| BackupError::refused("the backup has no database"))?;
    let known = key.clone();
    let prepared = blocking(move || {
        if let Some(key) = &known {
            check_key(snapshot, key).and_then(|snapshot| prepare(snapshot, as_copy))
        } else {
            prepare(snapshot, as_copy)
        }
    })
    .await?;
    let Prepared {
        renewal,
        businesses,
        rows,
    } = prepared;
    let progress = SharedProgress::new(shown, "rows", Some(rows));
    target
        .fill(&unpacked(&scratch), &work, move |done| progress.reach(done))
        .await?;
    let missing = copy_files(backup, files, &lines, shown).await?;
    target.finish().await?;
    let claimed = match renewal.installation.as_str() {
        // No server ever ran on it.
        "" => None,
        installation => Some(wiring::files(settings)?.claim(installation).await?),
    };
    // Another restore in the same second would begin the same epoch.
    while SystemClock.now().epoch_seconds() <= renewal.epoch.number() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(RestoreReport {
        backup: backup.stamp().to_string(),
        epoch: renewal.epoch.number(),
        rows,
        files: (lines.len() - missing.len()) as u64,
        businesses: businesses.into_iter().map(RestoredBusiness::from).collect(),
        disarmed: renewal.disarmed,
        missing,
        claimed: claimed.filter(|owner| *owner != renewal.installation),
        lacks_key: key.is_none(),
    })
}

fn check_key(mut snapshot: Snapshot, key: &crate::settings::SecretKey) -> Result<Snapshot, BackupError> {
    if snapshot.accepts_key(&storage_key(key))? {
        Ok(snapshot)
    } else {
        Err(BackupError::refused(
            "FORECOURT_SECRET_KEY, or the secret key in FORECOURT_DATA_DIR, is not the one of the backup's database",
        ))
    }
}

/// Brings the database up to date, and makes it a new one.
fn prepare(mut snapshot: Snapshot, as_copy: bool) -> Result<Prepared, BackupError> {
    snapshot.migrate()?;
    let random: Option<&dyn Random> = as_copy.then_some(&SystemRandom as &dyn Random);
    let renewal = snapshot.renew(SystemClock.now(), random)?;
    let businesses = snapshot.businesses()?;
    let rows = snapshot.rows()?.values().sum();
    snapshot.close()?;
    Ok(Prepared {
        renewal,
        businesses,
        rows,
    })
}

/// Checks that the store has no other content under the names of the backup's files.
async fn check_files(store: &dyn BlobStore, lines: &[FileLine]) -> Result<(), BackupError> {
    let mut others = Vec::new();
    for line in lines {
        if is_other(store, line).await? {
            others.push(line.name.as_str());
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = others.iter().take(5).copied().collect();
    let more = others.len().saturating_sub(shown.len());
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    Err(BackupError::refused(format!(
        "the store of files has other content under the names {}{more}",
        shown.join(", ")
    )))
}

/// Returns true if the store has other content under the name of a file.
async fn is_other(store: &dyn BlobStore, line: &FileLine) -> Result<bool, BackupError> {
    let Some(Blob { size, etag, .. }) = store.stat(&line.name).await? else {
        return Ok(false);
    };
    if size != line.bytes {
        return Ok(true);
    }
    match (&line.sha256, &line.etag, etag) {
        (_, Some(expected), Some(found)) => Ok(*expected != found),
        (Some(expected), ..) => {
            let Some(open) = store.get(&line.name).await? else {
                return Ok(false);
            };
            let content: Vec<_> = open
                .content
                .try_collect()
                .await
                .map_err(forecourt_files::FileStoreError)?;
            Ok(sha256(&content) != *expected)
        }
        _ => Ok(false),
    }
}

fn sha256(parts: &[bytes::Bytes]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Copies the files that the store does not have; returns those whose content is nowhere.
async fn copy_files(
    backup: &Backup,
    store: Arc<dyn BlobStore>,
    lines: &[FileLine],
    shown: bool,
) -> Result<Vec<String>, BackupError> {
    let progress = SharedProgress::new(shown && !lines.is_empty(), "files", Some(lines.len() as u64));
    let mut missing = Vec::new();
    for (done, line) in lines.iter().enumerate() {
        progress.reach(done as u64);
        if store.stat(&line.name).await?.is_some() {
            continue;
        }
        let content = match backup.manifest().files.mode {
            FileMode::All => backup.file(&line.name).await?,
            FileMode::None | FileMode::Reference => None,
        };
        let Some(open) = content else {
            missing.push(line.name.clone());
            continue;
        };
        // A file is short enough to be held, so that none is stored that is damaged.
        let parts: Vec<bytes::Bytes> = open
            .content
            .try_collect()
            .await
            .map_err(forecourt_files::FileStoreError)?;
        let path: FilePath = line.name.parse()?;
        if line.sha256.as_ref().is_some_and(|expected| *expected != sha256(&parts)) {
            return Err(BackupError::refused(format!(
                "the backup is damaged: the content of {path} is another one"
            )));
        }
        let size = parts.iter().map(|part| part.len() as u64).sum();
        let content = stream::iter(parts.into_iter().map(Ok)).boxed();
        store.put(&path.to_string(), size, content).await?;
    }
    Ok(missing)
}
