//! A server process that ends with this program.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

use super::home::{Home, Medium};
use crate::error::{Context as _, Error, Result};
use crate::process;

/// The commands of a server. `prepare` and `serve` are lines of shell that run in the server's own folder with `$PORT` and
/// `$LOCATION` set; `serve` is one simple command that stays in the foreground.
pub(super) struct Recipe<'a> {
    pub(super) label: &'a str,
    /// Its program, or the folder of its programs.
    pub(super) location: &'a Path,
    /// The medium for its data.
    pub(super) medium: Medium,
    pub(super) prepare: &'a str,
    pub(super) serve: &'a str,
    /// The signal that ends it at once; its data is not needed any longer.
    pub(super) stop: &'a str,
    /// Returns whether a server is ready on this port.
    pub(super) probe: fn(u16) -> io::Result<bool>,
}

/// A running server. Dropping it stops the server and removes its folder.
///
/// A shell, the keeper, starts the server and holds the reading end of a pipe. When the pipe's other end closes, because this
/// value was dropped or this program ended, even if it was killed, the keeper stops the server and removes the folder. That
/// needs no signal handler: the kernel closes the pipe in every case. The keeper has a process group of its own, so that Ctrl-C
/// ends this program and not the keeper.
pub(super) struct Server {
    keeper: Child,
    lifeline: Option<ChildStdin>,
    port: u16,
    /// The folder, which is removed here if a keeper ended too early.
    home: Home,
}

const LOG: &str = "server.log";

impl Server {
    /// Starts a server and waits until it is ready.
    pub(super) fn start(recipe: &Recipe<'_>) -> Result<Self> {
        const ATTEMPTS: usize = 3;
        let mut failure = None;
        // Another process may take the port before the server does.
        for _ in 0..ATTEMPTS {
            let mut server = Self::launch(recipe)?;
            match server.wait_until_ready(recipe) {
                Ok(()) => return Ok(server),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.unwrap_or_else(|| Error::new("no attempt was made")))
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder of its files.
    pub(super) fn folder(&self) -> &Path {
        self.home.path()
    }

    fn launch(recipe: &Recipe<'_>) -> Result<Self> {
        let home = Home::new(recipe.label, recipe.medium)?;
        let port = free_port()?;
        let mut keeper = home
            .shell(&keeper_script(recipe))?
            .env("LOCATION", recipe.location)
            .env("PORT", port.to_string())
            .env("FOLDER", home.path())
            .env("LC_ALL", "C")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context(|| format!("{} cannot be started", recipe.label))?;
        let lifeline = keeper.stdin.take();
        Ok(Self {
            keeper,
            lifeline,
            port,
            home,
        })
    }

    fn wait_until_ready(&mut self, recipe: &Recipe<'_>) -> Result<()> {
        let log = self.home.path().join(LOG);
        let is_ready = || (recipe.probe)(self.port).unwrap_or(false);
        process::wait_until_ready(
            &mut self.keeper,
            recipe.label,
            &log,
            Duration::from_millis(20),
            is_ready,
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // It ends when the server has; a failure to wait for a keeper is ignored.
        let _ = self.keeper.wait();
    }
}

/// Returns the script of the keeper. A background process has no standard input, so the pipe is passed on as descriptor 3. The
/// watcher ends with the server, so that it does not kill a later process with the server's id.
fn keeper_script(recipe: &Recipe<'_>) -> String {
    let Recipe {
        prepare, serve, stop, ..
    } = recipe;
    format!(
        r#"
{{ {prepare}; }} </dev/null >{LOG} 2>&1 || exit
exec 3<&0
{serve} </dev/null >>{LOG} 2>&1 3<&- &
server=$!
{{ read -r _; : >stopping; kill -s {stop} $server; }} <&3 2>/dev/null &
watcher=$!
wait $server
[ -e stopping ] || kill $watcher
wait $watcher
if [ -e stopping ]; then cd / && rm -rf "$FOLDER"; fi
"#
    )
}

/// Opens a connection for a probe, which does not wait for ever.
pub(super) fn connect(port: u16) -> io::Result<TcpStream> {
    let connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    connection.set_read_timeout(Some(Duration::from_secs(2)))?;
    Ok(connection)
}

/// Returns a port that is currently free.
pub(crate) fn free_port() -> Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .context(|| "no free port".to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::{fs, thread};

    use super::*;

    /// A recipe that serves nothing, and writes its process id to a file.
    fn idle() -> Recipe<'static> {
        Recipe {
            label: "idle",
            location: Path::new("/"),
            medium: Medium::Disk,
            prepare: "echo prepared >prepared",
            serve: r#"sh -c 'cat prepared && echo $$ >pid && exec sleep 1000'"#,
            stop: "TERM",
            probe: |_| Ok(true),
        }
    }

    fn is_running(process: &str) -> bool {
        Command::new("kill")
            .args(["-0", process])
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    }

    fn process_of(server: &Server) -> String {
        let path = server.home.path().join("pid");
        loop {
            let process = fs::read_to_string(&path).unwrap_or_default();
            if process.ends_with('\n') {
                return process.trim().to_owned();
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_dropped_server_is_gone_with_its_folder() {
        let server = Server::start(&idle()).unwrap();
        let (process, folder) = (process_of(&server), server.home.path().to_owned());
        assert!(is_running(&process));
        drop(server);
        assert!(!is_running(&process));
        assert!(!folder.exists());
    }

    #[test]
    fn the_keeper_alone_cleans_up_when_the_pipe_closes() {
        let mut server = Server::start(&idle()).unwrap();
        let (process, folder) = (process_of(&server), server.home.path().to_owned());
        // The kernel does the same for a program that was killed.
        drop(server.lifeline.take());
        server.keeper.wait().unwrap();
        assert!(!is_running(&process));
        assert!(!folder.exists());
    }

    #[track_caller]
    fn assert_fails(recipe: &Recipe<'_>, why: &str) {
        let error = Server::start(recipe).err().unwrap().to_string();
        assert_eq!(error, format!("idle does not start: {why}"));
    }

    #[test]
    fn a_server_that_ends_says_why() {
        let serve = "sh -c 'echo one; echo FATAL: two >&2; echo three'";
        assert_fails(
            &Recipe {
                serve,
                probe: |_| Ok(false),
                ..idle()
            },
            "FATAL: two",
        );
        let prepare = "echo three; exit 3";
        assert_fails(
            &Recipe {
                prepare,
                probe: |_| Ok(false),
                ..idle()
            },
            "three",
        );
    }
}
