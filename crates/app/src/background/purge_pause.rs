//! Prevents a clock that has jumped ahead from making all data look old.

use std::time::Duration;

use forecourt_dealership::Database;
use forecourt_kernel::{Clock, StoreResult};
use tokio::time::Instant;

/// The maximum age in seconds of the newest record of a database in use.
const MAX_SILENCE: i64 = 2 * 86_400;
/// The time for which nothing is purged if the newest record is older, whatever the clock shows meanwhile.
const PAUSE_TIME: Duration = Duration::from_secs(86_400);

/// Decides whether old data may be purged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PurgePause {
    until: Option<Instant>,
}

impl PurgePause {
    /// Compares the clock with the newest stored record, before this server stores anything.
    ///
    /// # Errors
    /// As the store's.
    pub(crate) async fn at_start(database: &dyn Database, clock: &dyn Clock) -> StoreResult<Self> {
        let newest = database.read().await?.newest_record().await?;
        let now = clock.now();
        let silence = newest.map_or(0, |newest| now.epoch_seconds() - newest.epoch_seconds());
        if silence <= MAX_SILENCE {
            return Ok(Self { until: None });
        }
        tracing::warn!(
            hours = silence / 3_600,
            "the newest record is more than 2 days older than this server's clock: if the clock is wrong, stop the server and set it \
             right; nothing is purged for the next 24 hours"
        );
        Ok(Self {
            until: Some(Instant::now() + PAUSE_TIME),
        })
    }

    /// Returns true if nothing may be purged now.
    pub(crate) fn is_paused(self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::Timestamp;

    use super::*;
    use crate::memory::{MemoryDatabase, clock_at};

    async fn after_silence(days: i64) -> PurgePause {
        let database = MemoryDatabase::default();
        database.arrange(|state| state.newest_record = Some(Timestamp::from_epoch_seconds(9)));
        PurgePause::at_start(&database, &clock_at(9 + days * 86_400))
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn a_clock_that_is_ahead_of_all_records_pauses_for_a_day() {
        assert!(!after_silence(2).await.is_paused());
        assert!(!after_silence(-40).await.is_paused());
        let paused = after_silence(40).await;
        assert!(paused.is_paused());
        let left = paused.until.unwrap() - Instant::now();
        assert!(
            left <= PAUSE_TIME && left > PAUSE_TIME - Duration::from_secs(600),
            "{left:?}"
        );
        let over = PurgePause {
            until: Some(Instant::now()),
        };
        assert!(!over.is_paused());
    }

    #[tokio::test]
    async fn an_empty_database_pauses_nothing() {
        let pause = PurgePause::at_start(&MemoryDatabase::default(), &clock_at(86_400_000)).await;
        assert!(!pause.unwrap().is_paused());
    }
}
