//! The programs that are measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::workspace::Workspace;
use crate::workspace::executable;

/// The crate whose build script lays out the documentation page's files.
const DOCUMENTATION: &str = "utoipa-swagger-ui";

/// The release builds, as they are shipped.
pub(super) struct Programs {
    pub(super) forecourt: PathBuf,
    pub(super) bare: PathBuf,
    /// How many bytes of `forecourt` are files of the documentation page.
    documentation: u64,
}

impl Programs {
    pub(super) fn build(workspace: &Workspace) -> Result<Self> {
        let arguments = [
            "build",
            "--release",
            "--package",
            "forecourt",
            "--package",
            "forecourt-bare",
        ];
        eprintln!("$ cargo {}", arguments.join(" "));
        let mut cargo = workspace.cargo();
        cargo
            .args(arguments)
            .args(["--message-format", "json-render-diagnostics"]);
        let messages = process::output(cargo.stderr(Stdio::inherit()))?;
        let program = |name: &str| {
            executable(&messages, name)
                .ok_or_else(|| Error::new(format!("Cargo does not say where it put the program `{name}`")))
        };
        let documentation = build_folder(&messages, DOCUMENTATION)
            .ok_or_else(|| Error::new(format!("Cargo does not say where {DOCUMENTATION} was built")))?;
        Ok(Self {
            forecourt: program("forecourt")?,
            bare: program("forecourt-bare")?,
            documentation: embedded(&documentation)?,
        })
    }

    /// How many bytes the program has.
    pub(super) fn size(&self) -> Result<u64> {
        let file = fs::metadata(&self.forecourt).context(|| format!("{} is gone", self.forecourt.display()))?;
        Ok(file.len())
    }

    /// The same without the documentation page's files.
    pub(super) fn size_without_documentation(&self) -> Result<u64> {
        Ok(self.size()?.saturating_sub(self.documentation))
    }
}

/// Where the build script of this crate put what it made, from Cargo's messages.
fn build_folder(messages: &str, name: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct BuildScript {
        package_id: String,
        out_dir: PathBuf,
    }
    // Other messages have no such folder.
    let mut scripts = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<BuildScript>(line).ok());
    let version_of = format!("#{name}@");
    scripts
        .find(|script| script.package_id.contains(&version_of))
        .map(|script| script.out_dir)
}

/// How many bytes the files in this folder's folders have: those right in it say what the compiler embeds.
fn embedded(folder: &Path) -> Result<u64> {
    let entries = fs::read_dir(folder).context(|| format!("{} cannot be read", folder.display()))?;
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    folders.map(|entry| bytes_below(&entry.path())).sum()
}

fn bytes_below(folder: &Path) -> Result<u64> {
    let unreadable = || format!("{} cannot be read", folder.display());
    let mut bytes = 0;
    for entry in fs::read_dir(folder).context(unreadable)? {
        let entry = entry.context(unreadable)?;
        let metadata = entry.metadata().context(unreadable)?;
        bytes += if metadata.is_dir() {
            bytes_below(&entry.path())?
        } else {
            metadata.len()
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_build_folder_is_that_of_the_crate_and_of_no_namesake() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","package_id":"registry#ui@1.0.0","executable":null}"#,
            "\n",
            r#"{"reason":"build-script-executed","package_id":"registry#ui-vendored@1.0.0","out_dir":"/a"}"#,
            "\n",
            r#"{"reason":"build-script-executed","package_id":"registry#ui@1.0.0","out_dir":"/b"}"#,
        );
        assert_eq!(build_folder(messages, "ui"), Some("/b".into()));
        assert_eq!(build_folder("", "ui"), None);
    }

    #[test]
    fn embedded_files_are_those_in_folders() {
        let folder = Scratch::new(&std::env::temp_dir(), "embedded").unwrap();
        let deep = folder.path().join("ui/dist");
        fs::create_dir_all(&deep).unwrap();
        fs::write(folder.path().join("embed.rs"), "not embedded").unwrap();
        fs::write(deep.join("a.js"), "12345").unwrap();
        fs::write(deep.with_file_name("b.css"), "123").unwrap();
        assert_eq!(embedded(folder.path()).unwrap(), 8);
    }
}
