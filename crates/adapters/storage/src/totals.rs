//! How many records lists have, and where, as far as somebody has counted.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forecourt_contacts::{ContactFilter, WholeText};
use forecourt_kernel::{BusinessId, TextFilter};
use forecourt_leads::LeadFilter;
use forecourt_vehicles::{VehicleFilter, Wanted};

/// The longest text that a filter is remembered with, in bytes.
const LONGEST_TEXT: usize = 200;

/// What an engine remembers of its lists.
#[derive(Default)]
pub(crate) struct ListTotals {
    pub(crate) leads: Totals<LeadFilter>,
    pub(crate) contacts: Totals<ContactFilter>,
    /// How many contacts of a list each part of the ids has, the highest part first; parts without one are missing.
    pub(crate) contact_parts: Totals<ContactFilter, Parts>,
    pub(crate) vehicles: Totals<VehicleFilter>,
}

/// How many records of a list each part has.
pub(crate) type Parts = Arc<[(i64, i64)]>;

/// What a list is narrowed by.
pub(crate) trait Filter: Clone + Eq + Hash {
    /// The texts of it that a caller can make as long as they like.
    fn texts(&self) -> Vec<&str>;
}

/// What is counted of a list.
pub(crate) trait Count: Clone {
    /// How many are remembered at least, the ones used last; and at most twice as many.
    const REMEMBERED: usize;
}

impl Count for i64 {
    const REMEMBERED: usize = 1024;
}

impl Count for Parts {
    /// Among a million records one takes four kilobytes.
    const REMEMBERED: usize = 64;
}

/// Remembers what was counted of lists of one kind. It is valid as long as the records of its business have been written
/// just as often as when it was counted, whichever server wrote them.
pub(crate) struct Totals<F = LeadFilter, T = i64>(Mutex<Generations<F, T>>);

type Key<F> = (BusinessId, F);

/// What was used lately is in the young generation. Once that is full it takes the place of the old one, whose entries, not
/// used for that long, are forgotten.
struct Generations<F, T> {
    young: HashMap<Key<F>, Counted<T>>,
    old: HashMap<Key<F>, Counted<T>>,
}

#[derive(Clone)]
struct Counted<T> {
    writes: i64,
    what: T,
}

impl<F, T> Default for Totals<F, T> {
    fn default() -> Self {
        Self(Mutex::new(Generations {
            young: HashMap::new(),
            old: HashMap::new(),
        }))
    }
}

impl<F: Filter, T: Count> Totals<F, T> {
    /// What was counted of a list, if that was when the records of the business had been written `writes` times.
    pub(crate) fn get(&self, business: BusinessId, filter: &F, writes: i64) -> Option<T> {
        let key = (business, filter.clone());
        let mut generations = self.lock();
        if let Some(known) = generations.old.remove(&key) {
            generations.put(key.clone(), known);
        }
        let known = generations.young.get(&key)?;
        (known.writes == writes).then(|| known.what.clone())
    }

    /// Remembers what was counted.
    pub(crate) fn put(&self, business: BusinessId, filter: &F, writes: i64, what: T) {
        if filter.texts().iter().all(|text| text.len() <= LONGEST_TEXT) {
            self.lock().put((business, filter.clone()), Counted { writes, what });
        }
    }

    /// No code that can panic runs under this lock.
    fn lock(&self) -> MutexGuard<'_, Generations<F, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Filter, T: Count> Generations<F, T> {
    fn put(&mut self, key: Key<F>, counted: Counted<T>) {
        if self.young.len() >= T::REMEMBERED {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, counted);
    }
}

impl Filter for LeadFilter {
    fn texts(&self) -> Vec<&str> {
        [&self.name, &self.email].into_iter().flatten().map(text).collect()
    }
}

impl Filter for ContactFilter {
    fn texts(&self) -> Vec<&str> {
        let whole = [&self.name, &self.company, &self.vat, &self.zip].into_iter().flatten();
        let email = self.email.iter().map(text);
        whole.map(WholeText::literal).chain(email).collect()
    }
}

impl Filter for VehicleFilter {
    fn texts(&self) -> Vec<&str> {
        let own = [&self.registration, &self.channel, &self.tag_name]
            .into_iter()
            .flatten();
        let mut texts: Vec<&str> = own.map(String::as_str).collect();
        for field in &self.fields {
            match &field.wanted {
                Wanted::AnyOf(any) => texts.extend(any.iter().map(String::as_str)),
                Wanted::Text(filter) => texts.push(text(filter)),
                Wanted::Within(_) => {}
            }
        }
        texts
    }
}

fn text(filter: &TextFilter) -> &str {
    match filter {
        TextFilter::Exact(text) | TextFilter::Wildcard(text) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSINESS: BusinessId = BusinessId::new(1);

    fn reference(number: i64) -> LeadFilter {
        LeadFilter {
            reference: Some(number),
            ..LeadFilter::default()
        }
    }

    #[test]
    fn a_total_holds_until_something_is_written() {
        let totals = Totals::default();
        assert_eq!(totals.get(BUSINESS, &reference(1), 5), None);
        totals.put(BUSINESS, &reference(1), 5, 17);
        assert_eq!(totals.get(BUSINESS, &reference(1), 5), Some(17));
        assert_eq!(totals.get(BUSINESS, &reference(1), 6), None);
        assert_eq!(totals.get(BusinessId::new(2), &reference(1), 5), None);
        assert_eq!(totals.get(BUSINESS, &reference(2), 5), None);
        totals.put(BUSINESS, &reference(1), 6, 18);
        assert_eq!(totals.get(BUSINESS, &reference(1), 6), Some(18));
    }

    #[test]
    fn what_is_used_is_remembered_and_the_rest_takes_a_bounded_room() {
        let totals = Totals::default();
        totals.put(BUSINESS, &reference(0), 1, 7);
        for number in 1..10_000 {
            totals.put(BUSINESS, &reference(number), 1, number);
            if number % 500 == 0 {
                assert_eq!(totals.get(BUSINESS, &reference(0), 1), Some(7), "after {number}");
            }
        }
        let generations = totals.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * i64::REMEMBERED);
    }

    #[test]
    fn a_filter_that_is_very_long_is_not_remembered() {
        let totals = Totals::default();
        let long = LeadFilter {
            name: Some(TextFilter::Exact("x".repeat(LONGEST_TEXT + 1))),
            ..LeadFilter::default()
        };
        totals.put(BUSINESS, &long, 1, 1);
        assert_eq!(totals.get(BUSINESS, &long, 1), None);
    }
}
