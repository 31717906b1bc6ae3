//! Telephone numbers, read by the numbering plan of their country.

mod plan;

use std::slice;

use crate::Country;
use plan::Plan;

/// A telephone number in E.164, for example `+447700900123`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Phone(String);

impl Phone {
    /// Reads a number in any usual spelling. A number without a country code is read as one of `country`. An extension is
    /// dropped, since E.164 has none.
    ///
    /// # Errors
    /// [`InvalidPhone`] if it is not a possible number of its country's plan.
    pub fn parse(text: &str, country: Country) -> Result<Self, InvalidPhone> {
        Self::by_plan(text, country).ok_or(InvalidPhone)
    }

    fn by_plan(text: &str, country: Country) -> Option<Self> {
        let dialled = dialled(text)?;
        let home = Plan::of_country(country.code());
        let (code, national) = match after_international_prefix(&dialled, home) {
            Some(international) => read_international(international)?,
            None => read_national(home?, &dialled)?,
        };
        let e164 = format!("+{code}{national}");
        (e164.len() <= "+".len() + MAX_DIGITS).then_some(Self(e164))
    }

    /// Splits a number in E.164 into its parts; `None` if it does not begin with the code of a country.
    pub fn parts(e164: &str) -> Option<PhoneParts<'_>> {
        let digits = e164.strip_prefix('+')?;
        (1..=3).find_map(|length| {
            let (country_code, national) = digits.split_at_checked(length)?;
            let plan = Plan::of_code(country_code.parse().ok()?).first()?;
            Some(PhoneParts {
                country_code,
                national,
                trunk_prefix: plan.national_prefix.as_deref(),
            })
        })
    }

    /// The number in E.164.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number in E.164.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// The parts of a number in E.164.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhoneParts<'a> {
    /// The country code, which callers from abroad dial before the other digits, for example `44`.
    pub country_code: &'a str,
    /// The digits that all callers dial, for example `7700900123`.
    pub national: &'a str,
    /// The prefix that callers within the country dial before the number, for example `0`; `None` if there is none.
    pub trunk_prefix: Option<&'static str>,
}

/// The maximum number of digits in E.164.
const MAX_DIGITS: usize = 15;

/// The maximum number of digits that are dialled: the longest number after the longest prefix.
const MAX_DIALLED: usize = MAX_DIGITS + 5;

/// Returns the digits of a number as it is dialled, with a plus in front if it has one. Returns `None` if the text has characters
/// other than digits, usual separators and an extension. Letters do not stand for digits.
fn dialled(text: &str) -> Option<String> {
    let text = without_extension(text.trim());
    let mut dialled = String::with_capacity(MAX_DIALLED);
    for character in text.strip_prefix("tel:").unwrap_or(text).chars() {
        match character {
            '+' | '\u{ff0b}' if dialled.is_empty() => dialled.push('+'),
            '0'..='9' if dialled.len() < MAX_DIALLED => dialled.push(character),
            '-' | '.' | '/' | '(' | ')' | '\u{2010}'..='\u{2015}' | '\u{2212}' => {}
            // Invisible characters are copied along with numbers from address books.
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => {}
            _ if character.is_whitespace() => {}
            _ => return None,
        }
    }
    Some(dialled)
}

/// Returns `text` without an extension at its end, such as `ext. 12`, `x12` or `#12`.
fn without_extension(text: &str) -> &str {
    let before_digits = text.trim_end_matches(|character: char| character.is_ascii_digit());
    let marked = before_digits.trim_end_matches(['.', ':', ' ']);
    let end_of_number = ["extension", "extn", "ext", "x", "#"].into_iter().find_map(|mark| {
        let (number, end) = marked.split_at_checked(marked.len().checked_sub(mark.len())?)?;
        end.eq_ignore_ascii_case(mark).then_some(number)
    });
    end_of_number
        .filter(|_| before_digits.len() < text.len())
        .unwrap_or(text)
}

/// Returns the digits after the plus, or after the prefix for calls abroad from `home`. They begin with a country code. Returns
/// `None` if the number is a national one.
fn after_international_prefix<'a>(dialled: &'a str, home: Option<&Plan>) -> Option<&'a str> {
    let by_digits = || home?.after_international_prefix(dialled);
    dialled.strip_prefix('+').or_else(by_digits)
}

/// Splits a number that begins with a country code into the code and the number within the country.
fn read_international(digits: &str) -> Option<(u16, String)> {
    (1..=3).find_map(|length| {
        let (code, national) = digits.split_at_checked(length)?;
        let code = code.parse().ok()?;
        // Countries can share a code.
        Some((code, significant(Plan::of_code(code), national)?))
    })
}

/// Reads a number as it is dialled within the plan's country: without the country code, or with it but without a plus.
fn read_national(plan: &Plan, digits: &str) -> Option<(u16, String)> {
    let plans = slice::from_ref(plan);
    let after_code = || significant(plans, digits.strip_prefix(&plan.code.to_string())?);
    Some((plan.code, significant(plans, digits).or_else(after_code)?))
}

/// Returns the part of a national number that all callers dial. Most countries have a prefix for calls within the country, such
/// as a zero, but some have numbers that begin with that very digit. Therefore the number as it stands takes precedence over the
/// number without the prefix. A number that matches the plan as a whole takes precedence over one whose beginning and length
/// match.
fn significant(plans: &[Plan], digits: &str) -> Option<String> {
    let bare = plans.first().and_then(|plan| plan.without_national_prefix(digits));
    let readings = [Some(digits.to_owned()), bare];
    let first_that = |fits: fn(&Plan, &str) -> bool| {
        let mut readings = readings.iter().flatten();
        readings.find(|reading| plans.iter().any(|plan| fits(plan, reading)))
    };
    first_that(Plan::describes)
        .or_else(|| first_that(Plan::allows))
        .cloned()
}

/// The text is not a telephone number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a telephone number in international format")]
pub struct InvalidPhone;

#[cfg(test)]
mod tests {
    use super::*;

    fn gb(text: &str) -> Result<String, InvalidPhone> {
        Phone::parse(text, Country::GB).map(Phone::into_string)
    }

    #[test]
    fn every_usual_spelling_is_one_number() {
        for text in [
            "+447700900123",
            "07700 900123",
            "+44 (0)7700 900-123",
            "0044 7700 900123",
            " 07700900123 ",
        ] {
            assert_eq!(gb(text).as_deref(), Ok("+447700900123"), "{text:?}");
        }
        assert_eq!(gb("+1 415 555 2671").as_deref(), Ok("+14155552671"));
        assert_eq!(gb("01632 960123").as_deref(), Ok("+441632960123"));
    }

    #[test]
    fn a_number_is_a_country_code_and_what_is_dialled_within() {
        for (e164, expected) in [
            ("+447700900123", Some(("44", "7700900123", Some("0")))),
            ("+14155552671", Some(("1", "4155552671", Some("1")))),
            ("+35312345678", Some(("353", "12345678", Some("0")))),
            ("+4722334455", Some(("47", "22334455", None))),
            ("+999123456789", None),
            ("07700900123", None),
            ("", None),
        ] {
            let parts = Phone::parts(e164).map(|parts| (parts.country_code, parts.national, parts.trunk_prefix));
            assert_eq!(parts, expected, "{e164}");
        }
    }

    #[test]
    fn what_cannot_be_dialled_is_refused() {
        for text in [
            "",
            "abc",
            "12",
            "0770",
            "+44",
            "+999123456789",
            "+44770090012345678",
            "07700900123\0",
        ] {
            assert_eq!(gb(text), Err(InvalidPhone), "{text:?}");
        }
    }
}
