//! Mails over SMTP.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use forecourt_kernel::{Mail, MailError, Mailer};
use lettre::{
    Message,
    address::Envelope,
    transport::smtp::{
        client::AsyncSmtpConnection,
        commands::{Data, Mail as MailFrom, Rcpt, Rset},
    },
};
use tokio::time::{Instant, timeout};

use crate::{
    InvalidSmtpUrl, MessageBuilder,
    problem::{Problem, Step},
    relay::Relay,
};

/// The maximum time for opening a connection, with TLS and login, and for announcing a mail.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum time for a server to accept a mail's content. Some check for spam meanwhile, and a mail that is given up then is
/// sent twice.
const CONTENT_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of idle connections that are kept for the next mails.
const MAX_IDLE: usize = 4;
/// The time for which an idle connection is used again. Networks drop older ones without notifying either end.
const TRUSTED_FOR: Duration = Duration::from_secs(60);

/// Sends mails through a mail server.
///
/// Connections are kept and used again, a few at the most. A mail takes at most 50 seconds.
pub struct SmtpMailer {
    relay: Relay,
    messages: MessageBuilder,
    idle: Mutex<Vec<Idle>>,
}

/// A connection that waits for the next mail.
struct Idle {
    connection: AsyncSmtpConnection,
    since: Instant,
}

impl SmtpMailer {
    /// A time longer than sending or giving up any mail takes.
    pub const MAX_SEND_TIME: Duration = Duration::from_secs(60);

    /// Makes a mailer that sends through the server at `url`. No connection is opened before the first mail.
    ///
    /// | URL | port | TLS |
    /// | --- | --- | --- |
    /// | `smtps://user:password@host` | 465 | from the first byte |
    /// | `smtp://user:password@host` | 587 | STARTTLS; without it the mail is not sent, since the password could be read on the way |
    /// | `smtp://host` | 25 | STARTTLS if the server offers it |
    /// | `smtp://localhost`, `smtp://127.0.0.1` … | as above | none: the mail does not leave the machine |
    /// | `smtp://…?tls=required` | as above | STARTTLS, or the mail is not sent |
    /// | `smtp://…?tls=none` | as above | none, not even for a password |
    ///
    /// Wherever TLS is used, the server's certificate must be valid for the host. Special characters in user and
    /// password are percent-encoded.
    ///
    /// # Errors
    /// [`InvalidSmtpUrl`] if the URL is not one of these.
    pub fn new(url: &str, messages: MessageBuilder) -> Result<Self, InvalidSmtpUrl> {
        Ok(Self {
            relay: Relay::parse(url, messages.domain())?,
            messages,
            idle: Mutex::default(),
        })
    }

    /// Checks that the server can be reached, and that TLS works where it is to be used. There is no login, and no mail is sent.
    ///
    /// # Errors
    /// [`MailError`].
    pub async fn greet(&self) -> Result<(), MailError> {
        self.visit(self.relay.greet()).await
    }

    /// Checks that the server accepts the login. No mail is sent.
    ///
    /// # Errors
    /// [`MailError`].
    pub async fn log_in(&self) -> Result<(), MailError> {
        self.visit(self.relay.connect()).await
    }

    async fn visit(
        &self,
        connection: impl Future<Output = Result<AsyncSmtpConnection, Problem>>,
    ) -> Result<(), MailError> {
        let mut connection = within(TIMEOUT, connection).await.map_err(mail_error)?;
        // The answer is known: a failure to quit changes nothing.
        let _ = connection.quit().await;
        Ok(())
    }

    /// Returns an idle connection that still answers, or else a new one.
    async fn connection(&self) -> Result<AsyncSmtpConnection, Problem> {
        while let Some(Idle { mut connection, since }) = self.with_idle(Vec::pop) {
            // Reset instead of no-op: it also clears the state after a refused mail.
            if since.elapsed() < TRUSTED_FOR && connection.command(Rset).await.is_ok() {
                return Ok(connection);
            }
        }
        self.relay.connect().await
    }

    fn with_idle<T>(&self, act: impl FnOnce(&mut Vec<Idle>) -> T) -> T {
        act(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn deliver(&self, message: &Message) -> Result<(), Problem> {
        let mut connection = within(TIMEOUT, self.connection()).await?;
        let outcome = transfer(&mut connection, message).await;
        // A connection whose last command was answered can be used again. Any other is closed: a late answer would be taken for
        // that to the next command.
        if matches!(outcome, Ok(()) | Err(Problem::Answer { .. })) {
            self.with_idle(|idle| {
                idle.push(Idle {
                    connection,
                    since: Instant::now(),
                });
                idle.truncate(MAX_IDLE);
            });
        }
        outcome
    }
}

#[async_trait]
impl Mailer for SmtpMailer {
    async fn send(&self, mail: &Mail) -> Result<(), MailError> {
        let letter = self.messages.write(mail)?;
        self.deliver(&letter.message).await.map_err(mail_error)
    }

    /// Announces the mail on a connection of its own that ends there. A server that answers "not now" counts as one that
    /// accepts the mail: a later try may succeed.
    async fn check(&self, mail: &Mail) -> Result<(), MailError> {
        let letter = self.messages.write(mail)?;
        let ask = async {
            let mut connection = self.relay.connect().await?;
            let asked = announce(&mut connection, letter.message.envelope()).await;
            // The answer is known: a failure to quit changes nothing.
            let _ = connection.quit().await;
            asked
        };
        match within(TIMEOUT, ask).await {
            Err(problem) if problem.is_for_now() => Ok(()),
            asked => asked.map_err(mail_error),
        }
    }
}

fn mail_error(problem: Problem) -> MailError {
    if problem.is_the_mails() {
        MailError::Refused(Box::new(problem))
    } else {
        MailError::Failed(Box::new(problem))
    }
}

/// Names the sender and the recipients.
async fn announce(connection: &mut AsyncSmtpConnection, envelope: &Envelope) -> Result<(), Problem> {
    let sender = MailFrom::new(envelope.from().cloned(), Vec::new());
    connection.command(sender).await.map_err(Problem::at(Step::Sender))?;
    for address in envelope.to() {
        let recipient = Rcpt::new(address.clone(), Vec::new());
        connection
            .command(recipient)
            .await
            .map_err(Problem::at(Step::Recipient))?;
    }
    Ok(())
}

/// Transfers one mail, from its announcement to the server's acceptance.
async fn transfer(connection: &mut AsyncSmtpConnection, message: &Message) -> Result<(), Problem> {
    let begin = async {
        announce(connection, message.envelope()).await?;
        connection.command(Data).await.map_err(Problem::at(Step::Content))
    };
    within(TIMEOUT, begin).await?;
    let content = message.formatted();
    let hand_over = async { connection.message(&content).await.map_err(Problem::at(Step::Content)) };
    within(CONTENT_TIMEOUT, hand_over).await?;
    Ok(())
}

async fn within<T>(patience: Duration, work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    timeout(patience, work).await.unwrap_or(Err(Problem::Silence))
}
