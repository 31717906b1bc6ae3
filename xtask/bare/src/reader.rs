//! Reads, on a connection that belongs to one worker.

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _};

use crate::database::{BUSINESS, open, write_lead};

/// The number of leads on a page. One more is read, to see whether another page follows.
const PER_PAGE: i64 = 50;

/// The beginning of an answer with a list.
const LIST: &str = r#"{"success":true,"data":["#;

pub(crate) struct Reader {
    connection: Connection,
    /// The latest count of leads: the state, the number of writes of leads at that time, and the count.
    counted: Cell<Option<(i64, i64, i64)>>,
}

impl Reader {
    pub(crate) fn open(file: &Path) -> rusqlite::Result<Self> {
        let connection = open(file)?;
        connection.execute_batch("PRAGMA cache_size = -2048; PRAGMA query_only = ON;")?;
        let counted = Cell::new(None);
        Ok(Self { connection, counted })
    }

    /// Returns the lead with this id.
    pub(crate) fn lead(&self, id: i64) -> rusqlite::Result<Option<String>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, reference, created, updated, document FROM leads WHERE business_id = ?1 AND id = ?2",
        )?;
        let lead = statement.query_row((BUSINESS, id), |row| {
            let columns = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
            let mut body = r#"{"success":true,"data":"#.to_owned();
            write_lead(&mut body, columns, row.get_ref(4)?.as_str()?);
            body.push('}');
            Ok(body)
        });
        lead.optional()
    }

    /// Returns the newest leads in this state, and their total.
    pub(crate) fn first_page(&self, status: i64) -> rusqlite::Result<String> {
        let total = self.total(status)?;
        self.page(status, i64::MAX, &total.to_string())
    }

    /// Returns the leads in this state that follow a lead.
    pub(crate) fn page_before(&self, status: i64, lead: i64) -> rusqlite::Result<String> {
        self.page(status, lead - 1, "null")
    }

    /// Counts the leads in this state, unless none was written since the last count.
    fn total(&self, status: i64) -> rusqlite::Result<i64> {
        let writes = self
            .connection
            .prepare_cached("SELECT writes FROM counters WHERE business_id = ?1 AND kind = 'leads'")?
            .query_row([BUSINESS], |row| row.get(0))?;
        if let Some((of, at, total)) = self.counted.get()
            && (of, at) == (status, writes)
        {
            return Ok(total);
        }
        let total = self
            .connection
            .prepare_cached("SELECT count(*) FROM leads WHERE business_id = ?1 AND status = ?2")?
            .query_row((BUSINESS, status), |row| row.get(0))?;
        self.counted.set(Some((status, writes, total)));
        Ok(total)
    }

    fn page(&self, status: i64, last: i64, total: &str) -> rusqlite::Result<String> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, preview FROM leads
             WHERE business_id = ?1 AND status = ?2 AND id >= ?3 AND id <= ?4
             ORDER BY business_id DESC, id DESC LIMIT ?5 OFFSET 0",
        )?;
        let mut rows = statement.query((BUSINESS, status, i64::MIN, last, PER_PAGE + 1))?;
        let (mut body, mut read) = (LIST.to_owned(), 0);
        while let Some(row) = rows.next()? {
            read += 1;
            if read > PER_PAGE {
                break;
            }
            if read > 1 {
                body.push(',');
            }
            let (id, preview) = (row.get::<_, i64>(0)?, row.get_ref(1)?.as_str()?);
            // The members begin after the mark of the layout.
            let members = preview.find('"').and_then(|at| preview.get(at..)).unwrap_or_default();
            // Writing to a String does not fail.
            let _ = write!(body, r#"{{"id":{id},{members}}}"#);
        }
        let more = read > PER_PAGE;
        let _ = write!(body, r#"],"meta":{{"total":{total},"more":{more}}}}}"#);
        Ok(body)
    }

    /// Returns the listings after a cursor, and the cursor of the next page.
    pub(crate) fn listings(&self, cursor: &str, per_page: i64) -> rusqlite::Result<String> {
        let (updated, id) = cursor.split_once('-').unwrap_or_default();
        let [updated, id] = [updated, id].map(|number| number.parse::<i64>().unwrap_or(0));
        let mut statement = self.connection.prepare_cached(
            "SELECT updated, id, json FROM bare_listings
             WHERE business_id = ?1 AND (updated, id) > (?2, ?3)
             ORDER BY updated, id LIMIT ?4",
        )?;
        let mut rows = statement.query((BUSINESS, updated, id, per_page))?;
        let (mut body, mut shown, mut last) = (LIST.to_owned(), 0, (0_i64, 0_i64));
        while let Some(row) = rows.next()? {
            if shown > 0 {
                body.push(',');
            }
            body.push_str(row.get_ref(2)?.as_str()?);
            last = (row.get(0)?, row.get(1)?);
            shown += 1;
        }
        let next = match last {
            (updated, id) if shown == per_page => format!(r#""{updated}-{id}""#),
            _ => "null".to_owned(),
        };
        let _ = write!(body, r#"],"meta":{{"next_cursor":{next}}}}}"#);
        Ok(body)
    }
}
