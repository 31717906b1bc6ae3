//! Who receives a business's events, as far as it was looked up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forecourt_kernel::BusinessId;
use forecourt_webhooks::{Endpoint, Subscriber};

/// How many businesses are remembered; one more makes all be forgotten.
const REMEMBERED: usize = 4096;

/// Remembers the active subscriptions of businesses. What is remembered is valid as long as the business's number says the
/// same as when it was read: each change gives it another number, on any server.
#[derive(Default)]
pub(crate) struct Subscribers(Mutex<HashMap<BusinessId, CachedSubscribers>>);

struct CachedSubscribers {
    number: i64,
    all: Arc<[Receiver]>,
}

/// An active subscription, with what it takes to send to it if this program sends.
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
