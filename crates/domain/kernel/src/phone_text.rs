//! Search for telephone numbers in free text, in any spelling.

use std::collections::HashSet;
use std::ops::Range;

use crate::Phone;

/// The minimum number of digits that identify a telephone number without any mark, so that other numbers do not match by chance.
/// In countries without a prefix one digit less is enough, since people write nothing else there.
const MIN_DIGITS: usize = 9;

/// Telephone numbers, by the digits in which people write them. A text is read once, regardless of their number.
#[derive(Default)]
pub(crate) struct PhoneSpellings {
    after_plus: HashSet<String>,
    /// Spellings without a plus. A leading zero marks one as a telephone number.
    alone: HashSet<String>,
    /// The number of digits of the longest spelling.
    longest: usize,
}

impl PhoneSpellings {
    pub(crate) fn of<'a>(numbers: impl IntoIterator<Item = &'a str>) -> Self {
        let mut spellings = Self::default();
        for number in numbers {
            spellings.add(number);
        }
        let all = spellings.after_plus.iter().chain(&spellings.alone);
        spellings.longest = all.map(String::len).max().unwrap_or_default();
        spellings
    }

    fn add(&mut self, e164: &str) {
        let digits = e164.strip_prefix('+').filter(|digits| !digits.is_empty());
        let mut after_plus: Vec<String> = digits.map(str::to_owned).into_iter().collect();
        let mut alone = Vec::new();
        let mut min_digits = MIN_DIGITS;
        if let Some(parts) = Phone::parts(e164) {
            // As in "+44 (0)20 …", which is not a valid number but common.
            after_plus.push(format!("{}0{}", parts.country_code, parts.national));
            let trunk_prefix = parts.trunk_prefix.unwrap_or_else(|| {
                min_digits -= 1;
                "0"
            });
            alone.extend([format!("{trunk_prefix}{}", parts.national), parts.national.to_owned()]);
        }
        for international in &after_plus {
            alone.extend([international.clone(), format!("00{international}")]);
        }
        alone.retain(|digits| digits.starts_with('0') || digits.len() >= min_digits);
        self.after_plus.extend(after_plus);
        self.alone.extend(alone);
    }

    /// Returns `true` if these digits alone spell one of the numbers.
    pub(crate) fn is(&self, digits: &str) -> bool {
        self.alone.contains(digits)
    }

    /// Returns the places in a text where one of the numbers stands by itself, in any usual spelling: digits, optionally with a
    /// plus, and with spaces, dots, dashes, slashes or parentheses.
    pub(crate) fn places(&self, text: &str) -> Vec<Range<usize>> {
        if self.longest == 0 {
            return Vec::new();
        }
        let groups = groups(text);
        let mut places = Vec::new();
        let mut free = 0;
        while let Some(first) = groups.get(free) {
            let last = self
                .end(text, &groups[free..])
                .map(|length| free + length - 1)
                .filter(|&last| {
                    let before = free.checked_sub(1).and_then(|at| groups.get(at));
                    let taken = before.is_some_and(|before| ends_with(&places, before));
                    taken || is_apart(text, before, first, groups.get(last), groups.get(last + 1))
                });
            if let Some(group) = last.and_then(|last| groups.get(last)) {
                places.push(with_parenthesis(text, first.start..group.end));
            }
            free = last.unwrap_or(free) + 1;
        }
        places
    }

    /// Returns the number of leading groups that spell a number. The longest reading wins.
    fn end(&self, text: &str, groups: &[Group]) -> Option<usize> {
        let first = groups.first()?;
        let spellings = if first.plus { &self.after_plus } else { &self.alone };
        let mut digits = String::new();
        let mut found = None;
        let mut end = first.start;
        for (at, group) in groups.iter().enumerate() {
            let joined = at == 0 || (!group.plus && text[end..group.start].chars().all(is_separator));
            if !joined || digits.len() + group.digits(text).len() > self.longest {
                break;
            }
            digits.push_str(group.digits(text));
            end = group.end;
            if spellings.contains(&digits) {
                found = Some(at + 1);
            }
        }
        found
    }
}

/// A run of digits and its place, with the plus before it if there is one.
struct Group {
    start: usize,
    end: usize,
    plus: bool,
}

impl Group {
    fn digits<'a>(&self, text: &'a str) -> &'a str {
        text[self.start..self.end].trim_start_matches(is_plus)
    }

    /// Returns `true` if the group begins like a telephone number.
    fn is_marked(&self, text: &str) -> bool {
        self.plus || self.digits(text).starts_with('0')
    }
}

fn groups(text: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut plus = None;
    for (at, character) in text.char_indices() {
        if character.is_ascii_digit() {
            match groups.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => groups.push(Group {
                    start: plus.unwrap_or(at),
                    end: at + 1,
                    plus: plus.is_some(),
                }),
            }
        }
        plus = is_plus(character).then_some(at);
    }
    groups
}

const fn is_plus(character: char) -> bool {
    matches!(character, '+' | '\u{ff0b}')
}

/// Returns `true` for a character that may separate digits of a telephone number.
fn is_separator(character: char) -> bool {
    is_joint(character)
        || matches!(character, '/' | '(' | ')' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
        || character.is_whitespace()
}

/// Returns `true` for a character that joins digits to one number, such as an order number.
const fn is_joint(character: char) -> bool {
    matches!(character, '-' | '.' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

fn ends_with(places: &[Range<usize>], group: &Group) -> bool {
    places.last().is_some_and(|place| place.end == group.end)
}

/// Returns `true` if the groups from `first` to `last` are not part of a longer number.
fn is_apart(text: &str, before: Option<&Group>, first: &Group, last: Option<&Group>, after: Option<&Group>) -> bool {
    let marked = first.is_marked(text);
    let joined = |one: &Group, next: &Group, apart: bool| {
        let mut between = text[one.end..next.start].chars();
        match (between.next(), between.next()) {
            (Some('\n' | '\r'), _) => false,
            (Some(joint), None) if is_joint(joint) => !next.plus,
            (Some(space), None) if is_separator(space) => !apart,
            _ => false,
        }
    };
    let before = before.is_some_and(|before| joined(before, first, marked));
    let after = last.zip(after);
    let after = after.is_some_and(|(last, after)| joined(last, after, marked || after.is_marked(text)));
    !before && !after
}

/// Extends the place to the parenthesis that is closed within it.
fn with_parenthesis(text: &str, place: Range<usize>) -> Range<usize> {
    let within = &text[place.clone()];
    let opened = within.matches('(').count() < within.matches(')').count() && text[..place.start].ends_with('(');
    place.start - usize::from(opened)..place.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_left(number: &str, text: &str, expected: &str) {
        let mut left = text.to_owned();
        for place in PhoneSpellings::of([number]).places(text).into_iter().rev() {
            left.replace_range(place, "…");
        }
        assert_eq!(left, expected, "{text:?}");
    }

    #[test]
    fn a_number_is_found_in_any_usual_spelling() {
        for spelling in [
            "+442079465555",
            "+44 20 7946 5555",
            "+44 (0)20 7946 5555",
            "(+44) 20 7946 5555",
            "0044 20 7946 5555",
            "00442079465555",
            "44 20 7946 5555",
            "442079465555",
            "02079465555",
            "020 7946 5555",
            "(020) 7946-5555",
            "(020)79465555",
            "020.7946.5555",
            "020/7946 5555",
            "020 – 7946 – 5555",
            "020\u{a0}7946\u{a0}5555",
            "2079465555",
            "20 7946 5555",
        ] {
            for (before, after) in [
                ("", ""),
                ("call ", " or"),
                ("Tel.", "."),
                ("é:", ", x"),
                ("ring", "x12"),
                ("5) ", "\n7"),
            ] {
                let text = format!("{before}{spelling}{after}");
                assert_left("+442079465555", &text, &format!("{before}…{after}"));
            }
        }
        assert_left("+4722334455", "22 33 44 55, 004722334455", "…, …");
        assert_left("+14155552671", "(415) 555-2671 or 1-415-555-2671", "… or …");
        assert_left("+390612345678", "06 1234 5678", "…");
    }

    #[test]
    fn numbers_side_by_side_are_found_each() {
        let twice = "020 7946 5555/+44 20 7946 5555 2079465555 020 7946 5555";
        assert_left("+442079465555", twice, "…/… … …");
        let others = "020 7946 5555 / 07700 900123 020 7946 5555 07700 900123 020 7946 5555 5 pm";
        assert_left("+442079465555", others, "… / 07700 900123 … 07700 900123 … 5 pm");
    }

    #[test]
    fn a_longer_number_is_another_one() {
        for text in [
            "0207946555512",
            "10207946555",
            "102079465555",
            "+4420794655551",
            "+33 20 7946 5555",
            "4420 7946 5555 1234",
            "7-2079465555",
            "1234.020.7946.5555",
            "020-7946-5555-9",
            "020 7946 555",
            "7946 5555",
            "+02079465555",
            "020, 7946 5555",
            "",
        ] {
            assert_left("+442079465555", text, text);
        }
        assert_left("+44123456", "123456 44123456 0123456", "123456 44123456 …");
        assert_left("nonsense", "nonsense 0", "nonsense 0");
        assert_left("", "1 00 0", "1 00 0");
    }
}
