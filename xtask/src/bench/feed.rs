//! The whole feed of listings, page by page, as a copy elsewhere reads it at its beginning.

use super::measure::{Bench, timed};
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
            let (walked, most) = procfs::peak_memory(process, || read(self.client(0), "/2.0/listings"))?;
            let bare = read(self.bare_client(), "/listings")?;
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

/// Reads the feed; returns how many listings there were, and how many milliseconds their server took.
fn read(client: Client<'_>, path: &str) -> Result<(usize, f64)> {
    let mut listings = 0;
    let times = walk(client, path, PER_PAGE, |page| {
        listings += page.matches(r#""url_full":"#).count();
    })?;
    Ok((listings, times.into_iter().sum()))
}

/// Reads a list page after page; returns how many milliseconds each took.
pub(super) fn walk(client: Client<'_>, path: &str, per_page: usize, mut show: impl FnMut(&str)) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    let mut next = Some(String::new());
    while let Some(cursor) = next {
        let (page, took) = timed(client, &format!("{path}?per_page={per_page}&cursor={cursor}"))?;
        times.push(took);
        show(&page);
        // It stands at the end of a page.
        let end = page.rsplit_once(r#""next_cursor":""#);
        next = end.and_then(|(_, end)| end.split('"').next()).map(str::to_owned);
    }
    Ok(times)
}
