//! The event log.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, EventLog, NewEvent, StoreResult};

use super::database::Writing;
use crate::error::store_error;
use crate::models::EventRow;
use crate::schema::{business_counters, events};

#[async_trait]
impl EventLog for Writing {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        // The row stays locked until the transaction ends: so there are no gaps, and the numbers are in the order of the
        // commits.
        let sequence: i64 = diesel::update(business_counters::table.find(business.get()))
            .set(business_counters::event_sequence.eq(business_counters::event_sequence + 1))
            .returning(business_counters::event_sequence)
            .get_result(self.conn())
            .await
            .map_err(store_error)?;
        let row = EventRow {
            business_id: business.get(),
            sequence,
            id: self.tools.event_id(),
            name: event.name.as_str(),
            record: event.record,
            data: event.data,
            created: event.at.epoch_seconds(),
        };
        diesel::insert_into(events::table)
            .values(row)
            .execute(self.conn())
            .await
            .map_err(store_error)?;
        Ok(())
    }
}
