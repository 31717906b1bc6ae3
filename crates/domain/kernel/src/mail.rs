//! Mails that a change causes: queued in its transaction and sent afterwards.

use std::{fmt, sync::Arc};

use async_trait::async_trait;

use crate::{BoxError, BusinessId, ContactId, LeadId, Person, StoreResult, Timestamp};

/// A plain-text mail to one address, which may carry files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mail {
    /// The address that receives it.
    pub to: String,
    /// The subject, a single line. Line breaks in it are dropped when the mail is sent.
    pub subject: String,
    /// The text.
    pub text: String,
    /// The source of the `Message-ID`, without brackets: a whole id with its domain, or the part before the sender's domain. With
    /// `None` the transport generates one.
    pub message_id: Option<String>,
    /// The source of the `Message-ID` of the mail that this one answers, in the form of [`Mail::message_id`].
    pub in_reply_to: Option<String>,
    /// The address for answers; `None` for the sender's.
    pub reply_to: Option<String>,
    /// The lead that the mail is about. A mail that still waits is deleted with its lead.
    pub lead: Option<LeadId>,
    /// The files that go with the text.
    pub attachments: Vec<Attachment>,
    /// The contact whom the attachments are about. No text can be searched for a person in them, so a mail that is kept anywhere
    /// is deleted with its contact.
    pub contact: Option<ContactId>,
}

/// A file that goes with a mail.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The name of the file.
    pub name: String,
    /// Its media type, such as `application/pdf`.
    pub media_type: String,
    /// The content.
    pub content: Arc<[u8]>,
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            media_type,
            content,
        } = self;
        write!(f, "{name} ({media_type}, {} bytes)", content.len())
    }
}

/// The attachments of a mail are larger than mail servers take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the attachments of a mail may have at most {} bytes together",
    Mail::MAX_ATTACHED_BYTES
)]
pub struct AttachmentsTooLarge;

/// The queue of mails that are sent after the transaction of a use case has committed.
#[async_trait]
pub trait MailOutbox: Send {
    /// Queues `mail` for `business`, due from `at` on. The mail waits for another day if the business has reached its daily
    /// limit.
    async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()>;

    /// Queues `mail` for a request that waits for it, and counts it towards the mails of `business` in the UTC day of `at`.
    /// Returns `false`, and queues nothing, if the daily limit is reached.
    async fn queue_awaited_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<bool>;

    /// Counts one mail towards the mails of `business` in the UTC day of `at`; the caller sends it itself while a request waits.
    /// Returns `false` if the daily limit is reached.
    async fn claim_mail(&mut self, business: BusinessId, at: Timestamp) -> StoreResult<bool>;

    /// Queues `mail`, which was counted by [`MailOutbox::claim_mail`] before and cannot be sent while the request waits.
    async fn queue_claimed_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()>;
}

impl Mail {
    /// The maximum number of bytes of all attachments of a mail.
    pub const MAX_ATTACHED_BYTES: usize = 5 * 1024 * 1024;

    /// Returns the mail with a further attachment.
    ///
    /// # Errors
    /// [`AttachmentsTooLarge`].
    pub fn attach(mut self, attachment: Attachment) -> Result<Self, AttachmentsTooLarge> {
        self.attachments.push(attachment);
        if self.attached_bytes() > Self::MAX_ATTACHED_BYTES {
            return Err(AttachmentsTooLarge);
        }
        Ok(self)
    }

    /// Returns the number of bytes of all attachments.
    pub fn attached_bytes(&self) -> usize {
        self.attachments.iter().map(|attachment| attachment.content.len()).sum()
    }

    /// Creates a mail whose subject and text may come from any caller. Control characters are dropped, except line breaks and
    /// tabs in the text.
    pub fn new(to: impl Into<String>, subject: &str, text: &str) -> Self {
        let printable = |character: &char| !character.is_control() || matches!(character, '\n' | '\t');
        Self {
            to: to.into(),
            subject: subject.chars().filter(|character| !character.is_control()).collect(),
            text: text.chars().filter(printable).collect(),
            ..Self::default()
        }
    }
}

/// A queued mail that a worker has leased: no other server sends it until the lease ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingMail {
    /// The mail's id within the queue.
    pub id: i64,
    /// The business for which the mail is sent.
    pub business: BusinessId,
    /// The mail.
    pub mail: Mail,
    /// The number of earlier attempts.
    pub attempts: u32,
}

/// Sends mails.
#[async_trait]
pub trait Mailer: Send + Sync {
    /// Hands `mail` over to its transport.
    ///
    /// # Errors
    /// [`MailError::Refused`] if no further try can succeed, [`MailError::Failed`] if one may.
    async fn send(&self, mail: &Mail) -> Result<(), MailError>;

    /// Checks whether the transport would accept `mail` now, without handing it over. It serves callers that must learn of a
    /// wrong address while they wait. A transport that cannot check accepts every mail.
    ///
    /// # Errors
    /// [`MailError::Refused`] if its address is invalid, or one that the transport refuses for good; [`MailError::Failed`] if the
    /// transport cannot be reached.
    async fn check(&self, mail: &Mail) -> Result<(), MailError> {
        let _ = mail;
        Ok(())
    }

    /// Removes sent mails that name this person from the transport's storage, and returns their number. A transport that keeps no
    /// mails does nothing.
    ///
    /// # Errors
    /// [`MailError::Failed`] if the storage cannot be searched now.
    async fn forget_person(&self, person: Arc<Person>) -> Result<usize, MailError> {
        let _ = person;
        Ok(0)
    }
}

/// The reason why a mail was not sent.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The mail itself is at fault: its address is invalid, or the server refuses it for good.
    #[error("the mail was refused")]
    Refused(#[source] BoxError),
    /// The mail could not be sent now.
    #[error("the mail could not be sent")]
    Failed(#[source] BoxError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachments_are_bounded_together() {
        let half = Attachment {
            name: "a.pdf".into(),
            media_type: "application/pdf".into(),
            content: vec![0; Mail::MAX_ATTACHED_BYTES / 2].into(),
        };
        let mail = Mail::default()
            .attach(half.clone())
            .and_then(|mail| mail.attach(half.clone()));
        assert_eq!(mail.as_ref().map(Mail::attached_bytes), Ok(Mail::MAX_ATTACHED_BYTES));
        let one = Attachment {
            content: [0].into(),
            ..half
        };
        assert_eq!(mail.unwrap().attach(one), Err(AttachmentsTooLarge));
    }

    #[test]
    fn what_no_text_holds_is_dropped() {
        let mail = Mail::new("a@example.com", "Lead\r\nBcc: b\0", "line\r\nline\0\tend");
        assert_eq!(
            (mail.subject.as_str(), mail.text.as_str()),
            ("LeadBcc: b", "line\nline\tend")
        );
    }
}
