//! From an event to a delivery for each who receives it, in the event's own transaction.

use std::sync::Arc;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_kernel::{BusinessId, DeliveryId, Event, Moment, StoreResult};
use forecourt_webhooks::{DeliveryStatus, DueDelivery, Endpoint, EndpointKey, HandedOver, Topic};

use super::super::database::Writing;
use super::super::{deliveries, dialect};
use super::queue;
use crate::error::store_error;
use crate::models::{EndpointRow, Merge, NewDeliveryRow, status_code};
use crate::schema::{webhook_deliveries, webhooks};
use crate::subscribers::Receiver;

impl Writing {
    /// Makes the deliveries of an event. `number` is that of the business's subscriptions: 0 if none is active.
    pub(in super::super) async fn fan_out(
        &mut self,
        business: BusinessId,
        number: i64,
        event: &Event,
    ) -> StoreResult<()> {
        if number == 0 {
            return Ok(());
        }
        let all = self.receivers(business, number).await?;
        let receivers: Vec<&Receiver> = all
            .iter()
            .filter(|receiver| receiver.subscriber.receives(event.what.name))
            .collect();
        if receivers.is_empty() {
            return Ok(());
        }
        let topic = Topic::Event(event.what.name);
        if topic.settles() {
            self.settle(business, topic, event, &receivers).await
        } else {
            self.deliver(topic, event, &receivers).await
        }
    }

    /// Makes deliveries that are due now: in the hands of this server's sender as far as it takes them, and else in the
    /// queue.
    async fn deliver(&mut self, topic: Topic, event: &Event, receivers: &[&Receiver]) -> StoreResult<()> {
        let now = self.tools.clock.moment();
        let lease = self.tools.policy.lease(now);
        let taken = |endpoint: EndpointKey| {
            self.tools
                .watcher
                .as_ref()
                .is_some_and(|watcher| watcher.takes(endpoint))
        };
        let rows: Vec<NewDeliveryRow> = receivers
            .iter()
            .map(|receiver| {
                let endpoint = receiver.subscriber.endpoint;
                let taken = receiver.endpoint.is_some() && taken(endpoint);
                NewDeliveryRow {
                    due: (!taken).then_some(now.epoch_millis()),
                    lease: taken.then_some(lease.epoch_millis()),
                    ..new_delivery(endpoint, topic, event, now, now)
                }
            })
            .collect();
        let leased: Vec<bool> = rows.iter().map(|row| row.lease.is_some()).collect();
        let ids = self.insert(rows).await?;
        let mut left = Vec::new();
        for ((receiver, leased), id) in receivers.iter().zip(leased).zip(ids) {
            match &receiver.endpoint {
                Some(endpoint) if leased => self.news.deliveries.push(HandedOver {
                    due: DueDelivery {
                        id: DeliveryId::new(id),
                        topic,
                        event_id: event.id.clone(),
                        data: Some(event.what.data.clone()),
                        happened: event.what.at,
                        attempts: 0,
                        first_attempt: None,
                        lease,
                    },
                    endpoint: Arc::clone(endpoint),
                }),
                _ => left.push(receiver.subscriber.endpoint),
            }
        }
        self.leave(left.into_iter(), now);
        Ok(())
    }

    /// Merges an update into the one of the same record that has not settled yet, or begins to let it settle.
    async fn settle(
        &mut self,
        business: BusinessId,
        topic: Topic,
        event: &Event,
        receivers: &[&Receiver],
    ) -> StoreResult<()> {
        let now = self.tools.clock.moment();
        let (settled, at_the_latest) = self.tools.policy.settled(now);
        let place = |receiver: &Receiver| {
            let webhook = receiver.subscriber.endpoint.webhook;
            format!("{webhook}/{}/{}", topic.as_str(), event.what.record)
        };
        let places = receivers.iter().map(|receiver| place(receiver)).collect();
        let merge = Merge {
            event_id: &event.id,
            sequence: event.sequence.0,
            settled,
        };
        // Nobody else begins another meanwhile: recording events of one business is a matter of turns.
        let merged = deliveries::merge(self.conn(), business.get(), places, merge)
            .await
            .map_err(store_error)?;
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

    /// Stores new deliveries, and answers their ids in order.
    async fn insert(&mut self, rows: Vec<NewDeliveryRow>) -> StoreResult<Vec<i64>> {
        let ids = dialect::insert_for_ids!(self.conn(), webhook_deliveries::table, webhook_deliveries::id, rows);
        ids.map_err(store_error)
    }

    /// Leaves deliveries in the queues of these subscriptions, due at `due`.
    fn leave(&mut self, endpoints: impl Iterator<Item = EndpointKey>, due: Moment) {
        self.news.queued.extend(endpoints.map(|endpoint| (endpoint, due)));
    }

    /// The business's active subscriptions.
    async fn receivers(&mut self, business: BusinessId, number: i64) -> StoreResult<Arc<[Receiver]>> {
        if let Some(known) = self.tools.subscribers.get(business, number) {
            return Ok(known);
        }
        let rows: Vec<EndpointRow> = webhooks::table
            .filter(webhooks::business_id.eq(business.get()))
            .filter(webhooks::deleted.is_null())
            .filter(webhooks::active.eq(true))
            .order(webhooks::id)
            .select(EndpointRow::as_select())
            .load(self.conn())
            .await
            .map_err(store_error)?;
        let tag = match self.tools.watcher {
            Some(_) => queue::business_tag(self.conn(), business).await?,
            None => None,
        };
        let receiver = |row: EndpointRow| {
            let subscriber = row.subscriber()?;
            let endpoint = |tag: &String| queue::open_endpoint(&self.tools, row, tag.clone());
            let endpoint: Option<Endpoint> = tag.as_ref().map(endpoint).transpose()?;
            Ok(Receiver {
                subscriber,
                endpoint: endpoint.map(Arc::new),
            })
        };
        let all: Arc<[Receiver]> = rows.into_iter().map(receiver).collect::<StoreResult<Vec<_>>>()?.into();
        self.tools.subscribers.put(business, number, Arc::clone(&all));
        Ok(all)
    }
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
