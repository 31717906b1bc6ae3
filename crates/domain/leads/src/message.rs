//! What the sender of an enquiry and the business write to each other.

use std::str::FromStr;

use forecourt_kernel::{
    LeadId, LeadMessageId, LeadNoteId, StaffId, Timestamp, ValidationErrors,
    bounds::{MAX_LINE_CHARS, MAX_TEXT_CHARS, has_line_break},
};
use forecourt_reference::{LeadChannel, UnknownValue};
use serde::Serialize;

/// Who wrote a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = LeadMessageDirection))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The sender of the enquiry.
    In,
    /// The business.
    Out,
}

impl Direction {
    /// The name, as the API carries it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
        }
    }
}

impl FromStr for Direction {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match text {
            "in" => Ok(Self::In),
            "out" => Ok(Self::Out),
            _ => Err(UnknownValue(&["in", "out"])),
        }
    }
}

/// `POST /2.0/leads/{id}/messages`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewMessage {
    /// Who wrote it.
    pub direction: Direction,
    /// The way on which it went; `None` is the lead's.
    pub channel: Option<LeadChannel>,
    /// Its subject; empty if it has none.
    pub subject: String,
    /// Its text.
    pub body: String,
}

/// A message of a lead's conversation, as it is kept and as it is shown (decisions §5).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeadMessage {
    /// Message id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub id: LeadMessageId,
    /// The lead that it belongs to.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub lead: LeadId,
    /// When it was added, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub created: Timestamp,
    /// in from the sender of the enquiry, out from the business.
    pub direction: Direction,
    /// The channel that it went on.
    pub channel: LeadChannel,
    /// Its subject; empty if it has none.
    pub subject: String,
    /// Its text.
    pub body: String,
    /// Staff user id of its author; null if none is known, as with all that a key adds.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub user: Option<StaffId>,
}

impl LeadMessage {
    /// What the `Message-ID` of the mail begins with that the message is sent as. It can be worked out at any time, so that a later
    /// reply can name it, and it stays the same however often the mail is tried, so that receivers recognise a second copy.
    pub(crate) fn mail_id(&self) -> String {
        let Self { id, lead, created, .. } = self;
        format!("lead.{lead}.{id}.{}", created.epoch_seconds())
    }
}

/// A note on a lead, as it is kept and as it is shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeadNote {
    /// Note id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub id: LeadNoteId,
    /// The lead that it is on.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub lead: LeadId,
    /// When it was written, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub created: Timestamp,
    /// Staff user id of its author; null if none was named.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub user: Option<StaffId>,
    /// The text.
    pub note: String,
}

/// `POST /2.0/leads/{id}/notes`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewLeadNote {
    /// The text; line breaks are part of it.
    pub note: String,
    /// Who of the staff writes it.
    pub user: Option<StaffId>,
}

/// Checks a message. `found` holds the faults of reading the body, and is returned with those found here; a field that is invalid
/// already is not checked again.
pub fn validate_message(message: &NewMessage, found: ValidationErrors) -> ValidationErrors {
    let mut errors = found;
    if message.subject.chars().nth(MAX_LINE_CHARS).is_some() {
        add(
            &mut errors,
            "subject",
            format!("must have at most {MAX_LINE_CHARS} characters"),
        );
    }
    if has_line_break(&message.subject) {
        add(&mut errors, "subject", "must not have line breaks".to_owned());
    }
    text(&mut errors, "body", &message.body);
    errors
}

/// Checks a note; `found` as for [`validate_message`].
pub fn validate_lead_note(
    note: &NewLeadNote,
    business: &forecourt_accounts::Business,
    found: ValidationErrors,
) -> ValidationErrors {
    let mut errors = found;
    text(&mut errors, "note", &note.note);
    if let Some(user) = note.user
        && !business.catalogue.has_staff(user)
    {
        add(
            &mut errors,
            "user",
            format!("names {user}, who is no staff user of this business"),
        );
    }
    errors
}

/// A longer text that has to be there.
fn text(errors: &mut ValidationErrors, field: &str, text: &str) {
    if text.trim().is_empty() {
        add(errors, field, "must not be empty".to_owned());
    } else if text.chars().nth(MAX_TEXT_CHARS).is_some() {
        add(errors, field, format!("must have at most {MAX_TEXT_CHARS} characters"));
    }
}

fn add(errors: &mut ValidationErrors, field: &str, message: String) {
    if !errors.as_slice().iter().any(|error| error.field == field) {
        errors.add(field, message);
    }
}
