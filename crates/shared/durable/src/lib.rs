//! Folders and files that survive a power cut once a function has returned, readable by their owner alone.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

/// Creates a folder and its missing parents. An existing folder stays as it is.
///
/// # Errors
/// The system's error.
pub fn make_folder(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(Path::new(""));
    make_folder(parent)?;
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        // Another process that has just created it may not have made it durable yet.
        _ => sync_folder(parent),
    }
}

/// Makes the names in a folder durable; the empty path is the current folder.
///
/// # Errors
/// The system's error.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    let is_current = path.as_os_str().is_empty();
    File::open(if is_current { Path::new(".") } else { path })?.sync_all()
}

/// Creates a file for a draft, which must not exist.
///
/// # Errors
/// The system's error.
pub fn new_draft(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Creates a file in `folder`, complete or not at all. It is written under the name `draft` first; an existing file of either
/// name is never replaced.
///
/// # Errors
/// The system's error; [`io::ErrorKind::AlreadyExists`] if the name is taken.
pub fn create_file(folder: &Path, name: &str, draft: &str, content: &[u8]) -> io::Result<()> {
    make_folder(folder)?;
    let draft = folder.join(draft);
    let mut file = new_draft(&draft)?;
    let created = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        // Unlike a rename, a link fails if the name is taken.
        .and_then(|()| fs::hard_link(&draft, folder.join(name)));
    let removed = fs::remove_file(&draft);
    created.and(removed)?;
    sync_folder(folder)?;
    // Another process may have created the folder a moment ago.
    folder.parent().map_or(Ok(()), sync_folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_created_once_and_for_its_owner_only() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("not/there/yet");
        create_file(&folder, "a", ".a", b"first").unwrap();
        let again = create_file(&folder, "a", ".a", b"second").unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(folder.join("a")).unwrap(), b"first");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left behind");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("a"))), (0o700, 0o600));
        make_folder(&folder).unwrap();
        sync_folder(Path::new("")).unwrap();
    }
}
