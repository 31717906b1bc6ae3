//! Watches the database: its epoch and its switch for outgoing data, which another server or a command may have changed, and its
//! time.

use std::{sync::Arc, time::Duration};

use forecourt_kernel::{BoxError, Clock, StoreError, StoreResult, Timestamp};
use forecourt_storage::{Keyring, Outgoing, Storage};
use tokio::time::Instant;

use super::job::{Job, Round};
use crate::{shutdown::Shutdown, system::SystemRandom};

/// The maximum offset in milliseconds between this server's clock and the database's.
const MAX_CLOCK_OFFSET: i64 = 5 * 60 * 1000;
/// The interval at which the log repeats that outgoing is held.
const REMINDER_INTERVAL: Duration = Duration::from_hours(1);

const HELD: &str = "forecourt_outgoing_held";

#[derive(Clone)]
pub(super) struct Watch {
    storage: Storage,
    keyring: Keyring,
    clock: Arc<dyn Clock>,
    /// The time at which the log last said that outgoing is held; `None` while it is not.
    reminded: Option<Instant>,
}

impl Watch {
    pub(super) fn new(storage: Storage, keyring: Keyring, clock: Arc<dyn Clock>) -> Self {
        metrics::describe_gauge!(
            HELD,
            "1 while no webhook, mail or request to a model leaves any server, since outgoing is held; else 0"
        );
        Self {
            storage,
            keyring,
            clock,
            reminded: None,
        }
    }

    /// Reports the switch for outgoing data: in the metrics, and in the log while it is held.
    fn report(&mut self, outgoing: Outgoing) {
        metrics::gauge!(HELD).set(f64::from(u8::from(outgoing.is_held)));
        if !outgoing.is_held {
            if self.reminded.take().is_some() {
                tracing::info!("outgoing is released: webhooks, mails and requests to models leave again");
            }
        } else if self.reminded.is_none_or(|last| last.elapsed() >= REMINDER_INTERVAL) {
            self.reminded = Some(Instant::now());
            tracing::warn!(
                since = outgoing.since.map(Timestamp::epoch_seconds),
                "outgoing is held: no webhook, mail or request to a model leaves; `forecourt outgoing release` ends that"
            );
        }
    }

    async fn look(&mut self) -> StoreResult<()> {
        let before = self.storage.epoch();
        let facts = self.storage.identify(&*self.clock, &SystemRandom).await?;
        if facts.epoch != before {
            tracing::warn!(
                epoch = facts.epoch.number(),
                "a new epoch has begun: the database has gone back to an earlier state"
            );
        }
        self.report(facts.outgoing);
        if self.keyring.has_previous() {
            self.storage.follow_keys(&self.keyring).await?;
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
    /// All servers must know a new epoch, and obey the switch, within 5 seconds.
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
