//! Validates the model's answer, field by field. A model can be talked into anything, so its words are trusted no more than the
//! sender's.

use forecourt_leads::{Assessment, JunkConfidence, MAX_SUMMARY_WORDS, Rating};
use serde::Deserialize;

use super::problem::Problem;

/// The maximum length of a summary, in characters.
const MAX_SUMMARY_CHARS: usize = 160;
/// The maximum length of a reason or a next action, in characters.
const MAX_SENTENCE_CHARS: usize = 300;
/// The number of digits, with or without other characters between them, that may be a phone number.
const PHONE_DIGITS: usize = 8;

/// The relevant part of a chat completion.
#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    rating: i64,
    intent: String,
    summary: String,
    reason: String,
    next_action: String,
    junk: bool,
    /// Some models omit it if it is null.
    #[serde(default)]
    junk_confidence: Option<String>,
}

/// Reads the assessment in a body.
pub(crate) fn read(body: &[u8]) -> Result<Assessment, Problem> {
    let completion: Completion = serde_json::from_slice(body).map_err(|_| Problem::NoCompletion)?;
    let choice = completion.choices.into_iter().next();
    let content = choice
        .and_then(|choice| choice.message.content)
        .ok_or(Problem::NoCompletion)?;
    let answer: Answer = serde_json::from_str(&content).map_err(|error| redacted(&error))?;
    let junk_confidence = match answer.junk_confidence.as_deref() {
        Some("low") => Some(JunkConfidence::Low),
        Some("medium") => Some(JunkConfidence::Medium),
        Some("high") => Some(JunkConfidence::High),
        None => None,
        Some(_) => return Err(Problem::Field("junk_confidence")),
    };
    if answer.junk && junk_confidence.is_none() {
        return Err(Problem::Field("junk_confidence"));
    }
    if answer.summary.split_whitespace().count() > MAX_SUMMARY_WORDS {
        return Err(Problem::Field("summary"));
    }
    Ok(Assessment {
        rating: Some(Rating::new(answer.rating).ok_or(Problem::Field("rating"))?),
        intent: Some(answer.intent.parse().map_err(|_| Problem::Field("intent"))?),
        summary: Some(text("summary", &answer.summary, MAX_SUMMARY_CHARS)?),
        reason: Some(text("reason", &answer.reason, MAX_SENTENCE_CHARS)?),
        next_action: Some(text("next_action", &answer.next_action, MAX_SENTENCE_CHARS)?),
        junk: answer.junk,
        // The confidence that a message is no junk is of no use.
        junk_confidence: junk_confidence.filter(|_| answer.junk),
    })
}

/// Returns the same error without its quotes of the answer, which has the sender's words in it.
fn redacted(error: &serde_json::Error) -> Problem {
    use serde::de::Error as _;
    let place = format!("line {}, column {}", error.line(), error.column());
    Problem::Form(serde_json::Error::custom(place))
}

/// Returns a text if it is fit to be shown.
fn text(field: &'static str, text: &str, longest: usize) -> Result<String, Problem> {
    let text = text.trim();
    let is_usable = !text.is_empty()
        && text.chars().count() <= longest
        && !text.chars().any(is_hidden)
        && !has_link(text)
        && !has_phone_number(text);
    is_usable.then(|| text.to_owned()).ok_or(Problem::Field(field))
}

/// Returns `true` for control characters, and for those that change the display of others.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' | '<' | '>')
}

/// Returns `true` if there is a link, a mail address, or a name that programs make a link of.
fn has_link(text: &str) -> bool {
    let lower = text.to_lowercase();
    if ["://", "www.", "@", "mailto:", "javascript:", "](", "tel:"]
        .iter()
        .any(|sign| lower.contains(sign))
    {
        return true;
    }
    lower
        .split(|character: char| character.is_whitespace() || matches!(character, '(' | ')' | ',' | ';' | '"'))
        .any(|word| {
            let word = word.trim_end_matches(['.', '!', '?', ':', '\'']);
            let host = word.split('/').next().unwrap_or(word);
            // "acme.example": letters on both sides of a dot. "1.0", "2.0d" and "e.g" are none.
            host.rsplit_once('.').is_some_and(|(name, top)| {
                top.len() >= 2
                    && top.chars().all(char::is_alphabetic)
                    && name.chars().filter(|c| c.is_alphanumeric()).count() >= 2
            })
        })
}

/// Returns `true` if there are many digits with nothing but characters of phone numbers between them.
fn has_phone_number(text: &str) -> bool {
    let mut digits = 0;
    for character in text.chars() {
        if character.is_numeric() {
            digits += 1;
            if digits >= PHONE_DIGITS {
                return true;
            }
        } else if !matches!(character, ' ' | '-' | '.' | '(' | ')' | '+' | '/') {
            digits = 0;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_addresses_and_numbers_are_found() {
        for bad in [
            "Visit http://evil.example now",
            "See evil.example/path",
            "Write to a@b.example",
            "Go to www.evil",
            "Call 07700 900123",
            "Call +44 (0)7700-900-123",
            "Reads\u{202e}backwards",
            "two\nlines",
            "",
            "  ",
            "[here](x)",
            "<b>bold</b>",
        ] {
            assert!(text("summary", bad, MAX_SUMMARY_CHARS).is_err(), "{bad}");
        }
        for good in [
            "Wants the Golf 1.0 TSI, £12,500 over 48 months.",
            "Asks about a 2019 Kia; budget £10,000-£12,000.",
            "Café owner e.g. wants a van.",
        ] {
            assert!(text("summary", good, MAX_SUMMARY_CHARS).is_ok(), "{good}");
        }
    }
}
