//! `cargo xtask architecture`: what the folders promise, checked.
//!
//! The rules are those that neither the compiler nor clippy can see: which crate may know which, what a domain crate may
//! reach through its dependencies, and that the domain asks its ports for the time, chance and the world.

mod closure;
mod layers;
mod manifests;
mod rust;
mod sources;
mod top_level;

#[cfg(test)]
mod fixture;

use std::fmt;

use crate::Task;
use crate::error::{Error, Result};
use crate::workspace::Workspace;
use layers::Member;

pub(crate) const TASK: Task = Task {
    name: "architecture",
    usage: "",
    summary: "check that dependencies point inwards and that the domain does no input or output",
    run: |workspace, arguments| match arguments {
        [] => check(workspace),
        _ => Err(Error::new("usage: cargo xtask architecture")),
    },
};

/// A broken rule, in one line: which, where, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    rule: &'static str,
    /// A file with its line, or a crate.
    place: String,
    advice: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, place, advice } = self;
        write!(f, "{rule}: {place}: {advice}")
    }
}

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let violations = violations(workspace)?;
    for violation in &violations {
        eprintln!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        1 => Err(Error::new("an architecture rule is broken")),
        many => Err(Error::new(format!("architecture rules are broken in {many} places"))),
    }
}

fn violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let (members, mut violations) = Member::all(workspace)?;
    violations.extend(layers::check(&members));
    violations.extend(manifests::check(workspace.root(), &members)?);
    violations.extend(closure::check(workspace, &members)?);
    violations.extend(sources::check(workspace.root(), &members)?);
    violations.extend(top_level::check(workspace.root())?);
    Ok(violations)
}
