//! The servers that the tests need: a temporary PostgreSQL and a temporary Redis.
//!
//! For each the environment may name a running one. Otherwise its programs are searched for on this machine, and installed if
//! that needs no prompt. If neither is possible, the task ends with a line that says what to do. Tests are never left out because
//! a server is missing.

mod home;
mod install;
mod postgres;
mod redis;
mod server;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::error::{Error, Result};
use server::Server;

pub(crate) use home::has_util_linux_setpriv;
pub(crate) use install::packages;
pub(crate) use postgres::DurablePostgres;
pub(crate) use server::free_port;

/// The properties of a kind of server.
struct Kind {
    name: &'static str,
    /// The variable that names a server to use instead of a temporary one; the tests read it too.
    variable: &'static str,
    /// The Debian package that has it.
    package: &'static str,
    /// The instructions for installing it by hand.
    hint: &'static str,
    /// Returns the place of its programs on this machine.
    find: fn() -> Option<PathBuf>,
    start: fn(&Path) -> Result<Server>,
    /// Returns the URL of the server on this port.
    url: fn(u16) -> String,
}

const KINDS: [&Kind; 2] = [&postgres::KIND, &redis::KIND];

/// The servers of one test run. They end when this is dropped.
pub(crate) struct Services(Vec<Service>);

struct Service {
    kind: &'static Kind,
    url: String,
    /// The server, held so that it ends with this value; `None` for a server that the environment named.
    _server: Option<Server>,
}

impl Services {
    /// Finds or installs the servers and starts them concurrently.
    pub(crate) fn start() -> Result<Self> {
        let missing: Vec<&Kind> = KINDS
            .into_iter()
            .filter(|kind| kind.given().is_none() && kind.programs().is_err())
            .collect();
        if !missing.is_empty() {
            install::servers(&missing)?;
        }
        thread::scope(|scope| {
            let starting = KINDS.map(|kind| scope.spawn(|| Service::start(kind)));
            // All are joined before the first failure is reported, so that no start continues.
            let started = starting.map(|thread| thread.join().unwrap_or_else(|_| Err(Error::new("a start panicked"))));
            started.into_iter().collect::<Result<_>>().map(Self)
        })
    }

    /// Sets the variables that give a test program the addresses of the servers.
    pub(crate) fn announce(&self, command: &mut Command) {
        for service in &self.0 {
            command.env(service.kind.variable, &service.url);
        }
    }
}

impl Service {
    fn start(kind: &'static Kind) -> Result<Self> {
        if let Some(url) = kind.given() {
            eprintln!("{} given by {}", kind.name, kind.variable);
            return Ok(Self {
                kind,
                url,
                _server: None,
            });
        }
        let server = (kind.start)(&kind.programs()?)?;
        let url = (kind.url)(server.port());
        eprintln!("{} started on {url}", kind.name);
        Ok(Self {
            kind,
            url,
            _server: Some(server),
        })
    }
}

impl Kind {
    fn given(&self) -> Option<String> {
        env::var(self.variable).ok().filter(|url| !url.is_empty())
    }

    fn programs(&self) -> Result<PathBuf> {
        (self.find)().ok_or_else(|| self.missing())
    }

    fn missing(&self) -> Error {
        Error::new(format!(
            "{} is not on this machine: {}, or set {}",
            self.name, self.hint, self.variable
        ))
    }
}
