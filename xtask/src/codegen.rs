//! `cargo xtask codegen`: the generated files that are committed, so that a change of the API shows in its diff.

use std::env;
use std::fs;
use std::process::{Command, Stdio};

use crate::Task;
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::workspace::Workspace;

pub(crate) const TASK: Task = Task {
    name: "codegen",
    usage: "[--check]",
    summary: "write docs/openapi.json from the code; with --check only compare",
    run,
};

const DOCUMENT: &str = "docs/openapi.json";

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => write(workspace),
        ["--check"] => check(workspace),
        _ => Err(Error::new("usage: cargo xtask codegen [--check]")),
    }
}

fn write(workspace: &Workspace) -> Result<()> {
    let path = workspace.root().join(DOCUMENT);
    fs::write(&path, generate(workspace)?).context(|| format!("{} cannot be written", path.display()))
}

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    // No file is the empty file: either way it is to be generated.
    let committed = fs::read_to_string(workspace.root().join(DOCUMENT)).unwrap_or_default();
    match first_difference(&committed, &generate(workspace)?) {
        None => Ok(()),
        Some(line) => Err(Error::new(format!(
            "{DOCUMENT} differs from the code, first in line {line}: run `cargo xtask codegen` and commit the result"
        ))),
    }
}

fn generate(workspace: &Workspace) -> Result<String> {
    let mut command = workspace.cargo();
    command
        .args(["run", "--quiet", "--package", "forecourt", "--", "openapi"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    without_settings(&mut command);
    let document = process::output(&mut command)?;
    // Whatever went wrong must not become the committed document.
    serde_json::from_str::<serde::de::IgnoredAny>(&document)
        .context(|| "what `forecourt openapi` prints is not JSON".to_owned())?;
    Ok(document.trim_end().to_owned() + "\n")
}

/// The document is the same on every machine, whatever server settings its environment has.
fn without_settings(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name == "DATABASE_URL" || name.to_string_lossy().starts_with("FORECOURT_") {
            command.env_remove(name);
        }
    }
}

/// The number of the first line in which the two differ.
fn first_difference(one: &str, other: &str) -> Option<usize> {
    if one == other {
        return None;
    }
    let same = one
        .split('\n')
        .zip(other.split('\n'))
        .take_while(|(one, other)| one == other)
        .count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_a_line_number() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("", "a\n"), Some(1));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
        assert_eq!(first_difference("a\n", "a"), Some(2));
    }
}
