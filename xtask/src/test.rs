//! `cargo xtask test`: the whole suite, against both database engines.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use serde::Deserialize;

use crate::Task;
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::services::Services;
use crate::workspace::Workspace;

pub(crate) const TASK: Task = Task {
    name: "test",
    usage: "[ARGS…]",
    summary: "run all tests, with a PostgreSQL and a Redis of their own; ARGS go to the test runner, and leave doc tests out",
    run,
};

/// Tells the end-to-end tests which program to test.
const BINARY_VARIABLE: &str = "FORECOURT_TEST_BINARY";

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let (services, binary) = thread::scope(|scope| {
        let services = scope.spawn(Services::start);
        let binary = build_binary(workspace);
        (services.join().unwrap_or_else(|_| Err(Error::new("starting the servers panicked"))), binary)
    });
    let (services, binary) = (services?, binary?);
    let announce = |command: &mut Command| {
        services.announce(command);
        command.env(BINARY_VARIABLE, &binary);
    };

    let mut runner = runner(workspace, arguments);
    announce(&mut runner);
    process::run(&mut runner)?;

    if !arguments.is_empty() {
        eprintln!("doc tests left out, since arguments pick tests; without any all are run");
        return Ok(());
    }
    // nextest cannot run doc tests.
    let mut doc_tests = workspace.cargo();
    doc_tests.args(["test", "--workspace", "--doc"]);
    announce(&mut doc_tests);
    process::run(&mut doc_tests)
}

/// nextest where it is installed, for its process per test, its time limits and its summary; else Cargo's own.
fn runner(workspace: &Workspace, arguments: &[String]) -> Command {
    let mut command = workspace.cargo();
    if process::output(workspace.cargo().args(["nextest", "--version"])).is_ok() {
        command.args(["nextest", "run"]);
    } else if arguments.is_empty() {
        // The doc tests have a run of their own.
        command.args(["test", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]);
    } else {
        command.arg("test");
    }
    if !picks_packages(arguments) {
        command.arg("--workspace");
    }
    command.args(arguments);
    command
}

/// Whether the arguments say which packages to test. Next to `--workspace` they would say nothing.
fn picks_packages(arguments: &[String]) -> bool {
    let ours = arguments.iter().take_while(|argument| *argument != "--");
    ours.into_iter().any(|argument| {
        let short = argument.starts_with("-p");
        let long = argument == "--package" || argument.starts_with("--package=");
        short || long || argument == "--workspace" || argument == "--all"
    })
}

/// Builds the program that the end-to-end tests start, and finds out from Cargo where it is.
fn build_binary(workspace: &Workspace) -> Result<PathBuf> {
    let arguments = ["build", "--package", "forecourt", "--message-format", "json-render-diagnostics"];
    eprintln!("$ cargo {}", arguments.join(" "));
    let build = workspace.cargo().args(arguments).stderr(Stdio::inherit()).output();
    let build = build.context(|| "cargo cannot be started".to_owned())?;
    if !build.status.success() {
        return Err(Error::new("the program to test does not compile"));
    }
    let messages = String::from_utf8_lossy(&build.stdout);
    executable(&messages).ok_or_else(|| Error::new("Cargo does not say where it put the program `forecourt`"))
}

/// The program's path in Cargo's messages, of which there is one per line.
fn executable(messages: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Artifact {
        target: Target,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    // Other messages have no target or no executable.
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    artifacts.filter(|artifact| artifact.target.name == "forecourt").find_map(|artifact| artifact.executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(arguments: &[&str]) -> bool {
        picks_packages(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn packages_are_picked_before_the_double_dash_only() {
        assert!(picks(&["-p", "forecourt-leads"]));
        assert!(picks(&["-pforecourt-leads"]));
        assert!(picks(&["lead", "--package=forecourt-leads"]));
        assert!(!picks(&["lead", "--no-capture"]));
        assert!(!picks(&["--", "-p"]));
        assert!(!picks(&[]));
    }

    #[test]
    fn the_executable_is_found_among_other_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"forecourt_rest"},"executable":null}"#,
            "\n",
            r#"{"reason":"build-script-executed","package_id":"x"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"forecourt"},"executable":"/t/debug/forecourt"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(executable(messages), Some(PathBuf::from("/t/debug/forecourt")));
        assert_eq!(executable(""), None);
    }
}
