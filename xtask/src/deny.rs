//! What may be depended on: licences, sources, banned crates and known vulnerabilities, checked by cargo-deny.

use std::path::PathBuf;
use std::process::Command;

use crate::error::Result;
use crate::process;
use crate::workspace::Workspace;

/// The version that is built where none is installed.
const VERSION: &str = "0.20.2";

/// Its own profile takes several times as long to build, for a program that then runs for two seconds.
const QUICKLY_BUILT: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
];

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let program = program(workspace)?;
    let deny = || -> Command {
        let mut command = workspace.command(&program);
        command.args(["--workspace", "--config", ".config/deny.toml"]);
        command
    };
    process::run(deny().args(["check", "bans", "licenses", "sources"]))?;
    if process::output(deny().args(["fetch", "db"])).is_err() {
        eprintln!("advisories left out: their database cannot be reached from here (`cargo deny fetch db` says why)");
        return Ok(());
    }
    process::run(deny().args(["check", "advisories"]))
}

/// The installed cargo-deny, or one of our own in the target folder, which is built the first time.
fn program(workspace: &Workspace) -> Result<PathBuf> {
    if let Some(program) = process::find("cargo-deny") {
        return Ok(program);
    }
    let tools = workspace.metadata()?.target_directory.join("tools");
    let program = tools.join("bin/cargo-deny");
    if !program.is_file() {
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
    }
    Ok(program)
}
