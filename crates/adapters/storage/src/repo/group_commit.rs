//! Group commit: sessions of one business that share a transaction.
//!
//! The row that numbers a business's records and events stays locked until a transaction ends, so the writers of a business go
//! one after the other. A session that holds the lock and needs nothing more from the database leaves the open transaction to
//! the next in the queue, which adds its rows; all are written in one flight, with one commit. A session that needs statements
//! of its own does not join: the transaction that it finds is committed without it, and it begins another.
//!
//! PostgreSQL needs this: with a commit for each, 32 clients created 17 % of what pgbench did, and 33 % is owed. SQLite's
//! writer shares its transactions one layer below.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forecourt_kernel::{BoxError, BusinessId, StoreError, StoreResult};
use forecourt_webhooks::CommitSummary;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::database::Writing;
use super::write_buffer::{LockedCounters, WriteBuffer};
use super::{Engine, Session};
use crate::models::Numbers;
use crate::shares::{Place, Shares};

/// How many sessions share a transaction at most.
const MEMBERS: usize = 64;

/// For how long a business's sessions commit each for itself after a shared transaction failed.
const APART: Duration = Duration::from_secs(1);

/// A transaction, and what is to be written with its commit.
#[derive(Default)]
pub(super) struct Transaction {
    /// None before the first statement.
    pub(super) session: Option<Session>,
    pub(super) buffer: WriteBuffer,
    pub(super) locked: Option<LockedCounters>,
    /// What to announce once it is committed.
    pub(super) summary: CommitSummary,
    /// The sessions that are done, and wait for the commit.
    members: Vec<oneshot::Sender<Outcome>>,
}

/// What became of a shared transaction.
type Outcome = Result<(), Failure>;

#[derive(Clone, Copy, Debug)]
enum Failure {
    /// Nothing of it was kept: its members may try again.
    RolledBack,
    /// The outcome is unknown.
    Unknown,
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::RolledBack => Self::Conflict,
            Failure::Unknown => Self::Unavailable(BoxError::from("the commit that several sessions shared failed")),
        }
    }
}

/// How far a transaction had come at some point.
pub(super) struct Mark {
    buffered: [usize; 5],
    lead_writes: (i64, i64),
    numbers: Option<(Numbers, bool)>,
    recorded: Option<BusinessId>,
    summary: [usize; 4],
}

impl Transaction {
    pub(super) fn mark(&self) -> Mark {
        let CommitSummary {
            recorded,
            deliveries,
            queued,
            changed,
            deleted,
        } = &self.summary;
        Mark {
            buffered: self.buffer.lengths(),
            lead_writes: self.buffer.counted(),
            numbers: self.locked.as_ref().map(LockedCounters::state),
            recorded: *recorded,
            summary: [deliveries.len(), queued.len(), changed.len(), deleted.len()],
        }
    }

    /// Whether something was buffered since.
    pub(super) fn is_beyond(&self, mark: &Mark) -> bool {
        self.buffer.lengths() != mark.buffered || self.buffer.counted() != mark.lead_writes
    }

    /// Forgets what came since. What the database was sent is not undone here; a lock that was taken since must be gone.
    pub(super) fn return_to(&mut self, mark: Mark) {
        let Mark {
            buffered,
            lead_writes,
            numbers,
            recorded,
            summary: [deliveries, queued, changed, deleted],
        } = mark;
        self.buffer.truncate(buffered, lead_writes);
        self.locked = self
            .locked
            .take()
            .zip(numbers)
            .map(|(locked, state)| locked.with(state));
        self.summary.recorded = recorded;
        self.summary.deliveries.truncate(deliveries);
        self.summary.queued.truncate(queued);
        self.summary.changed.truncate(changed);
        self.summary.deleted.truncate(deleted);
    }

    fn notify(members: Vec<oneshot::Sender<Outcome>>, outcome: Outcome) {
        for member in members {
            // A member that went away needs no notification.
            let _ = member.send(outcome);
        }
    }
}

/// The transactions that wait for the next session of their business.
#[derive(Clone)]
pub(crate) struct GroupCommit(Arc<Inner>);

struct Inner {
    turns: Shares,
    wait: Duration,
    /// One at most for each business; touched only by the session that has the turn.
    open: Mutex<HashMap<BusinessId, Transaction>>,
    /// When a shared transaction of the business failed.
    failed: Mutex<HashMap<BusinessId, Instant>>,
}

/// A session's turn: no other session of the business writes through this handle meanwhile.
pub(super) struct Turn {
    pub(super) group: GroupCommit,
    pub(super) business: BusinessId,
    place: Option<Place>,
}

impl GroupCommit {
    /// Where this engine's sessions share transactions, if they do.
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

    /// Waits for the business's turn; answers with the transaction that is to be joined, if there is one.
    ///
    /// # Errors
    /// `Unavailable` if it does not come in time, or too many wait already.
    pub(super) async fn enter(&self, business: BusinessId) -> StoreResult<(Turn, Option<Transaction>)> {
        let deadline = Instant::now() + self.0.wait;
        let turn = Turn {
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

impl Turn {
    fn take(&self) -> Option<Transaction> {
        self.group.open().remove(&self.business)
    }

    fn leave_open(&self, transaction: Transaction) {
        self.group.open().insert(self.business, transaction);
    }

    /// How many sessions wait for theirs, as far as they may join.
    pub(super) fn waiting(&self) -> usize {
        self.place.as_ref().map_or(0, Place::awaited_by).min(MEMBERS - 1)
    }

    /// Whether the business's sessions go without each other for a while.
    fn is_apart(&self) -> bool {
        let mut failed = self.group.failed();
        let apart = failed.get(&self.business).is_some_and(|at| at.elapsed() < APART);
        if !apart {
            failed.remove(&self.business);
        }
        apart
    }

    fn fail(&self) {
        self.group.failed().insert(self.business, Instant::now());
    }

    /// Has the transaction that is left open committed once those who wait now have joined it.
    fn commit_later(mut self, committer: Writing) {
        let Some(place) = self.place.take() else { return };
        let requeued = place.requeue();
        tokio::spawn(async move {
            self.place = requeued.await.ok();
            // One that was full was committed by then.
            if let Some(transaction) = self.take() {
                committer.commit_shared(transaction, self).await;
            }
        });
    }
}

impl Writing {
    /// Makes sure that the next statement concerns no other session: those whose transaction this session joined commit without
    /// it, or, if it has buffered something already, fail with it.
    pub(super) fn part(&mut self) {
        let Some(mark) = self.joined.take() else { return };
        if self.is_bound || self.transaction.is_beyond(&mark) {
            self.joined = Some(mark);
            self.is_bound = true;
            return;
        }
        let theirs = mem::take(&mut self.transaction);
        self.restart_savepoint();
        if let Some(turn) = &self.turn {
            let turn = Turn {
                group: turn.group.clone(),
                business: turn.business,
                place: None,
            };
            tokio::spawn(self.another().commit_shared(theirs, turn));
        }
    }

    /// Commits alone or with others.
    pub(super) async fn commit_in_group(mut self) -> StoreResult<()> {
        let Some(turn) = self.turn.take() else {
            return self.finish().await;
        };
        let is_first = self.joined.take().is_none();
        let is_alone = is_first && (turn.waiting() == 0 || self.transaction.locked.is_none() || turn.is_apart());
        if is_alone {
            // The next one may begin; the database has it wait for the lock, if it wants it.
            drop(turn);
            return self.finish().await;
        }
        let mut transaction = mem::take(&mut self.transaction);
        let (sender, outcome) = oneshot::channel();
        transaction.members.push(sender);
        if transaction.members.len() >= MEMBERS {
            tokio::spawn(self.another().commit_shared(transaction, turn));
        } else {
            turn.leave_open(transaction);
            if is_first {
                turn.commit_later(self.another());
            } else {
                drop(turn);
            }
        }
        // A caller that stops waiting changes nothing.
        match outcome.await {
            Ok(outcome) => outcome.map_err(StoreError::from),
            Err(_) => Err(Failure::Unknown.into()),
        }
    }

    /// Commits a transaction that was shared, and notifies its members.
    async fn commit_shared(mut self, mut transaction: Transaction, mut turn: Turn) {
        turn.place = None;
        let members = mem::take(&mut transaction.members);
        self.transaction = transaction;
        let outcome = self.finish().await.map_err(|error| {
            turn.fail();
            tracing::warn!(%error, sessions = members.len(), "a shared transaction failed");
            match error {
                StoreError::Unavailable(_) => Failure::Unknown,
                StoreError::Conflict | StoreError::Duplicate(_) | StoreError::Other(_) => Failure::RolledBack,
            }
        });
        Transaction::notify(members, outcome);
    }
}

impl Drop for Writing {
    /// A session that was not committed leaves a transaction that it joined as it was.
    fn drop(&mut self) {
        if let (Some(mark), Some(turn)) = (self.joined.take(), &self.turn) {
            if !self.is_bound {
                self.transaction.return_to(mark);
                turn.leave_open(mem::take(&mut self.transaction));
                return;
            }
            turn.fail();
            Transaction::notify(mem::take(&mut self.transaction.members), Err(Failure::RolledBack));
        }
        if let Some(session) = self.transaction.session.take() {
            session.abandon();
        }
    }
}
