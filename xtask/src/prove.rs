//! `cargo xtask prove`: runs the tests that search for faults as long as they are allowed to.
//!
//! They are the tests named `prove_…`. The suite runs each for a moment; here each runs for longer, alone, and prints its
//! findings.

use std::process::Command;

use crate::error::{Error, Result};
use crate::process;
use crate::task::Task;
use crate::test::{self, Surroundings};
use crate::workspace::Workspace;

pub(crate) const TASK: Task = Task {
    name: "prove",
    usage: "[NAME…] [--seconds N]",
    summary: "run the proofs, or those whose names contain a NAME, for N seconds each (20), or each part of one",
    run,
};

/// Sets the number of seconds that a proof, or each part of it, lasts.
const SECONDS_VARIABLE: &str = "FORECOURT_PROVE_SECONDS";
const DEFAULT_SECONDS: u32 = 20;

/// The prefix of the names of proofs.
const PREFIX: &str = "prove_";

fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let surroundings = Surroundings::prepare(workspace, true)?;
    let mut runner = if test::has_nextest(workspace) {
        nextest(workspace, &options)
    } else {
        cargo_test(workspace, &options)
    };
    surroundings.announce(&mut runner);
    runner.env(SECONDS_VARIABLE, options.seconds.to_string());
    process::run(&mut runner)
}

/// Returns the command that runs one proof after another, with their output.
fn nextest(workspace: &Workspace, options: &Options) -> Command {
    let mut command = workspace.cargo();
    command.args([
        "nextest",
        "run",
        "--workspace",
        "--profile",
        "prove",
        "-E",
        &options.filter(),
    ]);
    command
}

fn cargo_test(workspace: &Workspace, options: &Options) -> Command {
    let mut command = workspace.cargo();
    command.args(["test", "--workspace", "--no-fail-fast", "--tests", "--"]);
    if options.names.is_empty() {
        command.arg(PREFIX);
    }
    command.args(&options.names);
    command.args(["--nocapture", "--test-threads=1"]);
    command
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    seconds: u32,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            names: Vec::new(),
            seconds: DEFAULT_SECONDS,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "--seconds" {
                let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
                options.seconds = seconds
                    .filter(|seconds| *seconds > 0)
                    .ok_or_else(|| Error::new("--seconds needs a number above 0"))?;
            } else if argument
                .chars()
                .all(|character| character == '_' || character.is_ascii_alphanumeric())
            {
                options.names.push(argument.clone());
            } else {
                return Err(Error::new(format!(
                    "`{argument}` is neither --seconds nor a part of a name"
                )));
            }
        }
        Ok(options)
    }

    /// Returns the filter of tests for nextest.
    fn filter(&self) -> String {
        let mut filter = format!("test(/(^|::){PREFIX}/)");
        if !self.names.is_empty() {
            let names: Vec<String> = self.names.iter().map(|name| format!("test({name})")).collect();
            filter += &format!(" & ({})", names.join(" | "));
        }
        filter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Options> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn names_narrow_what_is_run() {
        let all = parsed(&[]).unwrap();
        assert_eq!((all.filter().as_str(), all.seconds), ("test(/(^|::)prove_/)", 20));
        let some = parsed(&["history", "--seconds", "300", "fuzz"]).unwrap();
        assert_eq!(some.filter(), "test(/(^|::)prove_/) & (test(history) | test(fuzz))");
        assert_eq!(some.seconds, 300);
    }

    #[test]
    fn anything_else_is_refused() {
        for arguments in [
            &["--seconds"] as &[&str],
            &["--seconds", "0"],
            &["--second", "1"],
            &["a | b"],
        ] {
            assert!(parsed(arguments).is_err(), "{arguments:?}");
        }
    }
}
