//! How much the answers that show large records hold in memory, all together.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// How many large records are held at once, while few such answers are under way.
const MAX_RECORDS: u32 = 50;
/// About how many bytes of records are held at once, shared by the answers that are under way.
const MAX_BYTES: usize = 1024 * 1024;
/// The share of each, however many there are.
const MIN_BYTES_EACH: usize = 128 * 1024;

/// Counts the answers with large records that are under way. Clones share the count.
#[derive(Clone, Default)]
pub(crate) struct LargeAnswers(Arc<AtomicUsize>);

impl LargeAnswers {
    /// Counts an answer, until what this returns is dropped.
    pub(crate) fn begin(&self) -> LargeAnswer {
        self.0.fetch_add(1, Ordering::Relaxed);
        LargeAnswer(self.clone())
    }

    /// At least 1, so that the answer that asks can go on.
    fn under_way(&self) -> usize {
        self.0.load(Ordering::Relaxed).max(1)
    }

    /// How many records each of them may hold, so that all together hold no more than a few dozen.
    pub(crate) fn records_each(&self) -> u32 {
        let under_way = u32::try_from(self.under_way()).unwrap_or(u32::MAX);
        (MAX_RECORDS / under_way).max(1)
    }

    /// How many bytes each of them may hold, once it knows how large its records are.
    pub(crate) fn bytes_each(&self) -> usize {
        (MAX_BYTES / self.under_way()).max(MIN_BYTES_EACH)
    }
}

/// An answer that is under way.
pub(crate) struct LargeAnswer(LargeAnswers);

impl Drop for LargeAnswer {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
