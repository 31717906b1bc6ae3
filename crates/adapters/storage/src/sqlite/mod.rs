//! SQLite inside this process: the engine of a server that stands alone.
//!
//! Readers are many and writers take turns on one connection, where **group commit** lets one fsync serve all who wrote
//! since the last one ([`Session`]). A statement is microseconds and runs where it is called; an fsync never does.
//!
//! A foreign key must not be deferred: it would fail the shared commit, and with it everybody's writes.

mod conn;
pub(crate) mod deliveries;
pub(crate) mod dialect;
mod flusher;
mod migrate;
mod readers;
#[expect(clippy::duplicate_mod, reason = "every query is compiled once per engine")]
#[path = "../repo/mod.rs"]
pub(crate) mod repo;
pub(crate) mod search;
mod session;
mod writer;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diesel::dsl::sql;
use diesel::sql_types::Text;
use diesel_async::{RunQueryDsl as _, SimpleAsyncConnection as _};
use forecourt_kernel::{BoxError, StoreResult};
use tokio::task::spawn_blocking;

pub use conn::{Conn, Runtime};
pub use readers::Reader;
pub use session::Session;

use crate::config::{Config, Durability};
use crate::error::{MigrateError, OpenError, store_error};
use crate::pool::{Effort, PoolStatus, WriteStats};
use crate::totals::Totals;
use conn::{Link, Role};
use readers::Readers;
use writer::WriterDesk;

/// The backend that the queries are checked against.
pub type Db = diesel::sqlite::Sqlite;

/// One database file, with its readers and its writer. Clones share them.
#[derive(Clone)]
pub struct Engine {
    readers: Arc<Readers>,
    writer: Arc<WriterDesk>,
    file: Arc<File>,
    totals: Arc<Totals>,
}

/// Where the database is, and how its connections are set up.
#[derive(Debug)]
struct File {
    path: PathBuf,
    durability: Durability,
    /// How long a caller may wait for its turn.
    wait: Duration,
}

impl Engine {
    /// Opens the file, and creates it and its folder if need be.
    pub(crate) async fn open(config: &Config, path: PathBuf) -> Result<Self, OpenError> {
        let file = Arc::new(File {
            path,
            durability: config.durability,
            wait: config.wait,
        });
        let opened = spawn_blocking({
            let file = Arc::clone(&file);
            move || open_first(&file)
        });
        let (writer, reader) = opened.await.map_err(|failure| file.failed(failure.into()))??;
        Ok(Self {
            readers: Arc::new(Readers::new(Arc::clone(&file), reader, config.pool_size)),
            writer: Arc::new(
                WriterDesk::new(writer, Arc::clone(&file)).map_err(|failure| file.failed(failure.into()))?,
            ),
            file,
            totals: Arc::default(),
        })
    }

    /// Brings the schema up to date; answers the versions that were missing. Whoever comes second waits.
    ///
    /// # Errors
    /// [`MigrateError`]; all migrations of one call are one transaction, so that nothing was changed.
    pub async fn migrate(&self) -> Result<Vec<String>, MigrateError> {
        let file = Arc::clone(&self.file);
        let done = spawn_blocking(move || migrate::run(&file));
        let versions = done.await.map_err(|failure| MigrateError::Failed(failure.into()))??;
        if let Some(latest) = versions.last() {
            self.record_schema(latest).await.map_err(MigrateError::Unreachable)?;
        }
        Ok(versions)
    }

    /// A connection to read with. Each statement sees the newest commit.
    ///
    /// # Errors
    /// `Unavailable` if none comes free in time.
    pub async fn read(&self, effort: Effort) -> StoreResult<Reader> {
        Readers::take(&self.readers, effort).await
    }

    /// Takes a turn on the writer. It ends with [`Session::commit`], or as if nothing had happened when dropped; until
    /// then every other writer waits, so nothing that takes time belongs into it.
    ///
    /// # Errors
    /// `Unavailable` if the turn does not come in time, or another process holds the file for seconds.
    pub async fn begin(&self) -> StoreResult<Session> {
        WriterDesk::begin(&self.writer).await
    }

    /// What is known of the lists of this file.
    pub(crate) fn totals(&self) -> &Arc<Totals> {
        &self.totals
    }

    /// Asks for a sign of life.
    ///
    /// # Errors
    /// `Unavailable` if there is none in time.
    pub async fn ping(&self) -> StoreResult<()> {
        self.read(Effort::Light)
            .await?
            .batch_execute("SELECT 1 FROM sqlite_schema")
            .await
            .map_err(store_error)
    }

    /// Does what the database needs now and then: gathers the statistics of the tables that have changed much since that was
    /// last done.
    pub(crate) async fn tidy(&self) -> StoreResult<()> {
        let mut session = self.begin().await?;
        // What it would do, of all tables.
        let due = sql::<Text>("PRAGMA optimize(0x10003)").load(&mut *session).await;
        let due: Vec<String> = due.map_err(store_error)?;
        if due.is_empty() {
            return session.rollback().await;
        }
        let mut statements = "PRAGMA analysis_limit = 1000;".to_owned();
        for statement in due {
            statements.push_str(&statement);
            statements.push(';');
        }
        // Connections that are open learn of statistics when they learn that the schema has changed.
        statements.push_str("CREATE TABLE statistics_changed (id INTEGER) STRICT; DROP TABLE statistics_changed;");
        session.batch_execute(&statements).await.map_err(store_error)?;
        session.commit().await
    }

    /// Does what the database needs after many records were loaded at once.
    pub(crate) async fn settle(&self) -> StoreResult<()> {
        self.tidy().await
    }

    /// How busy the readers are.
    #[must_use]
    pub fn pool_status(&self) -> PoolStatus {
        self.readers.status()
    }

    /// How much was written.
    #[must_use]
    pub fn write_stats(&self) -> WriteStats {
        self.writer.stats()
    }
}

/// The connections that every server needs, which also proves that the file can be used.
fn open_first(file: &File) -> Result<(Link, Link), OpenError> {
    if let Some(folder) = file.path.parent() {
        fs::create_dir_all(folder).map_err(|source| OpenError::Folder {
            folder: folder.to_owned(),
            source,
        })?;
    }
    let writer = Link::open(file, Role::Writer).map_err(|failure| file.failed(failure))?;
    let reader = Link::open(file, Role::Reader).map_err(|failure| file.failed(failure))?;
    Ok((writer, reader))
}

impl File {
    fn failed(&self, source: BoxError) -> OpenError {
        OpenError::File {
            path: self.path.clone(),
            source,
        }
    }

    /// The path as SQLite takes it: not to be mistaken for one of its special names, which never begin with a dot or a
    /// slash.
    fn location(&self) -> Result<String, BoxError> {
        let path = if self.path.is_absolute() {
            self.path.clone()
        } else {
            Path::new(".").join(&self.path)
        };
        path.into_os_string()
            .into_string()
            .map_err(|_| "its path is not UTF-8".into())
    }
}
