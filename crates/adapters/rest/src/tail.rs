//! The latest events of a business, read once for all requests that wait for them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use actix_web::rt;
use forecourt_dealership::Database;
use forecourt_kernel::{BusinessId, Clock, EventSequence, StoreResult};
use forecourt_webhooks::{EventFilter, EventHead};
use tokio::{
    select,
    sync::watch,
    time::{Instant, sleep, timeout, timeout_at},
};

use crate::notifier::{EventNotifier, Listener};

/// The maximum time for which an answer is held back while there is nothing to show.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(30);
/// The number of requests of one business that may wait at the same time.
const MAX_WAITING: usize = 100;
/// The interval at which the log is read without a notification: other servers send none.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The minimum pause between reads of the log, however many notifications there are.
const READ_PAUSE: Duration = Duration::from_millis(20);
/// The number of events that are remembered: a waiting request that is further behind reads the log itself.
const MAX_REMEMBERED: usize = 1024;
/// The number of events that are read at once.
const READ_AT_ONCE: u32 = 512;

/// The latest events of the businesses that requests wait for. Clones share them.
#[derive(Clone)]
pub(crate) struct Tails {
    followed: Arc<Mutex<HashMap<BusinessId, Followed>>>,
    notifier: EventNotifier,
    clock: Arc<dyn Clock>,
}

/// A business whose log is followed by a task of its own.
struct Followed {
    tail: watch::Receiver<Tail>,
    waiting: usize,
}

/// The latest events of a business: all those after `from`, up to `to`; and the number of the latest change of its listings.
#[derive(Debug)]
struct Tail {
    from: EventSequence,
    to: EventSequence,
    events: VecDeque<EventHead>,
    listing_change: i64,
}

/// The relevance of the latest events to a waiting request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogPeek {
    /// Nothing up to this event concerns the request.
    NothingUpTo(EventSequence),
    /// The log may have events for the request.
    Perhaps,
}

impl Tail {
    /// Returns a tail that only knows events after this one.
    const fn behind(latest: EventSequence) -> Self {
        Self {
            from: latest,
            to: latest,
            events: VecDeque::new(),
            listing_change: 0,
        }
    }

    fn add(&mut self, events: Vec<EventHead>) {
        self.to = events.last().map_or(self.to, |last| last.sequence);
        self.events.extend(events);
        while self.events.len() > MAX_REMEMBERED {
            self.from = self.events.pop_front().map_or(self.from, |first| first.sequence);
        }
    }

    fn peek(&self, filter: &EventFilter, after: EventSequence) -> LogPeek {
        let mut unseen = self.events.iter().rev().take_while(|event| event.sequence > after);
        if after < self.from || unseen.any(|event| filter.passes(event)) {
            LogPeek::Perhaps
        } else {
            LogPeek::NothingUpTo(self.to.max(after))
        }
    }
}

impl Tails {
    pub(crate) fn new(notifier: EventNotifier, clock: Arc<dyn Clock>) -> Self {
        Self {
            followed: Arc::default(),
            notifier,
            clock,
        }
    }

    /// Waits for events of a business from now on; `None` if too many requests do so already. The log is read from `database`.
    pub(crate) fn wait(&self, database: &Arc<dyn Database>, business: BusinessId) -> Option<Waiter> {
        let mut followed = self.followed();
        let entry = followed.entry(business).or_insert_with(|| Followed {
            tail: self.follow(database, business),
            waiting: 0,
        });
        if entry.waiting >= MAX_WAITING {
            return None;
        }
        if entry.tail.has_changed().is_err() {
            // Its task ended with a failure.
            entry.tail = self.follow(database, business);
        }
        entry.waiting += 1;
        Some(Waiter {
            tail: entry.tail.clone(),
            tails: self.clone(),
            business,
        })
    }

    /// Follows the log of a business as long as any request waits for it.
    fn follow(&self, database: &Arc<dyn Database>, business: BusinessId) -> watch::Receiver<Tail> {
        // It listens before the first read, so that it is notified of everything recorded after that.
        let listener = self.notifier.listen(business);
        let (tail, waiting) = watch::channel(Tail::behind(EventSequence(0)));
        let (database, clock) = (Arc::clone(database), Arc::clone(&self.clock));
        rt::spawn(async move {
            select! {
                // On an error the waiting requests read the log themselves, and report it.
                _ = keep_up(database.as_ref(), clock.as_ref(), business, listener, &tail) => {}
                () = tail.closed() => {}
            }
        });
        waiting
    }

    /// Code that holds the lock never leaves the map half-changed.
    fn followed(&self) -> MutexGuard<'_, HashMap<BusinessId, Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits.
pub(crate) struct Waiter {
    tail: watch::Receiver<Tail>,
    tails: Tails,
    business: BusinessId,
}

impl Waiter {
    /// Waits until something has happened; returns `false` if nothing has by `deadline`, or the log is no longer followed.
    pub(crate) async fn happened(&mut self, deadline: Instant) -> bool {
        matches!(timeout_at(deadline, self.tail.changed()).await, Ok(Ok(())))
    }

    /// Returns true if a listing is known to have changed since the change `latest`.
    pub(crate) fn listings_changed_since(&self, latest: i64) -> bool {
        self.tail.borrow().listing_change > latest
    }

    /// Returns whether events after `after` may concern a request that waits for those that pass `filter`.
    pub(crate) fn peek(&self, filter: &EventFilter, after: EventSequence) -> LogPeek {
        self.tail.borrow().peek(filter, after)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut followed = self.tails.followed();
        if let Some(entry) = followed.get_mut(&self.business) {
            entry.waiting -= 1;
            if entry.waiting == 0 {
                followed.remove(&self.business);
            }
        }
    }
}

/// Appends new events to the tail until the server stops.
async fn keep_up(
    database: &dyn Database,
    clock: &dyn Clock,
    business: BusinessId,
    mut listener: Listener,
    tail: &watch::Sender<Tail>,
) -> StoreResult<()> {
    let mut epoch = database.epoch();
    let latest = database.read().await?.latest_event(business).await?;
    tail.send_replace(Tail::behind(latest));
    loop {
        // Events of other servers send no notification, so the log is polled.
        if timeout(POLL_INTERVAL, listener.notified()).await == Ok(false) {
            return Ok(());
        }
        if database.epoch() != epoch {
            // Numbers are given a second time, so the remembered events belong to another log.
            epoch = database.epoch();
            let latest = database.read().await?.latest_event(business).await?;
            tail.send_replace(Tail::behind(latest));
        }
        loop {
            let after = tail.borrow().to;
            let mut session = database.read().await?;
            let events = session.event_heads(business, after, READ_AT_ONCE).await?;
            let listing_change = session.manifest_state(business, clock.now()).await?.revision;
            drop(session);
            let all = events.len() < READ_AT_ONCE as usize;
            tail.send_if_modified(|tail| {
                let is_news = !events.is_empty() || tail.listing_change != listing_change;
                tail.add(events);
                tail.listing_change = listing_change;
                is_news
            });
            sleep(READ_PAUSE).await;
            if all {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::{EventName, Timestamp};

    use super::*;

    fn event(sequence: i64, record: i64) -> EventHead {
        EventHead {
            sequence: EventSequence(sequence),
            name: EventName::LeadCreated,
            record,
            at: Timestamp::from_epoch_seconds(sequence),
        }
    }

    fn of(record: i64) -> EventFilter {
        EventFilter {
            names: vec![EventName::LeadCreated],
            record: Some(record),
            created: None,
        }
    }

    #[test]
    fn a_waiter_reads_only_where_there_may_be_an_event() {
        let mut tail = Tail::behind(EventSequence(10));
        let nothing = |number| LogPeek::NothingUpTo(EventSequence(number));
        assert_eq!(tail.peek(&of(1), EventSequence(10)), nothing(10));
        assert_eq!(tail.peek(&of(1), EventSequence(9)), LogPeek::Perhaps, "it is not known");
        tail.add(vec![event(11, 1), event(12, 2)]);
        assert_eq!(tail.peek(&of(1), EventSequence(10)), LogPeek::Perhaps);
        assert_eq!(tail.peek(&of(1), EventSequence(11)), nothing(12));
        assert_eq!(tail.peek(&of(3), EventSequence(10)), nothing(12));
        assert_eq!(
            tail.peek(&of(3), EventSequence(14)),
            nothing(14),
            "a cursor does not go back"
        );
    }

    #[test]
    fn only_so_many_events_are_remembered() {
        let mut tail = Tail::behind(EventSequence(0));
        tail.add((1..=1030).map(|number| event(number, 1)).collect());
        assert_eq!(
            (tail.events.len(), tail.from, tail.to),
            (1024, EventSequence(6), EventSequence(1030))
        );
        assert_eq!(tail.peek(&of(2), EventSequence(5)), LogPeek::Perhaps);
        assert_eq!(
            tail.peek(&of(2), EventSequence(6)),
            LogPeek::NothingUpTo(EventSequence(1030))
        );
    }
}
