//! The load generator for HTTP, and its requests.

use std::num::NonZero;
use std::process::Command;
use std::thread;

use super::compare::{Clients, Run};
use super::measure::Bench;
use crate::error::{Context as _, Error, Result};
use crate::server::Server;
use crate::{process, services};

/// The request that all clients repeat; `load.lua` describes the values that it inserts.
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) path: String,
    /// A header beside the one that presents a key.
    pub(super) header: Option<String>,
}

impl Request {
    pub(super) fn get(path: &str) -> Self {
        Self {
            method: "GET",
            path: path.to_owned(),
            header: None,
        }
    }

    /// Creates leads.
    pub(super) fn post(path: &str) -> Self {
        Self {
            method: "POST",
            ..Self::get(path)
        }
    }

    pub(super) fn with_header(self, header: String) -> Self {
        let header = Some(header);
        Self { header, ..self }
    }
}

/// Installs wrk if it is missing and the installation needs no prompt.
pub(super) fn install() -> Result<()> {
    if process::find("wrk").is_some() {
        return Ok(());
    }
    services::packages(&["wrk"], || {
        Error::new("wrk is not on this machine: install it (Debian, Fedora: wrk, macOS: brew install wrk)")
    })
}

impl Bench<'_> {
    /// Runs a load against a server, and fails unless all requests are answered with success.
    pub(super) fn wrk(&self, server: &Server, request: &Request, clients: Clients, seconds: u32) -> Result<Run> {
        let Request { method, path, header } = request;
        let keys = &self.installation.authorizations[..clients.businesses];
        // The other cores are for the server.
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = u32::try_from(cores / 2).unwrap_or(u32::MAX).clamp(1, clients.count);
        let mut wrk = Command::new("wrk");
        wrk.args([
            format!("--threads={threads}"),
            format!("--connections={}", clients.count),
            format!("--duration={seconds}s"),
            "--timeout=10s".to_owned(),
            format!("--script={}", self.script("load.lua").display()),
            format!("--header={}", keys[0]),
        ]);
        wrk.args(header.as_ref().map(|header| format!("--header={header}")));
        wrk.arg(format!("http://127.0.0.1:{}{path}", server.port()));
        wrk.args(["--", method, &self.options.leads.to_string()]).args(keys);
        let output = process::output(&mut wrk)?;
        let result = output.lines().last().unwrap_or_default();
        let run: Run = serde_json::from_str(result).context(|| "wrk's result is not understood".to_owned())?;
        if run.failed > 0 || run.requests == 0 {
            let (all, failed) = (run.requests, run.failed);
            return Err(Error::new(format!("of {all} requests for {path}, {failed} failed")));
        }
        Ok(run)
    }
}
