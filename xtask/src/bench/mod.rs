//! `cargo xtask bench`: the speed of the program, beside the maximum of the machine.
//!
//! Each workload is run against the program as it is shipped, with all its rules in force, and in turn against a yardstick that
//! does the same work with nothing around it. On SQLite the yardstick is the bare program of `xtask/bare`, on PostgreSQL the
//! server's own pgbench. The ratio of the two is checked, which has the same meaning on any machine; a figure alone has none.

mod compare;
mod database;
mod feed;
mod filters;
mod installation;
mod machine;
mod measure;
mod neighbour;
mod options;
mod pgbench;
mod procfs;
mod report;
mod webhooks;
mod workloads;
mod wrk;

use std::fs;
use std::process::Command;

use crate::error::{Context as _, Result};
use crate::process;
use crate::task::Task;
use crate::workspace::Workspace;
use installation::Programs;
use measure::Bench;
use options::Options;
use report::Row;

pub(crate) const TASK: Task = Task {
    name: "bench",
    usage: "[--engine sqlite|postgres|both] [--leads N] [--vehicles N] [--seconds N] [--connections N] [--rounds N] [--write FILE]",
    summary: "measure the program as it is shipped beside a bare program and pgbench, and compare it with its targets",
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
        self.pick(["SQLite", "PostgreSQL"])
    }

    /// Returns the value for this engine.
    fn pick<T>(self, [on_sqlite, on_postgres]: [T; 2]) -> T {
        match self {
            Self::Sqlite => on_sqlite,
            Self::Postgres => on_postgres,
        }
    }
}

fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    wrk::install()?;
    let folder = &workspace.metadata()?.target_directory.join("bench");
    // Large files may remain from an earlier run that was interrupted.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).context(|| format!("{} cannot be made", folder.display()))?;
    let [forecourt, bare] = workspace.build_dist(["forecourt", "forecourt-bare"])?;
    let size = fs::metadata(&forecourt).context(|| format!("{} is gone", forecourt.display()))?;
    let binary = Row::new("binary", size.len() as f64 / 1e6, "MB").at_most(25.0);
    let programs = Programs { forecourt, bare };
    // On some machines this changes from one minute to the next, and with it the rate of creates.
    let sync_time =
        || machine::sync_milliseconds(&folder.join("sync")).context(|| "the disk cannot be tried".to_owned());
    let sync_before = sync_time()?;
    let (mut tables, mut versions) = (String::new(), Vec::new());
    for engine in &options.engines {
        let mut bench = Bench::new(workspace, *engine, &options, &programs, folder)?;
        bench.run_all()?;
        let yardstick = engine.pick(["the bare program", "pgbench"]);
        let table = report::table(&bench.rows);
        tables += &format!("### {} beside {yardstick}\n\n{table}\n", engine.name());
        versions.push(bench.database()?);
        bench.server.stop()?;
    }
    let date = process::output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let rustc = process::output(workspace.command("rustc").arg("--version"))?;
    let report = format!(
        "Measured on {} by\n\n    cargo xtask bench {}\n\n{tables}### Size\n\n{}\n### The machine\n\n{}; the disk keeps 4 KiB \
         for good in {sync_before:.2} ms before and {:.2} ms after the measurements.\n{}; {}.\n",
        date.trim(),
        arguments.join(" "),
        report::table(&[binary]),
        machine::hardware(),
        sync_time()?,
        rustc.trim(),
        versions.join(", ")
    );
    println!("\n{report}");
    match &options.write {
        Some(file) => report::write(&workspace.root().join(file), &report),
        None => Ok(()),
    }
}
