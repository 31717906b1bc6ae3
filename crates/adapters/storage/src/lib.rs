//! The storage of Forecourt's records: SQLite inside this process, or PostgreSQL for many servers.
//!
//! The address decides at run time ([`Storage::open`]). Both engines offer the same, under the same names, so that each query is
//! written once (`repo`) and checked by the compiler against both:
//!
//! | | |
//! | --- | --- |
//! | `Engine::read()` | a connection to read with, for a statement or a few |
//! | `Engine::begin()` | a [`UnitOfWork`](sqlite::UnitOfWork) |
//! | `UnitOfWork::commit` | ends it; `Ok` means durable |
//! | `UnitOfWork::rollback`, dropping | ends it without a trace, and without a lock left behind |
//! | `UnitOfWork::savepoint`, … | for a part that may fail while the whole goes on |
//!
//! Statements fail as [`forecourt_kernel::StoreError`], by the one translation in [`store_error`].

mod config;
mod erasure_state;
mod error;
mod migration;
mod models;
pub mod personal;
mod pool;
pub mod postgres;
mod preview;
mod readiness;
mod schema;
mod secrets;
mod shares;
pub mod sqlite;
mod state;
mod statement;
mod subscribers;
mod sync;
mod totals;
mod trigrams;
mod version_check;

pub use config::Config;
pub use error::{MigrateError, OpenError, store_error};
pub use pool::{PoolStatus, WriteStats};

pub use secrets::SecretKey;
pub use state::DatabaseFacts;
pub use statement::{AnyStatement, Connection, MayScan, RunQueryDsl, Scan};

use std::sync::Arc;

use config::Target;
use forecourt_dealership::Database;
use forecourt_files::FileAddresses;
use forecourt_kernel::{BoxError, Clock, Epoch, Random, StoreError, StoreResult};
use forecourt_webhooks::{Policy, Watcher};
use secrets::SecretCipher;
use subscribers::Subscribers;

/// The version of this layer, noted in a database when it changes the schema.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The database of a server, on either engine. Clones share its connections.
#[derive(Clone)]
pub enum Storage {
    /// A file of this process.
    Sqlite(sqlite::Engine),
    /// A server, perhaps shared with other processes.
    Postgres(postgres::Engine),
}

impl Storage {
    /// Opens the database that the address names. A SQLite file is created if need be; PostgreSQL is connected to on first use.
    ///
    /// # Errors
    /// The settings are wrong, or the file cannot be used.
    pub async fn open(config: &Config) -> Result<Self, OpenError> {
        match config.target()? {
            Target::Sqlite(path) => sqlite::Engine::open(config, path).await.map(Self::Sqlite),
            Target::Postgres => postgres::Engine::open(config).map(Self::Postgres),
        }
    }

    /// Returns the handle for a worker with a runtime of its own. It shares the settings, and on PostgreSQL has connections of
    /// its own. Its pool is as large as every other's.
    #[must_use]
    pub fn for_worker(&self) -> Self {
        match self {
            Self::Sqlite(engine) => Self::Sqlite(engine.clone()),
            Self::Postgres(engine) => Self::Postgres(engine.for_worker()),
        }
    }

    /// Returns the register of the columns that can hold a person, by table.
    #[must_use]
    pub fn personal_tables(&self) -> Vec<personal::PersonalTable> {
        let areas = match self {
            Self::Sqlite(_) => sqlite::repo::people::TABLES,
            Self::Postgres(_) => postgres::repo::people::TABLES,
        };
        areas.iter().copied().flatten().copied().collect()
    }

    /// Brings the schema up to date; returns the versions of the migrations that were missing. Any number of servers may call
    /// this at once: the first migrates, the others wait.
    ///
    /// # Errors
    /// [`MigrateError`].
    pub async fn migrate(&self) -> Result<Vec<String>, MigrateError> {
        match self {
            Self::Sqlite(engine) => engine.migrate().await,
            Self::Postgres(engine) => engine.migrate().await,
        }
    }

    /// Returns the settings of the database's server that are off, so that a power failure may lose confirmed writes.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be reached.
    pub async fn unsafe_settings(&self) -> StoreResult<Vec<String>> {
        match self {
            Self::Sqlite(_) => Ok(Vec::new()),
            Self::Postgres(engine) => engine.unsafe_settings().await,
        }
    }

    /// Identifies the database, and returns its facts. A database without an installation gets one, and one that is on another
    /// timeline of PostgreSQL than before gets a new epoch. From then on this process knows the epoch.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn identify(&self, clock: &dyn Clock, random: &dyn Random) -> StoreResult<DatabaseFacts> {
        let installation = state::random_uuid(random);
        match self {
            Self::Sqlite(engine) => engine.identify(installation, clock.now()).await,
            Self::Postgres(engine) => engine.identify(installation, clock.now()).await,
        }
    }

    /// The database's epoch, as far as this process knows it.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        match self {
            Self::Sqlite(engine) => engine.state().epoch(),
            Self::Postgres(engine) => engine.state().epoch(),
        }
    }

    /// Begins a new epoch: the database has gone back to an earlier state, and gives out numbers a second time.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn raise_epoch(&self, clock: &dyn Clock) -> StoreResult<Epoch> {
        match self {
            Self::Sqlite(engine) => engine.raise_epoch(clock.now()).await,
            Self::Postgres(engine) => engine.raise_epoch(clock.now()).await,
        }
    }

    /// Returns the milliseconds by which `clock` is ahead of the database's own clock, negative if it is behind, and `None` for a
    /// file.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn clock_offset(&self, clock: &dyn Clock) -> StoreResult<Option<i64>> {
        match self {
            Self::Sqlite(engine) => engine.clock_offset(clock).await,
            Self::Postgres(engine) => engine.clock_offset(clock).await,
        }
    }

    /// Keeps this process from writing for a `reason`, which writers get as `Unavailable`; `None` ends that. Returns `true` if
    /// that changes whether writes are refused.
    pub fn block_writes(&self, reason: Option<String>) -> bool {
        match self {
            Self::Sqlite(engine) => engine.state().block_writes(reason),
            Self::Postgres(engine) => engine.state().block_writes(reason),
        }
    }

    /// Checks that the database would take a write. Answers within two seconds; an answer holds for one second.
    ///
    /// # Errors
    /// `Unavailable` if it would not, or does not say in time.
    pub async fn ping(&self) -> StoreResult<()> {
        match self {
            Self::Sqlite(engine) => engine.ping().await,
            Self::Postgres(engine) => engine.ping().await,
        }
    }

    /// The use of the connections, those of all workers together.
    #[must_use]
    pub fn pool_status(&self) -> PoolStatus {
        match self {
            Self::Sqlite(engine) => engine.pool_status(),
            Self::Postgres(engine) => engine.pool_status(),
        }
    }

    /// The number of writes since the start.
    #[must_use]
    pub fn write_stats(&self) -> WriteStats {
        match self {
            Self::Sqlite(engine) => engine.write_stats(),
            Self::Postgres(engine) => engine.write_stats(),
        }
    }

    /// Checks that `key` is the secret key that this database has been used with. A database that was used with none takes it as
    /// its own.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn accepts_key(&self, key: &SecretKey, random: &dyn Random) -> StoreResult<bool> {
        let cipher = SecretCipher::new(key);
        let proof = cipher.proof(random)?;
        let stored = match self {
            Self::Sqlite(engine) => engine.secret_proof(proof).await?,
            Self::Postgres(engine) => engine.secret_proof(proof).await?,
        };
        Ok(cipher.proves(&stored))
    }

    /// The database as the rest of the program knows it.
    #[must_use]
    pub fn database(&self, ports: Ports) -> Arc<dyn Database> {
        let Ports {
            clock,
            random,
            secret_key,
            policy,
            watcher,
            files,
            mails_per_day,
        } = ports;
        let dependencies = Arc::new(Dependencies {
            clock,
            random,
            cipher: secret_key.as_ref().map(SecretCipher::new),
            policy,
            watcher,
            files,
            mails_per_day,
            subscribers: Subscribers::default(),
        });
        match self {
            Self::Sqlite(engine) => Arc::new(sqlite::repo::Records::new(engine.clone(), dependencies)),
            Self::Postgres(engine) => Arc::new(postgres::repo::Records::new(engine.clone(), dependencies)),
        }
    }
}

/// The ports of the rest of the program that the stores need.
pub struct Ports {
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Makes identifiers and encrypts.
    pub random: Arc<dyn Random>,
    /// Encrypts data that must not be read from a stolen database. A program that stores no such data needs none.
    pub secret_key: Option<SecretKey>,
    /// The policy by which webhooks are delivered.
    pub policy: Policy,
    /// Is notified of commits. A program that sends no webhooks has none, and a server that does finds them in the queue.
    pub watcher: Option<Arc<dyn Watcher>>,
    /// The addresses at which public files are read, for listings.
    pub files: FileAddresses,
    /// The number of mails that a business may send in a UTC day; `None` is any number.
    pub mails_per_day: Option<u32>,
}

/// Everything that the stores need beyond a connection.
pub(crate) struct Dependencies {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    cipher: Option<SecretCipher>,
    policy: Policy,
    watcher: Option<Arc<dyn Watcher>>,
    files: FileAddresses,
    mails_per_day: Option<u32>,
    subscribers: Subscribers,
}

impl Dependencies {
    fn cipher(&self) -> StoreResult<&SecretCipher> {
        self.cipher
            .as_ref()
            .ok_or_else(|| StoreError::Other(BoxError::from("there is no secret key to encrypt with")))
    }

    /// Draws a random number other than 0, which is most unlikely to have been drawn before.
    fn draw_number(&self) -> i64 {
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes);
        match i64::from_be_bytes(bytes) {
            0 => 1,
            drawn => drawn,
        }
    }

    /// A new event's id: `evt_` and 32 hexadecimal digits.
    fn event_id(&self) -> String {
        let mut bytes = [0; 16];
        self.random.fill(&mut bytes);
        format!("evt_{:032x}", u128::from_be_bytes(bytes))
    }
}
