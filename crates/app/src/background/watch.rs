//! Watches the database's epoch, which another server or a command may have raised, and its time.

use std::{sync::Arc, time::Duration};

use forecourt_kernel::{BoxError, Clock, StoreError, StoreResult};
use forecourt_storage::Storage;

use super::job::{Job, Round};
use crate::{shutdown::Shutdown, system::SystemRandom};

/// The maximum offset in milliseconds between this server's clock and the database's.
const MAX_CLOCK_OFFSET: i64 = 5 * 60 * 1000;

#[derive(Clone)]
pub(super) struct Watch {
    storage: Storage,
    clock: Arc<dyn Clock>,
}

impl Watch {
    pub(super) fn new(storage: Storage, clock: Arc<dyn Clock>) -> Self {
        Self { storage, clock }
    }

    async fn look(&self) -> StoreResult<()> {
        let before = self.storage.epoch();
        let facts = self.storage.identify(&*self.clock, &SystemRandom).await?;
        if facts.epoch != before {
            tracing::warn!(
                epoch = facts.epoch.number(),
                "a new epoch has begun: the database has gone back to an earlier state"
            );
        }
        let fault = clock_fault(self.storage.clock_offset(&*self.clock).await?);
        if self.storage.block_writes(fault.clone()) {
            match fault {
                Some(fault) => tracing::error!("{fault}; no writes are taken until it is right"),
                None => tracing::info!("this server's clock agrees with the database's again: writes are taken"),
            }
        }
        Ok(())
    }
}

impl Job for Watch {
    const NAME: &'static str = "watch";
    /// All servers must know a new epoch within 5 seconds.
    const REST: Duration = Duration::from_secs(2);

    async fn round(&mut self, _: &Shutdown) -> Result<Round, BoxError> {
        match self.look().await {
            // Other jobs report an outage; this one must look again as soon as it is over.
            Ok(()) | Err(StoreError::Unavailable(_)) => Ok(Round::Done),
            Err(error) => Err(error.into()),
        }
    }
}

/// Describes the offset between this server's clock and the database's, if it is too large.
pub(crate) fn clock_fault(offset: Option<i64>) -> Option<String> {
    let offset = offset.filter(|offset| offset.abs() > MAX_CLOCK_OFFSET)?;
    let direction = if offset > 0 { "ahead of" } else { "behind" };
    let seconds = offset.abs() / 1000;
    Some(format!(
        "this server's clock is {seconds} seconds {direction} the database's"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_be_off_by_five_minutes() {
        for offset in [None, Some(0), Some(300_000), Some(-300_000)] {
            assert_eq!(clock_fault(offset), None, "{offset:?}");
        }
        assert_eq!(
            clock_fault(Some(301_000)).unwrap(),
            "this server's clock is 301 seconds ahead of the database's"
        );
        assert_eq!(
            clock_fault(Some(-3_456_000_000)).unwrap(),
            "this server's clock is 3456000 seconds behind the database's"
        );
    }
}
