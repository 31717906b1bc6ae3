//! The HTTP client for buckets.

use std::{fmt, io, time::Duration};

use async_trait::async_trait;
use forecourt_net::{ClientError, HttpOptions, http_client};
use http_body_util::BodyExt as _;
use object_store::{
    ClientOptions,
    client::{
        ClientConfigKey, HttpClient, HttpConnector as Connector, HttpError, HttpErrorKind, HttpRequest,
        HttpRequestBody, HttpResponse, HttpResponseBody, HttpService,
    },
};

/// The maximum time for a server to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum time for a server to receive a request and begin its answer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Makes clients that verify servers by the roots of webpki-roots, as every other part of the server does, and use no proxy.
#[derive(Debug)]
pub(crate) struct RingConnector;

impl Connector for RingConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let may_be_plain = options.get_config_value(&ClientConfigKey::AllowHttp).as_deref() == Some("true");
        let client = http_client(HttpOptions {
            connect_timeout: CONNECT_TIMEOUT,
            allow_plain: may_be_plain,
            idle_per_host: usize::MAX,
            extra_roots: Vec::new(),
        });
        let client = client.map_err(|error| object_store::Error::Generic {
            store: "S3",
            source: error.into(),
        })?;
        Ok(HttpClient::new(RingClient(client)))
    }
}

struct RingClient(forecourt_net::HttpClient<HttpRequestBody>);

impl fmt::Debug for RingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RingClient")
    }
}

#[async_trait]
impl HttpService for RingClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = tokio::time::timeout(RESPONSE_TIMEOUT, self.0.request(request))
            .await
            .map_err(|elapsed| HttpError::new(HttpErrorKind::Timeout, elapsed))?
            .map_err(|error| HttpError::new(kind(&error), error))?;
        Ok(response
            .map(|body| HttpResponseBody::new(body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error)))))
    }
}

/// Returns the kind of an error, by which object_store decides whether to repeat the request.
fn kind(error: &ClientError) -> HttpErrorKind {
    if error.is_connect() {
        return HttpErrorKind::Connect;
    }
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.kind() {
                io::ErrorKind::TimedOut => HttpErrorKind::Timeout,
                _ => HttpErrorKind::Interrupted,
            };
        }
        source = error.source();
    }
    // The server closed an idle connection before it read the request.
    HttpErrorKind::Request
}
