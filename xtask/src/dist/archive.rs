//! The archive: the program with its documents, for any Linux.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Program, Release, copy, copy_folder, create_folder, empty_folder, write};
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::scratch::Scratch;

/// Files of the repository in the archive, with their names there.
const DOCUMENTS: [(&str, &str); 6] = [
    ("README.md", "README.md"),
    ("docs/CHANGELOG.md", "CHANGELOG.md"),
    ("docs/openapi.json", "openapi.json"),
    ("docs/licenses/MIT.txt", "licenses/MIT.txt"),
    ("docs/licenses/Apache-2.0.txt", "licenses/Apache-2.0.txt"),
    ("docs/licenses/OFL-1.1.txt", "licenses/OFL-1.1.txt"),
];

/// Shells with completions, and the names of their scripts.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "forecourt.bash"),
    ("zsh", "_forecourt"),
    ("fish", "forecourt.fish"),
];

/// The manual pages and completions, which the program itself writes.
pub(super) struct Extras {
    manual: PathBuf,
    completions: PathBuf,
}

impl Extras {
    /// Has them written by the first program that runs on this machine.
    pub(super) fn make(release: &Release<'_>, programs: &[Program]) -> Result<Self> {
        let (machine, _) = release.host.split_once('-').unwrap_or((&release.host, ""));
        let mut ours = programs.iter().filter(|program| program.target.starts_with(machine));
        let program = ours.next().ok_or_else(|| {
            Error::new("the manual pages are written by the program, and none of the targets runs on this machine: add one that does")
        })?;
        let extras = Self {
            manual: release.target_directory.join("manual"),
            completions: release.target_directory.join("completions"),
        };
        empty_folder(&extras.manual)?;
        process::output(Command::new(&program.path).arg("man").arg(&extras.manual))?;
        create_folder(&extras.completions)?;
        for (shell, name) in SHELLS {
            let script = process::output(Command::new(&program.path).args(["completions", shell]))?;
            write(&extras.completions.join(name), script)?;
        }
        Ok(extras)
    }
}

/// Makes the archive; returns its name.
pub(super) fn make(release: &Release<'_>, program: &Program, extras: &Extras) -> Result<String> {
    let name = format!("forecourt-{}-{}", release.version(), program.target);
    let scratch = Scratch::new(&release.folder(), "archive")?;
    let content = scratch.path().join(&name);
    copy(&program.path, &content.join("forecourt"))?;
    let root = release.workspace.root();
    for (document, to) in DOCUMENTS {
        copy(&root.join(document), &content.join(to))?;
    }
    copy_folder(&root.join("docs/deploy"), &content.join("deploy"))?;
    copy_folder(&extras.manual, &content.join("man/man1"))?;
    copy_folder(&extras.completions, &content.join("completions"))?;

    let tar = scratch.path().join("tar");
    pack(release, scratch.path(), &[&name], &tar)?;
    let archive = release.folder().join(format!("{name}.tar.gz"));
    compress(&tar, &archive)?;
    Ok(format!("{name}.tar.gz"))
}

/// Packs members of a folder, so that the archive depends on names and content alone.
pub(super) fn pack(release: &Release<'_>, folder: &Path, members: &[&str], archive: &Path) -> Result<()> {
    let time = format!("--mtime=@{}", release.commit.time);
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--sort=name",
        "--format=ustar",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
    ])
    .args([&time, "--mode=u=rwX,go=rX", "--file"])
    .arg(archive)
    .arg("--directory")
    .arg(folder)
    .args(members);
    process::output(&mut tar).map(drop)
}

/// Compresses a file, without its name and time.
pub(super) fn compress(from: &Path, to: &Path) -> Result<()> {
    let file = fs::File::create(to).context(|| format!("{} cannot be written", to.display()))?;
    let mut gzip = Command::new("gzip");
    let ended = gzip
        .args(["-9", "--no-name", "--stdout", "--quiet"])
        .arg(from)
        .stdout(file)
        .status();
    match ended.context(|| "`gzip` cannot be started".to_owned())? {
        status if status.success() => Ok(()),
        status => Err(Error::new(format!(
            "{} cannot be compressed ({status})",
            from.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_compressed_without_name_and_time() {
        let scratch = Scratch::new(&std::env::temp_dir(), "compress").unwrap();
        let compressed = ["a", "b"].map(|name| {
            let (from, to) = (scratch.path().join(name), scratch.path().join("gz"));
            fs::write(&from, "text").unwrap();
            compress(&from, &to).unwrap();
            fs::read(&to).unwrap()
        });
        assert_eq!(compressed[0], compressed[1]);
        assert!(compress(&scratch.path().join("c"), &scratch.path().join("gz")).is_err());
    }
}
