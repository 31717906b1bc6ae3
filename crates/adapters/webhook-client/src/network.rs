//! The network of the machine.

use std::{
    fs::File,
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::Arc,
};

use async_trait::async_trait;
use tokio::{net::TcpStream, sync::Semaphore, task::spawn_blocking};

use crate::problem;

/// The number of names that are looked up at once. A look-up keeps a thread, for half a minute if the name's servers are
/// silent, and the rest of the program uses the same threads for its blocking work.
const LOOK_UPS_AT_ONCE: usize = 128;

/// The network that a client uses. The client decides to which of the addresses it connects.
#[async_trait]
pub trait Network: Send + Sync {
    /// Returns the current addresses of `host`, a name in its ASCII form. Nothing is cached from earlier look-ups.
    ///
    /// # Errors
    /// The name has none, or no name server could be reached.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;

    /// Connects to exactly this address.
    ///
    /// # Errors
    /// The connection failed.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// The network of this machine, whose names are looked up as the system is configured.
#[derive(Clone, Debug)]
pub struct SystemNetwork {
    look_ups: Arc<Semaphore>,
}

impl Default for SystemNetwork {
    fn default() -> Self {
        Self {
            look_ups: Arc::new(Semaphore::new(LOOK_UPS_AT_ONCE)),
        }
    }
}

#[async_trait]
impl Network for SystemNetwork {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let turn = Arc::clone(&self.look_ups)
            .acquire_owned()
            .await
            .map_err(io::Error::other)?;
        let host = host.to_owned();
        spawn_blocking(move || {
            // The thread holds it: the caller may have disconnected long before the system answers.
            let _turn = turn;
            let addresses = (host.as_str(), 0)
                .to_socket_addrs()
                .map_err(|error| shortage().unwrap_or(error))?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
        .await
        .map_err(io::Error::other)?
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }
}

/// Returns the error if this machine lacks a resource: in that case the system's resolver reports that the name does not exist.
fn shortage() -> Option<io::Error> {
    File::open("/dev/null").err().filter(problem::is_shortage)
}
