//! PostgreSQL's own benchmark, running the statements that Forecourt needs.

use std::fs;
use std::process::Command;

use super::installation::Installation;
use super::wrk::Run;
use crate::error::{Context as _, Error, Result};
use crate::process;

/// What a lead says, about as long as one that a load creates, and what a list shows of it.
const DOCUMENT: &str = include_str!("sql/document.json");
const PREVIEW: &str = include_str!("sql/preview.txt");

/// Runs a script on the installation's database server, whose first business has so many leads.
pub(super) fn run(installation: &Installation<'_>, leads: u32, sql: &str, clients: u32, seconds: u32) -> Result<Run> {
    let server = installation.postgres()?;
    let file = installation.file("pgbench.sql");
    fs::write(&file, sql).context(|| format!("{} cannot be written", file.display()))?;
    let mut pgbench = Command::new(server.program("pgbench")?);
    pgbench.args([
        "--no-vacuum",
        "--protocol=prepared",
        "--host=127.0.0.1",
        "--username=postgres",
    ]);
    pgbench.args([
        format!("--port={}", server.port()),
        format!("--client={clients}"),
        format!("--time={seconds}"),
        format!("--define=leads={leads}"),
        format!("--define=document={}", DOCUMENT.trim_end()),
        format!("--define=preview={}", PREVIEW.trim_end()),
        format!("--file={}", file.display()),
    ]);
    let output = process::output(pgbench.arg("postgres").env("LC_ALL", "C"))?;
    parse(&output).ok_or_else(|| Error::new("pgbench's result is not understood"))
}

fn parse(output: &str) -> Option<Run> {
    let number = |label: &str| -> Option<f64> {
        let rest = output.lines().find_map(|line| line.strip_prefix(label))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    Some(Run {
        requests: number("number of transactions actually processed: ")?,
        per_second: number("tps = ")?,
        // It reports the mean alone.
        p50: f64::NAN,
        p99: f64::NAN,
        failed: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read() {
        let output = "pgbench (PostgreSQL) 15.1\nnumber of transactions actually processed: 2404\n\
                      latency average = 1.3 ms\ntps = 24040.5 (without initial connection time)\n";
        let run = parse(output).unwrap();
        assert_eq!((run.requests, run.per_second), (2404.0, 24040.5));
        assert!(parse("pgbench: error\n").is_none());
    }
}
