//! A cache of the totals of lists.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use forecourt_kernel::{BusinessId, Epoch};

use crate::selection::{Condition, Selection};
use crate::statement::Value;

/// The maximum number of lists of one business that are remembered.
const MAX_LISTS_PER_BUSINESS: usize = 256;
/// The maximum number of lists of all businesses together that are remembered.
const MAX_LISTS: usize = 64 * MAX_LISTS_PER_BUSINESS;
/// The longest selection that is remembered, in bytes of text.
const MAX_SELECTION_BYTES: usize = 1024;

/// Remembers the totals of lists. A total is valid as long as the business's records of the kind have been written exactly as
/// often as when they were counted, by any server.
#[derive(Default)]
pub(crate) struct Totals(Mutex<Cache>);

#[derive(Default)]
struct Cache {
    of: HashMap<BusinessId, Share>,
    /// The number of lists that are remembered.
    lists: usize,
    /// The number of look-ups so far, which serves as a clock.
    now: u64,
}

#[derive(Default)]
struct Share {
    counted: HashMap<Selection, Counted>,
    /// The time of its latest use, by that clock.
    used: u64,
}

/// The result of a count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counted {
    pub(crate) total: i64,
    /// The number of records of the kind that the business had.
    pub(crate) of: i64,
    /// The number of writes of such records until then.
    pub(crate) writes: i64,
    /// The epoch of that number: another epoch gives it a second time.
    pub(crate) epoch: Epoch,
    /// The index, among the list's conditions that can be looked up by themselves, of the one that left few records, if one did.
    pub(crate) narrowed: Option<usize>,
}

impl Totals {
    /// Returns the latest count of a list.
    pub(crate) fn get(&self, selection: &Selection) -> Option<Counted> {
        let mut cache = self.lock();
        cache.now += 1;
        let now = cache.now;
        let share = cache.of.get_mut(&selection.business)?;
        share.used = now;
        share.counted.get(selection).copied()
    }

    /// Remembers a count. A business with too many lists forgets its own; of many businesses the one without a request for the
    /// longest time is forgotten.
    pub(crate) fn put(&self, selection: &Selection, counted: Counted) {
        if length(selection) > MAX_SELECTION_BYTES {
            return;
        }
        let mut cache = self.lock();
        if cache.lists >= MAX_LISTS {
            cache.evict_idlest();
        }
        let Cache { of, lists, now } = &mut *cache;
        let share = of.entry(selection.business).or_default();
        if share.counted.len() >= MAX_LISTS_PER_BUSINESS && !share.counted.contains_key(selection) {
            *lists -= share.counted.len();
            share.counted.clear();
        }
        share.used = *now;
        if share.counted.insert(selection.clone(), counted).is_none() {
            *lists += 1;
        }
    }

    /// No code that can panic runs under this lock.
    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    fn evict_idlest(&mut self) {
        let idlest = self.of.iter().min_by_key(|(_, share)| share.used);
        let Some(idlest) = idlest.map(|(business, _)| *business) else {
            return;
        };
        if let Some(share) = self.of.remove(&idlest) {
            self.lists -= share.counted.len();
        }
    }
}

/// The length of a selection's texts.
fn length(selection: &Selection) -> usize {
    let text = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::Text(text) => text.len(),
    };
    let of = |condition: &Condition| match condition {
        Condition::Is(_, value) | Condition::Noted { value, .. } => text(value),
        Condition::AnyOf(_, values) => values.iter().map(text).sum(),
        Condition::Within(..) => 0,
        Condition::Like(_, pattern) => pattern.len(),
    };
    selection.conditions.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::RecordKind;

    const LEADS: RecordKind = RecordKind {
        table: "leads",
        rows: "leads",
        texts: None,
    };

    fn list(business: i64, number: i64) -> Selection {
        let mut list = Selection::all(LEADS, BusinessId::new(business));
        list.is("reference", Some(number));
        list
    }

    const fn counted(total: i64) -> Counted {
        Counted {
            total,
            of: 100,
            writes: 5,
            epoch: Epoch::FIRST,
            narrowed: None,
        }
    }

    #[test]
    fn a_total_is_that_of_its_list() {
        let totals = Totals::default();
        assert_eq!(totals.get(&list(1, 1)), None);
        totals.put(&list(1, 1), counted(17));
        assert_eq!(totals.get(&list(1, 1)), Some(counted(17)));
        assert_eq!(totals.get(&list(2, 1)), None);
        assert_eq!(totals.get(&list(1, 2)), None);
        totals.put(&list(1, 1), counted(18));
        assert_eq!(totals.get(&list(1, 1)), Some(counted(18)));
    }

    #[test]
    fn a_business_that_asks_for_everything_forgets_nothing_of_others() {
        let totals = Totals::default();
        totals.put(&list(1, 0), counted(7));
        for number in 0..10_000 {
            totals.put(&list(2, number), counted(number));
        }
        assert_eq!(totals.get(&list(1, 0)), Some(counted(7)));
        let cache = totals.lock();
        assert!(cache.lists <= MAX_LISTS_PER_BUSINESS + 1, "{}", cache.lists);
        assert_eq!(
            cache.lists,
            cache.of.values().map(|share| share.counted.len()).sum::<usize>()
        );
    }

    #[test]
    fn of_many_businesses_the_idlest_is_forgotten() {
        let totals = Totals::default();
        for business in 0..100 {
            for number in 0..MAX_LISTS_PER_BUSINESS {
                totals.put(&list(business, i64::try_from(number).unwrap()), counted(1));
            }
            // One that is in use all the time.
            assert!(totals.get(&list(0, 0)).is_some(), "{business}");
        }
        assert!(totals.lock().lists <= MAX_LISTS);
        assert_eq!(totals.get(&list(1, 0)), None);
        assert!(totals.get(&list(99, 0)).is_some());
    }

    #[test]
    fn a_selection_that_is_very_long_is_not_remembered() {
        let totals = Totals::default();
        let mut long = list(1, 1);
        long.is("name_folded", Some("x".repeat(MAX_SELECTION_BYTES + 1)));
        totals.put(&long, counted(1));
        assert_eq!(totals.get(&long), None);
    }
}
