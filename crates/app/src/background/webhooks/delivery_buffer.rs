//! The buffer through which commits pass deliveries to the sender.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use forecourt_kernel::{BusinessId, Moment};
use forecourt_webhooks::{CommitSummary, Deletion, EndpointKey, ReadyDelivery, Reservation, Room, Watcher};
use tokio::sync::Notify;

/// The maximum number of deliveries that this server holds, so that a backlog is in the database and not in memory.
const MAX_HELD: usize = 8192;
/// The maximum number of bytes that they take.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The maximum number of bytes that the deliveries of one endpoint take, if it has more than one.
const MAX_ENDPOINT_BYTES: usize = 2 * 1024 * 1024;
/// The bytes that a delivery takes beside its record.
const OVERHEAD: usize = 512;
/// The number of deliveries that are held for an endpoint that is not known yet.
const FIRST_ROOM: usize = 64;

/// Holds the results of commits until the sender takes them. It is notified on the threads on which commits end.
pub(crate) struct DeliveryBuffer {
    held: Arc<Mutex<Occupancy>>,
    arrived: Mutex<CommittedDeliveries>,
    signal: Notify,
    /// True while no deliveries are accepted: they stay in the queues.
    closed: AtomicBool,
    recorded: Box<dyn Fn(BusinessId) + Send + Sync>,
}

/// The results committed since the sender last took them. Equal entries are kept once, so this stays small however late the
/// sender is; deliveries are bounded by the room that they reserve.
#[derive(Default)]
pub(super) struct CommittedDeliveries {
    pub(super) deliveries: Vec<ReadyDelivery>,
    pub(super) changed: HashSet<EndpointKey>,
    pub(super) deleted: HashSet<Deletion>,
    /// The time at which the first delivery that was left in a queue is due.
    pub(super) due: Option<Moment>,
}

/// The amount that the sender holds: waiting deliveries and those being sent.
#[derive(Default)]
struct Occupancy {
    total: Amount,
    businesses: HashMap<BusinessId, Amount>,
    endpoints: HashMap<EndpointKey, OfEndpoint>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Amount {
    deliveries: usize,
    bytes: usize,
}

#[derive(Clone, Copy)]
struct OfEndpoint {
    held: Amount,
    /// The number of deliveries that it may have.
    room: usize,
}

/// The room of one delivery, released when this is dropped.
struct HeldRoom {
    held: Arc<Mutex<Occupancy>>,
    endpoint: EndpointKey,
    bytes: usize,
}

impl Default for OfEndpoint {
    fn default() -> Self {
        Self {
            held: Amount::default(),
            room: FIRST_ROOM,
        }
    }
}

impl Amount {
    fn add(&mut self, bytes: usize) {
        self.deliveries += 1;
        self.bytes += bytes;
    }

    fn subtract(&mut self, bytes: usize) {
        self.deliveries = self.deliveries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Occupancy {
    /// Returns how much more a business may hold: never more than is then left for others, so that a business that fills the
    /// buffer leaves room for one more.
    fn left_for(&self, business: BusinessId) -> Amount {
        let held = self.businesses.get(&business).copied().unwrap_or_default();
        let left = |most: usize, total: usize, held: usize| most.saturating_sub(total).saturating_sub(held) / 2;
        Amount {
            deliveries: left(MAX_HELD, self.total.deliveries, held.deliveries),
            bytes: left(MAX_BYTES, self.total.bytes, held.bytes),
        }
    }

    fn room(&self, endpoint: EndpointKey) -> Amount {
        let left = self.left_for(endpoint.business);
        let of_endpoint = self.endpoints.get(&endpoint).copied().unwrap_or_default();
        let deliveries = of_endpoint.room.saturating_sub(of_endpoint.held.deliveries);
        let bytes = MAX_ENDPOINT_BYTES.saturating_sub(of_endpoint.held.bytes);
        Amount {
            deliveries: deliveries.min(left.deliveries),
            bytes: bytes.min(left.bytes),
        }
    }

    fn add(&mut self, endpoint: EndpointKey, bytes: usize) {
        self.total.add(bytes);
        self.businesses.entry(endpoint.business).or_default().add(bytes);
        self.endpoints.entry(endpoint).or_default().held.add(bytes);
    }

    fn subtract(&mut self, endpoint: EndpointKey, bytes: usize) {
        self.total.subtract(bytes);
        if let Some(held) = self.businesses.get_mut(&endpoint.business) {
            held.subtract(bytes);
            if held.deliveries == 0 {
                self.businesses.remove(&endpoint.business);
            }
        }
        if let Some(of_endpoint) = self.endpoints.get_mut(&endpoint) {
            of_endpoint.held.subtract(bytes);
            if of_endpoint.held.deliveries == 0 && of_endpoint.room == FIRST_ROOM {
                self.endpoints.remove(&endpoint);
            }
        }
    }
}

impl Drop for HeldRoom {
    fn drop(&mut self) {
        lock(&self.held).subtract(self.endpoint, self.bytes);
    }
}

impl DeliveryBuffer {
    /// Makes a buffer. `recorded` is called with each business for which an event was recorded.
    pub(crate) fn new(recorded: impl Fn(BusinessId) + Send + Sync + 'static) -> Self {
        Self {
            held: Arc::default(),
            arrived: Mutex::default(),
            signal: Notify::new(),
            closed: AtomicBool::new(false),
            recorded: Box::new(recorded),
        }
    }

    /// Accepts no more deliveries, or does again.
    pub(super) fn close(&self, closed: bool) {
        self.closed.store(closed, Ordering::Release);
    }

    /// Returns the room for more deliveries to an endpoint.
    pub(super) fn room(&self, endpoint: EndpointKey) -> Room {
        let Amount { deliveries, bytes } = lock(&self.held).room(endpoint);
        Room {
            deliveries: if bytes == 0 {
                0
            } else {
                u32::try_from(deliveries).unwrap_or(u32::MAX)
            },
            bytes,
        }
    }

    /// Reserves room for a delivery that was taken.
    pub(super) fn hold(&self, endpoint: EndpointKey, bytes: usize) -> Reservation {
        let bytes = bytes + OVERHEAD;
        lock(&self.held).add(endpoint, bytes);
        self.reservation(endpoint, bytes)
    }

    /// Sets the number of deliveries that an endpoint may have from now on.
    pub(super) fn set_room(&self, endpoint: EndpointKey, room: usize) {
        lock(&self.held).endpoints.entry(endpoint).or_default().room = room;
    }

    /// Removes the data on an endpoint.
    pub(super) fn forget(&self, endpoint: EndpointKey) {
        let mut held = lock(&self.held);
        if let Some(of_endpoint) = held.endpoints.get_mut(&endpoint) {
            of_endpoint.room = FIRST_ROOM;
            if of_endpoint.held.deliveries == 0 {
                held.endpoints.remove(&endpoint);
            }
        }
    }

    /// Removes the data on all endpoints: the sender starts again.
    pub(super) fn forget_all(&self) {
        lock(&self.held).endpoints.retain(|_, of_endpoint| {
            of_endpoint.room = FIRST_ROOM;
            of_endpoint.held.deliveries > 0
        });
    }

    /// Returns the number of held deliveries and their bytes.
    pub(super) fn held(&self) -> (usize, usize) {
        let Amount { deliveries, bytes } = lock(&self.held).total;
        (deliveries, bytes)
    }

    /// Takes everything that has arrived.
    pub(super) fn take(&self) -> CommittedDeliveries {
        mem::take(&mut *lock(&self.arrived))
    }

    /// Waits until something has arrived.
    pub(super) async fn arrival(&self) {
        self.signal.notified().await;
    }

    fn reservation(&self, endpoint: EndpointKey, bytes: usize) -> Reservation {
        Reservation::new(HeldRoom {
            held: Arc::clone(&self.held),
            endpoint,
            bytes,
        })
    }
}

impl Watcher for DeliveryBuffer {
    fn reserve(&self, endpoint: EndpointKey, bytes: usize) -> Option<Reservation> {
        if self.closed.load(Ordering::Acquire) {
            return None;
        }
        let bytes = bytes + OVERHEAD;
        let mut held = lock(&self.held);
        let room = held.room(endpoint);
        // A delivery that is larger than an endpoint's share is held alone.
        let alone = held.endpoints.get(&endpoint).is_none_or(|of| of.held.deliveries == 0);
        let fits = bytes <= room.bytes || alone && bytes <= held.left_for(endpoint.business).bytes;
        if room.deliveries == 0 || !fits {
            return None;
        }
        held.add(endpoint, bytes);
        drop(held);
        Some(self.reservation(endpoint, bytes))
    }

    fn committed(&self, summary: CommitSummary) {
        let CommitSummary {
            recorded,
            deliveries,
            queued,
            changed,
            deleted,
        } = summary;
        if let Some(business) = recorded {
            (self.recorded)(business);
        }
        if deliveries.is_empty() && queued.is_empty() && changed.is_empty() && deleted.is_empty() {
            return;
        }
        let mut arrived = lock(&self.arrived);
        arrived.deliveries.extend(deliveries);
        arrived.changed.extend(changed);
        arrived.deleted.extend(deleted);
        let earliest = queued.into_iter().map(|(_, due)| due).chain(arrived.due).min();
        arrived.due = earliest;
        drop(arrived);
        self.signal.notify_one();
    }
}

/// Locks `mutex`. No code that can panic runs under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::WebhookId;

    use super::*;

    const KEY: EndpointKey = key(1, 1);

    const fn key(business: i64, webhook: i64) -> EndpointKey {
        EndpointKey {
            business: BusinessId::new(business),
            webhook: WebhookId::new(webhook),
        }
    }

    /// Reserves as much room as there is, for endpoints of this business one after another.
    fn fill(buffer: &DeliveryBuffer, business: i64, bytes: usize) -> Vec<Reservation> {
        let endpoints = (0..1_000).map(|webhook| key(business, webhook));
        let of = |endpoint| std::iter::from_fn(move || buffer.reserve(endpoint, bytes));
        endpoints.flat_map(of).collect()
    }

    #[test]
    fn an_endpoint_has_room_until_it_is_full() {
        let buffer = DeliveryBuffer::new(|_| ());
        let mut held: Vec<_> = std::iter::from_fn(|| buffer.reserve(KEY, 100)).collect();
        assert_eq!(held.len(), FIRST_ROOM);
        buffer.set_room(KEY, 4);
        held.truncate(5);
        assert!(
            buffer.reserve(KEY, 100).is_none(),
            "it is slow, and has more than its room"
        );
        held.truncate(1);
        assert_eq!(buffer.room(KEY).deliveries, 3);
    }

    #[test]
    fn what_is_held_is_bounded_in_bytes() {
        let buffer = DeliveryBuffer::new(|_| ());
        let of_endpoint: Vec<_> = std::iter::from_fn(|| buffer.reserve(KEY, 128 * 1024)).collect();
        assert_eq!(of_endpoint.len(), 15);
        drop(of_endpoint);
        let large = buffer.reserve(KEY, 3 * 1024 * 1024);
        assert!(
            large.is_some(),
            "alone, one has room that is larger than an endpoint's part"
        );
        assert!(buffer.reserve(KEY, 1).is_none());
        drop(large);
        let businesses: Vec<_> = (1..20).map(|business| fill(&buffer, business, 128 * 1024)).collect();
        assert!(buffer.held().1 <= MAX_BYTES, "{:?}", buffer.held());
        drop(businesses);
        assert_eq!(buffer.held(), (0, 0));
        assert!(lock(&buffer.held).endpoints.is_empty() && lock(&buffer.held).businesses.is_empty());
    }

    #[test]
    fn a_business_that_fills_the_buffer_leaves_room_for_others() {
        for bytes in [0, 100_000] {
            let buffer = DeliveryBuffer::new(|_| ());
            let greedy: Vec<_> = (1..=5).map(|business| fill(&buffer, business, bytes)).collect();
            assert!(buffer.reserve(key(9, 1), bytes).is_some());
            assert!(greedy[0].len() > greedy[4].len());
            assert!(buffer.held().0 <= MAX_HELD);
        }
    }

    #[test]
    fn updates_that_were_not_handed_over_are_merged() {
        let buffer = DeliveryBuffer::new(|_| ());
        for due in [7, 5, 9] {
            buffer.committed(CommitSummary {
                queued: vec![(KEY, Moment::from_epoch_millis(due))],
                changed: vec![KEY],
                ..CommitSummary::default()
            });
        }
        let arrived = buffer.take();
        assert_eq!(arrived.due, Some(Moment::from_epoch_millis(5)));
        assert_eq!(arrived.changed.len(), 1);
        assert!(buffer.take().changed.is_empty());
    }
}
