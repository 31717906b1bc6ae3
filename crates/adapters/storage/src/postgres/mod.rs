//! PostgreSQL: the engine for many servers on one database.

mod conn;
mod connect;
pub(crate) mod deliveries;
pub(crate) mod dialect;
mod link;
mod migrate;
mod pool;
mod readiness;
#[expect(clippy::duplicate_mod, reason = "every query is compiled once per engine")]
#[path = "../repo/mod.rs"]
pub(crate) mod repo;
pub(crate) mod snapshot;
mod timeline;
mod tls;
mod unit;

use std::sync::Arc;
use std::time::Duration;

use diesel::migration::MigrationSource;
use forecourt_kernel::{BusinessId, StoreResult};
use tokio::runtime::Handle;

pub use conn::{Conn, Pipeline};
pub(crate) use migrate::versions as migration_versions;
pub use pool::Reader;
pub use unit::UnitOfWork;

use crate::config::Config;
use crate::error::{MigrateError, OpenError, store_error};
use crate::pool::{PoolStatus, WriteStats};
use crate::shares::{OWN_TURNS, TenantLimiter};
use crate::state::DatabaseState;
use crate::totals::Totals;
use crate::version_check::VersionCheck;
use connect::Endpoint;
use pool::{Pool, Registry};
use readiness::{Faults, Probe};
use snapshot::Copier;

/// The backend that the queries are checked against.
pub type Db = diesel::pg::Pg;

/// The number of a business's transactions that a server runs at once. They wait for one another at the business's counters. In
/// this process that costs nothing; at the server it costs each of them a connection that others could use.
const WRITERS_OF_A_BUSINESS: usize = 2;

/// A database, with connections of its own that are made as needed. Clones share them.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    pool: Pool,
}

/// The state that all handles on one database share.
struct Shared {
    config: Config,
    endpoint: Arc<Endpoint>,
    registry: Registry,
    /// The callers that write, by business.
    writers: TenantLimiter,
    faults: Arc<Faults>,
    probe: Probe,
    totals: Arc<Totals>,
    version_check: VersionCheck,
    state: Arc<DatabaseState>,
}

impl Engine {
    /// Reads the settings. Nothing is connected yet.
    pub(crate) fn open(config: &Config) -> Result<Self, OpenError> {
        let shared = Shared {
            endpoint: Arc::new(Endpoint::new(&config.url, config)?),
            config: config.clone(),
            registry: Registry::default(),
            writers: TenantLimiter::new(WRITERS_OF_A_BUSINESS),
            faults: Arc::default(),
            probe: Probe::default(),
            totals: Arc::default(),
            version_check: VersionCheck::default(),
            state: Arc::default(),
        };
        Self::with_pool(Arc::new(shared))
    }

    /// Returns a handle on the same database, with connections of its own.
    ///
    /// A connection is served by a task of the runtime that made it. On another runtime each statement costs a wake-up across
    /// threads, so each worker with a runtime of its own takes a handle of its own.
    #[must_use]
    pub fn for_worker(&self) -> Self {
        // The set-up worked once, so it works again. If not, sharing is slower but just as right.
        Self::with_pool(Arc::clone(&self.shared)).unwrap_or_else(|_| self.clone())
    }

    fn with_pool(shared: Arc<Shared>) -> Result<Self, OpenError> {
        let Shared {
            registry,
            endpoint,
            config,
            faults,
            state,
            ..
        } = &*shared;
        let pool = registry.pool(endpoint, config, faults, state)?;
        Ok(Self { shared, pool })
    }

    /// Brings the schema up to date; returns the versions that were missing. A second caller waits.
    ///
    /// # Errors
    /// [`MigrateError`]; each migration is a transaction of its own.
    pub async fn migrate(&self) -> Result<Vec<String>, MigrateError> {
        self.migrate_from(migrate::MIGRATIONS).await
    }

    /// As [`migrate`](Self::migrate), with the migrations of another version.
    ///
    /// # Errors
    /// As [`migrate`](Self::migrate).
    pub async fn migrate_from<S>(&self, source: S) -> Result<Vec<String>, MigrateError>
    where
        S: MigrationSource<Db> + Send + 'static,
    {
        let versions = migrate::run(&self.shared.endpoint, self.shared.config.wait, source).await?;
        Ok(versions)
    }

    /// Takes a connection to read with. Each statement sees the newest commit.
    ///
    /// # Errors
    /// `Unavailable` if none comes free in time, or the server cannot be reached.
    pub async fn read(&self) -> StoreResult<Reader> {
        self.read_for(None).await
    }

    /// As [`read`](Self::read), within the share of the business.
    ///
    /// # Errors
    /// As [`read`](Self::read); too many of the business wait already.
    pub async fn read_for(&self, business: Option<BusinessId>) -> StoreResult<Reader> {
        self.pool.reader(business).await
    }

    /// Begins a transaction. It ends with [`UnitOfWork::commit`]; dropped before that, it is rolled back.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn begin(&self) -> StoreResult<UnitOfWork> {
        self.begin_for(None).await
    }

    /// As [`begin`](Self::begin), within the share of the business.
    ///
    /// # Errors
    /// As [`begin`](Self::begin); too many of the business wait already.
    pub async fn begin_for(&self, business: Option<BusinessId>) -> StoreResult<UnitOfWork> {
        let (conn, place) = self.pool.writer(business, &self.shared.writers).await?;
        UnitOfWork::begin(conn, place, Arc::clone(&self.shared))
    }

    /// The queue of a business's sessions that may share a transaction, with the longest wait.
    pub(crate) fn turns(&self) -> Option<(TenantLimiter, Duration)> {
        let turns = self.shared.writers.turns();
        Some((turns, OWN_TURNS * self.shared.config.wait))
    }

    /// The cache of the totals of lists.
    pub(crate) fn totals(&self) -> &Arc<Totals> {
        &self.shared.totals
    }

    /// The check that this version may write.
    pub(crate) fn version_check(&self) -> &VersionCheck {
        &self.shared.version_check
    }

    /// This process's knowledge of the database.
    pub(crate) fn state(&self) -> &DatabaseState {
        &self.shared.state
    }

    /// Checks that the server would take a write.
    ///
    /// # Errors
    /// `Unavailable` if it would not, or does not say in time.
    pub async fn ping(&self) -> StoreResult<()> {
        let Shared {
            endpoint,
            faults,
            probe,
            version_check,
            ..
        } = self.shared.as_ref();
        faults.readiness.get(probe.ask(endpoint, faults, version_check)).await
    }

    /// Makes a connection that copies whole tables, with no limit on time.
    pub(crate) async fn copier(&self, runtime: Handle) -> StoreResult<Copier> {
        let link = migrate::connect(&self.shared.endpoint, self.shared.config.wait).await?;
        Ok(Copier { link, runtime })
    }

    /// Returns the first column of the rows of a query without parameters, over a connection of its own.
    pub(crate) async fn texts(&self, query: &str) -> StoreResult<Vec<String>> {
        let link = migrate::connect(&self.shared.endpoint, self.shared.config.wait).await?;
        link.texts(query).await.map_err(store_error)
    }

    /// Runs statements without parameters, over a connection of its own.
    pub(crate) async fn batch(&self, statements: &str) -> StoreResult<()> {
        let link = migrate::connect(&self.shared.endpoint, self.shared.config.wait).await?;
        link.batch(statements).await.map_err(store_error)
    }

    /// Returns true if another process changes the schema.
    pub(crate) async fn is_locked(&self) -> StoreResult<bool> {
        let free = self
            .texts(&format!("SELECT pg_try_advisory_lock({})::text", migrate::LOCK))
            .await?;
        Ok(free.first().is_none_or(|free| free != "true"))
    }

    /// Returns the server's settings by which it may lose confirmed writes.
    pub(crate) async fn unsafe_settings(&self) -> StoreResult<Vec<String>> {
        connect::unsafe_settings(&self.shared.endpoint).await
    }

    /// Does regular maintenance: nothing, since the server does its own.
    pub(crate) async fn maintain(&self) -> StoreResult<()> {
        Ok(())
    }

    /// Does at once the maintenance that the server would do some time after many records were loaded.
    pub(crate) async fn analyze(&self) -> StoreResult<()> {
        migrate::analyze(&self.shared.endpoint, self.shared.config.wait).await
    }

    /// The use of the connections, those of all handles together.
    #[must_use]
    pub fn pool_status(&self) -> PoolStatus {
        let status = self.shared.registry.status();
        PoolStatus {
            waiting: status.waiting + self.shared.writers.waiting(),
            ..status
        }
    }

    /// The number of writes, by all handles together.
    #[must_use]
    pub fn write_stats(&self) -> WriteStats {
        self.shared.registry.write_stats()
    }
}
