//! `cargo xtask lead-model`: the weights by which leads are rated, which are trained from the corpus beside them.
//!
//! What trains them is a test that is left out of the ordinary runs, since it needs the inside of the crate. Whether the weights are
//! those of the corpus and of the code is tested in the ordinary runs too, by a fingerprint.

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
