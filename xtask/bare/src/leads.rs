//! What the reader and the writer share: the file's settings, and how a lead is put together.

use std::fmt::Write as _;
use std::path::Path;

use rusqlite::Connection;

/// Forecourt's first business.
pub(crate) const BUSINESS: i64 = 1;

/// Opens the file as Forecourt does, so that what is compared is what the two do with it.
pub(crate) fn open(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA mmap_size = 2147418112;",
    )?;
    Ok(connection)
}

/// A lead's number and stamps, which stand in columns of their own.
pub(crate) struct Identity {
    pub(crate) id: i64,
    pub(crate) reference: i64,
    pub(crate) created: i64,
    pub(crate) updated: i64,
}

impl Identity {
    /// Writes the lead whose other members are those of a JSON object.
    pub(crate) fn splice(&self, document: &str, into: &mut String) {
        let Self {
            id,
            reference,
            created,
            updated,
        } = self;
        let members = document.strip_prefix('{').unwrap_or(document);
        // A String takes all that is written to it.
        let _ = write!(
            into,
            r#"{{"id":{id},"reference":{reference},"created":{created},"updated":{updated},{members}"#
        );
    }
}
