//! The servers that use this database.

use diesel::prelude::*;
use forecourt_kernel::{Clock, StoreResult, Timestamp};

use super::Engine;
use crate::models::ServerRow;
use crate::schema::servers;
use crate::servers::{RunningServer, ServerReport, database_seconds};
use crate::statement::RunQueryDsl;

/// The seconds after its last renewal from which a server counts as gone.
const GONE_AFTER: i64 = 30;
/// The seconds after which the row of a server that did not remove it is deleted.
const KEPT: i64 = 3_600;

impl Engine {
    /// Writes the row of a server, or renews it, with the database's time if it has a clock. Rows of servers that ended long ago
    /// are removed.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub(crate) async fn renew_server(&self, server: &ServerReport, clock: &dyn Clock) -> StoreResult<()> {
        let clock_offset = self.clock_offset(clock).await?;
        let seen = database_seconds(clock.moment().epoch_millis(), clock_offset);
        let mut session = self.begin().await?;
        let row = ServerRow {
            id: server.id,
            host: server.host.clone(),
            pid: server.pid.into(),
            version: server.version.clone(),
            started: server.started.epoch_seconds(),
            seen,
            clock_offset,
            report: server.report.clone(),
        };
        diesel::delete(servers::table.filter(servers::id.eq(server.id).or(servers::seen.lt(seen - KEPT))))
            .execute(&mut *session)
            .await?;
        diesel::insert_into(servers::table)
            .values(row)
            .execute(&mut *session)
            .await?;
        session.commit().await
    }

    /// Removes the row of a server that ends.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub(crate) async fn remove_server(&self, id: i64) -> StoreResult<()> {
        let mut session = self.begin().await?;
        diesel::delete(servers::table.find(id)).execute(&mut *session).await?;
        session.commit().await
    }

    /// Returns the servers that run, those that started first before the others.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached.
    pub(crate) async fn running_servers(&self, clock: &dyn Clock) -> StoreResult<Vec<RunningServer>> {
        let now = database_seconds(clock.moment().epoch_millis(), self.clock_offset(clock).await?);
        let mut conn = self.read().await?;
        let rows: Vec<ServerRow> = servers::table
            .filter(servers::seen.gt(now - GONE_AFTER))
            .order((servers::started, servers::id))
            .select(ServerRow::as_select())
            .load(&mut *conn)
            .await?;
        Ok(rows.into_iter().map(running).collect())
    }
}

fn running(row: ServerRow) -> RunningServer {
    RunningServer {
        server: ServerReport {
            id: row.id,
            host: row.host,
            pid: u32::try_from(row.pid).unwrap_or_default(),
            version: row.version,
            started: Timestamp::from_epoch_seconds(row.started),
            report: row.report,
        },
        seen: Timestamp::from_epoch_seconds(row.seen),
        clock_offset: row.clock_offset,
    }
}
