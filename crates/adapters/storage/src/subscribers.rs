//! A cache of the subscriptions that receive a business's events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forecourt_kernel::BusinessId;
use forecourt_webhooks::{Endpoint, Subscriber};

/// The number of businesses that are remembered. One more, and all are forgotten.
const REMEMBERED: usize = 4096;

/// Remembers the active subscriptions of businesses. An entry is valid as long as the business's number is the one that it was
/// read with: each change gives it another number, on any server.
#[derive(Default)]
pub(crate) struct Subscribers(Mutex<HashMap<BusinessId, CachedSubscribers>>);

struct CachedSubscribers {
    number: i64,
    all: Arc<[Receiver]>,
}

/// An active subscription, with the endpoint's data if this program sends.
pub(crate) struct Receiver {
    pub(crate) subscriber: Subscriber,
    pub(crate) endpoint: Option<Arc<Endpoint>>,
}

impl Subscribers {
    /// The business's subscriptions, if they were read under this number.
    pub(crate) fn get(&self, business: BusinessId, number: i64) -> Option<Arc<[Receiver]>> {
        let all = self.lock();
        let known = all.get(&business).filter(|known| known.number == number)?;
        Some(Arc::clone(&known.all))
    }

    /// Remembers the business's subscriptions.
    pub(crate) fn put(&self, business: BusinessId, number: i64, all: Arc<[Receiver]>) {
        let mut known = self.lock();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(business, CachedSubscribers { number, all });
    }

    /// No code that can panic runs under this lock.
    fn lock(&self) -> MutexGuard<'_, HashMap<BusinessId, CachedSubscribers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
