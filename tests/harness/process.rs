//! Commands that end by themselves.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

/// Longer than any command takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a command that has ended leaves.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Outcome {
    pub(crate) async fn of(command: &mut Command) -> Self {
        command.kill_on_drop(true).stdin(Stdio::null());
        let output = tokio::time::timeout(PATIENCE, command.output())
            .await
            .unwrap_or_else(|_| panic!("{command:?} does not end"))
            .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        Self {
            status: output.status,
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }

    /// Asserts success; yields standard output.
    #[track_caller]
    pub fn succeeded(self) -> String {
        assert!(self.status.success(), "the command failed: {self:#?}");
        self.stdout
    }

    /// Asserts success with one JSON document, and nothing else, on standard output.
    #[track_caller]
    pub fn json(self) -> Value {
        let text = self.succeeded();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("not one JSON document: {error}\n{text}"))
    }

    /// Asserts a failure told in one line on standard error that mentions `needle`, and silence on standard output.
    #[track_caller]
    pub fn failed_naming(&self, needle: &str) {
        assert!(!self.status.success(), "the command succeeded: {self:#?}");
        assert_eq!(self.stdout, "", "a failed command leaves standard output empty");
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "a failure takes one line: {self:#?}");
        assert!(lines[0].contains(needle), "{needle:?} is not in: {}", lines[0]);
    }
}
