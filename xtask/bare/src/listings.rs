//! Listings, in a table of the bare program's own: the finished JSON, and the index that the feed's order needs.

use std::path::Path;

use rusqlite::Connection;

use crate::leads::{BUSINESS, open};
use crate::reader::Reader;

/// Copies what Forecourt has, unless that was done before.
pub(crate) fn prepare(file: &Path) -> rusqlite::Result<()> {
    let connection: Connection = open(file)?;
    connection.execute_batch(
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

impl Reader {
    /// A page of the feed behind a listing, and where the next one begins.
    pub(crate) fn listings(&self, updated: i64, id: i64, limit: i64) -> rusqlite::Result<String> {
        let mut statement = self.connection.prepare_cached(
            "SELECT updated, id, json FROM bare_listings
             WHERE business_id = ?1 AND (updated, id) > (?2, ?3)
             ORDER BY updated, id LIMIT ?4",
        )?;
        let mut rows = statement.query((BUSINESS, updated, id, limit))?;
        let mut body = r#"{"success":true,"data":["#.to_owned();
        let (mut shown, mut last) = (0, None);
        while let Some(row) = rows.next()? {
            if shown > 0 {
                body.push(',');
            }
            body.push_str(row.get_ref(2)?.as_str()?);
            last = Some((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
            shown += 1;
        }
        let next = last.filter(|_| shown == limit);
        let next = next.map_or_else(|| "null".to_owned(), |(updated, id)| format!(r#""{updated}-{id}""#));
        body.push_str(&format!(r#"],"meta":{{"next_cursor":{next}}}}}"#));
        Ok(body)
    }
}
