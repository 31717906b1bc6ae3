//! The Debian package. `[package.metadata.deb]` of `crates/app` describes it in the form of cargo-deb, which makes it too; here
//! `dpkg-deb` suffices, which every Debian has.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::archive::compress;
use super::{Program, Release, copy, create_folder, files_below, write};
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::scratch::Scratch;

/// The description of the package.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Description {
    maintainer: String,
    section: String,
    priority: String,
    depends: String,
    recommends: String,
    suggests: String,
    extended_description: String,
    /// Empty: the version of the package is that of the program.
    revision: String,
    conf_files: Vec<String>,
    maintainer_scripts: PathBuf,
    /// Source, target and mode of each file; a source may end in `*.EXTENSION`, a target with `/` is a folder.
    assets: Vec<(String, String, String)>,
}

/// The source that stands for the program, in the form of cargo-deb.
const PROGRAM: &str = "target/release/forecourt";
const SCRIPTS: [&str; 4] = ["preinst", "postinst", "prerm", "postrm"];

/// Makes the package in `folder`; returns its name.
pub(super) fn make(release: &Release<'_>, program: &Program, version: &str, folder: &Path) -> Result<String> {
    let description = release.package.metadata.get("deb").cloned().unwrap_or_default();
    let description: Description = serde_json::from_value(description)
        .context(|| "`[package.metadata.deb]` of the package `forecourt` is not understood".to_owned())?;
    if !description.revision.is_empty() {
        return Err(Error::new(
            "`[package.metadata.deb]` has a revision, which the package's name has no place for",
        ));
    }
    let architecture = architecture(&program.target)?;
    let scratch = Scratch::new(&release.folder(), "deb")?;
    let tree = scratch.path().join("tree");
    for (source, target, mode) in description.assets(release, program)? {
        place(&source, &tree.join(target), mode)?;
    }
    changelog(release, &description, version, &tree)?;
    compress_manual(&tree)?;

    let control = tree.join("DEBIAN");
    let files = files_below(&tree)?;
    let bytes = files
        .iter()
        .map(|file| fs::metadata(tree.join(file)).map_or(0, |metadata| metadata.len().div_ceil(1024)));
    let fields = description.control(
        release,
        version,
        architecture,
        &dependencies(release, program, &description.depends)?,
        bytes.sum(),
    );
    write(&control.join("control"), fields)?;
    write(
        &control.join("conffiles"),
        description
            .conf_files
            .iter()
            .map(|file| format!("{file}\n"))
            .collect::<String>(),
    )?;
    let mut sums = release.workspace.command("md5sum");
    write(
        &control.join("md5sums"),
        process::output(sums.current_dir(&tree).args(&files))?,
    )?;
    for script in SCRIPTS {
        let source = manifest_folder(release)
            .join(&description.maintainer_scripts)
            .join(script);
        if source.is_file() {
            place(&source, &control.join(script), 0o755)?;
        }
    }
    set_modes(&tree)?;

    let name = format!("forecourt_{version}_{architecture}.deb");
    let mut dpkg_deb = release.workspace.command("dpkg-deb");
    dpkg_deb
        .env("SOURCE_DATE_EPOCH", release.commit.time.to_string())
        // Several threads of xz write other bytes than one.
        .args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"])
        .args([&tree, &folder.join(&name)]);
    process::output(&mut dpkg_deb)?;
    Ok(name)
}

impl Description {
    /// Returns path, place in the package and mode of every file.
    fn assets(&self, release: &Release<'_>, program: &Program) -> Result<Vec<(PathBuf, String, u32)>> {
        let mut assets = Vec::new();
        for (source, target, mode) in &self.assets {
            let mode = u32::from_str_radix(mode, 8).context(|| format!("{mode:?} is no mode of a file"))?;
            let path = match source.strip_prefix("../../target/") {
                Some(generated) => release.target_directory.join(generated),
                None if source == PROGRAM => program.path.clone(),
                None => manifest_folder(release).join(source),
            };
            for path in matching(&path)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let target = if target.ends_with('/') {
                    format!("{target}{name}")
                } else {
                    target.clone()
                };
                assets.push((path, target, mode));
            }
        }
        Ok(assets)
    }

    fn control(
        &self,
        release: &Release<'_>,
        version: &str,
        architecture: &str,
        depends: &str,
        kilobytes: u64,
    ) -> String {
        let synopsis = release.package.description.as_deref().unwrap_or_default();
        let fields = [
            ("Package", "forecourt"),
            ("Version", version),
            ("Architecture", architecture),
            ("Maintainer", &self.maintainer),
            ("Installed-Size", &kilobytes.to_string()),
            ("Depends", depends),
            ("Recommends", &self.recommends),
            ("Suggests", &self.suggests),
            ("Section", &self.section),
            ("Priority", &self.priority),
            ("Homepage", release.repository()),
            ("Description", &self::synopsis(synopsis)),
        ];
        let fields: String = fields.map(|(name, value)| format!("{name}: {value}\n")).concat();
        fields
            + &self
                .extended_description
                .trim()
                .lines()
                .map(|line| format!(" {}\n", if line.is_empty() { "." } else { line }))
                .collect::<String>()
    }
}

fn manifest_folder<'a>(release: &'a Release<'_>) -> &'a Path {
    release.package.manifest_path.parent().unwrap_or(Path::new(""))
}

/// Returns the first part of a sentence, without its article, as Debian wants it.
fn synopsis(description: &str) -> String {
    let part = description.split(':').next().unwrap_or(description);
    let part = ["An ", "A ", "The "]
        .iter()
        .find_map(|article| part.strip_prefix(article))
        .unwrap_or(part);
    part.trim().to_owned()
}

/// Returns Debian's name for the machines of a target.
fn architecture(target: &str) -> Result<&'static str> {
    match target.split('-').next() {
        Some("x86_64") => Ok("amd64"),
        Some("aarch64") => Ok("arm64"),
        _ => Err(Error::new(format!("Debian's name for {target} is not known here"))),
    }
}

/// Returns the file, or all files with the extension if the path ends in `*.EXTENSION`.
fn matching(path: &Path) -> Result<Vec<PathBuf>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(end) = name.strip_prefix('*') else {
        return Ok(vec![path.to_owned()]);
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let names = files_below(folder)?;
    let found: Vec<PathBuf> = names
        .iter()
        .filter(|file| file.to_string_lossy().ends_with(end))
        .map(|file| folder.join(file))
        .collect();
    if found.is_empty() {
        return Err(Error::new(format!("there is no {}", path.display())));
    }
    Ok(found)
}

/// Returns the packages that must be installed: those named, and in place of `$auto` those of the libraries that the program
/// names.
fn dependencies(release: &Release<'_>, program: &Program, named: &str) -> Result<String> {
    let scratch = Scratch::new(&release.folder(), "shlibs")?;
    // The tool wants to be in a source package.
    write(
        &scratch.path().join("debian/control"),
        "Source: forecourt\n\nPackage: forecourt\nArchitecture: any\n",
    )?;
    let mut tool = release.workspace.command("dpkg-shlibdeps");
    let said = process::output(tool.current_dir(scratch.path()).arg("-O").arg("-e").arg(&program.path))?;
    let libraries = said.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    let libraries = libraries.ok_or_else(|| Error::new("dpkg-shlibdeps names no library of the program"))?;
    Ok(named.replace("$auto", libraries))
}

/// Copies a file and sets its mode.
fn place(source: &Path, target: &Path, mode: u32) -> Result<()> {
    copy(source, target)?;
    set_mode(target, mode)
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .context(|| format!("the mode of {} cannot be set", path.display()))
}

/// Makes folders readable for all, and the files for `dpkg`, whatever this account's mask is.
fn set_modes(tree: &Path) -> Result<()> {
    process::output(
        std::process::Command::new("find")
            .arg(tree)
            .args(["-type", "d", "-exec", "chmod", "755", "{}", "+"]),
    )?;
    for file in ["control", "conffiles", "md5sums"] {
        set_mode(&tree.join("DEBIAN").join(file), 0o644)?;
    }
    Ok(())
}

/// Writes the changelog that Debian wants; what users notice is in the file beside it.
fn changelog(release: &Release<'_>, description: &Description, version: &str, tree: &Path) -> Result<()> {
    let entry = format!(
        "forecourt ({version}) stable; urgency=medium\n\n  * See NEWS.gz.\n\n -- {}  {}\n",
        description.maintainer,
        release.date("+%a, %d %b %Y %H:%M:%S +0000")?,
    );
    let documents = tree.join("usr/share/doc/forecourt");
    create_folder(&documents)?;
    let news = release.workspace.root().join("docs/CHANGELOG.md");
    compress_to(&news, &documents.join("NEWS.gz"))?;
    let plain = documents.join("changelog");
    write(&plain, entry)?;
    compress_in_place(&plain)
}

/// Compresses the manual pages, as Debian wants them.
fn compress_manual(tree: &Path) -> Result<()> {
    let folder = tree.join("usr/share/man/man1");
    for page in files_below(&folder)? {
        compress_in_place(&folder.join(page))?;
    }
    Ok(())
}

fn compress_in_place(file: &Path) -> Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".gz");
    compress_to(file, Path::new(&name))?;
    fs::remove_file(file).context(|| format!("{} cannot be removed", file.display()))
}

fn compress_to(from: &Path, to: &Path) -> Result<()> {
    compress(from, to)?;
    set_mode(to, 0o644)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synopsis_has_no_article_and_one_part() {
        assert_eq!(synopsis("An open server: one binary, one API"), "open server");
        assert_eq!(synopsis("A server"), "server");
        assert_eq!(synopsis("Server"), "Server");
    }

    #[test]
    fn targets_have_architectures() {
        assert_eq!(architecture("x86_64-unknown-linux-gnu").unwrap(), "amd64");
        assert_eq!(architecture("aarch64-unknown-linux-gnu").unwrap(), "arm64");
        assert!(architecture("riscv64gc-unknown-linux-gnu").is_err());
    }

    #[test]
    fn a_star_stands_for_all_files_of_a_kind() {
        let scratch = Scratch::new(&std::env::temp_dir(), "matching").unwrap();
        for name in ["b.1", "a.1", "c.txt"] {
            fs::write(scratch.path().join(name), name).unwrap();
        }
        let found = |pattern: &str| matching(&scratch.path().join(pattern));
        assert_eq!(
            found("*.1").unwrap(),
            ["a.1", "b.1"].map(|name| scratch.path().join(name))
        );
        assert_eq!(found("c.txt").unwrap(), [scratch.path().join("c.txt")]);
        assert!(found("*.2").is_err());
    }
}
