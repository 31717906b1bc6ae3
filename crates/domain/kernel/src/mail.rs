//! Mails that a change causes: queued in its transaction and sent afterwards.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{BoxError, BusinessId, LeadId, Person, StoreResult, Timestamp};

/// A plain-text mail to one address.
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
}

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
    fn what_no_text_holds_is_dropped() {
        let mail = Mail::new("a@example.com", "Lead\r\nBcc: b\0", "line\r\nline\0\tend");
        assert_eq!(
            (mail.subject.as_str(), mail.text.as_str()),
            ("LeadBcc: b", "line\nline\tend")
        );
    }
}
