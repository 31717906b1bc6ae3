//! A temporary Redis, or its fork Valkey.

use std::io::{self, Read as _, Write as _};
use std::path::Path;

use super::Kind;
use super::home::Medium;
use super::server::{Recipe, Server, connect};
use crate::error::Result;
use crate::process;

pub(super) const KIND: Kind = Kind {
    name: "Redis",
    variable: "FORECOURT_TEST_REDIS_URL",
    package: "redis-server",
    hint: "install redis-server or valkey-server (macOS: brew install redis)",
    find: || ["redis-server", "valkey-server"].into_iter().find_map(process::find),
    start,
    url: |port| format!("redis://127.0.0.1:{port}/"),
};

fn start(program: &Path) -> Result<Server> {
    Server::start(&Recipe {
        label: "redis",
        location: program,
        medium: Medium::Disk,
        prepare: ":",
        serve: r#""$LOCATION" --bind 127.0.0.1 --port "$PORT" --save "" --appendonly no --daemonize no"#,
        stop: "KILL",
        probe,
    })
}

fn probe(port: u16) -> io::Result<bool> {
    let mut connection = connect(port)?;
    connection.write_all(b"PING\r\n")?;
    let mut answer = [0; 5];
    connection.read_exact(&mut answer)?;
    Ok(answer == *b"+PONG")
}
