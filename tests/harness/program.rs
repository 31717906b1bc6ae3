//! The program under test.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Names a program that is built already.
const VARIABLE: &str = "FORECOURT_TEST_BINARY";

/// Returns the path of the program. Without `FORECOURT_TEST_BINARY` it is built first, once per process.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| env::var_os(VARIABLE).map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = Command::new(cargo)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args(["build", "--package", "forecourt", "--message-format", "json"])
        .output()
        .expect("cargo can be started");
    let messages = String::from_utf8_lossy(&build.stdout);
    assert!(
        build.status.success(),
        "the program does not compile:\n{}",
        String::from_utf8_lossy(&build.stderr)
    );
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let ours = message["target"]["name"] == "forecourt";
        message["executable"].as_str().filter(|_| ours).map(PathBuf::from)
    };
    messages
        .lines()
        .find_map(executable)
        .expect("Cargo says where it put the program")
}
