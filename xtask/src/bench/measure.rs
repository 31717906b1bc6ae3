//! The measurements on one engine.

use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::Engine;
use super::installation::{Installation, Programs};
use super::options::Options;
use super::procfs;
use super::report::Row;
use super::workloads::{self, Side, Workload};
use super::wrk::Request;
use crate::error::Result;
use crate::http::Client;
use crate::server::Server;
use crate::workspace::Workspace;

/// How long each side is driven before its first round, unmeasured.
const WARM_UP_SECONDS: u32 = 1;

/// How many clients send requests at once, and of how many businesses they have keys.
#[derive(Clone, Copy)]
pub(super) struct Clients {
    pub(super) count: u32,
    pub(super) businesses: usize,
}

/// What a load generator reports of a run, and what the run took. pgbench reports the mean of its latencies alone.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Run {
    pub(super) requests: f64,
    pub(super) per_second: f64,
    /// In milliseconds.
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) failed: u64,
    /// Microseconds of CPU time of each request: the program's, and the database server's where there is one.
    pub(super) cpu: [f64; 2],
}

/// Everything that runs on one engine, and what was measured.
pub(super) struct Bench<'a> {
    pub(super) engine: Engine,
    pub(super) options: &'a Options,
    workspace: &'a Workspace,
    pub(super) installation: Installation<'a>,
    pub(super) server: Server,
    /// The bare program, which has a file with the same records, whatever the engine is.
    pub(super) bare: Server,
    pub(super) rows: Vec<Row>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        engine: Engine,
        options: &'a Options,
        programs: &'a Programs,
        folder: &Path,
    ) -> Result<Self> {
        let installation = Installation::new(engine, options, programs, folder)?;
        let forecourt = installation.forecourt();
        let starts = (0..5).map(|_| forecourt.cold_start());
        let starts = starts.collect::<Result<Vec<f64>>>()?;
        let mut bench = Self {
            engine,
            options,
            workspace,
            server: forecourt.serve(&[])?,
            bare: installation.serve_bare()?,
            installation,
            rows: Vec::new(),
        };
        bench.at_most("cold start", median(starts), "ms", [30.0, 100.0]);
        let bytes = bench.installation.bytes_per_lead;
        bench.at_most("database for each lead", bytes, "bytes", [1_000.0, 1_200.0]);
        Ok(bench)
    }

    pub(super) fn run_all(&mut self) -> Result<()> {
        thread::sleep(Duration::from_secs(1));
        let process = self.server.process();
        self.at_most("memory, idle", procfs::memory(process)?, "MB", [10.0; 2]);
        let workloads = workloads::all(self)?;
        let compare_all = || workloads.into_iter().try_for_each(|workload| self.compare(workload));
        let ((), loaded) = procfs::peak_memory(process, compare_all)?;
        self.at_most("memory, loaded", loaded, "MB", [60.0; 2]);
        self.log_of_a_create()?;
        self.feed()?;
        self.reads_beside_creates()?;
        // From here on each write makes a delivery.
        self.webhooks()?;
        self.hostile_business()
    }

    /// The database's name and version.
    pub(super) fn database(&self) -> Result<String> {
        let version = match self.engine {
            Engine::Sqlite => self.bare_client().get("/")?.body,
            Engine::Postgres => self.installation.psql("SHOW server_version")?,
        };
        let version = version.split_whitespace().next().unwrap_or_default();
        Ok(format!("{} {version}", self.engine.name()))
    }

    pub(super) fn add(&mut self, row: Row) {
        eprintln!("{}: {}", self.engine.name(), row.cells().join("  ").trim_end());
        self.rows.push(row);
    }

    /// Adds a figure without a yardstick, with the most that it is to be on either engine.
    pub(super) fn at_most(&mut self, name: &str, value: f64, unit: &'static str, most: [f64; 2]) {
        let row = Row::new(name, value, unit);
        self.add(row.at_most(self.engine.pick(most)));
    }

    /// One of the businesses as a caller of Forecourt.
    pub(super) fn client(&self, business: usize) -> Client<'_> {
        Client {
            port: self.server.port(),
            authorization: Some(&self.installation.authorizations[business]),
        }
    }

    pub(super) fn bare_client(&self) -> Client<'_> {
        Client {
            port: self.bare.port(),
            authorization: None,
        }
    }

    /// As many clients as the options have, of one business.
    pub(super) fn clients(&self) -> Clients {
        Clients {
            count: self.options.connections,
            businesses: 1,
        }
    }

    /// A file that a load generator reads.
    pub(super) fn script(&self, name: &str) -> PathBuf {
        self.workspace.root().join("xtask/src/bench").join(name)
    }

    /// Creates leads for some seconds; returns how many.
    pub(super) fn create_leads(&self, seconds: u32) -> Result<f64> {
        let creates = Side::Forecourt(Request::post("/2.0/leads"));
        Ok(self.run(&creates, self.clients(), seconds)?.requests)
    }

    fn run(&self, side: &Side, clients: Clients, seconds: u32) -> Result<Run> {
        let process = match side {
            Side::Forecourt(_) => self.server.process(),
            Side::Bare(_) => self.bare.process(),
            // It is a child that ends; the other children have nothing to do meanwhile.
            Side::Pgbench(_) => process::id(),
        };
        let (run, cpu) = self.with_cpu(process, || match side {
            Side::Forecourt(request) => self.wrk(&self.server, request, clients, seconds),
            Side::Bare(request) => self.wrk(&self.bare, request, clients, seconds),
            Side::Pgbench(script) => self.pgbench(script, clients, seconds),
        })?;
        let cpu = cpu.map(|seconds| seconds * 1e6 / run.requests);
        Ok(Run { cpu, ..run })
    }

    /// Does some work; returns with its result the seconds of CPU time that the process took, and the database server.
    pub(super) fn with_cpu<T>(&self, process: u32, work: impl FnOnce() -> Result<T>) -> Result<(T, [f64; 2])> {
        let database = self.installation.database_process()?;
        let seconds = || -> Result<[f64; 2]> {
            let of_database = database.map_or(Ok(0.0), procfs::cpu_seconds)?;
            Ok([procfs::cpu_seconds(process)?, of_database])
        };
        let before = seconds()?;
        let result = work()?;
        let after = seconds()?;
        Ok((result, [after[0] - before[0], after[1] - before[1]]))
    }

    /// Runs a workload against both sides in turn. The medians of the rounds count, so that a neighbour who is busy for some
    /// seconds changes nothing.
    fn compare(&mut self, workload: Workload) -> Result<()> {
        let Workload {
            name, sides, clients, ..
        } = workload;
        let both = |seconds| -> Result<[Run; 2]> {
            Ok([
                self.run(&sides[0], clients[0], seconds)?,
                self.run(&sides[1], clients[1], seconds)?,
            ])
        };
        both(WARM_UP_SECONDS)?;
        let rounds = (0..self.options.rounds).map(|_| both(self.options.seconds));
        let rounds = rounds.collect::<Result<Vec<_>>>()?;
        let of_round = |figure: fn(&[Run; 2]) -> f64| median(rounds.iter().map(figure));
        let of_both =
            |figure: fn(&Run) -> f64| [0, 1].map(|side| median(rounds.iter().map(|round| figure(&round[side]))));

        let rates = of_both(|run| run.per_second);
        let (program, database) = (of_both(|run| run.cpu[0]), of_both(|run| run.cpu[1]));
        let cpu = |side: usize| match self.engine {
            Engine::Sqlite => format!("{:.0} µs", program[side]),
            Engine::Postgres => format!("{:.0} + {:.0} µs", program[side], database[side]),
        };
        let [p50, p99] = [of_both(|run| run.p50), of_both(|run| run.p99)].map(|[ours, _]| format!("{ours:.2} ms"));
        let mut row = Row::new(name, rates[0], "/s");
        row.yardstick = Some((
            rates[1],
            of_round(|[ours, yardstick]| ours.per_second / yardstick.per_second),
        ));
        row.load = [p50, p99, cpu(0), cpu(1)];
        if let Some(least) = workload.at_least {
            row = row.at_least(self.engine.pick(least));
        }
        self.add(row);
        // Microseconds of each are milliseconds of a thousand.
        let values = [("program", program[0]), ("database server", database[0])];
        for ((what, value), most) in values.into_iter().zip(workload.cpu_at_most) {
            self.add(Row::new(format!("CPU time of 1,000, {what}"), value, "ms").at_most(*most));
        }
        Ok(())
    }

    /// What one create alone adds to the database's log.
    fn log_of_a_create(&mut self) -> Result<()> {
        let lead = json!({
            "name": "Alex Example", "email": "alex@buyer.example", "mobile": "+447400000000", "type": ["test_drive"],
            "data": {"message": "Hello, is the car still there? I could come by on Saturday for a test drive."},
        });
        let mut growths = Vec::new();
        for _ in 0..50 {
            let before = self.installation.log_bytes()?;
            self.client(0).create("/2.0/leads", &lead)?;
            growths.push(self.installation.log_bytes()? - before);
        }
        self.at_most("log of a lone create", median(growths) / 1e3, "kB", [40.0, 2.5]);
        Ok(())
    }
}

/// The middle one, or the higher of the middle two.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    percentile(values, 50)
}

/// The value that so many in a hundred stay below.
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
