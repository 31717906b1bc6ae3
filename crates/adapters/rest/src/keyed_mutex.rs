//! KeyedMutex, for what must not be done twice at the same time.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Lets those who want the same thing do it one after the other, in the order in which they came.
pub(crate) struct KeyedMutex<K>(Mutex<HashMap<K, Arc<Turn<()>>>>);

impl<K> Default for KeyedMutex<K> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K: Eq + Hash> KeyedMutex<K> {
    /// Waits for the turn, which ends when what is answered is dropped.
    pub(crate) async fn turn(&self, key: K) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Every holder and waiter shares its turn: a turn that is not shared is over.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry(key).or_default())
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn the_same_thing_is_done_by_one_after_the_other() {
        let turns = KeyedMutex::default();
        let first = turns.turn(1).await;
        assert!(turns.turn(1).now_or_never().is_none());
        let other = turns.turn(2).now_or_never();
        assert!(other.is_some());
        drop(first);
        assert!(turns.turn(1).now_or_never().is_some());
        drop(other);
        drop(turns.turn(3).await);
        drop(turns.turn(4).await);
        assert_eq!(turns.0.lock().unwrap().len(), 1, "what is over is forgotten");
    }
}
