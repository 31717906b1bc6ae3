//! `cargo xtask bench`: how fast the program is, beside the most that the machine can do.
//!
//! Each workload is driven against the program as it is shipped, all its rules in force, and in turn with it against a yardstick that
//! does the same work with nothing around it: on SQLite the bare program of `xtask/bare`, on PostgreSQL the server's own
//! pgbench. What is checked is the ratio of the two, which says the same on any machine; a figure alone says nothing.

mod endpoint;
mod feed;
mod format;
mod installation;
mod machine;
mod measure;
mod neighbour;
mod options;
mod pgbench;
mod procfs;
mod report;
mod sweeper;
mod webhooks;
mod workloads;
mod wrk;
mod yardstick;

use std::env;

use crate::error::Result;
use crate::scratch::Scratch;
use crate::task::Task;
use crate::workspace::Workspace;
use machine::Machine;
use measure::Measured;
use options::Options;
use report::Report;
use sweeper::Sweeper;
use wrk::Wrk;
use yardstick::Programs;

pub(crate) const TASK: Task = Task {
    name: "bench",
    usage: "[--engine sqlite|postgres|both] [--leads N] [--vehicles N] [--seconds N] [--connections N] [--rounds N] [--write FILE]",
    summary: "measure the program as it is shipped beside a bare program and pgbench, and validate it by its targets",
    run,
};

/// The database engines, which are measured one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    fn name(self) -> &'static str {
        self.pick("SQLite", "PostgreSQL")
    }

    /// Which of two holds for this engine.
    fn pick<T>(self, on_sqlite: T, on_postgres: T) -> T {
        match self {
            Self::Sqlite => on_sqlite,
            Self::Postgres => on_postgres,
        }
    }
}

fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let folder = Scratch::new(&env::temp_dir(), "bench")?;
    let _sweeper = Sweeper::of(folder.path())?;
    let wrk = Wrk::new(folder.path(), &options)?;
    let programs = Programs::build(workspace)?;
    let before = machine::sync_time(folder.path())?;
    let engines = options.engines.iter();
    let measured = engines.map(|engine| Measured::of(*engine, &programs, &wrk, folder.path(), &options));
    let measured = measured.collect::<Result<_>>()?;
    let report = Report {
        options: &options,
        programs: &programs,
        machine: Machine::look(workspace)?,
        sync_times: [before, machine::sync_time(folder.path())?],
        measured,
    };
    let report = report.to_markdown()?;
    println!("\n{report}");
    match &options.write {
        Some(file) => report::write(&workspace.root().join(file), &report),
        None => Ok(()),
    }
}
