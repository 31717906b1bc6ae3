//! Sessions: one reads, or writes a transaction.
//!
//! A session that writes buffers the statements whose results nothing needs before its end, and sends them with the commit, all in
//! one pipeline. So the row by which a business's transactions take turns is locked late. See [`flush`] for the buffer,
//! [`counters`] for the numbers that the session gives out, and [`commit`] for its end.

mod commit;
mod counters;
mod flush;
mod group_commit;
mod transaction;

use std::any::Any;
use std::sync::Arc;

use forecourt_kernel::{BusinessId, Epoch, StoreResult};

use super::{Conn, Db, Engine, Pipeline, Reader, UnitOfWork, dialect, events};
use crate::Dependencies;
use crate::statement::{ForKeyShare, ForNoKeyUpdate, Lock, Unlocked};
use crate::totals::Totals;
use group_commit::GroupTurn;
use transaction::{Mark, Transaction};

pub(super) use counters::LockedCounters;
pub(super) use group_commit::GroupCommit;

/// A session: [`Read`] or [`Write`].
pub(super) struct Session<M> {
    engine: Engine,
    pub(super) dependencies: Arc<Dependencies>,
    business: Option<BusinessId>,
    mode: M,
}

/// The mode of a session that reads. Each statement sees what was committed before it.
pub(super) struct Read {
    reader: Reader,
}

/// The mode of a session that writes one transaction, perhaps together with others.
#[derive(Default)]
pub(super) struct Write {
    transaction: Transaction,
    savepoint: Option<Savepoint>,
    /// The turn among the sessions of the business that may share a transaction.
    turn: Option<GroupTurn>,
    /// The state of the others' transaction when this session joined it.
    joined: Option<Mark>,
    /// This session cannot be undone without those whose transaction it joined.
    cannot_detach: bool,
    /// The record that was locked last, with its key: saving it need not read it again.
    locked: Option<(Box<dyn Any + Send>, Box<dyn Any + Send>)>,
}

/// A point to return to.
struct Savepoint {
    mark: Mark,
    /// The database has it: it need not before the next statement.
    is_set: bool,
    /// Rows were already buffered then that it should undo.
    is_late: bool,
}

/// The differences between the modes.
pub(super) trait Mode: Sized + Send + 'static {
    /// Keeps rows that a change refers to from being deleted.
    type KeyShare: Lock;
    /// Keeps rows that a change depends on from being changed.
    type NoKeyUpdate: Lock;

    /// See [`Session::conn`].
    fn conn(session: &mut Session<Self>) -> impl Future<Output = StoreResult<&mut Conn>> + Send;

    /// See [`Session::flushed_conn`].
    fn flushed_conn(session: &mut Session<Self>) -> impl Future<Output = StoreResult<&mut Conn>> + Send;

    /// See [`Session::totals`].
    fn totals(engine: &Engine) -> Option<&Arc<Totals>>;
}

impl Mode for Read {
    type KeyShare = Unlocked;
    type NoKeyUpdate = Unlocked;

    async fn conn(session: &mut Session<Self>) -> StoreResult<&mut Conn> {
        Ok(&mut session.mode.reader)
    }

    async fn flushed_conn(session: &mut Session<Self>) -> StoreResult<&mut Conn> {
        Ok(&mut session.mode.reader)
    }

    fn totals(engine: &Engine) -> Option<&Arc<Totals>> {
        Some(engine.totals())
    }
}

impl Mode for Write {
    type KeyShare = ForKeyShare;
    type NoKeyUpdate = ForNoKeyUpdate;

    async fn conn(session: &mut Session<Self>) -> StoreResult<&mut Conn> {
        session.leave_group();
        let is_shared = session.mode.joined.is_some();
        if let Some(saved) = session.mode.savepoint.as_mut().filter(|saved| !saved.is_set) {
            saved.is_set = true;
            if is_shared {
                saved.is_late = session.mode.transaction.is_beyond(&saved.mark);
                session.flush().await?;
                session.restart_savepoint();
            }
            session.unit().await?.savepoint().await?;
        }
        Ok(session.unit().await?)
    }

    async fn flushed_conn(session: &mut Session<Self>) -> StoreResult<&mut Conn> {
        session.flush().await?;
        Self::conn(session).await
    }

    /// Returns none: the writes of this transaction may never be committed, so no other one may see its counts.
    fn totals(_: &Engine) -> Option<&Arc<Totals>> {
        None
    }
}

impl<M: Mode> Session<M> {
    /// Returns the connection, for a statement that does not depend on buffered writes.
    pub(super) async fn conn(&mut self) -> StoreResult<&mut Conn> {
        M::conn(self).await
    }

    /// Flushes the buffer and returns the connection, to read back buffered writes.
    pub(super) async fn flushed_conn(&mut self) -> StoreResult<&mut Conn> {
        M::flushed_conn(self).await
    }

    /// Returns the cache of the totals of lists, if it is valid for this session.
    pub(super) fn totals(&self) -> Option<Arc<Totals>> {
        M::totals(&self.engine).map(Arc::clone)
    }

    /// The database's epoch.
    pub(super) fn epoch(&self) -> Epoch {
        self.engine.state().epoch()
    }
}

impl Session<Read> {
    pub(super) async fn read(
        engine: &Engine,
        dependencies: &Arc<Dependencies>,
        business: Option<BusinessId>,
    ) -> StoreResult<Self> {
        Ok(Self {
            engine: engine.clone(),
            dependencies: Arc::clone(dependencies),
            business,
            mode: Read {
                reader: engine.read_for(business).await?,
            },
        })
    }
}

impl Session<Write> {
    /// Begins a transaction, or joins one that another session of the group has left open.
    pub(super) async fn begin(
        engine: &Engine,
        dependencies: &Arc<Dependencies>,
        business: Option<BusinessId>,
        group: Option<&GroupCommit>,
    ) -> StoreResult<Self> {
        let mut session = Self {
            engine: engine.clone(),
            dependencies: Arc::clone(dependencies),
            business,
            mode: Write::default(),
        };
        if let (Some(group), Some(business)) = (group, business) {
            let (turn, open) = group.enter(business).await?;
            session.mode.turn = Some(turn);
            if let Some(open) = open {
                session.mode.joined = Some(open.mark());
                session.mode.transaction = open;
                return Ok(session);
            }
        }
        session.unit().await?;
        Ok(session)
    }

    /// Returns a new session of the same business.
    fn another(&self) -> Self {
        Self {
            engine: self.engine.clone(),
            dependencies: Arc::clone(&self.dependencies),
            business: self.business,
            mode: Write::default(),
        }
    }

    /// Returns the connection, for a statement that changes and locks nothing, and reads nothing that this session has written.
    /// Other sessions go on sharing the transaction with this one.
    pub(super) async fn shared_conn(&mut self) -> StoreResult<&mut Conn> {
        Ok(self.unit().await?)
    }

    async fn unit(&mut self) -> StoreResult<&mut UnitOfWork> {
        Ok(match &mut self.mode.transaction.unit {
            Some(unit) => unit,
            none => none.insert(self.engine.begin_writing(self.business).await?),
        })
    }

    /// Makes the savepoint one of the present transaction.
    fn restart_savepoint(&mut self) {
        if let Some(saved) = &mut self.mode.savepoint {
            saved.mark = self.mode.transaction.mark();
        }
    }

    /// Remembers a record that was locked, until another one is.
    pub(super) fn remember<K: Send + 'static, T: Send + 'static>(&mut self, key: K, record: T) {
        self.mode.locked = Some((Box::new(key), Box::new(record)));
    }

    /// Returns the record of that key, once, if it was locked last and no change was undone since.
    pub(super) fn recall<K: PartialEq + 'static, T: 'static>(&mut self, key: &K) -> Option<T> {
        let (known, record) = self.mode.locked.take()?;
        let is_known = known.downcast_ref::<K>() == Some(key);
        record.downcast().ok().filter(|_| is_known).map(|record| *record)
    }

    /// The summary of the changes, which is announced once they are committed.
    pub(super) fn summary(&mut self) -> &mut events::CommitSummary {
        &mut self.mode.transaction.summary
    }
}
