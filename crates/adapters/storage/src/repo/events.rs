//! The event log.

use async_trait::async_trait;
use diesel::dsl::case_when;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, Event, EventLog, EventSequence, NewEvent, StoreResult, Timestamp};

use super::database::Writing;
use crate::error::store_error;
use crate::models::EventRow;
use crate::schema::{business_counters, events};

#[async_trait]
impl EventLog for Writing {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        // The row stays locked until the transaction ends: so there are no gaps, and the numbers are in the order of the
        // commits. Stamps never run against numbers, even if the clock goes back.
        let at = event.at.epoch_seconds();
        let created = case_when(business_counters::event_created.lt(at), at.into_sql::<BigInt>())
            .otherwise(business_counters::event_created);
        let (sequence, created, subscribers): (i64, i64, i64) =
            diesel::update(business_counters::table.find(business.get()))
                .set((
                    business_counters::event_sequence.eq(business_counters::event_sequence + 1),
                    business_counters::event_created.eq(created),
                ))
                .returning((
                    business_counters::event_sequence,
                    business_counters::event_created,
                    business_counters::subscribers,
                ))
                .get_result(self.conn())
                .await
                .map_err(store_error)?;
        let event = Event {
            sequence: EventSequence(sequence),
            id: self.tools.event_id(),
            what: NewEvent {
                at: Timestamp::from_epoch_seconds(created),
                ..event
            },
        };
        let row = EventRow {
            business_id: business.get(),
            sequence,
            id: &event.id,
            name: event.what.name.as_str(),
            record: event.what.record,
            data: &event.what.data,
            created,
        };
        diesel::insert_into(events::table)
            .values(row)
            .execute(self.conn())
            .await
            .map_err(store_error)?;
        self.news.recorded = Some(business);
        self.fan_out(business, subscribers, &event).await
    }
}
