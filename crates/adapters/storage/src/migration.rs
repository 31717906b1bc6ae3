//! Running the migrations that are missing, under a lock that the engine holds meanwhile.

use std::collections::BTreeSet;

use diesel::backend::Backend;
use diesel::migration::{Migration, MigrationSource};
use diesel_migrations::MigrationHarness;

use crate::error::MigrateError;

/// Runs every migration of `source` that is not applied yet, the oldest first, and answers their versions.
pub(crate) fn run<DB: Backend, S: MigrationSource<DB>>(
    harness: &mut impl MigrationHarness<DB>,
    source: &S,
) -> Result<Vec<String>, MigrateError> {
    let mut migrations = source.migrations().map_err(MigrateError::Failed)?;
    migrations.sort_unstable_by(|one, other| one.name().version().cmp(&other.name().version()));
    let applied = harness.applied_migrations().map_err(MigrateError::Failed)?;
    let applied: BTreeSet<String> = applied.iter().map(ToString::to_string).collect();
    check_owner(&migrations, &applied)?;
    let mut done = Vec::new();
    for migration in migrations {
        let version = migration.name().version().to_string();
        if !applied.contains(&version) {
            tracing::info!(migration = %migration.name(), "changing the schema");
            harness.run_migration(&migration).map_err(MigrateError::Failed)?;
            done.push(version);
        }
    }
    Ok(done)
}

/// Refuses another program's database. One that a newer server has changed already is fine: schemas change in steps that the
/// version before can live with.
fn check_owner<DB: Backend>(ours: &[Box<dyn Migration<DB>>], applied: &BTreeSet<String>) -> Result<(), MigrateError> {
    let ours: Vec<String> = ours
        .iter()
        .map(|migration| migration.name().version().to_string())
        .collect();
    let (Some(first), Some(latest)) = (ours.first(), applied.last()) else {
        return Ok(());
    };
    if !applied.contains(first) {
        return Err(MigrateError::NotOurs(latest.clone()));
    }
    if ours.last().is_some_and(|ours| latest > ours) {
        tracing::warn!(schema = %latest, "the schema is newer than this server");
    }
    Ok(())
}
