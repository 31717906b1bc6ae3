//! A transaction, which one session writes or several share.

use forecourt_kernel::{BoxError, BusinessId, StoreError};
use forecourt_webhooks::CommitSummary;
use tokio::sync::oneshot;

use super::Session;
use super::write_buffer::{LockedCounters, WriteBuffer};
use crate::models::Numbers;

/// A transaction, and the rows that are written with its commit.
#[derive(Default)]
pub(super) struct Transaction {
    /// `None` before the first statement.
    pub(super) session: Option<Session>,
    pub(super) buffer: WriteBuffer,
    pub(super) locked: Option<LockedCounters>,
    /// The summary to announce once it is committed.
    pub(super) summary: CommitSummary,
    /// The sessions that are done, and wait for the commit.
    pub(super) members: Vec<oneshot::Sender<Outcome>>,
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
    buffered: [usize; 5],
    lead_writes: (i64, i64),
    numbers: Option<(Numbers, bool)>,
    recorded: Option<BusinessId>,
    summary: [usize; 4],
}

impl Transaction {
    /// Returns the present state.
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

    /// Returns `true` if something was buffered since.
    pub(super) fn is_beyond(&self, mark: &Mark) -> bool {
        self.buffer.lengths() != mark.buffered || self.buffer.counted() != mark.lead_writes
    }

    /// Forgets everything since. Statements that were sent to the database are not undone here; a lock that was taken since must
    /// be gone.
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

    /// Notifies members of the outcome of their transaction.
    pub(super) fn notify(members: Vec<oneshot::Sender<Outcome>>, outcome: Outcome) {
        for member in members {
            // A member that went away needs no notification.
            let _ = member.send(outcome);
        }
    }
}
