//! Pools of connections, and the count of all of them.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use diesel::ConnectionError;
use diesel_async::pooled_connection::deadpool::{self, Object, PoolError};
use diesel_async::pooled_connection::{
    AsyncDieselConnectionManager, ManagerConfig, PoolError as ManagerError, RecyclingMethod,
};
use forecourt_kernel::{StoreError, StoreResult};
use futures_util::FutureExt as _;
use tokio::time::timeout;

use super::Conn;
use super::connect::Endpoint;
use crate::config::Config;
use crate::error::{OpenError, store_error, unavailable};
use crate::pool::{PoolStatus, WriteStats};

type Manager = AsyncDieselConnectionManager<Conn>;

/// The connections of one handle to one server.
#[derive(Clone)]
pub(super) struct Pool {
    connections: deadpool::Pool<Conn>,
    /// For everything between asking and having: a free place, a connection, its set-up.
    wait: Duration,
}

impl Pool {
    fn new(endpoint: &Arc<Endpoint>, config: &Config) -> Result<Self, OpenError> {
        let mut manager = ManagerConfig::default();
        // A connection that broke is told from a good one without asking the server.
        manager.recycling_method = RecyclingMethod::Fast;
        let endpoint = Arc::clone(endpoint);
        manager.custom_setup = Box::new(move |_| {
            let endpoint = Arc::clone(&endpoint);
            async move { endpoint.connect().await }.boxed()
        });
        let manager = AsyncDieselConnectionManager::new_with_config("", manager);
        let connections = deadpool::Pool::builder(manager)
            .max_size(config.pool_size.max(1))
            .build();
        Ok(Self {
            connections: connections.map_err(|error| OpenError::Pool(error.into()))?,
            wait: config.wait,
        })
    }

    pub(super) async fn get(&self) -> StoreResult<Object<Conn>> {
        match timeout(self.wait, self.connections.get()).await {
            Ok(result) => result.map_err(pool_error),
            Err(_) => Err(unavailable("no connection to PostgreSQL could be had in time")),
        }
    }
}

fn pool_error(error: PoolError) -> StoreError {
    match error {
        PoolError::Backend(ManagerError::QueryError(error)) => store_error(error),
        // `Endpoint::connect` tells by the variant whether to try again later makes sense.
        PoolError::Backend(ManagerError::ConnectionError(error @ ConnectionError::BadConnection(_))) => {
            StoreError::Unavailable(error.into())
        }
        error => StoreError::Other(error.into()),
    }
}

/// A connection to read with; it goes back when dropped.
pub struct Reader(Object<Conn>);

impl Reader {
    pub(super) fn new(conn: Object<Conn>) -> Self {
        Self(conn)
    }
}

impl Deref for Reader {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl DerefMut for Reader {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}

/// Knows every pool that there is, for the gauges.
#[derive(Default)]
pub(super) struct Registry {
    pools: Mutex<Vec<::deadpool::managed::WeakPool<Manager>>>,
    commits: AtomicU64,
}

impl Registry {
    pub(super) fn pool(&self, endpoint: &Arc<Endpoint>, config: &Config) -> Result<Pool, OpenError> {
        let pool = Pool::new(endpoint, config)?;
        self.pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(pool.connections.weak());
        Ok(pool)
    }

    pub(super) fn status(&self) -> PoolStatus {
        let mut total = PoolStatus::default();
        self.pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|pool| {
                let Some(pool) = pool.upgrade() else {
                    return false;
                };
                let status = pool.status();
                total.size += status.size;
                total.in_use += status.size.saturating_sub(status.available);
                total.waiting += status.waiting;
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
