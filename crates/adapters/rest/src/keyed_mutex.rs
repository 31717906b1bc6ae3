//! A mutex for each key, for work that must not be done twice at the same time.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{self, OwnedMutexGuard};

/// A mutex for each key: requests with the same key run one after another, in order of arrival.
pub(crate) struct KeyedMutex<K>(Mutex<HashMap<K, Arc<sync::Mutex<()>>>>);

impl<K> Default for KeyedMutex<K> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K: Eq + Hash> KeyedMutex<K> {
    /// Locks the mutex of `key` until the returned value is dropped.
    pub(crate) async fn lock(&self, key: K) -> OwnedMutexGuard<()> {
        let mutex = {
            let mut mutexes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Every holder and waiter shares its mutex, so one that is not shared is not needed.
            mutexes.retain(|_, mutex| Arc::strong_count(mutex) > 1);
            Arc::clone(mutexes.entry(key).or_default())
        };
        mutex.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn the_same_thing_is_done_by_one_after_the_other() {
        let keyed = KeyedMutex::default();
        let first = keyed.lock(1).await;
        assert!(keyed.lock(1).now_or_never().is_none());
        let other = keyed.lock(2).now_or_never();
        assert!(other.is_some());
        drop(first);
        assert!(keyed.lock(1).now_or_never().is_some());
        drop(other);
        drop(keyed.lock(3).await);
        drop(keyed.lock(4).await);
        assert_eq!(keyed.0.lock().unwrap().len(), 1, "what is over is forgotten");
    }
}
