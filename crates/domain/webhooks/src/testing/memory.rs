//! Webhooks and their deliveries in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_kernel::{
    BusinessId, DeliveryId, Event, EventSequence, MailOutbox, Moment, NewEvent, Page, PageRequest, StoreError,
    StoreResult, Timestamp, Version, WebhookId,
    testing::{HoldsEvents, HoldsMails, MemoryEvents, MemoryMails, page_of},
};

use crate::{
    AttemptRecord, ClaimedDeliveries, Delivery, DeliveryFilter, DeliveryQueue, DeliveryStatus, DueDelivery, Endpoint,
    EndpointKey, EndpointState, EventFilter, EventHead, Events, Health, LogExtent, LogPage, Next, Room, Secret, Topic,
    Webhook, WebhookDraft, WebhookReader, WebhookStatus, WebhookStore,
};

#[derive(Clone, Debug)]
struct Kept {
    webhook: Webhook,
    secret: Secret,
    deleted: bool,
}

/// A delivery, with the time at which it is due while it is pending.
#[derive(Clone, Debug)]
struct Queued {
    endpoint: EndpointKey,
    delivery: Delivery,
    due: Option<Moment>,
    leased: bool,
    first_attempt: Option<Moment>,
}

/// Webhooks in memory, with their deliveries. Events do not become deliveries here. Only pings and deliveries that are queued
/// again are made.
#[derive(Clone, Debug, Default)]
pub struct MemoryWebhooks {
    webhooks: BTreeMap<EndpointKey, Kept>,
    deliveries: BTreeMap<DeliveryId, Queued>,
    businesses: BTreeMap<BusinessId, Business>,
    attempts: Vec<AttemptRecord>,
    given_back: Vec<DeliveryId>,
    last_id: i64,
}

impl MemoryWebhooks {
    /// Adds a business, for payloads and mails that name it.
    pub fn know_business(&mut self, business: Business) {
        self.businesses.insert(business.id, business);
    }

    /// Stores a subscription for `endpoint`, and replaces one with the same key.
    pub fn put(&mut self, endpoint: Endpoint) {
        let Endpoint {
            key,
            business_tag,
            url,
            secret,
            scopes,
            active,
        } = endpoint;
        let status = if active {
            WebhookStatus::Active
        } else {
            WebhookStatus::Disabled
        };
        let content = WebhookDraft {
            url,
            description: String::new(),
            events: Events::All,
            scopes,
            status,
        };
        self.businesses
            .insert(key.business, Business::new(key.business, &business_tag, &business_tag));
        let webhook = subscribed(key.webhook, content, &secret, Timestamp::from_epoch_seconds(0));
        let kept = Kept {
            webhook,
            secret,
            deleted: false,
        };
        self.webhooks.insert(key, kept);
    }

    /// Returns the number of disabled subscriptions.
    pub fn disabled(&self) -> usize {
        let kept = self.webhooks.values().filter(|kept| !kept.deleted);
        kept.filter(|kept| kept.webhook.content.status == WebhookStatus::Disabled)
            .count()
    }

    /// The stored results of attempts, in the order in which they were stored.
    pub fn attempts(&self) -> &[AttemptRecord] {
        &self.attempts
    }

    /// The deliveries that were returned to the queue untried.
    pub fn given_back(&self) -> &[DeliveryId] {
        &self.given_back
    }

    fn of(&self, key: EndpointKey) -> Option<&Kept> {
        self.webhooks.get(&key).filter(|kept| !kept.deleted)
    }

    fn of_mut(&mut self, key: EndpointKey) -> Option<&mut Kept> {
        self.webhooks.get_mut(&key).filter(|kept| !kept.deleted)
    }

    fn queue(&mut self, endpoint: EndpointKey, topic: Topic, event_id: Option<String>, at: Moment) -> Delivery {
        self.last_id += 1;
        let id = DeliveryId::new(self.last_id);
        let delivery = Delivery {
            id,
            topic,
            event_id: event_id.unwrap_or_else(|| format!("ping_{id}")),
            status: DeliveryStatus::Pending,
            attempts: 0,
            response_code: None,
            response_ms: None,
            response_body: None,
            error: None,
            next_attempt_at: Some(at.timestamp()),
            created: at.timestamp(),
            delivered_at: None,
        };
        let queued = Queued {
            endpoint,
            delivery: delivery.clone(),
            due: Some(at),
            leased: false,
            first_attempt: None,
        };
        self.deliveries.insert(id, queued);
        delivery
    }

    /// The pending deliveries that no server has leased, with the moment at which each is due.
    fn waiting(&self) -> impl Iterator<Item = (Moment, &Queued)> {
        let free = self.deliveries.values().filter(|queued| !queued.leased);
        let resting = |key| {
            self.of(key)
                .is_none_or(|kept| kept.webhook.content.status == WebhookStatus::Disabled)
        };
        let awake = free.filter(move |queued| queued.delivery.topic == Topic::Ping || !resting(queued.endpoint));
        awake.filter_map(|queued| Some((queued.due?, queued)))
    }
}

fn subscribed(id: WebhookId, content: WebhookDraft, secret: &Secret, at: Timestamp) -> Webhook {
    Webhook {
        id,
        content,
        secret_hint: secret.hint().to_owned(),
        failure_count: 0,
        last_status: None,
        last_delivery_at: None,
        created: at,
        updated: at,
        version: Version::FIRST,
    }
}

/// A type that keeps webhooks in memory, perhaps with other records. With events in memory it is a [`WebhookStore`], and with an
/// outbox a [`DeliveryQueue`].
pub trait HoldsWebhooks: Send {
    /// The webhooks.
    fn held_webhooks(&mut self) -> &mut MemoryWebhooks;
}

/// A complete store: webhooks, the event log, and the mails that they cause.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    /// The webhooks.
    pub webhooks: MemoryWebhooks,
    /// The recorded events.
    pub events: MemoryEvents,
    /// The queued mails.
    pub mails: MemoryMails,
}

impl HoldsWebhooks for MemoryStore {
    fn held_webhooks(&mut self) -> &mut MemoryWebhooks {
        &mut self.webhooks
    }
}

impl HoldsEvents for MemoryStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

impl HoldsMails for MemoryStore {
    fn held_mails(&mut self) -> &mut MemoryMails {
        &mut self.mails
    }
}

/// Returns the business's events after `after`, with their numbers.
fn numbered(
    events: &MemoryEvents,
    business: BusinessId,
    after: EventSequence,
) -> impl Iterator<Item = (EventSequence, &NewEvent)> {
    let own = events.iter().filter(move |(owner, _)| *owner == business);
    let numbered = (1..).map(EventSequence).zip(own.map(|(_, event)| event));
    numbered.filter(move |(sequence, _)| *sequence > after)
}

fn head(sequence: EventSequence, event: &NewEvent) -> EventHead {
    EventHead {
        sequence,
        name: event.name,
        record: event.record,
        at: event.at,
    }
}

#[async_trait]
impl<S: HoldsWebhooks + HoldsEvents> WebhookReader for S {
    async fn webhook(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>> {
        let key = EndpointKey { business, webhook: id };
        Ok(self.held_webhooks().of(key).map(|kept| kept.webhook.clone()))
    }

    async fn webhooks(&mut self, business: BusinessId, page: &PageRequest) -> StoreResult<Page<Webhook>> {
        let all = self.held_webhooks().webhooks.iter().rev();
        let own = all.filter(|(key, kept)| key.business == business && !kept.deleted);
        Ok(page_of(own.map(|(_, kept)| &kept.webhook), page, |webhook| {
            webhook.id.get()
        }))
    }

    async fn deliveries(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        filter: &DeliveryFilter,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<Delivery>>> {
        let key = EndpointKey { business, webhook };
        let DeliveryFilter { status, topic } = *filter;
        let held = self.held_webhooks();
        let own = held.deliveries.values().rev().filter(|queued| queued.endpoint == key);
        let passing = own.map(|queued| &queued.delivery).filter(|delivery| {
            status.is_none_or(|status| status == delivery.status) && topic.is_none_or(|topic| topic == delivery.topic)
        });
        let page = page_of(passing, page, |delivery| delivery.id.get());
        Ok(held.webhooks.contains_key(&key).then_some(page))
    }

    async fn events(
        &mut self,
        business: BusinessId,
        filter: &EventFilter,
        after: EventSequence,
        limit: u32,
    ) -> StoreResult<LogPage> {
        let mut page = LogPage {
            events: Vec::new(),
            position: after,
            more: false,
        };
        for (sequence, event) in numbered(self.held_events(), business, after) {
            if page.events.len() >= limit as usize {
                page.more = true;
                break;
            }
            page.position = sequence;
            if filter.passes(&head(sequence, event)) {
                page.events.push(Event {
                    sequence,
                    id: format!("evt_{:x}_{:x}", business.get(), sequence.0),
                    what: event.clone(),
                });
            }
        }
        Ok(page)
    }

    async fn event_heads(
        &mut self,
        business: BusinessId,
        after: EventSequence,
        limit: u32,
    ) -> StoreResult<Vec<EventHead>> {
        let behind = numbered(self.held_events(), business, after).take(limit as usize);
        Ok(behind.map(|(sequence, event)| head(sequence, event)).collect())
    }

    async fn latest_event(&mut self, business: BusinessId) -> StoreResult<EventSequence> {
        let last = numbered(self.held_events(), business, EventSequence(0)).last();
        Ok(last.map_or(EventSequence(0), |(sequence, _)| sequence))
    }

    async fn log_extent(&mut self, business: BusinessId) -> StoreResult<LogExtent> {
        let latest = self.latest_event(business).await?;
        let first = numbered(self.held_events(), business, EventSequence(0)).next();
        Ok(LogExtent {
            oldest: first.map_or(EventSequence(latest.0 + 1), |(sequence, _)| sequence),
            latest,
        })
    }
}

#[async_trait]
impl<S: HoldsWebhooks + HoldsEvents> WebhookStore for S {
    async fn lock_webhook(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>> {
        self.webhook(business, id).await
    }

    async fn lock_webhook_count(&mut self, business: BusinessId) -> StoreResult<usize> {
        let all = self.held_webhooks().webhooks.iter();
        Ok(all
            .filter(|(key, kept)| key.business == business && !kept.deleted)
            .count())
    }

    async fn insert_webhook(
        &mut self,
        business: BusinessId,
        draft: WebhookDraft,
        secret: &Secret,
        at: Timestamp,
    ) -> StoreResult<Webhook> {
        let held = self.held_webhooks();
        held.last_id += 1;
        let webhook = subscribed(WebhookId::new(held.last_id), draft, secret, at);
        let key = EndpointKey {
            business,
            webhook: webhook.id,
        };
        let kept = Kept {
            webhook: webhook.clone(),
            secret: secret.clone(),
            deleted: false,
        };
        held.webhooks.insert(key, kept);
        Ok(webhook)
    }

    async fn save_webhook(&mut self, business: BusinessId, webhook: &Webhook) -> StoreResult<()> {
        let key = EndpointKey {
            business,
            webhook: webhook.id,
        };
        if let Some(kept) = self.held_webhooks().of_mut(key) {
            kept.webhook = webhook.clone();
        }
        Ok(())
    }

    async fn replace_secret(
        &mut self,
        business: BusinessId,
        id: WebhookId,
        secret: &Secret,
        at: Timestamp,
    ) -> StoreResult<()> {
        let key = EndpointKey { business, webhook: id };
        if let Some(kept) = self.held_webhooks().of_mut(key) {
            kept.secret = secret.clone();
            kept.webhook.secret_hint = secret.hint().to_owned();
            kept.webhook.updated = at;
            kept.webhook.version = kept.webhook.version.next();
        }
        Ok(())
    }

    async fn delete_webhook(&mut self, business: BusinessId, id: WebhookId, _: Timestamp) -> StoreResult<()> {
        let key = EndpointKey { business, webhook: id };
        let held = self.held_webhooks();
        if let Some(kept) = held.of_mut(key) {
            kept.deleted = true;
            for queued in held.deliveries.values_mut().filter(|queued| queued.endpoint == key) {
                if queued.delivery.status == DeliveryStatus::Pending {
                    queued.delivery.status = DeliveryStatus::Failed;
                    queued.delivery.next_attempt_at = None;
                    queued.due = None;
                }
            }
        }
        Ok(())
    }

    async fn delivery(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> StoreResult<Option<Delivery>> {
        let key = EndpointKey { business, webhook };
        let found = self
            .held_webhooks()
            .deliveries
            .get(&id)
            .filter(|queued| queued.endpoint == key);
        Ok(found.map(|queued| queued.delivery.clone()))
    }

    async fn queue_ping(&mut self, business: BusinessId, webhook: WebhookId, at: Moment) -> StoreResult<DeliveryId> {
        let key = EndpointKey { business, webhook };
        Ok(self.held_webhooks().queue(key, Topic::Ping, None, at).id)
    }

    async fn queue_again(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        delivery: DeliveryId,
        at: Moment,
    ) -> StoreResult<Delivery> {
        let Some(Delivery { topic, event_id, .. }) = self.delivery(business, webhook, delivery).await? else {
            return Err(StoreError::Conflict);
        };
        let key = EndpointKey { business, webhook };
        Ok(self.held_webhooks().queue(key, topic, Some(event_id), at))
    }
}

#[async_trait]
impl<S: HoldsWebhooks + MailOutbox> DeliveryQueue for S {
    async fn due_endpoints(&mut self, now: Moment, limit: u32) -> StoreResult<Vec<EndpointKey>> {
        let mut waiting: Vec<_> = self.held_webhooks().waiting().filter(|(due, _)| *due <= now).collect();
        waiting.sort_by_key(|(due, _)| *due);
        let mut endpoints = Vec::new();
        for (_, queued) in waiting {
            if !endpoints.contains(&queued.endpoint) {
                endpoints.push(queued.endpoint);
            }
        }
        endpoints.truncate(limit as usize);
        Ok(endpoints)
    }

    async fn next_due(&mut self) -> StoreResult<Option<Moment>> {
        Ok(self.held_webhooks().waiting().map(|(due, _)| due).min())
    }

    async fn take_due(
        &mut self,
        endpoint: EndpointKey,
        now: Moment,
        lease: Moment,
        room: Room,
        _: Moment,
    ) -> StoreResult<ClaimedDeliveries> {
        let held = self.held_webhooks();
        let due = held
            .waiting()
            .filter(|(due, queued)| *due <= now && queued.endpoint == endpoint);
        let mut due: Vec<_> = due.map(|(due, queued)| (due, queued.delivery.id)).collect();
        due.sort_unstable();
        let shown = due.len().min(room.deliveries as usize);
        let more = due.len() > shown;
        let taken = due[..shown].iter().filter_map(|(_, id)| {
            let queued = held.deliveries.get_mut(id)?;
            (queued.due, queued.leased) = (Some(lease), true);
            Some(DueDelivery {
                id: *id,
                topic: queued.delivery.topic,
                event_id: queued.delivery.event_id.clone(),
                record: None,
                data: None,
                happened: queued.delivery.created,
                attempts: queued.delivery.attempts,
                first_attempt: queued.first_attempt,
                lease,
            })
        });
        Ok(ClaimedDeliveries {
            deliveries: taken.collect(),
            more,
        })
    }

    async fn give_back(&mut self, endpoint: EndpointKey, deliveries: &[DeliveryId], due: Moment) -> StoreResult<()> {
        let held = self.held_webhooks();
        held.given_back.extend(deliveries);
        for id in deliveries {
            let taken = held
                .deliveries
                .get_mut(id)
                .filter(|queued| queued.endpoint == endpoint && queued.leased);
            if let Some(queued) = taken {
                (queued.due, queued.leased) = (Some(due), false);
            }
        }
        Ok(())
    }

    async fn reclaim(&mut self, now: Moment, limit: u32) -> StoreResult<u32> {
        let leased = self
            .held_webhooks()
            .deliveries
            .values_mut()
            .filter(|queued| queued.leased);
        let over = leased.filter(|queued| queued.due.is_some_and(|lease| lease <= now));
        let reclaimed = over.take(limit as usize).map(|queued| queued.leased = false);
        Ok(u32::try_from(reclaimed.count()).unwrap_or(u32::MAX))
    }

    async fn endpoint(&mut self, endpoint: EndpointKey) -> StoreResult<EndpointState> {
        let held = self.held_webhooks();
        let Some(Kept { webhook, secret, .. }) = held.of(endpoint) else {
            return Ok(EndpointState::Deleted);
        };
        let business = held.businesses.get(&endpoint.business);
        Ok(EndpointState::Ready(Endpoint {
            key: endpoint,
            business_tag: business.map_or_else(String::new, |business| business.tag.clone()),
            url: webhook.content.url.clone(),
            secret: secret.clone(),
            scopes: webhook.content.scopes,
            active: webhook.content.status == WebhookStatus::Active,
        }))
    }

    async fn save_attempts(&mut self, attempts: &[AttemptRecord]) -> StoreResult<()> {
        let held = self.held_webhooks();
        held.attempts.extend_from_slice(attempts);
        for attempt in attempts {
            let pending = held.deliveries.get_mut(&attempt.delivery).filter(|queued| {
                queued.endpoint == attempt.endpoint && queued.delivery.status == DeliveryStatus::Pending
            });
            let Some(queued) = pending else {
                continue;
            };
            let due = match attempt.next {
                Next::Retry(at) => Some(at),
                Next::Delivered | Next::Failed => None,
            };
            let ended = attempt.ended.timestamp();
            queued.delivery.status = attempt.next.status();
            queued.delivery.attempts = attempt.attempts;
            queued.delivery.response_code = attempt.response_code;
            queued.delivery.response_ms = Some(attempt.response_ms);
            queued.delivery.response_body.clone_from(&attempt.response_body);
            queued.delivery.error.clone_from(&attempt.error);
            queued.delivery.next_attempt_at = due.map(Moment::timestamp);
            queued.delivery.delivered_at = (attempt.next == Next::Delivered).then_some(ended);
            (queued.due, queued.leased, queued.first_attempt) = (due, false, Some(attempt.first_attempt));
        }
        Ok(())
    }

    async fn owner(&mut self, business: BusinessId) -> StoreResult<Option<Business>> {
        Ok(self.held_webhooks().businesses.get(&business).cloned())
    }

    async fn lock_health(&mut self, endpoint: EndpointKey) -> StoreResult<Option<Health>> {
        let held = self.held_webhooks();
        Ok(held.of(endpoint).map(|Kept { webhook, .. }| Health {
            endpoint,
            url: webhook.content.url.as_str().to_owned(),
            active: webhook.content.status == WebhookStatus::Active,
            failure_count: webhook.failure_count,
            last_status: webhook.last_status,
            last_delivery_at: webhook.last_delivery_at,
        }))
    }

    async fn save_health(&mut self, health: &Health, now: Timestamp) -> StoreResult<()> {
        if let Some(Kept { webhook, .. }) = self.held_webhooks().of_mut(health.endpoint) {
            webhook.failure_count = health.failure_count;
            webhook.last_status = health.last_status;
            webhook.last_delivery_at = health.last_delivery_at;
            if !health.active && webhook.content.status == WebhookStatus::Active {
                webhook.content.status = WebhookStatus::Disabled;
                webhook.updated = now;
                webhook.version = webhook.version.next();
            }
        }
        Ok(())
    }

    async fn purge_webhooks(&mut self, _: Timestamp, _: u32) -> StoreResult<u32> {
        Ok(0)
    }

    async fn purge_events(&mut self, _: Timestamp, _: u32) -> StoreResult<u32> {
        Ok(0)
    }

    async fn purge_deliveries(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32> {
        let deliveries = &mut self.held_webhooks().deliveries;
        let ended = deliveries
            .values()
            .filter(|queued| queued.due.is_none() && queued.delivery.created < before);
        let old: Vec<_> = ended.map(|queued| queued.delivery.id).take(limit as usize).collect();
        old.iter().for_each(|id| drop(deliveries.remove(id)));
        Ok(u32::try_from(old.len()).unwrap_or(u32::MAX))
    }
}
