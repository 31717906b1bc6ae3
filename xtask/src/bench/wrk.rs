//! The load generator for HTTP, and what it sends.

use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use serde::Deserialize;

use crate::error::{Context as _, Error, Result};
use crate::server::Server;
use crate::{process, services};

/// What a load generator reports of a run. Latencies are in milliseconds.
#[derive(Deserialize)]
pub(super) struct Run {
    pub(super) requests: f64,
    pub(super) per_second: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) failed: u64,
}

/// What all clients send, over and over.
#[derive(Clone)]
pub(super) struct Load {
    pub(super) request: Request,
    pub(super) path: String,
    pub(super) clients: u32,
}

#[derive(Clone)]
pub(super) enum Request {
    /// GET of a record with a random id, which the path ends with.
    Record,
    Page,
    /// GET by one who has what this entity tag names.
    Unchanged(String),
    /// POST of a lead.
    Create,
    /// The same, each under an idempotency key of its own.
    CreateWithKey,
    /// The same, each in one of all businesses.
    CreateInAll,
}

/// `wrk`, set up.
pub(super) struct Wrk {
    script: PathBuf,
    /// The highest id that is requested.
    leads: u32,
    runs: AtomicU32,
}

impl Wrk {
    /// Finds it, or installs it where that needs no prompt. `script` is a file for its script.
    pub(super) fn new(script: PathBuf, leads: u32) -> Result<Self> {
        if process::find("wrk").is_none() {
            services::packages(&["wrk"], || {
                Error::new("wrk is not on this machine: install it (Debian, Fedora: wrk, macOS: brew install wrk)")
            })?;
        }
        let runs = AtomicU32::new(0);
        Ok(Self { script, leads, runs })
    }

    /// Drives the server, and fails unless all requests are answered with success. Each request has the first of these headers,
    /// or any of them for [`Request::CreateInAll`].
    pub(super) fn run(&self, server: &Server, authorizations: &[String], load: &Load, seconds: u32) -> Result<Run> {
        let Load { request, path, clients } = load;
        let (script, mode) = match request {
            Request::Page | Request::Unchanged(_) => ("", ""),
            Request::Record => (include_str!("lua/read.lua"), ""),
            Request::Create | Request::CreateInAll => (include_str!("lua/create.lua"), "plain"),
            Request::CreateWithKey => (include_str!("lua/create.lua"), "key"),
        };
        fs::write(&self.script, [include_str!("lua/report.lua"), script].concat())
            .context(|| format!("{} cannot be written", self.script.display()))?;
        // The rest of the cores is for the server.
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = u32::try_from(cores / 2).unwrap_or(u32::MAX).clamp(1, *clients);
        let mut wrk = Command::new("wrk");
        wrk.args([
            format!("--threads={threads}"),
            format!("--connections={clients}"),
            format!("--duration={seconds}s"),
            "--timeout=10s".to_owned(),
            format!("--header={}", authorizations[0]),
            format!("--script={}", self.script.display()),
        ]);
        if let Request::Unchanged(tag) = request {
            wrk.arg(format!("--header=If-None-Match: {tag}"));
        }
        wrk.arg(format!("http://127.0.0.1:{}{path}", server.port()));
        // No two runs send the same, so that no key is used twice.
        let seed = self.runs.fetch_add(1, Ordering::Relaxed);
        wrk.args(["--", &seed.to_string(), &self.leads.to_string(), path, mode]);
        match request {
            Request::CreateInAll => wrk.args(authorizations),
            _ => wrk.arg(&authorizations[0]),
        };
        let output = process::output(&mut wrk)?;
        let result = output.lines().last().unwrap_or_default();
        let run: Run = serde_json::from_str(result).context(|| "wrk's result is not understood".to_owned())?;
        if run.failed > 0 || run.requests == 0.0 {
            return Err(Error::new(format!(
                "of {} requests for {path}, {} failed",
                run.requests, run.failed
            )));
        }
        Ok(run)
    }
}
