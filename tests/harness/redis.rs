//! The Redis that several servers share.

use std::env;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Names a Redis server.
const VARIABLE: &str = "FORECOURT_TEST_REDIS_URL";

/// A numbered database of a Redis server, emptied. Each test has a number of its own.
#[derive(Debug)]
pub struct Redis {
    url: Url,
}

impl Redis {
    /// Opens the one with this number.
    pub async fn empty(number: u8) -> Self {
        let server = env::var(VARIABLE).ok().filter(|url| !url.is_empty());
        let server = server.unwrap_or_else(|| {
            panic!("{VARIABLE} is not set; `cargo xtask test` provides a Redis and sets it, and nothing is skipped")
        });
        let url: Url = server
            .parse()
            .unwrap_or_else(|error| panic!("{VARIABLE} is no URL: {error}"));
        let mut redis = Self { url };
        let mut connection = TcpStream::connect(redis.address()).await.unwrap();
        let commands = format!("SELECT {number}\r\nFLUSHDB\r\nQUIT\r\n");
        connection.write_all(commands.as_bytes()).await.unwrap();
        let mut answers = String::new();
        connection.read_to_string(&mut answers).await.unwrap();
        assert_eq!(
            answers, "+OK\r\n+OK\r\n+OK\r\n",
            "the server of {VARIABLE} can be emptied"
        );
        redis.url.set_path(&number.to_string());
        redis
    }

    /// Returns its URL.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the server's host and port.
    pub fn address(&self) -> String {
        let host = self.url.host_str().unwrap_or("127.0.0.1");
        format!("{host}:{}", self.url.port().unwrap_or(6379))
    }

    /// Returns its URL through a proxy on a local port.
    pub fn through(&self, port: u16) -> String {
        let mut url = self.url.clone();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(port)).unwrap();
        url.into()
    }
}
