//! A client for the few requests that are not part of a load.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::error::{Context as _, Error, Result};

/// An answer with its status.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) etag: Option<String>,
    pub(crate) body: String,
}

/// A caller of a server on this machine.
#[derive(Clone, Copy)]
pub(crate) struct Client<'a> {
    pub(crate) port: u16,
    /// The header with its credential.
    pub(crate) authorization: Option<&'a str>,
}

impl Client<'_> {
    pub(crate) fn get(&self, path: &str) -> Result<Answer> {
        self.send("GET", path, "")
    }

    /// Returns the JSON with which a path is answered.
    pub(crate) fn get_json(&self, path: &str) -> Result<Value> {
        let answer = self.get(path)?;
        let json = serde_json::from_str(&answer.body).ok();
        json.filter(|_| answer.status == 200)
            .ok_or_else(|| Error::new(format!("{path} is answered {}: {}", answer.status, answer.body)))
    }

    /// Posts JSON.
    pub(crate) fn post(&self, path: &str, body: &str) -> Result<Answer> {
        self.send("POST", path, body)
    }

    /// Creates a record, and returns its id.
    pub(crate) fn create(&self, path: &str, body: &Value) -> Result<i64> {
        let answer = self.post(path, &body.to_string())?;
        let created: Option<Value> = serde_json::from_str(&answer.body).ok();
        let id = created.as_ref().and_then(|created| created["data"]["id"].as_i64());
        id.ok_or_else(|| Error::new(format!("{path} is refused with {}: {}", answer.status, answer.body)))
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Result<Answer> {
        let answer = self.exchange(method, path, body);
        answer.context(|| format!("{} is not answered", path.chars().take(80).collect::<String>()))
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> io::Result<Answer> {
        const TIMEOUT: Duration = Duration::from_secs(10);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut connection = TcpStream::connect_timeout(&address, TIMEOUT)?;
        connection.set_read_timeout(Some(TIMEOUT))?;
        let authorization = self.authorization.unwrap_or("Accept: */*");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{authorization}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(request.as_bytes())?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        parse(&answer).ok_or_else(|| io::Error::other("the answer is not understood"))
    }
}

fn parse(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let etag = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("etag").then(|| value.trim().to_owned())
    });
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        etag,
        body: body.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_body_are_read() {
        let answer = parse("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nETag: \"a:b\"\r\n\r\n{}").unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (503, "{}"));
        assert_eq!(answer.etag.as_deref(), Some("\"a:b\""));
        assert_eq!(parse("HTTP/1.1 200 OK\r\n"), None);
    }
}
