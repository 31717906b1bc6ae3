//! The port through which a conversation is read for what it says of its sender (decisions §5, "AI").

use async_trait::async_trait;
use forecourt_kernel::BoxError;
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

/// Reads conversations. It learns nothing but the [`Conversation`], and can change nothing: what it answers is checked, and
/// fills a lead's rating, summary and AI read alone.
#[async_trait]
pub trait Analyst: Send + Sync {
    /// What the conversation says of its sender. The same conversation may be read more than once.
    ///
    /// # Errors
    /// [`AnalystError::Unusable`] if it has no answer that can be used, [`AnalystError::Unavailable`] if it may have one later.
    async fn assess(&self, conversation: &Conversation) -> Result<Assessment, AnalystError>;
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
