//! Mails that a change causes: queued in its transaction, sent afterwards.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{BoxError, BusinessId, LeadId, Person, StoreResult, Timestamp};

/// A plain-text mail to one address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mail {
    /// The address that receives it.
    pub to: String,
    /// One line; line breaks in it are dropped when it is sent.
    pub subject: String,
    /// The text.
    pub text: String,
    /// What its `Message-ID` is made of, without brackets: a whole id with its domain, or what stands before the domain of the
    /// sender. `None` has the transport draw one.
    pub message_id: Option<String>,
    /// What the `Message-ID` of the mail that it continues is made of, as in [`Mail::message_id`].
    pub in_reply_to: Option<String>,
    /// The address that answers go to; `None` for the sender's.
    pub reply_to: Option<String>,
    /// The lead that it is about: while it waits, it goes with it.
    pub lead: Option<LeadId>,
}

/// Where a use case leaves a mail to be sent once its transaction has committed.
#[async_trait]
pub trait MailOutbox: Send {
    /// Queues `mail` on behalf of `business`, due from `at` on. It waits for another day if the business has sent as many as it may.
    async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()>;

    /// Queues `mail` as one of those that `business` may send in the UTC day of `at`, for a request that waits for it. Returns
    /// whether there is one left; if not, nothing is queued.
    async fn queue_awaited_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<bool>;

    /// Takes one of the mails that `business` may send in the UTC day of `at`, for one that is sent while a request waits. Returns
    /// whether there is one left.
    async fn claim_mail(&mut self, business: BusinessId, at: Timestamp) -> StoreResult<bool>;
}

impl Mail {
    /// A mail whose subject and text may be supplied by any caller: control characters that have no place in a text are
    /// dropped.
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

/// A queued mail that its taker has leased: no other server sends it until the lease ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingMail {
    /// Identifies it within the queue.
    pub id: i64,
    /// The business that it is sent for.
    pub business: BusinessId,
    /// What to send.
    pub mail: Mail,
    /// How often it was tried before.
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

    /// Finds out whether the transport would take `mail` now, without handing it over: for callers that are to learn of a wrong
    /// address while they wait. A transport that has no way to find out says yes.
    ///
    /// # Errors
    /// [`MailError::Refused`] if its address is invalid, or one that the transport refuses for good; [`MailError::Failed`] if the
    /// transport cannot be reached.
    async fn check(&self, mail: &Mail) -> Result<(), MailError> {
        let _ = mail;
        Ok(())
    }

    /// Removes what the transport keeps of sent mails that name this person; answers how many. One that keeps none does nothing.
    ///
    /// # Errors
    /// [`MailError::Failed`] if that cannot be found out now.
    async fn forget_person(&self, person: Arc<Person>) -> Result<usize, MailError> {
        let _ = person;
        Ok(0)
    }
}

/// Why a mail was not sent.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The mail itself is at fault: its address is invalid, or one that the server refuses for good.
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
