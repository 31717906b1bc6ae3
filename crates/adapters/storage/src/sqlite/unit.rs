//! A turn on the writer.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use forecourt_kernel::{StoreError, StoreResult};
use scopeguard::ScopeGuard;
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;

use super::conn::{Command, Conn};
use super::queue;
use super::writer::{Writer, WriterHandle};
use crate::error::store_error;

const SAVEPOINT: Command = Command("SAVEPOINT inner");
const ROLLBACK_TO: Command = Command("ROLLBACK TO inner");
const RELEASE: Command = Command("RELEASE inner");

/// A unit of work: a savepoint within the transaction that is shared by all sessions between two fsyncs.
///
/// Its writes are its own until [`commit`](Self::commit). Dropped before that, it leaves no trace and no lock.
pub struct UnitOfWork(ScopeGuard<WriterLease, fn(WriterLease)>);

struct WriterLease {
    // Dropped in this order: the next session to have the turn finds the writer free.
    writer: OwnedMutexGuard<Writer>,
    turn: queue::Turn,
    handle: Arc<WriterHandle>,
}

impl UnitOfWork {
    pub(super) fn new(writer: OwnedMutexGuard<Writer>, turn: queue::Turn, handle: Arc<WriterHandle>) -> Self {
        Self(scopeguard::guard(
            WriterLease { writer, turn, handle },
            WriterLease::abandon,
        ))
    }

    pub(super) async fn enter(&mut self) -> StoreResult<()> {
        self.0.writer.enter().await
    }

    /// Ends the work. After `Ok` all of it survives a power cut. So does everything that the session read, therefore a replay of
    /// a stored answer has to commit as well.
    ///
    /// A caller that stops waiting changes nothing: the work is kept with the next commit.
    ///
    /// # Errors
    /// Nothing was kept: the commit failed, for all sessions that shared it.
    pub async fn commit(self) -> StoreResult<()> {
        let mut turn = ScopeGuard::into_inner(self.0);
        let left = turn.writer.leave();
        let WriterLease { writer, turn, handle } = turn;
        // The next one may write before this one's work is on the disk.
        drop(writer);
        drop(turn);
        let outcome = left?;
        handle.flusher().wake();
        match outcome.await {
            Ok(outcome) => outcome.map_err(StoreError::from),
            Err(gone) => Err(StoreError::Unavailable(gone.into())),
        }
    }

    /// Ends the work; no pipeline commits on this engine.
    ///
    /// # Errors
    /// As for [`commit`](Self::commit).
    pub async fn committed(self) -> StoreResult<()> {
        self.commit().await
    }

    /// Ends the work as if it had never begun, which dropping does as well.
    ///
    /// # Errors
    /// None here; the other engine has some.
    pub async fn rollback(self) -> StoreResult<()> {
        drop(self);
        Ok(())
    }

    /// Ends the work as if it had never begun. After `Ok` everything that the session read survives a power cut, as after
    /// [`commit`](Self::commit): the work of others that it saw may not have been committed yet.
    ///
    /// # Errors
    /// The commit failed of those on whose work the session may have relied.
    pub async fn rollback_durably(self) -> StoreResult<()> {
        let mut turn = ScopeGuard::into_inner(self.0);
        let undone = turn.writer.undo_and_wait();
        let WriterLease { writer, turn, handle } = turn;
        drop(writer);
        drop(turn);
        let Some(outcome) = undone? else { return Ok(()) };
        handle.flusher().wake();
        match outcome.await {
            Ok(outcome) => outcome.map_err(StoreError::from),
            Err(gone) => Err(StoreError::Unavailable(gone.into())),
        }
    }

    /// Marks a point to return to. Points nest.
    ///
    /// # Errors
    /// As any statement.
    pub async fn savepoint(&mut self) -> StoreResult<()> {
        self.run(SAVEPOINT)
    }

    /// Undoes everything since the latest point, and forgets the point.
    ///
    /// # Errors
    /// As any statement; there is none without a point.
    pub async fn rollback_to_savepoint(&mut self) -> StoreResult<()> {
        self.run(ROLLBACK_TO)?;
        self.run(RELEASE)
    }

    /// Has the next statements run on a thread that may block. All other writers wait for them.
    pub fn leave_thread(&mut self) {
        self.0.writer.conn.leave_thread();
    }

    pub(super) fn run(&mut self, command: Command) -> StoreResult<()> {
        self.0.writer.conn.run(command).map_err(store_error)
    }
}

impl WriterLease {
    fn abandon(mut self) {
        if !self.writer.conn.is_running() {
            return self.undo();
        }
        // The caller went away during a heavy write, which must end first.
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || {
                self.writer.conn.wait_until_idle();
                self.undo();
            })),
            // Without a runtime no other thread may block, so the thread that commits does it.
            Err(_) => {
                drop(self.writer);
                drop(self.turn);
                self.handle.flusher().wake();
            }
        }
    }

    fn undo(mut self) {
        // The others are notified of a failure.
        let others_wait = self.writer.undo().unwrap_or(false);
        drop(self.writer);
        drop(self.turn);
        if others_wait {
            self.handle.flusher().wake();
        }
    }
}

impl Deref for UnitOfWork {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.0.writer.conn
    }
}

impl DerefMut for UnitOfWork {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0.writer.conn
    }
}
