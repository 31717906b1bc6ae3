//! A folder for one server, and the account that it runs under.

use std::env;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::scratch::Scratch;

/// PostgreSQL refuses to run as root, and no server needs to: root's servers get an account without rights, the first
/// of these that exists.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// A fresh folder of which one server is the master. It is removed with this value.
pub(super) struct Home {
    folder: Scratch,
    account: Option<Account>,
}

struct Account {
    name: &'static str,
    uid: u32,
    gid: u32,
}

/// Where a server keeps its files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Medium {
    /// With all other temporary files.
    Disk,
    /// In memory where the system has a file system there with room enough, else on the disk. A database for each test is some
    /// 1,500 files, which a disk's file system takes 120 ms of CPU time to make and remove, and one in memory 18 ms.
    Memory,
}

impl Medium {
    const IN_MEMORY: &str = "/dev/shm";
    /// What all databases that exist at once and the log may take.
    const ROOM_KIB: u64 = 2 * 1024 * 1024;

    /// The folder in which a home on it is made; `temporary` is the one on the disk.
    fn folder(self, temporary: PathBuf) -> PathBuf {
        let is_memory = self == Self::Memory && free_kib(Self::IN_MEMORY).is_some_and(|free| free >= Self::ROOM_KIB);
        if is_memory { Self::IN_MEMORY.into() } else { temporary }
    }
}

/// How much room a folder has, if it exists.
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
        // Root's TMPDIR may lie where no other account can go.
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

    /// A shell that runs this script here, under this home's account.
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

    /// `setpriv` and `runuser` are util-linux's and ask nothing of PAM and the account's own shell; `su` is everywhere.
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

/// Busybox has a `setpriv` that can neither change the user nor tie a process to its parent.
pub(crate) fn has_util_linux_setpriv() -> bool {
    process::output(Command::new("setpriv").arg("--version")).is_ok_and(|version| version.contains("util-linux"))
}

pub(super) fn is_root() -> Result<bool> {
    Ok(process::output(Command::new("id").arg("-u"))?.trim() == "0")
}
