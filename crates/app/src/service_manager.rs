//! Messages to the service manager that started the server, by the protocol of sd_notify(3).

use std::{
    env, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::net::UnixDatagram,
    path::Path,
    process,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time,
};

use crate::shutdown::Shutdown;

/// The beginning of an answer of a server that is alive.
const ALIVE: &[u8] = b"HTTP/1.1 200 ";

/// The service manager, if it wants to know how the server does.
#[derive(Debug, Default)]
pub(crate) struct ServiceManager {
    socket: Option<UnixDatagram>,
    /// The time after which it restarts a server that is silent.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// Connects to the service manager that the environment names.
    pub(crate) fn from_environment() -> Self {
        let Some(address) = env::var_os("NOTIFY_SOCKET") else {
            return Self::default();
        };
        match connect(Path::new(&address)) {
            Ok(socket) => Self {
                socket: Some(socket),
                watchdog: watchdog(|name| env::var(name).ok()),
            },
            Err(error) => {
                tracing::warn!(%error, "the service manager cannot be reached at NOTIFY_SOCKET");
                Self::default()
            }
        }
    }

    /// Notifies it that the server listens on this address.
    pub(crate) fn ready(&self, address: SocketAddr) {
        self.send(&format!("READY=1\nSTATUS=Serving the API on http://{address}"));
    }

    /// Notifies it that the server ends.
    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=Finishing the requests that were accepted");
    }

    /// Feeds its watchdog until the end is requested, while `/healthz` answers at `address`.
    pub(crate) async fn feed(&self, address: SocketAddr, mut shutdown: Shutdown) {
        let Some(limit) = self.watchdog.filter(|_| self.socket.is_some()) else {
            return;
        };
        // An answer may take one interval, and leaves another one to spare.
        let interval = limit / 3;
        loop {
            if time::timeout(interval, is_alive(address))
                .await
                .is_ok_and(|alive| alive)
            {
                self.send("WATCHDOG=1");
            }
            if shutdown.within(interval).await {
                return;
            }
        }
    }

    fn send(&self, message: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(message.as_bytes())
        {
            tracing::warn!(%error, message, "the service manager could not be notified");
        }
    }
}

/// Connects to a socket with this path, or with an abstract name, which begins with `@`.
fn connect(address: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    // A service manager that does not read holds nothing up.
    socket.set_nonblocking(true)?;
    match abstract_name(address) {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt as _;
            socket.connect_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)?;
        }
        _ => socket.connect(address)?,
    }
    Ok(socket)
}

fn abstract_name(address: &Path) -> Option<&[u8]> {
    address.as_os_str().as_encoded_bytes().strip_prefix(b"@")
}

/// Returns the time limit of the watchdog that the environment sets for this process.
fn watchdog(variable: impl Fn(&str) -> Option<String>) -> Option<Duration> {
    let is_ours = variable("WATCHDOG_PID").is_none_or(|id| id == process::id().to_string());
    let limit = variable("WATCHDOG_USEC")?.parse().ok().map(Duration::from_micros)?;
    (is_ours && !limit.is_zero()).then_some(limit)
}

/// Returns true if `/healthz` answers.
async fn is_alive(address: SocketAddr) -> bool {
    let ask = async {
        let mut connection = TcpStream::connect(reachable(address)).await?;
        let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        connection.write_all(request.as_bytes()).await?;
        let mut beginning = [0; ALIVE.len()];
        connection.read_exact(&mut beginning).await?;
        io::Result::Ok(beginning == ALIVE)
    };
    ask.await.unwrap_or(false)
}

/// Returns the address at which this machine reaches a listener: one on all addresses is on loopback too.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::shutdown::shutdown;

    const SOON: Duration = Duration::from_secs(10);

    fn manager(watchdog: Option<Duration>) -> (ServiceManager, UnixDatagram) {
        let (socket, peer) = UnixDatagram::pair().unwrap();
        peer.set_nonblocking(true).unwrap();
        let socket = Some(socket);
        (ServiceManager { socket, watchdog }, peer)
    }

    fn received(peer: &UnixDatagram) -> Vec<String> {
        let mut messages = Vec::new();
        let mut buffer = [0; 1024];
        while let Ok(length) = peer.recv(&mut buffer) {
            messages.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
        }
        messages
    }

    /// Answers each connection with `answer`, and hands the number of connections to `until`.
    async fn serve(listener: TcpListener, answer: &str, connections: usize) {
        for _ in 0..connections {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            assert!(connection.read(&mut request).await.unwrap() > 0);
            assert!(request.starts_with(b"GET /healthz HTTP/1.1\r\n"));
            connection.write_all(answer.as_bytes()).await.unwrap();
        }
    }

    async fn fed_with(answer: &str) -> Vec<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (manager, peer) = manager(Some(Duration::from_millis(30)));
        let (_trigger, ends) = shutdown();
        tokio::select! {
            () = manager.feed(address, ends) => {}
            () = serve(listener, answer, 4) => {}
        }
        received(&peer)
    }

    #[tokio::test]
    async fn the_watchdog_is_fed_only_while_the_server_answers() {
        let fed = fed_with("HTTP/1.1 200 OK\r\n\r\n").await;
        assert!(
            fed.len() >= 2 && fed.iter().all(|message| message == "WATCHDOG=1"),
            "{fed:?}"
        );
        assert!(fed_with("HTTP/1.1 503 Service Unavailable\r\n\r\n").await.is_empty());
        assert!(fed_with("HTTP/1.1 20").await.is_empty());
    }

    #[tokio::test]
    async fn a_server_that_is_silent_starves_the_watchdog() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (manager, peer) = manager(Some(Duration::from_millis(30)));
        let (trigger, ends) = shutdown();
        let feeding = manager.feed(listener.local_addr().unwrap(), ends);
        let connecting = async {
            let _first = listener.accept().await.unwrap();
            let _second = listener.accept().await.unwrap();
            trigger.pull();
        };
        time::timeout(SOON, async { tokio::join!(feeding, connecting) })
            .await
            .unwrap();
        assert!(received(&peer).is_empty());
    }

    #[tokio::test]
    async fn without_a_watchdog_nothing_is_fed() {
        let (manager, peer) = manager(None);
        let (_trigger, ends) = shutdown();
        let address = "127.0.0.1:9".parse().unwrap();
        time::timeout(SOON, manager.feed(address, ends)).await.unwrap();
        manager.ready(address);
        manager.stopping();
        let messages = received(&peer);
        assert!(
            messages[0].starts_with("READY=1\n") && messages[1].starts_with("STOPPING=1\n"),
            "{messages:?}"
        );
    }

    #[test]
    fn a_watchdog_of_another_process_is_not_ours() {
        let limit = |pairs: &[(&str, &str)]| {
            watchdog(|name| {
                let pair = pairs.iter().find(|(known, _)| *known == name);
                pair.map(|(_, value)| (*value).to_owned())
            })
        };
        let ours = process::id().to_string();
        assert_eq!(limit(&[("WATCHDOG_USEC", "30000000")]), Some(Duration::from_secs(30)));
        assert_eq!(
            limit(&[("WATCHDOG_USEC", "5"), ("WATCHDOG_PID", &ours)]),
            Some(Duration::from_micros(5))
        );
        assert_eq!(limit(&[("WATCHDOG_USEC", "5"), ("WATCHDOG_PID", "1")]), None);
        for none in ["0", "", "-1", "x"] {
            assert_eq!(limit(&[("WATCHDOG_USEC", none)]), None, "{none:?}");
        }
        assert_eq!(limit(&[]), None);
    }

    #[test]
    fn a_listener_on_all_addresses_is_reached_by_loopback() {
        for (bound, reached) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.7:80", "192.0.2.7:80"),
        ] {
            assert_eq!(reachable(bound.parse().unwrap()), reached.parse().unwrap());
        }
    }

    #[test]
    fn both_forms_of_an_address_are_understood() {
        assert_eq!(abstract_name(Path::new("@/org/x")), Some(&b"/org/x"[..]));
        assert_eq!(abstract_name(Path::new("/run/systemd/notify")), None);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        connect(&path).unwrap().send(b"READY=1").unwrap();
        let mut buffer = [0; 16];
        assert_eq!(listener.recv(&mut buffer).unwrap(), 7);
        assert!(connect(Path::new("/no/such/socket")).is_err());
    }
}
