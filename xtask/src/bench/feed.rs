//! The whole feed of listings, page by page, as a copy elsewhere reads it at its beginning.

use std::time::Instant;

use super::measure::Bench;
use super::procfs;
use super::report::Row;
use crate::error::{Error, Result};
use crate::http::Client;

/// How many listings a page has: the most that a caller gets.
const PER_PAGE: usize = 500;
/// How often it is read from either side, in turn; the best time of each counts.
const ROUNDS: usize = 3;

impl Bench<'_> {
    pub(super) fn feed(&mut self) -> Result<()> {
        let (client, bare) = (self.client(0), self.bare_client());
        let process = self.server.process();
        let before = procfs::memory(process)?;
        let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
        let (mut listings, mut peak) = (0, before);
        for _ in 0..ROUNDS {
            let ((count, took), most) = procfs::peak_memory(process, || {
                walk(client, |cursor| {
                    format!("/2.0/listings?per_page={PER_PAGE}&cursor={cursor}")
                })
            })?;
            (listings, ours, peak) = (count, ours.min(took), f64::max(peak, most));
            let (count, took) = walk(bare, |cursor| {
                let (updated, id) = cursor.split_once('-').unwrap_or(("0", "0"));
                format!("/listings?updated={updated}&id={id}&limit={PER_PAGE}")
            })?;
            theirs = theirs.min(took);
            if count != listings {
                return Err(Error::new(format!(
                    "the feed has {listings} listings, and the bare program's {count}"
                )));
            }
        }
        let mut row = Row::new(format!("whole feed of {listings} listings"), ours, "ms");
        row.yardstick = Some((theirs, ours / theirs));
        self.add(row.at_most(self.engine.pick(2.0, 3.0)));
        self.add(Row::new("growth of memory", peak - before, "MB").at_most(20.0));
        Ok(())
    }
}

/// Reads page after page; returns how many listings there were, and how many milliseconds their server took.
fn walk(client: Client<'_>, path: impl Fn(&str) -> String) -> Result<(usize, f64)> {
    let (mut listings, mut took) = (0, 0.0);
    let mut cursor = Some(String::new());
    while let Some(behind) = cursor {
        let path = path(&behind);
        let began = Instant::now();
        let answer = client.get(&path)?;
        took += began.elapsed().as_secs_f64() * 1e3;
        if answer.status != 200 {
            return Err(Error::new(format!("{path} is answered with {}", answer.status)));
        }
        listings += answer.body.matches(r#""url_full":"#).count();
        // It stands at the end of a page.
        let next = answer.body.rsplit_once(r#""next_cursor":""#);
        cursor = next.and_then(|(_, rest)| rest.split('"').next()).map(str::to_owned);
    }
    Ok((listings, took))
}
