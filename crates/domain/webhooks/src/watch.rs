//! The port through which storage announces what was just committed, so that no component needs to poll for it.

use std::{any::Any, fmt, sync::Arc};

use forecourt_kernel::{BusinessId, Moment};

use crate::{DueDelivery, Endpoint, EndpointKey};

/// A listener for commits. What it misses because the server died is found in the database later.
pub trait Watcher: Send + Sync {
    /// Reserves room for a delivery to `endpoint` whose record has this many bytes. If there is room, the delivery may be handed
    /// over as soon as it is committed. Otherwise it is left in the queue, to be taken from there.
    fn reserve(&self, endpoint: EndpointKey, bytes: usize) -> Option<Reservation>;

    /// Handles a commit.
    fn committed(&self, summary: CommitSummary);
}

/// Room that is held for one delivery, until this value is dropped.
pub struct Reservation {
    _held: Box<dyn Any + Send + Sync>,
}

impl Reservation {
    /// Makes a reservation that ends when `held` is dropped.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reservation")
    }
}

/// The effects of a transaction.
#[derive(Debug, Default)]
pub struct CommitSummary {
    /// The business in whose log the transaction recorded events.
    pub recorded: Option<BusinessId>,
    /// Deliveries that the transaction made, already leased to this server.
    pub deliveries: Vec<ReadyDelivery>,
    /// Subscriptions for which the transaction queued deliveries, and the time at which these are due.
    pub queued: Vec<(EndpointKey, Moment)>,
    /// Subscriptions that the transaction changed.
    pub changed: Vec<EndpointKey>,
    /// Records that the transaction deleted, of businesses that have subscriptions.
    pub deleted: Vec<Deletion>,
}

/// The deletion of a record: updates of it that have not been sent are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Deletion {
    /// The business that owned the record.
    pub business: BusinessId,
    /// The kind of record.
    pub resource: &'static str,
    /// The record's id.
    pub record: i64,
}

/// A delivery that is handed to the sender directly, without a lookup in the queue.
#[derive(Debug)]
pub struct ReadyDelivery {
    /// The delivery.
    pub due: DueDelivery,
    /// The endpoint, as the transaction saw it.
    pub endpoint: Arc<Endpoint>,
    /// The room that the delivery takes.
    pub reservation: Reservation,
}

impl Deletion {
    /// Returns `true` if the deletion makes a delivery of that business needless: an update of the deleted record.
    pub fn supersedes(&self, business: BusinessId, due: &DueDelivery) -> bool {
        self.business == business
            && due.topic.settles()
            && due.topic.resource() == Some(self.resource)
            && due.record == Some(self.record)
    }
}

impl CommitSummary {
    /// Returns `true` if nothing was committed.
    pub const fn is_empty(&self) -> bool {
        self.recorded.is_none()
            && self.deliveries.is_empty()
            && self.queued.is_empty()
            && self.changed.is_empty()
            && self.deleted.is_empty()
    }
}
