//! A bound on the memory of all answers with large records together.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The number of large records that are held at once, while only a few such answers are being written.
const MAX_RECORDS: u32 = 50;
/// The approximate number of bytes of records that are held at once, shared by the answers being written.
const MAX_BYTES: usize = 1024 * 1024;
/// The minimum share of each answer, regardless of their number.
const MIN_BYTES_EACH: usize = 128 * 1024;

/// Counts the answers with large records that are being written. Clones share the count.
#[derive(Clone, Default)]
pub(crate) struct LargeAnswers(Arc<AtomicUsize>);

impl LargeAnswers {
    /// Counts an answer until the returned value is dropped.
    pub(crate) fn begin(&self) -> LargeAnswer {
        self.0.fetch_add(1, Ordering::Relaxed);
        LargeAnswer(self.clone())
    }

    /// Returns the number of answers, at least 1, so that the answer that asks can continue.
    fn under_way(&self) -> usize {
        self.0.load(Ordering::Relaxed).max(1)
    }

    /// Returns the number of records that each of them may hold, so that together they hold no more than a few dozen.
    pub(crate) fn records_each(&self) -> u32 {
        let under_way = u32::try_from(self.under_way()).unwrap_or(u32::MAX);
        (MAX_RECORDS / under_way).max(1)
    }

    /// Returns the number of bytes that each of them may hold, once it knows the size of its records.
    pub(crate) fn bytes_each(&self) -> usize {
        (MAX_BYTES / self.under_way()).max(MIN_BYTES_EACH)
    }
}

/// An answer that is being written.
pub(crate) struct LargeAnswer(LargeAnswers);

impl Drop for LargeAnswer {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
