//! What can go wrong on the way to a mail server.

use std::fmt;

use lettre::transport::smtp::{
    Error,
    response::{Code, Severity},
};

/// Why a mail was not delivered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The server said no. Its words are left out: they tend to repeat addresses.
    #[error("the server answered {code} to the {step}")]
    Answer { step: Step, code: Code },
    /// The server said nothing in time.
    #[error("the server did not answer in time")]
    Silence,
    /// The server said something that is no SMTP.
    #[error("the server's answer makes no sense")]
    Nonsense,
    /// The credentials would have travelled in the clear.
    #[error("the server offers no TLS, and the password is not sent without (unless the URL says tls=none)")]
    Unguarded,
    /// The server could not be reached, was lost, or failed to prove who it is.
    #[error("the connection to the server failed")]
    Connection(#[source] Error),
}

/// What the server was asked to accept.
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
    /// What lettre's errors mean at that step.
    pub(crate) fn at(step: Step) -> impl Fn(Error) -> Self {
        move |error| match error.status() {
            Some(code) => Self::Answer { step, code },
            None if error.is_response() => Self::Nonsense,
            None => Self::Connection(error),
        }
    }

    /// Whether the mail itself is at fault, and no further try can succeed. A server that turns away the greeting, the login or
    /// the sender is set up wrongly, which an operator can mend.
    pub(crate) fn is_the_mails(&self) -> bool {
        let Self::Answer { step, code } = self else {
            return false;
        };
        matches!(step, Step::Recipient | Step::Content) && code.severity == Severity::PermanentNegativeCompletion
    }

    /// Whether the server turned the recipient away for now, as one does that lets strangers try twice.
    pub(crate) fn is_for_now(&self) -> bool {
        matches!(
            self,
            Self::Answer { step: Step::Recipient, code } if code.severity == Severity::TransientNegativeCompletion
        )
    }
}
