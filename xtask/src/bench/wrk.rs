//! The load generator, and what it sends.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use serde::Deserialize;

use super::measure::{Latency, Run};
use super::options::Options;
use crate::error::{Context as _, Error, Result};
use crate::{process, services};

const REPORT: &str = include_str!("lua/report.lua");
const READ: &str = include_str!("lua/read.lua");
const CREATE: &str = include_str!("lua/create.lua");

/// What all clients send, over and over.
pub(super) enum Request {
    /// GET of a record with a random id, behind this beginning of the path.
    Record(String),
    /// GET of this path.
    Page(String),
    /// GET of this path by one who has what this entity tag names.
    Unchanged(String, String),
    /// POST of a lead to this path.
    Create(String),
    /// The same, each under an idempotency key of its own.
    CreateWithKey(String),
}

/// `wrk`, set up.
pub(super) struct Wrk {
    folder: PathBuf,
    connections: u32,
    threads: u32,
    /// The highest id that is requested.
    leads: u32,
    runs: AtomicU32,
}

impl Wrk {
    /// Finds it, or installs it where that needs no prompt. Scripts are kept in `folder`.
    pub(super) fn new(folder: &Path, options: &Options) -> Result<Self> {
        if process::find("wrk").is_none() {
            services::packages(&["wrk"], || {
                Error::new("wrk is not on this machine: install it (Debian, Fedora: wrk, macOS: brew install wrk)")
            })?;
        }
        // The rest of the cores is for the server.
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = u32::try_from(cores / 2).unwrap_or(u32::MAX);
        Ok(Self {
            folder: folder.to_owned(),
            connections: options.connections.get(),
            threads: threads.clamp(1, options.connections.get()),
            leads: options.leads.get(),
            runs: AtomicU32::new(0),
        })
    }

    /// Drives the server on `port`, each request with this header, and fails unless all of them are answered with success.
    pub(super) fn run(&self, port: u16, header: &str, request: &Request, length: Duration) -> Result<Run> {
        // No two runs send the same, so that no key is used twice.
        let seed = self.runs.fetch_add(1, Ordering::Relaxed).to_string();
        let leads = self.leads.to_string();
        let (path, script, arguments) = match request {
            Request::Record(path) => (path, READ, vec![path.as_str(), &leads, &seed]),
            Request::Page(path) | Request::Unchanged(path, _) => (path, "", Vec::new()),
            Request::Create(path) => (path, CREATE, vec![path.as_str(), "plain", &seed]),
            Request::CreateWithKey(path) => (path, CREATE, vec![path.as_str(), "key", &seed]),
        };
        let file = self.folder.join("load.lua");
        fs::write(&file, format!("{REPORT}\n{script}")).context(|| format!("{} cannot be written", file.display()))?;
        let mut wrk = Command::new("wrk");
        wrk.args([
            format!("--threads={}", self.threads),
            format!("--connections={}", self.connections),
            format!("--duration={}s", length.as_secs()),
            "--timeout=10s".to_owned(),
            format!("--header={header}"),
            format!("--script={}", file.display()),
        ]);
        if let Request::Unchanged(_, tag) = request {
            wrk.arg(format!("--header=If-None-Match: {tag}"));
        }
        wrk.arg(format!("http://127.0.0.1:{port}{path}"))
            .arg("--")
            .args(arguments);
        let output = process::output(&mut wrk)?;
        let outcome = output
            .lines()
            .rev()
            .find_map(|line| serde_json::from_str::<Outcome>(line).ok());
        outcome
            .ok_or_else(|| Error::new("wrk does not say what a run came to"))?
            .run(path)
    }
}

/// The script's report of a run. Times are in microseconds.
#[derive(Deserialize)]
struct Outcome {
    requests: f64,
    took: f64,
    p50: f64,
    p99: f64,
    refused: u64,
    failed: u64,
}

impl Outcome {
    fn run(&self, path: &str) -> Result<Run> {
        let requests = self.requests;
        if self.refused > 0 || self.failed > 0 || requests == 0.0 {
            return Err(Error::new(format!(
                "of {requests} requests for {path}, {} were refused and {} got no answer",
                self.refused, self.failed
            )));
        }
        Ok(Run {
            requests,
            per_second: requests / (self.took / 1e6),
            latency: Some(Latency {
                p50: self.p50 / 1e3,
                p99: self.p99 / 1e3,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_shown_by_the_second_and_in_milliseconds_and_one_with_a_failure_is_none() {
        let run = |refused, failed| {
            let (requests, took, p50, p99) = (4000.0, 2e6, 500.0, 9000.0);
            Outcome {
                requests,
                took,
                p50,
                p99,
                refused,
                failed,
            }
            .run("/x")
        };
        let good = run(0, 0).unwrap();
        let Latency { p50, p99 } = good.latency.unwrap();
        assert_eq!((good.requests, good.per_second, p50, p99), (4000.0, 2000.0, 0.5, 9.0));
        assert!(run(1, 0).is_err());
        let error = run(0, 3).err().unwrap().to_string();
        assert_eq!(error, "of 4000 requests for /x, 0 were refused and 3 got no answer");
    }
}
