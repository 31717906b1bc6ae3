//! When to leave Redis alone.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use redis::RedisError;

/// How long Redis is left alone after it failed.
const REST: Duration = Duration::from_secs(1);

/// Whether Redis is away. While it is, one request per [`REST`] finds out whether it is back, and no other waits for it.
#[derive(Debug)]
pub(crate) struct Outage {
    /// What [`Self::next_try`] counts from.
    epoch: Instant,
    /// When Redis may be asked again, in milliseconds; 0 if there is no outage.
    next_try: AtomicU64,
}

impl Outage {
    /// None so far.
    pub(crate) fn none() -> Self {
        Self {
            epoch: Instant::now(),
            next_try: AtomicU64::new(0),
        }
    }

    /// Whether this request is to ask Redis.
    pub(crate) fn may_try(&self) -> bool {
        match self.next_try.load(Ordering::Relaxed) {
            0 => true,
            due if self.in_millis(Duration::ZERO) < due => false,
            // One of the callers that come when it is due wins the exchange.
            due => self
                .next_try
                .compare_exchange(due, self.in_millis(REST), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok(),
        }
    }

    /// Redis failed.
    pub(crate) fn goes_on(&self, error: &RedisError) {
        if self.next_try.swap(self.in_millis(REST), Ordering::Relaxed) == 0 {
            tracing::warn!(
                %error,
                "Redis cannot be used: until it can, this server counts requests for the rate limit on its own"
            );
        }
    }

    /// Redis answered.
    pub(crate) fn is_over(&self) {
        if self.next_try.load(Ordering::Relaxed) != 0 && self.next_try.swap(0, Ordering::Relaxed) != 0 {
            tracing::info!("Redis is back: requests are counted for the rate limit with the other servers again");
        }
    }

    /// The moment that far ahead; never 0, since the rest is not.
    fn in_millis(&self, ahead: Duration) -> u64 {
        u64::try_from((self.epoch.elapsed() + ahead).as_millis()).unwrap_or(u64::MAX)
    }
}
