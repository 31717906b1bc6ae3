//! Taking a backup.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use forecourt_archive::{
    BackupWriter, BusinessEntry, DatabaseEntry, FORMAT, FileLine, FileMode, FilePath, FilesEntry, Manifest, Repository,
    Stamp, TableEntry, Verification, VerifyLevel, compress_file, write_file_lines,
};
use forecourt_files::BlobStore;
use forecourt_kernel::Clock;
use forecourt_storage::{BusinessNumbers, Snapshot, Storage, StoredFile, latest_migration, migration_name};
use serde::Serialize;

use super::{
    BackupError, blocking, key_mark, storage_key,
    verify::{Verifying, verify},
};
use crate::{progress::Progress, scratch::Scratch, settings::SecretKey, system::SystemClock};

/// The target of a backup.
pub(crate) enum Target {
    /// One more in a repository.
    Repository(Repository),
    /// A new archive.
    File(PathBuf),
    /// Standard output.
    Stdout,
}

/// The source of a backup, and the way in which it is made.
pub(crate) struct Taking<'a> {
    /// The database.
    pub(crate) storage: Storage,
    /// Its engine: `sqlite` or `postgres`.
    pub(crate) engine: &'static str,
    /// The content of files.
    pub(crate) files: Arc<dyn BlobStore>,
    /// The way in which files are in the backup.
    pub(crate) mode: FileMode,
    /// The secret key, if it is known.
    pub(crate) key: Option<SecretKey>,
    /// The data folder.
    pub(crate) data_dir: &'a Path,
    /// The verification after the backup; `None` for none.
    pub(crate) verify: Option<VerifyLevel>,
    /// True if progress is shown.
    pub(crate) shown: bool,
}

/// A backup that was made.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TakeReport {
    /// Its name.
    pub(crate) stamp: String,
    /// The bytes that were written.
    pub(crate) bytes: u64,
    /// The number of rows.
    pub(crate) rows: u64,
    /// The number of files.
    pub(crate) files: u64,
    /// The number of files that the repository did not have.
    pub(crate) new_files: u64,
    /// The time that it took.
    pub(crate) seconds: f64,
    /// The thoroughness with which it was verified; `None` if it was not.
    pub(crate) verified: Option<VerifyLevel>,
    /// Recorded files whose content is missing.
    #[serde(skip)]
    pub(crate) missing: Vec<String>,
}

/// Progress that other threads report.
#[derive(Clone)]
pub(crate) struct SharedProgress(Option<Arc<Mutex<Progress>>>);

impl SharedProgress {
    pub(crate) fn new(shown: bool, kind: &'static str, total: Option<u64>) -> Self {
        let progress = || total.map_or_else(|| Progress::count(kind), |total| Progress::of(kind, total));
        Self(shown.then(|| Arc::new(Mutex::new(progress()))))
    }

    pub(crate) fn reach(&self, done: u64) {
        if let Some(progress) = &self.0 {
            progress.lock().unwrap_or_else(PoisonError::into_inner).reach(done);
        }
    }
}

/// The content of a snapshot, as the manifest has it.
struct Content {
    manifest: Manifest,
    files: Vec<StoredFile>,
}

/// Takes a backup; servers go on meanwhile.
///
/// # Errors
/// [`BackupError`]; then no backup is left that a command would take for one.
pub(crate) async fn take(taking: Taking<'_>, target: Target) -> Result<TakeReport, BackupError> {
    let begun = Instant::now();
    let version = taking.storage.schema_version().await?;
    let latest = latest_migration()?;
    if migration_name(&version)?.as_ref() != Some(&latest) {
        return Err(BackupError::refused(format!(
            "the database has the schema {version}, and this program has {latest}: back it up with the program that serves it, or run \
             `forecourt migrate` first"
        )));
    }
    let scratch = Scratch::with_room(taking.data_dir, taking.storage.size().await?)?;
    let stamp = free_stamp(&target).await?;
    let (database, packed) = (scratch.path("database.sqlite"), scratch.path("database.sqlite.zst"));
    let copied = SharedProgress::new(taking.shown, "rows", None);
    let progress = copied.clone();
    let mut snapshot = taking
        .storage
        .snapshot(database.clone(), move |rows| progress.reach(rows))
        .await?;
    let (engine, mode, key) = (taking.engine, taking.mode, taking.key.clone());
    let (Content { mut manifest, files }, entry) = blocking(move || {
        if let Some(key) = &key
            && !snapshot.accepts_key(&storage_key(key))?
        {
            return Err(BackupError::refused(
                "FORECOURT_SECRET_KEY, or the secret key in FORECOURT_DATA_DIR, is not the one of this database",
            ));
        }
        let content = content_of(&mut snapshot, stamp, engine, mode, key.as_ref(), latest, &copied)?;
        snapshot.close()?;
        let entry = compress_file(&database, &packed)?;
        Ok::<_, BackupError>((content, (entry, packed)))
    })
    .await?;
    let (entry, packed) = entry;
    manifest.database = DatabaseEntry {
        bytes: entry.bytes,
        sha256: entry.sha256,
        unpacked_bytes: entry.unpacked_bytes,
        unpacked_sha256: entry.unpacked_sha256,
    };
    let (mut writer, draft) = open(&target, stamp)?;
    writer.database(&packed).await?;
    let (lines, missing) = copy_files(&taking, &mut writer, files).await?;
    let present = || lines.iter().filter(|line| !line.gone);
    manifest.files = FilesEntry {
        mode,
        count: present().count() as u64,
        bytes: present().map(|line| line.bytes).sum(),
    };
    let written = writer.finish(write_file_lines(&lines)?, &manifest).await?;
    if let (Some(draft), Target::File(path)) = (draft, &target) {
        draft.publish(path)?;
    }
    let verified = match (&target, taking.verify) {
        (Target::Stdout, _) | (_, None) => None,
        (target, Some(level)) => {
            // Its room is needed.
            drop(scratch);
            check_written(&taking, target, stamp, level).await?;
            Some(level)
        }
    };
    Ok(TakeReport {
        stamp: stamp.to_string(),
        bytes: written.bytes,
        rows: manifest.rows(),
        files: manifest.files.count,
        new_files: written.new_files,
        seconds: (begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
        verified,
        missing,
    })
}

/// Returns the stamp of the present second; waits for the next one if the repository has that already.
async fn free_stamp(target: &Target) -> Result<Stamp, BackupError> {
    loop {
        let stamp = Stamp::new(SystemClock.now());
        match target {
            Target::Repository(repository) if repository.has(stamp).await? => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            _ => return Ok(stamp),
        }
    }
}

/// Reads everything that the manifest says of the database.
fn content_of(
    snapshot: &mut Snapshot,
    stamp: Stamp,
    engine: &str,
    mode: FileMode,
    key: Option<&SecretKey>,
    schema: String,
    progress: &SharedProgress,
) -> Result<Content, BackupError> {
    let digests = snapshot.digests(|rows| progress.reach(rows))?;
    let tables = digests.into_iter().map(|(name, table)| {
        let entry = TableEntry {
            rows: table.rows,
            digest: table.digest,
        };
        (name, entry)
    });
    let epoch = snapshot.meta("epoch")?.and_then(|epoch| epoch.parse().ok());
    Ok(Content {
        manifest: Manifest {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            schema,
            engine: engine.to_owned(),
            created: stamp.time().epoch_seconds(),
            installation: snapshot.meta("installation")?.unwrap_or_default(),
            epoch: epoch.unwrap_or_default(),
            key: key.map(key_mark),
            database: DatabaseEntry {
                bytes: 0,
                sha256: String::new(),
                unpacked_bytes: 0,
                unpacked_sha256: String::new(),
            },
            tables: tables.collect(),
            businesses: snapshot.businesses()?.into_iter().map(business_entry).collect(),
            files: FilesEntry {
                mode,
                count: 0,
                bytes: 0,
            },
        },
        files: if mode == FileMode::None {
            Vec::new()
        } else {
            snapshot.files()?
        },
    })
}

pub(super) fn business_entry(numbers: BusinessNumbers) -> BusinessEntry {
    let BusinessNumbers {
        id,
        tag,
        first_event,
        last_event,
        lead_reference,
        invoice_number,
        credit_number,
    } = numbers;
    BusinessEntry {
        id,
        tag,
        first_event,
        last_event,
        lead_reference,
        invoice_number,
        credit_number,
        audit_head: None,
    }
}

/// Copies the files, or lists them; returns the list, and the files that should be there and are not.
async fn copy_files(
    taking: &Taking<'_>,
    writer: &mut BackupWriter,
    files: Vec<StoredFile>,
) -> Result<(Vec<FileLine>, Vec<String>), BackupError> {
    let progress = SharedProgress::new(taking.shown && !files.is_empty(), "files", Some(files.len() as u64));
    let (mut lines, mut missing) = (Vec::with_capacity(files.len()), Vec::new());
    for (done, file) in files.into_iter().enumerate() {
        progress.reach(done as u64);
        let name = file.name.parse();
        let name =
            name.map_err(|_| BackupError::refused(format!("the record of a file has the name {:?}", file.name)))?;
        let path = FilePath {
            business: file.business,
            name,
        };
        let path = path.to_string();
        let mut line = FileLine {
            name: path.clone(),
            bytes: file.bytes,
            sha256: Some(file.sha256),
            etag: None,
            gone: false,
        };
        let is_there = if taking.mode == FileMode::All {
            match taking.files.get(&path).await? {
                Some(open) if open.size == file.bytes => {
                    writer.file(&path, file.bytes, open.content).await?;
                    true
                }
                Some(_) | None => false,
            }
        } else {
            let found = taking.files.stat(&path).await?;
            if let Some(etag) = found.as_ref().and_then(|blob| blob.etag.clone()) {
                line.etag = Some(etag);
                line.sha256 = None;
            }
            found.is_some_and(|blob| blob.size == file.bytes)
        };
        if !is_there {
            // It may have been deleted since the database was copied.
            line.gone = !taking.storage.has_file(file.business, &file.name).await?;
            if !line.gone {
                missing.push(path);
            }
        }
        lines.push(line);
    }
    Ok((lines, missing))
}

/// An archive that is being written, beside its final name. It is removed on drop unless it is published.
struct Draft(PathBuf);

impl Draft {
    fn publish(self, path: &Path) -> Result<(), BackupError> {
        let failed = |error| BackupError::File(path.to_owned(), error);
        File::open(&self.0).and_then(|file| file.sync_all()).map_err(failed)?;
        std::fs::rename(&self.0, path).map_err(failed)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let synced = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        synced.map_err(failed)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // A published one has another name by now.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn open(target: &Target, stamp: Stamp) -> Result<(BackupWriter, Option<Draft>), BackupError> {
    match target {
        Target::Repository(repository) => Ok((repository.writer(stamp), None)),
        Target::Stdout => Ok((BackupWriter::archive(Box::new(io::stdout()), stamp), None)),
        Target::File(path) => {
            if path.exists() {
                return Err(BackupError::refused(format!("{} is there already", path.display())));
            }
            let mut name = path.clone().into_os_string();
            name.push(".unfinished");
            let draft = PathBuf::from(name);
            let file = private_file(&draft).map_err(|error| BackupError::File(draft.clone(), error))?;
            let file: Box<dyn Write + Send> = Box::new(io::BufWriter::with_capacity(1 << 20, file));
            Ok((BackupWriter::archive(file, stamp), Some(Draft(draft))))
        }
    }
}

/// Makes a file that only this account reads, in place of what a killed process left.
fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Verifies the backup that was just written.
async fn check_written(
    taking: &Taking<'_>,
    target: &Target,
    stamp: Stamp,
    level: VerifyLevel,
) -> Result<(), BackupError> {
    let backup = match target {
        Target::Repository(repository) => repository.backup(Some(stamp)).await?,
        Target::File(path) => forecourt_archive::Backup::open_archive(path).await?,
        Target::Stdout => return Ok(()),
    };
    let report = verify(Verifying {
        backup: &backup,
        level,
        key: taking.key.clone(),
        files: Arc::clone(&taking.files),
        data_dir: taking.data_dir,
        shown: taking.shown,
    });
    let faults = report.await?.faults;
    if let Target::Repository(repository) = target {
        let verification = Verification {
            ok: faults.is_empty(),
            how: level,
            at: SystemClock.now().epoch_seconds(),
        };
        repository.note(stamp, verification).await?;
    }
    match faults.first() {
        Some(fault) => Err(BackupError::refused(format!(
            "the backup {stamp} is not what was written: {} ({}): {}",
            fault.what, fault.place, fault.found
        ))),
        None => Ok(()),
    }
}
