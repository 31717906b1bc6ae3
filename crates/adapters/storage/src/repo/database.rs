//! The database as the rest of the program knows it.

use std::sync::Arc;

use async_trait::async_trait;
use forecourt_dealership::{self as dealership, Effort, PoolLoad, ReadSession};
use forecourt_kernel::{BusinessId, StoreResult};
use forecourt_webhooks::News;

use super::gathered::{Gathered, Locked};
use super::webhooks::hasten;
use super::{Conn, Engine, Reader, Session};
use crate::Tools;
use crate::pool::{self, PoolStatus};
use crate::totals::Totals;

/// Opens sessions on this engine.
pub(crate) struct Records {
    pub(crate) engine: Engine,
    pub(crate) tools: Arc<Tools>,
}

/// A session that reads.
pub(super) struct Reading {
    reader: Reader,
    totals: Arc<Totals>,
}

/// A session that writes: one transaction.
pub(super) struct Writing {
    session: Session,
    pub(super) tools: Arc<Tools>,
    /// What there is to tell once it is committed.
    pub(super) news: News,
    /// What there was to tell at the savepoint.
    told: Told,
    pub(super) gathered: Gathered,
    pub(super) locked: Option<Locked>,
}

/// How much there was to tell at some point.
#[derive(Clone, Copy, Default)]
struct Told {
    recorded: Option<BusinessId>,
    deliveries: usize,
    queued: usize,
    changed: usize,
    deleted: usize,
}

impl Reading {
    pub(super) fn conn(&mut self) -> &mut Conn {
        &mut self.reader
    }

    /// The connection, and what is known of the lists that it reads.
    pub(super) fn conn_and_totals(&mut self) -> (&mut Conn, &Totals) {
        (&mut self.reader, &self.totals)
    }
}

impl Writing {
    pub(super) fn conn(&mut self) -> &mut Conn {
        &mut self.session
    }

    /// The connection, to read back what may have been gathered.
    pub(super) async fn conn_after_sending(&mut self) -> StoreResult<&mut Conn> {
        self.send().await?;
        Ok(&mut self.session)
    }
}

#[async_trait]
impl dealership::Database for Records {
    async fn begin_for(&self, business: Option<BusinessId>) -> StoreResult<Box<dyn dealership::Session>> {
        let session = self.engine.begin_for(business).await?;
        Ok(Box::new(Writing {
            session,
            tools: Arc::clone(&self.tools),
            news: News::default(),
            told: Told::default(),
            gathered: Gathered::default(),
            locked: None,
        }))
    }

    async fn read_for(&self, business: Option<BusinessId>, effort: Effort) -> StoreResult<Box<dyn ReadSession>> {
        let effort = match effort {
            Effort::Light => pool::Effort::Light,
            Effort::Heavy => pool::Effort::Heavy,
        };
        Ok(Box::new(Reading {
            reader: self.engine.read_for(business, effort).await?,
            totals: Arc::clone(self.engine.totals()),
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
        self.send().await?;
        self.told = Told {
            recorded: self.news.recorded,
            deliveries: self.news.deliveries.len(),
            queued: self.news.queued.len(),
            changed: self.news.changed.len(),
            deleted: self.news.deleted.len(),
        };
        self.session.savepoint().await
    }

    async fn rollback_to_savepoint(&mut self) -> StoreResult<()> {
        self.news.recorded = self.told.recorded;
        self.news.deliveries.truncate(self.told.deliveries);
        self.news.queued.truncate(self.told.queued);
        self.news.changed.truncate(self.told.changed);
        self.news.deleted.truncate(self.told.deleted);
        self.gathered = Gathered::default();
        // Its lock may be gone.
        self.locked = None;
        self.session.rollback_to_savepoint().await
    }

    async fn commit(mut self: Box<Self>) -> StoreResult<()> {
        let committed = self.send_at_the_end().await?;
        let Self {
            mut session,
            tools,
            news,
            ..
        } = *self;
        if committed {
            session.committed().await?;
        } else {
            hasten(&mut session, &news.queued).await?;
            session.commit().await?;
        }
        if let Some(watcher) = tools.watcher.as_ref().filter(|_| !news.is_empty()) {
            watcher.committed(news);
        }
        Ok(())
    }
}
