//! The database file, opened and filled as Forecourt does.

use std::fmt::Write as _;
use std::path::Path;

use rusqlite::Connection;

/// Forecourt's first business.
pub(crate) const BUSINESS: i64 = 1;

/// Opens the file as Forecourt does, so that the comparison is of the work on it.
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

/// Copies Forecourt's listings, unless that was done before, into a table with the finished JSON and the index for the feed's
/// order.
pub(crate) fn copy_listings(file: &Path) -> rusqlite::Result<()> {
    open(file)?.execute_batch(
        "BEGIN IMMEDIATE;
         CREATE TABLE IF NOT EXISTS bare_listings (
             business_id INTEGER NOT NULL, id INTEGER NOT NULL, updated INTEGER NOT NULL, json TEXT NOT NULL,
             PRIMARY KEY (business_id, id)
         ) STRICT;
         CREATE INDEX IF NOT EXISTS bare_listings_updated ON bare_listings (business_id, updated, id);
         INSERT OR IGNORE INTO bare_listings SELECT business_id, id, updated, json FROM listings;
         COMMIT;",
    )
}

/// Writes a lead: its numbers and timestamps, which have columns of their own, and the members of a JSON object.
pub(crate) fn write_lead(into: &mut String, [id, reference, created, updated]: [i64; 4], document: &str) {
    let members = document.strip_prefix('{').unwrap_or(document);
    // Writing to a String does not fail.
    let _ = write!(
        into,
        r#"{{"id":{id},"reference":{reference},"created":{created},"updated":{updated},{members}"#
    );
}
