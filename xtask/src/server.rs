//! A server for a measurement or a tour.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Context as _, Error, Result};
use crate::http::Client;
use crate::{process, services};

/// A server's process on a port of this machine. It is killed when this is dropped.
pub(crate) struct Server {
    process: Child,
    port: u16,
    ready_after: Duration,
}

impl Server {
    /// Starts it, with standard error going to `log`, and waits until `probe` is answered with 200.
    pub(crate) fn start(mut command: Command, port: u16, probe: &str, log: &Path) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let file = File::create(log).context(|| format!("{} cannot be written", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let started = Instant::now();
        let process = command.spawn().context(|| format!("{name} cannot be started"))?;
        let mut server = Self {
            process,
            port,
            ready_after: Duration::ZERO,
        };
        let client = Client {
            port,
            authorization: None,
        };
        let is_ready = || client.get(probe).is_ok_and(|answer| answer.status == 200);
        // The interval is short in comparison with the measurement, and long enough not to disturb the server.
        let interval = Duration::from_micros(200);
        process::wait_until_ready(&mut server.process, &name, log, interval, is_ready)?;
        server.ready_after = started.elapsed();
        Ok(server)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Returns the time from its start to its first answer.
    pub(crate) fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// Tells it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        process::output(Command::new("kill").args(["-s", "TERM", &self.process().to_string()]))?;
        let ended = self.process.wait();
        let ended = ended.context(|| "a server cannot be waited for".to_owned())?;
        if ended.success() {
            Ok(())
        } else {
            Err(Error::new(format!("a server that was asked to end failed ({ended})")))
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A failure is ignored: it may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a command for a server that ends with this program, however that ends: the kernel ensures it if util-linux can ask
/// it to.
pub(crate) fn tethered(program: &Path) -> Command {
    if !services::has_util_linux_setpriv() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}
