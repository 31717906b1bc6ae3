//! Removes content that no record names: what an upload left that failed, or whose server died, and what belonged to records and
//! businesses that are deleted.

use std::{sync::Arc, time::Duration};

use forecourt_dealership::Database;
use forecourt_files::{FileStore, find_mismatches};
use forecourt_kernel::{BoxError, Clock, Timestamp};

use super::job::{Job, Ports, Round};
use crate::shutdown::Shutdown;

/// How many files are compared at once.
const AT_ONCE: u32 = 500;
/// How often everything is looked through, in seconds.
const EVERY: i64 = 6 * 3_600;

#[derive(Clone)]
pub(super) struct FileSweep {
    database: Arc<dyn Database>,
    files: Arc<dyn FileStore>,
    clock: Arc<dyn Clock>,
    /// When everything was last looked through.
    swept: Option<Timestamp>,
}

impl FileSweep {
    pub(super) fn new(ports: &Ports) -> Self {
        let Ports {
            database, clock, files, ..
        } = ports.clone();
        Self {
            database,
            files,
            clock,
            swept: None,
        }
    }
}

impl Job for FileSweep {
    const NAME: &'static str = "files";
    const REST: Duration = Duration::from_secs(300);

    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let now = self.clock.now();
        if self.swept.is_some_and(|swept| now < swept.plus_seconds(EVERY)) {
            return Ok(Round::Done);
        }
        let mut removed = 0_usize;
        for business in self.files.businesses().await? {
            let mut after = None;
            loop {
                if shutdown.is_requested() {
                    return Ok(Round::Done);
                }
                let mut records = self.database.read_for(Some(business)).await?;
                let found =
                    find_mismatches(&*self.files, records.as_mut(), business, after.as_ref(), AT_ONCE, now).await?;
                drop(records);
                for orphan in &found.orphans {
                    self.files.delete(business, &orphan.name).await?;
                }
                removed += found.orphans.len();
                for name in &found.missing {
                    tracing::error!(business = business.get(), file = %name, "the content of a file is missing");
                }
                after = found.next;
                if after.is_none() {
                    break;
                }
            }
        }
        if removed > 0 {
            tracing::info!(removed, "files that no record names were removed");
        }
        self.swept = Some(now);
        Ok(Round::Done)
    }
}
