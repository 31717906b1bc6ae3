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
        let process = self.server.process();
        let before = procfs::memory(process)?;
        let (mut ours, mut yardstick) = (f64::INFINITY, f64::INFINITY);
        let (mut listings, mut peak) = (0, before);
        for _ in 0..ROUNDS {
            let (walked, most) = procfs::peak_memory(process, || walk(self.client(0), "/2.0/listings"))?;
            let bare = walk(self.bare_client(), "/listings")?;
            // Forecourt takes adverts down whose time is over; the bare program's file stays as it is.
            if walked.0.abs_diff(bare.0) > bare.0 / 1000 {
                let counts = format!("{} listings, and the bare program's {}", walked.0, bare.0);
                return Err(Error::new(format!("the feed has {counts}")));
            }
            (listings, peak) = (walked.0, peak.max(most));
            (ours, yardstick) = (ours.min(walked.1), yardstick.min(bare.1));
        }
        let mut row = Row::new(format!("whole feed of {listings} listings"), ours, "ms");
        row.yardstick = Some((yardstick, ours / yardstick));
        self.add(row.at_most(self.engine.pick([2.0, 3.0])));
        self.at_most("growth of memory", peak - before, "MB", [20.0; 2]);
        Ok(())
    }
}

/// Reads page after page; returns how many listings there were, and how many milliseconds their server took.
fn walk(client: Client<'_>, path: &str) -> Result<(usize, f64)> {
    let (mut listings, mut took) = (0, 0.0);
    let mut next = Some(String::new());
    while let Some(cursor) = next {
        let page = format!("{path}?per_page={PER_PAGE}&cursor={cursor}");
        let began = Instant::now();
        let answer = client.get(&page)?;
        took += began.elapsed().as_secs_f64() * 1e3;
        if answer.status != 200 {
            return Err(Error::new(format!("{page} is answered with {}", answer.status)));
        }
        listings += answer.body.matches(r#""url_full":"#).count();
        // It stands at the end of a page.
        let end = answer.body.rsplit_once(r#""next_cursor":""#);
        next = end.and_then(|(_, end)| end.split('"').next()).map(str::to_owned);
    }
    Ok((listings, took))
}
