//! A connection on which any bytes can be sent, including those that no client sends.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::answer::Answer;
use crate::server::Server;

/// A bare connection to a server.
#[derive(Debug)]
pub struct Raw(TcpStream);

impl Raw {
    /// Connects.
    pub async fn connect(server: &Server) -> Self {
        Self(TcpStream::connect(server.address()).await.unwrap())
    }

    /// Sends a whole request and returns the answer, after which the server must close the connection.
    pub async fn exchange(server: &Server, request: &[u8]) -> Answer {
        let mut connection = Self::connect(server).await;
        // A server that refuses a request half-way may close before it has read the rest.
        drop(connection.0.write_all(request).await);
        connection.answer().await
    }

    /// Sends some bytes.
    ///
    /// # Errors
    /// The server has closed the connection.
    pub async fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_all(bytes).await
    }

    /// Asserts that the server sends exactly this next.
    pub async fn hear(&mut self, expected: &str) {
        let mut heard = vec![0; expected.len()];
        let reading = tokio::time::timeout(Duration::from_secs(60), self.0.read_exact(&mut heard));
        reading.await.expect("the server speaks in time").unwrap();
        assert_eq!(String::from_utf8_lossy(&heard), expected);
    }

    /// Reads one answer, with a length or until the server closes the connection.
    pub async fn answer(&mut self) -> Answer {
        let mut seen = Vec::new();
        loop {
            if let Some(answer) = parse(&seen, false) {
                return answer;
            }
            let mut buffer = [0; 4096];
            let reading = tokio::time::timeout(Duration::from_secs(60), self.0.read(&mut buffer));
            match reading.await.expect("the server answers in time") {
                Ok(0) | Err(_) => {
                    return parse(&seen, true)
                        .unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&seen)));
                }
                Ok(length) => seen.extend_from_slice(&buffer[..length]),
            }
        }
    }

    /// Sends nothing until the server gives up. Returns true if that happened within `patience`.
    pub async fn ends_within(mut self, patience: Duration) -> bool {
        let mut rest = Vec::new();
        tokio::time::timeout(patience, self.0.read_to_end(&mut rest))
            .await
            .is_ok()
    }

    /// Sends one byte of `script` per second until the server gives up: it closes the connection or sends something. Returns
    /// true if that happened within `patience`.
    pub async fn drip(mut self, script: &[u8], patience: Duration) -> bool {
        let dripping = async {
            for byte in script.iter().cycle() {
                let mut buffer = [0; 64];
                tokio::select! {
                    _ = self.0.read(&mut buffer) => return,
                    () = tokio::time::sleep(Duration::from_secs(1)) => {}
                }
                if self.0.write_all(&[*byte]).await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(patience, dripping).await.is_ok()
    }
}

/// Parses the answer in `bytes`, if it is complete; at the end of the connection one without a length is complete too.
fn parse(bytes: &[u8], ended: bool) -> Option<Answer> {
    let head_length = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = str::from_utf8(&bytes[..head_length]).expect("heads are ASCII");
    let body = &bytes[head_length + 4..];
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: reqwest::header::HeaderMap = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    let length: Option<usize> = headers
        .get("content-length")
        .map(|length| length.to_str().unwrap().parse().unwrap());
    let complete = length.map_or(ended, |length| body.len() >= length);
    complete.then(|| Answer {
        request: "a raw request".to_owned(),
        status,
        headers,
        body: body.to_vec(),
    })
}
