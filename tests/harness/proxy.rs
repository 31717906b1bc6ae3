//! A network connection that can be interrupted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Forwards connections to another address, until it is stopped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    target: Arc<Mutex<String>>,
    state: Arc<watch::Sender<Condition>>,
}

/// The state, and the number of switches to another address. A connection ends with the next switch, even if the state is the
/// same again before its task looks.
type Condition = (State, u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Whole,
    Cut,
    Silent,
}

impl Proxy {
    /// Starts one to this address.
    pub async fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(watch::Sender::new((State::Whole, 0)));
        let target = Arc::new(Mutex::new(target));
        tokio::spawn(accept(listener, Arc::clone(&target), Arc::clone(&state)));
        Self { port, target, state }
    }

    /// Returns the port that it listens on.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Ends every connection, and each new one at once.
    pub fn cut(&self) {
        self.set(State::Cut);
    }

    /// Keeps connections, old and new, and forwards nothing.
    pub fn silence(&self) {
        self.set(State::Silent);
    }

    /// Ends every connection, and forwards new ones to another address.
    pub fn switch(&self, target: String) {
        *self.target.lock().unwrap() = target;
        self.state.send_modify(|(_, switches)| *switches += 1);
        self.mend();
    }

    /// Forwards again. Connections that were kept in silence end.
    pub fn mend(&self) {
        self.set(State::Whole);
    }

    fn set(&self, state: State) {
        self.state.send_modify(|(present, _)| *present = state);
    }
}

async fn accept(listener: TcpListener, target: Arc<Mutex<String>>, state: Arc<watch::Sender<Condition>>) {
    while let Ok((client, _)) = listener.accept().await {
        let target = target.lock().unwrap().clone();
        tokio::spawn(pass(client, target, state.subscribe()));
    }
}

async fn pass(mut client: TcpStream, target: String, mut state: watch::Receiver<Condition>) {
    let (present, switches) = *state.borrow();
    if present == State::Whole {
        let Ok(mut server) = TcpStream::connect(target).await else {
            return;
        };
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut server) => return,
            _ = state.wait_for(|condition| *condition != (State::Whole, switches)) => {}
        }
    }
    // Silent connections are held open; none of their bytes are read.
    drop(state.wait_for(|(state, _)| *state != State::Silent).await);
}

/// Forwards connections to a PostgreSQL, and sometimes loses its answer to a commit.
#[derive(Debug)]
pub struct LossyProxy {
    port: u16,
    loses: Arc<AtomicBool>,
}

impl LossyProxy {
    /// Starts one to this address, which loses nothing yet.
    pub async fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let loses = Arc::new(AtomicBool::new(false));
        let losing = Arc::clone(&loses);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (target, losing) = (target.clone(), Arc::clone(&losing));
                // A connection that breaks off on one side breaks off on the other.
                tokio::spawn(async move { pass_but_for_commits(client, target, &losing).await });
            }
        });
        Self { port, loses }
    }

    /// Returns the port that it listens on.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Loses the answer to the next commit, with its connection; nothing after that.
    pub fn lose_a_commit(&self) {
        self.loses.store(true, Ordering::SeqCst);
    }

    /// Returns true if the answer was lost.
    pub fn has_lost(&self) -> bool {
        !self.loses.load(Ordering::SeqCst)
    }
}

async fn pass_but_for_commits(mut client: TcpStream, target: String, loses: &AtomicBool) -> std::io::Result<()> {
    const COMMIT: &[u8] = b"COMMIT";
    let mut server = TcpStream::connect(target).await?;
    let (mut said, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            length = client.read(&mut said) => {
                let said = &said[..length?];
                if said.is_empty() {
                    return Ok(());
                }
                server.write_all(said).await?;
                let commits = said.windows(COMMIT.len()).any(|part| part == COMMIT);
                if commits && loses.swap(false, Ordering::SeqCst) {
                    // Once the server answers it has committed.
                    return server.readable().await;
                }
            }
            length = server.read(&mut answered) => {
                let answered = &answered[..length?];
                if answered.is_empty() {
                    return Ok(());
                }
                client.write_all(answered).await?;
            }
        }
    }
}
