//! The servers that the tests need: a PostgreSQL and a Redis, thrown away afterwards.
//!
//! For each the environment may name one that runs already; else its programs are looked for on this machine; else they are
//! installed where that needs no prompt; else the task ends with a line that says what to do. Tests are never left out for want
//! of a server.

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

/// What is particular about a kind of server.
struct Kind {
    name: &'static str,
    /// Names a server to use instead of a thrown-away one; the tests read it too.
    variable: &'static str,
    /// The Debian package that has it.
    package: &'static str,
    /// What to install by hand.
    hint: &'static str,
    /// Where its programs are on this machine.
    find: fn() -> Option<PathBuf>,
    start: fn(&Path) -> Result<Server>,
    /// How a client addresses the one on this port.
    url: fn(u16) -> String,
}

const KINDS: [&Kind; 2] = [&postgres::KIND, &redis::KIND];

/// The servers of one test run. They end with this value.
pub(crate) struct Services(Vec<Service>);

struct Service {
    kind: &'static Kind,
    url: String,
    /// Held for its end; `None` for a server that the environment named.
    _server: Option<Server>,
}

impl Services {
    /// Finds or installs what is needed and starts all of it side by side.
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
            // All are joined before the first failure is reported, so that no start is left running.
            let started = starting.map(|thread| thread.join().unwrap_or_else(|_| Err(Error::new("a start panicked"))));
            started.into_iter().collect::<Result<_>>().map(Self)
        })
    }

    /// Sets the variables that show a program that runs tests where the servers are.
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
