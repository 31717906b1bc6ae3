//! An endpoint for webhooks.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// The pause after accepting a client failed.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(10);

/// An HTTP server that stores the requests it receives, and answers 200 unless set otherwise. It runs on a thread of its own,
/// so a test may block while it waits, and its times do not depend on the test's own work.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Ends the thread when it is dropped.
    _life: oneshot::Sender<()>,
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Received {
    /// The method; `POST` in a correct delivery.
    pub method: String,
    /// The path, with the query.
    pub path: String,
    /// The headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body as received.
    pub body: Vec<u8>,
    /// The time at which it was complete.
    pub at: Instant,
}

/// The answer of a [`Receiver`].
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    delay: Duration,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// True if the body is that of the request.
    echoes: bool,
}

#[derive(Default, Debug)]
struct Shared {
    state: Mutex<State>,
    arrival: Condvar,
}

#[derive(Default, Debug)]
struct State {
    received: Vec<Received>,
    replies: HashMap<String, Reply>,
}

impl Receiver {
    /// Starts one that accepts everything.
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let (life, end) = oneshot::channel();
        let kept = Arc::clone(&shared);
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    () = accept(&listener, &kept) => {}
                    _ = end => {}
                }
            });
        });
        Self {
            address,
            shared,
            _life: life,
        }
    }

    /// Returns the url of a path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Answers requests to `path` (without the query) in this way from now on. Requests that already wait get the answer that
    /// was set when they arrived.
    pub fn answer(&self, path: &str, reply: Reply) {
        self.shared.state().replies.insert(path.to_owned(), reply);
    }

    /// Returns the requests so far, in order.
    pub fn received(&self) -> Vec<Received> {
        self.shared.state().received.clone()
    }

    /// Returns the requests to a path so far, in order.
    pub fn received_at(&self, path: &str) -> Vec<Received> {
        let mut received = self.received();
        received.retain(|received| received.path == path);
        received
    }

    /// Forgets the requests so far.
    pub fn forget(&self) {
        self.shared.state().received.clear();
    }

    /// Waits until at least `number` requests have arrived; returns all of them. The thread is blocked meanwhile.
    #[track_caller]
    pub fn wait_for(&self, number: usize, patience: Duration) -> Vec<Received> {
        let received = self.wait(patience, |received| received.len() >= number);
        received.unwrap_or_else(|received| panic!("{} of {number} requests came: {received:#?}", received.len()))
    }

    /// Waits until `happened` is true of the requests; returns them. The thread is blocked meanwhile.
    #[track_caller]
    pub fn wait_until(&self, patience: Duration, happened: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        let received = self.wait(patience, happened);
        received.unwrap_or_else(|received| panic!("what was awaited did not come; this did: {received:#?}"))
    }

    /// Returns the requests when `happened` was true of them, or else all of them as the error.
    fn wait(&self, patience: Duration, happened: impl Fn(&[Received]) -> bool) -> Result<Vec<Received>, Vec<Received>> {
        let waiting = |state: &mut State| !happened(&state.received);
        let (state, outcome) = self
            .shared
            .arrival
            .wait_timeout_while(self.shared.state(), patience, waiting)
            .unwrap_or_else(PoisonError::into_inner);
        let received = state.received.clone();
        if outcome.timed_out() {
            Err(received)
        } else {
            Ok(received)
        }
    }
}

impl Received {
    /// Returns the value of a header, if it occurs once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        let (_, value) = values.next()?;
        assert!(values.next().is_none(), "{name} is there twice: {self:?}");
        Some(value)
    }

    /// Returns the body as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns true if it is signed with this secret.
    pub fn is_signed(&self, secret: &str) -> bool {
        let signature = self.header("X-Service-Signature");
        signature.is_some_and(|signature| verify(secret, signature, &self.body))
    }
}

impl Reply {
    /// Answers with this status, at once and without a body.
    pub const fn status(status: u16) -> Self {
        Self {
            status,
            delay: Duration::ZERO,
            headers: Vec::new(),
            body: Vec::new(),
            echoes: false,
        }
    }

    /// Returns the same, with the request's body as its own.
    #[must_use]
    pub fn echo(self) -> Self {
        Self { echoes: true, ..self }
    }

    /// Returns the same, with a delay.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Returns the same with another header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the same with a body.
    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { body, ..self }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} Scripted\r\n", self.status);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        [text.as_bytes(), &self.body].concat()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a request; returns the answer to it.
    fn take(&self, received: Received) -> Reply {
        let mut state = self.state();
        let path = received.path.split('?').next().unwrap_or_default();
        let mut reply = state.replies.get(path).cloned().unwrap_or(Reply::status(200));
        if reply.echoes {
            reply.body.clone_from(&received.body);
        }
        state.received.push(received);
        drop(state);
        self.arrival.notify_all();
        reply
    }
}

#[expect(clippy::print_stderr, reason = "the test runner shows it with the failure")]
async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                client.set_nodelay(true).unwrap();
                tokio::spawn(serve(client, Arc::clone(shared)));
            }
            // A failure of one client must not end the others.
            Err(error) => {
                eprintln!("a receiver could not accept a client: {error}");
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

/// Answers one client until it leaves, or breaks off.
async fn serve(client: TcpStream, shared: Arc<Shared>) -> std::io::Result<()> {
    let mut client = BufReader::new(client);
    while let Some(received) = read(&mut client).await? {
        let reply = shared.take(received);
        tokio::time::sleep(reply.delay).await;
        client.write_all(&reply.bytes()).await?;
    }
    Ok(())
}

/// Reads the next request, which has a length.
async fn read(client: &mut BufReader<TcpStream>) -> std::io::Result<Option<Received>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if client.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let mut received = Received {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        headers: lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect(),
        body: Vec::new(),
        at: Instant::now(),
    };
    let length = received
        .header("Content-Length")
        .map_or(0, |length| length.parse().unwrap());
    received.body.resize(length, 0);
    client.read_exact(&mut received.body).await?;
    received.at = Instant::now();
    Ok(Some(received))
}

/// Verifies the header `X-Service-Signature`, `t=…,v1=…`, against this body and this secret, as the contract has receivers do
/// ("Signature"). The caller must check whether `t` is recent.
pub fn verify(secret: &str, header: &str, body: &[u8]) -> bool {
    let part = |name: &str| {
        let mut parts = header.split(',').filter_map(|part| part.split_once('='));
        parts.find_map(|(key, value)| (key == name).then_some(value))
    };
    let (Some(time), Some(signature)) = (part("t"), part("v1")) else {
        return false;
    };
    let digits = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return false;
    };
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    let expected = mac.finalize().into_bytes();
    let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
    digits && signature == expected
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    /// Sends a request and reads the answer up to `end`.
    fn exchange(client: &mut TcpStream, path: &str, body: &str, end: &str) -> String {
        let length = body.len();
        let request = format!("POST {path} HTTP/1.1\r\nHost: x\r\ncontent-length: {length}\r\nX-A: b\r\n\r\n{body}");
        client.write_all(request.as_bytes()).unwrap();
        let mut heard = Vec::new();
        while !heard.ends_with(end.as_bytes()) {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            heard.push(byte[0]);
        }
        String::from_utf8(heard).unwrap()
    }

    #[test]
    fn requests_are_kept_and_answered_as_set_up() {
        let receiver = Receiver::start();
        let mut client = TcpStream::connect(receiver.address).unwrap();
        let heard = exchange(&mut client, "/a?b=c", "{}", "\r\n\r\n");
        assert_eq!(heard, "HTTP/1.1 200 Scripted\r\nContent-Length: 0\r\n\r\n");
        let delay = Duration::from_millis(50);
        receiver.answer(
            "/a",
            Reply::status(503).after(delay).header("Retry-After", "1").body("no"),
        );
        let begun = Instant::now();
        let heard = exchange(&mut client, "/a", "[1]", "no");
        assert!(begun.elapsed() >= delay);
        assert_eq!(
            heard,
            "HTTP/1.1 503 Scripted\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\nno"
        );
        receiver.answer("/echo", Reply::status(200).echo());
        let heard = exchange(&mut client, "/echo", "[2]", "[2]");
        assert!(heard.starts_with("HTTP/1.1 200 "), "{heard}");
        let received = receiver.wait_for(3, TIMEOUT);
        assert_eq!(
            (received[0].method.as_str(), received[0].path.as_str()),
            ("POST", "/a?b=c")
        );
        assert_eq!(received[0].header("x-a"), Some("b"));
        assert_eq!(received[1].json(), serde_json::json!([1]));
        assert!(received[0].at <= received[1].at);
        assert_eq!(receiver.received_at("/a").len(), 1);
    }

    #[test]
    fn a_waiting_request_is_woken() {
        let receiver = Receiver::start();
        let address = receiver.address;
        let sender = thread::spawn(move || {
            let mut client = TcpStream::connect(address).unwrap();
            for path in ["/1", "/2", "/3"] {
                exchange(&mut client, path, "", "\r\n\r\n");
            }
        });
        receiver.wait_until(TIMEOUT, |received| {
            received.iter().any(|received| received.path == "/3")
        });
        sender.join().unwrap();
        receiver.forget();
        assert!(
            receiver
                .wait(Duration::from_millis(1), |received| !received.is_empty())
                .is_err()
        );
    }

    #[test]
    fn signatures_are_verified() {
        // From `printf '1767270896.{"a":1}' | openssl dgst -sha256 -hmac whsec_test`.
        let v1 = "5c877e595ea387f4695032ef145807f5b7474723e8a83d0eddbaf603d9104ae0";
        let header = format!("t=1767270896,v1={v1}");
        assert!(verify("whsec_test", &header, br#"{"a":1}"#));
        assert!(!verify("whsec_other", &header, br#"{"a":1}"#));
        assert!(!verify("whsec_test", &header, br#"{"a":2}"#));
        for other in [
            format!("t=1767270897,v1={v1}"),
            format!("t=1767270896,v0={v1}"),
            format!("t=1767270896,v1={}", v1.to_uppercase()),
            format!("v1={v1}"),
            "t=1767270896".into(),
            String::new(),
        ] {
            assert!(!verify("whsec_test", &other, br#"{"a":1}"#), "{other}");
        }
    }
}
