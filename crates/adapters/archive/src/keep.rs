//! The rules by which old backups are kept.

use std::collections::BTreeSet;
use std::str::FromStr;

use chrono::Datelike as _;

use crate::stamp::Stamp;

/// The numbers of days, ISO weeks and months of which the last backup is kept, written `7d,4w,12m`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KeepRules {
    days: usize,
    weeks: usize,
    months: usize,
}

/// The text is no rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be numbers of days, weeks and months, such as 7d,4w,12m, that keep at least one backup")]
pub struct InvalidKeepRules;

impl FromStr for KeepRules {
    type Err = InvalidKeepRules;

    fn from_str(text: &str) -> Result<Self, InvalidKeepRules> {
        let mut rules = Self::default();
        let mut seen = BTreeSet::new();
        for rule in text.split(',').map(str::trim) {
            let unit = rule.chars().next_back().ok_or(InvalidKeepRules)?;
            let number = rule.strip_suffix(unit).unwrap_or_default();
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) || !seen.insert(unit) {
                return Err(InvalidKeepRules);
            }
            let number = number.parse().map_err(|_| InvalidKeepRules)?;
            match unit {
                'd' => rules.days = number,
                'w' => rules.weeks = number,
                'm' => rules.months = number,
                _ => return Err(InvalidKeepRules),
            }
        }
        if rules == Self::default() {
            return Err(InvalidKeepRules);
        }
        Ok(rules)
    }
}

impl KeepRules {
    /// Returns the backups that are kept, of those that are good.
    #[must_use]
    pub fn kept(&self, good: &[Stamp]) -> BTreeSet<Stamp> {
        let mut newest_first = good.to_vec();
        newest_first.sort_unstable_by(|one, other| other.cmp(one));
        let mut kept = BTreeSet::new();
        let mut keep = |number: usize, period: fn(Stamp) -> (i32, u32)| {
            let mut periods = BTreeSet::new();
            for &stamp in &newest_first {
                if periods.len() == number {
                    break;
                }
                if periods.insert(period(stamp)) {
                    kept.insert(stamp);
                }
            }
        };
        keep(self.days, |stamp| (stamp.date().year(), stamp.date().ordinal()));
        keep(self.weeks, |stamp| {
            let week = stamp.date().iso_week();
            (week.year(), week.week())
        });
        keep(self.months, |stamp| (stamp.date().year(), stamp.date().month()));
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(texts: &[&str]) -> Vec<Stamp> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn kept(rules: &str, texts: &[&str]) -> Vec<String> {
        let rules: KeepRules = rules.parse().unwrap();
        rules.kept(&stamps(texts)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_are_numbers_of_periods() {
        assert_eq!(
            "7d,4w,12m".parse(),
            Ok(KeepRules {
                days: 7,
                weeks: 4,
                months: 12
            })
        );
        assert_eq!(" 2m , 1d".parse::<KeepRules>().unwrap().months, 2);
        for text in [
            "", "7", "d", "7x", "-1d", "7d,8d", "7d,", "0d", "0d,0w,0m", "7 d", "7dé",
        ] {
            assert_eq!(text.parse::<KeepRules>(), Err(InvalidKeepRules), "{text}");
        }
    }

    #[test]
    fn the_last_of_each_day_stays() {
        let all = [
            "20261126T030000Z",
            "20261126T040000Z",
            "20261125T030000Z",
            "20261123T030000Z",
        ];
        assert_eq!(kept("2d", &all), ["20261125T030000Z", "20261126T040000Z"]);
        // A day without a backup does not count.
        assert_eq!(
            kept("3d", &all),
            ["20261123T030000Z", "20261125T030000Z", "20261126T040000Z"]
        );
        assert_eq!(kept("9d", &all).len(), 3);
    }

    #[test]
    fn weeks_begin_on_monday_and_belong_to_one_year() {
        // 2027-01-01 is a Friday: its week is that of 2026-12-28.
        let all = [
            "20261227T100000Z",
            "20261228T100000Z",
            "20270101T100000Z",
            "20270104T100000Z",
        ];
        assert_eq!(kept("2w", &all), ["20270101T100000Z", "20270104T100000Z"]);
        assert_eq!(
            kept("3w", &all),
            ["20261227T100000Z", "20270101T100000Z", "20270104T100000Z"]
        );
    }

    #[test]
    fn the_union_of_all_rules_stays() {
        let all = [
            "20260901T030000Z",
            "20260930T030000Z",
            "20261031T030000Z",
            "20261124T030000Z",
            "20261125T030000Z",
        ];
        assert_eq!(
            kept("1d,3m", &all),
            ["20260930T030000Z", "20261031T030000Z", "20261125T030000Z"]
        );
        assert_eq!(kept("2d,1m", &all), ["20261124T030000Z", "20261125T030000Z"]);
    }
}
