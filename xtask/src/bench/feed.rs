//! The whole feed of listings, page by page, as a new copy reads it first.

use super::measure::{Bench, timed};
use super::procfs;
use super::report::Row;
use crate::error::{Error, Result};
use crate::http::Client;

/// The number of listings on a page: the maximum for a caller.
const PER_PAGE: usize = 500;
/// The number of times that it is read from either side, in turn; the best time of each counts.
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
            // Forecourt removes expired adverts; the bare program's file does not change.
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

/// Reads the feed; returns the number of listings, and the milliseconds that their server took.
fn read(client: Client<'_>, path: &str) -> Result<(usize, f64)> {
    let mut listings = 0;
    let times = walk(client, path, PER_PAGE, |page| {
        listings += page.matches(r#""url_full":"#).count();
    })?;
    Ok((listings, times.into_iter().sum()))
}

/// Reads a list page after page; returns the milliseconds that each page took.
pub(super) fn walk(client: Client<'_>, path: &str, per_page: usize, mut show: impl FnMut(&str)) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    let mut next = Some(String::new());
    while let Some(cursor) = next {
        let (page, took) = timed(client, &format!("{path}?per_page={per_page}&cursor={cursor}"))?;
        times.push(took);
        show(&page);
        // The cursor is at the end of a page.
        let end = page.rsplit_once(r#""next_cursor":""#);
        next = end.and_then(|(_, end)| end.split('"').next()).map(str::to_owned);
    }
    Ok(times)
}
