//! Brings the schema of a database up to date, and its statistics.

use std::sync::Arc;
use std::time::Duration;

use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool};
use diesel_async::{AsyncMigrationHarness, AsyncPgConnection, RunQueryDsl as _, SimpleAsyncConnection as _};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use forecourt_kernel::{StoreError, StoreResult};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::connect::Endpoint;
use crate::error::{MigrateError, store_error, unavailable};
use crate::migration;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../../migrations/postgres");

/// Names the lock: "forecourt" read as digits of base 36.
const LOCK: i64 = 44_257_029_514_697;

/// Runs what is missing, under a lock that the server gives back when this connection ends, however it ends.
pub(super) async fn run(endpoint: &Arc<Endpoint>, wait: Duration) -> Result<Vec<String>, MigrateError> {
    let mut conn = connect(endpoint, wait).await.map_err(MigrateError::Unreachable)?;
    lock(&mut conn).await?;
    // The harness blocks, and would refuse to on a runtime with one thread.
    let done = spawn_blocking(move || migration::run(&mut AsyncMigrationHarness::new(conn), &MIGRATIONS));
    done.await.map_err(|failure| MigrateError::Failed(failure.into()))?
}

/// Gathers statistics at once, and marks all-visible pages, so that an index alone answers.
pub(super) async fn analyze(endpoint: &Arc<Endpoint>, wait: Duration) -> StoreResult<()> {
    let tables = "leads, lead_vehicles, contacts, vehicles, vehicle_facts, vehicle_channels, vehicle_tags";
    let mut conn = connect(endpoint, wait).await?;
    conn.batch_execute(&format!("VACUUM (ANALYZE) {tables}"))
        .await
        .map_err(store_error)
}

/// A connection whose statements may take as long as they need.
async fn connect(endpoint: &Arc<Endpoint>, wait: Duration) -> StoreResult<AsyncPgConnection> {
    let connected = timeout(wait, Arc::clone(endpoint).connect()).await;
    let mut conn = connected
        .map_err(|_| unavailable("PostgreSQL did not answer in time"))?
        .map_err(|error| StoreError::Unavailable(error.into()))?;
    conn.batch_execute(UNBOUNDED).await.map_err(store_error)?;
    Ok(conn)
}

/// What is done here may have to look at every row, and to wait for those who read the table that it changes.
const UNBOUNDED: &str = "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0";

async fn lock(conn: &mut AsyncPgConnection) -> Result<(), MigrateError> {
    let at_once = diesel::select(sql::<Bool>("pg_try_advisory_lock(").bind::<BigInt, _>(LOCK).sql(")"));
    if !at_once.get_result::<bool>(conn).await? {
        tracing::info!("another server is changing the schema; waiting for it");
        diesel::select(
            sql::<Bool>("pg_advisory_lock(")
                .bind::<BigInt, _>(LOCK)
                .sql(") IS NOT NULL"),
        )
        .get_result::<bool>(conn)
        .await?;
    }
    Ok(())
}
