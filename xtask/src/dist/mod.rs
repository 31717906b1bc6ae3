//! `cargo xtask dist`: the files of a release, in `target/dist`.
//!
//! Two runs from the same commit make the same files, in whatever folder: [`build`] hides the folders' names from the compilers,
//! and every packer gets sorted names, fixed owners and the commit's time.

mod archive;
mod build;
mod debian;
mod image;
mod provenance;
mod sbom;
mod sums;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::task::Task;
use crate::workspace::{Package, Workspace};

pub(crate) use build::Program;
pub(crate) use image::unpack_layout;
pub(crate) use sums::{SUMS, sign};

pub(crate) const TASK: Task = Task {
    name: "dist",
    usage: "[--target T]… [--image] [--deb] [--program PATH]",
    summary: "make the files of a release in target/dist: archives, with --image and --deb an image and a Debian package, an SBOM, \
              checksums and provenance; of the program as it is shipped (profile dist) for each target that this machine can build, \
              or of the one at PATH",
    run: |workspace, arguments| make(workspace, &Options::parse(arguments)?).map(drop),
};

/// The choices of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The targets to build for; without one, all that this machine can build for.
    pub(crate) targets: Vec<String>,
    pub(crate) image: bool,
    pub(crate) deb: bool,
    /// A program that was built elsewhere, for the only target.
    pub(crate) program: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next().cloned();
                value.ok_or_else(|| Error::new(format!("`{argument}` needs a value")))
            };
            match argument.as_str() {
                "--target" => options.targets.push(value()?),
                "--program" => options.program = Some(value()?.into()),
                "--image" => options.image = true,
                "--deb" => options.deb = true,
                _ => return Err(Error::new(format!("usage: cargo xtask dist {}", TASK.usage))),
            }
        }
        if options.program.is_some() && options.targets.len() > 1 {
            return Err(Error::new("`--program` is for one target"));
        }
        Ok(options)
    }
}

/// The release that is made.
pub(crate) struct Release<'a> {
    pub(crate) workspace: &'a Workspace,
    /// The package of the program.
    pub(crate) package: Package,
    pub(crate) target_directory: PathBuf,
    /// The kind of this machine, in the compiler's words.
    pub(crate) host: String,
    commit: Commit,
}

/// The state of the source.
struct Commit {
    id: String,
    /// Its time in epoch seconds, which all files have.
    time: u64,
    /// True if files differ from it.
    is_changed: bool,
}

impl<'a> Release<'a> {
    pub(crate) fn new(workspace: &'a Workspace) -> Result<Self> {
        let metadata = workspace.metadata()?;
        let mut packages = metadata.packages.into_iter();
        let package = packages.find(|package| package.name == "forecourt");
        Ok(Self {
            workspace,
            package: package.ok_or_else(|| Error::new("the workspace has no package `forecourt`"))?,
            target_directory: metadata.target_directory,
            host: host(workspace)?,
            commit: Commit::read(workspace)?,
        })
    }

    pub(crate) fn version(&self) -> &str {
        &self.package.version
    }

    /// Returns the folder of the finished files.
    pub(crate) fn folder(&self) -> PathBuf {
        self.target_directory.join("dist")
    }

    /// Returns true if files differ from the commit.
    pub(crate) fn is_changed(&self) -> bool {
        self.commit.is_changed
    }

    fn repository(&self) -> &str {
        self.package.repository.as_deref().unwrap_or_default()
    }

    /// Returns the commit's time in a format of date(1).
    fn date(&self, format: &str) -> Result<String> {
        let time = format!("@{}", self.commit.time);
        let mut date = self.workspace.command("date");
        let date = date.env("LC_ALL", "C").args(["--utc", "--date", &time, format]);
        Ok(process::output(date)?.trim_end().to_owned())
    }

    /// Removes the files of an earlier release, which the checksums would leave out. Cargo keeps its own in the same folder.
    fn remove_older(&self) -> Result<()> {
        let folder = self.folder();
        create_folder(&folder)?;
        let entries = fs::read_dir(&folder).context(|| format!("{} cannot be read", folder.display()))?;
        for entry in entries
            .flatten()
            .filter(|entry| is_of_a_release(&entry.file_name().to_string_lossy()))
        {
            fs::remove_file(entry.path()).context(|| format!("{} cannot be removed", entry.path().display()))?;
        }
        Ok(())
    }
}

impl Commit {
    fn read(workspace: &Workspace) -> Result<Self> {
        let git = |arguments: &[&str]| {
            let said = process::output(workspace.command("git").args(arguments));
            said.context(|| "a release is made from a Git checkout".to_owned())
        };
        // A packager may say another time.
        let time = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(time) => time,
            Err(_) => git(&["log", "-1", "--format=%ct"])?,
        };
        Ok(Self {
            id: git(&["rev-parse", "HEAD"])?.trim().to_owned(),
            time: time.trim().parse().context(|| format!("{time:?} is no epoch second"))?,
            is_changed: !git(&["status", "--porcelain", "--untracked-files=no"])?
                .trim()
                .is_empty(),
        })
    }
}

/// Makes the files; returns the names of those in the folder of the release.
pub(crate) fn make(workspace: &Workspace, options: &Options) -> Result<Vec<String>> {
    let release = Release::new(workspace)?;
    if release.is_changed() {
        eprintln!(
            "note: files differ from the commit {}, which the provenance says",
            release.commit.id
        );
    }
    let programs = build::programs(&release, options)?;
    release.remove_older()?;
    let extras = archive::Extras::make(&release, &programs)?;
    let mut files = Vec::new();
    for program in &programs {
        files.push(archive::make(&release, program, &extras)?);
    }
    if options.image {
        for program in image::programs(&release, &programs)? {
            files.push(image::make(&release, program)?);
        }
    }
    if options.deb {
        let packaged: Vec<&Program> = programs
            .iter()
            .filter(|program| program.target.ends_with("-gnu"))
            .collect();
        if packaged.is_empty() {
            return Err(Error::new("the Debian package needs a program for a -gnu target"));
        }
        for program in packaged {
            files.push(debian::make(&release, program, release.version(), &release.folder())?);
        }
    }
    files.push(sbom::make(&release, &programs)?);
    files.push(provenance::make(&release, &programs, &files)?);
    files.extend(sums::make(&release, &files)?);
    for file in &files {
        println!("{}", release.folder().join(file).display());
    }
    Ok(files)
}

/// Makes the package of another version, to try an upgrade with; returns its path.
pub(crate) fn package_of_version(
    release: &Release<'_>,
    program: &Program,
    version: &str,
    folder: &Path,
) -> Result<PathBuf> {
    Ok(folder.join(debian::make(release, program, version, folder)?))
}

/// Returns true if a file with this name is one of a release.
fn is_of_a_release(name: &str) -> bool {
    let is_packed = name.starts_with("forecourt-")
        && [".tar.gz", ".tar.gz.sha256", ".oci.tar", ".cdx.json"]
            .iter()
            .any(|end| name.ends_with(end));
    let is_package = name.starts_with("forecourt_") && name.ends_with(".deb");
    is_packed || is_package || [provenance::NAME, sums::SUMS, sums::SIGNATURE].contains(&name)
}

/// Returns the compiler's name for this kind of machine.
fn host(workspace: &Workspace) -> Result<String> {
    let said = process::output(workspace.command("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Error::new("`rustc -vV` does not name the host"))
}

fn create_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).context(|| format!("{} cannot be made", folder.display()))
}

/// Makes an empty folder in place of whatever was there.
fn empty_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).context(|| format!("{} cannot be removed", folder.display()))?;
    }
    create_folder(folder)
}

fn write(file: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    if let Some(folder) = file.parent() {
        create_folder(folder)?;
    }
    fs::write(file, content).context(|| format!("{} cannot be written", file.display()))
}

/// Copies a file, and makes the folder that it goes to.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        create_folder(folder)?;
    }
    let copied = fs::copy(from, to);
    copied
        .map(drop)
        .context(|| format!("{} cannot be copied", from.display()))
}

/// Copies a folder with all that is in it.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for file in files_below(from)? {
        copy(&from.join(&file), &to.join(&file))?;
    }
    Ok(())
}

/// Returns the files below a folder, relative to it, in the order of their names.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let said = process::output(Command::new("find").current_dir(folder).args([".", "-type", "f"]))?;
    let mut files: Vec<PathBuf> = said.lines().map(|line| line.trim_start_matches("./").into()).collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &str) -> Result<Options> {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn options_are_read() {
        let options = parsed("--target a --image --target b --deb").unwrap();
        assert_eq!(options.targets, ["a", "b"]);
        assert!(options.image && options.deb && options.program.is_none());
        assert_eq!(parsed("--program x").unwrap().program, Some("x".into()));
        assert_eq!(parsed("").unwrap(), Options::default());
        for (arguments, complaint) in [
            ("--target", "needs a value"),
            ("image", "usage"),
            ("--program x --target a --target b", "one target"),
        ] {
            assert!(
                parsed(arguments).unwrap_err().to_string().contains(complaint),
                "{arguments}"
            );
        }
    }

    #[test]
    fn only_files_of_a_release_are_removed() {
        for name in [
            "forecourt-0.1.0-x86_64-unknown-linux-gnu.tar.gz",
            "forecourt-0.1.0-x86_64-unknown-linux-musl.oci.tar",
            "forecourt_0.1.0_amd64.deb",
            "forecourt-0.1.0.cdx.json",
            "provenance.json",
            "SHA256SUMS",
            "SHA256SUMS.minisig",
        ] {
            assert!(is_of_a_release(name), "{name}");
        }
        for name in ["forecourt", "forecourt.d", "deps", "forecourt-bare", "notes.tar.gz"] {
            assert!(!is_of_a_release(name), "{name}");
        }
    }
}
