//! Reads the API of a server.

use std::{fmt, time::Duration};

use bytes::Bytes;
use forecourt_kernel::BusinessId;
use forecourt_net::{BodyError, read_body};
use forecourt_webhooks::DeliveryError;
use http::{
    HeaderMap, HeaderValue, Request,
    header::{ACCEPT, AUTHORIZATION, DATE, HOST, RETRY_AFTER, USER_AGENT},
};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::{Config, UnusableTls, connections::ConnectionPool, problem, target::Target};

/// The business of connections to an API. Connections are counted by business, but reading an API is done for none.
const NO_BUSINESS: BusinessId = BusinessId::new(0);
/// The maximum length of an answer in bytes: more than any well-behaved server sends.
const MAX_ANSWER: usize = 256 * 1024 * 1024;

/// Reads one server's API, with a token. Redirects are answers like any other, and the token is sent nowhere else.
///
/// Use it inside one Tokio runtime.
pub struct ApiClient {
    connections: ConnectionPool,
    timeout: Duration,
    base: String,
    authorization: HeaderValue,
}

/// A server's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The delay that the server requests before the next request (header `Retry-After`).
    pub retry_after: Option<Duration>,
    /// The server's time (header `Date`), as it writes it.
    pub date: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// The reason why a server's API cannot be read.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum UnusableApi {
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] UnusableTls),
    /// The token has characters that are not allowed in headers.
    #[error("the token has characters that cannot be sent")]
    Token,
}

impl ApiClient {
    /// Makes a client of the server whose paths begin with `base`; no connection is opened yet. The timeout of `config` is that
    /// for one answer, however long the server intends to hold it back.
    ///
    /// # Errors
    /// [`UnusableApi`].
    pub fn new(config: Config, base: &str, token: &str) -> Result<Self, UnusableApi> {
        let bearer = format!("Bearer {token}");
        let mut authorization = HeaderValue::try_from(bearer).map_err(|_| UnusableApi::Token)?;
        authorization.set_sensitive(true);
        Ok(Self {
            timeout: config.timeout,
            connections: ConnectionPool::new(config)?,
            base: base.trim_end_matches('/').to_owned(),
            authorization,
        })
    }

    /// Returns the answer to a `GET` of `path`, which begins with a slash and may have a query.
    ///
    /// # Errors
    /// [`DeliveryError`] if there is no complete answer in time.
    pub async fn get(&self, path: &str) -> Result<ApiAnswer, DeliveryError> {
        let deadline = Instant::now() + self.timeout;
        let answered = timeout_at(deadline, self.ask(path, deadline)).await;
        answered.map_err(|_| DeliveryError::TimedOut)?
    }

    async fn ask(&self, path: &str, deadline: Instant) -> Result<ApiAnswer, DeliveryError> {
        let url = format!("{}{path}", self.base);
        let target = Target::parse(&url, self.connections.allows_insecure())?;
        let mut request = Request::new(Full::<Bytes>::default());
        *request.uri_mut() = target.path;
        let headers = request.headers_mut();
        headers.insert(HOST, target.host);
        headers.insert(USER_AGENT, forecourt_net::USER_AGENT);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(AUTHORIZATION, self.authorization.clone());

        let exchange = self
            .connections
            .exchange(NO_BUSINESS, target.origin, request, deadline)
            .await?;
        let status = exchange.response.status().as_u16();
        let headers = exchange.response.headers();
        let retry_after = retry_after(headers);
        let date = headers.get(DATE).and_then(|date| date.to_str().ok()).map(str::to_owned);
        let body = read(exchange.response.into_body()).await?;
        self.connections.keep(exchange.line).await;
        Ok(ApiAnswer {
            status,
            retry_after,
            date,
            body,
        })
    }
}

/// Hides the token.
impl fmt::Debug for ApiClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiClient")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

async fn read(body: Incoming) -> Result<Vec<u8>, DeliveryError> {
    read_body(body, MAX_ANSWER).await.map_err(|error| match error {
        BodyError::TooLong => DeliveryError::Exchange("the answer is too long".into()),
        BodyError::Broken(error) => problem::of_exchange(&error),
    })
}
