//! Days, and calculation with them.

use chrono::{DateTime, Months, NaiveDate, NaiveTime, TimeDelta};
use forecourt_kernel::{Date, Timestamp};

/// Returns the day of a moment.
pub(super) fn day_of(moment: Timestamp) -> NaiveDate {
    DateTime::from_timestamp(moment.epoch_seconds(), 0).map_or(NaiveDate::MAX, |moment| moment.date_naive())
}

/// Converts a day to the form in records.
pub(super) fn date(day: NaiveDate) -> Date {
    moment(day).date()
}

/// Returns the first moment of a day.
pub(super) fn moment(day: NaiveDate) -> Timestamp {
    Timestamp::from_epoch_seconds(day.and_time(NaiveTime::MIN).and_utc().timestamp())
}

/// Returns the day `days` later.
pub(super) fn days_after(day: NaiveDate, days: i64) -> NaiveDate {
    day.checked_add_signed(TimeDelta::days(days)).unwrap_or(day)
}

/// Returns the same day `years` later.
pub(super) fn years_after(day: NaiveDate, years: u32) -> NaiveDate {
    day.checked_add_months(Months::new(12 * years)).unwrap_or(day)
}

/// Returns the number of days between two days; `from` must not be the later one.
pub(super) fn days_between(from: NaiveDate, to: NaiveDate) -> u32 {
    u32::try_from(to.signed_duration_since(from).num_days()).unwrap_or(0)
}
