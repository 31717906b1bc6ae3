//! The ports for storage.

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

/// The number of days for which the event log and the delivery histories are kept (decisions §9).
pub const KEPT_DAYS: i64 = 30;

/// The number of days for which events are stored: those of [`KEPT_DAYS`], and the time that a delivery may take which is queued
/// again on the last of them.
pub const EVENTS_KEPT_DAYS: i64 = KEPT_DAYS + 2;

/// Reads subscriptions, their histories, and the event log.
#[async_trait]
pub trait WebhookReader: Send {
    /// Returns the subscription, or `None` if the business has none with that id.
    async fn webhook(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>>;

    /// Returns a page of the business's subscriptions, newest first (id descending).
    async fn webhooks(&mut self, business: BusinessId, page: &PageRequest) -> StoreResult<Page<Webhook>>;

    /// Returns a page of a subscription's deliveries that pass `filter`, newest first (id descending). A deleted subscription has
    /// them too, as long as its history is kept. `None` if the business never had such a subscription.
    async fn deliveries(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        filter: &DeliveryFilter,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<Delivery>>>;

    /// Returns the first events of the business's log after `after` that pass `filter`, oldest first. There are at most `limit`,
    /// and fewer if they are large. The call reads a bounded part of the log and returns how far it got.
    async fn events(
        &mut self,
        business: BusinessId,
        filter: &EventFilter,
        after: EventSequence,
        limit: u32,
    ) -> StoreResult<LogPage>;

    /// Returns the heads of the first events after `after`, oldest first, at most `limit`.
    async fn event_heads(
        &mut self,
        business: BusinessId,
        after: EventSequence,
        limit: u32,
    ) -> StoreResult<Vec<EventHead>>;

    /// Returns the number of the business's latest event; 0 if there is none.
    async fn latest_event(&mut self, business: BusinessId) -> StoreResult<EventSequence>;

    /// Returns the extent of the business's event log.
    async fn log_extent(&mut self, business: BusinessId) -> StoreResult<LogExtent>;
}

/// The part of a business's event log that is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogExtent {
    /// The number of the oldest event that is kept; if there is none, the number of the next event.
    pub oldest: EventSequence,
    /// The number of the latest event; 0 if there never was one.
    pub latest: EventSequence,
}

impl LogExtent {
    /// Returns `true` if a reader that has seen everything up to `after` can continue there without missing an event. A position
    /// beyond the latest event is not part of this log: the database has gone back to an earlier state.
    pub fn continues(self, after: EventSequence) -> bool {
        after <= self.latest && after.0.saturating_add(1) >= self.oldest.0
    }
}

/// An event without its record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventHead {
    /// The event's number.
    pub sequence: EventSequence,
    /// The event's name.
    pub name: EventName,
    /// The id of the event's record.
    pub record: i64,
    /// The time of the event.
    pub at: Timestamp,
}

/// A part of the event log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogPage {
    /// The events that pass the filter.
    pub events: Vec<Event>,
    /// The number up to which the log has been read.
    pub position: EventSequence,
    /// Set if the log goes on after `position`.
    pub more: bool,
}

/// Writes subscriptions. One value of it is one transaction.
#[async_trait]
pub trait WebhookStore: WebhookReader {
    /// Returns the subscription, locked against other writers until the transaction ends.
    async fn lock_webhook(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>>;

    /// Returns the number of the business's subscriptions. No other transaction adds one until this one ends.
    async fn lock_webhook_count(&mut self, business: BusinessId) -> StoreResult<usize>;

    /// Stores a new subscription. It receives events from now on.
    async fn insert_webhook(
        &mut self,
        business: BusinessId,
        draft: WebhookDraft,
        secret: &Secret,
        at: Timestamp,
    ) -> StoreResult<Webhook>;

    /// Stores a changed subscription. If it became active, its queued deliveries resume.
    async fn save_webhook(&mut self, business: BusinessId, webhook: &Webhook) -> StoreResult<()>;

    /// Replaces a subscription's secret. The old one is no longer used.
    async fn replace_secret(
        &mut self,
        business: BusinessId,
        id: WebhookId,
        secret: &Secret,
        at: Timestamp,
    ) -> StoreResult<()>;

    /// Removes a subscription. Its pending deliveries fail; its history stays.
    async fn delete_webhook(&mut self, business: BusinessId, id: WebhookId, at: Timestamp) -> StoreResult<()>;

    /// Returns one of a subscription's deliveries, unless its event is no longer kept.
    async fn delivery(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> StoreResult<Option<Delivery>>;

    /// Queues a ping of a subscription, due now.
    async fn queue_ping(&mut self, business: BusinessId, webhook: WebhookId, at: Moment) -> StoreResult<DeliveryId>;

    /// Queues a delivery again, as a new one for the same event, due now.
    async fn queue_again(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        delivery: DeliveryId,
        at: Moment,
    ) -> StoreResult<Delivery>;
}

/// The queue of deliveries of all businesses, for the sender. One value of it is one transaction.
#[async_trait]
pub trait DeliveryQueue: MailOutbox {
    /// Returns at most `limit` subscriptions with deliveries due at `now`. Those that have waited longest come first.
    async fn due_endpoints(&mut self, now: Moment, limit: u32) -> StoreResult<Vec<EndpointKey>>;

    /// Returns the time at which the next unleased delivery of any subscription is due.
    async fn next_due(&mut self) -> StoreResult<Option<Moment>>;

    /// Leases deliveries of a subscription that are due at `now`, as many as there is `room` for. No other caller gets them
    /// before `lease`. Updates that were held back to settle count as settled once they are taken. If more are due than were
    /// taken, the subscription is due again at `again`, after those that wait for their turn.
    ///
    /// Updates of a record that has been deleted since are dropped, unless they were queued again after the deletion.
    async fn take_due(
        &mut self,
        endpoint: EndpointKey,
        now: Moment,
        lease: Moment,
        room: Room,
        again: Moment,
    ) -> StoreResult<ClaimedDeliveries>;

    /// Returns deliveries that were taken but not tried to the queue, due at `due`.
    async fn give_back(&mut self, endpoint: EndpointKey, deliveries: &[DeliveryId], due: Moment) -> StoreResult<()>;

    /// Takes back deliveries whose lease has ended by `now`, because its holder died. Returns their number, at most `limit`.
    async fn reclaim(&mut self, now: Moment, limit: u32) -> StoreResult<u32>;

    /// Returns the data of a subscription that an attempt needs.
    async fn endpoint(&mut self, endpoint: EndpointKey) -> StoreResult<EndpointState>;

    /// Stores the results of attempts. A delivery that is no longer pending is not changed.
    async fn save_attempts(&mut self, attempts: &[AttemptRecord]) -> StoreResult<()>;

    /// Returns the business that owns subscriptions, if it exists.
    async fn owner(&mut self, business: BusinessId) -> StoreResult<Option<Business>>;

    /// Returns the health of a subscription and locks it until the transaction ends; `None` if the subscription was deleted.
    async fn lock_health(&mut self, endpoint: EndpointKey) -> StoreResult<Option<Health>>;

    /// Stores the health of a subscription. If that disables it, `now` is the time of the change.
    async fn save_health(&mut self, health: &Health, now: Timestamp) -> StoreResult<()>;

    /// Removes at most `limit` finished deliveries from before `before`; pending ones stay. Returns the number removed.
    async fn purge_deliveries(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;

    /// Removes at most `limit` subscriptions that were deleted before `before` and have no history left. Returns the number
    /// removed.
    async fn purge_webhooks(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;

    /// Removes at most `limit` events from before `before`. An event that a pending delivery to an active subscription needs
    /// stays, and so do all later events. Returns the number removed.
    async fn purge_events(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32>;
}

/// A limit on the deliveries that are taken. Bytes are those of the records that deliveries carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// The maximum number of deliveries.
    pub deliveries: u32,
    /// The maximum number of bytes. The first delivery is taken even if it is larger.
    pub bytes: usize,
}

/// Deliveries that were taken from a subscription's queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimedDeliveries {
    /// The deliveries. Those that have been due longest come first.
    pub deliveries: Vec<DueDelivery>,
    /// Set if more are due.
    pub more: bool,
}

/// The state of a subscription that deliveries go to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EndpointState {
    /// Deliveries can be sent.
    Ready(Endpoint),
    /// The stored secret cannot be read, so nothing can be signed.
    Damaged,
    /// The subscription was deleted.
    Deleted,
}

/// The health of a subscription.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Health {
    /// The subscription.
    pub endpoint: EndpointKey,
    /// The URL that deliveries go to.
    pub url: String,
    /// Set if the subscription is active.
    pub active: bool,
    /// The number of deliveries in a row that failed for good.
    pub failure_count: u32,
    /// The outcome of the latest attempt.
    pub last_status: Option<LastStatus>,
    /// The time at which the latest attempt ended.
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
            async fn queue_claimed_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()>;
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
