//! Sends requests over kept connections, and opens new ones when needed.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use forecourt_kernel::BusinessId;
use forecourt_webhooks::DeliveryError;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout};

use crate::{
    Config, UnusableTls,
    connect::{Connection, Connector},
    pool::Pool,
    problem,
    target::Origin,
};

/// The maximum time for a connection to be ready for the next request after an answer.
const READY_WITHIN: Duration = Duration::from_millis(100);

/// The maximum length of the head of an answer in bytes (decisions §9).
const MAX_HEAD: usize = 16 * 1024;

/// Connections to any number of endpoints, kept for the next exchange.
pub(crate) struct ConnectionPool {
    connector: Connector,
    pool: Arc<Pool>,
}

/// An answer whose body is still to be read, and the connection that it comes over.
pub(crate) struct Exchange {
    pub(crate) response: Response<Incoming>,
    pub(crate) line: Line,
}

/// A connection and its origin.
pub(crate) struct Line {
    origin: Origin,
    connection: Connection,
}

impl ConnectionPool {
    /// Makes an empty pool; connections are opened as `config` specifies.
    ///
    /// # Errors
    /// [`UnusableTls`] if an extra authority is not a certificate.
    pub(crate) fn new(config: Config) -> Result<Self, UnusableTls> {
        let Config {
            // The caller applies the timeout.
            timeout: _,
            allow_insecure,
            idle_per_endpoint,
            extra_roots,
            network,
        } = config;
        let mut tls = forecourt_net::tls_client(extra_roots)?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            connector: Connector::new(network, tls, allow_insecure),
            pool: Arc::new(Pool::new(idle_per_endpoint)),
        })
    }

    /// Returns true if `http://` urls and all addresses are allowed.
    pub(crate) const fn allows_insecure(&self) -> bool {
        self.connector.allows_insecure()
    }

    /// Sends a request and waits for the head of the answer. If the peer closes a kept connection just when the request uses
    /// it, the request is sent once more over a new one.
    pub(crate) async fn exchange(
        &self,
        business: BusinessId,
        origin: Origin,
        request: Request<Full<Bytes>>,
        deadline: Instant,
    ) -> Result<Exchange, DeliveryError> {
        if let Some(mut connection) = self.pool.take(&origin) {
            match connection.sender.send_request(request.clone()).await {
                Ok(response) => return Exchange::of(response, Line { origin, connection }),
                // It was probably closed before the request arrived. If not, the endpoint sees the event twice, as the contract
                // allows ("Delivery rules" 4).
                Err(error) if problem::is_loss(&error) => {}
                Err(error) => return Err(problem::of_exchange(&error)),
            }
        }
        // Boxed because it is large and rarely needed.
        let mut connection = Box::pin(self.connector.open(business, &origin, deadline)).await?;
        let response = connection.sender.send_request(request).await;
        let response = response.map_err(|error| problem::of_exchange(&error))?;
        Exchange::of(response, Line { origin, connection })
    }

    /// Keeps a connection for the next request, once the answer that came over it has been read to its end.
    pub(crate) async fn keep(&self, line: Line) {
        let Line { origin, mut connection } = line;
        if is_ready(&mut connection).await {
            self.pool.keep(origin, connection);
        }
    }
}

impl Exchange {
    /// Returns an answer with its connection, unless its head is too long.
    fn of(response: Response<Incoming>, line: Line) -> Result<Self, DeliveryError> {
        // The length on the connection, except for spaces and the reason after the status.
        let fields = response.headers().iter();
        let fields: usize = fields
            .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len())
            .sum();
        if fields + "HTTP/1.1 200 \r\n\r\n".len() > MAX_HEAD {
            return Err(DeliveryError::Exchange(problem::HEAD_TOO_LONG.into()));
        }
        Ok(Self { response, line })
    }
}

/// Waits until the connection can take another request; returns true if it can.
async fn is_ready(connection: &mut Connection) -> bool {
    connection.is_ready() || matches!(timeout(READY_WITHIN, connection.sender.ready()).await, Ok(Ok(())))
}
