//! Whether the database would take a write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diesel::dsl::sql;
use diesel::result::Error as QueryError;
use diesel::sql_types::Bool;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection as _};
use forecourt_kernel::{StoreError, StoreResult};
use tokio::sync::Mutex;

use super::connect::Endpoint;
use crate::error::{hinders_writing, store_error, unavailable};
use crate::readiness::Verdict;

/// Whether writes have failed lately for a reason that hinders all of them.
#[derive(Default)]
pub(super) struct Faults {
    noted: AtomicBool,
    pub(super) verdict: Verdict,
}

impl Faults {
    pub(super) fn note(&self, error: &QueryError) {
        if hinders_writing(error) {
            self.noted.store(true, Ordering::Relaxed);
            self.verdict.forget();
        }
    }
}

/// Asks the servers by connections of its own, which neither wait for those that requests use nor take any from them.
pub(super) struct Probe {
    primary: Mutex<Option<AsyncPgConnection>>,
    replica: Mutex<Option<AsyncPgConnection>>,
}

impl Probe {
    pub(super) fn new() -> Self {
        Self {
            primary: Mutex::new(None),
            replica: Mutex::new(None),
        }
    }

    /// # Errors
    /// `Unavailable` if the primary would take no write, or a server does not answer.
    pub(super) async fn ask(
        &self,
        primary: &Arc<Endpoint>,
        replica: Option<&Arc<Endpoint>>,
        faults: &Faults,
    ) -> StoreResult<()> {
        ask(&self.primary, primary, Some(faults)).await?;
        match replica {
            Some(replica) => ask(&self.replica, replica, None).await,
            None => Ok(()),
        }
    }
}

/// Asks on the connection that is kept for it, or on a new one. One that failed, or was given up on, is closed.
async fn ask(
    kept: &Mutex<Option<AsyncPgConnection>>,
    endpoint: &Arc<Endpoint>,
    writing: Option<&Faults>,
) -> StoreResult<()> {
    let mut kept = kept.lock().await;
    if let Some(mut conn) = kept.take()
        && answers(&mut conn, writing).await.is_ok()
    {
        *kept = Some(conn);
        return Ok(());
    }
    // The connection may have been what failed.
    let mut conn = Arc::clone(endpoint)
        .connect()
        .await
        .map_err(|error| StoreError::Unavailable(error.into()))?;
    answers(&mut conn, writing).await?;
    *kept = Some(conn);
    Ok(())
}

/// Whether the server answers and, given `writing`, would take a write.
async fn answers(conn: &mut AsyncPgConnection, writing: Option<&Faults>) -> StoreResult<()> {
    let read_only = sql::<Bool>("(pg_is_in_recovery() OR current_setting('transaction_read_only')::bool)");
    let read_only: bool = RunQueryDsl::get_result(diesel::select(read_only), conn)
        .await
        .map_err(store_error)?;
    let Some(faults) = writing else { return Ok(()) };
    if read_only {
        return Err(unavailable("PostgreSQL takes no writes: it is read-only, or a standby"));
    }
    let noted: &AtomicBool = &faults.noted;
    if AtomicBool::load(noted, Ordering::Relaxed) {
        match room(conn).await {
            Err(error) if hinders_writing(&error) => return Err(store_error(error)),
            // That this role may not do so says nothing of the disk.
            Ok(()) | Err(_) => noted.store(false, Ordering::Relaxed),
        }
    }
    Ok(())
}

/// Writes as much as makes a file grow, and takes it back. Only a table of its own has no free room within.
async fn room(conn: &mut AsyncPgConnection) -> Result<(), QueryError> {
    let asked = conn
        .batch_execute(
            "BEGIN;
             CREATE TEMPORARY TABLE forecourt_room ON COMMIT DROP AS
                 SELECT repeat(md5(n::text), 30) AS filling FROM generate_series(1, 200) n;
             ROLLBACK",
        )
        .await;
    if asked.is_err() {
        conn.batch_execute("ROLLBACK").await?;
    }
    asked
}
