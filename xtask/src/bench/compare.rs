//! Runs a workload against Forecourt and a yardstick in turn.

use std::process;

use serde::Deserialize;

use super::Engine;
use super::measure::{Bench, median};
use super::report::Row;
use super::wrk::Request;
use crate::error::Result;

/// The time for which each side is driven before its first round, unmeasured.
const WARM_UP_SECONDS: u32 = 1;

/// The work of Forecourt and of the yardstick, each with its clients.
pub(super) struct Workload {
    pub(super) name: &'static str,
    pub(super) sides: [Side; 2],
    pub(super) clients: [Clients; 2],
    /// The minimum ratio of throughputs, on either engine.
    pub(super) at_least: Option<[f64; 2]>,
    /// The maximum milliseconds of CPU time of 1,000 requests: the program's, and the database server's.
    pub(super) cpu_at_most: &'static [f64],
}

/// The server under load, and its load generator.
pub(super) enum Side {
    Forecourt(Request),
    Bare(Request),
    /// The database server, by a script in `sql`.
    Pgbench(&'static str),
}

/// The number of clients that send requests at once, and the number of businesses whose keys they have.
#[derive(Clone, Copy)]
pub(super) struct Clients {
    pub(super) count: u32,
    pub(super) businesses: usize,
}

/// The report of a load generator on a run, and the resources that the run used. pgbench only reports the mean of its
/// latencies.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Run {
    pub(super) requests: usize,
    pub(super) failed: usize,
    pub(super) per_second: f64,
    /// The median latency in milliseconds.
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// The microseconds of CPU time of each request: the program's, and the database server's if there is one.
    pub(super) cpu: [f64; 2],
}

impl Bench<'_> {
    /// Runs a workload against both sides in turn. The medians of the rounds count, so that other load on the machine for some
    /// seconds changes nothing.
    pub(super) fn compare(&mut self, workload: &Workload) -> Result<()> {
        let both = |seconds| -> Result<[Run; 2]> {
            let Workload { sides, clients, .. } = workload;
            let ours = self.run(&sides[0], clients[0], seconds)?;
            Ok([ours, self.run(&sides[1], clients[1], seconds)?])
        };
        both(WARM_UP_SECONDS)?;
        let rounds = (0..self.options.rounds).map(|_| both(self.options.seconds));
        let rounds = rounds.collect::<Result<Vec<_>>>()?;
        let ratios = rounds
            .iter()
            .map(|[ours, yardstick]| ours.per_second / yardstick.per_second);
        let [ours, yardstick] = [0, 1].map(|side| {
            let of = |figure: fn(&Run) -> f64| median(rounds.iter().map(|round| figure(&round[side])));
            Run {
                per_second: of(|run| run.per_second),
                p50: of(|run| run.p50),
                p99: of(|run| run.p99),
                cpu: [of(|run| run.cpu[0]), of(|run| run.cpu[1])],
                ..Run::default()
            }
        });
        let mut row = Row::new(workload.name, ours.per_second, "/s");
        row.yardstick = Some((yardstick.per_second, median(ratios)));
        if let Some(least) = workload.at_least {
            row = row.at_least(self.engine.pick(least));
        }
        let cpu = |[program, database]: [f64; 2]| match self.engine {
            Engine::Sqlite => format!("{program:.0} µs"),
            Engine::Postgres => format!("{program:.0} + {database:.0} µs"),
        };
        let [p50, p99] = [ours.p50, ours.p99].map(|latency| format!("{latency:.2} ms"));
        row.load = [p50, p99, cpu(ours.cpu), cpu(yardstick.cpu)];
        self.add(row);
        // Microseconds for one are milliseconds for a thousand.
        let names = ["CPU time of 1,000, program", "CPU time of 1,000, database server"];
        for ((name, value), most) in names.into_iter().zip(ours.cpu).zip(workload.cpu_at_most) {
            self.add(Row::new(name, value, "ms").at_most(*most));
        }
        Ok(())
    }

    fn run(&self, side: &Side, clients: Clients, seconds: u32) -> Result<Run> {
        let process = match side {
            Side::Forecourt(_) => self.server.process(),
            Side::Bare(_) => self.bare.process(),
            // It is a child process that ends; the other children are idle meanwhile.
            Side::Pgbench(_) => process::id(),
        };
        let (run, cpu) = self.with_cpu(process, || match side {
            Side::Forecourt(request) => self.wrk(&self.server, request, clients, seconds),
            Side::Bare(request) => self.wrk(&self.bare, request, clients, seconds),
            Side::Pgbench(script) => self.pgbench(script, clients, seconds),
        })?;
        let cpu = cpu.map(|seconds| seconds * 1e6 / run.requests as f64);
        Ok(Run { cpu, ..run })
    }

    /// Creates leads for some seconds; returns their number.
    pub(super) fn create_leads(&self, seconds: u32) -> Result<usize> {
        let creates = Side::Forecourt(Request::post("/2.0/leads"));
        Ok(self.run(&creates, self.clients(), seconds)?.requests)
    }

    /// Returns as many clients as the options have, of one business.
    pub(super) fn clients(&self) -> Clients {
        let (count, businesses) = (self.options.connections, 1);
        Clients { count, businesses }
    }
}
