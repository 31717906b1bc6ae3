//! Puts content aside that no record names: what an upload left that failed, or whose server died. What was put aside is deleted
//! later. A slip of the operator's, such as another database beside the same files, costs none.

use std::{sync::Arc, time::Duration};

use forecourt_dealership::Database;
use forecourt_files::{FileStore, ListedFile, find_mismatches};
use forecourt_kernel::{BoxError, Clock, Timestamp};

use super::job::{Job, Ports, Round};
use super::purge_pause::PurgePause;
use crate::shutdown::Shutdown;

/// How many files are compared at once.
const AT_ONCE: u32 = 500;
/// How often everything is looked through, in seconds.
const EVERY: i64 = 6 * 3_600;
/// How many of a hundred files may go. More are no leftovers: then the records are wrong, and not the files.
const MOST_IN_A_HUNDRED: usize = 5;
/// How many go in one round.
const MOST: usize = 10_000;
/// For how long a file is kept aside, in seconds.
const KEPT_ASIDE: i64 = 7 * 24 * 3_600;

#[derive(Clone)]
pub(super) struct FileSweep {
    database: Arc<dyn Database>,
    files: Arc<dyn FileStore>,
    clock: Arc<dyn Clock>,
    installation: Arc<str>,
    purge_pause: PurgePause,
    /// When everything was last looked through.
    swept: Option<Timestamp>,
}

/// What is stored without a record.
#[derive(Default)]
struct Strays {
    /// How many files are stored.
    stored: usize,
    /// How many of them are stray.
    count: usize,
    /// The first of these.
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

    /// Compares what is stored with what is recorded; `None` if that was cut short.
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
                let room = MOST.saturating_sub(strays.found.len());
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
        // By a clock that is ahead, what was stored a moment ago is old.
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
        if count.saturating_mul(100) > stored.saturating_mul(MOST_IN_A_HUNDRED) {
            tracing::warn!(
                stray = count,
                files = stored,
                "more than {MOST_IN_A_HUNDRED} in 100 files have no record, so none is put aside: see `forecourt files check`"
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

    /// So many files with a record, and so many without one. The store in memory says of all that they are old.
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
