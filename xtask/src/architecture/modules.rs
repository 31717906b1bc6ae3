//! The files of a crate that the compiler reads. It does not report a file that no module declares, which a merge can restore.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Context as _, Result};

/// Returns the files that are compiled for a crate's targets: their roots, and the modules that these declare in files of their
/// own.
pub(super) fn compiled<'a>(roots: impl IntoIterator<Item = &'a Path>) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for root in roots {
        follow(root, true, &mut files);
    }
    files
}

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

/// Returns the name in `mod name;`, with or without a visibility.
fn module(line: &str) -> Option<&str> {
    let (before, name) = line.strip_suffix(';')?.rsplit_once(' ')?;
    (before == "mod" || before.starts_with("pub") && before.ends_with(" mod")).then_some(name)
}

/// Returns all Rust files of the crate in a folder.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = || format!("{} cannot be read", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).context(unreadable)? {
        let path = entry.context(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        } else if path.is_dir() && !path.join("Cargo.toml").is_file() {
            // A folder with a manifest is a crate of its own.
            files.extend(self::files(&path)?);
        }
    }
    Ok(files)
}
