//! Reads, on a connection that belongs to one worker alone.

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::leads::{BUSINESS, Identity, open};

/// How many leads a page shows. One more is read, to learn whether another page follows.
const PER_PAGE: i64 = 50;

pub(crate) struct Reader {
    pub(crate) connection: Connection,
    counted: Cell<Option<Counted>>,
}

/// How many leads in one state were counted when leads had been written so often.
#[derive(Clone, Copy)]
struct Counted {
    status: i64,
    writes: i64,
    total: i64,
}

impl Reader {
    pub(crate) fn open(file: &Path) -> rusqlite::Result<Self> {
        let connection = open(file)?;
        connection.execute_batch("PRAGMA cache_size = -2048; PRAGMA query_only = ON;")?;
        Ok(Self {
            connection,
            counted: Cell::new(None),
        })
    }

    /// The lead with this id.
    pub(crate) fn lead(&self, id: i64) -> rusqlite::Result<Option<String>> {
        let mut statement = self.connection.prepare_cached(
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
        let total = self.total(status)?;
        self.page(status, i64::MAX, Some(total))
    }

    /// The leads in this state that come behind a lead.
    pub(crate) fn page_before(&self, status: i64, lead: i64) -> rusqlite::Result<String> {
        self.page(status, lead - 1, None)
    }

    /// Counts the leads in this state, unless none was written since that was done.
    fn total(&self, status: i64) -> rusqlite::Result<i64> {
        let writes: i64 = self
            .connection
            .prepare_cached("SELECT lead_writes FROM business_counters WHERE business_id = ?1")?
            .query_row([BUSINESS], |row| row.get(0))?;
        let counted = self.counted.get();
        if let Some(counted) = counted.filter(|counted| (counted.status, counted.writes) == (status, writes)) {
            return Ok(counted.total);
        }
        let total = self
            .connection
            .prepare_cached("SELECT count(*) FROM leads WHERE business_id = ?1 AND status = ?2")?
            .query_row((BUSINESS, status), |row| row.get(0))?;
        self.counted.set(Some(Counted { status, writes, total }));
        Ok(total)
    }

    fn page(&self, status: i64, last: i64, total: Option<i64>) -> rusqlite::Result<String> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, preview FROM leads
             WHERE business_id = ?1 AND status = ?2 AND id >= ?3 AND id <= ?4
             ORDER BY business_id DESC, id DESC LIMIT ?5 OFFSET 0",
        )?;
        let mut rows = statement.query((BUSINESS, status, i64::MIN, last, PER_PAGE + 1))?;
        let mut body = r#"{"success":true,"data":["#.to_owned();
        let (mut shown, mut more) = (0, false);
        while let Some(row) = rows.next()? {
            more = shown == PER_PAGE;
            if more {
                break;
            }
            if shown > 0 {
                body.push(',');
            }
            preview(row.get(0)?, row.get_ref(1)?.as_str()?, &mut body);
            shown += 1;
        }
        let total = total.map_or_else(|| "null".to_owned(), |total| total.to_string());
        body.push_str(&format!(r#"],"meta":{{"total":{total},"more":{more}}}}}"#));
        Ok(body)
    }
}

/// Puts a lead of a list together from its id and the members that are stored for that.
fn preview(id: i64, members: &str, body: &mut String) {
    // Behind the mark of the layout.
    let members = members.find('"').and_then(|at| members.get(at..)).unwrap_or_default();
    // A String takes all that is written to it.
    let _ = write!(body, r#"{{"id":{id},{members}}}"#);
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
