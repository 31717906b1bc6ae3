//! Errors on the way to a mail server.

use std::fmt;

use lettre::transport::smtp::{
    Error,
    response::{Code, Severity},
};

/// The reason why a mail was not delivered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The server refused. Its text is left out, since such texts often repeat addresses.
    #[error("the server answered {code} to the {step}")]
    Answer { step: Step, code: Code },
    /// The server did not answer in time.
    #[error("the server did not answer in time")]
    Silence,
    /// The server's answer is not SMTP.
    #[error("the server's answer makes no sense")]
    Nonsense,
    /// The credentials would have been sent unencrypted.
    #[error("the server offers no TLS, and the password is not sent without (unless the URL says tls=none)")]
    Unguarded,
    /// The server could not be reached, was lost, or failed to prove its identity.
    #[error("the connection to the server failed")]
    Connection(#[source] Error),
}

/// The step that the server was to accept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Greeting,
    Login,
    Sender,
    Recipient,
    Content,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Greeting => "greeting",
            Self::Login => "login",
            Self::Sender => "sender",
            Self::Recipient => "recipient",
            Self::Content => "content",
        })
    }
}

impl Problem {
    /// Returns a function that maps lettre's errors at that step.
    pub(crate) fn at(step: Step) -> impl Fn(Error) -> Self {
        move |error| match error.status() {
            Some(code) => Self::Answer { step, code },
            None if error.is_response() => Self::Nonsense,
            None => Self::Connection(error),
        }
    }

    /// Returns true if the mail itself is at fault, so that no further try can succeed. A server that refuses the greeting, the
    /// login or the sender is configured wrongly, which an operator can correct.
    pub(crate) fn is_the_mails(&self) -> bool {
        let Self::Answer { step, code } = self else {
            return false;
        };
        matches!(step, Step::Recipient | Step::Content) && code.severity == Severity::PermanentNegativeCompletion
    }

    /// Returns true if the server refused the recipient temporarily, like one that lets strangers try twice.
    pub(crate) fn is_for_now(&self) -> bool {
        matches!(
            self,
            Self::Answer { step: Step::Recipient, code } if code.severity == Severity::TransientNegativeCompletion
        )
    }
}
