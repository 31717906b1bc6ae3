//! TLS and HTTP for clients, the same in every adapter: rustls with ring, the public authorities of webpki-roots, HTTP/1.1, no
//! redirects, no proxies, no cookies.

use std::{error::Error, sync::Arc, time::Duration};

use http::HeaderValue;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier, crypto::ring};

pub use hyper_util::client::legacy::Error as ClientError;
pub use rustls::{Error as TlsError, pki_types::CertificateDer};

/// The `User-Agent` of all requests.
pub const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("Forecourt/", env!("CARGO_PKG_VERSION")));

/// An HTTP client for requests with bodies of type `B`.
pub type HttpClient<B> = Client<HttpsConnector<HttpConnector>, B>;

/// The settings of an HTTP client.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The maximum time for a server to accept a connection.
    pub connect_timeout: Duration,
    /// True if `http://` is allowed too.
    pub allow_plain: bool,
    /// The number of idle connections that are kept for one host.
    pub idle_per_host: usize,
    /// Authorities that may sign certificates, beside the public ones.
    pub extra_roots: Vec<CertificateDer<'static>>,
}

/// Makes an HTTP client. No connection is opened before the first request.
///
/// # Errors
/// The error of rustls if an extra authority is not a certificate.
pub fn http_client<B: Body<Data: Send> + Send>(options: HttpOptions) -> Result<HttpClient<B>, TlsError> {
    let tls = HttpsConnectorBuilder::new().with_tls_config(tls_client(options.extra_roots)?);
    let schemes = if options.allow_plain {
        tls.https_or_http()
    } else {
        tls.https_only()
    };
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(options.connect_timeout));
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(options.idle_per_host)
        .build(schemes.enable_http1().wrap_connector(tcp)))
}

/// Makes the TLS of a client that verifies servers by the public authorities and by `extra_roots`.
///
/// # Errors
/// The error of rustls if an extra authority is not a certificate.
pub fn tls_client(extra_roots: Vec<CertificateDer<'static>>) -> Result<ClientConfig, TlsError> {
    let mut roots = public_roots();
    for root in extra_roots {
        roots.add(root)?;
    }
    Ok(tls_builder()?.with_root_certificates(roots).with_no_client_auth())
}

/// Begins the TLS of a client with the versions and ciphers of all.
///
/// # Errors
/// The error of rustls if it has none.
pub fn tls_builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, TlsError> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions()
}

/// Returns the authorities that browsers know.
pub fn public_roots() -> RootCertStore {
    webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect()
}

/// The reason why a body could not be read.
#[derive(Debug)]
pub enum BodyError {
    /// It is longer than the limit.
    TooLong,
    /// The connection broke.
    Broken(hyper::Error),
}

/// Reads a whole body of at most `limit` bytes.
///
/// # Errors
/// [`BodyError`].
pub async fn read_body(body: Incoming, limit: usize) -> Result<Vec<u8>, BodyError> {
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes().into()),
        Err(error) => Err(broken(error)),
    }
}

fn broken(error: Box<dyn Error + Send + Sync>) -> BodyError {
    debug_assert!(error.is::<LengthLimitError>() || error.is::<hyper::Error>());
    error
        .downcast()
        .map_or(BodyError::TooLong, |error| BodyError::Broken(*error))
}
