//! Installs servers if that needs no prompt: as root on Debian and its derivatives.

use std::process::Command;

use super::Kind;
use super::home::is_root;
use crate::error::{Error, Result};
use crate::process;

/// Installs these, or fails with instructions to do so by hand.
pub(super) fn servers(missing: &[&Kind]) -> Result<()> {
    let names: Vec<&str> = missing.iter().map(|kind| kind.package).collect();
    packages(&names, || {
        let complaints: Vec<String> = missing.iter().map(|kind| kind.missing().to_string()).collect();
        Error::new(complaints.join("; "))
    })
}

/// Installs these Debian packages, or else fails with the complaint.
pub(crate) fn packages(names: &[&str], complaint: impl FnOnce() -> Error) -> Result<()> {
    if !is_root()? || process::find("apt-get").is_none() {
        return Err(complaint());
    }
    eprintln!("installing {} with apt-get", names.join(" and "));
    process::output(apt_get().arg("update"))?;
    process::output(
        apt_get()
            .args(["install", "--yes", "--no-install-recommends"])
            .args(names),
    )?;
    Ok(())
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    // Another installation may be in progress; no user can answer questions.
    command
        .args(["--quiet", "-o", "DPkg::Lock::Timeout=300"])
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}
