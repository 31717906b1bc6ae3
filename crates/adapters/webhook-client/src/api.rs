//! Reads the API of a server.

use std::{fmt, time::Duration};

use bytes::Bytes;
use forecourt_kernel::BusinessId;
use forecourt_webhooks::DeliveryError;
use http::{
    HeaderMap, HeaderValue, Request,
    header::{ACCEPT, AUTHORIZATION, HOST, RETRY_AFTER, USER_AGENT},
};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::{Config, UnusableTls, client::AGENT, connections::ConnectionPool, problem, target::Target};

/// Connections are counted by business, and reading an API is done for none.
const NO_BUSINESS: BusinessId = BusinessId::new(0);
/// Longer than any answer of a server that means well, in bytes.
const LONGEST_ANSWER: usize = 256 * 1024 * 1024;

/// Asks one server's API, with a token. Redirects are answers like any other, and the token goes nowhere else.
///
/// To be used inside one Tokio runtime.
pub struct ApiClient {
    connections: ConnectionPool,
    timeout: Duration,
    base: String,
    authorization: HeaderValue,
}

/// What a server answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiAnswer {
    /// The HTTP status.
    pub status: u16,
    /// How long the server asks to be left alone (header `Retry-After`).
    pub retry_after: Option<Duration>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why a server cannot be asked.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum UnusableApi {
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] UnusableTls),
    /// The token has characters that no header may have.
    #[error("the token has characters that cannot be sent")]
    Token,
}

impl ApiClient {
    /// A client of the server whose paths begin with `base`; nothing is connected yet. The time of `config` is that for one
    /// answer, however long the server means to hold it back.
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

    /// The answer to a `GET` of `path`, which begins with a slash and may have a query.
    ///
    /// # Errors
    /// [`DeliveryError`] if there is no whole answer in time.
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
        headers.insert(USER_AGENT, AGENT);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(AUTHORIZATION, self.authorization.clone());

        let exchange = self
            .connections
            .exchange(NO_BUSINESS, target.origin, request, deadline)
            .await?;
        let status = exchange.response.status().as_u16();
        let retry_after = retry_after(exchange.response.headers());
        let body = read(exchange.response.into_body()).await?;
        self.connections.keep(exchange.line).await;
        Ok(ApiAnswer {
            status,
            retry_after,
            body,
        })
    }
}

/// Says nothing of the token.
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

async fn read(mut body: Incoming) -> Result<Vec<u8>, DeliveryError> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| problem::of_exchange(&error))?;
        if let Some(data) = frame.data_ref() {
            if whole.len() + data.len() > LONGEST_ANSWER {
                return Err(DeliveryError::Exchange("the answer is too long".into()));
            }
            whole.extend_from_slice(data);
        }
    }
    Ok(whole)
}
