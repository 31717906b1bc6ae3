//! Time zones, in which times are shown to people.

use std::{collections::HashMap, fmt, str::FromStr, sync::LazyLock};

use chrono::{DateTime, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset as _, TimeZone as _};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::{Country, Date, Timestamp};

/// A time zone of the IANA database, written as its name there, such as `Europe/London`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TimeZone(Tz);

/// The zones of [`TimeZone::of_country`].
static OF_COUNTRY: LazyLock<HashMap<Country, TimeZone>> = LazyLock::new(|| {
    let lines = include_str!("../data/time_zones.txt").lines();
    lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(country, zone)| Some((country.parse().ok()?, zone.parse().ok()?)))
        .collect()
});

impl TimeZone {
    /// Coordinated Universal Time.
    pub const UTC: Self = Self(Tz::UTC);

    /// The zone of a country. UTC if the country has several (decisions §10.0).
    pub fn of_country(country: Country) -> Self {
        OF_COUNTRY.get(&country).copied().unwrap_or(Self::UTC)
    }

    /// The day of a moment in this zone.
    pub fn date(self, at: Timestamp) -> Date {
        self.at(at).map_or_else(|| at.date(), |local| local.date_naive().into())
    }

    /// The seconds by which the clocks of this zone are ahead of UTC at a moment.
    pub fn seconds_ahead(self, at: Timestamp) -> i64 {
        let local = self.at(at);
        local.map_or(0, |local| i64::from(local.offset().fix().local_minus_utc()))
    }

    /// A moment as it is shown to people in this zone: `2026-07-01 17:30 BST`.
    pub fn show(self, at: Timestamp) -> String {
        match self.at(at) {
            Some(local) => local.format("%Y-%m-%d %H:%M %Z").to_string(),
            None => at.date().to_string(),
        }
    }

    /// The abbreviation of the zone at that minute of that day, such as `GMT` or `BST`. In an hour that occurs twice it is that
    /// of the first time; in an hour that is skipped, that of the time after it.
    pub fn abbreviation(self, day: Date, minute_of_day: u32) -> String {
        let time =
            NaiveTime::from_num_seconds_from_midnight_opt(minute_of_day.saturating_mul(60), 0).unwrap_or_default();
        let local = NaiveDateTime::new(NaiveDate::from(day), time);
        let offset = match self.0.offset_from_local_datetime(&local) {
            MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(offset, _) => offset,
            // Clocks go forward by three hours at most.
            MappedLocalTime::None => self.0.offset_from_utc_datetime(&(local + chrono::TimeDelta::hours(3))),
        };
        offset.to_string()
    }

    fn at(self, at: Timestamp) -> Option<DateTime<Tz>> {
        DateTime::from_timestamp(at.epoch_seconds(), 0).map(|moment| moment.with_timezone(&self.0))
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl FromStr for TimeZone {
    type Err = InvalidTimeZone;

    fn from_str(name: &str) -> Result<Self, InvalidTimeZone> {
        name.parse().map(Self).map_err(|_| InvalidTimeZone)
    }
}

impl From<TimeZone> for String {
    fn from(zone: TimeZone) -> Self {
        zone.to_string()
    }
}

impl TryFrom<String> for TimeZone {
    type Error = InvalidTimeZone;

    fn try_from(name: String) -> Result<Self, InvalidTimeZone> {
        name.parse()
    }
}

/// The text is not the name of a time zone of the IANA database.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be the name of a time zone, such as Europe/London")]
pub struct InvalidTimeZone;

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> TimeZone {
        name.parse().unwrap()
    }

    #[test]
    fn a_country_has_the_zone_of_all_its_clocks() {
        let of = |country: &str| TimeZone::of_country(country.parse().unwrap()).to_string();
        assert_eq!(of("GB"), "Europe/London");
        assert_eq!(of("DE"), "Europe/Berlin");
        assert_eq!(of("FR"), "Europe/Paris");
        assert_eq!(
            (of("US"), of("AU"), of("PT")),
            ("UTC".into(), "UTC".into(), "UTC".into())
        );
    }

    #[test]
    fn every_line_of_the_countries_is_understood() {
        let lines = include_str!("../data/time_zones.txt").lines();
        assert_eq!(OF_COUNTRY.len(), lines.filter(|line| !line.starts_with('#')).count());
    }

    #[test]
    fn times_are_shown_with_the_abbreviation_of_their_day() {
        let london = zone("Europe/London");
        let at = Timestamp::from_epoch_seconds;
        assert_eq!(london.show(at(1_767_225_600)), "2026-01-01 00:00 GMT");
        assert_eq!(london.show(at(1_782_923_400)), "2026-07-01 17:30 BST");
        assert_eq!(london.date(at(1_782_862_200)).to_string(), "2026-07-01");
        assert_eq!(TimeZone::UTC.show(at(1_782_862_200)), "2026-06-30 23:30 UTC");
    }

    #[test]
    fn both_nights_on_which_clocks_change_have_abbreviations() {
        let london = zone("Europe/London");
        let on = |day: &str, minute| london.abbreviation(day.parse().unwrap(), minute);
        assert_eq!(
            (on("2026-03-29", 59), on("2026-03-29", 90), on("2026-03-29", 120)),
            ("GMT".into(), "BST".into(), "BST".into())
        );
        assert_eq!(
            (on("2026-10-25", 59), on("2026-10-25", 90), on("2026-10-25", 120)),
            ("BST".into(), "BST".into(), "GMT".into())
        );
    }

    #[test]
    fn clocks_are_ahead_by_what_the_season_says() {
        let at = |zone: TimeZone, seconds| zone.seconds_ahead(Timestamp::from_epoch_seconds(seconds));
        // 2026-03-29T01:00:00Z, and the second before.
        for (seconds, london, berlin) in [(1_774_745_999, 0, 3_600), (1_774_746_000, 3_600, 7_200)] {
            assert_eq!(at(zone("Europe/London"), seconds), london);
            assert_eq!(at(zone("Europe/Berlin"), seconds), berlin);
        }
        assert_eq!(at(TimeZone::UTC, i64::MAX), 0);
    }

    #[test]
    fn only_names_of_the_database_are_taken() {
        for name in ["", "london", "Europe/london", "GMT+25", "Europe/London "] {
            assert_eq!(name.parse::<TimeZone>(), Err(InvalidTimeZone), "{name:?}");
        }
    }
}
