//! SQLite inside this process: the engine of a server that stands alone.
//!
//! There are many readers. Writers take turns on one connection, where **group commit** lets one fsync serve all that wrote since
//! the last one ([`UnitOfWork`]). A statement takes microseconds and runs on the calling thread; an fsync never does.
//!
//! A foreign key must not be deferred: it would fail the shared commit, and with it all sessions' writes.

mod checkpointer;
mod conn;
pub(crate) mod deliveries;
pub(crate) mod dialect;
mod flusher;
mod identity;
pub(crate) mod migrate;
mod queue;
mod readers;
#[expect(clippy::duplicate_mod, reason = "every query is compiled once per engine")]
#[path = "../repo/mod.rs"]
pub(crate) mod repo;
mod unit;
mod writer;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diesel::RunQueryDsl as _;
use diesel::dsl::sql;
use diesel::sql_types::Text;
use diesel_async::SimpleAsyncConnection as _;
use forecourt_durable::make_folder;
use forecourt_kernel::{BoxError, BusinessId, StoreResult};
use tokio::task::spawn_blocking;

pub use conn::{Conn, Pipeline, Runtime};
pub(crate) use migrate::versions as migration_versions;
pub use readers::Reader;
pub use unit::UnitOfWork;

use crate::config::Config;
use crate::error::{MigrateError, OpenError, store_error};
use crate::pool::{PoolStatus, WriteStats};
use crate::readiness::ReadinessCache;
use crate::shares::TenantLimiter;
use crate::state::DatabaseState;
use crate::totals::Totals;
use crate::version_check::{LEAST_VERSION, VersionCheck};
use conn::{Link, Role};
use identity::Identity;
use readers::Readers;
use writer::WriterHandle;

/// The backend that the queries are checked against.
pub type Db = diesel::sqlite::Sqlite;

/// One database file, with its readers and its writer. Clones share them.
#[derive(Clone)]
pub struct Engine {
    readers: Arc<Readers>,
    writer: Arc<WriterHandle>,
    file: Arc<File>,
    totals: Arc<Totals>,
    readiness: Arc<ReadinessCache>,
    version_check: Arc<VersionCheck>,
    state: Arc<DatabaseState>,
}

/// The number of entries of each index that statistics are gathered from, in some hundredths of a second. More entries than that
/// seldom share one value, so selective indexes are distinguished from unselective ones.
const SAMPLE: u32 = 100_000;

/// The database's path, and the settings of its connections.
#[derive(Debug)]
struct File {
    path: PathBuf,
    /// The longest wait of a caller for its turn.
    wait: Duration,
    identity: Identity,
}

impl Engine {
    /// Opens the file, and creates it and its folder if need be.
    pub(crate) async fn open(config: &Config, path: PathBuf) -> Result<Self, OpenError> {
        let file = Arc::new(File {
            identity: Identity::new(&path),
            path,
            wait: config.wait,
        });
        let opened = spawn_blocking({
            let file = Arc::clone(&file);
            move || open_first(&file)
        });
        let (writer, reader) = opened.await.map_err(|failure| file.failed(failure.into()))??;
        let readiness = Arc::<ReadinessCache>::default();
        Ok(Self {
            readers: Arc::new(Readers::new(Arc::clone(&file), reader, config.pool_size)),
            writer: Arc::new(
                WriterHandle::new(writer, Arc::clone(&file), Arc::clone(&readiness))
                    .map_err(|failure| file.failed(failure.into()))?,
            ),
            file,
            totals: Arc::default(),
            readiness,
            version_check: Arc::default(),
            state: Arc::default(),
        })
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    /// Brings the schema up to date; returns the versions that were missing. A second caller waits.
    ///
    /// # Errors
    /// [`MigrateError`]; all migrations of one call are one transaction, so that nothing was changed.
    pub async fn migrate(&self) -> Result<Vec<String>, MigrateError> {
        let file = Arc::clone(&self.file);
        let done = spawn_blocking(move || migrate::run(&file));
        let versions = done.await.map_err(|failure| MigrateError::Failed(failure.into()))??;
        Ok(versions)
    }

    /// Takes a connection to read with. Each statement sees the newest commit.
    ///
    /// # Errors
    /// `Unavailable` if none comes free in time.
    pub async fn read(&self) -> StoreResult<Reader> {
        self.read_for(None).await
    }

    /// As [`read`](Self::read), within the share of the business.
    ///
    /// # Errors
    /// As [`read`](Self::read); too many of the business wait already.
    pub async fn read_for(&self, business: Option<BusinessId>) -> StoreResult<Reader> {
        Readers::lend(&self.readers, business).await
    }

    /// Takes a turn on the writer. It ends with [`UnitOfWork::commit`], or without effect when dropped. Until then every other
    /// writer waits, so it must be short.
    ///
    /// # Errors
    /// `Unavailable` if the turn does not come in time, or another process holds the file for seconds.
    pub async fn begin(&self) -> StoreResult<UnitOfWork> {
        self.begin_for(None).await
    }

    /// As [`begin`](Self::begin), in the turn of the business that it is for.
    ///
    /// # Errors
    /// As [`begin`](Self::begin); too many of the business wait already.
    pub async fn begin_for(&self, business: Option<BusinessId>) -> StoreResult<UnitOfWork> {
        WriterHandle::begin(&self.writer, business).await
    }

    /// The queue of a business's sessions that may share a transaction: none, since all sessions share the writer's transactions
    /// anyway.
    pub(crate) fn turns(&self) -> Option<(TenantLimiter, Duration)> {
        None
    }

    /// The cache of the totals of lists.
    pub(crate) fn totals(&self) -> &Arc<Totals> {
        &self.totals
    }

    /// The check that this version may write.
    pub(crate) fn version_check(&self) -> &VersionCheck {
        &self.version_check
    }

    /// This process's knowledge of the database.
    pub(crate) fn state(&self) -> &DatabaseState {
        &self.state
    }

    /// Checks that the file can be read and written to.
    ///
    /// # Errors
    /// `Unavailable` if it cannot, or does not show it in time.
    pub async fn ping(&self) -> StoreResult<()> {
        let ask = async {
            self.file.identity.verify()?;
            let mut reader = self.read().await?;
            reader
                .batch_execute("SELECT 1 FROM sqlite_schema")
                .await
                .map_err(store_error)?;
            // A database that was never migrated has no such table.
            let least = sql::<Text>(LEAST_VERSION);
            let least: Vec<String> = crate::statement::RunQueryDsl::load(least, &mut *reader)
                .await
                .unwrap_or_default();
            drop(reader);
            self.version_check.note(least.into_iter().next());
            self.version_check.verdict()?;
            WriterHandle::try_out(&self.writer).await
        };
        self.readiness.get(ask).await
    }

    /// Does regular maintenance: gathers the statistics of the tables that have changed much since the last time. It takes one
    /// table after another, so that other writers wait little.
    pub(crate) async fn maintain(&self) -> StoreResult<()> {
        let due = {
            let mut session = self.begin().await?;
            // The statements that it would run, for all tables.
            let due = sql::<Text>("PRAGMA optimize(0x10003)");
            let due = crate::statement::RunQueryDsl::load::<String>(due, &mut *session).await;
            due?
        };
        let is_due = !due.is_empty();
        for statement in due {
            let mut session = self.begin().await?;
            session.leave_thread();
            let statements = format!("PRAGMA analysis_limit = {SAMPLE}; {statement}");
            session.batch_execute(&statements).await.map_err(store_error)?;
            session.commit().await?;
        }
        if is_due {
            // A connection reads statistics when it opens. It would also read them after a change of the schema; but during that
            // a search that has just begun may fail, since FTS5's tables cannot be connected.
            self.readers.renew().await?;
        }
        Ok(())
    }

    /// Does the maintenance that is due after many records were loaded at once.
    pub(crate) async fn analyze(&self) -> StoreResult<()> {
        self.maintain().await
    }

    /// The use of the readers, and the number of sessions that wait for a reader or for their turn to write.
    #[must_use]
    pub fn pool_status(&self) -> PoolStatus {
        let status = self.readers.status();
        PoolStatus {
            waiting: status.waiting + self.writer.waiting(),
            ..status
        }
    }

    /// The number of writes.
    #[must_use]
    pub fn write_stats(&self) -> WriteStats {
        self.writer.stats()
    }
}

/// Opens the connections that every server needs, which also proves that the file can be used.
fn open_first(file: &File) -> Result<(Link, Link), OpenError> {
    if let Some(folder) = file.path.parent() {
        make_folder(folder).map_err(|source| OpenError::Folder {
            folder: folder.to_owned(),
            source,
        })?;
    }
    if file.identity.is_log_alone() {
        return Err(file.damaged("there is a -wal beside it, but nothing in the file itself".to_owned()));
    }
    if file.identity.is_torn() {
        return Err(file.damaged("it is shorter than its header says".to_owned()));
    }
    file.identity.prepare().map_err(|failure| file.failed(failure.into()))?;
    let mut writer = Link::open(file, Role::Writer).map_err(|failure| file.failed(failure))?;
    check(file, &mut writer)?;
    let reader = Link::open(file, Role::Reader).map_err(|failure| file.failed(failure))?;
    file.identity.note().map_err(|failure| file.failed(failure.into()))?;
    Ok((writer, reader))
}

/// The size up to which a file is checked at the start, in some hundredths of a second. A larger file would take too long.
const LOOKED_THROUGH: u64 = 16 * 1024 * 1024;

/// Refuses a file that is not whole: a copy that was interrupted, or made during a write.
fn check(file: &File, writer: &mut Link) -> Result<(), OpenError> {
    let length = fs::metadata(&file.path).map_or(0, |found| found.len());
    let question = if length <= LOOKED_THROUGH {
        "(SELECT quick_check FROM pragma_quick_check LIMIT 1)"
    } else {
        // To read the schema, SQLite compares the file's length with what its header says.
        "(SELECT iif(count(*) >= 0, 'ok', '') FROM sqlite_schema)"
    };
    let answer = writer.here(move |conn| diesel::select(sql::<Text>(question)).get_result::<String>(conn));
    match answer {
        Ok(answer) if answer == "ok" => Ok(()),
        Ok(fault) => Err(file.damaged(fault.lines().last().unwrap_or_default().to_owned())),
        Err(error) => Err(file.failed(error.into())),
    }
}

impl File {
    fn failed(&self, source: BoxError) -> OpenError {
        let what = source.to_string();
        if what.contains("malformed") {
            return self.damaged(what);
        }
        OpenError::File {
            path: self.path.clone(),
            source,
        }
    }

    fn damaged(&self, what: String) -> OpenError {
        OpenError::Damaged {
            path: self.path.clone(),
            what,
        }
    }

    /// The path in a form that SQLite does not take for one of its special names, which never begin with a dot or a slash.
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
