//! `cargo xtask lead-model`: trains the weights by which leads are rated, from the corpus beside them.
//!
//! They are trained by a test that is left out of the ordinary runs, since it needs the crate's internals. The ordinary runs
//! check by a fingerprint that the weights belong to the corpus and the code.

use crate::error::{Error, Result};
use crate::process;
use crate::task::Task;
use crate::workspace::Workspace;

pub(crate) const TASK: Task = Task {
    name: "lead-model",
    usage: "[--check | --report]",
    summary: "train the model that rates leads, in about a minute; with --check only compare, with --report validate it in parts",
    run,
};

fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let test = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => "rules::learn::writes_the_weights",
        ["--check"] => "rules::learn::the_weights_are_those_that_training_gives",
        ["--report"] => "rules::evaluation::cross_validation",
        _ => return Err(Error::new("usage: cargo xtask lead-model [--check | --report]")),
    };
    let mut command = workspace.cargo();
    command.args(["test", "--quiet", "--package", "forecourt-lead-ai", "--lib"]);
    process::run(command.args(["--", "--exact", test, "--ignored", "--nocapture"]))
}
