//! Group commit: sessions of one business that share a transaction.
//!
//! The row that numbers a business's records and events stays locked until a transaction ends, so the writers of a business go
//! one after the other. A session that holds the lock and needs nothing more from the database leaves the open transaction to the
//! next in the queue. That one adds its rows, and all are written in one pipeline, with one commit. A session that needs
//! statements of its own does not join: the transaction that it finds is committed without it, and it begins another.
//!
//! PostgreSQL needs this: with a commit for each session, 32 clients created 17 % of what pgbench did, and 33 % is the target.
//! SQLite's writer shares its transactions one layer below.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use forecourt_kernel::{BusinessId, StoreResult};
use tokio::time::Instant;

use super::Engine;
use super::transaction::Transaction;
use crate::shares::{Permit, TenantLimiter};
use crate::sync::{Mutex, MutexGuard};

/// The number of sessions that may share a transaction.
pub(super) const MEMBERS: usize = 64;

/// The time for which a business's sessions commit each for itself after a shared transaction failed.
const GROUP_BACKOFF: Duration = Duration::from_secs(1);

/// The transactions that wait for the next session of their business.
#[derive(Clone)]
pub(crate) struct GroupCommit(Arc<Inner>);

struct Inner {
    turns: TenantLimiter,
    wait: Duration,
    /// One at most for each business. Only the session that has the turn touches it.
    open: Mutex<HashMap<BusinessId, Transaction>>,
    /// The time at which a shared transaction of the business failed.
    failed: Mutex<HashMap<BusinessId, Instant>>,
}

/// A session's turn: no other session of the business writes through this handle meanwhile.
pub(super) struct GroupTurn {
    group: GroupCommit,
    business: BusinessId,
    place: Option<Permit>,
}

impl GroupCommit {
    /// Returns the group commit of this engine, if its sessions share transactions.
    pub(crate) fn of(engine: &Engine) -> Option<Self> {
        engine.turns().map(|(turns, wait)| {
            Self(Arc::new(Inner {
                turns,
                wait,
                open: Mutex::default(),
                failed: Mutex::default(),
            }))
        })
    }

    /// Waits for the business's turn. Returns it with the transaction to join, if there is one.
    ///
    /// # Errors
    /// `Unavailable` if it does not come in time, or too many wait already.
    pub(super) async fn enter(&self, business: BusinessId) -> StoreResult<(GroupTurn, Option<Transaction>)> {
        let deadline = Instant::now() + self.0.wait;
        let turn = GroupTurn {
            group: self.clone(),
            business,
            place: self.0.turns.take(Some(business), deadline).await?,
        };
        let open = turn.take();
        Ok((turn, open))
    }

    fn open(&self) -> MutexGuard<'_, HashMap<BusinessId, Transaction>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) -> MutexGuard<'_, HashMap<BusinessId, Instant>> {
        self.0.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GroupTurn {
    fn take(&self) -> Option<Transaction> {
        self.group.open().remove(&self.business)
    }

    /// Leaves the transaction to the next session of the business.
    pub(super) fn leave_open(&self, transaction: Transaction) {
        self.group.open().insert(self.business, transaction);
    }

    /// The number of sessions that wait for their turn and may join.
    pub(super) fn waiting(&self) -> usize {
        self.place.as_ref().map_or(0, Permit::awaited_by).min(MEMBERS - 1)
    }

    /// Returns `true` if the business's sessions commit each for itself for a while.
    pub(super) fn is_apart(&self) -> bool {
        let mut failed = self.group.failed();
        let apart = failed
            .get(&self.business)
            .is_some_and(|at| at.elapsed() < GROUP_BACKOFF);
        if !apart {
            failed.remove(&self.business);
        }
        apart
    }

    /// Notes that a shared transaction failed.
    pub(super) fn fail(&self) {
        self.group.failed().insert(self.business, Instant::now());
    }

    /// Returns the same turn without a place in the queue: others may have their turns meanwhile.
    pub(super) fn without_place(&self) -> Self {
        Self {
            group: self.group.clone(),
            business: self.business,
            place: None,
        }
    }

    /// Lets others have their turns.
    pub(super) fn give_place_back(&mut self) {
        self.place = None;
    }

    /// Gives the place back at once. The future takes the transaction that is left open, once the sessions that wait now have
    /// joined it.
    pub(super) fn wait_for_others(mut self) -> impl Future<Output = Option<(Transaction, Self)>> + Send {
        let requeued = self.place.take().map(Permit::requeue);
        async move {
            self.place = requeued?.await.ok();
            // One that was full was committed by then.
            let transaction = self.take()?;
            Some((transaction, self))
        }
    }
}
