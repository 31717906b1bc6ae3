//! The use cases of the messages and notes of a lead.

use forecourt_accounts::{Business, Caller};
use forecourt_kernel::{
    Clock, Cursor, Email, LeadId, LeadMessageId, LeadNoteId, Mail, Page, PageRequest, Position, Target,
    ValidationErrors, bounds::MAX_NOTES,
};
use forecourt_reference::LeadChannel;

use super::{lock, save};
use crate::{
    ConversationReader, ConversationStore, Direction, LeadDraft, LeadError, LeadMessage, LeadNote, LeadReader,
    LeadStatus, NewLeadNote, NewMessage,
    conversation::MAX_MESSAGES_READ,
    mails::LeadReply,
    message::{validate_lead_note, validate_message},
};

/// The page of a lead's newest messages, with the maximum number that is read together.
pub(super) fn newest() -> PageRequest {
    PageRequest {
        position: Position::After(Cursor::at([i64::MAX])),
        per_page: u32::try_from(MAX_MESSAGES_READ).unwrap_or(PageRequest::DEFAULT_PER_PAGE),
    }
}

/// Returns a page of a lead's messages, newest first.
///
/// # Errors
/// [`LeadError::NotFound`], [`LeadError::Store`].
pub async fn list_messages(
    store: &mut dyn ConversationReader,
    by: &Caller,
    lead: LeadId,
    page: &PageRequest,
) -> Result<Page<LeadMessage>, LeadError> {
    let messages = store.lead_messages(by.business_id(), lead, page).await?;
    messages.ok_or(LeadError::NotFound(lead))
}

/// Returns one message of a lead.
///
/// # Errors
/// [`LeadError::NotFound`], then [`LeadError::MessageNotFound`]; [`LeadError::Store`].
pub async fn read_message(
    store: &mut dyn ConversationReader,
    by: &Caller,
    lead: LeadId,
    id: LeadMessageId,
) -> Result<LeadMessage, LeadError> {
    let found = list_messages(store, by, lead, &PageRequest::of_one(id.get())).await?;
    let found = found.items.into_iter().find(|message| message.id == id);
    found.ok_or(LeadError::MessageNotFound(id))
}

/// Returns the mail that [`add_message`] would queue for `message`, to check its recipient; `None` if it would queue none. A
/// caller asks the mail server outside of any transaction if it accepts the recipient, and only then adds the message.
///
/// # Errors
/// As for [`add_message`].
pub async fn outgoing_mail(
    store: &mut dyn LeadReader,
    by: &Caller,
    lead: impl Into<Target<LeadId>>,
    message: &NewMessage,
) -> Result<Option<Mail>, LeadError> {
    validate_message(message, ValidationErrors::new()).into_result(())?;
    let Target { id, precondition } = lead.into();
    let lead = store.lead(by.business_id(), id).await?.ok_or(LeadError::NotFound(id))?;
    precondition.check(lead.version)?;
    if !is_mailed(message, &lead.content) {
        return Ok(None);
    }
    Ok(Some(Mail::new(
        address(&lead.content)?,
        &message.subject,
        &message.body,
    )))
}

/// Adds a message to a lead's conversation. The lead's status becomes `new_message` or `replied`, its version is raised, and an
/// event is recorded. A message from the business by email is queued as a mail. A message from the sender requests a reading of
/// the conversation.
///
/// # Errors
/// [`LeadError::Invalid`] as found by [`validate_message`], then [`LeadError::NotFound`], then [`LeadError::VersionMismatch`].
/// For a message to be mailed, then [`LeadError::NoAddress`] if the lead has no email address, then [`LeadError::TooManyMails`]
/// if the business has reached its daily number of mails. [`LeadError::Store`].
pub async fn add_message(
    store: &mut dyn ConversationStore,
    clock: &dyn Clock,
    by: &Caller,
    lead: impl Into<Target<LeadId>>,
    message: NewMessage,
) -> Result<LeadMessage, LeadError> {
    validate_message(&message, ValidationErrors::new()).into_result(())?;
    let stored = lock(store, by, lead).await?;
    let (business, lead, now) = (by.business_id(), stored.id, clock.now());
    let channel = message.channel.unwrap_or(stored.content.channel);
    let recipient = if is_mailed(&message, &stored.content) {
        let earlier = store.lead_messages(business, lead, &newest()).await?;
        let earlier = earlier.map(|page| page.items).unwrap_or_default();
        Some((address(&stored.content)?, continued(&stored.content, &earlier)))
    } else {
        None
    };

    let added = store.insert_lead_message(business, lead, message, channel, now).await?;
    let status = match added.direction {
        Direction::Out => LeadStatus::Replied,
        Direction::In => LeadStatus::NewMessage,
    };
    let content = LeadDraft {
        status,
        // Only a closed lead has a day to reopen on.
        reopen: None,
        ..stored.content.clone()
    };
    let mail = recipient.map(|(address, continued)| reply_mail(&added, &content, address, continued, &by.business));
    save(store, now, &by.business, stored, content).await?;
    if let Some(mail) = mail
        && !store.queue_awaited_mail(business, mail, now).await?
    {
        return Err(LeadError::TooManyMails);
    }
    if added.direction == Direction::In {
        store.request_assessment(business, lead, now).await?;
    }
    Ok(added)
}

/// Returns a page of a lead's notes, newest first.
///
/// # Errors
/// [`LeadError::NotFound`], [`LeadError::Store`].
pub async fn list_lead_notes(
    store: &mut dyn ConversationReader,
    by: &Caller,
    lead: LeadId,
    page: &PageRequest,
) -> Result<Page<LeadNote>, LeadError> {
    let notes = store.lead_notes(by.business_id(), lead, page).await?;
    notes.ok_or(LeadError::NotFound(lead))
}

/// Returns one note of a lead.
///
/// # Errors
/// [`LeadError::NotFound`], then [`LeadError::NoteNotFound`]; [`LeadError::Store`].
pub async fn read_lead_note(
    store: &mut dyn ConversationReader,
    by: &Caller,
    lead: LeadId,
    id: LeadNoteId,
) -> Result<LeadNote, LeadError> {
    let found = list_lead_notes(store, by, lead, &PageRequest::of_one(id.get())).await?;
    let found = found.items.into_iter().find(|note| note.id == id);
    found.ok_or(LeadError::NoteNotFound(id))
}

/// Adds a note to a lead. The lead itself does not change: its stamp stays, and there is no event (decisions §9).
///
/// # Errors
/// [`LeadError::Invalid`] as found by [`validate_lead_note`], then [`LeadError::NotFound`], then [`LeadError::VersionMismatch`],
/// then [`LeadError::Invalid`] if the lead has the maximum number of notes; [`LeadError::Store`].
pub async fn add_lead_note(
    store: &mut dyn ConversationStore,
    clock: &dyn Clock,
    by: &Caller,
    lead: impl Into<Target<LeadId>>,
    note: NewLeadNote,
) -> Result<LeadNote, LeadError> {
    validate_lead_note(&note, &by.business, ValidationErrors::new()).into_result(())?;
    let lead = lock(store, by, lead).await?.id;
    if store.count_lead_notes(by.business_id(), lead).await? >= MAX_NOTES {
        let message = format!("cannot be added: a lead has at most {MAX_NOTES} notes");
        return Err(ValidationErrors::one("note", message).into());
    }
    let at = clock.now();
    Ok(store.insert_lead_note(by.business_id(), lead, note, at).await?)
}

/// Deletes a note of a lead.
///
/// # Errors
/// [`LeadError::NotFound`], then [`LeadError::NoteNotFound`], then [`LeadError::VersionMismatch`]; [`LeadError::Store`].
pub async fn delete_lead_note(
    store: &mut dyn ConversationStore,
    by: &Caller,
    lead: impl Into<Target<LeadId>>,
    note: LeadNoteId,
) -> Result<(), LeadError> {
    let Target { id, precondition } = lead.into();
    let lead = lock(store, by, id).await?;
    if !store.delete_lead_note(by.business_id(), id, note).await? {
        return Err(LeadError::NoteNotFound(note));
    }
    // Last, because a missing note takes precedence. The transaction undoes the deletion.
    Ok(precondition.check(lead.version)?)
}

/// Returns `true` if the message is sent as a mail: it is from the business, and its channel is email.
fn is_mailed(message: &NewMessage, lead: &LeadDraft) -> bool {
    message.direction == Direction::Out && message.channel.unwrap_or(lead.channel) == LeadChannel::Email
}

/// Returns the address for answers to the lead.
fn address(lead: &LeadDraft) -> Result<String, LeadError> {
    let address = lead.email.parse::<Email>();
    Ok(address.map_err(|_| LeadError::NoAddress)?.into_string())
}

/// Returns the `Message-ID` of the mail that a reply continues: the latest sent mail, or else the mail that the lead was created
/// from.
fn continued(lead: &LeadDraft, newest_first: &[LeadMessage]) -> Option<String> {
    let was_mailed =
        |message: &&LeadMessage| message.direction == Direction::Out && message.channel == LeadChannel::Email;
    let sent = newest_first.iter().find(was_mailed).map(LeadMessage::mail_id);
    sent.or_else(|| Some(lead.data.text("message_id")).filter(|id| !id.is_empty()))
}

fn reply_mail(
    message: &LeadMessage,
    lead: &LeadDraft,
    address: String,
    continued: Option<String>,
    business: &Business,
) -> Mail {
    let earlier = lead.data.text("subject");
    let subject = match (message.subject.as_str(), earlier.as_str()) {
        ("", "") => String::new(),
        ("", earlier) => format!("Re: {earlier}"),
        (subject, _) => subject.to_owned(),
    };
    let content = LeadReply {
        business: &business.name,
        subject: &subject,
        message: &message.body,
    };
    let mut mail = business.mail(address, &content);
    // Ends like the reply, without the line break at the end of the template.
    if mail.text.ends_with('\n') {
        mail.text.pop();
    }
    Mail {
        message_id: Some(message.mail_id()),
        in_reply_to: continued,
        reply_to: Some(business.email.clone()).filter(|address| !address.is_empty()),
        lead: Some(message.lead),
        ..mail
    }
}
