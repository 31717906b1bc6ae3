//! Networks in which each test sets the meaning of names and the peers of addresses.

use std::{
    future::pending,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use forecourt_webhook_client::Network;
use tokio::net::TcpStream;

/// An address that connections are allowed to.
pub(crate) const PUBLIC: &str = "93.184.215.14";

/// A network that records its requests.
pub(crate) struct FakeNetwork {
    /// The result of each look-up of any name, by its number; the last one is repeated.
    found: Vec<Vec<IpAddr>>,
    looked_up: Mutex<Vec<String>>,
    /// The end of every connection, if there is one.
    end: Option<SocketAddr>,
    /// Addresses that never answer.
    silent: Vec<IpAddr>,
    connected: Mutex<Vec<SocketAddr>>,
}

impl FakeNetwork {
    /// Returns a network without connections, in which names have these addresses.
    pub(crate) fn cut(found: &[&[&str]]) -> Self {
        let addresses = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Self {
            found: found.iter().map(addresses).collect(),
            looked_up: Mutex::default(),
            end: None,
            silent: Vec::new(),
            connected: Mutex::default(),
        }
    }

    /// Returns the same, with all connections leading to `end`.
    pub(crate) fn to(self, end: SocketAddr) -> Self {
        let end = Some(end);
        Self { end, ..self }
    }

    /// Returns the same, in which this address never answers.
    pub(crate) fn silent_at(mut self, address: &str) -> Self {
        self.silent.push(address.parse().unwrap());
        self
    }

    pub(crate) fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }

    /// Returns the names that were looked up.
    pub(crate) fn looked_up(&self) -> Vec<String> {
        self.looked_up.lock().unwrap().clone()
    }

    /// Returns the addresses of the requested connections.
    pub(crate) fn connected(&self) -> Vec<SocketAddr> {
        self.connected.lock().unwrap().clone()
    }
}

#[async_trait]
impl Network for FakeNetwork {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let number = {
            let mut looked_up = self.looked_up.lock().unwrap();
            looked_up.push(host.to_owned());
            looked_up.len() - 1
        };
        match self.found.get(number).or(self.found.last()) {
            Some(addresses) => Ok(addresses.clone()),
            None => pending().await,
        }
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.connected.lock().unwrap().push(address);
        if self.silent.contains(&address.ip()) {
            return pending().await;
        }
        match self.end {
            Some(end) => TcpStream::connect(end).await,
            None => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}
