//! Sets stored content aside that no record names: the remains of an upload that failed, or whose server died. Such content is
//! deleted later. So a mistake of the operator, such as another database beside the same files, loses no file.

use std::{sync::Arc, time::Duration};

use forecourt_dealership::Database;
use forecourt_files::{FileStore, ListedFile, find_mismatches};
use forecourt_kernel::{BoxError, Clock, Timestamp};

use super::job::{Job, Ports, Round};
use super::purge_pause::PurgePause;
use crate::shutdown::Shutdown;

/// The number of files that are compared at once.
const AT_ONCE: u32 = 500;
/// The interval in seconds between complete comparisons.
const EVERY: i64 = 6 * 3_600;
/// The maximum percentage of files that may be set aside. If there are more, the records are wrong, not the files.
const MAX_PERCENT: usize = 5;
/// The maximum number of files that are set aside in one round.
const MAX_FILES: usize = 10_000;
/// The time in seconds for which a file is kept aside.
const KEPT_ASIDE: i64 = 7 * 24 * 3_600;

#[derive(Clone)]
pub(super) struct FileSweep {
    database: Arc<dyn Database>,
    files: Arc<dyn FileStore>,
    clock: Arc<dyn Clock>,
    installation: Arc<str>,
    purge_pause: PurgePause,
    /// The time of the last complete comparison.
    swept: Option<Timestamp>,
}

/// Stored files without a record.
#[derive(Default)]
struct Strays {
    /// The number of stored files.
    stored: usize,
    /// The number of stray files.
    count: usize,
    /// The first of the stray files.
    found: Vec<ListedFile>,
}

impl FileSweep {
    pub(super) fn new(ports: &Ports) -> Self {
        let Ports {
            database,
            clock,
            files,
            installation,
            purge_pause,
            ..
        } = ports.clone();
        Self {
            database,
            files,
            clock,
            installation,
            purge_pause,
            swept: None,
        }
    }

    /// Compares stored files with records; `None` if the comparison was interrupted.
    async fn strays(&self, shutdown: &Shutdown, now: Timestamp) -> Result<Option<Strays>, BoxError> {
        let mut strays = Strays::default();
        for business in self.files.businesses().await? {
            let mut after = None;
            loop {
                if shutdown.is_requested() {
                    return Ok(None);
                }
                let mut records = self.database.read_for(Some(business)).await?;
                let found =
                    find_mismatches(&*self.files, records.as_mut(), business, after.as_ref(), AT_ONCE, now).await?;
                drop(records);
                for name in &found.missing {
                    tracing::error!(business = business.get(), file = %name, "the content of a file is missing");
                }
                strays.stored += found.stored;
                strays.count += found.orphans.len();
                let room = MAX_FILES.saturating_sub(strays.found.len());
                strays.found.extend(found.orphans.into_iter().take(room));
                after = found.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(Some(strays))
    }
}

impl Job for FileSweep {
    const NAME: &'static str = "files";
    const REST: Duration = Duration::from_secs(300);

    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let now = self.clock.now();
        // By a clock that is ahead, a file stored a moment ago looks old.
        if self.purge_pause.is_paused() || self.swept.is_some_and(|swept| now < swept.plus_seconds(EVERY)) {
            return Ok(Round::Done);
        }
        let owner = self.files.claim(&self.installation).await?;
        if owner != *self.installation {
            let own = &*self.installation;
            tracing::warn!(
                own,
                owner,
                "the files are another installation's, so none is put aside or deleted"
            );
            self.swept = Some(now);
            return Ok(Round::Done);
        }
        let deleted = self.files.empty_quarantine(now.plus_seconds(-KEPT_ASIDE)).await?;
        if deleted > 0 {
            tracing::info!(deleted, "files that were put aside a week ago were deleted");
        }
        let Some(Strays { stored, count, found }) = self.strays(shutdown, now).await? else {
            return Ok(Round::Done);
        };
        if count.saturating_mul(100) > stored.saturating_mul(MAX_PERCENT) {
            tracing::warn!(
                stray = count,
                files = stored,
                "more than {MAX_PERCENT} in 100 files have no record, so none is put aside: see `forecourt files check`"
            );
        } else if count > 0 {
            for file in &found {
                self.files.quarantine(file.business, &file.name, now).await?;
            }
            tracing::info!(
                files = found.len(),
                "files that no record names were put aside for a week"
            );
        }
        self.swept = Some(now);
        Ok(Round::Done)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use forecourt_files::{FileKind, FileName, StoredFile, testing::MemoryFileStore};
    use forecourt_kernel::{BusinessId, Random, StoreError};
    use futures_util::{StreamExt as _, stream};

    use super::*;
    use crate::{
        memory::{MemoryDatabase, clock_at},
        shutdown::shutdown,
        transaction::transact,
    };

    const BUSINESS: BusinessId = BusinessId::new(1);
    const DAY: i64 = 24 * 3_600;

    struct Same(u8);

    impl Random for Same {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(self.0);
        }
    }

    fn name(number: u8) -> FileName {
        FileName::random(&Same(number), FileKind::Pdf)
    }

    /// Makes a store with files that have a record and files that have none. The store in memory reports all of them as old.
    async fn store(database: &MemoryDatabase, recorded: u8, stray: u8) -> Arc<MemoryFileStore> {
        let store = MemoryFileStore::default();
        for number in 0..recorded + stray {
            let content = stream::iter([Ok(Bytes::from_static(b"abc"))]).boxed();
            store.put(BUSINESS, &name(number), 3, content).await.unwrap();
        }
        let files: Vec<StoredFile> = (0..recorded)
            .map(|number| StoredFile {
                name: name(number),
                kind: FileKind::Pdf,
                size: 3,
                sha256: String::new(),
                stored: Timestamp::from_epoch_seconds(0),
                public: false,
            })
            .collect();
        let insert = transact::<_, StoreError>(database, async |session| session.insert_files(BUSINESS, &files).await);
        insert.await.unwrap();
        Arc::new(store)
    }

    async fn sweep(database: &MemoryDatabase, store: &Arc<MemoryFileStore>, installation: &str, day: i64) -> usize {
        let mut job = FileSweep {
            database: Arc::new(database.clone()),
            files: Arc::clone(store) as Arc<dyn FileStore>,
            clock: Arc::new(clock_at(day * DAY)),
            purge_pause: PurgePause::default(),
            installation: installation.into(),
            swept: None,
        };
        let (_trigger, shutdown) = shutdown();
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::Done);
        store.list(BUSINESS, None, usize::MAX).await.unwrap().len()
    }

    #[tokio::test]
    async fn strays_are_put_aside_and_deleted_a_week_later() {
        let database = MemoryDatabase::default();
        let store = store(&database, 95, 5).await;
        assert_eq!(sweep(&database, &store, "ours", 0).await, 100, "they are too young");
        assert_eq!(sweep(&database, &store, "ours", 1).await, 95);
        let aside = async |day: i64| {
            let before = Timestamp::from_epoch_seconds(day * DAY);
            store.empty_quarantine(before).await.unwrap()
        };
        assert_eq!(sweep(&database, &store, "ours", 8).await, 95);
        assert_eq!(aside(1).await, 0);
        assert_eq!(aside(2).await, 5, "they were kept for seven days");
        let store = self::store(&database, 95, 5).await;
        sweep(&database, &store, "ours", 1).await;
        sweep(&database, &store, "ours", 9).await;
        assert_eq!(
            store
                .empty_quarantine(Timestamp::from_epoch_seconds(100 * DAY))
                .await
                .unwrap(),
            0
        );
    }

    #[tokio::test]
    async fn too_many_are_no_leftovers() {
        let database = MemoryDatabase::default();
        let store = store(&database, 94, 6).await;
        assert_eq!(sweep(&database, &store, "ours", 100).await, 100);
    }

    #[tokio::test]
    async fn the_files_of_another_installation_are_left_alone() {
        let database = MemoryDatabase::default();
        let store = store(&database, 99, 1).await;
        assert_eq!(store.claim("theirs").await.unwrap(), "theirs");
        assert_eq!(sweep(&database, &store, "ours", 100).await, 100);
        assert_eq!(sweep(&database, &store, "theirs", 100).await, 99);
    }
}
