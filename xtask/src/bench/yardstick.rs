//! The programs that are measured, and what they are measured against: for each engine a program that does the same work with
//! nothing around it.

use std::fs;
use std::path::PathBuf;

use super::installation::{Database, Installation};
use super::options::Options;
use super::pgbench::Pgbench;
use super::workloads::Places;
use crate::error::{Context as _, Result};
use crate::http;
use crate::server::Server;
use crate::workspace::Workspace;

/// The programs as they are shipped.
pub(super) struct Programs {
    pub(super) forecourt: PathBuf,
    pub(super) bare: PathBuf,
}

impl Programs {
    pub(super) fn build(workspace: &Workspace) -> Result<Self> {
        let [forecourt, bare] = workspace.build_dist(["forecourt", "forecourt-bare"])?;
        Ok(Self { forecourt, bare })
    }

    /// How many bytes the program has.
    pub(super) fn size(&self) -> Result<u64> {
        let file = fs::metadata(&self.forecourt).context(|| format!("{} is gone", self.forecourt.display()))?;
        Ok(file.len())
    }
}
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
