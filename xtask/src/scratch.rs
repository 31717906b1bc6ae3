//! Folders that exist as long as the value that owns them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Context as _, Result};

/// A new folder that only its owner can enter; it is removed when this is dropped.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a folder in `parent`. The creation claims the name, so two programs never share one.
    pub(crate) fn new(parent: &Path, label: &str) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let name = format!(
                "forecourt-{label}-{}-{}",
                process::id(),
                NEXT.fetch_add(1, Ordering::Relaxed)
            );
            let path = parent.join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).context(|| format!("{} cannot be made", path.display())),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may be gone already, and a failure to remove it does not matter.
        let _ = fs::remove_dir_all(&self.path);
    }
}
