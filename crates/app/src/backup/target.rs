//! Databases that are filled: by a restore, or by a move.

use std::path::{Path, PathBuf};

use forecourt_storage::{Config, Hindrance, Snapshot, Storage, postgres};

use super::{BackupError, blocking};

/// A database to fill. Until it is finished it carries a mark, by which servers refuse it.
pub(super) enum TargetDatabase {
    /// A file that is to be made.
    File(PathBuf),
    /// A database of a server.
    Server(Storage, postgres::Engine),
}

impl TargetDatabase {
    /// Opens the database at an address.
    pub(super) async fn open(url: &str) -> Result<Self, BackupError> {
        if let Some(path) = url.strip_prefix("sqlite://") {
            return Ok(Self::File(PathBuf::from(path)));
        }
        let config = Config {
            statement: None,
            lock: None,
            ..Config::new(url)
        };
        match Storage::open(&config).await? {
            Storage::Postgres(engine) => Ok(Self::Server(Storage::Postgres(engine.clone()), engine)),
            Storage::Sqlite(_) => Err(BackupError::refused("the address names no PostgreSQL")),
        }
    }

    /// Checks that nothing is there, or only what the same work left when it was interrupted.
    pub(super) async fn check_empty(&self, work: &str) -> Result<(), BackupError> {
        match self {
            Self::File(path) => {
                let there: Vec<PathBuf> = files_of(path).into_iter().filter(|path| path.exists()).collect();
                let Some(first) = there.first() else {
                    return Ok(());
                };
                let named: Vec<String> = there.iter().map(|path| path.display().to_string()).collect();
                let refusal = format!(
                    "a restore or move needs an empty database, and there is {}",
                    named.join(", ")
                );
                if first != path {
                    return Err(BackupError::refused(refusal));
                }
                let path = path.clone();
                let left = blocking(move || {
                    Ok::<_, BackupError>(Snapshot::open(&path).and_then(|mut file| file.unfinished()))
                })
                .await?;
                check_left(left.ok().flatten(), work, refusal)
            }
            Self::Server(storage, _) => {
                let tables = storage.table_names().await?;
                if tables.is_empty() {
                    return Ok(());
                }
                let shown: Vec<&str> = tables.iter().take(5).map(String::as_str).collect();
                let more = tables.len().saturating_sub(shown.len());
                let more = if more == 0 {
                    String::new()
                } else {
                    format!(" and {more} more")
                };
                let refusal = format!(
                    "a restore or move needs an empty database, and there are the tables {}{more}",
                    shown.join(", ")
                );
                let left = match storage.hindrance().await? {
                    Some(Hindrance::Unfinished(left)) => Some(left),
                    _ => None,
                };
                check_left(left, work, refusal)
            }
        }
    }

    /// Removes everything that is there.
    pub(super) async fn empty(&self) -> Result<(), BackupError> {
        match self {
            Self::File(path) => {
                for path in files_of(path).into_iter().chain([draft(path)]) {
                    match std::fs::remove_file(&path) {
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                            return Err(BackupError::File(path, error));
                        }
                        _ => {}
                    }
                }
                Ok(())
            }
            Self::Server(_, engine) => Ok(engine.empty().await?),
        }
    }

    /// Fills it with the rows of a file, which has this program's schema and is consumed if it can be.
    pub(super) async fn fill(
        &self,
        from: &Path,
        work: &str,
        progress: impl FnMut(u64) + Send + 'static,
    ) -> Result<(), BackupError> {
        self.empty().await?;
        match self {
            Self::File(path) => {
                let (from, path, work) = (from.to_owned(), path.clone(), work.to_owned());
                blocking(move || {
                    let mut file = Snapshot::open(&from)?;
                    file.mark_unfinished(&work)?;
                    file.close()?;
                    place(&from, &path).map_err(|error| BackupError::File(path, error))
                })
                .await
            }
            Self::Server(storage, engine) => {
                storage.mark_unfinished(Some(work)).await?;
                storage.migrate().await?;
                engine.load(from.to_owned(), progress).await?;
                Ok(())
            }
        }
    }

    /// Removes the mark: servers may use it.
    pub(super) async fn finish(&self) -> Result<(), BackupError> {
        match self {
            Self::File(path) => {
                let path = path.clone();
                blocking(move || {
                    let mut file = Snapshot::open(&path)?;
                    file.mark_finished()?;
                    file.close()
                })
                .await
            }
            Self::Server(storage, _) => Ok(storage.mark_unfinished(None).await?),
        }
    }
}

fn check_left(left: Option<String>, work: &str, refusal: String) -> Result<(), BackupError> {
    match left {
        Some(left) if left == work => Ok(()),
        Some(left) => Err(BackupError::Refused(format!(
            "{refusal}: what is left of {left}, which was not finished; run that again, or remove it"
        ))),
        None => Err(BackupError::Refused(refusal)),
    }
}

/// Returns the file of a database, and those that SQLite keeps beside it.
pub(super) fn files_of(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| with_suffix(path, suffix))
}

fn draft(path: &Path) -> PathBuf {
    with_suffix(path, ".unfinished")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Moves a finished file to its place, durably. The place has the whole file or none.
fn place(from: &Path, to: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    std::fs::set_permissions(from, std::fs::Permissions::from_mode(0o600))?;
    if std::fs::rename(from, to).is_err() {
        // It is on another file system.
        let draft = draft(to);
        std::fs::copy(from, &draft)?;
        std::fs::File::open(&draft)?.sync_all()?;
        std::fs::rename(&draft, to)?;
    }
    std::fs::File::open(folder)?.sync_all()
}
