//! Rate-limit counters in Redis, for several servers that count together.
//!
//! [`RedisRateCounters`] implements the port [`RateCounters`](forecourt_accounts::RateCounters). It gives the numbers that
//! [`LocalRateCounters`](forecourt_accounts::LocalRateCounters) would give if all requests went through one process.

mod inspection;
mod outage;
mod redis_counters;

pub use inspection::{RedisFacts, inspect};
pub use redis_counters::{InvalidRedisUrl, RedisRateCounters};
