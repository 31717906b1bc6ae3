//! The record of an enquiry.

use forecourt_kernel::{ContactId, Date, LeadId, SiteId, StaffId, Timestamp, Version};
use forecourt_reference::{Catalogue, LeadChannel, LeadType, TagChoice, TagResource};
use serde::{Deserialize, Serialize};

use crate::{ContactSuggestion, LeadData, LeadStatus};

/// How ready to buy the AI thinks the lead is: 1 (not a buyer) to 5 (ready to transact).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub struct Rating(u8);

impl Rating {
    /// The rating of that number.
    pub fn new(number: i64) -> Option<Self> {
        u8::try_from(number)
            .ok()
            .filter(|number| (1..=5).contains(number))
            .map(Self)
    }

    /// The number, 1 to 5.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl From<Rating> for u8 {
    fn from(rating: Rating) -> Self {
        rating.0
    }
}

impl TryFrom<u8> for Rating {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        Self::new(number.into()).ok_or("a rating is 1 to 5")
    }
}

/// How sure the AI is that a message is junk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum JunkConfidence {
    /// A guess.
    Low,
    /// Likely.
    Medium,
    /// All but certain.
    High,
}

/// The latest AI read of a lead's conversation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AiRead {
    /// What the enquiry is about.
    pub intent: Option<LeadType>,
    /// Why the rating was given.
    pub rating_reason: Option<String>,
    /// What to do next.
    pub next_action: Option<String>,
    /// Whether the latest message was checked junk.
    pub junk: bool,
    /// How sure that judgement is.
    pub junk_confidence: Option<JunkConfidence>,
    /// When the read was made.
    pub processed: Option<Timestamp>,
}

/// What is kept of a lead besides its identity and its stamps.
///
/// Its serialised form is what storage keeps as one document: a new member needs `#[serde(default)]`, and none is ever
/// renamed. A member that lists are filtered by also has a column of its own.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LeadDraft {
    /// The site that it is filed under; 0 is none.
    pub site: SiteId,
    /// The way it came in.
    pub channel: LeadChannel,
    /// The sender's name; empty if unknown.
    pub name: String,
    /// Their address; empty if unknown.
    pub email: String,
    /// Their landline in E.164; empty if unknown.
    pub phone: String,
    /// Their mobile in E.164; empty if unknown.
    pub mobile: String,
    /// The contact that it is linked to.
    pub contact: Option<ContactId>,
    /// What it is about.
    #[serde(rename = "type")]
    pub types: Vec<LeadType>,
    /// Where it stands.
    pub status: LeadStatus,
    /// How ready to buy the AI thinks they are; `None` until it has rated.
    pub rating: Option<Rating>,
    /// The AI's summary of the conversation, at most 12 words.
    pub summary: Option<String>,
    /// The visitor's session; empty if unknown.
    pub session: String,
    /// A picture of them; empty if there is none.
    pub avatar: String,
    /// Who of the staff deals with it.
    pub assign: Vec<StaffId>,
    /// The tags that it carries.
    #[serde(rename = "tag")]
    pub tags: Vec<TagChoice>,
    /// Whether it counts toward reports.
    pub stat: bool,
    /// The day on which it reopens; only a closed lead has one.
    pub reopen: Option<Date>,
    /// Free-form detail.
    pub data: LeadData,
    /// The AI's latest read; `None` until it has run.
    pub ai: Option<AiRead>,
    /// The one contact that the sender seems to be, as long as the lead names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<ContactSuggestion>,
    /// Whether it was ever replied to; not shown. It stays when the status goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
}

impl LeadDraft {
    /// What a lead says of which nothing is known: the defaults of its fields.
    pub fn blank(catalogue: &Catalogue) -> Self {
        Self {
            site: SiteId::new(0),
            channel: LeadChannel::Api,
            name: String::new(),
            email: String::new(),
            phone: String::new(),
            mobile: String::new(),
            contact: None,
            types: vec![LeadType::Email],
            status: LeadStatus::default(),
            rating: None,
            summary: None,
            session: String::new(),
            avatar: String::new(),
            assign: Vec::new(),
            tags: catalogue.defaulted_tags(TagResource::Lead),
            stat: true,
            reopen: None,
            data: LeadData::default(),
            ai: None,
            suggestion: None,
            answered: false,
        }
    }

    /// Whether it was ever replied to.
    pub fn is_answered(&self) -> bool {
        self.answered || self.status == LeadStatus::Replied
    }
}

/// A lead.
#[derive(Clone, PartialEq, Debug)]
pub struct Lead {
    /// Its number, unique across businesses.
    pub id: LeadId,
    /// Its number within the business: 1, 2, 3 … without gaps, given when it was created and never again.
    pub reference: i64,
    /// When it came in.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// Which state of it this is.
    pub version: Version,
    /// Everything else.
    pub content: LeadDraft,
}
