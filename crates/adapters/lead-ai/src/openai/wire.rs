//! One HTTP exchange with the endpoint, over a connection of its own: a model takes seconds to answer, so a handshake does not
//! matter. Redirects are answers like any other.

use std::time::Duration;

use bytes::Bytes;
use forecourt_net::{BodyError, CertificateDer, HttpClient, HttpOptions, USER_AGENT, http_client, read_body};
use http::{
    HeaderMap, HeaderValue, Method, Request, Uri,
    header::{self, ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, DATE, RETRY_AFTER},
};
use http_body_util::Full;
use url::Url;

use super::problem::Problem;

/// The maximum number of bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The endpoint, and the client that sends it requests.
pub(crate) struct Wire {
    client: HttpClient<Full<Bytes>>,
    uri: Uri,
    authorization: Option<HeaderValue>,
}

/// The reason why an endpoint cannot be used.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum UnusableEndpoint {
    /// The URL is not valid.
    #[error("the URL of the AI endpoint {0}")]
    Url(&'static str),
    /// The key has characters that a header cannot have.
    #[error("the key of the AI endpoint has characters that cannot be sent")]
    Key,
    /// One of the extra authorities is not a certificate.
    #[error("TLS cannot be set up")]
    Tls(#[from] forecourt_net::TlsError),
}

/// The endpoint's answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

impl Wire {
    pub(crate) fn new(
        base: &str,
        key: Option<&str>,
        extra_roots: Vec<CertificateDer<'static>>,
        connect_timeout: Duration,
    ) -> Result<Self, UnusableEndpoint> {
        let mut url = Url::parse(base).map_err(|_| UnusableEndpoint::Url("is no URL"))?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(UnusableEndpoint::Url("must begin with https:// or http://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UnusableEndpoint::Url("must have no user name or password"));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        if !path.ends_with("/chat/completions") {
            url.set_path(&format!("{path}/chat/completions"));
        }
        if url.host().is_none() {
            return Err(UnusableEndpoint::Url("names no host"));
        }
        let authorization = key.map(|key| {
            let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| UnusableEndpoint::Key)?;
            value.set_sensitive(true);
            Ok::<_, UnusableEndpoint>(value)
        });
        Ok(Self {
            client: http_client(HttpOptions {
                connect_timeout,
                allow_plain: true,
                idle_per_host: 0,
                extra_roots,
            })?,
            uri: url
                .as_str()
                .parse()
                .map_err(|_| UnusableEndpoint::Url("has characters that cannot be sent"))?,
            authorization: authorization.transpose()?,
        })
    }

    /// Returns the host, for messages.
    pub(crate) fn host(&self) -> &str {
        self.uri.host().unwrap_or_default()
    }

    /// Posts a body and reads the answer. The caller bounds the time.
    pub(crate) async fn post(&self, body: Bytes) -> Result<Reply, Problem> {
        let response = self.client.request(self.request(body)).await?;
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        let body = match read_body(response.into_body(), MAX_ANSWER_BYTES).await {
            Ok(body) => body,
            // The status says enough.
            Err(_) if status != 200 => Vec::new(),
            Err(BodyError::TooLong) => return Err(Problem::TooLong),
            Err(BodyError::Broken(error)) => return Err(Problem::Exchange(error.into())),
        };
        Ok(Reply {
            status,
            retry_after,
            body,
        })
    }

    fn request(&self, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(header::USER_AGENT, USER_AGENT);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        request
    }
}

/// Returns the time for which the endpoint wants no requests. A date counts from the answer's own `Date`, which needs no clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}
