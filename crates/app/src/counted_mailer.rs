//! Counts the mails that any part of the server sends.

use std::sync::Arc;

use async_trait::async_trait;
use forecourt_kernel::{Mail, MailError, Mailer, Person};

const ATTEMPTS: &str = "forecourt_mail_attempts_total";
const SENT: &str = "sent";
const REFUSED: &str = "refused";
const FAILED: &str = "failed";

/// Registers the descriptions of the metrics.
pub(crate) fn describe() {
    metrics::describe_counter!(
        ATTEMPTS,
        "Attempts to send mails, by outcome: sent, refused for good, or failed"
    );
    // Registered from the start, so that the first of its kind shows as an increase.
    for outcome in [SENT, REFUSED, FAILED] {
        metrics::counter!(ATTEMPTS, "outcome" => outcome).increment(0);
    }
}

/// Sends as another mailer does, and counts the outcomes.
pub(crate) struct CountedMailer<M>(pub(crate) M);

#[async_trait]
impl<M: Mailer> Mailer for CountedMailer<M> {
    async fn send(&self, mail: &Mail) -> Result<(), MailError> {
        let sent = self.0.send(mail).await;
        let outcome = match &sent {
            Ok(()) => SENT,
            Err(MailError::Refused(_)) => REFUSED,
            Err(MailError::Failed(_)) => FAILED,
        };
        metrics::counter!(ATTEMPTS, "outcome" => outcome).increment(1);
        sent
    }

    async fn check(&self, mail: &Mail) -> Result<(), MailError> {
        self.0.check(mail).await
    }

    async fn forget_person(&self, person: Arc<Person>) -> Result<usize, MailError> {
        self.0.forget_person(person).await
    }
}
