//! Idle connections for the next request.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::{connect::Connection, target::Origin};

/// The time for which an idle connection is kept. Many servers close one after a minute, some earlier.
const KEPT_FOR: Duration = Duration::from_secs(30);
/// The maximum number of idle connections to all origins together: each takes a file descriptor.
const MAX_IDLE: usize = 512;
/// The interval at which expired connections, and those closed by their peer, are removed.
const EACH_SWEEP: Duration = Duration::from_secs(5);

/// The idle connections of a client.
pub(crate) struct Pool {
    /// The number that is kept for one origin.
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The connections by origin; the most recently used come last.
    idle: HashMap<Origin, Vec<Idle>>,
    /// True while a task sweeps.
    swept: bool,
}

struct Idle {
    connection: Connection,
    since: Instant,
}

impl Idle {
    fn is_usable(&self) -> bool {
        self.connection.is_ready() && self.since.elapsed() < KEPT_FOR
    }
}

impl State {
    /// Closes the oldest connection to the origin that has the most, if there are too many. So no origin, and no business with
    /// many of them, pushes out the others. One origin has at most `most`.
    fn evict(&mut self, most: usize) {
        // Counted only if there may be too many.
        if self.idle.len().saturating_mul(most) <= MAX_IDLE
            || self.idle.values().map(Vec::len).sum::<usize>() <= MAX_IDLE
        {
            return;
        }
        if let Some(largest) = self.idle.values_mut().max_by_key(|idle| idle.len())
            && !largest.is_empty()
        {
            largest.remove(0);
        }
    }
}

impl Pool {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
        }
    }

    /// Takes an idle connection to this origin.
    pub(crate) fn take(&self, origin: &Origin) -> Option<Connection> {
        self.with_state(|state| {
            let idle = state.idle.get_mut(origin)?;
            while let Some(last) = idle.pop() {
                if last.is_usable() {
                    return Some(last.connection);
                }
            }
            None
        })
    }

    /// Keeps a connection for the next request to its origin, if there is room.
    pub(crate) fn keep(self: &Arc<Self>, origin: Origin, connection: Connection) {
        let begin_sweeping = self.with_state(|state| {
            let idle = state.idle.entry(origin).or_default();
            if idle.len() < self.most {
                let since = Instant::now();
                idle.push(Idle { connection, since });
            }
            state.evict(self.most);
            !std::mem::replace(&mut state.swept, true)
        });
        if begin_sweeping {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    fn with_state<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Closes connections that are no longer usable, repeatedly until none is left or the client is gone.
async fn sweep(pool: Weak<Pool>) {
    loop {
        sleep(EACH_SWEEP).await;
        let Some(pool) = pool.upgrade() else { return };
        let done = pool.with_state(|state| {
            state.idle.retain(|_, idle| {
                idle.retain(Idle::is_usable);
                !idle.is_empty()
            });
            state.swept = !state.idle.is_empty();
            !state.swept
        });
        if done {
            return;
        }
    }
}
