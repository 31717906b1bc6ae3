//! A transaction, which one session writes or several share.

use forecourt_kernel::{BoxError, BusinessId, NewEvent, StoreError};
use tokio::sync::oneshot;

use super::counters::{CounterChanges, LockedCounters};
use super::events::{CommitSummary, SummaryMark};
use super::{Db, UnitOfWork};
use crate::statement::AnyStatement;

/// A transaction, and the writes that are sent with its commit.
#[derive(Default)]
pub(super) struct Transaction {
    /// `None` before the first statement.
    pub(super) unit: Option<UnitOfWork>,
    pub(super) buffer: Buffer,
    pub(super) locked: Option<LockedCounters>,
    /// The events that are held back, the innermost last.
    pub(super) held: Vec<Vec<(BusinessId, NewEvent)>>,
    /// The summary to announce once it is committed.
    pub(super) summary: CommitSummary,
    /// The sessions that are done, and wait for the commit.
    pub(super) members: Vec<oneshot::Sender<Outcome>>,
}

/// The writes that are sent with the commit, in order, all of one business.
#[derive(Default)]
pub(super) struct Buffer {
    pub(super) business: Option<BusinessId>,
    pub(super) writes: Vec<Buffered>,
}

/// A write that waits to be sent.
pub(super) enum Buffered {
    Statement {
        statement: AnyStatement<'static, Db>,
        /// The name by which the write is found while it waits.
        name: Option<String>,
    },
    /// An event, which gets its number when it is sent.
    Event(NewEvent),
    /// A write of a record of this kind, and the number of such records that it adds.
    Count(&'static str, i64),
}

/// The outcome of a shared transaction.
pub(super) type Outcome = Result<(), Failure>;

#[derive(Clone, Copy, Debug)]
pub(super) enum Failure {
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

/// The state of a transaction at some point.
#[derive(Clone)]
pub(super) struct Mark {
    /// The number of buffered writes.
    buffered: usize,
    counters: Option<CounterChanges>,
    summary: SummaryMark,
}

impl Transaction {
    /// Returns the present state.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            buffered: self.buffer.writes.len(),
            counters: self.locked.as_ref().map(|locked| locked.changes().clone()),
            summary: SummaryMark::of(&self.summary),
        }
    }

    /// Returns `true` if something was buffered since.
    pub(super) fn is_beyond(&self, mark: &Mark) -> bool {
        let counters = self.locked.as_ref().map(LockedCounters::changes);
        self.buffer.writes.len() != mark.buffered || counters != mark.counters.as_ref()
    }

    /// Forgets everything since. Statements that were sent to the database are not undone here; a lock that was taken since must
    /// be gone.
    pub(super) fn return_to(&mut self, mark: Mark) {
        self.buffer.writes.truncate(mark.buffered);
        let locked = self.locked.take().zip(mark.counters);
        self.locked = locked.map(|(locked, changes)| locked.with(changes));
        mark.summary.restore(&mut self.summary);
    }

    /// Notifies members of the outcome of their transaction.
    pub(super) fn notify(members: Vec<oneshot::Sender<Outcome>>, outcome: Outcome) {
        for member in members {
            // A member that went away needs no notification.
            let _ = member.send(outcome);
        }
    }
}
