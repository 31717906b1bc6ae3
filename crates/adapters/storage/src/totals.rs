//! A cache of the totals of lists.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use forecourt_kernel::{BusinessId, Epoch};

/// The maximum number of lists of one business that are remembered.
const MAX_LISTS_PER_BUSINESS: usize = 64;
/// The maximum number of businesses whose lists are remembered.
const MAX_BUSINESSES: usize = 256;
/// The longest key of a list that is remembered, in bytes.
const MAX_KEY_BYTES: usize = 1024;

/// Remembers the totals of lists. A total is valid as long as the business's records of the kind have been written exactly as
/// often as when they were counted, by any server.
#[derive(Default)]
pub(crate) struct Totals(Mutex<ByBusiness>);

/// The totals of each business, by list, with the number of writes at which they were counted.
type ByBusiness = HashMap<BusinessId, HashMap<String, (Writes, i64)>>;

/// The number of writes of a business's records of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Writes {
    /// The epoch of the number: another epoch gives it a second time.
    pub(crate) epoch: Epoch,
    pub(crate) writes: i64,
}

impl Totals {
    /// Returns the total of a list, unless it was counted at another number of writes.
    pub(crate) fn get(&self, business: BusinessId, list: &str, writes: Writes) -> Option<i64> {
        let totals = self.lock();
        let (counted_at, total) = totals.get(&business)?.get(list)?;
        (*counted_at == writes).then_some(*total)
    }

    /// Remembers the total of a list. A business with too many lists forgets its own. With too many businesses all is forgotten.
    pub(crate) fn put(&self, business: BusinessId, list: String, writes: Writes, total: i64) {
        if list.len() > MAX_KEY_BYTES {
            return;
        }
        let mut totals = self.lock();
        if totals.len() >= MAX_BUSINESSES && !totals.contains_key(&business) {
            totals.clear();
        }
        let own = totals.entry(business).or_default();
        if own.len() >= MAX_LISTS_PER_BUSINESS && !own.contains_key(&list) {
            own.clear();
        }
        own.insert(list, (writes, total));
    }

    /// No code that can panic runs under this lock.
    fn lock(&self) -> MutexGuard<'_, ByBusiness> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITES: Writes = Writes {
        epoch: Epoch::FIRST,
        writes: 5,
    };

    fn business(number: usize) -> BusinessId {
        BusinessId::new(i64::try_from(number).unwrap())
    }

    #[test]
    fn a_total_is_that_of_its_list_until_the_next_write() {
        let totals = Totals::default();
        let (one, other) = (business(1), business(2));
        assert_eq!(totals.get(one, "a", WRITES), None);
        totals.put(one, "a".to_owned(), WRITES, 17);
        assert_eq!(totals.get(one, "a", WRITES), Some(17));
        assert_eq!(totals.get(one, "b", WRITES), None);
        assert_eq!(totals.get(other, "a", WRITES), None);
        let written = Writes { writes: 6, ..WRITES };
        assert_eq!(totals.get(one, "a", written), None);
        totals.put(one, "a".to_owned(), written, 18);
        assert_eq!(totals.get(one, "a", written), Some(18));
    }

    #[test]
    fn a_business_with_many_lists_forgets_nothing_of_others() {
        let totals = Totals::default();
        totals.put(business(1), "a".to_owned(), WRITES, 7);
        for number in 0..10_000 {
            totals.put(business(2), number.to_string(), WRITES, 1);
        }
        assert_eq!(totals.get(business(1), "a", WRITES), Some(7));
        assert!(totals.lock()[&business(2)].len() <= MAX_LISTS_PER_BUSINESS);
    }

    #[test]
    fn the_cache_is_bounded() {
        let totals = Totals::default();
        for number in 0..10 * MAX_BUSINESSES {
            totals.put(business(number), "a".to_owned(), WRITES, 1);
            assert_eq!(totals.get(business(number), "a", WRITES), Some(1));
        }
        assert!(totals.lock().len() <= MAX_BUSINESSES);
        totals.put(business(1), "x".repeat(MAX_KEY_BYTES + 1), WRITES, 1);
        assert_eq!(totals.get(business(1), &"x".repeat(MAX_KEY_BYTES + 1), WRITES), None);
    }
}
