//! The desk's tables, and the domain's ports over them.
//!
//! A port is everything that an area needs from storage. The desk has no vehicles, sends no mails and has no logins, and its answers to
//! the ports say so. A statement takes microseconds here, so it runs on the request's thread, and one connection is enough.

mod contacts;
mod leads;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, EventLog, NewEvent, Page, PageRequest, Position, StoreError, StoreResult, Timestamp,
};
use rusqlite::{Connection, OptionalExtension as _, Params, Row, types::Type};
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, OwnedMutexGuard};

const TABLES: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS leads (
        id INTEGER PRIMARY KEY AUTOINCREMENT, business INTEGER NOT NULL, reference INTEGER NOT NULL, version INTEGER NOT NULL,
        created INTEGER NOT NULL, updated INTEGER NOT NULL, content TEXT NOT NULL, UNIQUE (business, reference)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS contacts (
        id INTEGER PRIMARY KEY AUTOINCREMENT, business INTEGER NOT NULL, version INTEGER NOT NULL,
        created INTEGER NOT NULL, updated INTEGER NOT NULL, content TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, business INTEGER NOT NULL, name TEXT NOT NULL, record INTEGER NOT NULL,
        data TEXT NOT NULL, at INTEGER NOT NULL
    ) STRICT;
";

/// The database. Clones are the same one.
#[derive(Clone)]
pub struct Database(Arc<Mutex<Connection>>);

impl Database {
    /// Opens the file, and makes it and its tables if they are not there.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn open(path: &Path) -> StoreResult<Self> {
        let connection = Connection::open(path).map_err(failed)?;
        connection.execute_batch(TABLES).map_err(failed)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Begins a transaction, in turn with the others.
    ///
    /// # Errors
    /// The database fails.
    pub async fn begin(&self) -> StoreResult<Transaction> {
        let connection = Arc::clone(&self.0).lock_owned().await;
        connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        Ok(Transaction(connection))
    }
}

/// A transaction over all tables. Dropped without [`Transaction::commit`], it leaves nothing behind.
pub struct Transaction(OwnedMutexGuard<Connection>);

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // What cannot be rolled back is not committed either, and the next `BEGIN` fails.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

/// An event that is still to be sent.
pub struct Waiting {
    /// Its place in the outbox.
    pub id: i64,
    /// The business that owns the record.
    pub business: BusinessId,
    /// The event.
    pub event: NewEvent,
}

impl Transaction {
    /// Makes everything durable.
    ///
    /// # Errors
    /// The database fails; then nothing was done.
    pub fn commit(self) -> StoreResult<()> {
        self.0.execute_batch("COMMIT").map_err(failed)
    }

    /// The oldest event that is still to be sent.
    ///
    /// # Errors
    /// The database fails.
    pub fn next_event(&self) -> StoreResult<Option<Waiting>> {
        self.one(
            "SELECT id, business, name, record, data, at FROM outbox ORDER BY id LIMIT 1",
            (),
            |row| {
                let name: String = row.get(2)?;
                let name = name.parse().map_err(|error| unreadable(2, error))?;
                let at = Timestamp::from_epoch_seconds(row.get(5)?);
                let event = NewEvent {
                    name,
                    record: row.get(3)?,
                    data: row.get(4)?,
                    at,
                };
                Ok(Waiting {
                    id: row.get(0)?,
                    business: BusinessId::new(row.get(1)?),
                    event,
                })
            },
        )
    }

    /// Forgets an event that was sent.
    ///
    /// # Errors
    /// The database fails.
    pub fn sent(&self, event: i64) -> StoreResult<()> {
        self.run("DELETE FROM outbox WHERE id = ?1", [event])
    }

    fn run(&self, sql: &str, values: impl Params) -> StoreResult<()> {
        let mut statement = self.0.prepare_cached(sql).map_err(failed)?;
        statement.execute(values).map(drop).map_err(failed)
    }

    fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> StoreResult<Option<T>> {
        let mut statement = self.0.prepare_cached(sql).map_err(failed)?;
        statement.query_row(values, read).optional().map_err(failed)
    }

    fn all<T>(&self, sql: &str, values: impl Params, read: fn(&Row<'_>) -> rusqlite::Result<T>) -> StoreResult<Vec<T>> {
        let mut statement = self.0.prepare_cached(sql).map_err(failed)?;
        let rows = statement.query_map(values, read).map_err(failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }
}

/// The page of a list, given newest first. All of a desk's records are read and the filter's own `matches` picks: a store with more of
/// them puts the filter into its statement.
fn page<T>(passing: impl Iterator<Item = T>, request: &PageRequest, id: fn(&T) -> i64) -> Page<T> {
    let passing: Vec<T> = passing.collect();
    let total = request.offset().and(i64::try_from(passing.len()).ok());
    let skipped = usize::try_from(request.offset().unwrap_or_default()).unwrap_or(usize::MAX);
    let wanted = usize::try_from(request.wanted()).unwrap_or(usize::MAX);
    Page::of(
        passing.into_iter().skip(skipped).take(wanted).collect(),
        request,
        total,
        id,
    )
}

/// The id that a page is behind.
fn before(request: &PageRequest) -> i64 {
    match &request.position {
        Position::After(cursor) => cursor.id(),
        Position::Number(_) => i64::MAX,
    }
}

/// Reads the content of a record, which is kept as one JSON document.
fn content<T: DeserializeOwned>(row: &Row<'_>) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(4)?.as_str()?).map_err(|error| unreadable(4, error))
}

fn unreadable(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Other(Box::new(error))
}

fn not_here<T>(what: &str) -> StoreResult<T> {
    Err(StoreError::Other(format!("the desk has no {what}").into()))
}

/// An event is written in the transaction that causes it, and sent once that has committed.
#[async_trait]
impl EventLog for Transaction {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        let NewEvent { name, record, data, at } = event;
        let values = (business.get(), name.as_str(), record, data, at.epoch_seconds());
        self.run(
            "INSERT INTO outbox (business, name, record, data, at) VALUES (?1, ?2, ?3, ?4, ?5)",
            values,
        )
    }
}
