//! The port through which storage announces what was just committed, so that no component needs to poll for it.

use std::{any::Any, fmt, sync::Arc};

use forecourt_kernel::{BusinessId, Moment};

use crate::{DueDelivery, Endpoint, EndpointKey};

/// Hears of commits. What it misses, because the server died, is found in the database later.
pub trait Watcher: Send + Sync {
    /// Reserves room for a delivery to `endpoint` that carries so many bytes of its record. With room, it may be handed over
    /// as soon as it is committed; without, it is left in the queue, to be taken from there.
    fn reserve(&self, endpoint: EndpointKey, bytes: usize) -> Option<Reservation>;

    /// Something was committed.
    fn committed(&self, summary: CommitSummary);
}

/// Room that is held for one delivery, and free again when this is dropped.
pub struct Reservation {
    _held: Box<dyn Any + Send + Sync>,
}

impl Reservation {
    /// Room that the dropping of `held` gives back.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reservation")
    }
}

/// What a transaction did.
#[derive(Debug, Default)]
pub struct CommitSummary {
    /// The business in whose log it recorded events.
    pub recorded: Option<BusinessId>,
    /// Deliveries that it made, already leased to this server.
    pub deliveries: Vec<ReadyDelivery>,
    /// Subscriptions in whose queue it left something, and when that is due.
    pub queued: Vec<(EndpointKey, Moment)>,
    /// Subscriptions that it changed.
    pub changed: Vec<EndpointKey>,
    /// Records that it deleted, of businesses that have subscriptions.
    pub deleted: Vec<Deletion>,
}

/// The end of a record: updates of it that have not been sent are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Deletion {
    /// Whose record it was.
    pub business: BusinessId,
    /// What kind of record.
    pub resource: &'static str,
    /// Its id.
    pub record: i64,
}

/// A delivery that its maker hands to the sender, who so need not look it up.
#[derive(Debug)]
pub struct ReadyDelivery {
    /// What to deliver.
    pub due: DueDelivery,
    /// Where to, as the transaction saw it.
    pub endpoint: Arc<Endpoint>,
    /// The room that it takes.
    pub reservation: Reservation,
}

impl Deletion {
    /// Whether it makes a delivery of that business needless: an update of the record that is gone.
    pub fn supersedes(&self, business: BusinessId, due: &DueDelivery) -> bool {
        self.business == business
            && due.topic.settles()
            && due.topic.resource() == Some(self.resource)
            && due.record == Some(self.record)
    }
}

impl CommitSummary {
    /// Whether nothing was committed.
    pub const fn is_empty(&self) -> bool {
        self.recorded.is_none()
            && self.deliveries.is_empty()
            && self.queued.is_empty()
            && self.changed.is_empty()
            && self.deleted.is_empty()
    }
}
