//! The measurements on one engine.

use std::mem;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Engine;
use super::compare::Clients;
use super::database::Database;
use super::installation::{Installation, Programs};
use super::options::Options;
use super::procfs;
use super::report::Row;
use super::workloads;
use crate::error::{Error, Result};
use crate::http::{Answer, Client};
use crate::server::Server;
use crate::workspace::Workspace;

/// Everything that runs on one engine, and the measurements.
pub(super) struct Bench<'a> {
    pub(super) engine: Engine,
    pub(super) options: &'a Options,
    workspace: &'a Workspace,
    pub(super) server: Server,
    /// The bare program, which has a file with the same records on either engine.
    pub(super) bare: Server,
    /// The installation, which ends after the servers on it.
    pub(super) installation: Installation,
    pub(super) rows: Vec<Row>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        engine: Engine,
        options: &'a Options,
        programs: &Programs,
        folder: &Path,
    ) -> Result<Self> {
        let installation = Installation::new(engine, options, programs, folder)?;
        let starts = (0..5).map(|_| installation.forecourt.cold_start());
        let starts = starts.collect::<Result<Vec<f64>>>()?;
        let mut bench = Self {
            engine,
            options,
            workspace,
            server: installation.forecourt.serve(&[])?,
            bare: installation.serve_bare(&programs.bare)?,
            installation,
            rows: Vec::new(),
        };
        bench.at_most("cold start", median(starts), "ms", [30.0, 100.0]);
        let bytes = bench.installation.bytes_per_lead;
        bench.at_most("database for each lead", bytes, "bytes", [1_000.0, 1_200.0]);
        Ok(bench)
    }

    pub(super) fn run_all(&mut self) -> Result<()> {
        // The first start after so many records were loaded gathers statistics.
        thread::sleep(Duration::from_secs(3));
        let fresh = self.installation.forecourt.serve(&[])?;
        mem::replace(&mut self.server, fresh).stop()?;
        // A second later, the allocator returns the memory that a start has freed.
        thread::sleep(Duration::from_secs(3));
        let idle = procfs::memory(self.server.process())?;
        self.at_most("memory, idle", idle, "MB", [10.0; 2]);
        self.filters()?;
        let process = self.server.process();
        let workloads = workloads::all(self)?;
        let compare_all = || workloads.iter().try_for_each(|workload| self.compare(workload));
        let ((), loaded) = procfs::peak_memory(process, compare_all)?;
        self.at_most("memory, loaded", loaded, "MB", [60.0; 2]);
        self.log_of_a_create()?;
        self.feed()?;
        self.reads_beside_creates()?;
        // From here on each write makes a delivery.
        self.webhooks()?;
        self.hostile_business()
    }

    /// Returns the database's name and version.
    pub(super) fn database(&self) -> Result<String> {
        let version = match &self.installation.database {
            Database::Sqlite(_) => self.bare_client().get("/")?.body,
            Database::Postgres(server) => server.execute("SHOW server_version")?,
        };
        let version = version.split_whitespace().next().unwrap_or_default();
        Ok(format!("{} {version}", self.engine.name()))
    }

    pub(super) fn add(&mut self, row: Row) {
        eprintln!("{}: {}", self.engine.name(), row.cells().join("  ").trim_end());
        self.rows.push(row);
    }

    /// Adds a figure without a yardstick, with its maximum on either engine.
    pub(super) fn at_most(&mut self, name: &str, value: f64, unit: &'static str, most: [f64; 2]) {
        let row = Row::new(name, value, unit);
        self.add(row.at_most(self.engine.pick(most)));
    }

    /// Returns one of the businesses as a caller of Forecourt.
    pub(super) fn client(&self, business: usize) -> Client<'_> {
        let authorization = Some(&*self.installation.authorizations[business]);
        let port = self.server.port();
        Client { port, authorization }
    }

    pub(super) fn bare_client(&self) -> Client<'_> {
        let (port, authorization) = (self.bare.port(), None);
        Client { port, authorization }
    }

    /// Returns the path of a file that a load generator reads.
    pub(super) fn script(&self, name: &str) -> PathBuf {
        self.workspace.root().join("xtask/src/bench").join(name)
    }

    /// Does some work; returns its result with the seconds of CPU time that the process used, and those of the database server.
    pub(super) fn with_cpu<T>(&self, process: u32, work: impl FnOnce() -> Result<T>) -> Result<(T, [f64; 2])> {
        let database = self.installation.database.process()?;
        let seconds = || -> Result<[f64; 2]> {
            let of_database = database.map_or(Ok(0.0), procfs::cpu_seconds)?;
            Ok([procfs::cpu_seconds(process)?, of_database])
        };
        let before = seconds()?;
        let result = work()?;
        let after = seconds()?;
        Ok((result, [after[0] - before[0], after[1] - before[1]]))
    }

    /// Measures the bytes that a single create adds to the database's log.
    fn log_of_a_create(&mut self) -> Result<()> {
        let lead = json!({
            "name": "Alex Example", "email": "alex@buyer.example", "mobile": "+447400000000", "type": ["test_drive"],
            "data": {"message": "Hello, is the car still there? I could come by on Saturday for a test drive."},
        });
        let growth = |database: &Database, create: &dyn Fn() -> Result<()>| {
            let mut growths = Vec::new();
            for _ in 0..50 {
                let before = database.log_bytes()?;
                create()?;
                growths.push(database.log_bytes()? - before);
            }
            Ok(median(growths) / 1e3)
        };
        let database = &self.installation.database;
        let ours = growth(database, &|| self.client(0).create("/2.0/leads", &lead).map(drop))?;
        let yardstick = match database {
            Database::Sqlite(_) => {
                let bare = Database::Sqlite(self.installation.bare.clone());
                growth(&bare, &|| self.bare_client().create("/leads", &lead).map(drop))?
            }
            Database::Postgres(_) => {
                let (count, businesses) = (1, 1);
                let before = database.log_bytes()?;
                let creates = self.pgbench("create.sql", Clients { count, businesses }, 1)?;
                (database.log_bytes()? - before) / creates.requests as f64 / 1e3
            }
        };
        self.at_most("log of a lone create", ours, "kB", [40.0, 2.5]);
        self.add(Row::new("the same, yardstick", yardstick, "kB"));
        Ok(())
    }
}

/// Returns the answer to a path, whose status must be 200, and the milliseconds that it took.
pub(super) fn timed(client: Client<'_>, path: &str) -> Result<(String, f64)> {
    let began = Instant::now();
    let Answer { status, body, .. } = client.get(path)?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    if status == 200 {
        Ok((body, took))
    } else {
        Err(Error::new(format!("{path} is answered {status}: {body}")))
    }
}

/// Returns the middle value, or the higher of the middle two.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    percentile(values, 50)
}

/// Returns the value below which this percentage of the values are.
pub(super) fn percentile(values: impl IntoIterator<Item = f64>, percent: usize) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() * percent / 100).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_in_order() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(percentile((0..200).rev().map(f64::from), 99), 198.0);
    }
}
