//! Limits on the number of concurrent attempts.

use std::collections::HashMap;

use forecourt_kernel::BusinessId;

/// The maximum for all endpoints together.
const MAX_ATTEMPTS: usize = 1024;
/// The maximum for the endpoints of one business.
const MAX_PER_BUSINESS: usize = 128;

/// The attempts in progress, by business.
#[derive(Default)]
pub(super) struct Slots {
    total: usize,
    of: HashMap<BusinessId, usize>,
}

impl Slots {
    /// Returns true if another attempt of this business may begin. A business never has more slots than are free for others, so
    /// one whose endpoints do not answer delays only itself.
    pub(super) fn has_room(&self, business: BusinessId) -> bool {
        let held = self.of.get(&business).copied().unwrap_or_default();
        held < MAX_PER_BUSINESS.min(MAX_ATTEMPTS.saturating_sub(self.total))
    }

    /// Records that an attempt began.
    pub(super) fn take(&mut self, business: BusinessId) {
        self.total += 1;
        *self.of.entry(business).or_default() += 1;
    }

    /// Records that an attempt ended.
    pub(super) fn release(&mut self, business: BusinessId) {
        self.total = self.total.saturating_sub(1);
        if let Some(held) = self.of.get_mut(&business) {
            *held = held.saturating_sub(1);
            if *held == 0 {
                self.of.remove(&business);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_businesses_leave_a_slot_for_one_more() {
        let mut slots = Slots::default();
        let mut taken = Vec::new();
        for business in (1..=10).map(BusinessId::new) {
            while slots.has_room(business) {
                slots.take(business);
                taken.push(business);
            }
        }
        assert!(taken.len() < MAX_ATTEMPTS && slots.has_room(BusinessId::new(11)));
        let of_first = taken.iter().filter(|business| business.get() == 1).count();
        assert_eq!(of_first, MAX_PER_BUSINESS);
        for business in taken {
            slots.release(business);
        }
        assert!(slots.of.is_empty() && slots.total == 0);
    }
}
