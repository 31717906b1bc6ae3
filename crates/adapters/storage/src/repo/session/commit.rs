//! The end of a session that writes, alone or together with others.

use std::mem;

use async_trait::async_trait;
use forecourt_dealership as dealership;
use forecourt_kernel::{StoreError, StoreResult};
use tokio::sync::oneshot;

use super::group_commit::{GroupTurn, MEMBERS};
use super::transaction::{Failure, Transaction};
use super::{Savepoint, Session, Write, events};
use crate::error::other;

impl Session<Write> {
    /// Commits the transaction, and notifies the watcher.
    async fn finish(&mut self) -> StoreResult<()> {
        let committed = self.flush_at_end().await?;
        let Transaction { unit, summary, .. } = mem::take(&mut self.mode.transaction);
        if let Some(mut unit) = unit {
            if committed {
                unit.committed().await?;
            } else {
                events::before_commit(&mut unit, &summary).await?;
                unit.commit().await?;
            }
        }
        events::announce(&self.dependencies, summary);
        Ok(())
    }

    /// Makes sure that the next statement concerns no other session. The transaction that this session joined commits without it,
    /// or, if it has already buffered something, fails with it.
    pub(super) fn leave_group(&mut self) {
        let Some(mark) = self.mode.joined.take() else { return };
        if self.mode.cannot_detach || self.mode.transaction.is_beyond(&mark) {
            self.mode.joined = Some(mark);
            self.mode.cannot_detach = true;
            return;
        }
        let theirs = mem::take(&mut self.mode.transaction);
        self.restart_savepoint();
        if let Some(turn) = &self.mode.turn {
            tokio::spawn(self.another().commit_shared(theirs, turn.without_place()));
        }
    }

    /// Commits alone or with others.
    async fn commit_in_group(mut self) -> StoreResult<()> {
        let Some(turn) = self.mode.turn.take() else {
            return self.finish().await;
        };
        let is_first = self.mode.joined.take().is_none();
        let is_alone = is_first && (turn.waiting() == 0 || self.mode.transaction.locked.is_none() || turn.is_apart());
        if is_alone {
            // The next session may begin; the database makes it wait for the lock, if it wants it.
            drop(turn);
            return self.finish().await;
        }
        let mut transaction = mem::take(&mut self.mode.transaction);
        let (sender, outcome) = oneshot::channel();
        transaction.members.push(sender);
        if transaction.members.len() >= MEMBERS {
            tokio::spawn(self.another().commit_shared(transaction, turn));
        } else {
            turn.leave_open(transaction);
            if is_first {
                self.another().commit_later(turn);
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

    /// Undoes this session's work. If it joined others, it ends with them, since it may have read their writes.
    async fn roll_back_in_group(mut self) -> StoreResult<()> {
        if self.mode.cannot_detach {
            // The others are undone with it, so the rows of theirs that it has read never existed.
            return Err(StoreError::Conflict);
        }
        if let Some(mark) = &self.mode.joined {
            self.mode.transaction.return_to(mark.clone());
            return self.commit_in_group().await;
        }
        match self.mode.transaction.unit.take() {
            Some(unit) => unit.rollback_durably().await,
            None => Ok(()),
        }
    }

    /// Has the open transaction committed once the sessions that wait now have joined it.
    fn commit_later(self, turn: GroupTurn) {
        let others = turn.wait_for_others();
        tokio::spawn(async move {
            if let Some((transaction, turn)) = others.await {
                self.commit_shared(transaction, turn).await;
            }
        });
    }

    /// Commits a shared transaction, and notifies its members.
    async fn commit_shared(mut self, mut transaction: Transaction, mut turn: GroupTurn) {
        turn.give_place_back();
        let members = mem::take(&mut transaction.members);
        self.mode.transaction = transaction;
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

#[async_trait]
impl dealership::Session for Session<Write> {
    async fn savepoint(&mut self) -> StoreResult<()> {
        let joined = self.mode.joined.as_ref();
        if joined.is_none_or(|mark| self.mode.transaction.is_beyond(mark)) {
            self.flush().await?;
        }
        self.mode.savepoint = Some(Savepoint {
            mark: self.mode.transaction.mark(),
            is_set: false,
            is_late: false,
        });
        Ok(())
    }

    async fn rollback_to_savepoint(&mut self) -> StoreResult<()> {
        let Some(Savepoint { mark, is_set, is_late }) = self.mode.savepoint.take() else {
            return Err(other("there is no savepoint"));
        };
        if is_late {
            return Err(StoreError::Conflict);
        }
        self.mode.transaction.return_to(mark);
        self.mode.locked = None;
        match &mut self.mode.transaction.unit {
            Some(unit) if is_set => unit.rollback_to_savepoint().await,
            _ => Ok(()),
        }
    }

    async fn commit(self: Box<Self>) -> StoreResult<()> {
        self.commit_in_group().await
    }

    async fn rollback(self: Box<Self>) -> StoreResult<()> {
        self.roll_back_in_group().await
    }
}

impl Drop for Write {
    /// Leaves a transaction that this session joined as it was, if the session was not committed.
    fn drop(&mut self) {
        if let (Some(mark), Some(turn)) = (self.joined.take(), &self.turn) {
            if !self.cannot_detach {
                self.transaction.return_to(mark);
                turn.leave_open(mem::take(&mut self.transaction));
                return;
            }
            turn.fail();
            Transaction::notify(mem::take(&mut self.transaction.members), Err(Failure::RolledBack));
        }
    }
}
