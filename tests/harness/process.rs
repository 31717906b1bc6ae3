//! Commands that end by themselves, and commands that are told to end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::process::{Child, Command};

use crate::time::eventually;

/// A time longer than any command takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A command that runs until it is told to end. It is killed when this is dropped.
#[derive(Debug)]
pub struct Job {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Job {
    /// Starts a command; its output goes to files that are named after `place`.
    pub fn start(mut command: Command, place: &Path) -> Self {
        let (stdout, stderr) = (place.with_extension("out"), place.with_extension("err"));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        Self { child, stdout, stderr }
    }

    /// Returns its standard output so far.
    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap()
    }

    /// Returns its standard error so far.
    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// Waits until it has written this number of complete lines to standard output; returns all of them.
    pub async fn lines(&self, number: usize) -> Vec<String> {
        eventually("the command writes lines", TIMEOUT, async || {
            let text = self.stdout();
            let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
            let lines: Vec<String> = whole.lines().map(str::to_owned).collect();
            if lines.len() >= number {
                Ok(lines)
            } else {
                Err((lines, self.stderr()))
            }
        })
        .await
    }

    /// Sends Ctrl-C, and waits for its end.
    pub async fn interrupt(&mut self) -> ExitStatus {
        let id = self.child.id().expect("the command runs");
        let mut kill = Command::new("kill");
        Outcome::of(kill.args(["-INT", &id.to_string()])).await.succeeded();
        let waiting = tokio::time::timeout(TIMEOUT, self.child.wait()).await;
        waiting.expect("the command ends in time").unwrap()
    }
}

/// The result of a command that has ended.
#[derive(Debug)]
pub struct Outcome {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Outcome {
    pub(crate) async fn of(command: &mut Command) -> Self {
        command.kill_on_drop(true).stdin(Stdio::null());
        let output = tokio::time::timeout(TIMEOUT, command.output())
            .await
            .unwrap_or_else(|_| panic!("{command:?} does not end"))
            .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        Self {
            status: output.status,
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }

    /// Asserts success; returns standard output.
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

    /// Asserts a failure that is reported in one line on standard error that mentions `needle`, with nothing on standard
    /// output.
    #[track_caller]
    pub fn failed_naming(&self, needle: &str) {
        assert!(!self.status.success(), "the command succeeded: {self:#?}");
        assert_eq!(self.stdout, "", "a failed command leaves standard output empty");
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "a failure takes one line: {self:#?}");
        assert!(lines[0].contains(needle), "{needle:?} is not in: {}", lines[0]);
    }
}
