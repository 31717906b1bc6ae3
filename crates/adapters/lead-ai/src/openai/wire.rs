//! One HTTP exchange with the endpoint: HTTP/1.1 over a connection of its own. A model takes seconds to answer, so a handshake
//! does not matter. Redirects are answers like any other, and proxies of the environment are not used.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Uri,
    header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, HOST, RETRY_AFTER, USER_AGENT},
};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1::Builder};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::AbortHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use url::{Host, Position, Url};

use super::problem::Problem;

/// The maximum number of bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// The maximum number of bytes of a head without an end that are read.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The `User-Agent`.
const AGENT: HeaderValue = HeaderValue::from_static(concat!("Forecourt/", env!("CARGO_PKG_VERSION")));

/// The address of the endpoint, and the connection to it.
pub(crate) struct Wire {
    host: String,
    port: u16,
    /// The name that the certificate has to be for; `None` over plain HTTP.
    tls: Option<(TlsConnector, ServerName<'static>)>,
    uri: Uri,
    host_header: HeaderValue,
    authorization: Option<HeaderValue>,
    connect_timeout: Duration,
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
    Tls(#[from] rustls::Error),
}

/// The endpoint's answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

/// Ends the work on a connection when the exchange is over or given up.
struct Work(AbortHandle);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Wire {
    pub(crate) fn new(
        base: &str,
        key: Option<&str>,
        extra_roots: Vec<CertificateDer<'static>>,
        connect_timeout: Duration,
    ) -> Result<Self, UnusableEndpoint> {
        let mut url = Url::parse(base).map_err(|_| UnusableEndpoint::Url("is no URL"))?;
        let secure = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(UnusableEndpoint::Url("must begin with https:// or http://")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UnusableEndpoint::Url("must have no user name or password"));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        if !path.ends_with("/chat/completions") {
            url.set_path(&format!("{path}/chat/completions"));
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(UnusableEndpoint::Url("names no host"));
        };
        let unsendable = UnusableEndpoint::Url("has characters that cannot be sent");
        let (host, name) = match host {
            Host::Domain(name) => (name.to_owned(), ServerName::try_from(name.to_owned()).ok()),
            Host::Ipv4(address) => (address.to_string(), Some(std::net::IpAddr::V4(address).into())),
            Host::Ipv6(address) => (address.to_string(), Some(std::net::IpAddr::V6(address).into())),
        };
        let tls = if secure {
            let name = name.ok_or(UnusableEndpoint::Url("names a host that TLS cannot verify"))?;
            Some((TlsConnector::from(Arc::new(tls(extra_roots)?)), name))
        } else {
            None
        };
        let authorization = key.map(|key| {
            let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| UnusableEndpoint::Key)?;
            value.set_sensitive(true);
            Ok::<_, UnusableEndpoint>(value)
        });
        Ok(Self {
            host,
            port,
            tls,
            uri: url[Position::BeforePath..Position::AfterQuery]
                .parse()
                .map_err(|_| unsendable.clone())?,
            host_header: HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort])
                .map_err(|_| unsendable)?,
            authorization: authorization.transpose()?,
            connect_timeout,
        })
    }

    /// The host, for messages.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Posts a body and reads the answer. The caller bounds the time.
    pub(crate) async fn post(&self, body: Bytes) -> Result<Reply, Problem> {
        let connecting = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            stream.set_nodelay(true)?;
            match &self.tls {
                None => Ok(Box::new(stream) as Box<dyn Stream>),
                Some((tls, name)) => Ok(Box::new(tls.connect(name.clone(), stream).await?) as Box<dyn Stream>),
            }
        };
        let stream = match timeout(self.connect_timeout, connecting).await {
            Ok(stream) => stream.map_err(Problem::Connect)?,
            Err(_) => return Err(Problem::Connect(io::ErrorKind::TimedOut.into())),
        };
        let (mut sender, connection) = Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(Problem::Exchange)?;
        let _work = Work(
            tokio::spawn(async move {
                // The request that waits for an answer gets the error.
                let _ = connection.await;
            })
            .abort_handle(),
        );
        let response = sender
            .send_request(self.request(body))
            .await
            .map_err(Problem::Exchange)?;
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        let body = match read(response.into_body()).await {
            Ok(body) => body,
            // The status says enough.
            Err(_) if status != 200 => Vec::new(),
            Err(problem) => return Err(problem),
        };
        Ok(Reply {
            status,
            retry_after,
            body,
        })
    }

    fn request(&self, body: Bytes) -> Request<Full<Bytes>> {
        let length = body.len();
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(HOST, self.host_header.clone());
        headers.insert(USER_AGENT, AGENT);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, length.into());
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        request
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

fn tls(extra_roots: Vec<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for root in extra_roots {
        roots.add(root)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
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

async fn read(mut body: Incoming) -> Result<Vec<u8>, Problem> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(Problem::Exchange)?;
        if let Some(data) = frame.data_ref() {
            if whole.len() + data.len() > MAX_ANSWER_BYTES {
                return Err(Problem::TooLong);
            }
            whole.extend_from_slice(data);
        }
    }
    Ok(whole)
}
