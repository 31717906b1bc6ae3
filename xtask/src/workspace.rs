//! The workspace that the tasks work on, and Cargo's view of it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::error::{Context as _, Error, Result};
use crate::process;

/// The workspace's root, and the Cargo that this program was started by.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace that this program belongs to. Cargo says at run time where that is, which stays right when a built
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

    /// A command in the workspace's root.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// `cargo`, the same one that runs this program.
    pub(crate) fn cargo(&self) -> Command {
        self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// The members with the dependencies that they declare. Nothing is resolved, so this needs no network.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        let json = process::output(self.cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
        serde_json::from_str(&json).context(|| "what `cargo metadata` prints is not understood".to_owned())
    }
}

/// What the tasks use of `cargo metadata`.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

/// A member of the workspace.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as its manifest declares it.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}
