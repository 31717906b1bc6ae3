//! The schedule of attempts, and the time for which updates settle.

use std::time::Duration;

use forecourt_kernel::Moment;

/// The largest random delay of an attempt, as a share of its offset.
const JITTER: f64 = 0.1;
/// The longest time for which the updates of a record that keeps changing are held back, in settle times.
const MAX_SETTLE_TIMES: i64 = 10;

/// The settings of webhook deliveries, `FORECOURT_WEBHOOK_*` (decisions §1 and §9).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    /// The schedule of retries.
    pub schedule: Schedule,
    /// The time limit of an attempt.
    pub timeout: Duration,
    /// The time without changes after which an update of a record is delivered.
    pub settle: Duration,
    /// The number of deliveries that fail for good, one after the other, before a subscription is disabled.
    pub disable_after: u32,
    /// Set if URLs may be `http:` and lead to addresses that are not public.
    pub allow_insecure: bool,
}

/// The times of retries, as offsets from the first attempt in seconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule(Vec<u32>);

impl Default for Policy {
    /// The defaults of the decisions, §1.
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            timeout: Duration::from_secs(10),
            settle: Duration::from_secs(3),
            disable_after: 10,
            allow_insecure: false,
        }
    }
}

impl Default for Schedule {
    /// After 1, 5 and 15 minutes, 1, 3, 6, 12 and 24 hours: nine attempts with the first (contract, "Delivery rules" 2).
    fn default() -> Self {
        Self(vec![60, 300, 900, 3_600, 10_800, 21_600, 43_200, 86_400])
    }
}

impl Schedule {
    /// A schedule of retries at these offsets from the first attempt, in seconds.
    pub const fn new(offsets: Vec<u32>) -> Self {
        Self(offsets)
    }

    /// Returns the time of the next attempt of a delivery, or `None` if the delivery is given up. It has failed `attempts` times,
    /// first at `first` and last by `now`. `chance`, from 0 to 1, decides how much later than its offset the attempt is. So
    /// deliveries that failed together are not all retried together. An attempt that is already late is not lost: it is due now.
    /// `not_before` postpones the attempt, but at most to the end of the schedule.
    pub fn next(
        &self,
        attempts: u32,
        first: Moment,
        now: Moment,
        not_before: Option<Moment>,
        chance: f64,
    ) -> Option<Moment> {
        let nth = usize::try_from(attempts).ok()?.checked_sub(1)?;
        let offset = f64::from(*self.0.get(nth)?) * 1000.0;
        let late = offset * (1.0 + JITTER * chance.clamp(0.0, 1.0));
        #[expect(clippy::cast_possible_truncation, reason = "offsets are 32 bits of seconds")]
        let due = first.plus_millis(late as i64).max(now);
        Some(not_before.map_or(due, |time| due.max(time.min(self.end(first)))))
    }

    /// Returns the time of the last attempt of a delivery that was first tried at `first`.
    fn end(&self, first: Moment) -> Moment {
        let offset = self.0.last().copied().unwrap_or_default();
        first.plus_millis(i64::from(offset) * 1000)
    }
}

impl Policy {
    /// Returns the time at which an update recorded at `now` is due if no other follows, and the latest time if others follow.
    pub fn settled(&self, now: Moment) -> (Moment, Moment) {
        let settle = i64::try_from(self.settle.as_millis()).unwrap_or(i64::MAX);
        (
            now.plus_millis(settle),
            now.plus_millis(settle.saturating_mul(MAX_SETTLE_TIMES)),
        )
    }

    /// Returns the end of the lease of a delivery that is taken at `now`. The lease has time for an attempt, some waiting before
    /// it and the recording after it. After its end another server takes the delivery.
    pub fn lease(&self, now: Moment) -> Moment {
        now.plus_millis(self.timeout_millis().saturating_mul(3).max(15_000))
    }

    /// Returns `true` if an attempt that begins at `now` is sure to end before the lease.
    pub fn may_begin(&self, now: Moment, lease: Moment) -> bool {
        now.plus_millis(self.timeout_millis().saturating_add(2_000)) < lease
    }

    fn timeout_millis(&self) -> i64 {
        i64::try_from(self.timeout.as_millis()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Moment = Moment::from_epoch_millis(1_000_000);

    fn after(attempts: u32, chance: f64) -> Option<i64> {
        let next = Schedule::default().next(attempts, FIRST, FIRST, None, chance)?;
        Some((next.epoch_millis() - FIRST.epoch_millis()) / 1000)
    }

    #[test]
    fn there_are_nine_attempts_over_a_day() {
        let offsets: Vec<_> = (1..=9).map(|attempts| after(attempts, 0.0)).collect();
        let hour = 3600;
        let expected = [60, 300, 900, hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour];
        assert_eq!(offsets[..8], expected.map(Some));
        assert_eq!(offsets[8], None);
        assert_eq!(after(0, 0.0), None, "nothing was tried yet");
    }

    #[test]
    fn an_attempt_is_up_to_a_tenth_late() {
        assert_eq!(after(2, 1.0), Some(330));
        assert_eq!(after(2, 0.5), Some(315));
    }

    #[test]
    fn a_server_that_was_down_tries_at_once() {
        let now = FIRST.plus_millis(7 * 24 * 3_600_000);
        assert_eq!(Schedule::default().next(3, FIRST, now, None, 0.3), Some(now));
    }

    #[test]
    fn an_endpoint_may_put_an_attempt_off_until_the_schedule_s_end() {
        let due = |millis: i64| {
            let wish = FIRST.plus_millis(millis);
            let next = Schedule::default().next(1, FIRST, FIRST, Some(wish), 0.0);
            next.map(|next| next.epoch_millis() - FIRST.epoch_millis())
        };
        assert_eq!(due(1_000), Some(60_000), "the schedule is later");
        assert_eq!(due(90_000), Some(90_000));
        assert_eq!(due(i64::MAX / 2), Some(86_400_000));
        assert_eq!(due(-5), Some(60_000));
    }

    #[test]
    fn a_lease_outlives_an_attempt() {
        let policy = Policy::default();
        let lease = policy.lease(FIRST);
        assert!(policy.may_begin(FIRST, lease));
        assert!(!policy.may_begin(lease.plus_millis(-11_000), lease));
        assert!(lease <= FIRST.plus_millis(55_000), "taken up again within a minute");
    }
}
