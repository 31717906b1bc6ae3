//! Removes what a measurement leaves behind that is broken off.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{Context as _, Result};

/// Sees to it that a folder goes when this program does, also by Ctrl-C: what lies in it is large.
///
/// A shell waits for the end of a pipe, which the kernel closes however we end. It has a process group of its own, so that
/// Ctrl-C ends us and not the shell.
pub(super) struct Sweeper(Child);

impl Sweeper {
    pub(super) fn of(folder: &Path) -> Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", r#"read -r _; rm -rf "$1""#, "sh"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        shell.map(Self).context(|| "sh cannot be started".to_owned())
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // There is nothing to do about a shell that cannot be waited for.
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_folder_is_removed_when_the_pipe_closes() {
        let folder = Scratch::new(&std::env::temp_dir(), "sweeper").unwrap();
        drop(Sweeper::of(folder.path()).unwrap());
        assert!(!folder.path().exists());
    }
}
