//! Purges old data: answers kept for retries, events, the histories of webhooks, and removals of listings. It also runs the
//! regular maintenance of the database.

use std::{collections::HashMap, sync::Arc, time::Duration};

use forecourt_accounts::IdempotencyStore;
use forecourt_dealership::{Database, Purged, Session};
use forecourt_kernel::{BoxError, Clock, StoreError, StoreResult, Timestamp};
use forecourt_webhooks::{EVENTS_KEPT_DAYS, KEPT_DAYS};
use tokio::time::Instant;

use super::{
    job::{Job, Ports, Round},
    purge_pause::PurgePause,
};
use crate::{shutdown::Shutdown, transaction::transact};

/// The number of answers, deliveries and events that one transaction deletes: few enough, however long they are, that the lock
/// does not noticeably delay any request.
const BATCH: u32 = 100;
/// The interval between purges of a kind, and between maintenance runs of the database.
const INTERVAL: Duration = Duration::from_secs(3_600);
/// The seconds of aged data that one purge takes: twice the interval.
const AGED_WITHIN: i64 = 2 * 3_600;

const DAY: i64 = 86_400;
/// The time in seconds for which removals of listings are kept (decisions §8).
const REMOVALS_KEPT: i64 = 30 * DAY;

const PURGE_PAUSED: &str = "forecourt_purge_paused";

/// The purged data, its name in the log, and the seconds for which it is kept. The histories of webhooks come before the rows
/// that they refer to.
const PURGES: [(Purged, &str, i64); 5] = [
    (Purged::Answers, "stored answers", <dyn IdempotencyStore>::KEPT_SECONDS),
    (Purged::Deliveries, "webhook deliveries", KEPT_DAYS * DAY),
    (Purged::Webhooks, "deleted webhooks", KEPT_DAYS * DAY),
    (Purged::Events, "events", EVENTS_KEPT_DAYS * DAY),
    (Purged::ListingRemovals, "removals of listings", REMOVALS_KEPT),
];

#[derive(Clone)]
pub(super) struct Housekeeping {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    pause: PurgePause,
    /// The time at which each purge last began.
    purged: HashMap<Purged, Instant>,
    /// The time of the last maintenance of the database.
    tidied: Option<Instant>,
}

impl Housekeeping {
    pub(super) fn new(ports: &Ports) -> Self {
        metrics::describe_gauge!(
            PURGE_PAUSED,
            "1 while nothing is purged, since this server's clock was far ahead of the newest record at the start; else 0"
        );
        let Ports {
            database,
            clock,
            purge_pause: pause,
            ..
        } = ports.clone();
        Self {
            database,
            clock,
            pause,
            purged: HashMap::new(),
            tidied: None,
        }
    }

    /// Purges old data, but never so much at once that a wrong clock could empty a table.
    async fn purge(&self, what: Purged, name: &str, kept: i64, shutdown: &Shutdown) -> StoreResult<()> {
        let now = self.clock.now();
        let before = now.plus_seconds(-kept);
        let since = before.plus_seconds(-AGED_WITHIN);
        let quota = self.database.read().await?.purge_quota(what, before, since).await?;
        let mut left = quota;
        let mut outcome = Ok(());
        while left > 0 && !shutdown.is_requested() {
            let limit = left.min(BATCH);
            let forgotten = transact::<_, StoreError>(&*self.database, async |session| {
                purge(session, what, now, before, limit).await
            });
            match forgotten.await {
                Ok(forgotten) => {
                    left -= forgotten.min(limit);
                    if forgotten < limit {
                        break;
                    }
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        if left < quota {
            tracing::info!(
                what = name,
                count = quota - left,
                "purged what is older than it is kept"
            );
        }
        outcome
    }
}

async fn purge(
    session: &mut dyn Session,
    what: Purged,
    now: Timestamp,
    before: Timestamp,
    limit: u32,
) -> StoreResult<u32> {
    match what {
        Purged::Answers => session.purge_expired(now, limit).await,
        Purged::Deliveries => session.purge_deliveries(before, limit).await,
        Purged::Webhooks => session.purge_webhooks(before, limit).await,
        Purged::Events => session.purge_events(before, limit).await,
        Purged::ListingRemovals => session.purge_removals(before, limit).await,
    }
}

fn is_due(last: Option<&Instant>) -> bool {
    last.is_none_or(|last| last.elapsed() >= INTERVAL)
}

impl Job for Housekeeping {
    const NAME: &'static str = "housekeeping";
    const REST: Duration = Duration::from_secs(60);

    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let is_paused = self.pause.is_paused();
        metrics::gauge!(PURGE_PAUSED).set(f64::from(u8::from(is_paused)));
        for (what, name, kept) in PURGES {
            if is_paused || shutdown.is_requested() {
                break;
            }
            if is_due(self.purged.get(&what)) {
                // The time is set before the purge begins, so that one that fails does not take its share again at once.
                self.purged.insert(what, Instant::now());
                self.purge(what, name, kept, shutdown).await?;
            }
        }
        if is_due(self.tidied.as_ref()) && !shutdown.is_requested() {
            self.database.maintain().await?;
            self.tidied = Some(Instant::now());
        }
        Ok(Round::Done)
    }
}

#[cfg(test)]
mod tests {
    use forecourt_accounts::{Fingerprint, KeyedRequest, Shown, StoredResponse};
    use forecourt_kernel::BusinessId;

    use super::*;
    use crate::{
        memory::{MemoryDatabase, clock_at},
        shutdown::shutdown,
    };

    /// Makes a database with old answers, and the job.
    async fn with_answers(count: u32) -> (MemoryDatabase, Housekeeping) {
        let database = MemoryDatabase::default();
        let mut session = database.begin().await.unwrap();
        for number in 0..count {
            let request = KeyedRequest {
                key: format!("key-{number}").parse().unwrap(),
                fingerprint: Fingerprint::of("POST", "/2.0/leads", "", b"{}"),
            };
            let answer = StoredResponse {
                status: 201,
                body: Vec::new(),
            };
            let yesterday = Timestamp::from_epoch_seconds(-<dyn IdempotencyStore>::KEPT_SECONDS);
            session
                .store_response(BusinessId::new(1), &request, yesterday, &answer, Shown::default())
                .await
                .unwrap();
        }
        session.commit().await.unwrap();
        let clock = clock_at(0);
        let job = Housekeeping {
            pause: PurgePause::at_start(&database, &clock).await.unwrap(),
            database: Arc::new(database.clone()),
            clock: Arc::new(clock),
            purged: HashMap::new(),
            tidied: None,
        };
        (database, job)
    }

    #[tokio::test]
    async fn answers_are_forgotten_in_small_transactions_until_none_is_left() {
        let (database, mut job) = with_answers(2 * BATCH + 1).await;
        let (_trigger, shutdown) = shutdown();
        let before = database.sessions();
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::Done);
        assert_eq!(database.state().accounts.answers(), 0);
        // One query of the quota and one transaction for each kind, and two more transactions for the answers.
        assert_eq!(database.sessions() - before, 2 * PURGES.len() + 2);
    }

    #[tokio::test]
    async fn one_purge_takes_no_more_than_its_quota() {
        let (database, mut job) = with_answers(30).await;
        database.arrange(|state| state.purge_quota = Some(3));
        let (_trigger, shutdown) = shutdown();
        for left in [27, 27] {
            job.round(&shutdown).await.unwrap();
            assert_eq!(database.state().accounts.answers(), left);
        }
        // This simulates the end of the interval.
        job.purged.clear();
        job.round(&shutdown).await.unwrap();
        assert_eq!(database.state().accounts.answers(), 24);
    }

    #[tokio::test]
    async fn nothing_is_forgotten_while_the_clock_is_doubted() {
        let (database, mut job) = with_answers(30).await;
        database.arrange(|state| state.newest_record = Some(Timestamp::from_epoch_seconds(-3 * DAY)));
        job.pause = PurgePause::at_start(&database, &*job.clock).await.unwrap();
        let (_trigger, shutdown) = shutdown();
        job.round(&shutdown).await.unwrap();
        assert_eq!(database.state().accounts.answers(), 30);
        database.arrange(|state| state.newest_record = None);
        job.pause = PurgePause::at_start(&database, &*job.clock).await.unwrap();
        job.round(&shutdown).await.unwrap();
        assert_eq!(database.state().accounts.answers(), 0);
    }
}
