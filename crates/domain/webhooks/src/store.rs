//! What this area needs from storage.

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_kernel::{
    BusinessId, DeliveryId, Event, EventName, EventSequence, MailOutbox, Moment, Page, PageRequest, StoreResult,
    Timestamp, WebhookId,
};

use crate::{
    AttemptRecord, Delivery, DeliveryFilter, DueDelivery, Endpoint, EndpointKey, EventFilter, LastStatus, Secret,
    Webhook, WebhookDraft,
};

/// How long the event log and the histories of deliveries are kept, in days (decisions §9).
pub const KEPT_DAYS: i64 = 30;

/// For how many days events are stored: beyond those that they are kept for, as many as a delivery may take that is queued again on
/// the last of them.
pub const EVENTS_KEPT_DAYS: i64 = KEPT_DAYS + 2;

/// Reads subscriptions, their histories, and the event log.
#[async_trait]
pub trait WebhookReader: Send {
    /// The subscription, or `None` if the business has none of that id.
    async fn webhook(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>>;

    /// A page of the business's subscriptions, newest first (id descending).
    async fn webhooks(&mut self, business: BusinessId, page: &PageRequest) -> StoreResult<Page<Webhook>>;

    /// A page of a subscription's deliveries that pass `filter`, newest first (id descending); of a deleted one too, as long
    /// as its history is kept. `None` if the business has, and had, no such subscription.
    async fn deliveries(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        filter: &DeliveryFilter,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<Delivery>>>;

    /// A part of the business's event log: the first events behind `after` that pass `filter`, oldest first, at most `limit`,
    /// and fewer where they are large. It looks at a bounded part of the log, and returns how far that went.
    async fn events(
        &mut self,
        business: BusinessId,
        filter: &EventFilter,
        after: EventSequence,
        limit: u32,
    ) -> StoreResult<LogPage>;

    /// What the first events behind `after` are about, oldest first, at most `limit`.
    async fn event_heads(
        &mut self,
        business: BusinessId,
        after: EventSequence,
        limit: u32,
    ) -> StoreResult<Vec<EventHead>>;

    /// The number of the business's latest event; 0 if nothing ever happened.
    async fn latest_event(&mut self, business: BusinessId) -> StoreResult<EventSequence>;

    /// Which of the business's events are kept.
    async fn log_extent(&mut self, business: BusinessId) -> StoreResult<LogExtent>;
}

/// The events of a business that are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogExtent {
    /// The number of the oldest one; that of the next event if none is kept.
    pub oldest: EventSequence,
    /// The number of the latest event; 0 if nothing ever happened.
    pub latest: EventSequence,
}

impl LogExtent {
    /// Whether a reader that has seen everything up to `after` can go on behind it and misses nothing. A place beyond the latest event
    /// is none of this log: the database has gone back to an earlier state since.
    pub fn continues(self, after: EventSequence) -> bool {
        after <= self.latest && after.0.saturating_add(1) >= self.oldest.0
    }
}

/// An event without the record that it shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventHead {
    /// Its number.
    pub sequence: EventSequence,
    /// What happened.
    pub name: EventName,
    /// The id of the record that it happened to.
    pub record: i64,
    /// When it happened.
    pub at: Timestamp,
}

/// A part of the event log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogPage {
    /// The events that passed.
    pub events: Vec<Event>,
    /// Everything up to this number has been looked at.
    pub position: EventSequence,
    /// Whether there is more behind that.
    pub more: bool,
}

/// Writes subscriptions. One value of it is one transaction.
#[async_trait]
pub trait WebhookStore: WebhookReader {
    /// The subscription, locked against other writers until the transaction ends.
    async fn lock_webhook(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>>;

    /// How many subscriptions the business has. No other transaction adds one until this one ends.
    async fn lock_webhook_count(&mut self, business: BusinessId) -> StoreResult<usize>;

    /// Stores a new subscription. It receives what happens from now on.
    async fn insert_webhook(
        &mut self,
        business: BusinessId,
        draft: WebhookDraft,
        secret: &Secret,
        at: Timestamp,
    ) -> StoreResult<Webhook>;

    /// Stores a subscription that has changed. If it became active, what was queued for it resumes.
    async fn save_webhook(&mut self, business: BusinessId, webhook: &Webhook) -> StoreResult<()>;

    /// Replaces a subscription's secret: nothing is signed with the old one from now on.
    async fn replace_secret(
        &mut self,
        business: BusinessId,
        id: WebhookId,
        secret: &Secret,
        at: Timestamp,
    ) -> StoreResult<()>;

    /// Removes a subscription. Its pending deliveries fail; its history stays.
    async fn delete_webhook(&mut self, business: BusinessId, id: WebhookId, at: Timestamp) -> StoreResult<()>;

    /// One of a subscription's deliveries, unless its event is no longer kept.
    async fn delivery(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> StoreResult<Option<Delivery>>;

    /// Queues a test of a subscription, due now.
    async fn queue_ping(&mut self, business: BusinessId, webhook: WebhookId, at: Moment) -> StoreResult<DeliveryId>;

    /// Queues a delivery again, as a new one of the same event, due now.
    async fn queue_again(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        delivery: DeliveryId,
        at: Moment,
    ) -> StoreResult<Delivery>;
}

/// The queue of deliveries, for those who send them; across businesses. One value of it is one transaction.
#[async_trait]
pub trait DeliveryQueue: MailOutbox {
    /// At most `limit` subscriptions that have deliveries due at `now`, those first that have waited longest.
    async fn due_endpoints(&mut self, now: Moment, limit: u32) -> StoreResult<Vec<EndpointKey>>;

    /// When the next unleased delivery of any subscription is due.
    async fn next_due(&mut self) -> StoreResult<Option<Moment>>;

    /// Takes as many deliveries of a subscription that are due at `now` as there is `room` for: no other caller gets them
    /// before `lease`. Updates that were settling have settled by that. If more are due than were taken, the subscription
    /// counts as due again at `again`, behind those that wait for their turn.
    ///
    /// Updates of a record that has been deleted since are dropped, unless they were queued again after that.
    async fn take_due(
        &mut self,
        endpoint: EndpointKey,
        now: Moment,
        lease: Moment,
        room: Room,
        again: Moment,
    ) -> StoreResult<ClaimedDeliveries>;

    /// Gives back deliveries that were taken and not tried; they are due at `due`.
    async fn give_back(&mut self, endpoint: EndpointKey, deliveries: &[DeliveryId], due: Moment) -> StoreResult<()>;

    /// Takes back deliveries whose lease is over at `now`, since its holder is gone. Returns how many there were, at most
    /// `limit`.
    async fn reclaim(&mut self, now: Moment, limit: u32) -> StoreResult<u32>;

    /// What an attempt needs to know of a subscription.
    async fn endpoint(&mut self, endpoint: EndpointKey) -> StoreResult<EndpointState>;

    /// Stores what came of attempts. A delivery that is no longer pending stays as it is.
    async fn save_attempts(&mut self, attempts: &[AttemptRecord]) -> StoreResult<()>;

    /// The business that owns subscriptions, if it exists.
    async fn owner(&mut self, business: BusinessId) -> StoreResult<Option<Business>>;

    /// How a subscription fares, locked until the transaction ends; `None` if it was deleted.
    async fn lock_health(&mut self, endpoint: EndpointKey) -> StoreResult<Option<Health>>;

    /// Stores how a subscription fares. One that is disabled by that is changed at `now`.
    async fn save_health(&mut self, health: &Health, now: Timestamp) -> StoreResult<()>;

    /// Drops at most `limit` deliveries from before `before` that have ended; those that wait stay. Returns how many were dropped.
    async fn purge_deliveries(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;

    /// Drops what remains of at most `limit` subscriptions that were deleted before `before` and have no history left. Returns how many
    /// were dropped.
    async fn purge_webhooks(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;

    /// Drops at most `limit` events from before `before`, but none that a delivery to an active subscription waits with, nor one behind
    /// that. Returns how many were dropped.
    async fn purge_events(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;
}

/// How much there is room for. What is bounded in bytes is what deliveries carry of their records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// How many deliveries.
    pub deliveries: u32,
    /// How many bytes. A first delivery is taken even if it is larger.
    pub bytes: usize,
}

/// What was taken of a subscription's queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimedDeliveries {
    /// The deliveries, those first that have been due longest.
    pub deliveries: Vec<DueDelivery>,
    /// Whether more are due.
    pub more: bool,
}

/// What is known of a subscription that deliveries go to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EndpointState {
    /// Deliveries can be sent.
    Ready(Endpoint),
    /// The stored secret cannot be read, so nothing can be signed.
    Damaged,
    /// It was deleted.
    Deleted,
}

/// How a subscription fares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Health {
    /// The subscription.
    pub endpoint: EndpointKey,
    /// Where deliveries go.
    pub url: String,
    /// Whether it is at work.
    pub active: bool,
    /// Deliveries that failed for good, one after the other.
    pub failure_count: u32,
    /// How the latest attempt ended.
    pub last_status: Option<LastStatus>,
    /// When the latest attempt ended.
    pub last_delivery_at: Option<Timestamp>,
}

#[cfg(feature = "mock")]
mod mocks {
    use forecourt_kernel::Mail;
    use mockall::mock;

    use super::*;

    mock! {
        /// A scripted [`WebhookStore`].
        pub WebhookStore {}

        #[async_trait]
        impl WebhookReader for WebhookStore {
            async fn webhook(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>>;
            async fn webhooks(&mut self, business: BusinessId, page: &PageRequest) -> StoreResult<Page<Webhook>>;
            async fn deliveries(&mut self, business: BusinessId, webhook: WebhookId, filter: &DeliveryFilter, page: &PageRequest) -> StoreResult<Option<Page<Delivery>>>;
            async fn events(&mut self, business: BusinessId, filter: &EventFilter, after: EventSequence, limit: u32) -> StoreResult<LogPage>;
            async fn event_heads(&mut self, business: BusinessId, after: EventSequence, limit: u32) -> StoreResult<Vec<EventHead>>;
            async fn latest_event(&mut self, business: BusinessId) -> StoreResult<EventSequence>;
            async fn log_extent(&mut self, business: BusinessId) -> StoreResult<LogExtent>;
        }

        #[async_trait]
        impl WebhookStore for WebhookStore {
            async fn lock_webhook(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>>;
            async fn lock_webhook_count(&mut self, business: BusinessId) -> StoreResult<usize>;
            async fn insert_webhook(&mut self, business: BusinessId, draft: WebhookDraft, secret: &Secret, at: Timestamp) -> StoreResult<Webhook>;
            async fn save_webhook(&mut self, business: BusinessId, webhook: &Webhook) -> StoreResult<()>;
            async fn replace_secret(&mut self, business: BusinessId, id: WebhookId, secret: &Secret, at: Timestamp) -> StoreResult<()>;
            async fn delete_webhook(&mut self, business: BusinessId, id: WebhookId, at: Timestamp) -> StoreResult<()>;
            async fn delivery(&mut self, business: BusinessId, webhook: WebhookId, id: DeliveryId) -> StoreResult<Option<Delivery>>;
            async fn queue_ping(&mut self, business: BusinessId, webhook: WebhookId, at: Moment) -> StoreResult<DeliveryId>;
            async fn queue_again(&mut self, business: BusinessId, webhook: WebhookId, delivery: DeliveryId, at: Moment) -> StoreResult<Delivery>;
        }
    }

    mock! {
        /// A scripted [`DeliveryQueue`].
        pub DeliveryQueue {}

        #[async_trait]
        impl MailOutbox for DeliveryQueue {
            async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()>;
            async fn queue_awaited_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<bool>;
            async fn claim_mail(&mut self, business: BusinessId, at: Timestamp) -> StoreResult<bool>;
        }

        #[async_trait]
        impl DeliveryQueue for DeliveryQueue {
            async fn due_endpoints(&mut self, now: Moment, limit: u32) -> StoreResult<Vec<EndpointKey>>;
            async fn next_due(&mut self) -> StoreResult<Option<Moment>>;
            async fn take_due(&mut self, endpoint: EndpointKey, now: Moment, lease: Moment, room: Room, again: Moment) -> StoreResult<ClaimedDeliveries>;
            async fn give_back(&mut self, endpoint: EndpointKey, deliveries: &[DeliveryId], due: Moment) -> StoreResult<()>;
            async fn reclaim(&mut self, now: Moment, limit: u32) -> StoreResult<u32>;
            async fn endpoint(&mut self, endpoint: EndpointKey) -> StoreResult<EndpointState>;
            async fn save_attempts(&mut self, attempts: &[AttemptRecord]) -> StoreResult<()>;
            async fn owner(&mut self, business: BusinessId) -> StoreResult<Option<Business>>;
            async fn lock_health(&mut self, endpoint: EndpointKey) -> StoreResult<Option<Health>>;
            async fn save_health(&mut self, health: &Health, now: Timestamp) -> StoreResult<()>;
            async fn purge_deliveries(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;
            async fn purge_webhooks(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;
            async fn purge_events(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;
        }
    }
}

#[cfg(feature = "mock")]
pub use mocks::{MockDeliveryQueue, MockWebhookStore};
