//! The migrations that are missing.

use std::collections::BTreeSet;

use diesel::backend::Backend;
use diesel::migration::{Migration, MigrationSource};
use diesel_migrations::MigrationHarness;

use crate::error::MigrateError;

/// The migrations that a database lacks.
pub(crate) struct Pending<DB: Backend> {
    /// The migrations that are not applied yet, the oldest first.
    pub(crate) migrations: Vec<Box<dyn Migration<DB>>>,
    /// None was ever applied.
    pub(crate) is_new: bool,
}

/// Compares a database with `source`.
///
/// # Errors
/// It is another program's.
pub(crate) fn pending<DB: Backend, S: MigrationSource<DB>>(
    harness: &mut impl MigrationHarness<DB>,
    source: &S,
) -> Result<Pending<DB>, MigrateError> {
    let mut migrations = source.migrations().map_err(MigrateError::Failed)?;
    migrations.sort_unstable_by(|one, other| one.name().version().cmp(&other.name().version()));
    let applied = harness.applied_migrations().map_err(MigrateError::Failed)?;
    let applied: BTreeSet<String> = applied.iter().map(ToString::to_string).collect();
    check_owner(&migrations, &applied)?;
    migrations.retain(|migration| !applied.contains(&migration.name().version().to_string()));
    Ok(Pending {
        migrations,
        is_new: applied.is_empty(),
    })
}

/// Returns the versions of all migrations, the oldest first.
///
/// # Errors
/// They cannot be read.
pub(crate) fn versions<DB: Backend, S: MigrationSource<DB>>(source: &S) -> Result<Vec<String>, MigrateError> {
    let migrations = source.migrations().map_err(MigrateError::Failed)?;
    let mut versions: Vec<String> = migrations
        .iter()
        .map(|migration| migration.name().version().to_string())
        .collect();
    versions.sort_unstable();
    Ok(versions)
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

/// Refuses a database whose schema this version would write wrongly to.
///
/// # Errors
/// `least` is a later version than this one.
pub(crate) fn check_version(least: Option<String>) -> Result<(), MigrateError> {
    match least {
        Some(least) if is_older(crate::VERSION, &least) => Err(MigrateError::TooOld { least }),
        _ => Ok(()),
    }
}

/// Returns `true` if `version` is older than `least`. Only their numbers are compared.
pub(crate) fn is_older(version: &str, least: &str) -> bool {
    numbers(version) < numbers(least)
}

fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    release
        .split('.')
        .map(|part| part.parse().unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, least) in [
            ("0.1.0", "0.2.0"),
            ("0.9.0", "0.10.0"),
            ("1.2.3", "1.2.4"),
            ("0.1.0", "1.0.0"),
        ] {
            assert!(is_older(version, least), "{version} {least}");
            assert!(!is_older(least, version), "{least} {version}");
            assert!(!is_older(version, version));
        }
        assert!(!is_older("0.2.0-rc.1", "0.2.0"));
    }
}
