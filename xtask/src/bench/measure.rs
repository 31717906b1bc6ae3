//! The measurements on one engine.

use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::Engine;
use super::installation::{Installation, Programs};
use super::options::Options;
use super::report::Row;
use super::workloads::{self, Workload};
use super::wrk::{Load, Request, Run, Wrk};
use super::{pgbench, procfs};
use crate::error::Result;
use crate::http::Client;
use crate::server::Server;

/// How long each side is driven before its first round, unmeasured.
const WARM_UP_SECONDS: u32 = 1;

/// CPU time of a program and, where there is one, of the database server.
pub(super) struct Cpu {
    pub(super) program: f64,
    pub(super) database: Option<f64>,
}

/// What is driven, and by what.
pub(super) enum Side {
    Forecourt(Load),
    Bare(Load),
    Pgbench { sql: String, clients: u32 },
}

/// Everything that runs on one engine, and what was measured.
pub(super) struct Bench<'a> {
    pub(super) engine: Engine,
    pub(super) options: &'a Options,
    pub(super) server: Server,
    /// The bare program, which has a file with the same records, whatever the engine is.
    pub(super) bare: Server,
    wrk: &'a Wrk,
    installation: Installation<'a>,
    pub(super) rows: Vec<Row>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        engine: Engine,
        programs: &'a Programs,
        wrk: &'a Wrk,
        folder: &Path,
        options: &'a Options,
    ) -> Result<Self> {
        let installation = Installation::new(engine, programs, folder, options)?;
        let starts: Result<Vec<f64>> = (0..5).map(|_| installation.cold_start()).collect();
        let start = Row::new("cold start", median(starts?), "ms").at_most(engine.pick(30.0, 100.0));
        let size = Row::new("database for each lead", installation.bytes_per_lead, "bytes");
        Ok(Self {
            engine,
            options,
            server: installation.serve()?,
            bare: installation.serve_bare()?,
            wrk,
            installation,
            rows: vec![start, size.at_most(engine.pick(1_000.0, 1_200.0))],
        })
    }

    pub(super) fn run_all(&mut self) -> Result<()> {
        thread::sleep(Duration::from_secs(1));
        let process = self.server.process();
        let idle = procfs::memory(process)?;
        self.add(Row::new("memory, idle", idle, "MB").at_most(10.0));
        let workloads = workloads::all(self)?;
        let compare_all = || workloads.into_iter().try_for_each(|workload| self.compare(workload));
        let ((), loaded) = procfs::peak_memory(process, compare_all)?;
        self.add(Row::new("memory, loaded", loaded, "MB").at_most(60.0));
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

    /// One of the businesses as a caller of Forecourt.
    pub(super) fn client(&self, business: usize) -> Client<'_> {
        Client {
            port: self.server.port(),
            authorization: &self.installation.authorizations[business],
        }
    }

    pub(super) fn bare_client(&self) -> Client<'_> {
        Client {
            port: self.bare.port(),
            ..self.client(0)
        }
    }

    /// A load of Forecourt's as the options have it.
    pub(super) fn load(&self, request: Request, path: &str) -> Load {
        Load {
            request,
            path: path.to_owned(),
            clients: self.options.connections,
        }
    }

    pub(super) fn creates(&self) -> Side {
        Side::Forecourt(self.load(Request::Create, "/2.0/leads"))
    }

    /// Runs a load; returns its result, and the microseconds of CPU time of each request.
    pub(super) fn run(&self, side: &Side, seconds: u32) -> Result<(Run, Cpu)> {
        let process = match side {
            Side::Forecourt(_) => self.server.process(),
            Side::Bare(_) => self.bare.process(),
            // It is a child that ends; the other children have nothing to do meanwhile.
            Side::Pgbench { .. } => process::id(),
        };
        let headers = &self.installation.authorizations;
        self.with_cpu(process, || {
            let run = match side {
                Side::Forecourt(load) => self.wrk.run(&self.server, headers, load, seconds),
                Side::Bare(load) => self.wrk.run(&self.bare, headers, load, seconds),
                Side::Pgbench { sql, clients } => {
                    pgbench::run(&self.installation, self.options.leads, sql, *clients, seconds)
                }
            }?;
            Ok((run.requests, run))
        })
    }

    /// Does some work, which returns how many requests it had; returns its result with the microseconds of CPU time that each
    /// request took of the process and of the database server.
    pub(super) fn with_cpu<T>(&self, process: u32, work: impl FnOnce() -> Result<(f64, T)>) -> Result<(T, Cpu)> {
        let seconds = || {
            let database = self.installation.database_process()?;
            Ok((
                procfs::cpu_seconds(process)?,
                database.map(procfs::cpu_seconds).transpose()?,
            ))
        };
        let before = seconds()?;
        let (requests, result) = work()?;
        let after: (f64, Option<f64>) = seconds()?;
        let each = |before: f64, after: f64| (after - before) * 1e6 / requests;
        let cpu = Cpu {
            program: each(before.0, after.0),
            database: before.1.zip(after.1).map(|(before, after)| each(before, after)),
        };
        Ok((result, cpu))
    }

    /// Runs a workload against both sides in turn. The medians of the rounds count, so that a neighbour who is busy for some
    /// seconds changes nothing.
    fn compare(&mut self, workload: Workload) -> Result<()> {
        let Workload {
            mut row,
            ours,
            yardstick,
            cpu_targets,
        } = workload;
        self.run(&ours, WARM_UP_SECONDS)?;
        self.run(&yardstick, WARM_UP_SECONDS)?;
        let mut rounds = Vec::new();
        for _ in 0..self.options.rounds {
            let seconds = self.options.seconds;
            rounds.push([self.run(&ours, seconds)?, self.run(&yardstick, seconds)?]);
        }
        let of = |side: usize, figure: fn(&(Run, Cpu)) -> f64| median(rounds.iter().map(|round| figure(&round[side])));
        let ratios = rounds
            .iter()
            .map(|[ours, theirs]| ours.0.per_second / theirs.0.per_second);
        let rates = [0, 1].map(|side| of(side, |(run, _)| run.per_second));
        row.value = rates[0];
        row.yardstick = Some((rates[1], median(ratios)));
        let program = [0, 1].map(|side| of(side, |(_, cpu)| cpu.program));
        let database = [0, 1].map(|side| of(side, |(_, cpu)| cpu.database.unwrap_or_default()));
        let cpu = |side: usize| match self.engine {
            Engine::Sqlite => format!("{:.0} µs", program[side]),
            Engine::Postgres => format!("{:.0} + {:.0} µs", program[side], database[side]),
        };
        let latencies = [of(0, |(run, _)| run.p50), of(0, |(run, _)| run.p99)];
        let [p50, p99] = latencies.map(|latency| format!("{latency:.2} ms"));
        row.load = [p50, p99, cpu(0), cpu(1)];
        self.add(row);
        // Microseconds of each are milliseconds of a thousand.
        let values = [("program", program[0]), ("database server", database[0])];
        for ((name, value), most) in values.into_iter().zip(cpu_targets) {
            self.add(Row::new(format!("CPU time of 1,000, {name}"), value, "ms").at_most(*most));
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
        let row = Row::new("log of a lone create", median(growths) / 1e3, "kB");
        self.add(row.at_most(self.engine.pick(40.0, 2.5)));
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
