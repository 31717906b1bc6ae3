//! From an event to a delivery for each subscription that receives it, in the event's own transaction.

use std::sync::Arc;

use diesel::prelude::*;
use forecourt_kernel::{BusinessId, DeliveryId, Event, EventName, Moment, StoreResult};
use forecourt_webhooks::{
    CommitSummary, Deletion, DeliveryStatus, DueDelivery, EndpointKey, EndpointState, ReadyDelivery, Reservation, Topic,
};

use super::super::{Conn, deliveries, dialect};
use super::endpoint::{business_tag, open_endpoint};
use crate::Dependencies;
use crate::models::{EndpointRow, Merge, NewDeliveryRow, status_code};
use crate::schema::{webhook_deliveries, webhooks};
use crate::statement::RunQueryDsl;
use crate::subscribers::Receiver;

/// Makes deliveries in the transaction of their events.
pub(in super::super) struct FanOut<'a> {
    pub(in super::super) conn: &'a mut Conn,
    /// The summary that the watcher gets at the commit.
    pub(in super::super) summary: &'a mut CommitSummary,
    pub(in super::super) dependencies: &'a Dependencies,
}

impl FanOut<'_> {
    /// Makes the deliveries of an event. `number` is that of the business's subscriptions.
    pub(in super::super) async fn add(&mut self, business: BusinessId, number: i64, event: &Event) -> StoreResult<()> {
        let all = self.receivers(business, number).await?;
        let topic = Topic::Event(event.what.name);
        if topic.deletes() {
            self.drop_settling(business, event, &all).await?;
        }
        if let Some(update) = topic.outdates() {
            self.bring_up_to_date(business, update, event, &all).await?;
        }
        let receivers: Vec<&Receiver> = all
            .iter()
            .filter(|receiver| receiver.subscriber.receives(event.what.name))
            .collect();
        if receivers.is_empty() {
            return Ok(());
        }
        if topic.settles() {
            self.settle(business, topic, event, &receivers).await
        } else {
            self.deliver(topic, event, &receivers).await
        }
    }

    /// Makes deliveries that are due now. They go to this server's sender as far as it takes them, and else to the queue.
    async fn deliver(&mut self, topic: Topic, event: &Event, receivers: &[&Receiver]) -> StoreResult<()> {
        let now = self.dependencies.clock.moment();
        let lease = self.dependencies.policy.lease(now);
        let reserve = |receiver: &Receiver| -> Option<Reservation> {
            receiver.endpoint.as_ref()?;
            let watcher = self.dependencies.watcher.as_ref()?;
            watcher.reserve(receiver.subscriber.endpoint, event.what.data.len())
        };
        let reservations: Vec<Option<Reservation>> = receivers.iter().map(|receiver| reserve(receiver)).collect();
        let rows = receivers.iter().zip(&reservations).map(|(receiver, reserved)| {
            let taken = reserved.is_some();
            NewDeliveryRow {
                due: (!taken).then_some(now.epoch_millis()),
                lease: taken.then_some(lease.epoch_millis()),
                ..new_delivery(receiver.subscriber.endpoint, topic, event, now, now)
            }
        });
        let ids = self.insert(rows.collect()).await?;
        let data: Arc<str> = event.what.data.as_str().into();
        let mut left = Vec::new();
        for ((receiver, reservation), id) in receivers.iter().zip(reservations).zip(ids) {
            match (&receiver.endpoint, reservation) {
                (Some(endpoint), Some(reservation)) => self.summary.deliveries.push(ReadyDelivery {
                    due: DueDelivery {
                        id: DeliveryId::new(id),
                        topic,
                        event_id: event.id.clone(),
                        record: Some(event.what.record),
                        data: Some(Arc::clone(&data)),
                        happened: event.what.at,
                        attempts: 0,
                        first_attempt: None,
                        lease,
                    },
                    endpoint: Arc::clone(endpoint),
                    reservation,
                }),
                _ => left.push(receiver.subscriber.endpoint),
            }
        }
        self.leave(left.into_iter(), now);
        Ok(())
    }

    /// Merges an update into the one of the same record that has not settled yet, or begins a new one.
    async fn settle(
        &mut self,
        business: BusinessId,
        topic: Topic,
        event: &Event,
        receivers: &[&Receiver],
    ) -> StoreResult<()> {
        let now = self.dependencies.clock.moment();
        let (settled, at_the_latest) = self.dependencies.policy.settled(now);
        let place = |receiver: &Receiver| place(receiver, topic.as_str(), event.what.record);
        let places = receivers.iter().map(|receiver| place(receiver)).collect();
        let merge = Merge {
            event_id: &event.id,
            sequence: event.sequence.0,
            settled,
        };
        // No other transaction begins one meanwhile: those that record events of one business take turns.
        let merged = deliveries::merge(self.conn, business.get(), places, merge).await?;
        let begin: Vec<&&Receiver> = receivers
            .iter()
            .filter(|receiver| !merged.contains(&receiver.subscriber.endpoint.webhook.get()))
            .collect();
        let rows = begin.iter().map(|receiver| NewDeliveryRow {
            settling: Some(place(receiver)),
            settle_by: Some(at_the_latest.epoch_millis()),
            ..new_delivery(receiver.subscriber.endpoint, topic, event, now, settled)
        });
        self.insert(rows.collect()).await?;
        self.leave(begin.iter().map(|receiver| receiver.subscriber.endpoint), settled);
        Ok(())
    }

    /// Drops updates of a deleted record that have not settled: none has been tried, so no trace is left of them. Those that have
    /// settled are dropped when they are next taken, and the sender drops those that it holds.
    async fn drop_settling(&mut self, business: BusinessId, event: &Event, receivers: &[Receiver]) -> StoreResult<()> {
        let resource = event.what.name.resource();
        let updated = format!("{resource}.updated");
        let places = receivers
            .iter()
            .map(|receiver| place(receiver, &updated, event.what.record));
        diesel::delete(settling(business, places.collect()))
            .execute(self.conn)
            .await?;
        self.summary.deleted.push(Deletion {
            business,
            resource,
            record: event.what.record,
        });
        Ok(())
    }

    /// Has the updates of a record that have not settled show the record as a later event has it. They keep their event's id.
    async fn bring_up_to_date(
        &mut self,
        business: BusinessId,
        update: EventName,
        event: &Event,
        receivers: &[Receiver],
    ) -> StoreResult<()> {
        let places = receivers
            .iter()
            .map(|receiver| place(receiver, update.as_str(), event.what.record));
        diesel::update(settling(business, places.collect()))
            .set(webhook_deliveries::sequence.eq(event.sequence.0))
            .execute(self.conn)
            .await?;
        Ok(())
    }

    /// Stores new deliveries, and returns their ids in order.
    async fn insert(&mut self, rows: Vec<NewDeliveryRow>) -> StoreResult<Vec<i64>> {
        dialect::insert_for_ids!(self.conn, webhook_deliveries::table, webhook_deliveries::id, rows)
    }

    /// Notes deliveries for the queues of these subscriptions, due at `due`.
    fn leave(&mut self, endpoints: impl Iterator<Item = EndpointKey>, due: Moment) {
        self.summary.queued.extend(endpoints.map(|endpoint| (endpoint, due)));
    }

    /// Returns the business's active subscriptions.
    async fn receivers(&mut self, business: BusinessId, number: i64) -> StoreResult<Arc<[Receiver]>> {
        if let Some(known) = self.dependencies.subscribers.get(business, number) {
            return Ok(known);
        }
        let rows: Vec<EndpointRow> = webhooks::table
            .filter(webhooks::business_id.eq(business.get()))
            .filter(webhooks::deleted.is_null())
            .filter(webhooks::active.eq(true))
            .order(webhooks::id)
            .select(EndpointRow::as_select())
            .load(self.conn)
            .await?;
        let tag = match self.dependencies.watcher {
            Some(_) => business_tag(self.conn, business).await?,
            None => None,
        };
        let receiver = |row: EndpointRow| {
            let subscriber = row.subscriber()?;
            let state = |tag: &String| open_endpoint(self.dependencies, row, tag.clone());
            // Deliveries to an endpoint whose secret is damaged are left in the queue, where the sender notices.
            let endpoint = match tag.as_ref().map(state).transpose()? {
                Some(EndpointState::Ready(endpoint)) => Some(Arc::new(endpoint)),
                Some(EndpointState::Damaged | EndpointState::Deleted) | None => None,
            };
            Ok(Receiver { subscriber, endpoint })
        };
        let all: Arc<[Receiver]> = rows.into_iter().map(receiver).collect::<StoreResult<Vec<_>>>()?.into();
        self.dependencies.subscribers.put(business, number, Arc::clone(&all));
        Ok(all)
    }
}

/// The key that an update of a record holds until it has settled.
fn place(receiver: &Receiver, topic: &str, record: i64) -> String {
    let webhook = receiver.subscriber.endpoint.webhook;
    format!("{webhook}/{topic}/{record}")
}

/// The updates that hold these keys. If the list might be empty, PostgreSQL's planner cannot infer that the partial index holds
/// all.
#[diesel::dsl::auto_type(no_type_alias)]
fn settling(business: BusinessId, places: Vec<String>) -> _ {
    let business: i64 = business.get();
    webhook_deliveries::table
        .filter(webhook_deliveries::business_id.eq(business))
        .filter(webhook_deliveries::settling.is_not_null())
        .filter(webhook_deliveries::settling.assume_not_null().eq_any(places))
}

/// A delivery of an event that waits until `due`.
fn new_delivery(endpoint: EndpointKey, topic: Topic, event: &Event, now: Moment, due: Moment) -> NewDeliveryRow {
    NewDeliveryRow {
        business_id: endpoint.business.get(),
        webhook_id: endpoint.webhook.get(),
        topic: topic.as_str(),
        event_id: event.id.clone(),
        sequence: Some(event.sequence.0),
        status: status_code(DeliveryStatus::Pending),
        settling: None,
        settle_by: None,
        due: Some(due.epoch_millis()),
        lease: None,
        attempts: 0,
        next_attempt_at: Some(due.timestamp().epoch_seconds()),
        created: now.timestamp().epoch_seconds(),
        pinged: None,
    }
}
