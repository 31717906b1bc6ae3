//! The port through which a conversation is read for what it says of its sender (decisions §5, "AI").

use std::time::Duration;

use async_trait::async_trait;
use forecourt_kernel::{BoxError, BusinessId, bounds::MAX_LINE_CHARS};
use forecourt_reference::{LeadChannel, LeadType};

use crate::{JunkConfidence, Rating};

/// How many words a summary has at most (contract, *Limits*).
pub const MAX_SUMMARY_WORDS: usize = 12;

/// What is read: a lead's words, newest message last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conversation {
    /// What the enquiry is for.
    pub types: Vec<LeadType>,
    /// The way on which it came in.
    pub channel: LeadChannel,
    /// The name that the sender gave.
    pub name: String,
    /// Whether there is an email address or a number at which the sender can be answered.
    pub is_answerable: bool,
    /// Make, model and derivative of the vehicles that it concerns.
    pub vehicles: Vec<String>,
    /// The enquiry and what was written since, oldest first.
    pub messages: Vec<Utterance>,
}

/// One message of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Utterance {
    /// Whether the business wrote it, and not the sender of the enquiry.
    pub ours: bool,
    /// Its subject, often empty.
    pub subject: String,
    /// Its text.
    pub text: String,
}

/// What an analyst makes of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assessment {
    /// How close to buying the sender is; never how likely the message is junk.
    pub rating: Option<Rating>,
    /// What the sender wants.
    pub intent: Option<LeadType>,
    /// Where the conversation stands, in at most [`MAX_SUMMARY_WORDS`] words.
    pub summary: Option<String>,
    /// Why the rating was given.
    pub reason: Option<String>,
    /// What the business should do next.
    pub next_action: Option<String>,
    /// Whether the sender's latest message is junk.
    pub junk: bool,
    /// How sure that is.
    pub junk_confidence: Option<JunkConfidence>,
}

impl Assessment {
    /// What of it keeps within its bounds: a text that is too long, or has a link or a control character in it, is left out, since
    /// it comes from outside and is shown to people.
    #[must_use]
    pub fn bounded(self) -> Self {
        let summary = self.summary.and_then(line);
        Self {
            summary: summary.filter(|summary| summary.split_whitespace().count() <= MAX_SUMMARY_WORDS),
            reason: self.reason.and_then(line),
            next_action: self.next_action.and_then(line),
            ..self
        }
    }
}

/// The text, if it is one plain line of at most [`MAX_LINE_CHARS`] characters.
fn line(text: String) -> Option<String> {
    let has_link = || {
        let lower = text.to_lowercase();
        lower.contains("://") || lower.contains("www.")
    };
    let is_plain = !text.trim().is_empty()
        && text.chars().nth(MAX_LINE_CHARS).is_none()
        && !text.chars().any(char::is_control)
        && !has_link();
    is_plain.then_some(text)
}

/// Reads conversations. It learns nothing but the [`Conversation`] and whose it is, and can change nothing: what it answers is
/// checked, and fills a lead's rating, summary and AI read alone.
#[async_trait]
pub trait Analyst: Send + Sync {
    /// What the conversation says of its sender. The same conversation may be read more than once. The business is who pays for it.
    ///
    /// # Errors
    /// [`AnalystError::Unusable`] if it has no answer that can be used, [`AnalystError::Unavailable`] if it may have one later.
    async fn assess(&self, business: BusinessId, conversation: &Conversation) -> Result<Assessment, AnalystError>;

    /// How long it may take for one conversation; then the caller gives up. The lease of the conversation is half as long again, and
    /// when it ends, another server asks about a conversation whose server has died.
    fn time_limit(&self) -> Duration;
}

/// Why a conversation was not read.
#[derive(Debug, thiserror::Error)]
pub enum AnalystError {
    /// The answer is none that can be used: the lead stays unrated.
    #[error("the analyst's answer cannot be used")]
    Unusable(#[source] BoxError),
    /// It cannot be asked now; after so many seconds at the earliest, if it said so.
    #[error("the analyst cannot be reached")]
    Unavailable {
        /// What went wrong.
        #[source]
        source: BoxError,
        /// In seconds.
        retry_after: Option<u64>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_breaks_its_bounds_is_left_out() {
        let with = |text: &str| {
            let text = Some(text.to_owned());
            let bounded = Assessment {
                rating: Rating::new(3),
                intent: None,
                summary: text.clone(),
                reason: text.clone(),
                next_action: text,
                junk: false,
                junk_confidence: None,
            }
            .bounded();
            assert_eq!(bounded.rating, Rating::new(3));
            assert_eq!(bounded.reason, bounded.next_action);
            [bounded.summary.is_some(), bounded.reason.is_some()]
        };
        assert_eq!(with("Wants to see the Golf on Saturday"), [true, true]);
        assert_eq!(with("a b c d e f g h i j k l"), [true, true]);
        assert_eq!(with("a b c d e f g h i j k l m"), [false, true]);
        assert_eq!(with(&"ä".repeat(255)), [true, true]);
        for text in [
            "",
            "  ",
            &"ä".repeat(256),
            "two\nlines",
            "see HTTPS://x.example",
            "see WWW.x.example",
            "notifier\u{7}",
        ] {
            assert_eq!(with(text), [false, false], "{text:?}");
        }
    }
}
