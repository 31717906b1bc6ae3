//! Moments and days, and the port through which a rule learns the current time.

use std::{fmt, str::FromStr};

use chrono::{Datelike, Days, Months, NaiveDate};
use serde::{Deserialize, Serialize};

const SECONDS_PER_DAY: i64 = 86_400;

/// A moment, in whole seconds since 1970-01-01T00:00:00Z (contract, "Resources and their fields").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The longest time for which stamps repeat the last one while a clock catches up with them, in seconds.
    pub const MAX_REPEATED_SECONDS: i64 = 5 * 60;

    /// The moment `seconds` after the epoch; a negative number is before it.
    pub const fn from_epoch_seconds(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Seconds since the epoch.
    pub const fn epoch_seconds(self) -> i64 {
        self.0
    }

    /// The moment `seconds` later, at most the last representable one.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    /// Returns the stamp of a record made at this moment, after one with the stamp `last`. The stamp is not earlier than `last`,
    /// so that stamps rise with numbers. If the clock was put back by more than the clocks of servers on one database differ, the
    /// stamp follows the clock.
    #[must_use]
    pub fn stamp_after(self, last: Self) -> Self {
        if self < last.plus_seconds(-Self::MAX_REPEATED_SECONDS) {
            self
        } else {
            self.max(last)
        }
    }

    /// The day of this moment in UTC. Moments beyond the calendar count as its last day.
    pub fn date(self) -> Date {
        chrono::DateTime::from_timestamp(self.0, 0).map_or(Date(NaiveDate::MAX), |moment| Date(moment.date_naive()))
    }
}

/// A moment to the millisecond, for times less than a second away.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Moment(i64);

impl Moment {
    /// The moment `millis` after the epoch; a negative number is before it.
    pub const fn from_epoch_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn epoch_millis(self) -> i64 {
        self.0
    }

    /// The second that contains the moment.
    pub const fn timestamp(self) -> Timestamp {
        Timestamp(self.0.div_euclid(1000))
    }

    /// The moment `millis` later, at most the last representable one.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

impl From<Timestamp> for Moment {
    fn from(second: Timestamp) -> Self {
        Self(second.0.saturating_mul(1000))
    }
}

/// A calendar day, written `YYYY-MM-DD`, of a year from 0001 to 9999.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Date(NaiveDate);

impl Date {
    /// The first moment of the day in UTC.
    pub fn midnight(self) -> Timestamp {
        Timestamp(self.0.signed_duration_since(NaiveDate::default()).num_days() * SECONDS_PER_DAY)
    }

    /// Checks that the day can be one on which something has happened: it is at most tomorrow in UTC, which is today somewhere
    /// (decisions §3).
    ///
    /// # Errors
    /// A message that says what the date must be.
    pub fn validate_past(self, now: Timestamp) -> Result<(), String> {
        let tomorrow = now.plus_seconds(SECONDS_PER_DAY).date();
        if self <= tomorrow {
            Ok(())
        } else {
            Err(format!("must be a date up to {tomorrow}"))
        }
    }

    /// The calendar year.
    pub fn year(self) -> i32 {
        self.0.year()
    }

    /// The day `days` later.
    #[must_use]
    pub fn days_later(self, days: u32) -> Self {
        Self(
            self.0
                .checked_add_days(Days::new(days.into()))
                .unwrap_or(NaiveDate::MAX),
        )
    }

    /// The same day `years` later. 29 February becomes the 28th in a year that lacks it.
    #[must_use]
    pub fn years_later(self, years: u32) -> Self {
        let later = self.0.checked_add_months(Months::new(years.saturating_mul(12)));
        Self(later.unwrap_or(NaiveDate::MAX))
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.format("%Y-%m-%d"))
    }
}

impl From<NaiveDate> for Date {
    fn from(date: NaiveDate) -> Self {
        Self(date)
    }
}

impl From<Date> for NaiveDate {
    fn from(date: Date) -> Self {
        date.0
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.to_string()
    }
}

impl TryFrom<String> for Date {
    type Error = InvalidDate;

    fn try_from(text: String) -> Result<Self, InvalidDate> {
        text.parse()
    }
}

impl FromStr for Date {
    type Err = InvalidDate;

    fn from_str(text: &str) -> Result<Self, InvalidDate> {
        let shape = text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
            Ok(date) if shape && date.year() > 0 => Ok(Self(date)),
            _ => Err(InvalidDate),
        }
    }
}

/// The text is not a day of the calendar in the form `YYYY-MM-DD`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a date in the form YYYY-MM-DD")]
pub struct InvalidDate;

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Date {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{KnownFormat, ObjectBuilder, SchemaFormat, schema::Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Date {}

/// The current time, and the only source of it for every rule.
pub trait Clock: Send + Sync {
    /// The current second.
    fn now(&self) -> Timestamp;

    /// The current moment, as exactly as it is known.
    fn moment(&self) -> Moment {
        self.now().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_follows_a_clock_that_was_put_back_far() {
        let at = Timestamp::from_epoch_seconds;
        for (now, last, stamp) in [
            (7, 5, 7),
            (5, 5, 5),
            (1_000, 1_300, 1_300),
            (1_000, 1_301, 1_000),
            (0, i64::MAX, 0),
        ] {
            assert_eq!(at(now).stamp_after(at(last)), at(stamp), "{now} after {last}");
        }
    }

    #[test]
    fn a_date_is_a_day_of_the_calendar() {
        assert_eq!("2024-02-29".parse::<Date>().unwrap().to_string(), "2024-02-29");
        for text in [
            "2023-02-29",
            "2024-2-9",
            "24-02-09",
            "2024/02/09",
            "",
            "2024-13-01",
            "0000-01-01",
            "+2024-01-1",
            "２024-01-1",
        ] {
            assert_eq!(text.parse::<Date>(), Err(InvalidDate), "{text:?}");
        }
    }

    #[test]
    fn a_day_begins_at_midnight_in_utc() {
        let date: Date = "1970-01-02".parse().unwrap();
        assert_eq!(date.midnight().epoch_seconds(), 86_400);
        assert_eq!(date.midnight().plus_seconds(86_399).date(), date);
        assert_eq!(Timestamp::from_epoch_seconds(-1).date().to_string(), "1969-12-31");
    }

    #[test]
    fn years_are_those_of_the_calendar() {
        let date = |text: &str| text.parse::<Date>().unwrap();
        assert_eq!(date("2026-11-22").years_later(10), date("2036-11-22"));
        assert_eq!(date("2024-02-29").years_later(1), date("2025-02-28"));
        assert!(date("2024-02-29").years_later(u32::MAX) > date("9999-12-31"));
    }
}
