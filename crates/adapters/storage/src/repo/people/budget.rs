//! The amount of an erasure that one transaction does.

/// The amount that one transaction may still look at, and the events that it has changed.
pub(in super::super) struct Budget {
    pub(super) records: i64,
    pub(super) bytes: i64,
    /// The events that it has changed.
    pub(super) changed: Vec<i64>,
}

impl Budget {
    /// The budget of the deletion's own transaction, which all other writers wait for on SQLite.
    pub(in super::super) const OWN: Self = Self::of(100, 256 * 1024);
    /// The budget of a transaction in the background, which they wait for as well.
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

    /// Takes texts, by their lengths, until the budget is spent. The last one may exceed it, so that a long text is no obstacle.
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
