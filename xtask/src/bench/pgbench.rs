//! PostgreSQL's own benchmark, running the statements that Forecourt needs.

use std::process::Command;
use std::str::FromStr;

use super::compare::{Clients, Run};
use super::database::Database;
use super::measure::Bench;
use crate::error::{Error, Result};
use crate::process;

/// The content of a lead, about as long as one that a load creates, and the members that a list shows.
const DOCUMENT: &str = include_str!("sql/document.json");
const PREVIEW: &str = include_str!("sql/preview.txt");

impl Bench<'_> {
    /// Runs a script of `sql` on the database server.
    pub(super) fn pgbench(&self, script: &str, clients: Clients, seconds: u32) -> Result<Run> {
        let Database::Postgres(server) = &self.installation.database else {
            return Err(Error::new("pgbench needs a PostgreSQL"));
        };
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
        read_result(&output).ok_or_else(|| Error::new("pgbench's result is not understood"))
    }
}

fn read_result(output: &str) -> Option<Run> {
    Some(Run {
        requests: number(output, "number of transactions actually processed: ")?,
        per_second: number(output, "tps = ")?,
        ..Run::default()
    })
}

fn number<T: FromStr>(output: &str, label: &str) -> Option<T> {
    let rest = output.lines().find_map(|line| line.strip_prefix(label))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read() {
        let output = "pgbench (PostgreSQL) 15.1\nnumber of transactions actually processed: 2404\n\
                      latency average = 1.3 ms\ntps = 24040.5 (without initial connection time)\n";
        let run = read_result(output).unwrap();
        assert_eq!((run.requests, run.per_second), (2404, 24040.5));
        assert!(read_result("pgbench: error\n").is_none());
    }
}
