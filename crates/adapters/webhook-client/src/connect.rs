//! Opens connections.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use bytes::Bytes;
use forecourt_kernel::BusinessId;
use forecourt_webhooks::DeliveryError;
use http_body_util::Full;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::AbortHandle,
    time::{Instant, timeout},
};
use tokio_rustls::TlsConnector;
use url::Host;

use crate::{Network, address::is_public, look_ups::LookUps, problem, target::Origin};

/// The maximum number of a host's addresses that are tried. No endpoint needs more, and a name may have hundreds that are not
/// its owner's.
const MAX_ADDRESSES: usize = 8;
/// The number of bytes that are read of a head that does not end. It is not an exact limit; [`crate::connections`] has that,
/// which is smaller.
const MAX_BUFFERED: usize = 64 * 1024;

/// Opens connections, only to public addresses unless configured otherwise.
pub(crate) struct Connector {
    look_ups: LookUps,
    network: Arc<dyn Network>,
    tls: TlsConnector,
    allow_insecure: bool,
}

/// A connection for requests. It is closed when this is dropped.
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<Full<Bytes>>,
    work: AbortHandle,
}

impl Connection {
    /// Returns true if it can take a request at once.
    pub(crate) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // It is aborted without a TLS shutdown, which a peer that does not read could delay for ever.
        self.work.abort();
    }
}

impl Connector {
    pub(crate) fn new(network: Arc<dyn Network>, tls: ClientConfig, allow_insecure: bool) -> Self {
        Self {
            look_ups: LookUps::new(Arc::clone(&network)),
            network,
            tls: TlsConnector::from(Arc::new(tls)),
            allow_insecure,
        }
    }

    /// Returns true if `http://` urls and all addresses are allowed.
    pub(crate) const fn allows_insecure(&self) -> bool {
        self.allow_insecure
    }

    /// Opens a connection for a business. The caller stops waiting at `deadline`; until then several addresses share the time.
    pub(crate) async fn open(
        &self,
        business: BusinessId,
        origin: &Origin,
        deadline: Instant,
    ) -> Result<Connection, DeliveryError> {
        let addresses = self.addresses(business, &origin.host).await?;
        let stream = self.connect(&addresses, origin.port, deadline).await?;
        // Requests leave in one piece, so nothing is gained by waiting.
        stream
            .set_nodelay(true)
            .map_err(|error| problem::of_connecting(&error))?;
        if origin.secure {
            let name = server_name(&origin.host)?;
            let session = self.tls.connect(name, stream).await;
            handshake(session.map_err(|error| problem::of_tls(&error))?).await
        } else {
            handshake(stream).await
        }
    }

    /// Returns the host's addresses to which connections are allowed, at least one.
    async fn addresses(&self, business: BusinessId, host: &Host) -> Result<Vec<IpAddr>, DeliveryError> {
        let mut addresses = match host {
            Host::Ipv4(address) => vec![IpAddr::V4(*address)],
            Host::Ipv6(address) => vec![IpAddr::V6(*address)],
            Host::Domain(name) => {
                let found = self.look_ups.resolve(business, name).await;
                found.map_err(|error| problem::of_look_up(&error))?
            }
        };
        if addresses.is_empty() {
            return Err(DeliveryError::UnknownHost);
        }
        addresses.retain(|address| self.allow_insecure || is_public(*address));
        if addresses.is_empty() {
            return Err(DeliveryError::ForbiddenAddress);
        }
        addresses.truncate(MAX_ADDRESSES);
        Ok(addresses)
    }

    /// Connects to the first address that accepts.
    async fn connect(&self, addresses: &[IpAddr], port: u16, deadline: Instant) -> Result<TcpStream, DeliveryError> {
        let mut problem = DeliveryError::UnknownHost;
        for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
            let time = deadline.saturating_duration_since(Instant::now());
            let share = time / u32::try_from(left).unwrap_or(u32::MAX);
            match timeout(share, self.network.connect(SocketAddr::new(*address, port))).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) if problem::is_shortage_at(&error, *address) => return Err(DeliveryError::Shortage),
                Ok(Err(error)) => problem = problem::of_connecting(&error),
                Err(_) => problem = DeliveryError::TimedOut,
            }
        }
        Err(problem)
    }
}

/// Returns the name for which the certificate must be valid.
fn server_name(host: &Host) -> Result<ServerName<'static>, DeliveryError> {
    match host {
        Host::Ipv4(address) => Ok(IpAddr::V4(*address).into()),
        Host::Ipv6(address) => Ok(IpAddr::V6(*address).into()),
        // The final dot, which marks a name as complete, is not a part of it in a certificate.
        Host::Domain(name) => ServerName::try_from(name.strip_suffix('.').unwrap_or(name).to_owned())
            .map_err(|_| DeliveryError::Url("its host is no name that a certificate can be for")),
    }
}

/// Starts HTTP on a stream.
async fn handshake(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<Connection, DeliveryError> {
    let (sender, connection) = Builder::new()
        // Header names are written as in the contract, for receivers that compare them exactly.
        .title_case_headers(true)
        .max_buf_size(MAX_BUFFERED)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| problem::of_exchange(&error))?;
    let work = tokio::spawn(async move {
        // The request that waits for an answer gets the error.
        let _ = connection.await;
    });
    Ok(Connection {
        sender,
        work: work.abort_handle(),
    })
}
