//! Notices on each new connection that the server is another one than before: a standby that was promoted.

use diesel::QueryResult;
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel_async::RunQueryDsl as _;
use forecourt_kernel::Epoch;

use super::link::Link;
use crate::state::DatabaseState;

/// The timeline of a server that is no standby.
pub(super) const TIMELINE: &str =
    "CASE WHEN pg_is_in_recovery() THEN NULL ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END";

/// Begins a new epoch where the server has another timeline than this process has seen. That comes before any other read on the
/// connection, since numbers of the former server may be given a second time. Of several processes one begins it.
pub(super) async fn verify(conn: &mut Link, state: &DatabaseState) -> QueryResult<()> {
    let Some(seen) = state.timeline() else { return Ok(()) };
    let found: Option<String> = diesel::select(sql::<Nullable<Text>>(TIMELINE)).get_result(conn).await?;
    let Some(found) = found.filter(|found| *found != seen) else {
        return Ok(());
    };
    diesel::sql_query(
        "WITH changed AS (
             UPDATE forecourt_meta SET value = $1 WHERE key = 'timeline' AND value <> $1 RETURNING key
         )
         UPDATE forecourt_meta
         SET value = greatest(value::bigint + 1, extract(epoch FROM clock_timestamp())::bigint)::text
         WHERE key = 'epoch' AND EXISTS (SELECT FROM changed)",
    )
    .bind::<Text, _>(&found)
    .execute(conn)
    .await?;
    let epoch = sql::<BigInt>("(SELECT value::bigint FROM forecourt_meta WHERE key = 'epoch')");
    let epoch = Epoch::new(diesel::select(epoch).get_result(conn).await?);
    tracing::warn!(
        timeline = found,
        epoch = epoch.number(),
        "PostgreSQL has another timeline than before, so the last commits may be lost: a new epoch has begun"
    );
    state.take_up(epoch);
    state.note_timeline(found);
    Ok(())
}
