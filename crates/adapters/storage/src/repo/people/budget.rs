//! How much of an erasure one transaction does.

/// How much one transaction may still look at, and what it has changed.
pub(in super::super) struct Budget {
    pub(super) records: i64,
    pub(super) bytes: i64,
    /// The events that it has changed.
    pub(super) changed: Vec<i64>,
}

impl Budget {
    /// What fits into the deletion's own transaction, which on SQLite every other writer waits for.
    pub(in super::super) const OWN: Self = Self::of(100, 256 * 1024);
    /// What the background does at once, which they wait for as well.
    pub(super) const BACKGROUND: Self = Self::of(20, 256 * 1024);

    const fn of(records: i64, bytes: i64) -> Self {
        Self {
            records,
            bytes,
            changed: Vec::new(),
        }
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.records <= 0 || self.bytes <= 0
    }

    /// Those of some texts, by their lengths, that can still be looked at: one at least, so that there is an end to it.
    pub(in super::super) fn afford(&mut self, texts: &[(i64, i32)]) -> Vec<i64> {
        let mut chosen = Vec::new();
        for &(key, length) in texts {
            if self.bytes <= 0 {
                break;
            }
            self.bytes -= i64::from(length) + 64;
            chosen.push(key);
        }
        chosen
    }

    /// Counts bytes that were looked at.
    pub(in super::super) fn spend(&mut self, bytes: usize) {
        self.bytes -= i64::try_from(bytes).unwrap_or(i64::MAX);
    }
}
