//! A test's own PostgreSQL, which may be stopped.

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio_postgres::NoTls;

use crate::database::Database;
use crate::ports::Port;
use crate::process::Outcome;
use crate::proxy::Proxy;
use crate::time::wait_for;

/// The maximum time for a start, or a recovery, on a busy machine.
const START: Duration = Duration::from_secs(60);

/// The place of servers' programs that are not in the `PATH`, with one folder for each version.
const PACKAGES: &str = "/usr/lib/postgresql";

/// Accounts without rights under which it runs if root runs the tests, since it refuses to run as root.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// A running PostgreSQL. When this is dropped, it is killed and its folder removed.
#[derive(Debug)]
pub struct Postgres {
    // Dropped in this order.
    server: Option<Child>,
    folder: TempDir,
    programs: PathBuf,
    /// The words before a command that run it under the right account.
    account: Vec<String>,
    port: Port,
}

impl Postgres {
    /// Starts one with default settings, so that data it confirms is not lost when it is stopped.
    pub async fn start() -> Self {
        let mut postgres = Self::in_new_folder().await;
        let mut initdb = postgres.command("initdb");
        initdb.args([
            "-D",
            "data",
            "-U",
            "postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]);
        Outcome::of(&mut initdb).await.succeeded();
        postgres.restart().await;
        postgres
    }

    /// Starts a standby of this one, which confirms commits from now on once the standby shows them.
    pub async fn standby(&self) -> Self {
        // Each by itself: they cannot run in a transaction.
        for setting in [
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
            "ALTER SYSTEM SET synchronous_commit = 'remote_apply'",
            "SELECT pg_reload_conf()",
        ] {
            self.database().execute(setting).await;
        }
        let mut standby = Self::in_new_folder().await;
        let mut copy = standby.command_of(&folder_with(&["pg_basebackup"]), "pg_basebackup");
        copy.args([
            "--pgdata=data",
            "--host=127.0.0.1",
            "--username=postgres",
            "--checkpoint=fast",
            "--wal-method=stream",
            "--write-recovery-conf",
            "--no-sync",
        ])
        .arg(format!("--port={}", self.port.number()));
        Outcome::of(&mut copy).await.succeeded();
        standby.restart().await;
        let keeps_up = "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'";
        wait_for("the standby keeps up", START, async || {
            self.database().is_true(keeps_up).await
        })
        .await;
        standby
    }

    /// Confirms commits alone from now on, and sends its standby none of them.
    pub async fn leave_behind(&self, standby: &Self) {
        for (server, setting) in [
            (self, "ALTER SYSTEM SET synchronous_standby_names = ''"),
            (self, "SELECT pg_reload_conf()"),
            // It has the settings of this one, and will confirm commits alone too.
            (standby, "ALTER SYSTEM SET synchronous_standby_names = ''"),
            (standby, "ALTER SYSTEM SET primary_conninfo = ''"),
            (standby, "SELECT pg_reload_conf()"),
        ] {
            server.database().execute(setting).await;
        }
        wait_for("the standby follows no longer", START, async || {
            let ended = "SELECT count(*) = 0 FROM pg_stat_replication";
            self.database().is_true(ended).await
        })
        .await;
    }

    /// Makes this standby the primary server.
    pub async fn promote(&self) {
        assert!(
            self.database().is_true("SELECT pg_promote()").await,
            "it is promoted in time"
        );
    }

    fn database(&self) -> Database {
        Database::at(&self.url())
    }

    async fn in_new_folder() -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        };
        let folder = tempfile::tempdir_in(place).unwrap();
        Self {
            server: None,
            account: account(folder.path()).await,
            folder,
            programs: folder_with(&["initdb", "postgres"]),
            port: Port::reserve(),
        }
    }

    /// Starts it again, and waits until it is ready.
    pub async fn restart(&mut self) {
        let log = File::options().create(true).append(true).open(self.log_file()).unwrap();
        let mut server = self.command("postgres");
        let port = self.port.number().to_string();
        server.args([
            "-D",
            "data",
            "-p",
            &port,
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
        ]);
        server
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true);
        self.server = Some(server.spawn().expect("PostgreSQL can be started"));
        let url = self.url();
        wait_for("PostgreSQL serves", START, async || {
            tokio_postgres::connect(&url, NoTls).await.is_ok()
        })
        .await;
    }

    /// Stops it as a failing machine does: nothing more is written, and every connection ends.
    pub async fn stop_at_once(&mut self) {
        let mut server = self.server.take().expect("PostgreSQL runs");
        let id = server.id().expect("PostgreSQL runs").to_string();
        Outcome::of(Command::new("kill").args(["-QUIT", &id])).await.succeeded();
        let waiting = tokio::time::timeout(START, server.wait()).await;
        waiting.expect("PostgreSQL ends in time").unwrap();
    }

    /// Returns the address of its one database.
    pub fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres", self.address())
    }

    /// Returns the same address through a proxy.
    pub fn url_through(&self, proxy: &Proxy) -> String {
        self.database().through(proxy.port())
    }

    /// Returns the host and port on which it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }

    /// Returns its log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap()
    }

    /// Returns its folder, whose folder `data` has its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a script as its account, in its folder, with its programs in the `PATH`; `psql` finds the server.
    pub async fn paste(&self, script: &str) -> Outcome {
        let line: Vec<&str> = self
            .account
            .iter()
            .map(String::as_str)
            .chain(["sh", "-exc", script])
            .collect();
        let path = std::env::var("PATH").unwrap_or_default();
        // Links to some of its programs may lie elsewhere; the others are beside their target.
        let server = self.programs.join("postgres").canonicalize().unwrap();
        let programs = server.parent().unwrap().display();
        let mut command = Command::new(line[0]);
        command
            .args(&line[1..])
            .current_dir(self.folder.path())
            .env("PATH", format!("{programs}:{path}"))
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.port.number().to_string())
            .env("PGUSER", "postgres");
        Outcome::of(&mut command).await
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    fn command(&self, program: &str) -> Command {
        self.command_of(&self.programs, program)
    }

    fn command_of(&self, folder: &Path, program: &str) -> Command {
        let program = folder.join(program).display().to_string();
        let line: Vec<&String> = self.account.iter().chain([&program]).collect();
        let mut command = Command::new(line[0]);
        command
            .args(&line[1..])
            .current_dir(self.folder.path())
            .env("LC_ALL", "C");
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Its other processes end with the first one, and may still write into the folder, which then remains.
        drop(self.server.take());
    }
}

/// Returns the folder in the `PATH`, or else of the newest server on this machine, that has these programs.
fn folder_with(names: &[&str]) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let packages = fs::read_dir(PACKAGES).into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = packages.map(|version| version.path().join("bin")).collect();
    versions.sort_by_key(|folder| {
        let version = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        std::cmp::Reverse(version.and_then(|version| version.parse::<u32>().ok()))
    });
    let has_all = |folder: &PathBuf| names.iter().all(|name| folder.join(name).is_file());
    let found = std::env::split_paths(&path).chain(versions).find(has_all);
    found.expect("the programs of PostgreSQL are in the PATH or were installed by Debian's package `postgresql`")
}

/// Returns the words before a command that run it under an allowed account; the folder is given to that account.
async fn account(folder: &Path) -> Vec<String> {
    let number = async |arguments: [&str; 2]| {
        let outcome =
            Outcome::of(Command::new("id").args(arguments.iter().filter(|argument| !argument.is_empty()))).await;
        outcome
            .status
            .success()
            .then(|| outcome.stdout.trim().parse::<u32>().unwrap())
    };
    if number(["-u", ""]).await != Some(0) {
        return Vec::new();
    }
    for name in ACCOUNTS {
        if let (Some(user), Some(group)) = (number(["-u", name]).await, number(["-g", name]).await) {
            chown(folder, Some(user), Some(group)).unwrap();
            let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
            return ["setpriv", &user, &group, "--clear-groups"].map(str::to_owned).into();
        }
    }
    panic!("PostgreSQL cannot run as root, and there is no account postgres or nobody");
}
