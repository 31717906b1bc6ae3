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

mod cell;
mod config;
mod diagnosis;
mod erasure_state;
mod error;
mod keys;
mod migration;
mod models;
mod outgoing;
pub mod personal;
mod pool;
pub mod postgres;
mod preview;
mod readiness;
mod schema;
mod secrets;
mod servers;
mod shares;
mod snapshot;
pub mod sqlite;
mod state;
mod statement;
mod subscribers;
mod sync;
mod totals;
mod trigrams;
mod version_check;

pub use cell::{Cell, CellError};
pub use config::Config;
pub use diagnosis::{Migrations, OldTransactions, TroubledWebhook};
pub use error::{MigrateError, OpenError, store_error};
pub use outgoing::{Discarded, Outgoing};
pub use pool::{PoolStatus, WriteStats};

pub use keys::{Forgotten, Resealed};
pub use secrets::{Keyring, SecretKey, Unlocked};
pub use servers::{RunningServer, ServerReport};
pub use snapshot::{
    BusinessNumbers, Fault, Hindrance, Renewal, Snapshot, StoredFile, TableDigest, known_migrations, latest_migration,
    migration_name,
};
pub use state::DatabaseFacts;
pub use statement::{AnyStatement, Connection, MayScan, RunQueryDsl, Scan};

use std::sync::Arc;

use config::Target;
use forecourt_dealership::Database;
use forecourt_files::FileAddresses;
use forecourt_kernel::{BoxError, Clock, Epoch, Random, StoreError, StoreResult};
use forecourt_webhooks::{Policy, Watcher};
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

    /// Makes a database that has not given out ids one of the `wanted` cell, and returns the database's cell.
    ///
    /// # Errors
    /// [`CellError`] if it is of another one, or cannot be reached.
    pub async fn adopt_cell(&self, wanted: Option<Cell>) -> Result<Cell, CellError> {
        match self {
            Self::Sqlite(engine) => engine.adopt_cell(wanted).await,
            Self::Postgres(engine) => engine.adopt_cell(wanted).await,
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

    /// Returns the switch that keeps webhooks, mails and requests to models from leaving any server.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn outgoing(&self) -> StoreResult<Outgoing> {
        match self {
            Self::Sqlite(engine) => engine.outgoing().await,
            Self::Postgres(engine) => engine.outgoing().await,
        }
    }

    /// Moves that switch, and returns its position. Servers obey it within 5 seconds.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn set_outgoing(&self, is_held: bool, clock: &dyn Clock) -> StoreResult<Outgoing> {
        match self {
            Self::Sqlite(engine) => engine.set_outgoing(is_held, clock.now()).await,
            Self::Postgres(engine) => engine.set_outgoing(is_held, clock.now()).await,
        }
    }

    /// Drops some of the webhook deliveries and mails that wait to leave; returns their numbers, both 0 if none waits any longer.
    /// To be called while outgoing is held, again and again.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn discard_waiting(&self) -> StoreResult<Discarded> {
        match self {
            Self::Sqlite(engine) => engine.discard_waiting().await,
            Self::Postgres(engine) => engine.discard_waiting().await,
        }
    }

    /// Notes the beginning of a round that one server makes for all. Returns `false` if another has begun one within so many
    /// seconds.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn claim_round(&self, name: &str, seconds: i64, clock: &dyn Clock) -> StoreResult<bool> {
        match self {
            Self::Sqlite(engine) => engine.claim_round(name, seconds, clock.now()).await,
            Self::Postgres(engine) => engine.claim_round(name, seconds, clock.now()).await,
        }
    }

    /// Returns a fact about the installation, by its key.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn fact(&self, key: &str) -> StoreResult<Option<String>> {
        match self {
            Self::Sqlite(engine) => engine.fact(key).await,
            Self::Postgres(engine) => engine.fact(key).await,
        }
    }

    /// Keeps a fact about the installation.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn set_fact(&self, key: &str, value: String) -> StoreResult<()> {
        match self {
            Self::Sqlite(engine) => engine.set_fact(key, value).await,
            Self::Postgres(engine) => engine.set_fact(key, value).await,
        }
    }

    /// Announces a server that uses the database. It counts as gone 30 seconds after the last call.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn renew_server(&self, server: &ServerReport, clock: &dyn Clock) -> StoreResult<()> {
        match self {
            Self::Sqlite(engine) => engine.renew_server(server, clock).await,
            Self::Postgres(engine) => engine.renew_server(server, clock).await,
        }
    }

    /// Removes a server that ends.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn remove_server(&self, id: i64) -> StoreResult<()> {
        match self {
            Self::Sqlite(engine) => engine.remove_server(id).await,
            Self::Postgres(engine) => engine.remove_server(id).await,
        }
    }

    /// Returns the servers that use the database, in the order of their starts.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn running_servers(&self, clock: &dyn Clock) -> StoreResult<Vec<RunningServer>> {
        match self {
            Self::Sqlite(engine) => engine.running_servers(clock).await,
            Self::Postgres(engine) => engine.running_servers(clock).await,
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

    /// Tries keys on this database: the one of the setting, and the one before while the database is brought from that to the
    /// other. A database that was used with none takes the one of the setting as its own.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn unlock(
        &self,
        key: SecretKey,
        previous: Option<SecretKey>,
        random: &dyn Random,
    ) -> StoreResult<Unlocked> {
        let proof = Keyring::from(key.clone()).proof(random)?;
        let stored = match self {
            Self::Sqlite(engine) => engine.stored_keys(Some(proof)).await?,
            Self::Postgres(engine) => engine.stored_keys(Some(proof)).await?,
        };
        Keyring::unlock(key, previous, &stored)
    }

    /// Lets the keys of a running process encrypt with the one that the database is used with now.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn follow_keys(&self, keyring: &Keyring) -> StoreResult<()> {
        let stored = match self {
            Self::Sqlite(engine) => engine.stored_keys(None).await?,
            Self::Postgres(engine) => engine.stored_keys(None).await?,
        };
        if let Some(proof) = &stored.proof {
            keyring.note_proof(proof);
        }
        Ok(())
    }

    /// Begins to bring the database from the previous key of `keyring` to its current one: from now on that one encrypts.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn begin_rotation(&self, keyring: &Keyring, random: &dyn Random) -> StoreResult<()> {
        match self {
            Self::Sqlite(engine) => engine.begin_rotation(keyring, random).await,
            Self::Postgres(engine) => engine.begin_rotation(keyring, random).await,
        }
    }

    /// Encrypts with the current key of `keyring` everything that is encrypted with its previous one, in small transactions.
    /// Returns the numbers of what was, all 0 once nothing is left.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached. What was done stays done.
    pub async fn reseal(&self, keyring: &Keyring, random: &dyn Random) -> StoreResult<Resealed> {
        match self {
            Self::Sqlite(engine) => engine.reseal(keyring, random).await,
            Self::Postgres(engine) => engine.reseal(keyring, random).await,
        }
    }

    /// Notes that nothing is encrypted with the previous key any longer.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub async fn end_rotation(&self) -> StoreResult<()> {
        match self {
            Self::Sqlite(engine) => engine.end_rotation().await,
            Self::Postgres(engine) => engine.end_rotation().await,
        }
    }

    /// Finds what `key` does not open, and with `drop` drops it and makes `key` the database's own. Returns what it is.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached. What was done stays done.
    pub async fn forget_key(&self, key: &SecretKey, drop: bool, random: &dyn Random) -> StoreResult<Forgotten> {
        match self {
            Self::Sqlite(engine) => engine.forget_key(key, drop, random).await,
            Self::Postgres(engine) => engine.forget_key(key, drop, random).await,
        }
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
            cipher: secret_key,
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
    pub secret_key: Option<Keyring>,
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
    cipher: Option<Keyring>,
    policy: Policy,
    watcher: Option<Arc<dyn Watcher>>,
    files: FileAddresses,
    mails_per_day: Option<u32>,
    subscribers: Subscribers,
}

impl Dependencies {
    fn cipher(&self) -> StoreResult<&Keyring> {
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
