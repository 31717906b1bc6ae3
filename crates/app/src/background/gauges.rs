//! Metrics of background work for Prometheus.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use forecourt_kernel::{BoxError, Clock, Timestamp};
use metrics::Unit;

use super::job::Round;
use crate::report::TaskState;

const LAG: &str = "forecourt_background_lag_seconds";
const LAST_ROUND: &str = "forecourt_background_last_round_timestamp_seconds";
const FAILURES: &str = "forecourt_background_failures_total";
/// The label is not `job`, which Prometheus sets itself.
const LABEL: &str = "task";

/// Registers the descriptions of the metrics.
pub(super) fn describe() {
    metrics::describe_gauge!(
        LAG,
        Unit::Seconds,
        "For how long at the most due work has waited, by task; 0 if none is due"
    );
    metrics::describe_gauge!(
        LAST_ROUND,
        Unit::Seconds,
        "When the latest round ended that did not fail, in epoch seconds, by task"
    );
    metrics::describe_counter!(FAILURES, "Rounds that failed, by task");
}

/// The states of all jobs of this server. Clones share them.
#[derive(Clone, Default)]
pub(super) struct TaskLog(Arc<Mutex<BTreeMap<&'static str, TaskState>>>);

impl TaskLog {
    /// Returns the states, by the names of the jobs.
    pub(super) fn states(&self) -> Vec<TaskState> {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.values().cloned().collect()
    }

    fn note(&self, job: &'static str, change: impl FnOnce(&mut TaskState)) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.entry(job).or_insert_with(|| TaskState {
            name: job.to_owned(),
            interval: 0,
            last_round: 0,
            lag: 0,
        });
        change(state);
    }
}

/// The metrics of one job.
pub(super) struct Gauges {
    job: &'static str,
    log: TaskLog,
    clock: Arc<dyn Clock>,
    /// The time at which nothing was left to do. All work that is due now became due since then.
    caught_up: Timestamp,
}

impl Gauges {
    /// Makes the metrics of a job that has nothing to do yet, and rests for `interval` then.
    pub(super) fn new(job: &'static str, interval: Duration, clock: Arc<dyn Clock>, log: TaskLog) -> Self {
        // Registered from the start, so that the first failure shows as an increase.
        metrics::counter!(FAILURES, LABEL => job).increment(0);
        let caught_up = clock.now();
        log.note(job, |state| {
            state.interval = interval.as_secs();
            // A job that is started again after a panic has not done a round.
            if state.last_round == 0 {
                state.last_round = caught_up.epoch_seconds();
            }
        });
        Self {
            job,
            log,
            clock,
            caught_up,
        }
    }

    /// Records a round that has just ended.
    pub(super) fn record(&mut self, outcome: &Result<Round, BoxError>) {
        let now = self.clock.now();
        let lag = self.lag_after(outcome, now);
        metrics::gauge!(LAG, LABEL => self.job).set(seconds(lag));
        self.log.note(self.job, |state| {
            state.lag = lag;
            if outcome.is_ok() {
                state.last_round = now.epoch_seconds();
            }
        });
        match outcome {
            Ok(_) => metrics::gauge!(LAST_ROUND, LABEL => self.job).set(seconds(now.epoch_seconds())),
            Err(_) => metrics::counter!(FAILURES, LABEL => self.job).increment(1),
        }
    }

    fn lag_after(&mut self, outcome: &Result<Round, BoxError>, now: Timestamp) -> i64 {
        if matches!(outcome, Ok(Round::Done)) {
            self.caught_up = now;
        }
        now.epoch_seconds() - self.caught_up.epoch_seconds()
    }
}

/// Prometheus uses floating-point numbers, in which whole seconds are exact for 285 million years.
fn seconds(whole: i64) -> f64 {
    whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::clock_at;

    #[test]
    fn lag_grows_until_nothing_is_left() {
        let clock = clock_at(100);
        let log = TaskLog::default();
        let mut gauges = Gauges::new("test", Duration::from_secs(1), Arc::new(clock.clone()), log);
        let mut after = |seconds, outcome: Result<Round, BoxError>| {
            clock.advance(seconds);
            gauges.lag_after(&outcome, clock.now())
        };
        assert_eq!(after(5, Ok(Round::More)), 5);
        assert_eq!(after(5, Err("no".into())), 10);
        assert_eq!(after(5, Ok(Round::Done)), 0);
        assert_eq!(after(1, Ok(Round::More)), 1);
    }
}
