//! The network as the machine offers it.

use std::{
    fs::File,
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::Arc,
};

use async_trait::async_trait;
use tokio::{net::TcpStream, sync::Semaphore, task::spawn_blocking};

use crate::problem;

/// How many names are looked up at once. A look-up keeps a thread, for half a minute if the name's servers are silent, and
/// the threads are the ones that the rest of the program does its blocking work on.
const LOOK_UPS_AT_ONCE: usize = 128;

/// The network as a client needs it. The client decides which of the addresses it connects to.
#[async_trait]
pub trait Network: Send + Sync {
    /// The addresses that `host`, a name in its ASCII form, has now. Nothing is kept from earlier look-ups.
    ///
    /// # Errors
    /// The name has none, or no name server could be asked.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;

    /// Connects to just this address.
    ///
    /// # Errors
    /// No connection came about.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// The network of this machine, its names looked up as the system is set up to.
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
            // Held by the thread: the caller may have gone away long before the system answers.
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

/// What this machine lacks, if so: the system's resolver says then that the name does not exist.
fn shortage() -> Option<io::Error> {
    File::open("/dev/null").err().filter(problem::is_shortage)
}
