//! The check that the database would take a write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diesel::dsl::sql;
use diesel::result::Error as QueryError;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{StoreError, StoreResult};
use tokio::sync::Mutex;
use tokio_postgres::error::SqlState;

use super::connect::Endpoint;
use super::link::{Link, hinders_writing};
use crate::error::{store_error, unavailable};
use crate::readiness::ReadinessCache;
use crate::version_check::{LEAST_VERSION, VersionCheck};

/// A note of recent failures that prevent every write.
#[derive(Default)]
pub(super) struct Faults {
    noted: AtomicBool,
    pub(super) readiness: ReadinessCache,
}

impl Faults {
    pub(super) fn note(&self, refusal: Option<&SqlState>) {
        if refusal.is_some_and(hinders_writing) {
            self.noted.store(true, Ordering::Relaxed);
            self.readiness.forget();
        }
    }
}

/// Asks the server by a connection of its own. It neither waits for the connections of requests nor takes any from them.
#[derive(Default)]
pub(super) struct Probe {
    kept: Mutex<Option<Link>>,
}

impl Probe {
    /// Asks on the connection that is kept for it, or on a new one. A connection that failed, or whose answer was not awaited, is
    /// closed.
    ///
    /// # Errors
    /// `Unavailable` if the server would take no write, or does not answer.
    pub(super) async fn ask(
        &self,
        endpoint: &Arc<Endpoint>,
        faults: &Faults,
        version_check: &VersionCheck,
    ) -> StoreResult<()> {
        let mut kept = self.kept.lock().await;
        if let Some(mut link) = kept.take()
            && takes_writes(&mut link, faults, version_check).await.is_ok()
        {
            *kept = Some(link);
            return version_check.verdict();
        }
        // The failure may be the connection's.
        let mut link = Arc::clone(endpoint)
            .connect()
            .await
            .map_err(|error| StoreError::Unavailable(error.into()))?;
        takes_writes(&mut link, faults, version_check).await?;
        *kept = Some(link);
        version_check.verdict()
    }
}

/// Checks that the server answers, and would take a write.
async fn takes_writes(link: &mut Link, faults: &Faults, version_check: &VersionCheck) -> StoreResult<()> {
    let read_only = sql::<Bool>("(pg_is_in_recovery() OR current_setting('transaction_read_only')::bool)");
    let read_only: bool = RunQueryDsl::get_result(diesel::select(read_only), link)
        .await
        .map_err(store_error)?;
    if read_only {
        return Err(unavailable("PostgreSQL takes no writes: it is read-only, or a standby"));
    }
    // A database that was never migrated has no such table.
    let least = link.texts(LEAST_VERSION).await.unwrap_or_default();
    version_check.note(least.into_iter().next());
    let noted: &AtomicBool = &faults.noted;
    if AtomicBool::load(noted, Ordering::Relaxed) {
        match room(link).await {
            Err(error) if link.take_refusal().as_ref().is_some_and(hinders_writing) => return Err(store_error(error)),
            // A role without the right to do so shows nothing about the disk.
            Ok(()) | Err(_) => noted.store(false, Ordering::Relaxed),
        }
    }
    Ok(())
}

/// Writes enough to make a file grow, and rolls it back. It needs a table of its own, since existing ones may have free space
/// inside.
async fn room(link: &Link) -> Result<(), QueryError> {
    let asked = link
        .batch(
            "BEGIN;
             CREATE TEMPORARY TABLE forecourt_room ON COMMIT DROP AS
                 SELECT repeat(md5(n::text), 30) AS filling FROM generate_series(1, 200) n;
             ROLLBACK",
        )
        .await;
    if asked.is_err() {
        link.batch("ROLLBACK").await?;
    }
    asked
}
