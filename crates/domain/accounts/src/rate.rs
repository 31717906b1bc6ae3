//! Rate limits: the number of requests that a business may make (contract, "Limits"; decisions §3, "Rate limit").

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, StoreResult, Timestamp};

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

/// The number of requests that each window allows; `None` turns the window off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLimits {
    /// Requests per UTC minute.
    pub per_minute: Option<u32>,
    /// Requests per UTC day.
    pub per_day: Option<u32>,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            per_minute: Some(300),
            per_day: Some(10_000),
        }
    }
}

/// The rate limit status of a business in the window that has the fewest requests left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLimitStatus {
    /// The number of requests that the window allows.
    pub limit: u32,
    /// The number of requests that are left in it.
    pub remaining: u32,
    /// The time at which it ends and the next one begins.
    pub reset: Timestamp,
    /// Set if this request was allowed, and so counted.
    pub allowed: bool,
}

/// Counts requests. Several servers may share one.
#[async_trait]
pub trait RateCounters: Send + Sync {
    /// Counts one request of `business` at `now`. If a window has none left, the request is counted in neither. `None` if both
    /// windows are turned off.
    async fn count(
        &self,
        business: BusinessId,
        limits: RateLimits,
        now: Timestamp,
    ) -> StoreResult<Option<RateLimitStatus>>;
}

/// A window's length in seconds and its limit.
struct Window {
    seconds: i64,
    limit: u32,
}

impl RateLimits {
    fn windows(self) -> impl Iterator<Item = (usize, Window)> {
        let lengths = [(self.per_minute, MINUTE), (self.per_day, DAY)];
        lengths
            .into_iter()
            .enumerate()
            .filter_map(|(slot, (limit, seconds))| limit.map(|limit| (slot, Window { seconds, limit })))
    }

    /// Checks a request of a business whose windows, the minute's first, have allowed `used` requests before it.
    pub fn check(self, used: [u32; 2], now: Timestamp) -> Option<RateLimitStatus> {
        let allowed = self.windows().all(|(slot, window)| used[slot] < window.limit);
        let status = |(slot, Window { seconds, limit }): (usize, Window)| {
            let used = used[slot].saturating_add(u32::from(allowed));
            let begun = now.epoch_seconds().div_euclid(seconds);
            RateLimitStatus {
                limit,
                remaining: limit.saturating_sub(used),
                reset: Timestamp::from_epoch_seconds((begun + 1) * seconds),
                allowed,
            }
        };
        // If two windows have equally few requests left, the one that ends later determines the time to wait.
        self.windows()
            .map(status)
            .min_by_key(|status| (status.remaining, std::cmp::Reverse(status.reset)))
    }
}

/// Counters of this process alone.
#[derive(Debug, Default)]
pub struct LocalRateCounters {
    businesses: RwLock<HashMap<BusinessId, Arc<Mutex<Used>>>>,
}

/// The requests of a business in the current minute and on the current day.
#[derive(Debug, Default)]
struct Used {
    begun: [i64; 2],
    used: [u32; 2],
}

impl Used {
    fn count(&mut self, limits: RateLimits, now: Timestamp) -> Option<RateLimitStatus> {
        let begun = [MINUTE, DAY].map(|seconds| now.epoch_seconds().div_euclid(seconds));
        for ((used, counted), current) in self.used.iter_mut().zip(&mut self.begun).zip(begun) {
            if *counted != current {
                (*counted, *used) = (current, 0);
            }
        }
        let status = limits.check(self.used, now);
        if status.is_some_and(|status| status.allowed) {
            self.used = self.used.map(|used| used.saturating_add(1));
        }
        status
    }
}

#[async_trait]
impl RateCounters for LocalRateCounters {
    async fn count(
        &self,
        business: BusinessId,
        limits: RateLimits,
        now: Timestamp,
    ) -> StoreResult<Option<RateLimitStatus>> {
        let known = self
            .businesses
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&business)
            .cloned();
        let used = known.unwrap_or_else(|| {
            let mut businesses = self.businesses.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(businesses.entry(business).or_default())
        });
        let status = used.lock().unwrap_or_else(PoisonError::into_inner).count(limits, now);
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RateLimits = RateLimits {
        per_minute: Some(3),
        per_day: Some(5),
    };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_epoch_seconds(seconds)
    }

    #[test]
    fn the_window_with_the_least_left_is_shown() {
        let mut used = Used::default();
        let statuses: Vec<_> = [0, 1, 59, 59, 60, 61, 62]
            .map(|seconds| used.count(LIMITS, at(seconds)).unwrap())
            .map(|status| {
                (
                    status.allowed,
                    status.limit,
                    status.remaining,
                    status.reset.epoch_seconds(),
                )
            })
            .to_vec();
        assert_eq!(
            statuses,
            [
                (true, 3, 2, 60),
                (true, 3, 1, 60),
                (true, 3, 0, 60),
                (false, 3, 0, 60),
                (true, 5, 1, 86_400),
                (true, 5, 0, 86_400),
                (false, 5, 0, 86_400),
            ]
        );
        assert!(used.count(LIMITS, at(86_400)).unwrap().allowed, "a new day");
    }

    #[test]
    fn a_window_that_is_off_neither_counts_nor_shows() {
        let mut used = Used::default();
        let limits = RateLimits {
            per_minute: None,
            per_day: Some(2),
        };
        assert_eq!(used.count(limits, at(0)).unwrap().remaining, 1);
        assert!(
            Used::default()
                .count(
                    RateLimits {
                        per_minute: None,
                        per_day: None
                    },
                    at(0)
                )
                .is_none()
        );
    }
}
