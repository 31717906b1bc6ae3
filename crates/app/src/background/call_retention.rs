//! Deletes calls that are older than their business keeps them: at the start, and at each midnight in UTC.

use std::{sync::Arc, time::Duration};

use forecourt_dealership::Database;
use forecourt_kernel::{BoxError, BusinessId, Clock, Date, StoreError, StoreResult, Timestamp};

use super::{
    job::{Job, Ports, Round},
    purge_pause::PurgePause,
};
use crate::{shutdown::Shutdown, transaction::transact};

/// The number of calls that one transaction deletes.
const BATCH: u32 = 100;
const DAY: i64 = 86_400;
/// The seconds of aged calls that one purge takes: twice the interval.
const AGED_WITHIN: i64 = 2 * DAY;

#[derive(Clone)]
pub(super) struct CallRetention {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    pause: PurgePause,
    /// The day of the last purge.
    purged: Option<Date>,
}

impl CallRetention {
    pub(super) fn new(ports: &Ports) -> Self {
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
            purged: None,
        }
    }

    /// Returns the businesses that delete calls, with the moment before which a call began that is too old.
    async fn limits(&self, now: Timestamp) -> StoreResult<Vec<(BusinessId, Timestamp)>> {
        let businesses = self.database.read().await?.businesses().await?;
        let limits = businesses.into_iter().filter_map(|business| {
            let days = business.settings.call_retention_days?;
            Some((business.id, now.plus_seconds(-i64::from(days) * DAY)))
        });
        Ok(limits.collect())
    }

    /// Deletes a business's old calls, but never so many at once that a wrong clock could delete all.
    async fn purge(&self, business: BusinessId, before: Timestamp, shutdown: &Shutdown) -> StoreResult<()> {
        let since = before.plus_seconds(-AGED_WITHIN);
        let quota = transact::<_, StoreError>(&*self.database, async |session| {
            session.call_purge_quota(business, before, since).await
        })
        .await?;
        let mut left = quota;
        while left > 0 && !shutdown.is_requested() {
            let limit = left.min(BATCH);
            let gone = transact::<_, StoreError>(&*self.database, async |session| {
                session.purge_calls(business, before, limit).await
            })
            .await?;
            left -= gone.min(limit);
            if gone < limit {
                break;
            }
        }
        if left < quota {
            tracing::info!(%business, count = quota - left, "deleted calls that are older than they are kept");
        }
        Ok(())
    }
}

impl Job for CallRetention {
    const NAME: &'static str = "call_retention";
    const REST: Duration = Duration::from_secs(60);

    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let now = self.clock.now();
        if self.pause.is_paused() || self.purged == Some(now.date()) {
            return Ok(Round::Done);
        }
        // The day is noted before the purge begins, so that one that fails does not take its share again at once.
        self.purged = Some(now.date());
        for (business, before) in self.limits(now).await? {
            if shutdown.is_requested() {
                break;
            }
            self.purge(business, before, shutdown).await?;
        }
        Ok(Round::Done)
    }
}

#[cfg(test)]
mod tests {
    use forecourt_accounts::{Business, Settings};
    use forecourt_calls::CallContent;

    use super::*;
    use crate::{
        memory::{FixedClock, MemoryDatabase, clock_at},
        sample::testing::a_business,
        shutdown::shutdown,
    };

    /// Makes a database with a business that keeps calls for this time, and the job.
    async fn with_calls(days: Option<u32>, ages: &[i64]) -> (MemoryDatabase, FixedClock, CallRetention) {
        let (database, clock) = (MemoryDatabase::default(), clock_at(1_790_000_000));
        let mut session = database.begin().await.unwrap();
        let business = Business {
            settings: Settings {
                call_retention_days: days,
                ..Settings::default()
            },
            ..a_business()
        };
        let business = session.insert_business(&business).await.unwrap();
        for age in ages {
            let call = CallContent {
                started: clock.now().plus_seconds(-age),
                ..CallContent::blank()
            };
            session.insert_call(business, call, clock.now()).await.unwrap();
        }
        session.commit().await.unwrap();
        let job = CallRetention {
            pause: PurgePause::at_start(&database, &clock).await.unwrap(),
            database: Arc::new(database.clone()),
            clock: Arc::new(clock.clone()),
            purged: None,
        };
        (database, clock, job)
    }

    fn left(database: &MemoryDatabase) -> usize {
        database.state().calls.all().count()
    }

    #[tokio::test]
    async fn old_calls_are_deleted_each_day() {
        let ages = [30 * DAY + 1, 30 * DAY, 29 * DAY + 1, DAY];
        let (database, clock, mut job) = with_calls(Some(30), &ages).await;
        let (_trigger, shutdown) = shutdown();
        job.round(&shutdown).await.unwrap();
        assert_eq!(left(&database), 3);
        clock.advance(DAY - 60);
        job.round(&shutdown).await.unwrap();
        assert_eq!(left(&database), 2);
        clock.advance(60);
        job.round(&shutdown).await.unwrap();
        assert_eq!(left(&database), 2, "once a day");
    }

    #[tokio::test]
    async fn a_business_that_says_nothing_keeps_all() {
        let (database, _, mut job) = with_calls(None, &[5_000 * DAY]).await;
        let (_trigger, shutdown) = shutdown();
        job.round(&shutdown).await.unwrap();
        assert_eq!(left(&database), 1);
    }

    #[tokio::test]
    async fn one_purge_takes_a_tenth_of_what_was_left_for_long() {
        let (database, clock, mut job) = with_calls(Some(30), &[100 * DAY; 30]).await;
        let (_trigger, shutdown) = shutdown();
        for expected in [27, 24] {
            job.round(&shutdown).await.unwrap();
            assert_eq!(left(&database), expected);
            clock.advance(DAY);
        }
    }
}
