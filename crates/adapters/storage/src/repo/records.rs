//! The database as the rest of the program knows it.

use std::sync::Arc;

use async_trait::async_trait;
use forecourt_dealership as dealership;
use forecourt_dealership::{Database, PoolLoad, ReadSession};
use forecourt_kernel::{BusinessId, Epoch, StoreResult};

use super::Engine;
use super::session::{GroupCommit, Read, Session, Write};
use crate::Dependencies;
use crate::pool::PoolStatus;

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

#[async_trait]
impl Database for Records {
    async fn begin_for(&self, business: Option<BusinessId>) -> StoreResult<Box<dyn dealership::Session>> {
        self.engine.state().may_write()?;
        let session = Session::<Write>::begin(&self.engine, &self.dependencies, business, self.group.as_ref());
        Ok(Box::new(session.await?))
    }

    async fn read_for(&self, business: Option<BusinessId>) -> StoreResult<Box<dyn ReadSession>> {
        Ok(Box::new(
            Session::<Read>::read(&self.engine, &self.dependencies, business).await?,
        ))
    }

    async fn ping(&self) -> StoreResult<()> {
        self.engine.state().may_write()?;
        self.engine.ping().await
    }

    async fn maintain(&self) -> StoreResult<()> {
        self.engine.maintain().await
    }

    async fn analyze(&self) -> StoreResult<()> {
        self.engine.analyze().await
    }

    fn epoch(&self) -> Epoch {
        self.engine.state().epoch()
    }

    fn is_outgoing_held(&self) -> bool {
        self.engine.state().is_outgoing_held()
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
