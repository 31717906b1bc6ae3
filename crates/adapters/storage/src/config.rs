//! The settings of the layer.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::OpenError;

/// The address of the database, and the bounds on its use.
#[derive(Clone)]
pub struct Config {
    /// The database's address. `sqlite://data/forecourt.db` is a file below the working folder, and
    /// `sqlite:///var/lib/forecourt.db` one at an absolute path. `postgres://` and `postgresql://` are as libpq knows them.
    pub url: String,
    /// PostgreSQL: the most connections of one handle, see [`Storage::for_worker`](crate::Storage::for_worker).
    /// SQLite: the most light readers at once.
    pub pool_size: usize,
    /// The longest wait for a connection, or for the turn to write. After it the caller fails with `Unavailable`.
    pub wait: Duration,
    /// PostgreSQL: the time after which the server ends an idle transaction, should this process ever leave one.
    pub idle_in_transaction: Duration,
    /// PostgreSQL: the time after which the server ends a statement. `None`: there is no bound.
    pub statement: Option<Duration>,
    /// PostgreSQL: the longest wait of a statement for a lock.
    pub lock: Option<Duration>,
}

impl Config {
    /// The database at `url`, with defaults fit for a server: 8 connections, a wait of 3 seconds, and statements that end well
    /// before the request that they are for.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            pool_size: 8,
            wait: Duration::from_secs(3),
            idle_in_transaction: Duration::from_secs(10),
            statement: Some(Duration::from_secs(10)),
            lock: Some(Duration::from_secs(5)),
        }
    }

    /// Returns the engine and the place that the address names.
    pub(crate) fn target(&self) -> Result<Target, OpenError> {
        if is_postgres(&self.url) {
            return Ok(Target::Postgres);
        }
        let path = self.url.strip_prefix("sqlite://").ok_or(OpenError::UnknownEngine)?;
        match path {
            "" | "/" => Err(OpenError::NoPath),
            ":memory:" | "/:memory:" => Err(OpenError::InMemory),
            _ if path.contains('?') => Err(OpenError::SqliteOptions),
            _ => Ok(Target::Sqlite(path.into())),
        }
    }
}

/// Omits the addresses, since they hold passwords.
impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            url: _,
            pool_size,
            wait,
            idle_in_transaction,
            statement,
            lock,
        } = self;
        formatter
            .debug_struct("Config")
            .field("pool_size", pool_size)
            .field("wait", wait)
            .field("idle_in_transaction", idle_in_transaction)
            .field("statement", statement)
            .field("lock", lock)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Sqlite(PathBuf),
    Postgres,
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_decides_on_the_engine() {
        let target = |url: &str| Config::new(url).target().unwrap();
        assert_eq!(
            target("sqlite://data/forecourt.db"),
            Target::Sqlite("data/forecourt.db".into())
        );
        assert_eq!(
            target("sqlite:///var/lib/forecourt.db"),
            Target::Sqlite("/var/lib/forecourt.db".into())
        );
        assert_eq!(target("postgres://host/forecourt"), Target::Postgres);
        assert_eq!(target("postgresql://host/forecourt"), Target::Postgres);
    }

    #[test]
    fn a_wrong_address_is_refused_with_a_line_that_helps() {
        let refusal = |url: &str| Config::new(url).target().unwrap_err().to_string();
        assert!(refusal("mysql://host").contains("must begin with sqlite://"));
        assert!(refusal("sqlite://:memory:").contains("name a file instead"));
        assert!(refusal("sqlite://").contains("path of a file"));
        assert!(refusal("sqlite://a.db?mode=ro").contains("no options"));
    }

    #[test]
    fn debug_keeps_the_password() {
        let shown = format!("{:?}", Config::new("postgres://app:secret@host/db"));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
