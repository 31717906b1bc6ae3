//! The database as the rest of the program knows it.

use std::mem;
use std::sync::Arc;

use async_trait::async_trait;
use forecourt_dealership::{self as dealership, PoolLoad, ReadSession};
use forecourt_kernel::{BusinessId, StoreError, StoreResult};

use super::group_commit::{GroupCommit, Mark, Transaction, Turn};
use super::webhooks::due::advance_due;
use super::{Conn, Engine, Reader, Session};
use crate::Dependencies;
use crate::error::other;
use crate::pool::{Effort, PoolStatus};
use crate::totals::Totals;

/// Opens sessions on this engine.
pub(crate) struct Records {
    engine: Engine,
    dependencies: Arc<Dependencies>,
    group: Option<GroupCommit>,
}

impl Records {
    pub(crate) fn new(engine: Engine, dependencies: Arc<Dependencies>) -> Self {
        Self {
            group: GroupCommit::of(&engine),
            engine,
            dependencies,
        }
    }
}

/// A session that reads.
pub(super) struct Reading {
    engine: Engine,
    business: Option<BusinessId>,
    /// None only while another is waited for.
    reader: Option<Reader>,
}

/// A session that writes: one transaction, perhaps together with others.
pub(super) struct Writing {
    engine: Engine,
    pub(super) dependencies: Arc<Dependencies>,
    business: Option<BusinessId>,
    pub(super) transaction: Transaction,
    saved: Option<Saved>,
    /// Where sessions of the business may share a transaction.
    pub(super) turn: Option<Turn>,
    /// How far a transaction of others had come when this session joined it.
    pub(super) joined: Option<Mark>,
    /// This session cannot be undone without those whose transaction it joined.
    pub(super) is_bound: bool,
}

/// A point to return to.
struct Saved {
    mark: Mark,
    /// The database knows of it: it need not before the next statement.
    is_set: bool,
    /// By then something had been buffered that was to be undone with it.
    is_late: bool,
}

impl Reading {
    pub(super) async fn conn(&mut self) -> StoreResult<&mut Conn> {
        Ok(match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(self.engine.read_for(self.business, Effort::Light).await?),
        })
    }
}

/// A session through which long reads go.
pub(super) trait Reads: Send {
    /// The connection; it shows what the session has written.
    fn conn(&mut self) -> impl Future<Output = StoreResult<&mut Conn>> + Send;

    /// Prepares for statements that may take longer than a look-up, so that they hold up no other work.
    fn expect_work(&mut self) -> impl Future<Output = StoreResult<()>> + Send;

    /// What is known of the totals of lists, if it holds for this session.
    fn totals(&self) -> Option<Arc<Totals>>;
}

impl Reads for Reading {
    async fn conn(&mut self) -> StoreResult<&mut Conn> {
        Self::conn(self).await
    }

    async fn expect_work(&mut self) -> StoreResult<()> {
        if !self.reader.as_ref().is_some_and(|reader| reader.suits(Effort::Heavy)) {
            // Given back first: who waits holds nothing that others want.
            self.reader = None;
            self.reader = Some(self.engine.read_for(self.business, Effort::Heavy).await?);
        }
        Ok(())
    }

    fn totals(&self) -> Option<Arc<Totals>> {
        Some(Arc::clone(self.engine.totals()))
    }
}

impl Reads for Writing {
    async fn conn(&mut self) -> StoreResult<&mut Conn> {
        self.conn_after_sending().await
    }

    async fn expect_work(&mut self) -> StoreResult<()> {
        Ok(())
    }

    /// What this transaction has written may never be committed, so no other one is to see its counts.
    fn totals(&self) -> Option<Arc<Totals>> {
        None
    }
}

impl Writing {
    fn new(engine: Engine, dependencies: Arc<Dependencies>, business: Option<BusinessId>) -> Self {
        Self {
            engine,
            dependencies,
            business,
            transaction: Transaction::default(),
            saved: None,
            turn: None,
            joined: None,
            is_bound: false,
        }
    }

    /// A session of the same business that nothing has been done in.
    pub(super) fn another(&self) -> Self {
        Self::new(self.engine.clone(), Arc::clone(&self.dependencies), self.business)
    }

    /// The connection, for a statement that buffered writes do not concern.
    pub(super) async fn conn(&mut self) -> StoreResult<&mut Conn> {
        self.part();
        let is_shared = self.joined.is_some();
        if let Some(saved) = self.saved.as_mut().filter(|saved| !saved.is_set) {
            saved.is_set = true;
            if is_shared {
                saved.is_late = self.transaction.is_beyond(&saved.mark);
                // Boxed, since what is sent may need statements.
                Box::pin(self.flush()).await?;
                self.restart_savepoint();
            }
            self.session().await?.savepoint().await?;
        }
        Ok(self.session().await?)
    }

    /// The connection, for a statement that changes and locks nothing, and that reads nothing this session has written: other
    /// sessions go on sharing the transaction with this one.
    pub(super) async fn conn_to_look_up(&mut self) -> StoreResult<&mut Conn> {
        Ok(self.session().await?)
    }

    /// The connection, to read back what may have been buffered.
    pub(super) async fn conn_after_sending(&mut self) -> StoreResult<&mut Conn> {
        self.flush().await?;
        self.conn().await
    }

    async fn session(&mut self) -> StoreResult<&mut Session> {
        Ok(match &mut self.transaction.session {
            Some(session) => session,
            none => none.insert(self.engine.begin_for(self.business).await?),
        })
    }

    /// Has the savepoint be one of the transaction that there is now.
    pub(super) fn restart_savepoint(&mut self) {
        if let Some(saved) = &mut self.saved {
            saved.mark = self.transaction.mark();
        }
    }

    /// Commits what was done, and notifies the watcher.
    pub(super) async fn finish(&mut self) -> StoreResult<()> {
        let committed = self.flush_at_end().await?;
        let Transaction { session, summary, .. } = mem::take(&mut self.transaction);
        if let Some(mut session) = session {
            if committed {
                session.committed().await?;
            } else {
                advance_due(&mut session, &summary.queued).await?;
                session.commit().await?;
            }
        }
        if let Some(watcher) = self.dependencies.watcher.as_ref().filter(|_| !summary.is_empty()) {
            watcher.committed(summary);
        }
        Ok(())
    }
}

#[async_trait]
impl dealership::Database for Records {
    async fn begin_for(&self, business: Option<BusinessId>) -> StoreResult<Box<dyn dealership::Session>> {
        let mut writing = Writing::new(self.engine.clone(), Arc::clone(&self.dependencies), business);
        if let (Some(group), Some(business)) = (&self.group, business) {
            let (turn, open) = group.enter(business).await?;
            writing.turn = Some(turn);
            if let Some(open) = open {
                writing.joined = Some(open.mark());
                writing.transaction = open;
                return Ok(Box::new(writing));
            }
        }
        writing.transaction.session = Some(self.engine.begin_for(business).await?);
        Ok(Box::new(writing))
    }

    async fn read_for(&self, business: Option<BusinessId>) -> StoreResult<Box<dyn ReadSession>> {
        Ok(Box::new(Reading {
            reader: Some(self.engine.read_for(business, Effort::Light).await?),
            engine: self.engine.clone(),
            business,
        }))
    }

    async fn ping(&self) -> StoreResult<()> {
        self.engine.ping().await
    }

    async fn tidy(&self) -> StoreResult<()> {
        self.engine.tidy().await
    }

    async fn settle(&self) -> StoreResult<()> {
        self.engine.settle().await
    }

    fn load(&self) -> PoolLoad {
        let PoolStatus { size, in_use, waiting } = self.engine.pool_status();
        PoolLoad {
            open: size,
            in_use,
            waiting,
        }
    }
}

#[async_trait]
impl dealership::Session for Writing {
    async fn savepoint(&mut self) -> StoreResult<()> {
        if self.joined.as_ref().is_none_or(|mark| self.transaction.is_beyond(mark)) {
            self.flush().await?;
        }
        self.saved = Some(Saved {
            mark: self.transaction.mark(),
            is_set: false,
            is_late: false,
        });
        Ok(())
    }

    async fn rollback_to_savepoint(&mut self) -> StoreResult<()> {
        let Some(Saved { mark, is_set, is_late }) = self.saved.take() else {
            return Err(other("there is no savepoint"));
        };
        if is_late {
            return Err(StoreError::Conflict);
        }
        self.transaction.return_to(mark);
        match &mut self.transaction.session {
            Some(session) if is_set => session.rollback_to_savepoint().await,
            _ => Ok(()),
        }
    }

    async fn commit(self: Box<Self>) -> StoreResult<()> {
        self.commit_in_group().await
    }
}
