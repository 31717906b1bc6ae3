//! Numbering plans.
//!
//! They are data, which `cargo xtask codegen` takes from the crate `phonenumber`. That crate itself spends 60 ms on them when the
//! first number is read after a start, and keeps 5 MB for good, because it compiles the patterns of all countries. Here a pattern
//! is compiled when it is first needed.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;
use serde::Deserialize;

/// All plans, by country code. The main plan comes first among those that share a code.
static PLANS: LazyLock<Vec<Plan>> =
    LazyLock::new(|| serde_json::from_str(include_str!("plans.json")).unwrap_or_default());

/// The numbering plan of a country, or of a service without a country, such as satellites.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// ISO 3166, two letters; `001` for a plan without a country.
    country: String,
    /// The country code, which callers from abroad dial before the number.
    pub(super) code: u16,
    /// The prefix for calls abroad, dialled before the code of another country.
    international_prefix: Option<Pattern>,
    /// The prefix that callers within the country dial before the number.
    pub(super) national_prefix: Option<String>,
    /// A pattern of that prefix, if it varies or carries more than a prefix.
    prefix: Option<Pattern>,
    /// The replacement for what `prefix` matches.
    transform: Option<String>,
    /// The pattern of a number without any of these prefixes.
    number: Pattern,
    /// The possible numbers of digits.
    lengths: Vec<usize>,
}

impl Plan {
    /// The plan of the country with this code in ISO 3166.
    pub(super) fn of_country(country: &str) -> Option<&'static Self> {
        PLANS.iter().find(|plan| plan.country == country)
    }

    /// The plans that share the country code, the main one first.
    pub(super) fn of_code(code: u16) -> &'static [Self] {
        let first = PLANS.partition_point(|plan| plan.code < code);
        let end = PLANS.partition_point(|plan| plan.code <= code);
        PLANS.get(first..end).unwrap_or_default()
    }

    /// Returns the digits after the prefix for calls abroad; `None` if the number does not begin with it.
    pub(super) fn after_international_prefix<'a>(&self, dialled: &'a str) -> Option<&'a str> {
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
        // Where a plan has a rule, the prefix is more than a prefix: its match contains a part of the number.
        match self.transform.as_deref().filter(|_| has_last_group) {
            Some(rule) => Some(prefix.replace(digits, rule).into_owned()),
            None => Some(digits[whole.end()..].to_owned()),
        }
    }

    /// Returns `true` if the plan's pattern matches the whole number.
    pub(super) fn describes(&self, digits: &str) -> bool {
        self.found(digits) == Some(digits.len()) && self.lengths.contains(&digits.len())
    }

    /// Returns `true` if the plan has numbers of this length with this beginning. Numbers kept for fiction and tests are among
    /// them.
    pub(super) fn allows(&self, digits: &str) -> bool {
        self.lengths.contains(&digits.len()) && self.found(digits).is_some()
    }

    /// Returns the end of the match at the beginning of the number.
    fn found(&self, digits: &str) -> Option<usize> {
        let found = self.number.regex()?.find(digits)?;
        (found.start() == 0).then_some(found.end())
    }
}

/// A regular expression, compiled on first use.
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
