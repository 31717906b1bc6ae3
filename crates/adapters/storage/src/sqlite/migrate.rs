//! Brings the schema of a file up to date.

use diesel::connection::SimpleConnection as _;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::SqliteConnection;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness as _, embed_migrations};
use forecourt_kernel::{BoxError, StoreError};

use super::File;
use super::conn::write_ahead;
use crate::error::MigrateError;
use crate::migration::{self, Pending};
use crate::version_check::LEAST_VERSION;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../../migrations/sqlite");

/// The wait for the migrations of another process.
const TIMEOUT: &str = "PRAGMA busy_timeout = 120000";

/// Runs the missing migrations, in one transaction that excludes every other writer before it looks for them. Blocks.
pub(super) fn run(file: &File) -> Result<Vec<String>, MigrateError> {
    let mut conn = connect(file).map_err(|failure| MigrateError::Unreachable(StoreError::Unavailable(failure)))?;
    conn.immediate_transaction(|conn| {
        let Pending { migrations, is_new } = migration::pending(conn, &MIGRATIONS)?;
        if !is_new {
            let least = sql::<Text>(LEAST_VERSION).get_result(conn).optional()?;
            migration::check_version(least)?;
        }
        let mut versions = Vec::new();
        for migration in migrations {
            tracing::info!(migration = %migration.name(), "changing the schema");
            let version = conn.run_migration(&*migration).map_err(MigrateError::Failed)?;
            versions.push(version.to_string());
        }
        if !versions.is_empty() {
            check_references(conn)?;
        }
        Ok(versions)
    })
}

/// Connects with foreign keys off; they are checked at the end. A table is changed by building it anew and giving it the old
/// name, which would otherwise delete the rows that refer to it.
fn connect(file: &File) -> Result<SqliteConnection, BoxError> {
    let mut conn = SqliteConnection::establish(&file.location()?)?;
    conn.batch_execute(TIMEOUT)?;
    conn.batch_execute("PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")?;
    write_ahead(&mut conn)?;
    Ok(conn)
}

fn check_references(conn: &mut SqliteConnection) -> Result<(), MigrateError> {
    let count = sql::<BigInt>("(SELECT count(*) FROM pragma_foreign_key_check)");
    match diesel::select(count).get_result::<i64>(conn)? {
        0 => Ok(()),
        broken => Err(MigrateError::Failed(
            format!("{broken} rows would refer to rows that are not there").into(),
        )),
    }
}

/// Returns the versions of this program's migrations.
pub(crate) fn versions() -> Result<Vec<String>, MigrateError> {
    migration::versions::<diesel::sqlite::Sqlite, _>(&MIGRATIONS)
}
