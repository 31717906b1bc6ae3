//! The check that the files at the database's paths are still the open ones.
//!
//! SQLite does not check. Its writes to a file that has been deleted or replaced are gone when the process ends, and its reads
//! beyond the end of a truncated one find zeros.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use forecourt_kernel::{StoreError, StoreResult};

/// The minimal size of the log's index once it is in use.
const INDEX_BYTES: u64 = 32_768;
/// The first bytes of the log without the last bit, which is the byte order of its checksums.
const LOG_MAGIC: u32 = 0x377f_0682;

/// The files of one database.
#[derive(Debug)]
pub(super) struct Identity {
    main: PathBuf,
    log: PathBuf,
    index: PathBuf,
    /// The identities of the files when they were opened.
    opened: OnceLock<[Inode; 3]>,
    /// Another handle on the main file, to read from. It stays open as long as there are connections: closing it would release
    /// their locks, which belong to the process.
    handle: OnceLock<File>,
    /// The size of the main file when it was last checked.
    size: AtomicU64,
    trouble: Mutex<Option<Trouble>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
}

/// A fault of the files.
#[derive(Clone, Debug)]
struct Trouble {
    what: String,
    /// It lasts as long as this process: truncation does, while a file that was moved away may come back.
    lasting: bool,
}

impl Identity {
    pub(super) fn new(path: &Path) -> Self {
        let beside = |suffix: &str| {
            let mut name = OsString::from(path);
            name.push(suffix);
            PathBuf::from(name)
        };
        Self {
            main: path.to_owned(),
            log: beside("-wal"),
            index: beside("-shm"),
            opened: OnceLock::new(),
            handle: OnceLock::new(),
            size: AtomicU64::new(0),
            trouble: Mutex::new(None),
        }
    }

    /// Makes the file and its folder if they are missing, readable by their owner only. If they exist, it takes the right to read
    /// from others.
    pub(super) fn prepare(&self) -> io::Result<()> {
        match fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.main)
        {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        // SQLite gives the files beside it the file's own permissions.
        for path in [&self.main, &self.log, &self.index] {
            if let Err(error) = tighten(path) {
                tracing::warn!(path = %path.display(), %error, "others can read this file of the database");
            }
        }
        Ok(())
    }

    /// Returns `true` if there is a log without its main file. SQLite would throw it away.
    pub(super) fn is_log_alone(&self) -> bool {
        let length = |path| fs::metadata(path).map_or(0, |found| found.len());
        length(&self.main) == 0 && length(&self.log) > 0
    }

    /// Returns `true` if the file has fewer pages than its header says. A file with a log may, after a crash. It has to be called
    /// before there are connections, whose locks it might release.
    pub(super) fn is_torn(&self) -> bool {
        if fs::metadata(&self.log).is_ok_and(|found| found.len() > 0) {
            return false;
        }
        // A file that cannot be read here cannot be opened either, and opening it reports why.
        File::open(&self.main)
            .and_then(|main| Ok(promised_length(&main)? > main.metadata()?.len()))
            .unwrap_or(false)
    }

    /// Takes the present files for the right ones from now on. A connection must have read before.
    pub(super) fn note(&self) -> io::Result<()> {
        let handle = File::open(&self.main)?;
        let main = handle.metadata()?;
        let inodes = [
            Inode::of(&main),
            Inode::of(&fs::metadata(&self.log)?),
            Inode::of(&fs::metadata(&self.index)?),
        ];
        self.size.store(main.len(), Ordering::Relaxed);
        self.handle.get_or_init(|| handle);
        self.opened.get_or_init(|| inodes);
        Ok(())
    }

    /// Checks that writes go to the files at the database's paths, in three system calls.
    ///
    /// # Errors
    /// `Unavailable`; the log gives the reason, once.
    pub(super) fn verify(&self) -> StoreResult<()> {
        self.report(self.look())
    }

    /// As [`verify`](Self::verify), after a commit.
    pub(super) fn verify_written(&self) -> StoreResult<()> {
        self.report(self.look().and_then(|()| self.look_at_log()))
    }

    /// Checks that reading is safe, in one system call.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub(super) fn verify_readable(&self) -> StoreResult<()> {
        // Readers have the file open, even if it was moved.
        let Some(handle) = self.handle.get() else { return Ok(()) };
        match handle.metadata() {
            Ok(found) if found.len() >= self.size.load(Ordering::Relaxed) => Ok(()),
            Ok(_) | Err(_) => self.verify(),
        }
    }

    /// The size of the log's file, parts of which may be out of use.
    pub(super) fn log_bytes(&self) -> u64 {
        fs::metadata(&self.log).map_or(0, |found| found.len())
    }

    fn look(&self) -> Result<(), Trouble> {
        let Some(opened) = self.opened.get() else {
            return Ok(());
        };
        for (path, inode) in [&self.main, &self.log, &self.index].into_iter().zip(opened) {
            let found = fs::metadata(path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => Trouble::passing(path, "was deleted or moved away"),
                _ => Trouble::passing(path, &format!("cannot be looked at: {error}")),
            })?;
            if Inode::of(&found) != *inode {
                return Err(Trouble::passing(path, "was replaced by another file"));
            }
            if *path == self.main {
                if found.len() < self.size.load(Ordering::Relaxed) && !self.is_whole(found.len()) {
                    return Err(Trouble::lasting(path, "was truncated"));
                }
                self.size.store(found.len(), Ordering::Relaxed);
            } else if *path == self.index && found.len() < INDEX_BYTES {
                return Err(Trouble::lasting(path, "was truncated"));
            }
        }
        Ok(())
    }

    /// Returns `true` if the main file has all the pages that its header says. That is so after a VACUUM, which makes it shorter.
    fn is_whole(&self, length: u64) -> bool {
        self.handle
            .get()
            .is_none_or(|handle| promised_length(handle).is_ok_and(|promised| promised <= length))
    }

    /// Checks the beginning of the log, which is missing if it was truncated and then written to. (Reading the log is harmless:
    /// no lock depends on it.)
    fn look_at_log(&self) -> Result<(), Trouble> {
        let mut beginning = [0; 4];
        let read = File::open(&self.log).and_then(|mut log| log.read_exact(&mut beginning));
        match read {
            Ok(()) if u32::from_be_bytes(beginning) & !1 == LOG_MAGIC => Ok(()),
            Ok(()) => Err(Trouble::lasting(&self.log, "was overwritten or truncated")),
            // Another process has emptied it, once everything was in the main file.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(Trouble::passing(&self.log, &format!("cannot be read: {error}"))),
        }
    }

    fn report(&self, found: Result<(), Trouble>) -> StoreResult<()> {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if !trouble.as_ref().is_some_and(|trouble| trouble.lasting) {
            match (&found, trouble.as_ref()) {
                (Err(new), before) if before.is_none_or(|before| new.lasting && !before.lasting) => {
                    let remedy = if new.lasting {
                        "stop the server, put a complete copy of the database in its place and start again"
                    } else {
                        "put the very same file back, or stop the server, put a complete copy in its place and start again"
                    };
                    tracing::error!("the database takes no more writes: {}; {remedy}", new.what);
                }
                (Ok(()), Some(_)) => tracing::info!("the files of the database are back; it takes writes again"),
                _ => {}
            }
            *trouble = found.err();
        }
        match trouble.as_ref() {
            None => Ok(()),
            Some(trouble) => Err(StoreError::Unavailable(trouble.what.clone().into())),
        }
    }
}

impl Trouble {
    fn passing(path: &Path, what: &str) -> Self {
        Self {
            what: format!("{} {what}", path.display()),
            lasting: false,
        }
    }

    fn lasting(path: &Path, what: &str) -> Self {
        Self {
            lasting: true,
            ..Self::passing(path, what)
        }
    }
}

impl Inode {
    fn of(found: &fs::Metadata) -> Self {
        Self {
            device: found.dev(),
            number: found.ino(),
        }
    }
}

/// Returns the size of a database as its header says, or 0 if the header is of no use.
fn promised_length(main: &File) -> io::Result<u64> {
    let mut header = [0; 100];
    main.read_exact_at(&mut header, 0)?;
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    // The count is right if the last program to change the file wrote it.
    if !header.starts_with(b"SQLite format 3\0") || number(24) != number(92) {
        return Ok(0);
    }
    let page_bytes = match number(16) >> 16 {
        1 => 65_536,
        bytes => bytes,
    };
    Ok(u64::from(number(28)) * u64::from(page_bytes))
}

fn tighten(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.mode() & 0o077 != 0 => {
            fs::set_permissions(path, Permissions::from_mode(0o600))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
