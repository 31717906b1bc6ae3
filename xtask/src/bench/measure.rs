//! The measurements on one engine.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::Engine;
use super::format::{median, per_second};
use super::installation::{Database, Installation};
use super::options::Options;
use super::pgbench::Pgbench;
use super::procfs::{self, Counted};
use super::programs::Programs;
use super::server::Server;
use super::workloads::{self, Against, Places, Workload};
use super::wrk::{Request, Wrk};
use crate::error::{Error, Result};

/// How often the program is started to learn how long a start takes.
const STARTS: usize = 5;
/// How long each side is driven before its first round, unmeasured.
const WARM_UP: Duration = Duration::from_secs(1);

/// All that was measured on one engine.
pub(super) struct Measured {
    pub(super) engine: Engine,
    /// The database's name and version.
    pub(super) version: String,
    pub(super) rows: Vec<Row>,
    pub(super) cold_start: Duration,
    /// Bytes of the server's own before its first request.
    pub(super) idle_memory: u64,
    /// The most that it had under all loads.
    pub(super) loaded_memory: u64,
}

/// A workload with the samples of its rounds.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) target: Option<f64>,
    rounds: Vec<Round>,
}

/// Both sides, one right after the other.
struct Round {
    ours: Sample,
    theirs: Sample,
}

/// What one run came to.
pub(super) struct Sample {
    pub(super) per_second: f64,
    /// CPU time of the program per request, in microseconds.
    pub(super) cpu: f64,
    /// The same of the database server, where there is one.
    pub(super) database_cpu: Option<f64>,
    /// Half of the requests took longer, in milliseconds. The yardsticks are not asked.
    pub(super) median: f64,
    pub(super) slowest_percent: f64,
}

impl Measured {
    /// Sets everything up on this engine, measures, and takes it all down.
    pub(super) fn of(
        engine: Engine,
        programs: &Programs,
        wrk: &Wrk,
        folder: &Path,
        options: &Options,
    ) -> Result<Self> {
        let installation = Installation::new(engine, programs, folder, options)?;
        let cold_start = cold_start(&installation)?;
        let bare = match installation.database() {
            Database::Sqlite(file) => Some(installation.serve_bare(file)?),
            Database::Postgres(_) => None,
        };
        let server = installation.serve()?;
        let idle_memory = procfs::memory(server.process())?;
        let places = Places::find(&server, &installation.authorization())?;
        let yardstick = match (installation.database(), bare) {
            (Database::Postgres(database), _) => {
                let before = places.after_first_new.id;
                Yardstick::Pgbench(Pgbench::new(database, installation.folder(), before, options))
            }
            (Database::Sqlite(_), Some(bare)) => Yardstick::Bare(bare),
            (Database::Sqlite(_), None) => return Err(Error::new("the bare program was not started")),
        };
        let bench = Bench {
            wrk,
            server: &server,
            authorization: installation.authorization(),
            database: installation.database().process()?,
            yardstick,
        };
        let (rows, loaded_memory) = watching_memory(server.process(), || {
            let workloads = workloads::all(engine, &places).into_iter();
            workloads.map(|workload| bench.row(engine, &workload, options)).collect()
        });
        let bare = match &bench.yardstick {
            Yardstick::Bare(bare) => Some(bare),
            Yardstick::Pgbench(_) => None,
        };
        Ok(Self {
            engine,
            version: installation.database().version(bare)?,
            rows: rows?,
            cold_start,
            idle_memory,
            loaded_memory,
        })
    }
}
