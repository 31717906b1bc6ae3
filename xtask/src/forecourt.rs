//! Forecourt as an operator runs it: the program, its settings, and a folder for its data.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::codegen::without_settings;
use crate::error::{Context as _, Result};
use crate::process;
use crate::server::{Server, tethered};
use crate::services::free_port;

pub(crate) struct Forecourt {
    pub(crate) program: PathBuf,
    /// The folder in which its commands run.
    pub(crate) folder: PathBuf,
    /// Settings that differ from the default; none is taken from our environment.
    pub(crate) settings: Vec<(&'static str, String)>,
}

impl Forecourt {
    /// Runs a command that ends by itself; returns its output.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        process::output(self.set_up(&mut Command::new(&self.program), arguments))
    }

    /// Makes a key of a business, with all scopes.
    pub(crate) fn new_key(&self, business: &str) -> Result<String> {
        #[derive(Deserialize)]
        struct Key {
            token: String,
        }
        let key = self.run(&["key", "create", "--business", business, "--scopes", "all", "--json"])?;
        let key: Key = serde_json::from_str(&key).context(|| "the new key is not understood".to_owned())?;
        Ok(key.token)
    }

    /// Starts a server.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Result<Server> {
        self.start(tethered(&self.program), arguments)
    }

    /// Starts a server and stops it cleanly, so that the next start has nothing to repair; returns the milliseconds that the
    /// start took.
    pub(crate) fn cold_start(&self) -> Result<f64> {
        // Nothing in between may take time too.
        let server = self.start(Command::new(&self.program), &[])?;
        let took = server.ready_after().as_secs_f64() * 1e3;
        server.stop()?;
        Ok(took)
    }

    fn start(&self, mut command: Command, arguments: &[&str]) -> Result<Server> {
        let (port, admin_port) = (free_port()?, free_port()?);
        self.set_up(command.arg("serve"), arguments)
            .env("FORECOURT_BIND", format!("127.0.0.1:{port}"))
            .env("FORECOURT_ADMIN_BIND", format!("127.0.0.1:{admin_port}"));
        Server::start(command, port, "/readyz", &self.folder.join("server.log"))
    }

    fn set_up<'a>(&self, command: &'a mut Command, arguments: &[&str]) -> &'a mut Command {
        without_settings(command);
        let settings = self.settings.iter().map(|(name, value)| (name, value));
        command.args(arguments).current_dir(&self.folder).envs(settings)
    }
}
