//! One endpoint's turn: what waits for it, and how many attempts it may have at once.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use forecourt_webhooks::{DueDelivery, Endpoint};
use tokio::time::Instant;

/// How many attempts an endpoint has at once to begin with, and at most.
const FIRST_WINDOW: usize = 8;
const WIDEST_WINDOW: usize = 32;
/// How many deliveries are held for each attempt that may be made at once.
const HELD_FOR_EACH: usize = 8;
/// How long what is known of an endpoint is relied on: another server may have changed it.
const TRUSTED_FOR: Duration = Duration::from_secs(1);

/// What this server has for one endpoint.
pub(super) struct Lane {
    pub(super) endpoint: Arc<Endpoint>,
    known_since: Option<Instant>,
    pub(super) queue: VecDeque<DueDelivery>,
    pub(super) in_flight: usize,
    window: usize,
    /// Whether more may be due in the database than was taken.
    pub(super) more: bool,
}

impl Lane {
    /// An endpoint as somebody has just read it.
    pub(super) fn new(endpoint: Arc<Endpoint>, now: Instant) -> Self {
        Self {
            endpoint,
            known_since: Some(now),
            queue: VecDeque::new(),
            in_flight: 0,
            window: FIRST_WINDOW,
            more: false,
        }
    }

    /// Takes over an endpoint as somebody has just read it.
    pub(super) fn learn(&mut self, endpoint: Arc<Endpoint>, now: Instant) {
        self.endpoint = endpoint;
        self.known_since = Some(now);
    }

    /// What is known of the endpoint is no longer true.
    pub(super) fn distrust(&mut self) {
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

    /// How many deliveries are to be held at most.
    pub(super) fn room(&self) -> usize {
        self.window * HELD_FOR_EACH
    }

    /// Whether so few are left that more should be fetched.
    pub(super) fn runs_low(&self) -> bool {
        self.more && self.queue.len() <= self.room() / 2
    }

    /// Notes the end of an attempt. An endpoint that answers well is sent more at once; one that does not has fewer
    /// attempts, so that it holds up nobody while it is down.
    pub(super) fn ended(&mut self, accepted: bool) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.window = if accepted {
            (self.window + 1).min(WIDEST_WINDOW)
        } else {
            (self.window / 2).max(1)
        };
    }

    /// Whether there is nothing to remember.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight == 0 && !self.more
    }
}
