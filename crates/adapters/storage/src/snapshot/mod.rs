//! Whole databases as SQLite files: the one form of backups of both engines, and the way from one engine to the other.
//!
//! Rows are copied by what the databases say of their tables, so a new area's tables are copied like all others. [`contents`]
//! alone knows tables by name: it examines what their rows must fulfil.

mod contents;
mod digest;
mod file;
mod gaps;
mod loading;
mod renewal;

pub use contents::{BusinessNumbers, Fault, StoredFile};
pub use digest::TableDigest;
pub use file::Snapshot;
pub use renewal::Renewal;

pub(crate) use digest::{TableHasher, Value};
pub(crate) use file::{PROGRESS_ROWS, RESTORE, Table, quoted};
pub(crate) use loading::Loading;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use forecourt_kernel::{BusinessId, StoreError, StoreResult};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::error::{MigrateError, other};
use crate::{Storage, sqlite};

/// The reason why a database must not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// A restore, or a move to here, was not finished.
    Unfinished(String),
    /// It is being moved, or was moved.
    Sealed(String),
}

/// The key of the fact that a database is being moved, or was moved, and the address to which.
pub(crate) const SEAL: &str = "moved";
const TIMELINE: &str = "timeline";
/// The facts that are true of one database alone, and stay behind when its rows are copied.
pub(crate) const LEFT_BEHIND: [&str; 2] = [SEAL, TIMELINE];

/// Returns the name of the migration with a version; `None` if this program does not know it.
///
/// # Errors
/// The migrations cannot be read.
pub fn migration_name(version: &str) -> Result<Option<String>, MigrateError> {
    let known = sqlite::migrate::known()?;
    Ok(known
        .into_iter()
        .find(|(known, _)| known == version)
        .map(|(_, name)| name))
}

/// Returns the names of the migrations that this program knows, the oldest first.
///
/// # Errors
/// The migrations cannot be read.
pub fn known_migrations() -> Result<Vec<String>, MigrateError> {
    Ok(sqlite::migrate::known()?.into_iter().map(|(_, name)| name).collect())
}

/// Returns the name of the latest migration that this program knows.
///
/// # Errors
/// The migrations cannot be read.
pub fn latest_migration() -> Result<String, MigrateError> {
    Ok(known_migrations()?.pop().unwrap_or_default())
}

impl Snapshot {
    /// Runs the missing migrations.
    ///
    /// # Errors
    /// [`MigrateError`].
    pub fn migrate(&mut self) -> Result<(), MigrateError> {
        sqlite::migrate::apply(&mut self.conn)?;
        Ok(())
    }

    /// Removes the facts that are true of another database alone.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn leave_behind(&mut self) -> StoreResult<()> {
        LEFT_BEHIND
            .iter()
            .try_for_each(|key| self.batch(&format!("DELETE FROM forecourt_meta WHERE key = '{key}'")))
    }

    /// Marks the file as one that is not finished, by a name for what makes it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn mark_unfinished(&mut self, name: &str) -> StoreResult<()> {
        self.batch(&unfinished(name))
    }

    /// Removes the mark.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn mark_finished(&mut self) -> StoreResult<()> {
        self.batch(FINISHED)
    }

    /// Returns the name of what began to make the file and did not finish.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn unfinished(&mut self) -> StoreResult<Option<String>> {
        let marks = format!("SELECT name FROM sqlite_schema WHERE name = '{RESTORE}'");
        if self.texts(&marks)?.is_empty() {
            return Ok(None);
        }
        Ok(self.texts(&format!("SELECT name FROM {RESTORE}"))?.into_iter().next())
    }
}

/// The statement that finishes a database.
const FINISHED: &str = "DROP TABLE IF EXISTS forecourt_restore";

/// The statements that mark a database as one that is not finished.
fn unfinished(name: &str) -> String {
    let name = name.replace('\'', "''");
    format!(
        "CREATE TABLE IF NOT EXISTS {RESTORE} (name TEXT NOT NULL); DELETE FROM {RESTORE};
         INSERT INTO {RESTORE} (name) VALUES ('{name}')"
    )
}

impl Storage {
    /// Returns the size of the database in bytes.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be reached.
    pub async fn size(&self) -> StoreResult<u64> {
        let query = match self {
            Self::Sqlite(_) => "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            Self::Postgres(_) => "SELECT pg_database_size(current_database())::text",
        };
        let size = self.texts(query).await?;
        size.first().map_or("0", String::as_str).parse().map_err(other)
    }

    /// Copies the database, as of one moment, into a new file; servers go on meanwhile. `progress` is called with the number of
    /// rows that were copied, if they are copied one by one.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached, `Other` if its schema is not that of this program.
    pub async fn snapshot(&self, to: PathBuf, progress: impl FnMut(u64) + Send + 'static) -> StoreResult<Snapshot> {
        match self {
            Self::Sqlite(engine) => {
                let engine = engine.clone();
                blocking(move || {
                    let mut source = Snapshot::connect(engine.path())?;
                    let target = std::path::absolute(&to).map_err(other)?;
                    let target = target
                        .to_str()
                        .ok_or_else(|| other("the path of a database must be UTF-8"))?;
                    source.batch(&format!("VACUUM INTO '{}'", target.replace('\'', "''")))?;
                    drop(source);
                    Snapshot::connect(&to)
                })
                .await
            }
            Self::Postgres(engine) => engine.dump(to, progress).await,
        }
    }

    /// Returns the digests of all tables.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn digests(
        &self,
        progress: impl FnMut(u64) + Send + 'static,
    ) -> StoreResult<BTreeMap<String, TableDigest>> {
        match self {
            Self::Sqlite(engine) => {
                let engine = engine.clone();
                blocking(move || Snapshot::connect(engine.path())?.digests(progress)).await
            }
            Self::Postgres(engine) => engine.digests(progress).await,
        }
    }

    /// Returns the version of the latest migration that was run on the database.
    ///
    /// # Errors
    /// `Other` on a database that was never migrated, `Unavailable` if it cannot be reached.
    pub async fn schema_version(&self) -> StoreResult<String> {
        let latest = self
            .texts("SELECT max(version) FROM __diesel_schema_migrations")
            .await?;
        Ok(latest.into_iter().next().unwrap_or_default())
    }

    /// Returns the names of all tables in the database, those of other programs too.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be reached.
    pub async fn table_names(&self) -> StoreResult<Vec<String>> {
        self.texts(match self {
            Self::Sqlite(_) => "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1",
            Self::Postgres(_) => {
                "SELECT CASE schemaname WHEN current_schema() THEN tablename::text ELSE schemaname || '.' || tablename END
                 FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
            }
        })
        .await
    }

    /// Returns the reason why the database must not be used, if there is one.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be reached.
    pub async fn hindrance(&self) -> StoreResult<Option<Hindrance>> {
        let tables = self.table_names().await?;
        let has = |name: &str| tables.iter().any(|table| table == name);
        if has(RESTORE) {
            let name = self.texts(&format!("SELECT name FROM {RESTORE}")).await?;
            return Ok(Some(Hindrance::Unfinished(name.into_iter().next().unwrap_or_default())));
        }
        if !has("forecourt_meta") {
            return Ok(None);
        }
        let seal = format!("SELECT value FROM forecourt_meta WHERE key = '{SEAL}'");
        Ok(self.texts(&seal).await?.into_iter().next().map(Hindrance::Sealed))
    }

    /// Keeps all servers and commands from using the database, for a reason that they show; `None` ends that.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn seal(&self, reason: Option<&str>) -> StoreResult<()> {
        let delete = format!("DELETE FROM forecourt_meta WHERE key = '{SEAL}'");
        let insert = reason.map(|reason| {
            let reason = reason.replace('\'', "''");
            format!("INSERT INTO forecourt_meta (key, value) VALUES ('{SEAL}', '{reason}')")
        });
        self.batch(format!("BEGIN; {delete}; {}; COMMIT", insert.unwrap_or_default()))
            .await
    }

    /// Marks the database as one that is not finished, by a name for what makes it; `None` finishes it.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be reached.
    pub async fn mark_unfinished(&self, name: Option<&str>) -> StoreResult<()> {
        let statements = name.map_or_else(|| FINISHED.to_owned(), unfinished);
        self.batch(statements).await
    }

    /// Returns true if a file is recorded.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn has_file(&self, business: BusinessId, name: &str) -> StoreResult<bool> {
        let name = name.replace('\'', "''");
        let query = format!("SELECT name FROM files WHERE business_id = {business} AND name = '{name}'");
        Ok(!self.texts(&query).await?.is_empty())
    }

    /// Returns all recorded files.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn stored_files(&self) -> StoreResult<Vec<StoredFile>> {
        let lines = self
            .texts("SELECT business_id || ' ' || size || ' ' || sha256 || ' ' || name FROM files ORDER BY business_id, name")
            .await?;
        let parse = |line: &String| {
            let mut parts = line.splitn(4, ' ');
            Some(StoredFile {
                business: BusinessId::new(parts.next()?.parse().ok()?),
                bytes: parts.next()?.parse().ok()?,
                sha256: parts.next()?.to_owned(),
                name: parts.next()?.to_owned(),
            })
        };
        let files: Option<Vec<StoredFile>> = lines.iter().map(parse).collect();
        files.ok_or_else(|| other("the record of a file cannot be read"))
    }

    /// Returns the installation; `None` if no server ever ran on the database.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn installation(&self) -> StoreResult<Option<String>> {
        let found = self
            .texts("SELECT value FROM forecourt_meta WHERE key = 'installation'")
            .await?;
        Ok(found.into_iter().next())
    }

    /// Returns true if another process holds the lock of writers, or changes the schema.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn is_locked(&self) -> StoreResult<bool> {
        match self {
            Self::Sqlite(engine) => {
                let engine = engine.clone();
                blocking(move || {
                    let mut file = Snapshot::connect(engine.path())?;
                    file.batch("PRAGMA busy_timeout = 0")?;
                    match file.batch("BEGIN IMMEDIATE; ROLLBACK") {
                        Ok(()) => Ok(false),
                        Err(StoreError::Unavailable(_)) => Ok(true),
                        Err(error) => Err(error),
                    }
                })
                .await
            }
            Self::Postgres(engine) => engine.is_locked().await,
        }
    }

    async fn texts(&self, query: &str) -> StoreResult<Vec<String>> {
        match self {
            Self::Sqlite(engine) => {
                let (engine, query) = (engine.clone(), query.to_owned());
                blocking(move || Snapshot::connect(engine.path())?.texts(&query)).await
            }
            Self::Postgres(engine) => engine.texts(query).await,
        }
    }

    async fn batch(&self, statements: String) -> StoreResult<()> {
        match self {
            Self::Sqlite(engine) => {
                let engine = engine.clone();
                blocking(move || Snapshot::connect(engine.path())?.batch(&statements)).await
            }
            Self::Postgres(engine) => engine.batch(&statements).await,
        }
    }
}

impl crate::postgres::Engine {
    /// Fills a database that has the schema of this program and no records, from a file; returns the number of rows. `progress`
    /// is called with the number so far.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be reached, `Other` if the file does not have the same tables.
    pub async fn load(&self, from: PathBuf, progress: impl FnMut(u64) + Send + 'static) -> StoreResult<u64> {
        let copier = self.copier(Handle::current()).await?;
        blocking(move || copier.load(&mut Snapshot::open(&from)?, &LEFT_BEHIND, progress)).await
    }

    /// Drops all tables and functions of its schema.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be reached.
    pub async fn empty(&self) -> StoreResult<()> {
        let copier = self.copier(Handle::current()).await?;
        blocking(move || copier.empty()).await
    }

    async fn dump(&self, to: PathBuf, progress: impl FnMut(u64) + Send + 'static) -> StoreResult<Snapshot> {
        let schema = self
            .texts("SELECT max(version) FROM __diesel_schema_migrations")
            .await?;
        let schema = schema.into_iter().next().unwrap_or_default();
        let copier = self.copier(Handle::current()).await?;
        blocking(move || copier.dump(Path::new(&to), &schema, progress)).await
    }

    async fn digests(&self, progress: impl FnMut(u64) + Send + 'static) -> StoreResult<BTreeMap<String, TableDigest>> {
        let copier = self.copier(Handle::current()).await?;
        blocking(move || copier.digests(progress)).await
    }
}

/// Runs work that waits for files on a thread that may wait.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> StoreResult<T> + Send + 'static) -> StoreResult<T> {
    spawn_blocking(work).await.map_err(other)?
}
