//! Checksums of the files of a release, and their signature.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use super::{Release, write};
use crate::error::{Error, Result};
use crate::process;
use crate::workspace::Workspace;

/// The list of checksums.
pub(crate) const SUMS: &str = "SHA256SUMS";
/// The signature of [`SUMS`].
pub(super) const SIGNATURE: &str = "SHA256SUMS.minisig";

/// Names the file with the secret key of minisign.
const KEY_VARIABLE: &str = "MINISIGN_KEY";

/// Writes the checksums of these files, and signs them if there is a key; returns the names of the new files.
pub(super) fn make(release: &Release<'_>, files: &[String]) -> Result<Vec<String>> {
    let sums = list(of(release, files)?);
    let path = release.folder().join(SUMS);
    write(&path, sums)?;
    let mut made = vec![SUMS.to_owned()];
    match env::var_os(KEY_VARIABLE) {
        Some(key) => {
            sign(release, &key, &path, &release.folder().join(SIGNATURE))?;
            made.push(SIGNATURE.to_owned());
        }
        None => eprintln!("skipped: the signature: nothing was signed, since {KEY_VARIABLE} names no key"),
    }
    Ok(made)
}

/// Signs a file with a secret key of minisign.
pub(crate) fn sign(release: &Release<'_>, key: &OsStr, file: &Path, signature: &Path) -> Result<()> {
    let mut minisign = release.workspace.command("minisign");
    minisign
        .arg("-S")
        .arg("-s")
        .arg(key)
        .arg("-m")
        .arg(file)
        .arg("-x")
        .arg(signature);
    process::run(minisign.args(["-t", &format!("forecourt {}", release.version())]))
}

/// Returns names and checksums of these files.
pub(super) fn of<'a>(release: &Release<'_>, files: &'a [String]) -> Result<Vec<(&'a str, String)>> {
    let mut sums = Vec::new();
    for file in files {
        sums.push((
            file.as_str(),
            checksum(release.workspace, &release.folder().join(file))?,
        ));
    }
    Ok(sums)
}

/// Returns the list that `sha256sum --check` reads, in the order of names.
fn list(mut sums: Vec<(&str, String)>) -> String {
    sums.sort();
    sums.iter().map(|(file, sum)| format!("{sum}  {file}\n")).collect()
}

/// Returns the file's SHA-256, by the tool of the system: GNU's, or Perl's, which macOS has.
pub(super) fn checksum(workspace: &Workspace, file: &Path) -> Result<String> {
    let mut command = match process::find("sha256sum") {
        Some(program) => workspace.command(program),
        None => {
            let mut command = workspace.command("shasum");
            command.args(["-a", "256"]);
            command
        }
    };
    let said = process::output(command.arg(file))?;
    said.split_whitespace()
        .next()
        .map(str::to_owned)
        .ok_or_else(|| Error::new("the checksum cannot be read"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_list_is_what_the_tool_checks() {
        let scratch = Scratch::new(&env::temp_dir(), "sums").unwrap();
        let workspace = Workspace::at(scratch.path());
        let sums = ["b.deb", "a.tar.gz"].map(|name| {
            let path = scratch.path().join(name);
            fs::write(&path, name).unwrap();
            (name, checksum(&workspace, &path).unwrap())
        });
        let sums = list(sums.into());
        assert_eq!(
            sums.lines().map(|line| &line[64..]).collect::<Vec<_>>(),
            ["  a.tar.gz", "  b.deb"]
        );
        fs::write(scratch.path().join(SUMS), sums).unwrap();
        let check = || process::output(workspace.command("sha256sum").args(["--check", "--strict", SUMS]));
        assert_eq!(check().unwrap(), "a.tar.gz: OK\nb.deb: OK\n");
        fs::write(scratch.path().join("b.deb"), "other").unwrap();
        assert!(check().is_err());
    }
}
