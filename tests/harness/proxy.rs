//! A stretch of network that can be cut.

use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes connections on to another address, until it is stopped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    state: Arc<watch::Sender<State>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Whole,
    Cut,
    Silent,
}

impl Proxy {
    /// One to this address.
    pub async fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(watch::Sender::new(State::Whole));
        tokio::spawn(accept(listener, target, Arc::clone(&state)));
        Self { port, state }
    }

    /// The port that it listens on.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Ends every connection, and each new one at once.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Keeps connections, old and new, and passes nothing on.
    pub fn silence(&self) {
        self.state.send_replace(State::Silent);
    }

    /// Works again. Connections that were kept in silence end.
    pub fn mend(&self) {
        self.state.send_replace(State::Whole);
    }
}

async fn accept(listener: TcpListener, target: String, state: Arc<watch::Sender<State>>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(pass(client, target.clone(), state.subscribe()));
    }
}

async fn pass(mut client: TcpStream, target: String, mut state: watch::Receiver<State>) {
    if *state.borrow() == State::Whole {
        let Ok(mut server) = TcpStream::connect(target).await else {
            return;
        };
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut server) => return,
            _ = state.wait_for(|state| *state != State::Whole) => {}
        }
    }
    // Silent connections are held open; nothing of what they say is read.
    drop(state.wait_for(|state| *state != State::Silent).await);
}
