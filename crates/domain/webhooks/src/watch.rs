//! The port through which storage tells what was just committed, so that nobody needs to look for it.

use std::sync::Arc;

use forecourt_kernel::{BusinessId, Moment};

use crate::{DueDelivery, Endpoint, EndpointKey};

/// Hears of commits. What it misses, because the server died, is found in the database later.
pub trait Watcher: Send + Sync {
    /// Whether deliveries to `endpoint` may be handed over as soon as they are committed; else they are left in the queue, to
    /// be taken from there.
    fn takes(&self, endpoint: EndpointKey) -> bool;

    /// Something was committed.
    fn committed(&self, news: News);
}

/// What a transaction did.
#[derive(Debug, Default)]
pub struct News {
    /// The business in whose log it recorded events.
    pub recorded: Option<BusinessId>,
    /// Deliveries that it made, already leased to this server.
    pub deliveries: Vec<HandedOver>,
    /// Subscriptions in whose queue it left something, and when that is due.
    pub queued: Vec<(EndpointKey, Moment)>,
    /// Subscriptions that it changed.
    pub changed: Vec<EndpointKey>,
}

/// A delivery that its maker hands to the sender, who so need not look it up.
#[derive(Clone, Debug)]
pub struct HandedOver {
    /// What to deliver.
    pub due: DueDelivery,
    /// Where to, as the transaction saw it.
    pub endpoint: Arc<Endpoint>,
}

impl News {
    /// Whether there is nothing to tell.
    pub const fn is_empty(&self) -> bool {
        self.recorded.is_none() && self.deliveries.is_empty() && self.queued.is_empty() && self.changed.is_empty()
    }
}
