//! `cargo xtask architecture`: the rules of the folders that no common tool checks.
//!
//! The other rules are in `.config`, whose files for cargo-deny list the libraries that each crate may depend on and those that
//! no domain crate may pull in. The two `.clippy.toml` restrict the clock to its port, and input and output to crates outside
//! the domain.

mod arrows;
mod modules;

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Context as _, Error, Result};
use crate::task::Task;
use crate::workspace::{Dependency, Package, Workspace};
use arrows::Layer;

/// The allowed names beside those with a dot and those that git ignores.
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

/// The only file that may read the machine's clock.
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

/// Prints a line for each violation, with the rule, the place and the remedy.
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
    let mut violations = Violations {
        root: metadata.workspace_root,
        found: Vec::new(),
    };
    violations.check_root()?;
    for package in &metadata.packages {
        let folder = violations.relative(package.manifest_path.with_file_name("").as_path());
        match Layer::of(&folder) {
            Some(layer) => {
                violations.check_dependencies(package, layer);
                violations.check_files(package, layer)?;
            }
            None => {
                let remedy =
                    "it is in no layer; move it to crates/domain, crates/adapters, crates/shared or crates/app";
                violations.add("dependencies point inwards", &package.name, remedy);
            }
        }
    }
    Ok(violations.found)
}

/// The violations found in the workspace below a root.
struct Violations {
    root: PathBuf,
    found: Vec<String>,
}

impl Violations {
    fn add(&mut self, rule: &str, place: impl Display, remedy: &str) {
        self.found.push(format!("{rule}: {place}: {remedy}"));
    }

    /// Returns a path relative to the root.
    fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_owned()
    }

    fn check_root(&mut self) -> Result<()> {
        for name in strays(&self.root)? {
            let remedy = format!("move it; there are {TOP_LEVEL:?}, names with a dot, and no more");
            self.add("the top level is fixed", name, &remedy);
        }
        if !read(&self.root.join("Cargo.toml"))?.contains("\nunsafe_code = \"forbid\"\n") {
            let remedy = "set `unsafe_code = \"forbid\"` in [workspace.lints.rust]";
            self.add("lints hold everywhere", "Cargo.toml", remedy);
        }
        Ok(())
    }

    fn check_dependencies(&mut self, package: &Package, layer: Layer<'_>) {
        for Dependency { name, kind, path } in &package.dependencies {
            let folder = path.as_ref().map(|path| self.relative(path));
            let to = folder.as_deref().and_then(Layer::of);
            let remedy = to.and_then(|to| arrows::remedy(layer, to, kind.as_deref() == Some("dev")));
            if let Some(remedy) = remedy {
                let remedy = format!("it may not depend on {name}; {remedy}");
                self.add("dependencies point inwards", &package.name, &remedy);
            }
        }
    }

    fn check_files(&mut self, package: &Package, layer: Layer<'_>) -> Result<()> {
        let manifest = read(&package.manifest_path)?;
        if !manifest.contains("[lints]\nworkspace = true\n") {
            let place = self.relative(&package.manifest_path);
            self.add(
                "lints hold everywhere",
                place.display(),
                "set `workspace = true` in [lints]",
            );
        }
        let folder = package.manifest_path.with_file_name("");
        let sources = folder.join("src");
        let roots = package.targets.iter().map(|target| &*target.src_path);
        let (in_sources, beside): (Vec<_>, Vec<_>) = roots.partition(|root| root.starts_with(&sources));
        let (compiled, compiled_beside) = (modules::compiled(in_sources), modules::compiled(beside));
        for file in modules::files(&folder)? {
            let (text, path) = (read(&file)?, self.relative(&file));
            let (place, is_source) = (&path.display(), file.starts_with(&sources));
            let is_beside = compiled_beside.contains(&file);
            if !is_beside && !compiled.contains(&file) {
                let remedy = "no module declares it; declare it or delete it";
                self.add("every file is compiled", place, remedy);
            }
            // Clippy sees every call of a disallowed function, but not an exception to its list in another place.
            let is_bound = is_source && layer != Layer::Outside && path != Path::new(CLOCK);
            if is_bound && text.contains("clippy::disallowed_") {
                let remedy = format!("only {CLOCK} is excepted from clippy's lists; ask a port");
                self.add("there is one clock", place, &remedy);
            }
            // A library that declares that it has no tests is not compiled for them, and Cargo silently skips the tests that it
            // has.
            let is_untested = is_source && !is_beside && manifest.contains("\ntest = false\n");
            if is_untested && text.contains("#[cfg(test)]") {
                let remedy = "take `test = false` out of its crate's Cargo.toml, or have a test compile it";
                self.add("every test is run", place, remedy);
            }
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).context(|| format!("{} cannot be read", path.display()))
}

/// Returns unexpected names at the repository's top level, which must stay small enough to be read at a glance.
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
