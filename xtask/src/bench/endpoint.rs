//! An endpoint that webhooks are delivered to, as fast as anything that answers at all.

use std::collections::HashMap;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What the id of the record begins with in the body of a delivery.
const RECORD: &[u8] = b"\"data\":{\"id\":";

/// The endpoint. Its threads end with their connections.
pub(super) struct Endpoint {
    port: u16,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    /// When each record's first delivery arrived.
    arrivals: HashMap<i64, Instant>,
    received: u64,
    /// Answers wait while this is set.
    held: bool,
}

impl Endpoint {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let state = Arc::<(Mutex<State>, Condvar)>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(&connection, &state));
            }
        });
        Ok(Self { port, state })
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// Lets answers wait, or lets them go.
    pub(super) fn hold(&self, held: bool) {
        lock(&self.state).held = held;
        self.state.1.notify_all();
    }

    /// How many deliveries have arrived.
    pub(super) fn received(&self) -> u64 {
        lock(&self.state).received
    }

    /// When the delivery of a record arrived.
    pub(super) fn arrival(&self, record: i64) -> Option<Instant> {
        lock(&self.state).arrivals.get(&record).copied()
    }

    /// Waits until so many have arrived, for `patience`; answers whether they have.
    pub(super) fn wait_for(&self, count: u64, patience: Duration) -> bool {
        let waiting = self
            .state
            .1
            .wait_timeout_while(lock(&self.state), patience, |state| state.received < count);
        let (state, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        state.received >= count
    }
}

fn lock(state: &(Mutex<State>, Condvar)) -> MutexGuard<'_, State> {
    state.0.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(connection: &TcpStream, state: &(Mutex<State>, Condvar)) {
    let mut reader = BufReader::with_capacity(16 * 1024, connection);
    let mut writer = connection;
    let mut body = Vec::new();
    while let Ok(Some(length)) = head(&mut reader) {
        body.resize(length, 0);
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let now = Instant::now();
        {
            let mut guard = lock(state);
            guard.received += 1;
            if let Some(record) = record(&body) {
                guard.arrivals.entry(record).or_insert(now);
            }
            state.1.notify_all();
            let going = state.1.wait_while(guard, |state| state.held);
            drop(going);
        }
        if writer
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .is_err()
        {
            return;
        }
    }
}

/// Reads the head of a request; answers the length of its body, or nothing at the end of the connection.
fn head(reader: &mut impl io::BufRead) -> io::Result<Option<usize>> {
    let mut length = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = str::from_utf8(&line).map_err(io::Error::other)?.trim_end();
        if text.is_empty() {
            return Ok(Some(length));
        }
        if let Some((name, value)) = text.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
}

fn record(body: &[u8]) -> Option<i64> {
    let at = body.windows(RECORD.len()).position(|window| window == RECORD)?;
    let digits = body[at + RECORD.len()..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let digits: Vec<u8> = digits.copied().collect();
    str::from_utf8(&digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_is_found_in_the_body() {
        assert_eq!(record(br#"{"id":"evt_1","data":{"id":42,"name":"x"}}"#), Some(42));
        assert_eq!(record(br#"{"data":{}}"#), None);
    }

    #[test]
    fn a_delivery_is_counted_and_answered() {
        let endpoint = Endpoint::start().unwrap();
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, endpoint.port)).unwrap();
        let body = r#"{"data":{"id":7}}"#;
        let request = format!("POST /hook HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = [0; 15];
        connection.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK");
        assert!(endpoint.wait_for(1, Duration::from_secs(10)) && endpoint.arrival(7).is_some());
        assert_eq!(endpoint.received(), 1);
    }
}
