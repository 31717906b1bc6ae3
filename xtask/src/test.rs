//! `cargo xtask test`: the whole suite, against both database engines.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use crate::error::{Error, Result};
use crate::process;
use crate::services::Services;
use crate::task::Task;
use crate::workspace::{Programs, Workspace};

pub(crate) const TASK: Task = Task {
    name: "test",
    usage: "[ARGS…]",
    summary: "run all tests, with a PostgreSQL and a Redis of their own; ARGS go to the test runner, and leave doc tests out",
    run,
};

/// Names the program that the end-to-end tests run.
const BINARY_VARIABLE: &str = "FORECOURT_TEST_BINARY";
/// Names the browser in which the tests open pages.
const BROWSER_VARIABLE: &str = "FORECOURT_TEST_BROWSER";
/// The names of Chromium's program.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let surroundings = Surroundings::prepare(workspace, Scope::of(arguments).has_end_to_end())?;
    if surroundings.browser.is_none() {
        eprintln!("skipped: {NO_BROWSER}");
    }
    let mut runner = runner(workspace, arguments);
    surroundings.announce(&mut runner);
    process::run(&mut runner)?;

    if !arguments.is_empty() {
        eprintln!("doc tests left out, since arguments pick tests; without any all are run");
        return Ok(());
    }
    // nextest cannot run doc tests.
    let mut doc_tests = workspace.cargo();
    doc_tests.args(["test", "--workspace", "--doc"]);
    surroundings.announce(&mut doc_tests);
    process::run(&mut doc_tests)
}

/// The environment of tests: servers, which end with this value, the built program, and a browser.
pub(crate) struct Surroundings {
    services: Services,
    programs: Option<Programs>,
    browser: Option<PathBuf>,
}

impl Surroundings {
    /// Starts the servers, and meanwhile builds the program if it is needed.
    pub(crate) fn prepare(workspace: &Workspace, with_program: bool) -> Result<Self> {
        let (services, programs) = thread::scope(|scope| {
            let services = scope.spawn(Services::start);
            let programs = with_program.then(|| workspace.build()).transpose();
            (
                services
                    .join()
                    .unwrap_or_else(|_| Err(Error::new("starting the servers panicked"))),
                programs,
            )
        });
        Ok(Self {
            services: services?,
            programs: programs?,
            browser: browser(),
        })
    }

    /// Sets the variables that give a test program the addresses and paths.
    pub(crate) fn announce(&self, command: &mut Command) {
        self.services.announce(command);
        if let Some(programs) = &self.programs {
            command.env(BINARY_VARIABLE, &programs.server);
        }
        if let Some(browser) = &self.browser {
            command.env(BROWSER_VARIABLE, browser);
        }
    }
}

/// The notice about the tests that are left out without a browser.
pub(crate) const NO_BROWSER: &str = "Chromium is not on this machine, so no page was looked at in a browser";

/// Returns the Chromium that is named or on this machine.
pub(crate) fn browser() -> Option<PathBuf> {
    match env::var_os(BROWSER_VARIABLE) {
        Some(named) => (!named.is_empty()).then(|| named.into()),
        None => BROWSERS.iter().find_map(|name| process::find(name)),
    }
}

/// Returns true if nextest is installed.
pub(crate) fn has_nextest(workspace: &Workspace) -> bool {
    process::output(workspace.cargo().args(["nextest", "--version"])).is_ok()
}

/// Returns nextest if it is installed, for its process per test, its time limits and its summary; else Cargo's own runner.
fn runner(workspace: &Workspace, arguments: &[String]) -> Command {
    let mut command = workspace.cargo();
    if has_nextest(workspace) {
        command.args(["nextest", "run"]);
    } else if arguments.is_empty() {
        // The doc tests have a run of their own.
        command.args(["test", "--no-fail-fast", "--tests"]);
    } else {
        command.arg("test");
    }
    // Beside `--workspace` the names of packages would have no effect.
    if Scope::of(arguments) == Scope::Unsaid {
        command.arg("--workspace");
    }
    command.args(arguments);
    command
}

/// The part of the workspace that the runner's arguments select.
#[derive(Debug, PartialEq, Eq)]
enum Scope<'a> {
    /// They select nothing.
    Unsaid,
    /// They name the whole workspace.
    Workspace,
    Packages(Vec<&'a str>),
}

impl<'a> Scope<'a> {
    fn of(arguments: &'a [String]) -> Self {
        let mut packages = Vec::new();
        let mut ours = arguments
            .iter()
            .map(String::as_str)
            .take_while(|argument| *argument != "--");
        while let Some(argument) = ours.next() {
            match argument {
                "--workspace" | "--all" => return Self::Workspace,
                "-p" | "--package" => packages.extend(ours.next()),
                _ => packages.extend(
                    argument
                        .strip_prefix("--package=")
                        .or_else(|| argument.strip_prefix("-p")),
                ),
            }
        }
        if packages.is_empty() {
            Self::Unsaid
        } else {
            Self::Packages(packages)
        }
    }

    /// Returns true if the end-to-end tests, which need the built program, are among the packages.
    fn has_end_to_end(&self) -> bool {
        match self {
            Self::Unsaid | Self::Workspace => true,
            Self::Packages(names) => names
                .iter()
                .any(|name| *name == "forecourt-tests" || name.contains(['*', '?', '['])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_scope(arguments: &[&str], expected: &Scope<'_>, has_end_to_end: bool) {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let scope = Scope::of(&arguments);
        assert_eq!(scope, *expected);
        assert_eq!(scope.has_end_to_end(), has_end_to_end);
    }

    #[test]
    fn packages_are_picked_before_the_double_dash_only() {
        let leads = Scope::Packages(vec!["forecourt-leads"]);
        assert_scope(&["-p", "forecourt-leads"], &leads, false);
        assert_scope(&["-pforecourt-leads", "lead"], &leads, false);
        assert_scope(&["lead", "--package=forecourt-leads"], &leads, false);
        assert_scope(
            &["-p", "forecourt-leads", "-p", "forecourt-tests"],
            &Scope::Packages(vec!["forecourt-leads", "forecourt-tests"]),
            true,
        );
        assert_scope(
            &["--package", "forecourt-*"],
            &Scope::Packages(vec!["forecourt-*"]),
            true,
        );
        assert_scope(&["--workspace", "--exclude", "xtask"], &Scope::Workspace, true);
        assert_scope(&["lead", "--no-capture"], &Scope::Unsaid, true);
        assert_scope(&["--", "-p", "x"], &Scope::Unsaid, true);
        assert_scope(&[], &Scope::Unsaid, true);
    }
}
