//! PostgreSQL's own benchmark, running the statements that Forecourt needs.

use std::process::Command;

use super::measure::{Bench, Clients, Run};
use crate::error::{Error, Result};
use crate::process;

/// What a lead says, about as long as one that a load creates, and what a list shows of it.
const DOCUMENT: &str = include_str!("sql/document.json");
const PREVIEW: &str = include_str!("sql/preview.txt");

impl Bench<'_> {
    /// Runs a script of `sql` on the database server.
    pub(super) fn pgbench(&self, script: &str, clients: Clients, seconds: u32) -> Result<Run> {
        let server = self.installation.postgres()?;
        let mut pgbench = Command::new(server.program("pgbench")?);
        pgbench.args(["--no-vacuum", "--protocol=prepared"]).args([
            format!("--client={}", clients.count),
            format!("--time={seconds}"),
            format!("--define=businesses={}", clients.businesses),
            format!("--define=leads={}", self.options.leads),
            format!("--define=document={}", DOCUMENT.trim_end()),
            format!("--define=preview={}", PREVIEW.trim_end()),
            format!("--file={}", self.script("sql").join(script).display()),
            server.url(),
        ]);
        let output = process::output(pgbench.env("LC_ALL", "C"))?;
        parse(&output).ok_or_else(|| Error::new("pgbench's result is not understood"))
    }
}

fn parse(output: &str) -> Option<Run> {
    let number = |label: &str| -> Option<f64> {
        let rest = output.lines().find_map(|line| line.strip_prefix(label))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    Some(Run {
        requests: number("number of transactions actually processed: ")?,
        per_second: number("tps = ")?,
        ..Run::default()
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
