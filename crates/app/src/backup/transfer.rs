//! Moving a database to another engine or machine.

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use forecourt_archive::FilePath;
use forecourt_file_store::ObjectFileStore;
use forecourt_files::BlobStore;
use forecourt_storage::{Hindrance, Snapshot, Storage};
use serde::Serialize;

use super::{BackupError, BackupUrl, blocking, take::SharedProgress, target::TargetDatabase};
use crate::{scratch::Scratch, settings::Settings, system::SystemClock, wiring};

/// A database that was moved.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TransferReport {
    /// The target, without a password.
    pub(crate) to: String,
    /// The number of tables.
    pub(crate) tables: u64,
    /// The number of rows.
    pub(crate) rows: u64,
    /// The number of files that were copied.
    pub(crate) files: u64,
    /// The time that it took.
    pub(crate) seconds: f64,
    /// The tables that are not the same on both sides: then nothing was moved.
    pub(crate) differing: Vec<String>,
}

/// Tables whose rows are true of one database alone.
const NOT_COMPARED: [&str; 2] = ["forecourt_meta", "servers"];

/// Moves the database of the settings to `to`, which is shown as `shown_to`.
///
/// # Errors
/// [`BackupError`]; then the target is empty again and the source can be used.
pub(crate) async fn transfer(
    settings: &Settings,
    to: &str,
    shown_to: &str,
    files_to: Option<&BackupUrl>,
    shown: bool,
) -> Result<TransferReport, BackupError> {
    let begun = Instant::now();
    let storage = wiring::open_existing(settings).await?;
    if let Some(Hindrance::Sealed(seal)) = storage.hindrance().await? {
        return Err(BackupError::refused(format!(
            "the database {seal}: `forecourt move --undo` lets it be used again, if the target does not serve"
        )));
    }
    if to == settings.database_url.reveal() {
        return Err(BackupError::refused("the target is the database itself"));
    }
    let work = "a move to here".to_owned();
    let target = TargetDatabase::open(to).await?;
    target.check_empty(&work).await?;
    check_idle(&storage).await?;
    wiring::migrate(settings, &storage).await?;
    let scratch = Scratch::with_room(&settings.data_dir, storage.size().await?)?;
    storage.seal(Some(&format!("is being moved to {shown_to}"))).await?;
    let moved = async {
        // A server may have started in the meantime.
        check_idle(&storage).await?;
        move_rows(&storage, &target, &scratch, &work, shown).await
    };
    let outcome = match moved.await {
        Ok((tables, rows, differing)) if differing.is_empty() => {
            let files = match files_to {
                Some(files_to) => copy_files(settings, &storage, files_to, shown).await,
                None => Ok(0),
            };
            files.map(|files| (tables, rows, files, differing))
        }
        Ok((tables, rows, differing)) => Ok((tables, rows, 0, differing)),
        Err(error) => Err(error),
    };
    let finished = match outcome {
        Ok(done) if done.3.is_empty() => match target.finish().await {
            Ok(()) => Ok(done),
            Err(error) => Err(error),
        },
        other => other,
    };
    match finished {
        Ok((tables, rows, files, differing)) => {
            if differing.is_empty() {
                storage.seal(Some(&format!("moved to {shown_to}"))).await?;
            } else {
                target.empty().await?;
                storage.seal(None).await?;
            }
            Ok(TransferReport {
                to: shown_to.to_owned(),
                tables,
                rows,
                files,
                seconds: (begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
                differing,
            })
        }
        Err(error) => {
            // The first failure is the one to report.
            let _ = target.empty().await;
            let _ = storage.seal(None).await;
            Err(error)
        }
    }
}

/// Refuses a database that a server uses, or another command writes to.
async fn check_idle(storage: &Storage) -> Result<(), BackupError> {
    if let Some(server) = storage.running_servers(&SystemClock).await?.first() {
        let server = &server.server;
        return Err(BackupError::refused(format!(
            "a server uses the database: process {} on {}; stop it first",
            server.pid, server.host
        )));
    }
    if storage.is_locked().await? {
        return Err(BackupError::refused(
            "another process holds a lock on the database: wait until it has ended",
        ));
    }
    Ok(())
}

/// Copies all rows; returns the numbers of tables and rows, and the tables that are not the same on both sides.
async fn move_rows(
    storage: &Storage,
    target: &TargetDatabase,
    scratch: &Scratch,
    work: &str,
    shown: bool,
) -> Result<(u64, u64, Vec<String>), BackupError> {
    let path = scratch.path("moved.sqlite");
    let progress = SharedProgress::new(shown, "rows", None);
    let copying = progress.clone();
    let mut snapshot = storage.snapshot(path.clone(), move |rows| copying.reach(rows)).await?;
    blocking(move || {
        snapshot.leave_behind()?;
        snapshot.close()
    })
    .await?;
    let filling = progress.clone();
    target.fill(&path, work, move |rows| filling.reach(rows)).await?;
    let ours = storage.digests(|_| ()).await?;
    let theirs = match target {
        TargetDatabase::File(path) => {
            let path = path.clone();
            blocking(move || Snapshot::open(&path)?.digests(|_| ())).await?
        }
        TargetDatabase::Server(target, _) => target.digests(|_| ()).await?,
    };
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let compared = names.into_iter().filter(|name| !NOT_COMPARED.contains(&name.as_str()));
    let differing = compared
        .filter(|name| ours.get(*name) != theirs.get(*name))
        .cloned()
        .collect();
    Ok((
        ours.len() as u64,
        ours.values().map(|table| table.rows).sum(),
        differing,
    ))
}

/// Copies the content of all recorded files; returns their number.
async fn copy_files(
    settings: &Settings,
    storage: &Storage,
    files_to: &BackupUrl,
    shown: bool,
) -> Result<u64, BackupError> {
    let (from, to) = (
        ObjectFileStore::blobs(&settings.files_location())?,
        ObjectFileStore::blobs(&files_to.0)?,
    );
    let files = storage.stored_files().await?;
    let progress = SharedProgress::new(shown && !files.is_empty(), "files", Some(files.len() as u64));
    let mut copied = 0;
    for (done, file) in files.into_iter().enumerate() {
        progress.reach(done as u64);
        let name = file.name.parse();
        let name =
            name.map_err(|_| BackupError::refused(format!("the record of a file has the name {:?}", file.name)))?;
        let path = FilePath {
            business: file.business,
            name,
        };
        copied += u64::from(copy(&*from, &to, &path.to_string(), file.bytes).await?);
    }
    let installation = storage.installation().await?;
    if let Some(installation) = installation {
        let store = ObjectFileStore::open(&files_to.0)?;
        forecourt_files::FileStore::claim(&store, &installation).await?;
    }
    Ok(copied)
}

/// Copies a file, unless it is there already; returns true if it was copied.
async fn copy(from: &dyn BlobStore, to: &Arc<dyn BlobStore>, path: &str, bytes: u64) -> Result<bool, BackupError> {
    match to.stat(path).await? {
        Some(blob) if blob.size == bytes => return Ok(false),
        Some(_) => {
            return Err(BackupError::refused(format!(
                "the new store of files has other content under the name {path}"
            )));
        }
        None => {}
    }
    let open = from.get(path).await?;
    let open = open.ok_or_else(|| BackupError::refused(format!("the content of the file {path} is missing")))?;
    to.put(path, bytes, open.content).await?;
    Ok(true)
}
