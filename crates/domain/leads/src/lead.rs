//! The record of an enquiry.

use forecourt_accounts::Rules;
use forecourt_kernel::{
    Change, ContactId, Country, Date, Email, Field, FromJson, InvalidValue, LeadId, Line, OrEmpty, Phone, SiteId,
    StaffId, Timestamp, VehicleId, Version, Words, bounds::has_line_break, is_one_line,
};
use forecourt_reference::{Catalogue, LeadChannel, LeadType, TagChoice, TagChoices, TagResource};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ContactSuggestion, LeadData, LeadStatus, NamedTwice, VehicleChoice};

/// Readiness to buy according to the AI: 1 (not a buyer) to 5 (ready to transact).
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

/// The AI's confidence that a message is junk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum JunkConfidence {
    /// A guess.
    Low,
    /// Likely.
    Medium,
    /// Almost certain.
    High,
}

/// The latest AI read of a lead's conversation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AiRead {
    /// The subject of the enquiry.
    pub intent: Option<LeadType>,
    /// The reason for the rating.
    pub rating_reason: Option<String>,
    /// The suggested next step.
    pub next_action: Option<String>,
    /// Set if the latest message was found to be junk.
    pub junk: bool,
    /// The confidence of `junk`.
    pub junk_confidence: Option<JunkConfidence>,
    /// The time of the read.
    pub processed: Option<Timestamp>,
}

/// The author and the time of marking a lead as junk (decisions §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JunkMark {
    /// The author of the mark.
    pub by: JunkedBy,
    /// The time of the mark.
    pub at: Timestamp,
    /// The AI's confidence; `None` for a mark by a user.
    pub confidence: Option<JunkConfidence>,
}

/// The author of a junk mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JunkedBy {
    /// The AI that reads leads.
    Ai,
    /// A caller of the API.
    User,
}

/// The types of an enquiry.
pub type LeadTypes = Words<LeadType>;

// The serialised form of the content is also the stored form, one document: a new field needs `#[serde(default)]` before its
// stored type, and no field is ever renamed.
forecourt_kernel::fields! {
    /// The fields of a lead, without its identity and timestamps. A field by which lists are filtered also has a column of its
    /// own.
    #[derive(Serialize, Deserialize)]
    content LeadDraft;
    /// A new lead, or changes to one. No field is required.
    #[cfg_attr(feature = "openapi", schema(as = LeadBody, example = json!({"name": "Ann Lee", "email": "ann@example.com", "mobile": "+447700900123", "type": ["test_drive"], "data": {"message": "Is it still for sale?"}})))]
    changes LeadChanges, validated by Rules<'_>;

    /// Site of the business; 0 means none.
    site: i64 => SiteId;
    /// The channel of the enquiry; api by default.
    channel: LeadChannel => LeadChannel;
    /// The channel's own reference, such as a thread id; shown as data.channel_id.
    sent channel_id: Line;
    /// Name.
    name: Line => String, rule is_one_line;
    /// Email address.
    email: EmailText => String;
    /// Landline, in international format.
    phone: PhoneLine => String;
    /// Mobile, in international format.
    mobile: PhoneLine => String;
    /// Id of an existing contact to link.
    contact: i64 => Option<ContactId>;
    /// The subject of the enquiry: an id of /2.0/reference/lead-types, several separated by commas, or an array; email by
    /// default.
    types as "type": LeadTypes => Vec<LeadType>;
    /// 0 to 5. After creation, the status endpoint is the better way to change it.
    status: #[cfg_attr(feature = "openapi", schema(value_type = Option<u8>, maximum = 5))] i64 => LeadStatus;
    /// Readiness to buy according to the AI; `None` until it has rated the lead.
    kept rating: Option<Rating>;
    /// The AI's summary of the conversation, at most 12 words.
    kept summary: Option<String>;
    /// The visitor's session; empty if unknown.
    kept session: String;
    /// The sender's avatar; empty if there is none.
    kept avatar: String;
    /// The staff users who handle the lead.
    kept assign: Vec<StaffId>;
    /// The full set of tags, each a name or {name, checked}; names must exist.
    tags as "tag": TagChoices => Vec<TagChoice>, rule are_known;
    /// Set if it counts toward reports.
    kept stat: bool;
    /// The day on which it reopens. Only a closed lead has one.
    kept reopen: Option<Date>;
    /// Free-form data, at most 64 KiB. Changes are merged by top-level member; null removes a member.
    data: #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))] Map<String, Value> => LeadData, rule has_one_line_subject;
    /// The AI's latest read; `None` until it has run.
    kept ai: Option<AiRead>;
    /// The only contact that the sender may be, as long as the lead names no contact.
    kept suggestion: #[serde(default, skip_serializing_if = "Option::is_none")] Option<ContactSuggestion>;
    /// The vehicles that it concerns, in the order in which they were associated.
    kept vehicles: #[serde(default, skip_serializing_if = "Vec::is_empty")] Vec<VehicleId>;
    /// The mark of a junk lead. No other lead has one.
    kept junk: #[serde(default, skip_serializing_if = "Option::is_none")] Option<JunkMark>;
    /// Set if it was ever replied to; not shown. Later changes of status do not clear it.
    kept answered: #[serde(default, skip_serializing_if = "std::ops::Not::not")] bool;
    /// False to create a lead without notifying the business; true by default. On creation only.
    sent notify: bool;
    /// Id of the stock vehicle that the enquiry concerns. On creation only.
    sent vehicle: i64;
    /// Tag of the stock vehicle that the enquiry concerns. On creation only.
    sent vehicle_tag: Line;
}

fn has_one_line_subject(data: &Field<Map<String, Value>>, _: &Rules<'_>) -> InvalidValue {
    let mut faults = InvalidValue::default();
    let subject = data.value().and_then(|data| data.get("subject")?.as_str());
    if subject.is_some_and(has_line_break) {
        faults.add_within("subject", InvalidValue::here("must not have line breaks"));
    }
    faults
}

/// An email address, or the empty text.
pub type EmailText = OrEmpty<Email>;

/// A telephone number, or the empty text. Without a country code it is read as a number of the business's country. It is stored
/// in E.164.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhoneLine(Line);

impl PhoneLine {
    /// Returns the number, unless it is empty.
    fn read(&self, home: Country) -> Result<Option<Phone>, InvalidValue> {
        if self.0.trim().is_empty() {
            return Ok(None);
        }
        let phone = Phone::parse(&self.0, home).map_err(|error| InvalidValue::here(error.to_string()))?;
        Ok(Some(phone))
    }
}

impl From<Phone> for PhoneLine {
    fn from(phone: Phone) -> Self {
        // A number in E.164 has at most 15 digits.
        Self(Line::new(phone.into_string()).unwrap_or_default())
    }
}

impl FromJson for PhoneLine {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        Line::from_json(value).map(Self)
    }
}

impl Change<String, Rules<'_>> for PhoneLine {
    fn rule_faults(&self, rules: &Rules<'_>) -> InvalidValue {
        self.read(rules.business.country).err().unwrap_or_default()
    }

    fn apply(self, stored: &mut String, _: &String, rules: &Rules<'_>) {
        if let Ok(phone) = self.read(rules.business.country) {
            *stored = phone.map(Phone::into_string).unwrap_or_default();
        }
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for PhoneLine {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        Line::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for PhoneLine {
    fn name() -> std::borrow::Cow<'static, str> {
        <Line as utoipa::ToSchema>::name()
    }
}

/// A status is written as its code.
impl Change<LeadStatus, Rules<'_>> for i64 {
    fn rule_faults(&self, _: &Rules<'_>) -> InvalidValue {
        match LeadStatus::from_code(*self) {
            Some(_) => InvalidValue::default(),
            None => InvalidValue::here("must be a status code from 0 to 5"),
        }
    }

    fn apply(self, stored: &mut LeadStatus, _: &LeadStatus, _: &Rules<'_>) {
        *stored = LeadStatus::from_code(self).unwrap_or(*stored);
    }
}

/// Merges the members of a change into the stored ones.
impl Change<LeadData, Rules<'_>> for Map<String, Value> {
    fn apply(self, stored: &mut LeadData, _: &LeadData, _: &Rules<'_>) {
        stored.merge(self);
    }
}

fn are_known(tags: &Field<TagChoices>, rules: &Rules<'_>) -> InvalidValue {
    let faults = |choices: &TagChoices| rules.tag_faults(TagResource::Lead, choices);
    tags.value().map(faults).unwrap_or_default()
}

impl LeadChanges {
    /// Returns the vehicle that a new lead concerns. An empty tag names none.
    ///
    /// # Errors
    /// [`NamedTwice`] if it is named by its id and by its tag.
    pub fn vehicle_choice(&self) -> Result<Option<VehicleChoice>, NamedTwice> {
        let tag = self.vehicle_tag.value().filter(|tag| !tag.is_empty());
        VehicleChoice::of(
            self.vehicle.value().copied().map(VehicleId::new),
            tag.map(|tag| tag.as_str().to_owned()),
        )
    }
}

impl LeadDraft {
    /// The defaults of the fields.
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
            vehicles: Vec::new(),
            junk: None,
            answered: false,
        }
    }

    /// Returns `true` if the lead was ever replied to.
    pub fn is_answered(&self) -> bool {
        self.answered || self.status == LeadStatus::Replied
    }
}

impl LeadDraft {
    /// Sets the junk mark if the lead has become junk since `before`, and removes it once the lead is not junk.
    pub(crate) fn mark_junk(&mut self, before: Option<&Self>, now: Timestamp) {
        self.junk = match (self.status, before) {
            (LeadStatus::Junk, Some(before)) if before.status == LeadStatus::Junk => before.junk,
            (LeadStatus::Junk, _) => self.junk.or(Some(JunkMark {
                by: JunkedBy::User,
                at: now,
                confidence: None,
            })),
            _ => None,
        };
    }
}

impl Lead {
    /// Returns the lead with the vehicles that it concerns, given in the order in which they were associated. Vehicles that were
    /// deleted since its last change are left out. The version then is that of the representation without them.
    #[must_use]
    pub fn concerning(mut self, associated: &[VehicleId]) -> Self {
        let known = &self.content.vehicles;
        let kept = known.iter().filter(|vehicle| associated.contains(vehicle));
        let others = associated.iter().filter(|vehicle| !known.contains(vehicle));
        let vehicles: Vec<VehicleId> = kept.chain(others).copied().collect();
        if vehicles != self.content.vehicles {
            self.version = self.version.shown_with(&vehicles);
            self.content.vehicles = vehicles;
        }
        self
    }

    /// Returns the junk mark of a junk lead. If the lead became junk before marks were stored, the mark is derived from the AI's
    /// read.
    pub(crate) fn junk_mark(&self) -> Option<JunkMark> {
        let LeadDraft { status, junk, ai, .. } = &self.content;
        if *status != LeadStatus::Junk {
            return None;
        }
        let by_ai = ai.as_ref().filter(|read| read.junk);
        let guess = || JunkMark {
            by: by_ai.map_or(JunkedBy::User, |_| JunkedBy::Ai),
            at: by_ai.and_then(|read| read.processed).unwrap_or(self.updated),
            confidence: by_ai.and_then(|read| read.junk_confidence),
        };
        Some(junk.unwrap_or_else(guess))
    }
}

/// A lead.
#[derive(Clone, PartialEq, Debug)]
pub struct Lead {
    /// The lead's id, unique across businesses.
    pub id: LeadId,
    /// Its reference within the business: 1, 2, 3 … without gaps. It is assigned on creation and never reused.
    pub reference: i64,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// The record's version.
    pub version: Version,
    /// All other fields.
    pub content: LeadDraft,
}
