//! Messages between the sender of an enquiry and the business, and notes.

use std::str::FromStr;

use forecourt_kernel::{
    LeadId, LeadMessageId, LeadNoteId, StaffId, Timestamp, ValidationErrors,
    bounds::{MAX_LINE_CHARS, MAX_TEXT_CHARS, has_line_break},
};
use forecourt_reference::{LeadChannel, UnknownValue};
use serde::Serialize;

/// The author of a message.
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
    /// The name in the API.
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
    /// The author of the message.
    pub direction: Direction,
    /// The channel of the message; `None` for the lead's channel.
    pub channel: Option<LeadChannel>,
    /// Its subject; empty if it has none.
    pub subject: String,
    /// Its text.
    pub body: String,
}

/// A message of a lead's conversation, as it is stored and shown (decisions §5).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeadMessage {
    /// Message id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub id: LeadMessageId,
    /// Lead id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub lead: LeadId,
    /// Time of creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub created: Timestamp,
    /// `in` from the sender of the enquiry, `out` from the business.
    pub direction: Direction,
    /// Channel of the message.
    pub channel: LeadChannel,
    /// Its subject; empty if it has none.
    pub subject: String,
    /// Its text.
    pub body: String,
    /// Staff user id of its author; null if unknown, as for all messages added with a key.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub user: Option<StaffId>,
}

impl LeadMessage {
    /// Returns the beginning of the mail's `Message-ID`. It can be computed at any time, so that a later reply can refer to it.
    /// It stays the same for each attempt to send the mail, so that receivers recognise a second copy.
    pub(crate) fn mail_id(&self) -> String {
        let Self { id, lead, created, .. } = self;
        format!("lead.{lead}.{id}.{}", created.epoch_seconds())
    }
}

/// A note on a lead, as it is stored and shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeadNote {
    /// Note id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub id: LeadNoteId,
    /// Lead id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub lead: LeadId,
    /// Time of writing, epoch seconds.
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
    /// The staff user who writes it.
    pub user: Option<StaffId>,
}

/// Validates a message. `found` has the faults from reading the body, and is returned with those found here. A field that is
/// already invalid is not validated again.
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

/// Validates a note; `found` as for [`validate_message`].
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

/// Validates a required longer text.
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
