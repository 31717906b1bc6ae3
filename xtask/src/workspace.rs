//! The workspace that the tasks work on, and Cargo's view of it.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::error::{Context as _, Error, Result};
use crate::process;

/// The workspace's root, and the Cargo that started this program.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Returns the workspace that this program belongs to. Cargo gives its place at run time, which stays right when a built
    /// xtask is reused after the folder has moved.
    pub(crate) fn locate() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest)
            .parent()
            .ok_or_else(|| Error::new("xtask has no folder above it"))?;
        Ok(Self::at(root))
    }

    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a command in the workspace's root.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Returns `cargo`, the same one that runs this program.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // `cargo xtask` describes the package xtask in the environment. Some build scripts run again when these variables
        // change, and everything that depends on them would be compiled again.
        let of_this_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_this_package)) {
            command.env_remove(name);
        }
        command
    }

    /// Builds the server and the examples that print parts of the documentation. They have the features with which the tests
    /// are built, so that nothing that both need is compiled twice.
    pub(crate) fn build(&self) -> Result<Programs> {
        let arguments = [
            "build",
            "--workspace",
            "--bin",
            SERVER,
            // An example enables the features of the dependencies for development.
            "--example",
            BOUNDS,
            "--example",
            STATES,
            "--example",
            PLANS,
            "--message-format",
            "json-render-diagnostics",
        ];
        eprintln!("$ cargo {}", arguments.join(" "));
        let messages = process::output(self.cargo().args(arguments).stderr(Stdio::inherit()))?;
        let program = |name: &str| {
            executable(&messages, name).ok_or_else(|| Error::new(format!("Cargo does not say where it put `{name}`")))
        };
        Ok(Programs {
            server: program(SERVER)?,
            bounds: program(BOUNDS)?,
            states: program(STATES)?,
            plans: program(PLANS)?,
        })
    }

    /// Builds programs as they are shipped, each from the package with its name.
    pub(crate) fn build_dist<const N: usize>(&self, programs: [&str; N]) -> Result<[PathBuf; N]> {
        let mut arguments = vec!["build", "--profile", "dist"];
        arguments.extend(programs.iter().flat_map(|program| ["--package", program]));
        eprintln!("$ cargo {}", arguments.join(" "));
        arguments.extend(["--message-format", "json-render-diagnostics"]);
        let messages = process::output(self.cargo().args(arguments).stderr(Stdio::inherit()))?;
        let mut paths = [const { PathBuf::new() }; N];
        for (program, path) in programs.iter().zip(&mut paths) {
            *path = executable(&messages, program)
                .ok_or_else(|| Error::new(format!("Cargo does not say where it put `{program}`")))?;
        }
        Ok(paths)
    }

    /// Returns the members with their declared dependencies. Nothing is resolved, so this needs no network.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        let json = process::output(self.cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
        serde_json::from_str(&json).context(|| "what `cargo metadata` prints is not understood".to_owned())
    }
}

/// The program of the package `forecourt`.
const SERVER: &str = "forecourt";
/// The example of the package `forecourt-kernel`.
const BOUNDS: &str = "bounds";
/// The example of the package `forecourt-dealership`.
const STATES: &str = "states";

/// Another example of the package `forecourt-kernel`.
const PLANS: &str = "plans";

/// Built programs.
pub(crate) struct Programs {
    pub(crate) server: PathBuf,
    pub(crate) bounds: PathBuf,
    pub(crate) states: PathBuf,
    pub(crate) plans: PathBuf,
}

/// The part of `cargo metadata` that the tasks use.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_root: PathBuf,
    pub(crate) target_directory: PathBuf,
}

/// A member of the workspace.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
    /// Each with those that it turns on.
    #[serde(default)]
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) readme: Option<PathBuf>,
    #[serde(default)]
    pub(crate) keywords: Vec<String>,
    #[serde(default)]
    pub(crate) categories: Vec<String>,
    /// What the manifest says to other tools.
    #[serde(default)]
    pub(crate) metadata: serde_json::Value,
}

/// A library, program, test or example of a package.
#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) src_path: PathBuf,
}

/// A dependency as its manifest declares it.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
    /// The folder of a dependency on this machine.
    pub(crate) path: Option<PathBuf>,
}

/// Returns the path of the program with this name from Cargo's messages, of which there is one per line.
pub(crate) fn executable(messages: &str, program: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Artifact {
        target: Target,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    // Other messages have no target or no executable.
    let artifacts = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    artifacts
        .filter(|artifact| artifact.target.name == program)
        .find_map(|artifact| artifact.executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_other_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"forecourt_rest"},"executable":null}"#,
            "\n",
            r#"{"reason":"build-script-executed","package_id":"x"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"forecourt"},"executable":"/t/debug/forecourt"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(
            executable(messages, "forecourt"),
            Some(PathBuf::from("/t/debug/forecourt"))
        );
        assert_eq!(executable("", "forecourt"), None);
    }
}
