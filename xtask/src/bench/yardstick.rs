//! What the program is measured against: a program for each engine that does the same work with nothing around it.

use super::installation::{Database, Installation};
use super::options::Options;
use super::pgbench::Pgbench;
use super::workloads::Places;
use crate::error::{Context as _, Result};
use crate::http;
use crate::server::Server;

pub(super) enum Yardstick {
    /// `xtask/bare`, on a copy of the SQLite file.
    Bare(Server),
    /// On the same server and the same tables.
    Pgbench(Pgbench),
}

impl Yardstick {
    pub(super) fn start(installation: &Installation<'_>, places: &Places, options: &Options) -> Result<Self> {
        match installation.database() {
            Database::Sqlite { copy, .. } => installation.serve_bare(copy).map(Self::Bare),
            Database::Postgres(server) => {
                let before = places.after_first_new.id;
                Pgbench::new(server, installation.folder(), before, options).map(Self::Pgbench)
            }
        }
    }

    /// The database's name and version.
    pub(super) fn database(&self) -> Result<String> {
        match self {
            Self::Bare(server) => {
                let answer = http::get(server.port(), "/", "");
                let answer = answer.context(|| "the bare program does not answer".to_owned())?;
                Ok(format!("SQLite {}", answer.body))
            }
            Self::Pgbench(pgbench) => pgbench.version(),
        }
    }
}
