//! Enquiries that arrived as mails, read from files.

use forecourt_accounts::Business;
use forecourt_kernel::{
    Clock, Email, ValidationErrors,
    bounds::{MAX_ITEMS, MAX_LINE_CHARS, MAX_TEXT_CHARS},
};
use forecourt_reference::LeadChannel;
use serde_json::{Map, Value};

use crate::{ConversationStore, Lead, LeadData, LeadDraft, LeadError, service::insert_new};

/// The maximum length of a `Message-ID`, in bytes, since a line of a mail is not longer.
const MAX_ID_BYTES: usize = 998;

/// A parsed mail.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EnquiryMail {
    /// Its `Message-ID`, without brackets.
    pub message_id: String,
    /// The sender's name; empty if it is not given.
    pub name: String,
    /// The sender's address.
    pub address: String,
    /// Its subject.
    pub subject: String,
    /// Its text.
    pub text: String,
    /// The names of its attachments, whose content is not stored.
    pub attachments: Vec<String>,
}

/// Creates a lead from a mail, as [`create_lead`](crate::create_lead) does from a request. Returns `None` if the mail has already
/// become a lead. Mails are identified by their `Message-ID` within a business.
///
/// # Errors
/// [`LeadError::Invalid`] if the mail has no `Message-ID`, or a part of it is longer than a lead's may be; [`LeadError::Store`].
pub async fn create_lead_from_mail(
    store: &mut dyn ConversationStore,
    clock: &dyn Clock,
    business: &Business,
    mail: EnquiryMail,
) -> Result<Option<Lead>, LeadError> {
    let mut errors = validate(&mail);
    let message_id = mail.message_id.clone();
    let mut draft = LeadDraft {
        channel: LeadChannel::Email,
        name: mail.name.clone(),
        email: address(&mail).map(Email::into_string).unwrap_or_default(),
        ..LeadDraft::blank(&business.catalogue)
    };
    match LeadData::default().merged(data(mail)) {
        Ok(data) => draft.data = data,
        Err(too_large) => errors.add("data", too_large.to_string()),
    }
    errors.into_result(())?;
    if !store.note_enquiry_mail(business.id, &message_id).await? {
        return Ok(None);
    }
    insert_new(store, clock, business, draft, None, true).await.map(Some)
}

/// Returns the faults of a mail.
fn validate(mail: &EnquiryMail) -> ValidationErrors {
    let EnquiryMail {
        message_id,
        name,
        address,
        subject,
        text,
        attachments,
    } = mail;
    let mut errors = ValidationErrors::new();
    if message_id.is_empty() {
        errors.add("Message-ID", "is required: a mail that comes again is recognised by it");
    } else if message_id.len() > MAX_ID_BYTES || message_id.contains(|character: char| character.is_control()) {
        errors.add(
            "Message-ID",
            format!("must be plain text of at most {MAX_ID_BYTES} bytes"),
        );
    }
    for (header, line) in [("From", name), ("From", address), ("Subject", subject)] {
        if line.chars().nth(MAX_LINE_CHARS).is_some() {
            errors.add(header, format!("must have at most {MAX_LINE_CHARS} characters"));
        }
    }
    if text.chars().nth(MAX_TEXT_CHARS).is_some() {
        errors.add("text", format!("must have at most {MAX_TEXT_CHARS} characters"));
    }
    let is_too_long = |name: &String| name.chars().nth(MAX_LINE_CHARS).is_some();
    if attachments.len() > MAX_ITEMS || attachments.iter().any(is_too_long) {
        let bounds = format!("must be at most {MAX_ITEMS}, with names of at most {MAX_LINE_CHARS} characters");
        errors.add("attachments", bounds);
    }
    errors
}

/// Returns the sender's address, if it is valid.
fn address(mail: &EnquiryMail) -> Option<Email> {
    mail.address.parse().ok()
}

/// Returns the other data of the lead, including an invalid address.
fn data(mail: EnquiryMail) -> Map<String, Value> {
    let mut data = Map::new();
    let mut keep = |member: &str, text: String| {
        if !text.is_empty() {
            data.insert(member.to_owned(), Value::String(text));
        }
    };
    let has_address = address(&mail).is_some();
    let EnquiryMail {
        message_id,
        name: _,
        address,
        subject,
        text,
        attachments,
    } = mail;
    if !has_address {
        keep("email", address);
    }
    keep("subject", subject);
    keep("message", text);
    // A reply refers to it, and so continues the sender's thread.
    keep("message_id", message_id);
    if !attachments.is_empty() {
        data.insert("attachments".to_owned(), attachments.into());
    }
    data
}
