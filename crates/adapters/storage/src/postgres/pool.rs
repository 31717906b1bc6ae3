//! Pools of connections, and the count of all of them.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use diesel::ConnectionError;
use diesel_async::pooled_connection::deadpool::{self, PoolError};
use diesel_async::pooled_connection::{
    AsyncDieselConnectionManager, ManagerConfig, PoolError as ManagerError, RecyclingMethod,
};
use forecourt_kernel::{BusinessId, StoreError, StoreResult};
use futures_util::FutureExt as _;
use scopeguard::ScopeGuard;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::conn::Conn;
use super::connect::Endpoint;
use super::link::Link;
use super::readiness::Faults;
use super::timeline;
use crate::config::Config;
use crate::error::{OpenError, other, store_error, unavailable};
use crate::pool::{PoolStatus, WriteStats};
use crate::shares::{OWN_TURNS, Permit, TenantLimiter};
use crate::state::DatabaseState;

type Manager = AsyncDieselConnectionManager<Link>;

/// The connections of one handle to one server.
#[derive(Clone)]
pub(super) struct Pool {
    connections: deadpool::Pool<Link>,
    /// The longest time for all steps of a checkout: a free place, a connection, its set-up.
    wait: Duration,
    /// Lends at most half of the connections to the readers of one business.
    readers: TenantLimiter,
    /// Keeps a quarter of the connections from writers, which may wait for one another.
    writers: Arc<Semaphore>,
    faults: Arc<Faults>,
}

impl Pool {
    fn new(
        endpoint: &Arc<Endpoint>,
        config: &Config,
        faults: &Arc<Faults>,
        state: &Arc<DatabaseState>,
    ) -> Result<Self, OpenError> {
        let mut manager = ManagerConfig::default();
        // A broken connection is distinguished from a good one without asking the server.
        manager.recycling_method = RecyclingMethod::Fast;
        let (endpoint, state) = (Arc::clone(endpoint), Arc::clone(state));
        manager.custom_setup = Box::new(move |_| {
            let (endpoint, state) = (Arc::clone(&endpoint), Arc::clone(&state));
            async move {
                let mut conn = endpoint.connect().await?;
                let verified = timeline::verify(&mut conn, &state).await;
                verified.map_err(ConnectionError::CouldntSetupConfiguration)?;
                Ok(conn)
            }
            .boxed()
        });
        let manager = AsyncDieselConnectionManager::new_with_config("", manager);
        let size = config.pool_size.max(1);
        let connections = deadpool::Pool::builder(manager)
            .max_size(size)
            // The server's data for a recently used connection is still in its processor's cache.
            .queue_mode(::deadpool::managed::QueueMode::Lifo)
            .build();
        Ok(Self {
            connections: connections.map_err(|error| OpenError::Pool(error.into()))?,
            wait: config.wait,
            readers: TenantLimiter::new(size / 2),
            writers: Arc::new(Semaphore::new(size - size / 4)),
            faults: Arc::clone(faults),
        })
    }

    /// Takes a connection to read with.
    pub(super) async fn reader(&self, business: Option<BusinessId>) -> StoreResult<Reader> {
        let place = self
            .readers
            .take(business, Instant::now() + OWN_TURNS * self.wait)
            .await?;
        let deadline = Instant::now() + self.wait;
        let conn = self.connection(deadline).await?;
        Ok(Reader(scopeguard::guard((conn, place), |(conn, place)| {
            conn.give_back(place);
        })))
    }

    /// Takes a connection to write with, for a caller with a place among `writers`.
    pub(super) async fn writer(
        &self,
        business: Option<BusinessId>,
        writers: &TenantLimiter,
    ) -> StoreResult<(Conn, WriterPlace)> {
        let place = writers.take(business, Instant::now() + OWN_TURNS * self.wait).await?;
        let deadline = Instant::now() + self.wait;
        let permit = timeout_at(deadline, Arc::clone(&self.writers).acquire_owned())
            .await
            .map_err(|_| unavailable("no connection to write to PostgreSQL could be had in time"))?
            .map_err(other)?;
        let conn = self.connection(deadline).await?;
        Ok((
            conn,
            WriterPlace {
                _permit: permit,
                _place: place,
            },
        ))
    }

    async fn connection(&self, deadline: Instant) -> StoreResult<Conn> {
        match timeout_at(deadline, self.connections.get()).await {
            Ok(Ok(conn)) => Ok(Conn::new(conn, Arc::clone(&self.faults))),
            Ok(Err(error)) => Err(pool_error(error)),
            Err(_) => Err(unavailable("no connection to PostgreSQL could be had in time")),
        }
    }
}

/// A place among the writers, which is given back when it is dropped.
pub(super) struct WriterPlace {
    _permit: OwnedSemaphorePermit,
    _place: Option<Permit>,
}

fn pool_error(error: PoolError) -> StoreError {
    match error {
        PoolError::Backend(ManagerError::QueryError(error)) => store_error(error),
        // The variant that `Endpoint::connect` returns shows whether trying again later makes sense.
        PoolError::Backend(ManagerError::ConnectionError(error @ ConnectionError::BadConnection(_))) => {
            StoreError::Unavailable(error.into())
        }
        PoolError::Backend(ManagerError::ConnectionError(ConnectionError::CouldntSetupConfiguration(error))) => {
            store_error(error)
        }
        error => StoreError::Other(error.into()),
    }
}

/// A connection to read with, which goes back when it is dropped.
pub struct Reader(ScopeGuard<Lent, fn(Lent)>);

/// The connection, and its place among the readers.
type Lent = (Conn, Option<Permit>);

impl Deref for Reader {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.0.0
    }
}

impl DerefMut for Reader {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0.0
    }
}

/// Knows every pool, for the gauges.
#[derive(Default)]
pub(super) struct Registry {
    pools: Mutex<Vec<RegisteredPool>>,
    commits: AtomicU64,
}

struct RegisteredPool {
    connections: ::deadpool::managed::WeakPool<Manager>,
    readers: TenantLimiter,
}

impl Registry {
    pub(super) fn pool(
        &self,
        endpoint: &Arc<Endpoint>,
        config: &Config,
        faults: &Arc<Faults>,
        state: &Arc<DatabaseState>,
    ) -> Result<Pool, OpenError> {
        let pool = Pool::new(endpoint, config, faults, state)?;
        self.pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(RegisteredPool {
                connections: pool.connections.weak(),
                readers: pool.readers.clone(),
            });
        Ok(pool)
    }

    pub(super) fn status(&self) -> PoolStatus {
        let mut total = PoolStatus::default();
        self.pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|pool| {
                let Some(connections) = pool.connections.upgrade() else {
                    return false;
                };
                let status = connections.status();
                total.size += status.size;
                total.in_use += status.size.saturating_sub(status.available);
                total.waiting += status.waiting + pool.readers.waiting();
                true
            });
        total
    }

    pub(super) fn count_commit(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn write_stats(&self) -> WriteStats {
        let commits = self.commits.load(Ordering::Relaxed);
        WriteStats {
            sessions: commits,
            commits,
        }
    }
}
