//! PostgreSQL's own benchmark, running the statements that Forecourt runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::measure::Run;
use super::options::Options;
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::services::DurablePostgres;

/// What a lead says, about as long as one that a load creates.
const DOCUMENT: &str = concat!(
    r#"{"site":0,"channel":"api","name":"Alex Example 000000","email":"alex.000000@buyer.example","phone":"","#,
    r#""mobile":"+447400000000","contact":null,"type":["test_drive"],"status":0,"rating":null,"summary":null,"#,
    r#""session":"","avatar":"","assign":[],"tag":[],"stat":true,"reopen":null,"data":{"source":"Website enquiry form","#,
    r#""subject":"Test drive","message":"Hello, is the car still there? I could come by on Saturday for a test drive.","#,
    r#""url":"https://www.harbourlane.example/used-cars/000000"},"ai":null}"#
);

/// What a list shows of it.
const PREVIEW: &str = concat!(
    r#""site":0,"channel":"api","reference":100000,"name":"Alex Example 000000","email":"alex.000000@buyer.example","#,
    r#""phone":"","mobile":"+447400000000","contact":null,"type":["test_drive"],"status":{"id":0,"name":"new"},"#,
    r#""rating":null,"summary":null,"created":1790000000,"updated":1790000000"#
);

/// pgbench, set up for one server.
pub(super) struct Pgbench {
    program: PathBuf,
    port: u16,
    clients: u32,
    leads: u32,
    /// The scripts' `:before`: the lead that a page by cursor comes behind.
    before: i64,
    script: PathBuf,
}

impl Pgbench {
    pub(super) fn new(server: &DurablePostgres, folder: &Path, before: i64, options: &Options) -> Result<Self> {
        Ok(Self {
            program: server.program("pgbench")?,
            port: server.port(),
            clients: options.connections.get(),
            leads: options.leads.get(),
            before,
            script: folder.join("pgbench.sql"),
        })
    }

    /// Runs the script for so long, with as many clients as the load generator has.
    pub(super) fn run(&self, sql: &str, length: Duration) -> Result<Run> {
        fs::write(&self.script, sql).context(|| format!("{} cannot be written", self.script.display()))?;
        let mut pgbench = command(&self.program, self.port);
        pgbench
            .args(["--protocol", "prepared", "--client", &self.clients.to_string()])
            .args(["--time", &length.as_secs().to_string()])
            .args(["--define", &format!("leads={}", self.leads)])
            .args(["--define", &format!("before={}", self.before)])
            .args(["--define", &format!("document={DOCUMENT}")])
            .args(["--define", &format!("preview={PREVIEW}")])
            .arg("--file")
            .arg(&self.script);
        let output = process::output(&mut pgbench)?;
        parse(&output).ok_or_else(|| Error::new("pgbench does not say what a run came to"))
    }

    /// The server's name and version, which pgbench shares.
    pub(super) fn version(&self) -> Result<String> {
        let line = process::output(Command::new(&self.program).arg("--version"))?;
        let version = line.split_whitespace().nth(2).unwrap_or("of an unknown version");
        Ok(format!("PostgreSQL {version}"))
    }
}

/// Runs statements once, outside of any transaction.
pub(super) fn once(server: &DurablePostgres, folder: &Path, sql: &str) -> Result<()> {
    let script = folder.join("once.sql");
    fs::write(&script, sql).context(|| format!("{} cannot be written", script.display()))?;
    let mut pgbench = command(&server.program("pgbench")?, server.port());
    process::output(pgbench.args(["--transactions", "1", "--file"]).arg(script))?;
    Ok(())
}

fn command(program: &Path, port: u16) -> Command {
    let mut command = Command::new(program);
    command.args(["--no-vacuum", "--host=127.0.0.1", "--username=postgres"]);
    command.arg(format!("--port={port}")).arg("postgres").env("LC_ALL", "C");
    command
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
        latency: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read() {
        let output = "pgbench (PostgreSQL) 15.1\nscaling factor: 1\nnumber of clients: 32\n\
                      number of transactions actually processed: 2404\nnumber of failed transactions: 0 (0.000%)\n\
                      latency average = 1.3 ms\ntps = 24040.5 (without initial connection time)\n";
        let run = parse(output).unwrap();
        assert_eq!((run.requests, run.per_second), (2404.0, 24040.5));
        assert!(parse("pgbench: error\n").is_none());
    }

    #[test]
    fn the_document_is_json() {
        assert!(serde_json::from_str::<serde_json::Value>(DOCUMENT).is_ok());
    }
}
