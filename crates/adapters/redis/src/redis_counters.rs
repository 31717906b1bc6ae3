//! The counters.

use std::{
    sync::{PoisonError, RwLock},
    time::Duration,
};

use async_trait::async_trait;
use forecourt_accounts::{LocalRateCounters, RateCounters, RateLimitStatus, RateLimits};
use forecourt_kernel::{BusinessId, StoreResult, Timestamp};
use redis::{
    Client, RedisError, RedisResult, Script,
    aio::{ConnectionManager, ConnectionManagerConfig},
};

use crate::outage::Outage;

/// The maximum time for connecting, and for an answer. Redis answers within milliseconds or has a problem.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The windows by name and length in seconds, in the order of [`RateLimits::check`].
const WINDOWS: [(&str, i64); 2] = [("minute", 60), ("day", 86_400)];

/// Counts requests together with every other server that uses the same Redis.
///
/// A request costs one round trip, in which a script checks and counts it in both windows or in neither.
///
/// While Redis cannot be used, each server counts on its own: a business can then make its full number of requests at each
/// server. The limit keeps one business from crowding out the others, and every server still ensures that. Refusing all
/// requests instead would make a lost counter as bad as a lost database. The log reports the beginning and the end. Redis is
/// tried again once a second.
pub struct RedisRateCounters {
    client: Client,
    connection: RwLock<ConnectionManager>,
    script: Script,
    outage: Outage,
    fallback: LocalRateCounters,
}

impl RedisRateCounters {
    /// Makes counters in the Redis at `url`: `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, or `rediss://…` for TLS, for
    /// which the server's certificate must be valid for the host. Call it inside a Tokio runtime. No connection is opened
    /// before the first request, so Redis may be down when a server starts.
    ///
    /// # Errors
    /// [`InvalidRedisUrl`] if the text is not such a URL.
    pub fn connect(url: &str) -> Result<Self, InvalidRedisUrl> {
        let client = Client::open(url).map_err(|_| InvalidRedisUrl)?;
        Ok(Self {
            connection: RwLock::new(prepare(&client).map_err(|_| InvalidRedisUrl)?),
            client,
            script: Script::new(include_str!("count.lua")),
            outage: Outage::none(),
            fallback: LocalRateCounters::default(),
        })
    }

    async fn count_together(
        &self,
        business: BusinessId,
        limits: RateLimits,
        now: Timestamp,
    ) -> RedisResult<Option<RateLimitStatus>> {
        let mut question = self.script.prepare_invoke();
        for ((name, seconds), limit) in WINDOWS.into_iter().zip([limits.per_minute, limits.per_day]) {
            let window = now.epoch_seconds().div_euclid(seconds);
            question
                // The braces keep the keys of a business on one node of a cluster.
                .key(format!("forecourt:rate:{{{business}}}:{name}:{window}"))
                .arg(limit.map_or(-1, i64::from))
                .arg(seconds);
        }
        let mut connection = self.connection.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut answer = question.invoke_async(&mut connection).await;
        if answer.as_ref().is_err_and(RedisError::is_connection_dropped) {
            // The connection was lost while it was idle, for example; a new one is being opened.
            answer = question.invoke_async(&mut connection).await;
        }
        let (minute, day, counted): (u32, u32, bool) = answer?;
        let status = limits.check([minute, day], now);
        debug_assert_eq!(status.map(|status| status.allowed), Some(counted));
        Ok(status)
    }

    /// Drops the connection. One that failed in another way than by being lost, such as at the login, would fail in the same
    /// way for ever.
    fn forget_connection(&self) {
        if let Ok(fresh) = prepare(&self.client) {
            *self.connection.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        }
    }
}

#[async_trait]
impl RateCounters for RedisRateCounters {
    async fn count(
        &self,
        business: BusinessId,
        limits: RateLimits,
        now: Timestamp,
    ) -> StoreResult<Option<RateLimitStatus>> {
        if limits.per_minute.is_none() && limits.per_day.is_none() {
            return Ok(None);
        }
        if self.outage.may_try() {
            match self.count_together(business, limits, now).await {
                Ok(status) => {
                    self.outage.is_over();
                    return Ok(status);
                }
                Err(error) => {
                    self.outage.goes_on(&error);
                    self.forget_connection();
                }
            }
        }
        self.fallback.count(business, limits, now).await
    }
}

/// Returns a connection that opens when it is first used.
pub(crate) fn prepare(client: &Client) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(TIMEOUT))
        .set_response_timeout(Some(TIMEOUT))
        // A retry is left to the next request.
        .set_number_of_retries(0);
    ConnectionManager::new_lazy_with_config(client.clone(), config)
}

/// The text is not the URL of a Redis. The message does not repeat it, since it may contain a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE] or rediss://…")]
pub struct InvalidRedisUrl;
