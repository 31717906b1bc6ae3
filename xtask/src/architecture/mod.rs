//! `cargo xtask architecture`: what the folders promise, as far as no common tool checks it.
//!
//! The rest is in `.config`, whose files for cargo-deny say who may depend on which library and what no domain crate pulls in,
//! and in the two `.clippy.toml`, which keep the clock to its port and the world outside away from the domain.

mod arrows;
mod modules;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::{fmt, fs};

use crate::error::{Context as _, Error, Result};
use crate::task::Task;
use crate::workspace::{Dependency, Workspace};
use arrows::Layer;

/// Beside these and what git ignores there are only names with a dot.
const TOP_LEVEL: [&str; 9] = [
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "crates",
    "docs",
    "migrations",
    "rust-toolchain.toml",
    "tests",
    "xtask",
];

/// The one file that may ask the machine for the time.
const CLOCK: &str = "crates/app/src/system.rs";

pub(crate) const TASK: Task = Task {
    name: "architecture",
    usage: "",
    summary: "check that dependencies point inwards, that lints hold everywhere, and that every file is compiled",
    run: |workspace, arguments| match arguments {
        [] => check(workspace),
        _ => Err(Error::new("usage: cargo xtask architecture")),
    },
};

/// Prints a line for each broken rule: which, where, and what to do.
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

fn violations(workspace: &Workspace) -> Result<Vec<String>> {
    let metadata = workspace.metadata()?;
    let root = &*metadata.workspace_root;
    let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
    let mut violations = Vec::new();
    let mut report = |rule: &str, place: &dyn fmt::Display, remedy: &str| {
        violations.push(format!("{rule}: {place}: {remedy}"));
    };
    for name in strays(root)? {
        let remedy = format!(
            "move it; there are {}, names with a dot, and no more",
            TOP_LEVEL.join(", ")
        );
        report("the top level is fixed", &name, &remedy);
    }
    if !read(&root.join("Cargo.toml"))?.contains("\nunsafe_code = \"forbid\"\n") {
        let remedy = "set `unsafe_code = \"forbid\"` in [workspace.lints.rust]";
        report("lints hold everywhere", &"Cargo.toml", remedy);
    }
    for package in &metadata.packages {
        let folder = package.manifest_path.with_file_name("");
        let name = relative(&folder);
        let Some(layer) = Layer::of(&name) else {
            let remedy = "it is in no layer; move it to crates/domain, crates/adapters or crates/app";
            report("dependencies point inwards", &package.name, remedy);
            continue;
        };
        for Dependency { name, kind, path } in &package.dependencies {
            let Some(path) = path.as_deref().map(relative) else {
                continue;
            };
            let remedy = Layer::of(&path).and_then(|to| arrows::remedy(layer, to, kind.as_deref() == Some("dev")));
            if let Some(remedy) = remedy {
                let remedy = format!("it may not depend on {name}; {remedy}");
                report("dependencies point inwards", &package.name, &remedy);
            }
        }
        let manifest = read(&package.manifest_path)?;
        if !manifest.contains("[lints]\nworkspace = true\n") {
            let place = relative(&package.manifest_path);
            report(
                "lints hold everywhere",
                &place.display(),
                "set `workspace = true` in [lints]",
            );
        }
        let sources = folder.join("src");
        let roots = package.targets.iter().map(|target| &*target.src_path);
        let (in_sources, beside): (Vec<_>, Vec<_>) = roots.partition(|root| root.starts_with(&sources));
        let (compiled, compiled_beside) = (modules::compiled(in_sources), modules::compiled(beside));
        for file in modules::files(&folder)? {
            let (text, place) = (read(&file)?, relative(&file));
            let is_beside = compiled_beside.contains(&file);
            if !is_beside && !compiled.contains(&file) {
                let remedy = "no module declares it; declare it or delete it";
                report("every file is compiled", &place.display(), remedy);
            }
            if !file.starts_with(&sources) {
                continue;
            }
            // Clippy sees every call of a disallowed function, but not that an exception from its list is made elsewhere.
            if layer != Layer::Outside && place != Path::new(CLOCK) && text.contains("clippy::disallowed_") {
                let remedy = format!("only {CLOCK} is excepted from clippy's lists; ask a port");
                report("there is one clock", &place.display(), &remedy);
            }
            // A library that says it has no tests is not compiled for them, and Cargo passes over those that it has in silence.
            if !is_beside && manifest.contains("\ntest = false\n") && text.contains("#[cfg(test)]") {
                let remedy = "take `test = false` out of its crate's Cargo.toml, or have a test compile it";
                report("every test is run", &place.display(), remedy);
            }
        }
    }
    Ok(violations)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).context(|| format!("{} cannot be read", path.display()))
}

/// What is too much at the repository's top level, which stays small enough to be read at a glance.
fn strays(root: &Path) -> Result<Vec<String>> {
    let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let unreadable = || format!("{} cannot be read", root.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(root).context(unreadable)? {
        names.push(entry.context(unreadable)?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| {
        let is_ignored = ignored.lines().any(|line| line.trim_matches('/') == name);
        !name.starts_with('.') && !TOP_LEVEL.contains(&&**name) && !is_ignored
    });
    Ok(names)
}
