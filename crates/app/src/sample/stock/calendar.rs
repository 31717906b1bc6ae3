//! Days, and steps between them.

use chrono::{DateTime, Months, NaiveDate, NaiveTime, TimeDelta};
use forecourt_kernel::{Date, Timestamp};

/// The day that a moment falls on.
pub(super) fn day_of(moment: Timestamp) -> NaiveDate {
    DateTime::from_timestamp(moment.epoch_seconds(), 0).map_or(NaiveDate::MAX, |moment| moment.date_naive())
}

/// A day as records have it.
pub(super) fn date(day: NaiveDate) -> Date {
    moment(day).date()
}

/// The first moment of a day.
pub(super) fn moment(day: NaiveDate) -> Timestamp {
    Timestamp::from_epoch_seconds(day.and_time(NaiveTime::MIN).and_utc().timestamp())
}

/// The day so many days later.
pub(super) fn days_after(day: NaiveDate, days: i64) -> NaiveDate {
    day.checked_add_signed(TimeDelta::days(days)).unwrap_or(day)
}

/// The same day so many years later.
pub(super) fn years_after(day: NaiveDate, years: u32) -> NaiveDate {
    day.checked_add_months(Months::new(12 * years)).unwrap_or(day)
}

/// How many days lie between two days, of which `from` is not the later one.
pub(super) fn days_between(from: NaiveDate, to: NaiveDate) -> u32 {
    u32::try_from(to.signed_duration_since(from).num_days()).unwrap_or(0)
}
