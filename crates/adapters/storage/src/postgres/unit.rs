//! A transaction.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use diesel_async::SimpleAsyncConnection as _;
use forecourt_kernel::StoreResult;
use futures_util::FutureExt as _;
use scopeguard::ScopeGuard;

use super::conn::END;
use super::pool::WriterPlace;
use super::{Conn, Shared};
use crate::error::store_error;

/// A unit of work: a transaction on a connection of its own.
///
/// Dropped uncommitted, it is rolled back in the background, on the same connection. Until that is done it keeps the connection
/// and the place among the writers.
pub struct UnitOfWork {
    work: ScopeGuard<Work, fn(Work)>,
    shared: Arc<Shared>,
}

struct Work {
    conn: Conn,
    place: WriterPlace,
}

impl UnitOfWork {
    /// Sends `BEGIN` and does not wait for the answer, which saves a round trip. The server takes statements in order: a cause
    /// that keeps it from beginning (in practice, a lost connection) also fails the next statement or else the commit.
    pub(super) fn begin(conn: Conn, place: WriterPlace, shared: Arc<Shared>) -> StoreResult<Self> {
        let mut session = Self {
            work: scopeguard::guard(Work { conn, place }, |Work { conn, place }| conn.abandon(place)),
            shared,
        };
        let begin = session.work.conn.begin();
        match session.run(begin).now_or_never() {
            Some(Err(failure)) => Err(failure),
            Some(Ok(())) | None => Ok(session),
        }
    }

    /// Ends the work. After `Ok` all of it is as durable as the server's `synchronous_commit` says, and at least on its disk.
    ///
    /// # Errors
    /// `Conflict` if it has to be run again. `Other` if a statement failed before and the failure was ignored: such a transaction
    /// can only be rolled back (perhaps to a savepoint). After `Unavailable` it is unknown if the work was kept.
    pub async fn commit(mut self) -> StoreResult<()> {
        self.run(&END.join("; ")).await?;
        self.committed().await
    }

    /// Ends the work after a pipeline that committed it.
    ///
    /// # Errors
    /// None.
    pub async fn committed(self) -> StoreResult<()> {
        self.shared.registry.count_commit();
        self.give_back();
        Ok(())
    }

    /// Ends the work as if it had never begun.
    ///
    /// # Errors
    /// As any statement; the work is undone nonetheless.
    pub async fn rollback(mut self) -> StoreResult<()> {
        self.run("ROLLBACK").await?;
        self.give_back();
        Ok(())
    }

    /// Ends the work as if it had never begun, in the background. Everything that the session read was committed: no statement
    /// sees uncommitted work of another transaction.
    ///
    /// # Errors
    /// None; the other engine has some.
    pub async fn rollback_durably(self) -> StoreResult<()> {
        drop(self);
        Ok(())
    }

    /// Marks a point to return to. Points nest.
    ///
    /// # Errors
    /// As any statement.
    pub async fn savepoint(&mut self) -> StoreResult<()> {
        // As for BEGIN: a cause that stops it stops the next statement too.
        self.run("SAVEPOINT inner_point").now_or_never().unwrap_or(Ok(()))
    }

    /// Undoes everything since the latest point, and forgets the point. A statement that failed since is forgotten too.
    ///
    /// # Errors
    /// As any statement; there is none without a point.
    pub async fn rollback_to_savepoint(&mut self) -> StoreResult<()> {
        self.run("ROLLBACK TO inner_point; RELEASE inner_point").await
    }

    async fn run(&mut self, sql: &str) -> StoreResult<()> {
        self.work.conn.batch_execute(sql).await.map_err(store_error)
    }

    fn give_back(self) {
        let Work { conn, place } = ScopeGuard::into_inner(self.work);
        conn.give_back(place);
    }
}

impl Deref for UnitOfWork {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.work.conn
    }
}

impl DerefMut for UnitOfWork {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.work.conn
    }
}
