//! Numbering plans.
//!
//! They are data, which `cargo xtask codegen` takes from the crate `phonenumber`. That crate itself spends 60 ms on them when the first
//! number is read after a start, and 5 MB for good: it prepares the patterns of all countries. Here a pattern is prepared
//! when a number of its country comes up.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;
use serde::Deserialize;

/// By country code; of those that share one, the main one comes first.
static PLANS: LazyLock<Vec<Plan>> =
    LazyLock::new(|| serde_json::from_str(include_str!("plans.json")).unwrap_or_default());

/// The numbering plan of a country, or of none, as satellites have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// ISO 3166, two letters; `001` for one that is no country's.
    country: String,
    /// What is dialled from abroad before the number.
    pub(super) code: u16,
    /// What is dialled before the code of another country.
    international_prefix: Option<Pattern>,
    /// What is dialled before the number from within the country.
    pub(super) national_prefix: Option<String>,
    /// The same where it is not always the same, or more than a prefix.
    prefix: Option<Pattern>,
    /// What takes the place of that.
    transform: Option<String>,
    /// A number without any of these.
    number: Pattern,
    /// How many digits such numbers have.
    lengths: Vec<usize>,
}

impl Plan {
    /// The plan of the country of this code in ISO 3166.
    pub(super) fn of_country(country: &str) -> Option<&'static Self> {
        PLANS.iter().find(|plan| plan.country == country)
    }

    /// The plans that share the country code, the main one first.
    pub(super) fn of_code(code: u16) -> &'static [Self] {
        let first = PLANS.partition_point(|plan| plan.code < code);
        let end = PLANS.partition_point(|plan| plan.code <= code);
        PLANS.get(first..end).unwrap_or_default()
    }

    /// What follows the digits by which one dials abroad; `None` if the number does not begin with them.
    pub(super) fn behind_international_prefix<'a>(&self, dialled: &'a str) -> Option<&'a str> {
        let prefix = self.international_prefix.as_ref()?.regex()?.find(dialled)?;
        (prefix.start() == 0).then_some(&dialled[prefix.end()..])
    }

    pub(super) fn without_national_prefix(&self, digits: &str) -> Option<String> {
        let Some(prefix) = &self.prefix else {
            return digits.strip_prefix(self.national_prefix.as_deref()?).map(str::to_owned);
        };
        let prefix = prefix.regex()?;
        let found = prefix.captures(digits)?;
        let whole = found.get(0).filter(|whole| whole.start() == 0)?;
        let has_last_group = found.len() > 1 && found.get(found.len() - 1).is_some();
        // Where a plan has a rule, the prefix is more than a prefix: it takes part of the number along.
        match self.transform.as_deref().filter(|_| has_last_group) {
            Some(rule) => Some(prefix.replace(digits, rule).into_owned()),
            None => Some(digits[whole.end()..].to_owned()),
        }
    }

    /// Whether the plan's pattern describes the whole number.
    pub(super) fn describes(&self, digits: &str) -> bool {
        self.found(digits) == Some(digits.len()) && self.lengths.contains(&digits.len())
    }

    /// Whether the plan has numbers that begin like this and are as long. Numbers kept for fiction and tests are among them.
    pub(super) fn allows(&self, digits: &str) -> bool {
        self.lengths.contains(&digits.len()) && self.found(digits).is_some()
    }

    /// Up to where the pattern describes the number, from its beginning.
    fn found(&self, digits: &str) -> Option<usize> {
        let found = self.number.regex()?.find(digits)?;
        (found.start() == 0).then_some(found.end())
    }
}

/// A regular expression, prepared when it is first used.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
struct Pattern {
    text: String,
    prepared: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn regex(&self) -> Option<&Regex> {
        self.prepared.get_or_init(|| Regex::new(&self.text).ok()).as_ref()
    }
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        let prepared = OnceLock::new();
        Self { text, prepared }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_is_read_and_each_of_its_patterns_can_be_prepared() {
        assert!(PLANS.len() > 200, "{}", PLANS.len());
        for plan in &*PLANS {
            let patterns = [&plan.international_prefix, &plan.prefix].into_iter().flatten();
            for pattern in patterns.chain([&plan.number]) {
                assert!(pattern.regex().is_some(), "{pattern:?} of {}", plan.country);
            }
            assert!(!plan.lengths.is_empty(), "{}", plan.country);
        }
    }

    #[test]
    fn plans_that_share_a_code_begin_with_the_main_one() {
        let countries = |code| {
            let plans = Plan::of_code(code).iter();
            plans.map(|plan| plan.country.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(countries(44), ["GB", "GG", "IM", "JE"]);
        assert_eq!(countries(1)[0], "US");
        assert!(countries(999).is_empty());
    }
}
