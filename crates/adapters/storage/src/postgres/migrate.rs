//! Brings the schema of a database up to date, and its statistics.
//!
//! Servers of the version before go on during it. So no statement waits long for a lock, since all other statements on the table
//! queue after one that waits. Indexes are built concurrently. And nothing is dropped that the version before reads or writes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use diesel::dsl::sql;
use diesel::migration::{Migration, MigrationSource};
use diesel::pg::Pg;
use diesel::sql_types::{BigInt, Bool, Text};
use diesel_async::{AsyncMigrationHarness, RunQueryDsl as _};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness as _, embed_migrations};
use forecourt_kernel::{StoreError, StoreResult};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tokio_postgres::error::SqlState;

use super::connect::Endpoint;
use super::link::Link;
use crate::error::{MigrateError, store_error, unavailable};
use crate::migration::{self, Pending};
use crate::version_check::LEAST_VERSION;

pub(super) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../../migrations/postgres");

/// The key of the lock: "forecourt" read as digits of base 36.
pub(super) const LOCK: i64 = 44_257_029_514_697;

/// The interval at which a server tries again to take the lock that another holds.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The wait of a migration for a lock. All later statements on the same table wait as long.
const LOCK_TIMEOUT: &str = "SET lock_timeout = '2s'";

/// No bound: an index that is built concurrently waits for transactions to end, and nothing waits for it meanwhile.
const NO_LOCK_TIMEOUT: &str = "SET lock_timeout = 0";

/// The pause before the next try, in which other statements proceed.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The time for which a migration is tried.
const TIMEOUT: Duration = Duration::from_mins(10);

/// Runs the missing migrations, under a lock that the server releases when this connection ends, for whatever reason.
pub(super) async fn run<S>(endpoint: &Arc<Endpoint>, wait: Duration, source: S) -> Result<Vec<String>, MigrateError>
where
    S: MigrationSource<Pg> + Send + 'static,
{
    let mut link = connect(endpoint, wait).await.map_err(MigrateError::Unreachable)?;
    lock(&mut link).await?;
    // The harness blocks, and would refuse to on a runtime with one thread.
    let runtime = Handle::current();
    let done = spawn_blocking(move || run_pending(link, &source, &runtime));
    done.await.map_err(|failure| MigrateError::Failed(failure.into()))?
}

fn run_pending<S: MigrationSource<Pg>>(
    mut link: Link,
    source: &S,
    runtime: &Handle,
) -> Result<Vec<String>, MigrateError> {
    let mut harness = AsyncMigrationHarness::new(link);
    let Pending { migrations, is_new } = migration::pending(&mut harness, source)?;
    link = harness.into_inner();
    if !is_new {
        let least = runtime.block_on(link.texts(LEAST_VERSION))?;
        migration::check_version(least.into_iter().next())?;
    }
    let mut versions = Vec::new();
    for migration in migrations {
        tracing::info!(migration = %migration.name(), "changing the schema");
        link = run_one(link, &*migration, runtime)?;
        versions.push(migration.name().version().to_string());
    }
    Ok(versions)
}

/// Runs a migration, again and again while other connections hold a lock that it needs.
fn run_one(mut link: Link, migration: &dyn Migration<Pg>, runtime: &Handle) -> Result<Link, MigrateError> {
    let name = migration.name().to_string();
    let is_in_transaction = migration.metadata().run_in_transaction();
    let begun = Instant::now();
    loop {
        if is_in_transaction {
            runtime.block_on(link.batch(LOCK_TIMEOUT))?;
        } else {
            runtime.block_on(link.batch(NO_LOCK_TIMEOUT))?;
            runtime.block_on(drop_torn_index(&mut link, &name))?;
        }
        drop(link.take_refusal());
        let mut harness = AsyncMigrationHarness::new(link);
        let done = harness.run_migration(migration);
        link = harness.into_inner();
        let Err(failure) = done else {
            return Ok(link);
        };
        let is_locked = link
            .take_refusal()
            .is_some_and(|code| [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED].contains(&code));
        if !is_locked {
            return Err(MigrateError::Failed(failure));
        }
        if begun.elapsed() > TIMEOUT {
            return Err(MigrateError::Locked(name));
        }
        tracing::warn!(
            migration = name,
            "another transaction holds what the migration has to lock; it is tried again"
        );
        runtime.block_on(sleep(RETRY_INTERVAL));
    }
}

/// Drops the remains of an index whose building was interrupted. The migration has the name of the index.
async fn drop_torn_index(link: &mut Link, migration: &str) -> Result<(), MigrateError> {
    let Some((_, index)) = migration.split_once('_') else {
        return Ok(());
    };
    let is_torn = diesel::select(
        sql::<Bool>("EXISTS (SELECT FROM pg_index WHERE NOT indisvalid AND indexrelid = to_regclass(quote_ident(")
            .bind::<Text, _>(index)
            .sql(")))"),
    );
    if is_torn.get_result(link).await? {
        link.batch(&format!("DROP INDEX CONCURRENTLY \"{index}\"")).await?;
    }
    Ok(())
}

/// Gathers statistics at once, and marks all-visible pages, so that an index alone can answer.
pub(super) async fn analyze(endpoint: &Arc<Endpoint>, wait: Duration) -> StoreResult<()> {
    let tables = "leads, lead_vehicles, contacts, vehicles, vehicle_facts, vehicle_channels, vehicle_tags";
    let link = connect(endpoint, wait).await?;
    link.batch(&format!("VACUUM (ANALYZE) {tables}"))
        .await
        .map_err(store_error)
}

/// Makes a connection whose statements have no time limit.
pub(super) async fn connect(endpoint: &Arc<Endpoint>, wait: Duration) -> StoreResult<Link> {
    let connected = timeout(wait, Arc::clone(endpoint).connect()).await;
    let link = connected
        .map_err(|_| unavailable("PostgreSQL did not answer in time"))?
        .map_err(|error| StoreError::Unavailable(error.into()))?;
    link.batch(UNBOUNDED).await.map_err(store_error)?;
    Ok(link)
}

/// No bounds: a statement of a migration may have to read every row.
const UNBOUNDED: &str = "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0";

/// Takes the lock. It polls, since a concurrent index build of the other server would wait for a statement that waits.
async fn lock(link: &mut Link) -> Result<(), MigrateError> {
    let mut waits = false;
    loop {
        let attempt = diesel::select(sql::<Bool>("pg_try_advisory_lock(").bind::<BigInt, _>(LOCK).sql(")"));
        if attempt.get_result(link).await? {
            return Ok(());
        }
        if !waits {
            tracing::info!("another server is changing the schema; waiting for it");
            waits = true;
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Returns the versions of this program's migrations.
pub(crate) fn versions() -> Result<Vec<String>, MigrateError> {
    migration::versions::<Pg, _>(&MIGRATIONS)
}
