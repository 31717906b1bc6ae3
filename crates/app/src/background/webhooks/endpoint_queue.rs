//! One endpoint's turn: what waits for it, and how many attempts it may have at once.

use std::{collections::VecDeque, mem, sync::Arc, time::Duration};

use forecourt_webhooks::{Deletion, DueDelivery, Endpoint, Reservation};
use tokio::time::Instant;

/// How many attempts an endpoint has at once to begin with, and at most.
const FIRST_WINDOW: usize = 8;
const WIDEST_WINDOW: usize = 32;
/// How many deliveries are held for each attempt that may be made at once.
const HELD_FOR_EACH: usize = 8;
/// How long what is known of an endpoint is relied on: another server may have changed it.
const TRUSTED_FOR: Duration = Duration::from_secs(1);

/// A delivery that waits, and the room that it holds.
pub(super) struct Buffered {
    pub(super) due: DueDelivery,
    pub(super) reservation: Reservation,
}

/// A record: what kind it is of, and its id.
type Record = (&'static str, i64);

/// What this server has for one endpoint.
pub(super) struct EndpointQueue {
    pub(super) endpoint: Arc<Endpoint>,
    known_since: Option<Instant>,
    pub(super) queue: VecDeque<Buffered>,
    in_flight: usize,
    /// The records of which updates are under way.
    updating: Vec<Record>,
    window: usize,
    /// Whether more may be due in the database than was taken.
    pub(super) more: bool,
}

impl EndpointQueue {
    /// An endpoint as it has just been read.
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

    /// Takes over an endpoint as it has just been read.
    pub(super) fn learn(&mut self, endpoint: Arc<Endpoint>, now: Instant) {
        self.endpoint = endpoint;
        self.known_since = Some(now);
    }

    /// What is known of the endpoint is no longer true.
    pub(super) fn invalidate(&mut self) {
        self.known_since = None;
    }

    /// Whether what is known of the endpoint can be relied on.
    pub(super) fn is_known(&self, now: Instant) -> bool {
        self.known_since
            .is_some_and(|since| now.duration_since(since) < TRUSTED_FOR)
    }

    /// Whether another attempt may begin.
    pub(super) fn is_open(&self) -> bool {
        self.in_flight < self.window
    }

    /// Whether something waits that may be tried.
    pub(super) fn has_next(&self) -> bool {
        self.next_place().is_some()
    }

    /// Takes out the next delivery that may be tried.
    pub(super) fn next(&mut self) -> Option<Buffered> {
        self.queue.remove(self.next_place()?)
    }

    /// A deletion waits for the updates of its record that are under way, so that none arrives after it.
    fn next_place(&self) -> Option<usize> {
        let waits = |due: &DueDelivery| {
            due.topic.deletes() && record(due).is_some_and(|record| self.updating.contains(&record))
        };
        self.queue.iter().position(|buffered| !waits(&buffered.due))
    }

    /// Takes out what a deletion makes needless.
    pub(super) fn take_superseded(&mut self, deletion: &Deletion) -> Vec<Buffered> {
        let business = self.endpoint.key.business;
        let (superseded, rest) = mem::take(&mut self.queue)
            .into_iter()
            .partition::<VecDeque<_>, _>(|buffered| deletion.supersedes(business, &buffered.due));
        self.queue = rest;
        superseded.into()
    }

    /// Notes the beginning of an attempt.
    pub(super) fn began(&mut self, due: &DueDelivery) {
        self.in_flight += 1;
        if due.topic.settles() {
            self.updating.extend(record(due));
        }
    }

    /// How many deliveries are to be held at most.
    pub(super) fn room(&self) -> usize {
        self.window * HELD_FOR_EACH
    }

    /// Whether so few are left that more should be fetched.
    pub(super) fn runs_low(&self) -> bool {
        self.more && self.queue.len() <= self.room() / 2
    }

    /// Notes the end of an attempt. An endpoint that answers well is sent more at once; one that does not has fewer attempts,
    /// so that it holds up no other while it is down. An outcome that says nothing of the endpoint is `None`.
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

    /// Whether there is nothing to remember.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight == 0 && !self.more
    }
}

/// What a delivery is about.
fn record(due: &DueDelivery) -> Option<Record> {
    due.topic.resource().zip(due.record)
}
