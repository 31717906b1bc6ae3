//! Where commits hand deliveries over to the sender.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use forecourt_kernel::BusinessId;
use forecourt_webhooks::{EndpointKey, News, Watcher};
use tokio::sync::mpsc;

/// How many deliveries this server holds at most, so that a backlog is in the database and not in memory.
const MOST_HELD: usize = 8192;
/// How many it holds for an endpoint of which nothing is known yet.
const FIRST_ROOM: usize = 64;

/// Hears of commits, on whichever thread they end.
pub(crate) struct Desk {
    held: Mutex<Held>,
    news: mpsc::UnboundedSender<News>,
    recorded: Box<dyn Fn(BusinessId) + Send + Sync>,
}

/// How many deliveries the sender holds, and how many more it takes.
#[derive(Default)]
struct Held {
    total: usize,
    lanes: HashMap<EndpointKey, Lane>,
}

#[derive(Clone, Copy)]
struct Lane {
    held: usize,
    room: usize,
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            held: 0,
            room: FIRST_ROOM,
        }
    }
}

impl Desk {
    /// A desk, and where its news arrive. `recorded` is told of each business in whose log something was recorded.
    pub(crate) fn new(recorded: impl Fn(BusinessId) + Send + Sync + 'static) -> (Self, mpsc::UnboundedReceiver<News>) {
        let (news, arriving) = mpsc::unbounded_channel();
        let desk = Self {
            held: Mutex::default(),
            news,
            recorded: Box::new(recorded),
        };
        (desk, arriving)
    }

    /// How many more deliveries to an endpoint the sender has room for.
    pub(super) fn room(&self, endpoint: EndpointKey) -> usize {
        let held = self.lock();
        let lane = held.lanes.get(&endpoint).copied().unwrap_or_default();
        let left = MOST_HELD.saturating_sub(held.total);
        lane.room.saturating_sub(lane.held).min(left)
    }

    /// Notes that the sender holds so many more.
    pub(super) fn hold(&self, endpoint: EndpointKey, count: usize) {
        let mut held = self.lock();
        held.total += count;
        held.lanes.entry(endpoint).or_default().held += count;
    }

    /// Notes that the sender is done with so many, and how many it would hold at most from now on.
    pub(super) fn release(&self, endpoint: EndpointKey, count: usize, room: usize) {
        let mut held = self.lock();
        held.total = held.total.saturating_sub(count);
        let lane = held.lanes.entry(endpoint).or_default();
        lane.held = lane.held.saturating_sub(count);
        lane.room = room;
    }

    /// Forgets an endpoint that nothing is held for.
    pub(super) fn forget(&self, endpoint: EndpointKey) {
        self.lock().lanes.remove(&endpoint);
    }

    /// Forgets everything: the sender starts afresh.
    pub(super) fn clear(&self) {
        *self.lock() = Held::default();
    }

    /// No code that can panic runs under this lock.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher for Desk {
    fn takes(&self, endpoint: EndpointKey) -> bool {
        self.room(endpoint) > 0
    }

    fn committed(&self, news: News) {
        if let Some(business) = news.recorded {
            (self.recorded)(business);
        }
        if news.deliveries.is_empty() && news.queued.is_empty() && news.changed.is_empty() {
            return;
        }
        for handed in &news.deliveries {
            self.hold(handed.endpoint.key, 1);
        }
        // Without a sender, what was handed over is taken up again when its lease is over.
        drop(self.news.send(news));
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::WebhookId;

    use super::*;

    const KEY: EndpointKey = EndpointKey {
        business: BusinessId::new(1),
        webhook: WebhookId::new(1),
    };

    #[test]
    fn an_endpoint_has_room_until_it_is_full() {
        let (desk, _arriving) = Desk::new(|_| ());
        assert!(desk.takes(KEY));
        desk.hold(KEY, FIRST_ROOM);
        assert!(!desk.takes(KEY));
        desk.release(KEY, 1, 4);
        assert!(!desk.takes(KEY), "it is slow, and has more than its room");
        desk.release(KEY, FIRST_ROOM - 1, 4);
        assert_eq!(desk.room(KEY), 4);
    }

    #[test]
    fn all_endpoints_together_are_bounded() {
        let (desk, _arriving) = Desk::new(|_| ());
        let key = |webhook| EndpointKey {
            webhook: WebhookId::new(webhook),
            ..KEY
        };
        let mut webhook = 0;
        while desk.takes(key(webhook)) {
            desk.hold(key(webhook), FIRST_ROOM);
            webhook += 1;
        }
        assert_eq!(usize::try_from(webhook).map(|count| count * FIRST_ROOM), Ok(MOST_HELD));
    }
}
