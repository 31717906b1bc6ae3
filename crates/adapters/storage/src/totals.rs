//! How many records lists have, and where, as far as somebody has counted.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forecourt_contacts::{ContactFilter, WholeText};
use forecourt_kernel::{BusinessId, StoreResult, TextFilter};
use forecourt_leads::LeadFilter;
use forecourt_vehicles::{VehicleFilter, Wanted};

use crate::error::other;

/// The longest text that a filter is remembered with, in bytes.
const LONGEST_TEXT: usize = 200;

/// What an engine remembers of its lists.
#[derive(Default)]
pub(crate) struct ListTotals {
    pub(crate) leads: Known<LeadFilter>,
    pub(crate) contacts: Known<ContactFilter>,
    pub(crate) vehicles: Known<VehicleFilter>,
}

/// What is remembered of the lists of one kind.
pub(crate) struct Known<F> {
    /// How many records they have.
    pub(crate) totals: Totals<F, i64>,
    /// And where.
    pub(crate) parts: Totals<F, Parts>,
}

impl<F> Default for Known<F> {
    fn default() -> Self {
        Self {
            totals: Totals::default(),
            parts: Totals::default(),
        }
    }
}

/// How many records of a list each part of the ids has, the highest part first; parts without one are missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Parts(Arc<[(u32, u32)]>);

impl Parts {
    /// Of each part its number and how many records it has, in any order, none of them twice.
    ///
    /// # Errors
    /// If a number is higher than records ever get that are numbered one by one.
    pub(crate) fn new(counts: impl IntoIterator<Item = (i64, i64)>) -> StoreResult<Self> {
        let counts = counts.into_iter().filter(|(_, records)| *records > 0);
        let counts = counts.map(|(part, records)| Ok((u32::try_from(part)?, u32::try_from(records)?)));
        let counts: Result<Vec<_>, std::num::TryFromIntError> = counts.collect();
        let mut counts = counts.map_err(other)?;
        counts.sort_unstable_by(|one, other| other.cmp(one));
        Ok(Self(counts.into()))
    }

    /// Of each part its number and how many records it has, the highest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, i64)> {
        self.0
            .iter()
            .map(|(part, records)| (i64::from(*part), i64::from(*records)))
    }

    /// How many records they have together.
    pub(crate) fn total(&self) -> i64 {
        self.iter().map(|(_, records)| records).sum()
    }

    /// The same with other counts of some parts.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub(crate) fn with(&self, counts: Vec<(i64, i64)>) -> StoreResult<Self> {
        let kept = |part| counts.iter().all(|(counted, _)| *counted != part);
        let kept: Vec<_> = self.iter().filter(|(part, _)| kept(*part)).collect();
        Self::new(kept.into_iter().chain(counts))
    }
}

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
    /// Among a million records one takes two kilobytes.
    const REMEMBERED: usize = 128;
}

/// Remembers what was counted of lists of one kind. It is valid as long as the records of its business have been written
/// just as often as when it was counted, whichever server wrote them; later it still tells what there was then.
pub(crate) struct Totals<F, T>(Mutex<Generations<F, T>>);

type Key<F> = (BusinessId, F);

/// What was used lately is in the young generation. Once that is full it takes the place of the old one, whose entries, not
/// used for that long, are forgotten.
struct Generations<F, T> {
    young: HashMap<Key<F>, Counted<T>>,
    old: HashMap<Key<F>, Counted<T>>,
}

/// What was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counted<T> {
    pub(crate) what: T,
    /// How often the records of the business had been written. All that was written until then is counted; of what came
    /// while it was being counted, some may be.
    pub(crate) writes: i64,
    /// How long it takes to count everything: about as long as to read so many entries of an index.
    pub(crate) effort: i64,
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
    /// What was counted of a list.
    pub(crate) fn get(&self, business: BusinessId, filter: &F) -> Option<Counted<T>> {
        let key = (business, filter.clone());
        let mut generations = self.lock();
        if let Some(known) = generations.old.remove(&key) {
            generations.put(key.clone(), known);
        }
        generations.young.get(&key).cloned()
    }

    /// Remembers what was counted.
    pub(crate) fn put(&self, business: BusinessId, filter: &F, counted: Counted<T>) {
        if filter.texts().iter().all(|text| text.len() <= LONGEST_TEXT) {
            self.lock().put((business, filter.clone()), counted);
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

    fn counted(what: i64, writes: i64) -> Counted<i64> {
        Counted {
            what,
            writes,
            effort: what,
        }
    }

    #[test]
    fn a_total_is_that_of_its_list_and_tells_its_age() {
        let totals = Totals::default();
        assert_eq!(totals.get(BUSINESS, &reference(1)), None);
        totals.put(BUSINESS, &reference(1), counted(17, 5));
        assert_eq!(totals.get(BUSINESS, &reference(1)), Some(counted(17, 5)));
        assert_eq!(totals.get(BusinessId::new(2), &reference(1)), None);
        assert_eq!(totals.get(BUSINESS, &reference(2)), None);
        totals.put(BUSINESS, &reference(1), counted(18, 6));
        assert_eq!(totals.get(BUSINESS, &reference(1)), Some(counted(18, 6)));
    }

    #[test]
    fn what_is_used_is_remembered_and_the_rest_takes_a_bounded_room() {
        let totals = Totals::default();
        totals.put(BUSINESS, &reference(0), counted(7, 1));
        for number in 1..10_000 {
            totals.put(BUSINESS, &reference(number), counted(number, 1));
            if number % 500 == 0 {
                let known = totals.get(BUSINESS, &reference(0));
                assert_eq!(known, Some(counted(7, 1)), "after {number}");
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
        totals.put(BUSINESS, &long, counted(1, 1));
        assert_eq!(totals.get(BUSINESS, &long), None);
    }

    #[test]
    fn parts_are_replaced_by_others_and_by_none() {
        let parts = Parts::new([(2, 4), (9, 3), (7, 0), (6, 5)]).unwrap();
        assert_eq!(parts.iter().collect::<Vec<_>>(), [(9, 3), (6, 5), (2, 4)]);
        assert_eq!(parts.total(), 12);
        let changed = parts.with(vec![(6, 0), (11, 2), (2, 7)]).unwrap();
        assert_eq!(changed.iter().collect::<Vec<_>>(), [(11, 2), (9, 3), (2, 7)]);
        Parts::new([(1 << 32, 1)]).unwrap_err();
    }
}
