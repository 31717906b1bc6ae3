//! Recipes for tools of other languages: files of this repository that pin packages, which are installed in a folder below the
//! target folder.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::{Context as _, Result};
use crate::process;
use crate::task::Outcome;

/// The packages to install, and their source.
pub(crate) struct Recipe {
    /// The folder of its files.
    pub(crate) name: &'static str,
    pub(crate) files: &'static [&'static str],
    /// The file that pins the packages.
    pub(crate) lock: &'static str,
    /// Returns what this machine lacks, if it lacks anything.
    pub(crate) missing: fn() -> Option<&'static str>,
    /// Installs the packages into the folder.
    pub(crate) install: fn(&Path) -> Result<()>,
    /// Returns true if packages can be downloaded.
    pub(crate) is_reachable: fn(&Path) -> bool,
}

impl Recipe {
    /// Makes a recipe with npm packages. Their own scripts are not run.
    pub(crate) const fn of_node(name: &'static str, files: &'static [&'static str]) -> Self {
        Self {
            name,
            files,
            lock: "package-lock.json",
            missing: || {
                let check = "process.exit(Number(process.versions.node.split('.')[0]) < 20 ? 1 : 0)";
                lacking("npm", "node", ["--eval", check], "Node 20 or later, with npm")
            },
            install: |folder| process::run(within(folder, "npm").args(["ci", "--ignore-scripts"])),
            is_reachable: |folder| {
                process::output(within(folder, "npm").args(["view", "typescript", "version"])).is_ok()
            },
        }
    }

    /// Copies its files from `recipes` to `folder`, and installs its packages unless they are there.
    pub(crate) fn prepare(&self, recipes: &Path, folder: &Path) -> Result<Outcome> {
        if let Some(what) = (self.missing)() {
            return Ok(Outcome::Skipped(format!("{what} is not on this machine")));
        }
        fs::create_dir_all(folder).context(|| format!("{} cannot be made", folder.display()))?;
        for file in self.files {
            let (from, to) = (recipes.join(self.name).join(file), folder.join(file));
            fs::copy(&from, &to).context(|| format!("{} cannot be copied", from.display()))?;
        }
        let (lock, stamp) = (folder.join(self.lock), folder.join("installed"));
        let wanted = fs::read(&lock).context(|| format!("{} cannot be read", lock.display()))?;
        if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(Outcome::Passed);
        }
        if let Err(error) = (self.install)(folder) {
            // A recipe that cannot be followed is a fault; a registry that cannot be reached is not.
            if (self.is_reachable)(folder) {
                return Err(error);
            }
            return Ok(Outcome::Skipped(
                "the packages cannot be had, their registry is out of reach".to_owned(),
            ));
        }
        fs::write(&stamp, wanted).context(|| format!("{} cannot be written", stamp.display()))?;
        Ok(Outcome::Passed)
    }
}

/// Returns `what`, if `installer` is not on this machine or `program` fails with these arguments.
pub(crate) fn lacking<const N: usize>(
    installer: &str,
    program: &str,
    arguments: [&str; N],
    what: &'static str,
) -> Option<&'static str> {
    let is_there = process::find(installer).is_some() && process::output(Command::new(program).args(arguments)).is_ok();
    (!is_there).then_some(what)
}

/// Returns a command in `folder`.
pub(crate) fn within(folder: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_lacks_is_named() {
        assert_eq!(lacking("sh", "sh", ["-c", "exit 0"], "a shell"), None);
        assert_eq!(
            lacking("sh", "sh", ["-c", "exit 1"], "a newer shell"),
            Some("a newer shell")
        );
        assert_eq!(lacking("no-such-installer", "sh", ["-c", "exit 0"], "it"), Some("it"));
    }
}
