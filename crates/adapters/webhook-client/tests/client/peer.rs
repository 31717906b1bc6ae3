//! Endpoints, with their answers and records.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use rustls::ServerConfig;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpListener,
    sync::watch,
};
use tokio_rustls::TlsAcceptor;

/// The action of an endpoint after it has read a request.
pub(crate) struct Reply {
    text: Vec<u8>,
    then: Then,
}

#[derive(Clone, Copy)]
enum Then {
    ReadOn,
    HangUp,
    Stall,
    Flood,
}

/// Makes a reply after which the connection can be used again.
pub(crate) fn reply(text: impl Into<Vec<u8>>) -> Reply {
    Reply {
        text: text.into(),
        then: Then::ReadOn,
    }
}

impl Reply {
    /// Makes the endpoint hang up after it.
    pub(crate) fn and_hangs_up(self) -> Self {
        let then = Then::HangUp;
        Self { then, ..self }
    }

    /// Makes the endpoint do nothing after it, not even hang up.
    pub(crate) fn and_stalls(self) -> Self {
        let then = Then::Stall;
        Self { then, ..self }
    }

    /// Makes the endpoint write after it for as long as it can.
    pub(crate) fn and_floods(self) -> Self {
        let then = Then::Flood;
        Self { then, ..self }
    }
}

/// Returns a complete answer with this body.
pub(crate) fn answer(status: u16, body: &str) -> Reply {
    reply(format!(
        "HTTP/1.1 {status} Whatever\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The lines before the body, with their ends.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// An endpoint. Its script is called with the numbers of the connection and of the request on it, both from 0.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: watch::Receiver<Connections>,
}

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Connections {
    pub(crate) opened: usize,
    pub(crate) closed: usize,
}

impl Peer {
    pub(crate) async fn start(script: impl Fn(usize, usize) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with(None, script).await
    }

    pub(crate) async fn start_tls(
        tls: ServerConfig,
        script: impl Fn(usize, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(Some(tls), script).await
    }

    async fn start_with(
        tls: Option<ServerConfig>,
        script: impl Fn(usize, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let tls = tls.map(|tls| TlsAcceptor::from(Arc::new(tls)));
        let (count, connections) = watch::channel(Connections::default());
        let (count, script) = (Arc::new(count), Arc::new(script));
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let requests = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = count.borrow().opened;
                count.send_modify(|count| count.opened += 1);
                let (script, requests, count) = (Arc::clone(&script), Arc::clone(&requests), Arc::clone(&count));
                let tls = tls.clone();
                // The task ends with its connection; the way it ends is up to the client.
                tokio::spawn(async move {
                    let script = |request| script(connection, request);
                    let _ = match tls {
                        None => serve(stream, &requests, script).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => serve(stream, &requests, script).await,
                            Err(error) => Err(error),
                        },
                    };
                    count.send_modify(|count| count.closed += 1);
                });
            }
        });
        Self {
            address,
            seen,
            connections,
        }
    }

    /// Starts an endpoint that answers 200 to everything.
    pub(crate) async fn content() -> Self {
        Self::start(|_, _| answer(200, "fine")).await
    }

    /// Starts an endpoint that sends this at once, reads nothing, and hangs up.
    pub(crate) async fn start_banner(text: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (count, connections) = watch::channel(Connections::default());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                count.send_modify(|count| count.opened += 1);
                let _ = stream.write_all(text).await;
                let _ = stream.shutdown().await;
                // The sent bytes are read, since a reset would lose the text.
                let _ = stream.read_to_end(&mut Vec::new()).await;
                count.send_modify(|count| count.closed += 1);
            }
        });
        Self {
            address,
            seen: Arc::default(),
            connections,
        }
    }

    /// Returns the requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the number of connections opened so far.
    pub(crate) fn opened(&self) -> usize {
        self.connections.borrow().opened
    }

    /// Waits until that number of connections are closed.
    pub(crate) async fn closed(&self, number: usize) {
        let mut connections = self.connections.clone();
        let closed = connections.wait_for(|count| count.closed >= number);
        tokio::time::timeout(Duration::from_secs(3600), closed)
            .await
            .unwrap()
            .unwrap();
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    requests: &Mutex<Vec<Seen>>,
    script: impl Fn(usize) -> Reply,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    for request in 0.. {
        let Some(seen) = read_request(&mut stream).await? else {
            return Ok(());
        };
        requests.lock().unwrap().push(seen);
        let Reply { text, then } = script(request);
        stream.write_all(&text).await?;
        stream.flush().await?;
        match then {
            Then::ReadOn => {}
            Then::HangUp => return Ok(()),
            // It waits until the other end gives up.
            Then::Stall => return stream.read_to_end(&mut Vec::new()).await.map(drop),
            Then::Flood => loop {
                stream.write_all(&[b'x'; 4096]).await?;
            },
        }
    }
    Ok(())
}

async fn read_request(stream: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Option<Seen>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some(Seen { head, body }))
}
