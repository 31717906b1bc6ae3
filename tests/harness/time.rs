//! The clock, and waiting for events.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The pause of [`eventually`] between two attempts.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Returns the time in epoch seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "the tests stand outside of the program, and its Clock port in it"
)]
pub fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the clock is past 1970");
    i64::try_from(since.as_secs()).expect("the clock is before the end of time")
}

/// Returns the day in UTC that is `days` after today, as YYYY-MM-DD.
pub fn today(days: i64) -> String {
    // The civil calendar from a count of days, in eras of 400 years that begin on the first of March.
    let day = now() / 86_400 + days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns how often a test repeats an action whose result depends on the moment: this number of times, or a multiple of it
/// (`FORECOURT_TEST_REPEAT`).
pub fn repeated(times: usize) -> usize {
    let factor = std::env::var("FORECOURT_TEST_REPEAT").ok();
    times * factor.map_or(1, |factor| factor.parse().expect("FORECOURT_TEST_REPEAT is a number"))
}

/// Returns the time for which a proof, or each part of it, searches for a fault: this time in the suite, or the time that
/// `cargo xtask prove` sets.
pub fn proof_time(in_suite: Duration) -> Duration {
    let seconds = std::env::var("FORECOURT_PROVE_SECONDS").ok();
    seconds.map_or(in_suite, |seconds| {
        Duration::from_secs(seconds.parse().expect("FORECOURT_PROVE_SECONDS is a number"))
    })
}

/// Repeats `attempt` until it returns a value. Fails the test, with the last error, if that takes longer than `within`.
pub async fn eventually<T, E: std::fmt::Debug>(
    what: &str,
    within: Duration,
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let deadline = Instant::now() + within;
    loop {
        let late = Instant::now() >= deadline;
        match attempt().await {
            Ok(value) => return value,
            Err(seen) if late => panic!("{what}: not within {within:?}; last seen: {seen:?}"),
            Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

/// Waits for a condition like [`eventually`].
pub async fn wait_for(what: &str, within: Duration, mut condition: impl AsyncFnMut() -> bool) {
    eventually(what, within, async || condition().await.then_some(()).ok_or("not yet")).await;
}

/// Waits until the clock shows another second, so that the next event has a timestamp of its own.
pub async fn next_second() {
    let start = now();
    wait_for("the clock ticks", Duration::from_secs(5), async || now() > start).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tomorrow_follows_today() {
        let days = [-1, 0, 1].map(today);
        assert!(days.is_sorted(), "{days:?}");
        assert_eq!(today(-(now() / 86_400)), "1970-01-01");
        assert_eq!(today(-(now() / 86_400) + 19_782), "2024-02-29");
        assert_eq!(today(-(now() / 86_400) + 19_783), "2024-03-01");
    }
}
