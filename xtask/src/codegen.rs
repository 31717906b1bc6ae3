//! `cargo xtask codegen`: generates the committed files, so that a change of the API shows in its diff.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::task::Task;
use crate::workspace::Workspace;

pub(crate) const TASK: Task = Task {
    name: "codegen",
    usage: "[--check]",
    summary: "write docs/openapi.json, docs/states.md, the bounds in docs/security.md and the numbering plans from the code; with --check only compare",
    run,
};

pub(crate) const DOCUMENT: &str = "docs/openapi.json";

/// The page with the transitions between states.
const STATES: &str = "docs/states.md";

/// The numbering plans by which telephone numbers are parsed.
const PLANS: &str = "crates/domain/kernel/src/phone/plans.json";

/// The page with the table of bounds, which is between these lines.
const BOUNDS: &str = "docs/security.md";
const BOUNDS_MARKS: [&str; 2] = [
    "<!-- begin bounds: written by `cargo xtask codegen` -->\n",
    "<!-- end bounds -->\n",
];

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => write(workspace),
        ["--check"] => check(workspace),
        _ => Err(Error::new("usage: cargo xtask codegen [--check]")),
    }
}

fn write(workspace: &Workspace) -> Result<()> {
    for (name, content) in generate(workspace)? {
        let path = workspace.root().join(name);
        fs::write(&path, content).context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    for (name, content) in generate(workspace)? {
        if let Some(line) = first_difference(&committed(workspace, name), &content) {
            return Err(Error::new(format!(
                "{name} differs from the code, first in line {line}: run `cargo xtask codegen` and commit the result"
            )));
        }
    }
    Ok(())
}

/// Returns a committed file. A missing file counts as empty: either way it must be generated.
fn committed(workspace: &Workspace, name: &str) -> String {
    fs::read_to_string(workspace.root().join(name)).unwrap_or_default()
}

/// Returns the generated files with their content.
fn generate(workspace: &Workspace) -> Result<[(&'static str, String); 4]> {
    let programs = workspace.build()?;
    let page = committed(workspace, BOUNDS);
    let bounds = process::output(&mut Command::new(programs.bounds))?;
    let page = replaced(&page, BOUNDS_MARKS, &(bounds.trim_end().to_owned() + "\n")).ok_or_else(|| {
        Error::new(format!(
            "{BOUNDS} has no place for the table of bounds: {}",
            BOUNDS_MARKS.concat()
        ))
    })?;
    Ok([
        (DOCUMENT, document(&programs.server)?),
        (STATES, process::output(&mut Command::new(programs.states))?),
        (BOUNDS, page),
        (PLANS, process::output(&mut Command::new(programs.plans))?),
    ])
}

fn document(server: &Path) -> Result<String> {
    let mut command = Command::new(server);
    command.arg("openapi").stdin(Stdio::null()).stderr(Stdio::inherit());
    without_settings(&mut command);
    let document = process::output(&mut command)?;
    // The output of a failed run must not become the committed document.
    serde_json::from_str::<serde::de::IgnoredAny>(&document)
        .context(|| "what `forecourt openapi` prints is not JSON".to_owned())?;
    Ok(document.trim_end().to_owned() + "\n")
}

/// Returns `page` with `text` in place of the text between two marks; `None` if it lacks them.
pub(crate) fn replaced(page: &str, [begin, end]: [&str; 2], text: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}{text}{end}{after}"))
}

/// Removes a server's settings in our environment from the command, so that it does the same on every machine.
pub(crate) fn without_settings(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name == "DATABASE_URL" || name.to_string_lossy().starts_with("FORECOURT_") {
            command.env_remove(name);
        }
    }
}

/// Returns the number of the first line in which the two differ.
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

    #[test]
    fn a_text_takes_the_place_of_the_last_one_between_its_marks() {
        let marks = ["<begin>", "<end>"];
        let expected = Some("a<begin>new<end>b".to_owned());
        assert_eq!(replaced("a<begin>old<end>b", marks, "new"), expected);
        assert_eq!(replaced("a<begin>", marks, "new"), None);
    }
}
