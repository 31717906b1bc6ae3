//! Looks up names, a few at once for each business.

use std::{
    collections::HashMap,
    io,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use forecourt_kernel::BusinessId;
use tokio::sync::Notify;

use crate::Network;

/// The number of names that are looked up at once, and of these for one business. A look-up may keep its thread long after its
/// caller has given up: a business whose name servers are silent must not delay the others.
const MAX_LOOK_UPS: usize = 64;
const MAX_PER_BUSINESS: usize = 8;

/// Looks up names.
pub(crate) struct LookUps {
    network: Arc<dyn Network>,
    turns: Arc<Turns>,
}

#[derive(Default)]
struct Turns {
    running: Mutex<Running>,
    ended: Notify,
}

/// The look-ups in progress, by business.
#[derive(Default)]
struct Running {
    total: usize,
    of: HashMap<BusinessId, usize>,
}

/// The permit for one look-up, released when this is dropped.
struct Turn {
    turns: Arc<Turns>,
    business: BusinessId,
}

impl LookUps {
    pub(crate) fn new(network: Arc<dyn Network>) -> Self {
        Self {
            network,
            turns: Arc::default(),
        }
    }

    /// Returns the current addresses of `host`.
    pub(crate) async fn resolve(&self, business: BusinessId, host: &str) -> io::Result<Vec<IpAddr>> {
        let turn = self.turn(business).await;
        let (network, host) = (Arc::clone(&self.network), host.to_owned());
        // A task of its own: the turn ends with the look-up, even if the caller is gone by then.
        let look_up = tokio::spawn(async move {
            let _turn = turn;
            network.resolve(&host).await
        });
        look_up.await.map_err(io::Error::other)?
    }

    async fn turn(&self, business: BusinessId) -> Turn {
        loop {
            // The notification is set up before the try, so that no end is missed.
            let ended = self.turns.ended.notified();
            if self.turns.take(business) {
                let turns = Arc::clone(&self.turns);
                return Turn { turns, business };
            }
            ended.await;
        }
    }
}

impl Turns {
    /// Begins a look-up if the business may have another. It never has more than are free for others.
    fn take(&self, business: BusinessId) -> bool {
        let mut running = self.lock();
        let held = running.of.get(&business).copied().unwrap_or_default();
        if held >= MAX_PER_BUSINESS.min(MAX_LOOK_UPS - running.total) {
            return false;
        }
        running.total += 1;
        running.of.insert(business, held + 1);
        true
    }

    /// Locks the state. No code that can panic runs under this lock.
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut running = self.turns.lock();
        running.total -= 1;
        if let Some(held) = running.of.get_mut(&self.business) {
            *held -= 1;
            if *held == 0 {
                running.of.remove(&self.business);
            }
        }
        drop(running);
        self.turns.ended.notify_waiters();
    }
}
