//! The client that posts webhooks.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use async_trait::async_trait;
use bytes::Bytes;
use forecourt_kernel::Moment;
use forecourt_net::CertificateDer;
use forecourt_webhooks::{
    Answer, Attempt, DeliveryError, KEPT_OF_A_RESPONSE, RetryAfter, SignedRequest, WebhookClient,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request,
    header::{CONTENT_LENGTH, HOST, RETRY_AFTER, USER_AGENT},
};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::{
    Network, SystemNetwork,
    connections::{ConnectionPool, Exchange},
    target::Target,
};

/// The maximum timeout: longer than any sensible one for an endpoint.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// The number of bytes of a body that are read, so that its connection can be used again. Opening another one is cheaper than
/// reading more.
const MAX_READ: usize = 64 * 1024;
/// The number of bytes of a body that are held: enough for every character that begins within the kept part.
const MAX_HELD: usize = KEPT_OF_A_RESPONSE + 3;
/// The settings of a client. The default follows the contract.
#[derive(Clone)]
pub struct Config {
    /// The maximum time for an attempt, from looking up the host to reading the answer (contract, "Delivery rules" 1).
    pub timeout: Duration,
    /// True if requests go to `http://` urls too, and to any address: for development and tests.
    pub allow_insecure: bool,
    /// The number of idle connections that are kept for one endpoint.
    pub idle_per_endpoint: usize,
    /// Authorities that may sign certificates, beside the ones that browsers know.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// The network.
    pub network: Arc<dyn Network>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            allow_insecure: false,
            idle_per_endpoint: 32,
            extra_roots: Vec::new(),
            network: Arc::new(SystemNetwork::default()),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("timeout", &self.timeout)
            .field("allow_insecure", &self.allow_insecure)
            .field("idle_per_endpoint", &self.idle_per_endpoint)
            .finish_non_exhaustive()
    }
}

/// TLS cannot be set up: one of the extra authorities is not a certificate.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("TLS cannot be set up")]
pub struct UnusableTls(#[from] rustls::Error);

/// Posts requests over HTTP/1.1. Its clones share their connections.
///
/// A connection is kept for half a minute after its last request. If the peer closes a kept connection just when a request uses
/// it, the request is posted once more over a new one. It may then arrive twice but does not fail.
///
/// Use it inside one Tokio runtime.
#[derive(Clone)]
pub struct HttpWebhookClient {
    shared: Arc<Shared>,
}

struct Shared {
    connections: ConnectionPool,
    timeout: Duration,
}

impl HttpWebhookClient {
    /// Makes a client. No connection is opened before the first request.
    ///
    /// # Errors
    /// [`UnusableTls`] if an extra authority is not a certificate.
    pub fn new(config: Config) -> Result<Self, UnusableTls> {
        Ok(Self {
            shared: Arc::new(Shared {
                timeout: config.timeout.min(MAX_TIMEOUT),
                connections: ConnectionPool::new(config)?,
            }),
        })
    }
}

#[async_trait]
impl WebhookClient for HttpWebhookClient {
    async fn post(&self, signed_request: SignedRequest) -> Attempt {
        let begun = Instant::now();
        let deadline = begun + self.shared.timeout;
        let exchanged = timeout_at(deadline, self.shared.exchange(signed_request, deadline)).await;
        let took_ms = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
        let outcome = match exchanged {
            Ok(Ok(exchange)) => Ok(self.shared.conclude(exchange, deadline).await),
            Ok(Err(problem)) => Err(problem),
            Err(_) => Err(DeliveryError::TimedOut),
        };
        Attempt { took_ms, outcome }
    }
}

impl Shared {
    /// Sends a request and waits for the head of the answer.
    async fn exchange(&self, signed_request: SignedRequest, deadline: Instant) -> Result<Exchange, DeliveryError> {
        let target = Target::parse(&signed_request.url, self.connections.allows_insecure())?;
        let business = signed_request.business;
        let request = request(&target, signed_request)?;
        self.connections
            .exchange(business, target.origin, request, deadline)
            .await
    }

    /// Reads the body. A failure here does not matter, since the answer has arrived.
    async fn conclude(&self, exchange: Exchange, deadline: Instant) -> Answer {
        let Exchange { response, line } = exchange;
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        let mut body = Vec::new();
        let complete = timeout_at(deadline, read(response.into_body(), &mut body)).await;
        if complete.unwrap_or(false) {
            self.connections.keep(line).await;
        }
        Answer {
            status,
            body: text(&body),
            retry_after,
        }
    }
}

/// Builds the request that is sent over the connection.
fn request(target: &Target, signed_request: SignedRequest) -> Result<Request<Full<Bytes>>, DeliveryError> {
    // By itself the client does not declare the length of an empty body.
    let length = signed_request.body.len();
    let mut request = Request::new(Full::from(signed_request.body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = target.path.clone();
    let headers = request.headers_mut();
    headers.insert(HOST, target.host.clone());
    headers.insert(USER_AGENT, forecourt_net::USER_AGENT);
    for (name, value) in signed_request.headers {
        let unsendable = || DeliveryError::Exchange("a header cannot be sent".into());
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unsendable())?;
        headers.append(name, HeaderValue::try_from(value).map_err(|_| unsendable())?);
    }
    headers.insert(CONTENT_LENGTH, length.into());
    Ok(request)
}

/// Returns the time that the endpoint requests for the next attempt: after some seconds, or at a date.
fn retry_after(headers: &HeaderMap) -> Option<RetryAfter> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(RetryAfter::Delay(Duration::from_secs(seconds)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let since_epoch = date.duration_since(UNIX_EPOCH).ok()?;
    let millis = i64::try_from(since_epoch.as_millis()).ok()?;
    Some(RetryAfter::At(Moment::from_epoch_millis(millis)))
}

/// Reads a body into `held` as far as it is needed; returns true if that was all of it.
async fn read(mut body: Incoming, held: &mut Vec<u8>) -> bool {
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        if let Some(data) = frame.data_ref() {
            let room = MAX_HELD - held.len();
            held.extend(data.iter().take(room));
            length += data.len();
        }
        if length > MAX_READ {
            return false;
        }
    }
    true
}

/// Returns the text that is kept of a body.
fn text(body: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(body).into_owned();
    text.truncate(text.floor_char_boundary(KEPT_OF_A_RESPONSE));
    text
}
