//! The port through which deliveries are sent.

use std::time::Duration;

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, Moment};

/// The maximum number of bytes of a response's body that are kept (decisions §9).
pub const KEPT_OF_A_RESPONSE: usize = 2048;

/// A signed request, ready to be sent. It is not changed on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignedRequest {
    /// The business that the request is sent for. Businesses share scarce resources fairly.
    pub business: BusinessId,
    /// The URL of the endpoint.
    pub url: String,
    /// The headers, except those that the transport adds (`Host`, `Content-Length` and the like).
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The result of an attempt to send a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// The duration of the attempt, in milliseconds.
    pub took_ms: u32,
    /// The answer, or the reason why there was none.
    pub outcome: Result<Answer, DeliveryError>,
}

/// An endpoint's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The beginning of the body, at most [`KEPT_OF_A_RESPONSE`] bytes. Invalid UTF-8 is replaced.
    pub body: String,
    /// The earliest time at which the endpoint wants another attempt (header `Retry-After`).
    pub retry_after: Option<RetryAfter>,
}

/// The value of a header `Retry-After`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryAfter {
    /// A delay after the answer.
    Delay(Duration),
    /// A point in time.
    At(Moment),
}

impl Answer {
    /// Returns `true` if the request counts as delivered: any 2xx (contract, "Delivery rules" 1).
    pub const fn accepts(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

/// The reason why an attempt brought no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeliveryError {
    /// Deliveries are not sent to a URL of this kind.
    #[error("the url is not one that webhooks are sent to: {0}")]
    Url(&'static str),
    /// The host's name has no address.
    #[error("the host was not found")]
    UnknownHost,
    /// None of the host's addresses is a public one.
    #[error("the host's address is not a public one")]
    ForbiddenAddress,
    /// The connection could not be established.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The endpoint's certificate is not trusted, or TLS failed in another way.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The attempt took too long.
    #[error("there was no answer in time")]
    TimedOut,
    /// The connection broke, or the response was not HTTP.
    #[error("the exchange failed: {0}")]
    Exchange(String),
    /// This machine lacks a resource for the attempt: file descriptors, memory or ports. It is no failure of the endpoint.
    #[error("this server is short of resources")]
    Shortage,
    /// The attempt failed inside this program.
    #[error("the attempt failed inside the server")]
    Internal,
}

/// Sends requests to endpoints.
#[async_trait]
pub trait WebhookClient: Send + Sync {
    /// Sends a request once. A redirect is an answer like any other.
    async fn post(&self, signed_request: SignedRequest) -> Attempt;
}
