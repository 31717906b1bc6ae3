//! Reads, on a connection that belongs to one worker alone.

use std::path::Path;

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Params, Row};

use crate::leads::{BUSINESS, Identity, open};

/// How many leads a page shows. One more is read, which tells whether another page follows.
const PER_PAGE: i64 = 50;

pub(crate) struct Reader(Connection);

impl Reader {
    pub(crate) fn open(file: &Path) -> rusqlite::Result<Self> {
        let connection = open(file)?;
        connection.execute_batch("PRAGMA cache_size = -2048; PRAGMA query_only = ON;")?;
        Ok(Self(connection))
    }

    /// The lead with this id.
    pub(crate) fn lead(&self, id: i64) -> rusqlite::Result<Option<String>> {
        let mut statement = self.0.prepare_cached(
            "SELECT id, reference, created, updated, document FROM leads WHERE business_id = ?1 AND id = ?2",
        )?;
        let lead = |row: &Row<'_>| {
            let mut body = r#"{"success":true,"data":"#.to_owned();
            splice(row, &mut body)?;
            body.push('}');
            Ok(body)
        };
        statement.query_row((BUSINESS, id), lead).optional()
    }

    /// The newest leads in this state, and how many there are.
    pub(crate) fn first_page(&self, status: i64) -> rusqlite::Result<String> {
        let total: i64 = self
            .0
            .prepare_cached("SELECT count(*) FROM leads WHERE business_id = ?1 AND status = ?2")?
            .query_row((BUSINESS, status), |row| row.get(0))?;
        let mut statement = self.0.prepare_cached(
            "SELECT id, reference, created, updated, document FROM leads
             WHERE business_id = ?1 AND status = ?2 ORDER BY business_id DESC, id DESC LIMIT ?3",
        )?;
        page(&mut statement, (BUSINESS, status, PER_PAGE + 1), Some(total))
    }

    /// The leads in this state that come behind a lead.
    pub(crate) fn page_before(&self, status: i64, lead: i64) -> rusqlite::Result<String> {
        let mut statement = self.0.prepare_cached(
            "SELECT id, reference, created, updated, document FROM leads
             WHERE business_id = ?1 AND status = ?2 AND id < ?3 ORDER BY business_id DESC, id DESC LIMIT ?4",
        )?;
        page(&mut statement, (BUSINESS, status, lead, PER_PAGE + 1), None)
    }
}

fn page(statement: &mut CachedStatement<'_>, of: impl Params, total: Option<i64>) -> rusqlite::Result<String> {
    let mut body = r#"{"success":true,"data":["#.to_owned();
    let mut rows = statement.query(of)?;
    let (mut shown, mut more) = (0, false);
    while let Some(row) = rows.next()? {
        more = shown == PER_PAGE;
        if more {
            break;
        }
        if shown > 0 {
            body.push(',');
        }
        splice(row, &mut body)?;
        shown += 1;
    }
    let total = total.map_or_else(|| "null".to_owned(), |total| total.to_string());
    body.push_str(&format!(r#"],"meta":{{"total":{total},"more":{more}}}}}"#));
    Ok(body)
}

fn splice(row: &Row<'_>, body: &mut String) -> rusqlite::Result<()> {
    let identity = Identity {
        id: row.get(0)?,
        reference: row.get(1)?,
        created: row.get(2)?,
        updated: row.get(3)?,
    };
    identity.splice(row.get_ref(4)?.as_str()?, body);
    Ok(())
}
