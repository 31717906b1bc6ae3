//! The database that Forecourt runs on.

use std::fs;
use std::path::PathBuf;

use crate::error::{Context as _, Error, Result};
use crate::services::DurablePostgres;

pub(super) enum Database {
    /// The path of its file.
    Sqlite(PathBuf),
    Postgres(DurablePostgres),
}

impl Database {
    pub(super) fn url(&self) -> String {
        match self {
            Self::Sqlite(file) => format!("sqlite://{}", file.display()),
            Self::Postgres(server) => server.url(),
        }
    }

    /// Returns the server's first process, if there is a server.
    pub(super) fn process(&self) -> Result<Option<u32>> {
        match self {
            Self::Sqlite(_) => Ok(None),
            Self::Postgres(server) => server.process().map(Some),
        }
    }

    /// Returns its size in bytes.
    pub(super) fn bytes(&self) -> Result<f64> {
        match self {
            Self::Sqlite(file) => Ok(fs::metadata(file).map_or(0.0, |file| file.len() as f64)),
            Self::Postgres(server) => number(server, "SELECT pg_database_size(current_database())"),
        }
    }

    /// Returns the number of bytes in its log. On SQLite the file is reused from its beginning now and then.
    pub(super) fn log_bytes(&self) -> Result<f64> {
        let file = match self {
            Self::Sqlite(file) => file.with_extension("db-shm"),
            Self::Postgres(server) => return number(server, "SELECT pg_current_wal_lsn() - '0/0'"),
        };
        // The number of its last page is in the shared memory, and each page has a header.
        const PAGE: f64 = 4096.0 + 24.0;
        let index = fs::read(file).context(|| "the log's index cannot be read".to_owned())?;
        let last_page = index.get(16..20).and_then(|bytes| bytes.try_into().ok());
        let last_page = last_page.ok_or_else(|| Error::new("the log's index is too short"))?;
        Ok(f64::from(u32::from_ne_bytes(last_page)) * PAGE)
    }
}

fn number(server: &DurablePostgres, sql: &str) -> Result<f64> {
    let number = server.execute(sql)?.trim().parse();
    number.context(|| format!("the answer to {sql} is no number"))
}
