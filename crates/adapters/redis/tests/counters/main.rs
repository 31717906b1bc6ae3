//! Tests of the counters with a real Redis.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod contract;
mod outage;
mod together;

use std::{
    env,
    hash::{BuildHasher, RandomState},
};

use forecourt_accounts::{RateLimitStatus, RateLimits};
use forecourt_kernel::{BusinessId, Timestamp};

/// Returns the URL of a Redis that the tests share with its other users: they do not change existing keys.
fn redis_url() -> String {
    let url = env::var("FORECOURT_TEST_REDIS_URL").ok().filter(|url| !url.is_empty());
    url.unwrap_or_else(|| {
        panic!("FORECOURT_TEST_REDIS_URL names no Redis; `cargo xtask test` starts one and runs all tests with it")
    })
}

/// Returns a number that nothing else uses.
fn unused() -> i64 {
    (RandomState::new().hash_one(()) >> 1).cast_signed()
}

/// Returns a business for which nothing was counted.
fn new_business() -> BusinessId {
    BusinessId::new(unused())
}

fn limits(per_minute: impl Into<Option<u32>>, per_day: impl Into<Option<u32>>) -> RateLimits {
    RateLimits {
        per_minute: per_minute.into(),
        per_day: per_day.into(),
    }
}

/// Returns the moment this number of seconds into some day.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(20_000 * 86_400 + seconds)
}

/// Returns the values of a status, with its end as seconds into the day of [`at`].
fn parts(status: Option<RateLimitStatus>) -> (bool, u32, u32, i64) {
    let RateLimitStatus {
        limit,
        remaining,
        reset,
        allowed,
    } = status.unwrap();
    (allowed, limit, remaining, reset.epoch_seconds() - at(0).epoch_seconds())
}
