//! Days and sums of money that a text names. Both are rebuilt from recognised parts, never copied.

use super::words::{MONEY, Word, Words};

const DAYS: [(&str, &str); 7] = [
    ("monday", "Monday"),
    ("tuesday", "Tuesday"),
    ("wednesday", "Wednesday"),
    ("thursday", "Thursday"),
    ("friday", "Friday"),
    ("saturday", "Saturday"),
    ("sunday", "Sunday"),
];
const MONTHS: [(&str, &str); 12] = [
    ("jan", "January"),
    ("feb", "February"),
    ("mar", "March"),
    ("apr", "April"),
    ("may", "May"),
    ("jun", "June"),
    ("jul", "July"),
    ("aug", "August"),
    ("sep", "September"),
    ("oct", "October"),
    ("nov", "November"),
    ("dec", "December"),
];
const BUDGET_WORDS: [&str; 12] = [
    "budget", "under", "to", "around", "about", "max", "maximum", "than", "within", "spend", "below", "near",
];

/// The day that a text names, as it is written after a verb: "today", "on Saturday", "next week".
pub(super) fn day(words: &Words) -> Option<String> {
    words.sentences.iter().find_map(|sentence| {
        (0..sentence.len()).find_map(|at| {
            let text = |at: usize| sentence.get(at).map_or("", |word| word.text.as_str());
            let before = if at > 0 { text(at - 1) } else { "" };
            if let Some((_, day)) = DAYS.iter().find(|(name, _)| text(at) == *name) {
                return Some(match before {
                    "this" => format!("this {day}"),
                    "next" => format!("next {day}"),
                    _ => format!("on {day}"),
                });
            }
            match text(at) {
                "today" | "tonight" | "tomorrow" => Some(text(at).to_owned()),
                "weekend" if before == "next" => Some("next weekend".to_owned()),
                "weekend" => Some("this weekend".to_owned()),
                "week" if before == "next" => Some("next week".to_owned()),
                "week" if before == "this" => Some("this week".to_owned()),
                _ => date(&sentence[at..]),
            }
        })
    })
}

/// Reads a date: "14th March", "14 of March".
fn date(words: &[Word]) -> Option<String> {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let digits = text(0).trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let day: u8 = digits.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = if text(1) == "of" { text(2) } else { text(1) };
    let (short, long) = MONTHS.iter().find(|(short, _)| month.starts_with(short))?;
    let is_month = month == *short || month == long.to_lowercase() || month == "sept";
    is_month.then(|| format!("on {day} {long}"))
}

/// The sum that the sender can spend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Budget {
    /// Altogether.
    Total(u32),
    /// Each month.
    Monthly(u32),
}

impl Budget {
    /// The words of a summary for it.
    pub(super) fn words(self) -> String {
        match self {
            Self::Total(pounds) => format!("budget {}", sum(pounds)),
            Self::Monthly(pounds) => format!("budget {} monthly", sum(pounds)),
        }
    }
}

fn sum(pounds: u32) -> String {
    if pounds >= 1000 {
        format!("£{},{:03}", pounds / 1000, pounds % 1000)
    } else {
        format!("£{pounds}")
    }
}

/// The budget that a text names.
pub(super) fn budget(words: &Words) -> Option<Budget> {
    words.sentences.iter().find_map(|sentence| {
        sentence.iter().enumerate().find_map(|(at, word)| {
            let after = |reach: usize| &sentence[at + 1..sentence.len().min(at + 1 + reach)];
            let is = |words: &[Word], names: &[&str]| words.iter().any(|word| names.contains(&word.text.as_str()));
            let in_thousands = is(after(1), &["grand", "k"]);
            let in_pounds = is(after(1), &["pounds", "quid"]) || word.groups.contains(&MONEY) || in_thousands;
            let amount = word.amount?.checked_mul(if in_thousands { 1000 } else { 1 })?;
            if in_pounds && is(after(4), &["month", "monthly", "pcm", "pm"]) && (50..=3000).contains(&amount) {
                return Some(Budget::Monthly(amount));
            }
            let before = &sentence[at.saturating_sub(3)..at];
            (in_pounds && is(before, &BUDGET_WORDS) && (500..=500_000).contains(&amount))
                .then_some(Budget::Total(amount))
        })
    })
}
