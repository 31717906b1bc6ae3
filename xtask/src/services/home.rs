//! A folder for one server, and the account under which it runs.

use std::env;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::scratch::Scratch;

/// Accounts without rights for root's servers, of which the first that exists is used. PostgreSQL refuses to run as root, and
/// no server needs to.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// A new folder owned by one server. It is removed when this is dropped.
pub(super) struct Home {
    folder: Scratch,
    account: Option<Account>,
}

struct Account {
    name: &'static str,
    uid: u32,
    gid: u32,
}

/// The medium on which a server stores its files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Medium {
    /// On the disk, with all other temporary files.
    Disk,
    /// In memory if the system has a file system there with enough room, else on the disk. A database for each test is some
    /// 1,500 files, which a disk's file system takes 120 ms of CPU time to make and remove, and one in memory 18 ms.
    Memory,
}

impl Medium {
    const IN_MEMORY: &str = "/dev/shm";
    /// The room for all databases that exist at once, and the log.
    const ROOM_KIB: u64 = 2 * 1024 * 1024;

    /// Returns the folder in which a home on it is made; `temporary` is the one on the disk.
    fn folder(self, temporary: PathBuf) -> PathBuf {
        let is_memory = self == Self::Memory && free_kib(Self::IN_MEMORY).is_some_and(|free| free >= Self::ROOM_KIB);
        if is_memory { Self::IN_MEMORY.into() } else { temporary }
    }
}

/// Returns the free room of a folder, if it exists.
fn free_kib(folder: &str) -> Option<u64> {
    let table = process::output(Command::new("df").args(["-Pk", folder])).ok()?;
    table.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

impl Home {
    pub(super) fn new(label: &str, medium: Medium) -> Result<Self> {
        if !is_root()? {
            return Ok(Self {
                folder: Scratch::new(&medium.folder(env::temp_dir()), label)?,
                account: None,
            });
        }
        let account = Account::find()?;
        // Other accounts may not have access to root's TMPDIR.
        let folder = Scratch::new(&medium.folder("/tmp".into()), label)?;
        chown(folder.path(), Some(account.uid), Some(account.gid))
            .context(|| format!("{} cannot be given to {}", folder.path().display(), account.name))?;
        Ok(Self {
            folder,
            account: Some(account),
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a shell that runs this script in this home, under its account.
    pub(super) fn shell(&self, script: &str) -> Result<Command> {
        let mut command = match &self.account {
            None => {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                command
            }
            Some(account) => account.shell(script)?,
        };
        command.current_dir(self.path());
        Ok(command)
    }
}

impl Account {
    fn find() -> Result<Self> {
        let number = |option: &str, name: &str| {
            process::output(Command::new("id").args([option, name]))
                .ok()?
                .trim()
                .parse()
                .ok()
        };
        ACCOUNTS
            .into_iter()
            .find_map(|name| {
                Some(Self {
                    name,
                    uid: number("-u", name)?,
                    gid: number("-g", name)?,
                })
            })
            .ok_or_else(|| Error::new("a server cannot run as root, and there is no account postgres or nobody"))
    }

    /// Returns a shell for the account. `setpriv` and `runuser` belong to util-linux and need neither PAM nor the account's own
    /// shell; `su` exists everywhere.
    fn shell(&self, script: &str) -> Result<Command> {
        let program = |name: &str| process::find(name).map(Command::new);
        if let Some(mut command) = program("setpriv").filter(|_| has_util_linux_setpriv()) {
            command.args([format!("--reuid={}", self.uid), format!("--regid={}", self.gid)]);
            command.args(["--clear-groups", "sh", "-c", script]);
            return Ok(command);
        }
        if let Some(mut command) = program("runuser") {
            command.args(["-u", self.name, "--", "sh", "-c", script]);
            return Ok(command);
        }
        let su: Option<PathBuf> = process::find("su");
        let mut command = su
            .map(Command::new)
            .ok_or_else(|| Error::new("none of setpriv, runuser and su is on PATH"))?;
        command.args(["-s", "/bin/sh", self.name, "-c", script]);
        Ok(command)
    }
}

/// Returns true if `setpriv` is that of util-linux: Busybox has one that can neither change the user nor tie a process to its
/// parent.
pub(crate) fn has_util_linux_setpriv() -> bool {
    process::output(Command::new("setpriv").arg("--version")).is_ok_and(|version| version.contains("util-linux"))
}

pub(super) fn is_root() -> Result<bool> {
    Ok(process::output(Command::new("id").arg("-u"))?.trim() == "0")
}
