//! How many attempts are under way at once.

use std::collections::HashMap;

use forecourt_kernel::BusinessId;

/// To all endpoints together.
const MOST: usize = 1024;
/// To the endpoints of one business.
const MOST_OF_BUSINESS: usize = 128;

/// Attempts under way, by business.
#[derive(Default)]
pub(super) struct Slots {
    total: usize,
    of: HashMap<BusinessId, usize>,
}

impl Slots {
    /// Whether another attempt of this business may begin. A business never has more than what is free for others, so one whose
    /// endpoints keep silent delays only itself.
    pub(super) fn has_room(&self, business: BusinessId) -> bool {
        let held = self.of.get(&business).copied().unwrap_or_default();
        held < MOST_OF_BUSINESS.min(MOST.saturating_sub(self.total))
    }

    /// Notes that an attempt began.
    pub(super) fn take(&mut self, business: BusinessId) {
        self.total += 1;
        *self.of.entry(business).or_default() += 1;
    }

    /// Notes that an attempt ended.
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
        assert!(taken.len() < MOST && slots.has_room(BusinessId::new(11)));
        let of_first = taken.iter().filter(|business| business.get() == 1).count();
        assert_eq!(of_first, MOST_OF_BUSINESS);
        for business in taken {
            slots.release(business);
        }
        assert!(slots.of.is_empty() && slots.total == 0);
    }
}
