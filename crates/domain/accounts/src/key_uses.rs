//! The time of the last use of keys, to the hour.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use forecourt_kernel::Timestamp;

use crate::{ApiKey, KeyId};

const HOUR: i64 = 3600;

/// Returns the beginning of the UTC hour of `now`.
pub const fn hour_of(now: Timestamp) -> Timestamp {
    let second = now.epoch_seconds();
    Timestamp::from_epoch_seconds(second - second.rem_euclid(HOUR))
}

/// Uses of keys on this server that are still to be stored: at most one use of a key for each hour, so that requests cause no
/// writes of their own.
#[derive(Debug, Default)]
pub struct KeyUses(Mutex<BTreeMap<KeyId, Timestamp>>);

impl KeyUses {
    /// Notes that `key`, as it was read from storage, is used at `now`.
    pub fn note(&self, key: &ApiKey, now: Timestamp) {
        let hour = hour_of(now);
        if key.last_used.is_some_and(|stored| stored >= hour) {
            return;
        }
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match uses.get_mut(&key.id) {
            Some(noted) => *noted = hour.max(*noted),
            None => {
                uses.insert(key.id.clone(), hour);
            }
        }
    }

    /// Removes and returns all noted uses, in the order of the keys.
    pub fn take(&self) -> Vec<(KeyId, Timestamp)> {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *uses).into_iter().collect()
    }

    /// Puts back uses that could not be stored.
    pub fn put_back(&self, taken: impl IntoIterator<Item = (KeyId, Timestamp)>) {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, hour) in taken {
            let noted = uses.entry(key).or_insert(hour);
            *noted = hour.max(*noted);
        }
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::ScopeSet;

    use super::*;
    use crate::SecretHash;

    fn key(last_used: Option<i64>) -> ApiKey {
        ApiKey {
            id: "fck_0123456789abcdef".parse().unwrap(),
            secret_hash: SecretHash::from_bytes([0; 32]),
            business: None,
            scopes: ScopeSet::NONE,
            from: Vec::new(),
            created: at(0),
            expires: None,
            revoked: None,
            last_used: last_used.map(at),
        }
    }

    const fn at(second: i64) -> Timestamp {
        Timestamp::from_epoch_seconds(second)
    }

    #[test]
    fn a_use_is_noted_once_for_an_hour() {
        let uses = KeyUses::default();
        uses.note(&key(None), at(7_199));
        uses.note(&key(Some(0)), at(3_600));
        let taken = uses.take();
        assert_eq!(taken, [(key(None).id, at(3_600))]);
        uses.note(&key(Some(3_600)), at(7_199));
        assert_eq!(uses.take(), [], "it is stored");
        uses.note(&key(Some(3_600)), at(7_200));
        uses.put_back(taken);
        assert_eq!(uses.take(), [(key(None).id, at(7_200))], "the latest hour counts");
    }

    #[test]
    fn an_hour_begins_before_the_epoch_too() {
        assert_eq!(hour_of(at(-1)), at(-3_600));
    }
}
