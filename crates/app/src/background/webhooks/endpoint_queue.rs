//! The queue of one endpoint: its waiting deliveries, and the number of attempts it may have at once.

use std::{collections::VecDeque, mem, sync::Arc, time::Duration};

use forecourt_webhooks::{Deletion, DueDelivery, Endpoint, Reservation};
use tokio::time::Instant;

/// The initial and the maximum number of concurrent attempts of an endpoint.
const FIRST_WINDOW: usize = 8;
const WIDEST_WINDOW: usize = 32;
/// The number of deliveries that are held for each concurrent attempt.
const HELD_FOR_EACH: usize = 8;
/// The time for which the cached state of an endpoint is used: another server may have changed it.
const TRUSTED_FOR: Duration = Duration::from_secs(1);

/// A waiting delivery, with the room that it reserves.
pub(super) struct Buffered {
    pub(super) due: DueDelivery,
    pub(super) reservation: Reservation,
}

/// A record: its kind and its id.
type Record = (&'static str, i64);

/// The state that this server has for one endpoint.
pub(super) struct EndpointQueue {
    pub(super) endpoint: Arc<Endpoint>,
    known_since: Option<Instant>,
    pub(super) queue: VecDeque<Buffered>,
    in_flight: usize,
    /// The records whose updates are being sent.
    updating: Vec<Record>,
    window: usize,
    /// True if more deliveries may be due in the database than were taken.
    pub(super) more: bool,
}

impl EndpointQueue {
    /// Makes the queue of an endpoint that has just been read.
    pub(super) fn new(endpoint: Arc<Endpoint>, now: Instant) -> Self {
        Self {
            endpoint,
            known_since: Some(now),
            queue: VecDeque::new(),
            in_flight: 0,
            updating: Vec::new(),
            window: FIRST_WINDOW,
            more: false,
        }
    }

    /// Replaces the cached state by that of an endpoint that has just been read.
    pub(super) fn learn(&mut self, endpoint: Arc<Endpoint>, now: Instant) {
        self.endpoint = endpoint;
        self.known_since = Some(now);
    }

    /// Marks the cached state of the endpoint as outdated.
    pub(super) fn invalidate(&mut self) {
        self.known_since = None;
    }

    /// Returns true if the cached state of the endpoint can be used.
    pub(super) fn is_known(&self, now: Instant) -> bool {
        self.known_since
            .is_some_and(|since| now.duration_since(since) < TRUSTED_FOR)
    }

    /// Returns true if another attempt may begin.
    pub(super) fn is_open(&self) -> bool {
        self.in_flight < self.window
    }

    /// Returns true if a waiting delivery may be tried.
    pub(super) fn has_next(&self) -> bool {
        self.next_place().is_some()
    }

    /// Removes and returns the next delivery that may be tried.
    pub(super) fn next(&mut self) -> Option<Buffered> {
        self.queue.remove(self.next_place()?)
    }

    /// Returns the place of the next delivery. A deletion waits for the updates of its record that are being sent, so that none
    /// arrives after it.
    fn next_place(&self) -> Option<usize> {
        let waits = |due: &DueDelivery| {
            due.topic.deletes() && record(due).is_some_and(|record| self.updating.contains(&record))
        };
        self.queue.iter().position(|buffered| !waits(&buffered.due))
    }

    /// Removes and returns the deliveries that a deletion supersedes.
    pub(super) fn take_superseded(&mut self, deletion: &Deletion) -> Vec<Buffered> {
        let business = self.endpoint.key.business;
        let (superseded, rest) = mem::take(&mut self.queue)
            .into_iter()
            .partition::<VecDeque<_>, _>(|buffered| deletion.supersedes(business, &buffered.due));
        self.queue = rest;
        superseded.into()
    }

    /// Records the beginning of an attempt.
    pub(super) fn began(&mut self, due: &DueDelivery) {
        self.in_flight += 1;
        if due.topic.settles() {
            self.updating.extend(record(due));
        }
    }

    /// Returns the maximum number of deliveries to hold.
    pub(super) fn room(&self) -> usize {
        self.window * HELD_FOR_EACH
    }

    /// Returns true if so few are left that more should be fetched.
    pub(super) fn runs_low(&self) -> bool {
        self.more && self.queue.len() <= self.room() / 2
    }

    /// Records the end of an attempt. An endpoint that answers well may have more attempts at once. One that does not has
    /// fewer, so that it does not delay others while it is down. `None` is an outcome that does not depend on the endpoint.
    pub(super) fn ended(&mut self, due: &DueDelivery, accepted: Option<bool>) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if due.topic.settles()
            && let Some(at) = self.updating.iter().position(|&other| Some(other) == record(due))
        {
            self.updating.swap_remove(at);
        }
        self.window = match accepted {
            Some(true) => (self.window + 1).min(WIDEST_WINDOW),
            Some(false) => (self.window / 2).max(1),
            None => self.window,
        };
    }

    /// Returns true if there is nothing to remember.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight == 0 && !self.more
    }
}

/// Returns the record that a delivery is about.
fn record(due: &DueDelivery) -> Option<Record> {
    due.topic.resource().zip(due.record)
}
