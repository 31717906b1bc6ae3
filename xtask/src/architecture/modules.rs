//! Which files of a crate the compiler reads. It says nothing of a file that no module declares, which a merge can bring
//! back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::arrows::Member;
use crate::error::{Context as _, Result};

/// A Rust file of a crate.
pub(super) struct File {
    /// As seen from the workspace's root.
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// Whether it is the root of a library, program or test, or a module of one.
    pub(super) is_compiled: bool,
    /// Whether it is one of a target other than the crate's own in `src`: so tests in it are run, whatever the library says.
    pub(super) is_in_tests: bool,
}

pub(super) fn files(root: &Path, member: &Member) -> Result<Vec<File>> {
    let sources = member.folder.join("src");
    let (of_sources, of_tests): (Vec<&PathBuf>, Vec<&PathBuf>) =
        member.targets.iter().partition(|target| target.starts_with(&sources));
    let [of_sources, of_tests] = [of_sources, of_tests].map(|targets| {
        let mut files = BTreeSet::new();
        for target in targets {
            follow(&root.join(target), true, &mut files);
        }
        files
    });
    let mut files = Vec::new();
    collect(root, &member.folder, &mut |path, text| {
        let canonical = root.join(&path).canonicalize().unwrap_or_default();
        let is_in_tests = of_tests.contains(&canonical);
        files.push(File {
            is_compiled: is_in_tests || of_sources.contains(&canonical),
            is_in_tests,
            path,
            text,
        });
    })?;
    Ok(files)
}

/// Adds a file and the modules that it declares in files of their own.
fn follow(file: &Path, declares_beside: bool, compiled: &mut BTreeSet<PathBuf>) {
    // A `#[path]` may lead up.
    let Ok(file) = file.canonicalize() else { return };
    let Ok(text) = fs::read_to_string(&file) else { return };
    if !compiled.insert(file.clone()) {
        return;
    }
    let folder = file.with_file_name("");
    let modules = if declares_beside {
        folder.clone()
    } else {
        file.with_extension("")
    };
    let mut path = None;
    for line in text.lines().map(str::trim) {
        if let Some(quoted) = line.strip_prefix("#[path = \"") {
            path = quoted.strip_suffix("\"]");
        } else if let Some(name) = module(line) {
            match path.take() {
                Some(path) => follow(&folder.join(path), true, compiled),
                None => {
                    follow(&modules.join(format!("{name}.rs")), false, compiled);
                    follow(&modules.join(name).join("mod.rs"), true, compiled);
                }
            }
        }
    }
}

/// The name in `mod name;`, with or without a visibility.
fn module(line: &str) -> Option<&str> {
    let (before, name) = line.strip_suffix(';')?.rsplit_once(' ')?;
    (before == "mod" || before.starts_with("pub") && before.ends_with(" mod")).then_some(name)
}

/// Hands over each Rust file of the crate, with its text.
fn collect(root: &Path, folder: &Path, found: &mut impl FnMut(PathBuf, String)) -> Result<()> {
    let unreadable = || format!("{} cannot be read", folder.display());
    let mut entries = fs::read_dir(root.join(folder))
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .context(unreadable)?;
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = folder.join(entry.file_name());
        if entry.file_type().context(unreadable)?.is_dir() {
            // A folder with a manifest is a crate of its own.
            if !entry.path().join("Cargo.toml").is_file() {
                collect(root, &path, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found(path, super::read(&entry.path())?);
        }
    }
    Ok(())
}
