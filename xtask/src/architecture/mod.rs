//! `cargo xtask architecture`: what the folders promise, as far as no common tool checks it.
//!
//! The rest is in `.config/deny.toml`, which says who may depend on which library, and in the two `.clippy.toml`, which
//! keep the clock to its port and the world outside away from the domain.

mod arrows;
mod modules;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::task::Task;
use crate::workspace::Workspace;
use arrows::{Layer, Member};

pub(crate) const TASK: Task = Task {
    name: "architecture",
    usage: "",
    summary: "check that dependencies point inwards and that the domain does no input or output",
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
    let root = workspace.root();
    let (members, mut violations) = Member::all(workspace)?;
    violations.extend(arrows::check(&members));
    violations.extend(top_level(root)?);
    violations.extend(lints_of_workspace(&read(&root.join("Cargo.toml"))?));
    for member in &members {
        let manifest = member.folder.join("Cargo.toml");
        let manifest_text = read(&root.join(&manifest))?;
        violations.extend(lints_of_member(&manifest, &manifest_text));
        if member.layer == Layer::Domain {
            violations.extend(input_and_output(workspace, &member.package)?);
        }
        for file in modules::files(root, member)? {
            if !file.is_compiled {
                violations.push(format!(
                    "every file is compiled: {}: no module declares it; declare it or delete it",
                    file.path.display()
                ));
            }
            let is_source = file.path.starts_with(member.folder.join("src"));
            if member.layer != Layer::Outside && is_source {
                violations.extend(clock(&file.path, &file.text));
            }
            if is_source && !file.is_in_tests && manifest_text.contains("\ntest = false\n") {
                violations.extend(skipped_tests(&file.path, &file.text));
            }
        }
    }
    Ok(violations)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).context(|| format!("{} cannot be read", path.display()))
}

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

/// The repository's top level stays small enough to be read at a glance.
fn top_level(root: &Path) -> Result<Vec<String>> {
    let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let ignored: Vec<&str> = ignored
        .lines()
        .filter_map(|line| line.trim().strip_prefix('/'))
        .collect();
    let mut strays = Vec::new();
    for entry in fs::read_dir(root).context(|| format!("{} cannot be read", root.display()))? {
        let name = entry
            .context(|| format!("{} cannot be read", root.display()))?
            .file_name();
        let name = name.to_string_lossy();
        let is_ignored = ignored.iter().any(|entry| entry.trim_end_matches('/') == name);
        if !name.starts_with('.') && !TOP_LEVEL.contains(&&*name) && !is_ignored {
            strays.push(format!(
                "the top level is fixed: {name}: move it; there are {}, names with a dot, and no more",
                TOP_LEVEL.join(", ")
            ));
        }
    }
    Ok(strays)
}

fn lints_of_workspace(manifest: &str) -> Option<String> {
    let forbids = manifest.lines().any(|line| line.trim() == "unsafe_code = \"forbid\"");
    (!forbids).then(|| {
        "lints hold everywhere: Cargo.toml: set `unsafe_code = \"forbid\"` in [workspace.lints.rust]".to_owned()
    })
}

fn lints_of_member(path: &Path, manifest: &str) -> Option<String> {
    (!manifest.contains("[lints]\nworkspace = true\n")).then(|| {
        format!(
            "lints hold everywhere: {}: set `workspace = true` in [lints]",
            path.display()
        )
    })
}

/// A library that says it has no tests is not compiled for them, and Cargo passes over those that it has in silence.
fn skipped_tests(path: &Path, text: &str) -> Option<String> {
    text.contains("#[cfg(test)]").then(|| {
        format!(
            "every test is run: {}: take `test = false` out of its crate's Cargo.toml, or have a test compile it",
            path.display()
        )
    })
}

/// Runtimes, networks, databases, files and sources of randomness, and what these are built on, which catches one that
/// is not named here.
const INPUT_AND_OUTPUT: [&str; 23] = [
    "actix-http",
    "actix-web",
    "async-std",
    "axum",
    "deadpool",
    "diesel",
    "diesel-async",
    "fastrand",
    "getrandom",
    "hyper",
    "lettre",
    "libsqlite3-sys",
    "mio",
    "object_store",
    "rand",
    "redis",
    "reqwest",
    "rusqlite",
    "smol",
    "socket2",
    "tokio",
    "tokio-postgres",
    "ureq",
];

/// All that is compiled into the program with every feature on, and nothing that runs in the compiler or for tests.
const NORMAL: [&str; 3] = ["--all-features", "--edges", "normal,no-proc-macro"];

/// What a domain crate pulls in, however far away, does no I/O. Each crate is resolved alone: the workspace's common
/// resolution would blame it for features that others turn on.
fn input_and_output(workspace: &Workspace, package: &str) -> Result<Vec<String>> {
    let mut tree = workspace.cargo();
    tree.args(["tree", "--package", package, "--prefix", "none", "--format", "{p}"]);
    let tree = process::output(tree.args(NORMAL))?;
    let mut found: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    found.retain(|name| INPUT_AND_OUTPUT.contains(name));
    found.sort_unstable();
    found.dedup();
    let violation = |name| {
        format!(
            "the domain does no I/O: {package}: it pulls in {name}; `cargo tree -p {package} {} --invert {name}` shows how. \
             I/O belongs in an adapter, behind a port",
            NORMAL.join(" ")
        )
    };
    Ok(found.into_iter().map(violation).collect())
}

/// The one file that may ask the machine for the time.
const CLOCK: &str = "crates/app/src/system.rs";

/// Clippy sees every call of a disallowed function, but not that an exception from its list is made elsewhere.
fn clock(path: &Path, text: &str) -> Option<String> {
    let is_exception = path != Path::new(CLOCK) && text.contains("clippy::disallowed_");
    is_exception.then(|| {
        format!(
            "there is one clock: {}: only {CLOCK} is excepted from clippy's lists; ask a port",
            path.display()
        )
    })
}
