//! The measurements on one engine.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::Engine;
use super::feed::Feed;
use super::format::{median, rate};
use super::installation::Installation;
use super::neighbour::Neighbour;
use super::options::Options;
use super::procfs::{self, Counted};
use super::webhooks::Webhooks;
use super::workloads::{self, Against, Places, Workload};
use super::wrk::{Request, Wrk};
use super::yardstick::Programs;
use super::yardstick::Yardstick;
use crate::error::{Error, Result};
use crate::server::Server;

/// How often the program is started to learn how long a start takes.
const STARTS: usize = 5;
/// How long a server is left alone before its memory is called idle.
const SETTLING: Duration = Duration::from_secs(1);
/// How long each side is driven before its first round, unmeasured.
const WARM_UP: Duration = Duration::from_secs(1);

/// All that was measured on one engine.
pub(super) struct Measured {
    pub(super) engine: Engine,
    /// The database's name and version.
    pub(super) database: String,
    pub(super) rows: Vec<Row>,
    pub(super) feed: Feed,
    pub(super) webhooks: Webhooks,
    /// A business beside one that does its worst.
    pub(super) neighbour: Neighbour,
    /// From the program's start to its first answer, in milliseconds.
    pub(super) cold_start: f64,
    /// Bytes of the server's own before its first request.
    pub(super) idle_memory: u64,
    /// The most that it had under all loads.
    pub(super) loaded_memory: u64,
}

impl Measured {
    /// Sets everything up on this engine, measures, and takes it all down.
    pub(super) fn of(engine: Engine, programs: &Programs, wrk: &Wrk, folder: &Path, options: &Options) -> Result<Self> {
        let installation = Installation::new(engine, programs, folder, options)?;
        let cold_start = cold_start(&installation)?;
        let server = installation.serve()?;
        thread::sleep(SETTLING);
        let idle_memory = procfs::memory(server.process())?;
        let places = Places::find(&server, &installation.authorization())?;
        let yardstick = Yardstick::start(&installation, &places, options)?;
        let bare = installation.serve_bare_listings(options)?;
        let bench = Bench {
            engine,
            wrk,
            server: &server,
            authorization: installation.authorization(),
            database: installation.database().process()?,
            yardstick,
            bare,
        };
        let (rows, loaded_memory) = watching_memory(server.process(), || {
            let workloads = workloads::all(engine, &places).into_iter();
            workloads
                .map(|workload| bench.row(workload, options))
                .collect::<Result<_>>()
        })?;
        let feed = Feed::measure(&server, &bench.authorization, &bench.bare)?;
        eprintln!(
            "{}: whole feed, {:.2} times the bare program's time, memory + {} MiB",
            engine.name(),
            feed.ratio(),
            feed.growth >> 20
        );
        // Last: from here on each write makes a delivery.
        let webhooks = Webhooks::measure(&server, bench.database, &bench.authorization, wrk)?;
        eprintln!(
            "{}: webhooks, {} a second, {:.2} ms after the commit",
            engine.name(),
            rate(webhooks.per_second),
            webhooks.p50
        );
        let neighbour = Neighbour::measure(&server, &bench.authorization, &installation.neighbour_authorization())?;
        eprintln!(
            "{}: beside a hostile business, p99 {:.1} ms, memory + {} MiB",
            engine.name(),
            neighbour.latency.p99,
            neighbour.growth >> 20
        );
        let measured = Self {
            engine,
            database: bench.yardstick.database()?,
            rows: rows?,
            feed,
            webhooks,
            neighbour,
            cold_start,
            idle_memory,
            loaded_memory,
        };
        server.stop()?;
        Ok(measured)
    }
}

/// The median of several starts on a database that is ready to be served.
fn cold_start(installation: &Installation<'_>) -> Result<f64> {
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let server = installation.serve_at_once()?;
        starts.push(server.ready_after().as_secs_f64() * 1e3);
        // An orderly end: the next start is to find nothing to repair.
        server.stop()?;
    }
    Ok(median(starts))
}

/// A workload with its rounds.
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

/// One of the sides.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Ours,
    Theirs,
}

impl Row {
    /// How much of the yardstick's throughput the program reached: the median of the rounds, each of which had both sides
    /// on the same machine at almost the same time.
    pub(super) fn ratio(&self) -> f64 {
        let of = |round: &Round| round.ours.run.per_second / round.theirs.run.per_second;
        median(self.rounds.iter().map(of))
    }

    /// The yardstick's CPU time per request, in proportion to the program's: what the ratio would be if the load
    /// generator cost nothing.
    pub(super) fn cpu_ratio(&self) -> f64 {
        let of = |round: &Round| round.theirs.total_cpu() / round.ours.total_cpu();
        median(self.rounds.iter().map(of))
    }

    /// Whether the promise was kept, if there is one.
    pub(super) fn met(&self) -> Option<bool> {
        self.target.map(|target| self.ratio() >= target)
    }

    pub(super) fn per_second(&self, side: Side) -> f64 {
        self.median_of(side, |sample| sample.run.per_second)
    }

    /// CPU time per request in microseconds: the program's and, where there is a database server, that server's.
    pub(super) fn cpu(&self, side: Side) -> (f64, Option<f64>) {
        let has_database = self.rounds.iter().all(|round| round.ours.database_cpu.is_some());
        let database = || self.median_of(side, |sample| sample.database_cpu.unwrap_or_default());
        (self.median_of(side, |sample| sample.cpu), has_database.then(database))
    }

    /// The time that half of our requests stayed below, in milliseconds, and that 99 of 100 did.
    pub(super) fn latency(&self) -> (f64, f64) {
        let latency = |sample: &Sample| sample.run.latency.unwrap_or_default();
        (
            self.median_of(Side::Ours, |sample| latency(sample).p50),
            self.median_of(Side::Ours, |sample| latency(sample).p99),
        )
    }

    fn median_of(&self, side: Side, figure: impl Fn(&Sample) -> f64) -> f64 {
        let sample = |round: &Round| match side {
            Side::Ours => figure(&round.ours),
            Side::Theirs => figure(&round.theirs),
        };
        median(self.rounds.iter().map(sample))
    }
}

/// What a load generator reports of a run without a failure.
pub(super) struct Run {
    pub(super) requests: f64,
    pub(super) per_second: f64,
    pub(super) latency: Option<Latency>,
}

/// In milliseconds.
#[derive(Clone, Copy, Default)]
pub(super) struct Latency {
    pub(super) p50: f64,
    pub(super) p99: f64,
}

/// A run with what it cost.
struct Sample {
    run: Run,
    /// CPU time of the program per request, in microseconds.
    cpu: f64,
    /// The same of the database server, where there is one.
    database_cpu: Option<f64>,
}

impl Sample {
    /// Runs a load and counts the CPU time that the program and the database server take meanwhile.
    fn of(program: Counted, database: Option<u32>, load: impl FnOnce() -> Result<Run>) -> Result<Self> {
        let read = || {
            Ok::<_, Error>((
                program.seconds()?,
                database.map(|id| Counted::Family(id).seconds()).transpose()?,
            ))
        };
        let before = read()?;
        let run = load()?;
        let after = read()?;
        let each = |seconds: f64| seconds * 1e6 / run.requests;
        Ok(Self {
            cpu: each(after.0 - before.0),
            database_cpu: after.1.zip(before.1).map(|(after, before)| each(after - before)),
            run,
        })
    }

    fn total_cpu(&self) -> f64 {
        self.cpu + self.database_cpu.unwrap_or_default()
    }
}

/// Everything that runs on one engine.
struct Bench<'a> {
    engine: Engine,
    wrk: &'a Wrk,
    server: &'a Server,
    authorization: String,
    /// The database server's process.
    database: Option<u32>,
    yardstick: Yardstick,
    /// The bare program with the same listings.
    bare: Server,
}

impl Bench<'_> {
    fn row(&self, workload: Workload, options: &Options) -> Result<Row> {
        let Workload {
            name,
            request,
            against,
            target,
        } = workload;
        self.ours(&request, WARM_UP)?;
        self.theirs(&against, WARM_UP)?;
        let length = Duration::from_secs(options.seconds.get().into());
        let mut rounds = Vec::new();
        for number in 1..=options.rounds.get() {
            let round = Round {
                ours: self.ours(&request, length)?,
                theirs: self.theirs(&against, length)?,
            };
            eprintln!(
                "{}: {name}, round {number}: {} a second beside {}",
                self.engine.name(),
                rate(round.ours.run.per_second),
                rate(round.theirs.run.per_second),
            );
            rounds.push(round);
        }
        Ok(Row { name, target, rounds })
    }

    fn ours(&self, request: &Request, length: Duration) -> Result<Sample> {
        Sample::of(Counted::Process(self.server.process()), self.database, || {
            self.wrk.run(self.server.port(), &self.authorization, request, length)
        })
    }

    fn theirs(&self, against: &Against, length: Duration) -> Result<Sample> {
        match (against, &self.yardstick) {
            (Against::Itself(request), _) => self.ours(request, length),
            (Against::Bare(request), _) => Sample::of(Counted::Process(self.bare.process()), None, || {
                self.wrk.run(self.bare.port(), &self.authorization, request, length)
            }),
            (Against::Yardstick { bare, .. }, Yardstick::Bare(server)) => {
                Sample::of(Counted::Process(server.process()), None, || {
                    self.wrk.run(server.port(), &self.authorization, bare, length)
                })
            }
            (Against::Yardstick { sql, .. }, Yardstick::Pgbench(pgbench)) => {
                Sample::of(Counted::Ended, self.database, || pgbench.run(sql, length))
            }
        }
    }
}

/// Does some work, and returns the most memory that the process had meanwhile.
pub(super) fn watching_memory<T>(process: u32, work: impl FnOnce() -> T) -> Result<(T, u64)> {
    const OFTEN: Duration = Duration::from_millis(100);
    thread::scope(|scope| {
        let (working, end) = mpsc::channel::<()>();
        let watcher = scope.spawn(move || {
            let mut most = 0;
            while end.recv_timeout(OFTEN) == Err(RecvTimeoutError::Timeout) {
                // The work itself fails and reports it if the process is gone.
                most = most.max(procfs::memory(process).unwrap_or_default());
            }
            most
        });
        let result = work();
        drop(working);
        let most = watcher.join().map_err(|_| Error::new("watching the memory panicked"))?;
        Ok((result, most))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(per_second: f64, cpu: f64) -> Sample {
        Sample {
            run: Run {
                requests: 1.0,
                per_second,
                latency: None,
            },
            cpu,
            database_cpu: Some(10.0),
        }
    }

    fn row(target: Option<f64>) -> Row {
        let round = |ours, theirs| Round {
            ours: sample(ours, 30.0),
            theirs: sample(theirs, 10.0),
        };
        Row {
            name: "x",
            target,
            // A neighbour was busy in the second round, and slowed both sides.
            rounds: vec![round(70.0, 100.0), round(8.0, 10.0), round(60.0, 120.0)],
        }
    }

    #[test]
    fn a_row_is_validated_by_the_median_of_its_rounds() {
        let row = row(Some(0.7));
        assert_eq!((row.ratio(), row.cpu_ratio()), (0.7, 0.5));
        assert_eq!(
            (row.per_second(Side::Ours), row.per_second(Side::Theirs)),
            (60.0, 100.0)
        );
        assert_eq!(row.cpu(Side::Theirs), (10.0, Some(10.0)));
        assert_eq!(row.met(), Some(true));
    }

    #[test]
    fn what_was_not_promised_is_not_validated() {
        assert_eq!(row(Some(0.71)).met(), Some(false));
        assert_eq!(row(None).met(), None);
    }

    #[test]
    fn memory_is_watched_while_there_is_work() {
        let (result, most) = watching_memory(std::process::id(), || {
            thread::sleep(Duration::from_millis(500));
            7
        })
        .unwrap();
        assert_eq!(result, 7);
        assert!(most > 0);
    }
}
