//! The facts of a Redis server that an operator checks.

use redis::{Client, RedisError};

use crate::redis_counters::prepare;

/// The facts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedisFacts {
    /// Its version.
    pub version: String,
    /// It is a replica, which takes no writes.
    pub is_read_only: bool,
}

/// Asks the Redis at `url`. Nothing is written.
///
/// # Errors
/// It cannot be reached, or does not answer within a second.
pub async fn inspect(url: &str) -> Result<RedisFacts, RedisError> {
    let client = Client::open(url)?;
    let mut connection = prepare(&client)?;
    let info: String = redis::cmd("INFO").query_async(&mut connection).await?;
    let value = |name: &str| {
        let mut lines = info.lines();
        lines
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .unwrap_or_default()
    };
    Ok(RedisFacts {
        version: value("redis_version").to_owned(),
        is_read_only: value("role") == "slave",
    })
}
