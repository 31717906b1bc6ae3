//! Folders for work that needs much space: `scratch` in the data folder.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

const FOLDER: &str = "scratch";
/// The extension of the file that the owner of a folder holds a lock on.
const LOCK: &str = "lock";

/// A folder of this process's own, which is removed on drop. What a killed process left is removed by the next one.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    lock: PathBuf,
    /// Locked until this is dropped.
    _locked: File,
}

/// There is no room to work in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScratchError {
    /// The folder cannot be used.
    #[error("the folder {0} cannot be used")]
    Folder(PathBuf, #[source] io::Error),
    /// Its disk is too full.
    #[error(
        "{folder} has {free} bytes free, and {needed} bytes are needed: make room, or set FORECOURT_DATA_DIR to another disk"
    )]
    Full {
        /// The folder.
        folder: PathBuf,
        /// The space that is free.
        free: u64,
        /// The space that is needed.
        needed: u64,
    },
}

impl Scratch {
    /// Makes a folder with room for a database of `bytes`: 1.2 times that.
    ///
    /// # Errors
    /// [`ScratchError`].
    pub(crate) fn with_room(data_dir: &Path, bytes: u64) -> Result<Self, ScratchError> {
        let root = data_dir.join(FOLDER);
        let failed = |error| ScratchError::Folder(root.clone(), error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&root)
            .map_err(failed)?;
        sweep(&root).map_err(failed)?;
        let needed = bytes.saturating_add(bytes / 5);
        let disk = rustix::fs::statvfs(&root).map_err(|error| failed(error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < needed {
            return Err(ScratchError::Full {
                folder: root,
                free,
                needed,
            });
        }
        Self::make(&root).map_err(failed)
    }

    fn make(root: &Path) -> io::Result<Self> {
        let mut number = 0;
        loop {
            let name = format!("{}-{number}", std::process::id());
            let lock = root.join(&name).with_extension(LOCK);
            match File::create_new(&lock) {
                Ok(locked) => {
                    locked.lock()?;
                    let folder = root.join(name);
                    DirBuilder::new().mode(0o700).create(&folder)?;
                    return Ok(Self {
                        folder,
                        lock,
                        _locked: locked,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the path of a file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What remains is removed by the next process.
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_file(&self.lock);
    }
}

/// Removes the folders of processes that were killed, which hold no lock any longer.
fn sweep(root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != LOCK) {
            continue;
        }
        let Ok(lock) = File::open(&path) else { continue };
        match lock.try_lock() {
            Ok(()) => {
                let folder = path.with_extension("");
                if folder.is_dir() {
                    fs::remove_dir_all(folder)?;
                }
                fs::remove_file(path)?;
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_process_and_those_of_killed_ones_with_the_next() {
        let data_dir = tempfile::tempdir().unwrap();
        let root = data_dir.path().join(FOLDER);
        let left = root.join("1-0");
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("database.sqlite"), "x").unwrap();
        fs::write(root.join("1-0.lock"), "").unwrap();
        let scratch = Scratch::with_room(data_dir.path(), 1).unwrap();
        assert!(!left.exists());
        let file = scratch.path("a");
        fs::write(&file, "x").unwrap();
        let second = Scratch::with_room(data_dir.path(), 1).unwrap();
        assert!(file.exists(), "the folder of a running process stays");
        drop((scratch, second));
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    }

    #[test]
    fn a_full_disk_is_reported_with_both_figures() {
        let data_dir = tempfile::tempdir().unwrap();
        let refusal = Scratch::with_room(data_dir.path(), u64::MAX / 2)
            .unwrap_err()
            .to_string();
        let needed = u64::MAX / 2 + u64::MAX / 2 / 5;
        assert!(
            refusal.contains(&needed.to_string()) && refusal.contains("bytes free"),
            "{refusal}"
        );
    }
}
