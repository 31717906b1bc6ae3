//! Opening hours, day by day of the week.

use std::{fmt, str::FromStr};

use forecourt_kernel::Date;
use serde::{Deserialize, Serialize};

const MINUTES_PER_DAY: u16 = 24 * 60;

/// A time of the day on the clock, written `HH:MM`, from `00:00` to `24:00`, the end of the day.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TimeOfDay(u16);

impl TimeOfDay {
    /// The beginning of the day.
    pub const START: Self = Self(0);
    /// The end of the day.
    pub const END: Self = Self(MINUTES_PER_DAY);

    /// The minutes since `00:00`, 1,440 at the end of the day.
    pub const fn minutes(self) -> u16 {
        self.0
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl FromStr for TimeOfDay {
    type Err = InvalidTimeOfDay;

    fn from_str(text: &str) -> Result<Self, InvalidTimeOfDay> {
        let number = |digits: &str| {
            let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse::<u16>().ok()).flatten()
        };
        let (hours, minutes) = text.split_once(':').ok_or(InvalidTimeOfDay)?;
        match (number(hours), number(minutes)) {
            (Some(hours @ 0..24), Some(minutes @ 0..60)) => Ok(Self(hours * 60 + minutes)),
            (Some(24), Some(0)) => Ok(Self::END),
            _ => Err(InvalidTimeOfDay),
        }
    }
}

impl From<TimeOfDay> for String {
    fn from(time: TimeOfDay) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = InvalidTimeOfDay;

    fn try_from(text: String) -> Result<Self, InvalidTimeOfDay> {
        text.parse()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for TimeOfDay {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some("^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"))
            .description(Some("A time of the day, `HH:MM`, from 00:00 to 24:00."))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for TimeOfDay {}

/// The text is not a time of the day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a time of the day in the form HH:MM, from 00:00 to 24:00")]
pub struct InvalidTimeOfDay;

/// A part of a day, from its first time up to its last one, written as an array of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OpenSpan(pub TimeOfDay, pub TimeOfDay);

impl OpenSpan {
    /// The time at which it begins.
    pub const fn opens(self) -> TimeOfDay {
        self.0
    }

    /// The time at which it ends.
    pub const fn closes(self) -> TimeOfDay {
        self.1
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for OpenSpan {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::schema::ArrayBuilder::new()
            .items(TimeOfDay::schema())
            .min_items(Some(2))
            .max_items(Some(2))
            .description(Some("When it opens, and when it closes."))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for OpenSpan {}

/// A day of the week.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each variant's meaning is its name")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    /// All days, Monday first.
    pub const ALL: [Self; 7] = [
        Self::Monday,
        Self::Tuesday,
        Self::Wednesday,
        Self::Thursday,
        Self::Friday,
        Self::Saturday,
        Self::Sunday,
    ];

    /// The name in opening hours.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Monday => "mon",
            Self::Tuesday => "tue",
            Self::Wednesday => "wed",
            Self::Thursday => "thu",
            Self::Friday => "fri",
            Self::Saturday => "sat",
            Self::Sunday => "sun",
        }
    }
}

impl From<Date> for Weekday {
    fn from(date: Date) -> Self {
        const SECONDS_PER_DAY: i64 = 86_400;
        let days = date.midnight().epoch_seconds().div_euclid(SECONDS_PER_DAY);
        // 1970-01-01 was a Thursday.
        match (days + 3).rem_euclid(7) {
            0 => Self::Monday,
            1 => Self::Tuesday,
            2 => Self::Wednesday,
            3 => Self::Thursday,
            4 => Self::Friday,
            5 => Self::Saturday,
            _ => Self::Sunday,
        }
    }
}

/// The hours of a week. A day without spans is closed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct OpeningHours {
    /// Monday.
    pub mon: Vec<OpenSpan>,
    /// Tuesday.
    pub tue: Vec<OpenSpan>,
    /// Wednesday.
    pub wed: Vec<OpenSpan>,
    /// Thursday.
    pub thu: Vec<OpenSpan>,
    /// Friday.
    pub fri: Vec<OpenSpan>,
    /// Saturday.
    pub sat: Vec<OpenSpan>,
    /// Sunday.
    pub sun: Vec<OpenSpan>,
}

impl OpeningHours {
    /// Returns the spans of a day as they were declared.
    fn declared(&self, day: Weekday) -> &[OpenSpan] {
        match day {
            Weekday::Monday => &self.mon,
            Weekday::Tuesday => &self.tue,
            Weekday::Wednesday => &self.wed,
            Weekday::Thursday => &self.thu,
            Weekday::Friday => &self.fri,
            Weekday::Saturday => &self.sat,
            Weekday::Sunday => &self.sun,
        }
    }

    /// Returns the spans of a day, the earliest first. Spans that touch are one.
    pub fn on(&self, day: Weekday) -> Vec<OpenSpan> {
        let mut spans = self.declared(day).to_vec();
        spans.sort_by_key(|span| span.opens());
        let mut joined: Vec<OpenSpan> = Vec::with_capacity(spans.len());
        for span in spans {
            match joined.last_mut() {
                Some(last) if last.closes() >= span.opens() => last.1 = last.closes().max(span.closes()),
                _ => joined.push(span),
            }
        }
        joined
    }

    /// Returns the faults, each with its place below the hours, such as `mon.0`.
    pub fn faults(&self) -> Vec<(String, &'static str)> {
        let mut faults = Vec::new();
        for day in Weekday::ALL {
            let spans = self.declared(day);
            for (at, span) in spans.iter().enumerate() {
                let fault = if span.opens() >= span.closes() {
                    "must end after it begins; hours over midnight are two spans"
                } else if spans.iter().take(at).any(|earlier| overlap(*earlier, *span)) {
                    "must not overlap another span of the day"
                } else {
                    continue;
                };
                faults.push((format!("{}.{at}", day.as_str()), fault));
            }
        }
        faults
    }
}

fn overlap(one: OpenSpan, other: OpenSpan) -> bool {
    one.opens() < other.closes() && other.opens() < one.closes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(json: &str) -> OpeningHours {
        serde_json::from_str(json).unwrap()
    }

    fn shown(spans: &[OpenSpan]) -> Vec<String> {
        let show = |span: &OpenSpan| format!("{}-{}", span.opens(), span.closes());
        spans.iter().map(show).collect()
    }

    #[test]
    fn a_time_is_written_with_four_digits() {
        for (text, minutes) in [("00:00", 0), ("09:05", 545), ("23:59", 1_439), ("24:00", 1_440)] {
            let time: TimeOfDay = text.parse().unwrap();
            assert_eq!((time.minutes(), time.to_string().as_str()), (minutes, text));
        }
        for text in [
            "", "9:00", "09:60", "24:01", "25:00", "09.00", "+9:00", "09:00 ", "09:000", "９:00",
        ] {
            assert_eq!(text.parse::<TimeOfDay>(), Err(InvalidTimeOfDay), "{text:?}");
        }
    }

    #[test]
    fn a_day_has_its_weekday() {
        for (date, day) in [
            ("1970-01-01", Weekday::Thursday),
            ("2026-11-28", Weekday::Saturday),
            ("2024-02-29", Weekday::Thursday),
            ("1969-12-28", Weekday::Sunday),
        ] {
            assert_eq!(Weekday::from(date.parse::<Date>().unwrap()), day, "{date}");
        }
    }

    #[test]
    fn spans_that_touch_are_one() {
        let week = hours(
            r#"{"mon": [["13:00", "18:00"], ["09:00", "13:00"]], "tue": [["09:00", "12:00"], ["13:00", "24:00"]]}"#,
        );
        assert_eq!(week.faults(), []);
        assert_eq!(shown(&week.on(Weekday::Monday)), ["09:00-18:00"]);
        assert_eq!(shown(&week.on(Weekday::Tuesday)), ["09:00-12:00", "13:00-24:00"]);
        assert!(week.on(Weekday::Sunday).is_empty(), "a day that is left out is closed");
    }

    #[test]
    fn spans_run_forward_and_apart() {
        let week = hours(
            r#"{"mon": [["09:00", "12:00"], ["11:59", "13:00"]], "sat": [["22:00", "02:00"]], "sun": [["09:00", "09:00"]]}"#,
        );
        let places: Vec<_> = week.faults().into_iter().map(|(place, _)| place).collect();
        assert_eq!(places, ["mon.1", "sat.0", "sun.0"]);
    }

    #[test]
    fn a_span_has_two_times() {
        for json in [
            r#"{"mon": [["09:00"]]}"#,
            r#"{"mon": [["09:00", "12:00", "13:00"]]}"#,
            r#"{"mon": ["09:00"]}"#,
            r#"{"monday": []}"#,
        ] {
            assert!(serde_json::from_str::<OpeningHours>(json).is_err(), "{json}");
        }
    }
}
