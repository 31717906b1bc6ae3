//! `forecourt servers`.

use forecourt_kernel::Timestamp;
use serde::Serialize;

use super::{CommandError, key::minute_of};
use crate::{cli::Format, output, settings::Settings, system::SystemClock, wiring};

/// A running server.
#[derive(Serialize)]
struct ServerDocument {
    host: String,
    pid: u32,
    version: String,
    started: Timestamp,
    seen: Timestamp,
}

/// Lists the servers that use the database.
///
/// # Errors
/// [`CommandError::Wiring`], [`CommandError::Store`], [`CommandError::Output`].
pub(super) async fn list(settings: &Settings, format: Format) -> Result<(), CommandError> {
    let storage = wiring::open_migrated(settings).await?;
    let running = storage.running_servers(&SystemClock).await?;
    let documents: Vec<ServerDocument> = running
        .into_iter()
        .map(|running| ServerDocument {
            host: running.server.host,
            pid: running.server.pid,
            version: running.server.version,
            started: running.server.started,
            seen: running.seen,
        })
        .collect();
    if format.json {
        return Ok(output::json(&documents)?);
    }
    let rows: Vec<_> = documents
        .iter()
        .map(|server| {
            [
                server.host.clone(),
                server.pid.to_string(),
                server.version.clone(),
                minute_of(server.started),
                minute_of(server.seen),
            ]
        })
        .collect();
    Ok(output::table(["HOST", "PID", "VERSION", "STARTED", "SEEN"], &rows)?)
}
