//! The port through which deliveries leave.

use std::time::Duration;

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, Moment};

/// How much of a response's body is kept, in bytes (decisions §9).
pub const KEPT_OF_A_RESPONSE: usize = 2048;

/// A request ready to be sent: signed, and never changed on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignedRequest {
    /// Whose it is: what is scarce is shared fairly among businesses.
    pub business: BusinessId,
    /// Where to.
    pub url: String,
    /// The headers, beside those that carrying takes (`Host`, `Content-Length` and the like).
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// How an attempt to send a request went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// How long it took, in milliseconds.
    pub took_ms: u32,
    /// What was answered, or why nothing was.
    pub outcome: Result<Answer, DeliveryError>,
}

/// An endpoint's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The beginning of the body, at most [`KEPT_OF_A_RESPONSE`] bytes; what is no UTF-8 is replaced.
    pub body: String,
    /// Before when the endpoint does not want another attempt (header `Retry-After`).
    pub retry_after: Option<RetryAfter>,
}

/// The value of a header `Retry-After`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryAfter {
    /// So long after the answer.
    Delay(Duration),
    /// At this time.
    At(Moment),
}

impl Answer {
    /// Whether the request counts as delivered: any 2xx (contract, "Delivery rules" 1).
    pub const fn accepts(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

/// Why an attempt brought no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeliveryError {
    /// Deliveries are not sent to such a url.
    #[error("the url is not one that webhooks are sent to: {0}")]
    Url(&'static str),
    /// The host's name leads to no address.
    #[error("the host was not found")]
    UnknownHost,
    /// None of the host's addresses is a public one.
    #[error("the host's address is not a public one")]
    ForbiddenAddress,
    /// No connection came about.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The endpoint's certificate is not trusted, or TLS failed in another way.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The time for an attempt was over.
    #[error("there was no answer in time")]
    TimedOut,
    /// The connection broke, or what came over it was not HTTP.
    #[error("the exchange failed: {0}")]
    Exchange(String),
    /// This machine lacks what an attempt takes: file descriptors, memory or ports. It says nothing of the endpoint.
    #[error("this server is short of resources")]
    Shortage,
    /// The attempt failed inside this program.
    #[error("the attempt failed inside the server")]
    Internal,
}

/// Carries requests to endpoints.
#[async_trait]
pub trait WebhookClient: Send + Sync {
    /// Sends a request once. Redirects are answers like any other.
    async fn post(&self, signed_request: SignedRequest) -> Attempt;
}
