//! The whole feed of listings, page by page, as a copy elsewhere reads it at its beginning.

use std::time::{Duration, Instant};

use super::measure::watching_memory;
use super::procfs;
use crate::error::{Context as _, Error, Result};
use crate::http;
use crate::server::Server;

/// How many listings a page has: the most that a caller gets.
const PER_PAGE: usize = 500;
/// How often it is read from either side, in turn; the best time of each counts.
const ROUNDS: usize = 3;

/// What was measured of reading the whole feed.
pub(super) struct Feed {
    pub(super) listings: usize,
    /// How long it took from Forecourt, and from the bare program.
    pub(super) ours: Duration,
    pub(super) theirs: Duration,
    /// By how many bytes Forecourt's memory grew at most.
    pub(super) growth: u64,
}

impl Feed {
    pub(super) fn measure(server: &Server, authorization: &str, bare: &Server) -> Result<Self> {
        let before = procfs::memory(server.process())?;
        let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
        let mut listings = 0;
        let mut growth = 0;
        for _ in 0..ROUNDS {
            let path = |cursor: &str| format!("/2.0/listings?per_page={PER_PAGE}&cursor={cursor}");
            let (read, most) = watching_memory(server.process(), || walk(server, authorization, path))?;
            let (count, took) = read?;
            ours = ours.min(took);
            growth = growth.max(most.saturating_sub(before));
            listings = count;
            let path = |cursor: &str| {
                let (updated, id) = cursor.split_once('-').unwrap_or(("0", "0"));
                format!("/listings?updated={updated}&id={id}&limit={PER_PAGE}")
            };
            let (count, took) = walk(bare, authorization, path)?;
            theirs = theirs.min(took);
            if count != listings {
                return Err(Error::new(format!(
                    "the feed has {listings} listings, and the bare program's {count}"
                )));
            }
        }
        Ok(Self {
            listings,
            ours,
            theirs,
            growth,
        })
    }

    /// How many times as long as the bare program Forecourt takes.
    pub(super) fn ratio(&self) -> f64 {
        self.ours.as_secs_f64() / self.theirs.as_secs_f64()
    }
}

/// Reads page after page; answers how many listings there were, and how long their server took.
fn walk(server: &Server, authorization: &str, path: impl Fn(&str) -> String) -> Result<(usize, Duration)> {
    let (mut listings, mut took) = (0, Duration::ZERO);
    let mut cursor = Some(String::new());
    while let Some(behind) = cursor {
        let path = path(&behind);
        let began = Instant::now();
        let answer = http::get(server.port(), &path, &format!("{authorization}\r\n"));
        took += began.elapsed();
        let answer = answer.context(|| format!("{path} is not answered"))?;
        if answer.status != 200 {
            return Err(Error::new(format!("{path} is answered with {}", answer.status)));
        }
        listings += answer.body.matches(r#""url_full":"#).count();
        cursor = next_cursor(&answer.body);
    }
    Ok((listings, took))
}

/// Where the next page begins: what stands at the end of a page.
fn next_cursor(body: &str) -> Option<String> {
    let (_, rest) = body.rsplit_once(r#""next_cursor":""#)?;
    rest.split('"').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_where_the_next_one_begins() {
        let page = r#"{"data":[],"meta":{"pagination":{"per_page":500,"next_cursor":"abc"}}}"#;
        assert_eq!(next_cursor(page).as_deref(), Some("abc"));
        assert_eq!(next_cursor(r#"{"meta":{"next_cursor":null}}"#), None);
    }
}
