//! Parses a subscription's url.

use bytes::Bytes;
use forecourt_webhooks::DeliveryError;
use http::{HeaderValue, Uri, uri::PathAndQuery};
use url::{Host, Position, Url};

/// The target of a request.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) origin: Origin,
    /// The header `Host`.
    pub(crate) host: HeaderValue,
    /// Path and query, as in the request's first line.
    pub(crate) path: Uri,
}

/// The origin that one connection can serve.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Origin {
    /// True if it uses TLS.
    pub(crate) secure: bool,
    /// A name in its ASCII form, or an address, normalised from any spelling.
    pub(crate) host: Host,
    pub(crate) port: u16,
}

impl Target {
    /// Reads a url; `http://` is accepted if `allow_insecure` is true.
    pub(crate) fn parse(url: &str, allow_insecure: bool) -> Result<Self, DeliveryError> {
        let url = Url::parse(url).map_err(|_| DeliveryError::Url("it is no url"))?;
        let secure = match url.scheme() {
            "https" => true,
            "http" if allow_insecure => false,
            "http" => return Err(DeliveryError::Url("it must begin with https://")),
            _ => return Err(DeliveryError::Url("it must be a web address")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(DeliveryError::Url("it must have no user name or password"));
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(DeliveryError::Url("it names no host"));
        };
        let path = Bytes::copy_from_slice(url[Position::BeforePath..Position::AfterQuery].as_bytes());
        let unsendable = |_| DeliveryError::Url("it has characters that cannot be sent");
        Ok(Self {
            host: HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort])
                .map_err(|_| DeliveryError::Url("its host has characters that cannot be sent"))?,
            path: PathAndQuery::from_maybe_shared(path).map_err(unsendable)?.into(),
            origin: Origin {
                secure,
                host: host.to_owned(),
                port,
            },
        })
    }
}
