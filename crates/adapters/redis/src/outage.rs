//! Pauses between requests to a Redis that fails.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use redis::RedisError;

/// The pause after a failure of Redis.
const REST: Duration = Duration::from_secs(1);

/// The state of an outage of Redis. During one, a single request per [`REST`] checks whether Redis is back, and no other waits
/// for it.
#[derive(Debug)]
pub(crate) struct Outage {
    /// The start of the time in [`Self::next_try`].
    epoch: Instant,
    /// The time of the next request to Redis, in milliseconds; 0 if there is no outage.
    next_try: AtomicU64,
}

impl Outage {
    /// Returns a state without an outage.
    pub(crate) fn none() -> Self {
        Self {
            epoch: Instant::now(),
            next_try: AtomicU64::new(0),
        }
    }

    /// Returns true if this request must query Redis.
    pub(crate) fn may_try(&self) -> bool {
        match self.next_try.load(Ordering::Relaxed) {
            0 => true,
            due if self.in_millis(Duration::ZERO) < due => false,
            // Of the callers that come when it is due, one wins the exchange.
            due => self
                .next_try
                .compare_exchange(due, self.in_millis(REST), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok(),
        }
    }

    /// Records that Redis failed.
    pub(crate) fn goes_on(&self, error: &RedisError) {
        if self.next_try.swap(self.in_millis(REST), Ordering::Relaxed) == 0 {
            tracing::warn!(
                %error,
                "Redis cannot be used: until it can, this server counts requests for the rate limit on its own"
            );
        }
    }

    /// Records that Redis answered.
    pub(crate) fn is_over(&self) {
        if self.next_try.load(Ordering::Relaxed) != 0 && self.next_try.swap(0, Ordering::Relaxed) != 0 {
            tracing::info!("Redis is back: requests are counted for the rate limit with the other servers again");
        }
    }

    /// Returns the moment `ahead` from now; it is never 0, since the pause is not.
    fn in_millis(&self, ahead: Duration) -> u64 {
        u64::try_from((self.epoch.elapsed() + ahead).as_millis()).unwrap_or(u64::MAX)
    }
}
