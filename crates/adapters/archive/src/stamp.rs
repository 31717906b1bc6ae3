//! Names of backups.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use forecourt_kernel::Timestamp;

const FORM: &str = "%Y%m%dT%H%M%SZ";

/// The name of a backup: the second in UTC at which it was begun, such as `20261126T033100Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Stamp(NaiveDateTime);

/// The text names no backup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a backup is named like 20261126T033100Z")]
pub struct InvalidStamp;

impl Stamp {
    /// The name of a backup of that time.
    #[must_use]
    pub fn new(at: Timestamp) -> Self {
        let at = DateTime::from_timestamp(at.epoch_seconds(), 0).unwrap_or_default();
        Self(at.naive_utc())
    }

    /// Returns its time.
    #[must_use]
    pub fn time(self) -> Timestamp {
        Timestamp::from_epoch_seconds(self.0.and_utc().timestamp())
    }

    pub(crate) fn date(self) -> NaiveDate {
        self.0.date()
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.format(FORM))
    }
}

impl FromStr for Stamp {
    type Err = InvalidStamp;

    fn from_str(text: &str) -> Result<Self, InvalidStamp> {
        let stamp = NaiveDateTime::parse_from_str(text, FORM)
            .map(Self)
            .map_err(|_| InvalidStamp)?;
        if stamp.to_string() == text {
            Ok(stamp)
        } else {
            Err(InvalidStamp)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_a_second_in_utc() {
        let stamp = Stamp::new(Timestamp::from_epoch_seconds(1_795_663_860));
        assert_eq!(stamp.to_string(), "20261126T033100Z");
        assert_eq!("20261126T033100Z".parse(), Ok(stamp));
        assert_eq!(stamp.time().epoch_seconds(), 1_795_663_860);
        for text in [
            "",
            "files",
            "20261126T033100",
            "2026-11-26",
            "20261326T033100Z",
            "20261126T33100Z",
        ] {
            assert_eq!(text.parse::<Stamp>(), Err(InvalidStamp), "{text}");
        }
    }
}
