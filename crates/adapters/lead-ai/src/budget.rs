//! The number of conversations that a business may have read in a day.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, Clock, Timestamp};
use forecourt_leads::{Analyst, AnalystError, Assessment, Conversation};

/// The number of reads that a business has in a day unless a setting changes it.
pub const DEFAULT_DAILY_READS: u32 = 1000;

const SECONDS_PER_DAY: i64 = 86_400;

/// Counts reads of each business in each UTC day, so that a single busy form cannot run up a bill without end.
///
/// It counts within one process: after a restart the day begins anew, and several servers count apart. It reads no clock; its
/// caller supplies the time.
#[derive(Debug)]
pub struct DailyBudget {
    limit: u32,
    state: Mutex<State>,
}

#[derive(Default, Debug)]
struct State {
    /// In days since the epoch.
    day: i64,
    spent: HashMap<BusinessId, u32>,
}

/// A business has no reads left today.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the business has used up its AI reads of today")]
pub struct BudgetSpent {
    /// The number of seconds until the next UTC day.
    pub retry_after: u64,
}

impl DailyBudget {
    /// Allows `limit` reads for each business and day; 0 allows none.
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    /// Takes one read from what the business has left on the day of `now`.
    ///
    /// # Errors
    /// [`BudgetSpent`] if nothing is left.
    pub fn take(&self, business: BusinessId, now: Timestamp) -> Result<(), BudgetSpent> {
        let seconds = now.epoch_seconds();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let today = seconds.div_euclid(SECONDS_PER_DAY);
        // A clock that is set back gives no reads away.
        if today > state.day {
            *state = State {
                day: today,
                spent: HashMap::new(),
            };
        }
        let tomorrow = state.day.saturating_add(1).saturating_mul(SECONDS_PER_DAY);
        let spent = state.spent.entry(business).or_default();
        if *spent >= self.limit {
            let retry_after = u64::try_from(tomorrow.saturating_sub(seconds)).unwrap_or(1);
            return Err(BudgetSpent { retry_after });
        }
        *spent += 1;
        Ok(())
    }
}

impl Default for DailyBudget {
    fn default() -> Self {
        Self::new(DEFAULT_DAILY_READS)
    }
}

/// An analyst that reads only a limited number of a business's conversations in a day.
pub struct Budgeted<A> {
    analyst: A,
    budget: DailyBudget,
    clock: Arc<dyn Clock>,
}

impl<A: Analyst> Budgeted<A> {
    /// Limits `analyst` to `budget`.
    pub fn new(analyst: A, budget: DailyBudget, clock: Arc<dyn Clock>) -> Self {
        Self { analyst, budget, clock }
    }
}

/// [`AnalystError::Unavailable`] until the next day once a business has used up its reads.
#[async_trait]
impl<A: Analyst> Analyst for Budgeted<A> {
    async fn assess(&self, business: BusinessId, conversation: &Conversation) -> Result<Assessment, AnalystError> {
        if let Err(spent) = self.budget.take(business, self.clock.now()) {
            return Err(AnalystError::Unavailable {
                retry_after: Some(spent.retry_after),
                source: spent.into(),
            });
        }
        self.analyst.assess(business, conversation).await
    }

    fn is_remote(&self) -> bool {
        self.analyst.is_remote()
    }

    fn time_limit(&self) -> Duration {
        self.analyst.time_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_epoch_seconds(20_000 * SECONDS_PER_DAY + 43_200);
    const A: BusinessId = BusinessId::new(1);
    const B: BusinessId = BusinessId::new(2);

    #[test]
    fn each_business_has_its_own_reads_each_day() {
        let budget = DailyBudget::new(2);
        assert_eq!(budget.take(A, NOON), Ok(()));
        assert_eq!(budget.take(A, NOON), Ok(()));
        assert_eq!(budget.take(A, NOON), Err(BudgetSpent { retry_after: 43_200 }));
        assert_eq!(budget.take(B, NOON), Ok(()));
        let midnight = NOON.plus_seconds(43_200);
        assert!(budget.take(A, midnight.plus_seconds(-1)).is_err());
        assert_eq!(budget.take(A, midnight), Ok(()));
    }

    #[test]
    fn a_clock_that_is_set_back_gives_nothing_away() {
        let budget = DailyBudget::new(1);
        assert_eq!(budget.take(A, NOON), Ok(()));
        let yesterday = NOON.plus_seconds(-SECONDS_PER_DAY);
        assert_eq!(budget.take(A, yesterday), Err(BudgetSpent { retry_after: 129_600 }));
    }

    #[test]
    fn zero_allows_none() {
        assert!(DailyBudget::new(0).take(A, NOON).is_err());
    }
}
