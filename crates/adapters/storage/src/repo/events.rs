//! The event log.

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, EventLog, NewEvent, StoreResult};

use super::session::Writing;

#[async_trait]
impl EventLog for Writing {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.buffer(business).await?.event(event);
        Ok(())
    }
}
