//! The port through which a conversation is analysed (decisions §5, "AI").

use std::time::Duration;

use async_trait::async_trait;
use forecourt_kernel::{BoxError, BusinessId, bounds::MAX_LINE_CHARS};
use forecourt_reference::{LeadChannel, LeadType};

use crate::{JunkConfidence, Rating};

/// The maximum number of words of a summary (contract, *Limits*).
pub const MAX_SUMMARY_WORDS: usize = 12;

/// The text of a lead for the analyst, newest message last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conversation {
    /// The types of the enquiry.
    pub types: Vec<LeadType>,
    /// The channel of the enquiry.
    pub channel: LeadChannel,
    /// The name that the sender gave.
    pub name: String,
    /// Set if there is an email address or a number for an answer to the sender.
    pub is_answerable: bool,
    /// Make, model and derivative of the vehicles that the lead concerns.
    pub vehicles: Vec<String>,
    /// The enquiry and all later messages, oldest first.
    pub messages: Vec<Utterance>,
}

/// One message of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Utterance {
    /// Set if the business wrote it, and not the sender of the enquiry.
    pub ours: bool,
    /// Its subject, often empty.
    pub subject: String,
    /// Its text.
    pub text: String,
}

/// An analyst's assessment of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assessment {
    /// The sender's readiness to buy; never the probability that the message is junk.
    pub rating: Option<Rating>,
    /// The sender's wish.
    pub intent: Option<LeadType>,
    /// A summary of the conversation, at most [`MAX_SUMMARY_WORDS`] words.
    pub summary: Option<String>,
    /// The reason for the rating.
    pub reason: Option<String>,
    /// The business's next step.
    pub next_action: Option<String>,
    /// Set if the sender's latest message is junk.
    pub junk: bool,
    /// The confidence of `junk`.
    pub junk_confidence: Option<JunkConfidence>,
}

impl Assessment {
    /// Drops every text that is too long, or contains a link or a control character. The texts come from outside and are shown to
    /// people.
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

/// Returns the text if it is one plain line of at most [`MAX_LINE_CHARS`] characters.
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

/// Reads conversations. An analyst receives nothing but the [`Conversation`] and its business, and cannot change anything. Its
/// answer is checked, and only sets a lead's rating, summary and AI read.
#[async_trait]
pub trait Analyst: Send + Sync {
    /// Assesses a conversation. The same conversation may be read more than once. The business is the one that pays for it.
    ///
    /// # Errors
    /// [`AnalystError::Unusable`] if there is no usable answer, [`AnalystError::Unavailable`] if there may be one later.
    async fn assess(&self, business: BusinessId, conversation: &Conversation) -> Result<Assessment, AnalystError>;

    /// Returns `true` if conversations leave this server to be read.
    fn is_remote(&self) -> bool {
        false
    }

    /// The time limit for one conversation, after which the caller gives up. The lease of the conversation is one and a half
    /// times as long. After it another server reads a conversation whose server has died.
    fn time_limit(&self) -> Duration;
}

/// The reason why a conversation was not read.
#[derive(Debug, thiserror::Error)]
pub enum AnalystError {
    /// The answer is not usable: the lead stays unrated.
    #[error("the analyst's answer cannot be used")]
    Unusable(#[source] BoxError),
    /// The analyst cannot be asked now, and no earlier than `retry_after` if it is set.
    #[error("the analyst cannot be reached")]
    Unavailable {
        /// The underlying error.
        #[source]
        source: BoxError,
        /// The time to wait, in seconds.
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
