//! Brings the schema of a file up to date.

use diesel::connection::SimpleConnection as _;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
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
    apply(&mut conn)
}

/// Runs the missing migrations on a connection whose foreign keys are off; returns their versions. Blocks.
pub(crate) fn apply(conn: &mut SqliteConnection) -> Result<Vec<String>, MigrateError> {
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

/// Makes the schema of a version in an empty file. Blocks.
pub(crate) fn apply_up_to(conn: &mut SqliteConnection, version: &str) -> Result<(), MigrateError> {
    let Pending { migrations, .. } = migration::pending(conn, &MIGRATIONS)?;
    for migration in migrations {
        if migration.name().version().to_string().as_str() <= version {
            conn.run_migration(&*migration).map_err(MigrateError::Failed)?;
        }
    }
    Ok(())
}

/// Returns the versions and the names of all migrations, the oldest first.
pub(crate) fn known() -> Result<Vec<(String, String)>, MigrateError> {
    let migrations = diesel::migration::MigrationSource::<Sqlite>::migrations(&MIGRATIONS);
    let migrations = migrations.map_err(MigrateError::Failed)?;
    let named = migrations.iter().map(|migration| migration.name());
    let mut named: Vec<_> = named
        .map(|name| (name.version().to_string(), name.to_string()))
        .collect();
    named.sort_unstable();
    Ok(named)
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
