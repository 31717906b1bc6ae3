//! The failures of a chat endpoint. No error quotes the endpoint: some repeat the key.

use forecourt_kernel::BoxError;
use forecourt_net::ClientError;

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The host could not be reached.
    #[error("the endpoint cannot be connected to")]
    Connect(#[source] BoxError),
    /// The connection broke.
    #[error("the exchange with the endpoint broke off")]
    Exchange(#[source] BoxError),
    /// No answer came in time.
    #[error("the endpoint did not answer in time")]
    TimedOut,
    /// The endpoint refused the request.
    #[error("the endpoint answered {0}")]
    Status(u16),
    /// The answer is longer than any useful one.
    #[error("the endpoint's answer is too long")]
    TooLong,
    /// The answer is no chat completion.
    #[error("the endpoint's answer is no chat completion")]
    NoCompletion,
    /// The model wrote something other than the requested object.
    #[error("the model's answer is not of the agreed form")]
    Form(#[source] serde_json::Error),
    /// A field has a value that is not allowed.
    #[error("the model's answer has a field that cannot be used: {0}")]
    Field(&'static str),
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Self {
        if error.is_connect() {
            Self::Connect(error.into())
        } else {
            Self::Exchange(error.into())
        }
    }
}
