//! Filling a file with rows from elsewhere.

use std::path::Path;

use forecourt_kernel::StoreResult;

use super::digest::Value;
use super::file::{Snapshot, Table, quoted};
use crate::error::other;
use crate::sqlite::migrate;

/// A new file that is being filled. Its indexes are made at the end, which takes a fraction of the time.
pub(crate) struct Loading {
    snapshot: Snapshot,
    tables: Vec<Table>,
    /// The statements that make what was dropped for the time being.
    suspended: Vec<String>,
}

impl Loading {
    /// Makes the file, with the schema of a migration.
    pub(crate) fn begin(path: &Path, schema: &str) -> StoreResult<Self> {
        let mut snapshot = Snapshot::connect(path)?;
        // A file that is not finished is worth nothing.
        snapshot.batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE")?;
        migrate::apply_up_to(&mut snapshot.conn, schema).map_err(other)?;
        snapshot.batch("BEGIN")?;
        let tables = snapshot.tables()?;
        let suspended = suspend(&mut snapshot)?;
        for table in &tables {
            // A migration may have written rows.
            snapshot.batch(&format!("DELETE FROM {}", quoted(&table.name)))?;
        }
        Ok(Self {
            snapshot,
            tables,
            suspended,
        })
    }

    /// The tables to fill, in an order in which no row refers to a later one.
    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Returns the beginning of the statement that adds a row to a table.
    pub(crate) fn insert_into(table: &Table) -> String {
        format!("INSERT INTO {} ({}) VALUES", quoted(&table.name), table.column_list())
    }

    /// Adds a row.
    pub(crate) fn insert(&mut self, into: &str, row: &[Value]) -> StoreResult<()> {
        self.snapshot.insert(into, row)
    }

    /// Makes the indexes, and sets the ids that were given out last.
    pub(crate) fn finish(mut self, last_ids: &[(String, i64)]) -> StoreResult<Snapshot> {
        for statement in &self.suspended {
            self.snapshot.batch(statement)?;
        }
        self.snapshot.set_last_ids(last_ids)?;
        self.snapshot
            .batch("COMMIT; PRAGMA analysis_limit = 100000; ANALYZE; PRAGMA locking_mode = NORMAL")?;
        self.snapshot.texts("SELECT name FROM sqlite_schema LIMIT 1")?;
        Ok(self.snapshot)
    }
}

/// Drops indexes and triggers, but for the triggers that fill search indexes; returns the statements that make them again.
fn suspend(snapshot: &mut Snapshot) -> StoreResult<Vec<String>> {
    const SUSPENDED: &str = "sql IS NOT NULL AND (type = 'index' OR type = 'trigger' AND NOT EXISTS (
        SELECT search.name FROM sqlite_schema AS search
        WHERE search.sql LIKE 'CREATE VIRTUAL TABLE%' AND instr(sqlite_schema.sql, search.name) > 0))";
    let statements = snapshot.texts(&format!(
        "SELECT sql FROM sqlite_schema WHERE {SUSPENDED} ORDER BY rowid"
    ))?;
    let drops = snapshot.texts(&format!(
        "SELECT 'DROP ' || type || ' \"' || name || '\"' FROM sqlite_schema WHERE {SUSPENDED}"
    ))?;
    for drop in drops {
        snapshot.batch(&drop)?;
    }
    Ok(statements)
}

impl Snapshot {
    /// Returns the tables that number their rows, with the number given out last.
    pub(crate) fn last_ids(&mut self) -> StoreResult<Vec<(String, i64)>> {
        let tables = self.texts(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%' ORDER BY name",
        )?;
        let mut last = Vec::new();
        for table in tables {
            let query = format!("SELECT seq FROM sqlite_sequence WHERE name = '{table}'");
            let seq = self.integers::<1>(&query)?.first().map_or(0, |[seq]| *seq);
            last.push((table, seq));
        }
        Ok(last)
    }

    /// Sets the numbers that tables gave out last, unless they have a higher one.
    pub(crate) fn set_last_ids(&mut self, last_ids: &[(String, i64)]) -> StoreResult<()> {
        for (table, last) in last_ids {
            self.batch(&format!(
                "INSERT INTO sqlite_sequence (name, seq) SELECT '{table}', 0
                     WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '{table}');
                 UPDATE sqlite_sequence SET seq = max(seq, {last}) WHERE name = '{table}'"
            ))?;
        }
        Ok(())
    }
}
