//! Sessions that share transactions like those of the library (`repo/session/commit.rs`), with only their numbers in them.

use std::sync::Arc;
use std::time::Duration;

use forecourt_kernel::BusinessId;
use shuttle::future::{JoinHandle, spawn, yield_now};
use tokio::sync::oneshot;

use crate::NEVER;
use crate::shares::TenantLimiter;
use crate::sync::Mutex;
use group_commit::{GroupCommit, GroupTurn, MEMBERS};
use transaction::Transaction;

#[path = "../../src/repo/session/group_commit.rs"]
mod group_commit;

mod transaction {
    use tokio::sync::oneshot;

    /// A transaction, and the rows that are written with its commit.
    #[derive(Default)]
    pub(super) struct Transaction {
        pub(super) writes: Vec<i32>,
        pub(super) members: Vec<oneshot::Sender<()>>,
    }
}

pub(crate) struct Engine;

impl Engine {
    fn turns(&self) -> Option<(TenantLimiter, Duration)> {
        Some((TenantLimiter::new(8).turns(), NEVER))
    }
}

/// The end of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Commits,
    /// It is undone.
    GivesUp,
    /// Its caller goes away while it commits.
    GoesAway,
}

#[derive(Clone)]
pub(super) struct Group {
    turns: GroupCommit,
    committed: Arc<Mutex<Vec<i32>>>,
    /// The commits in the background.
    background: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Group {
    pub(super) fn new() -> Self {
        Self {
            turns: GroupCommit::of(&Engine).unwrap(),
            committed: Arc::default(),
            background: Arc::default(),
        }
    }

    pub(super) async fn session(&self, business: BusinessId, number: i32, outcome: Outcome) {
        let (turn, open) = self.turns.enter(business).await.unwrap();
        let is_first = open.is_none();
        let mut transaction = open.unwrap_or_default();
        yield_now().await;
        if outcome == Outcome::GivesUp {
            if !is_first {
                turn.leave_open(transaction);
            }
            return;
        }
        transaction.writes.push(number);
        if is_first && (turn.waiting() == 0 || turn.is_apart()) {
            drop(turn);
            return self.commit(transaction).await;
        }
        let (sender, done) = oneshot::channel();
        transaction.members.push(sender);
        if transaction.members.len() >= MEMBERS {
            self.commit_shared(transaction, turn).await;
        } else {
            turn.leave_open(transaction);
            if is_first {
                self.commit_later(turn);
            } else {
                drop(turn);
            }
        }
        if outcome == Outcome::Commits {
            done.await.expect("the outcome of every session is known");
            assert!(self.committed().contains(&number), "it is known once it is so");
        }
    }

    fn commit_later(&self, turn: GroupTurn) {
        let (others, group) = (turn.wait_for_others(), self.clone());
        let committing = spawn(async move {
            if let Some((transaction, turn)) = others.await {
                group.commit_shared(transaction, turn).await;
            }
        });
        self.background.lock().unwrap().push(committing);
    }

    async fn commit_shared(&self, mut transaction: Transaction, mut turn: GroupTurn) {
        turn.give_place_back();
        let members = std::mem::take(&mut transaction.members);
        self.commit(transaction).await;
        for member in members {
            // A member that went away needs no notification.
            let _ = member.send(());
        }
    }

    async fn commit(&self, transaction: Transaction) {
        yield_now().await;
        self.committed.lock().unwrap().extend(transaction.writes);
    }

    /// Waits for the commits in the background; nothing is left open then.
    pub(super) async fn rest(&self) {
        let background = std::mem::take(&mut *self.background.lock().unwrap());
        for committing in background {
            committing.await.unwrap();
        }
        for business in [0, 1].map(BusinessId::new) {
            let (_turn, open) = self.turns.enter(business).await.unwrap();
            assert!(open.is_none(), "a transaction is left open for nobody");
        }
    }

    pub(super) fn committed(&self) -> Vec<i32> {
        self.committed.lock().unwrap().clone()
    }
}
