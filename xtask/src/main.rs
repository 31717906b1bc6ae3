//! `cargo xtask`: the workspace's own tasks, so that a laptop and continuous integration run the same thing.
//!
//! Each task is a module with a [`Task`] in [`TASKS`]; that table is the dispatch and the help.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line talks to the terminal"
)]

mod architecture;
mod bench;
mod ci;
mod clients;
mod codegen;
mod deny;
mod deploy;
mod dist;
mod domain_crates;
mod error;
mod forecourt;
mod http;
mod lead_model;
mod lint;
mod migrations;
mod process;
mod prove;
mod recipe;
mod scratch;
mod server;
mod services;
mod task;
mod test;
mod workspace;

use std::env;
use std::process::ExitCode;

use error::{Error, Result};
use task::Task;
use workspace::Workspace;

const TASKS: &[Task] = &[
    test::TASK,
    prove::TASK,
    ci::TASK,
    architecture::TASK,
    migrations::TASK,
    domain_crates::FEATURES,
    codegen::TASK,
    lead_model::TASK,
    bench::TASK,
    dist::TASK,
    deploy::TASK,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = match env::args_os().skip(1).map(std::ffi::OsString::into_string).collect() {
        Ok(arguments) => arguments,
        Err(argument) => return fail(&Error::new(format!("{} is not UTF-8", argument.display()))),
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// Returns a value instead of calling `process::exit`, so that everything a task has started is stopped before the end.
fn fail(error: &Error) -> ExitCode {
    eprintln!("xtask: {error}");
    ExitCode::FAILURE
}

fn run(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", help());
        return Ok(());
    };
    if matches!(name.as_str(), "help" | "-h" | "--help") {
        print!("{}", help());
        return Ok(());
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        return Err(Error::new(format!(
            "there is no task `{name}`; `cargo xtask` lists them"
        )));
    };
    (task.run)(&Workspace::locate()?, rest)
}

fn help() -> String {
    let mut text = String::from("Usage: cargo xtask <TASK>\n");
    for Task {
        name, usage, summary, ..
    } in TASKS
    {
        text += &format!("\n  {}\n      {summary}\n", format!("{name} {usage}").trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_task() {
        let help = help();
        for task in TASKS {
            let listed = help.lines().any(|line| line.split(' ').nth(2) == Some(task.name));
            assert!(listed, "{} is missing from:\n{help}", task.name);
        }
    }

    #[test]
    fn an_unknown_task_is_an_error() {
        let error = run(&["no-such-task".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("no-such-task"));
    }
}
