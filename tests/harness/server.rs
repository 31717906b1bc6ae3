//! A running server.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, Command};

use crate::client::Client;
use crate::installation::Installation;
use crate::ports::Port;
use crate::process::Outcome;
use crate::time::{eventually, wait_for};

/// The maximum time for a start on a busy machine.
const START: Duration = Duration::from_secs(60);
/// The maximum time for a normal end.
const END: Duration = Duration::from_secs(60);

/// A `forecourt serve` that is being configured.
#[derive(Clone, Debug)]
pub struct Serve {
    installation: Installation,
    settings: BTreeMap<String, String>,
    arguments: Vec<String>,
    survives_file_limits: bool,
}

impl Serve {
    pub(crate) fn new(installation: &Installation) -> Self {
        Self {
            installation: installation.clone(),
            settings: installation.settings(),
            arguments: vec!["serve".to_owned()],
            survives_file_limits: false,
        }
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Display) -> Self {
        self.settings.insert(name.to_owned(), format!("{value}"));
        self
    }

    /// Lets webhooks deliver to this machine, be tried again after a second, and be disabled after this number of failures in a
    /// row.
    #[must_use]
    pub fn webhooks_disabled_after(self, failures: u32) -> Self {
        self.env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "1")
            .env("FORECOURT_WEBHOOK_DISABLE_AFTER", failures)
    }

    /// Unsets an environment variable that would otherwise be set.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.settings.remove(name);
        self
    }

    /// Lets it see writing beyond [`Server::limit_files`] as an error, which would otherwise end it.
    #[must_use]
    pub fn surviving_file_limits(mut self) -> Self {
        self.survives_file_limits = true;
        self
    }

    /// Adds command-line arguments.
    #[must_use]
    pub fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.arguments.extend(arguments.into_iter().map(str::to_owned));
        self
    }

    /// Starts it and waits until it is ready.
    pub async fn start(self) -> Server {
        let server = self.launch();
        server.ready().await
    }

    /// Starts it without waiting.
    pub fn launch(mut self) -> Server {
        let (port, admin_port) = (Port::reserve(), Port::reserve());
        let mut listen = |name: &str, port: &Port| {
            let address = format!("127.0.0.1:{}", port.number());
            self.settings.entry(name.to_owned()).or_insert(address);
        };
        listen("FORECOURT_BIND", &port);
        listen("FORECOURT_ADMIN_BIND", &admin_port);
        let name = format!("server-{}", port.number());
        let folder = self.installation.folder();
        let (stdout, stderr) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.log")));
        let mut server = Server {
            setup: self,
            child: None,
            port,
            admin_port,
            stdout,
            stderr,
        };
        server.spawn();
        server
    }

    /// Starts it and expects it to refuse; returns its result.
    pub async fn refused(mut self) -> Outcome {
        // The port must be free again at once, in case it does start.
        self.settings
            .entry("FORECOURT_BIND".to_owned())
            .or_insert("127.0.0.1:0".to_owned());
        self.settings
            .entry("FORECOURT_ADMIN_BIND".to_owned())
            .or_insert("off".to_owned());
        Outcome::of(self.command().args(&self.arguments)).await
    }

    fn command(&self) -> Command {
        self.installation.command(&self.settings)
    }
}

/// A running `forecourt serve`. It is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    setup: Serve,
    child: Option<Child>,
    port: Port,
    admin_port: Port,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Server {
    fn spawn(&mut self) {
        let append = |path| File::options().create(true).append(true).open(path).unwrap();
        let mut command = self.setup.command();
        if self.setup.survives_file_limits {
            let program = command.as_std().get_program().to_owned();
            command = self.setup.installation.shell(&self.setup.settings);
            command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(program);
        }
        command
            .args(&self.setup.arguments)
            .stdin(Stdio::null())
            .stdout(append(&self.stdout))
            .stderr(append(&self.stderr))
            .kill_on_drop(true);
        self.child = Some(command.spawn().expect("the program can be started"));
    }

    /// Waits until it is ready.
    pub async fn ready(mut self) -> Self {
        self.until_ready().await;
        self
    }

    async fn until_ready(&mut self) {
        let probe = self.anonymous();
        let child = self.child.as_mut().expect("the server was started");
        eventually("the server is ready", START, async || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the server ended by itself: {status}");
            }
            match probe.request("GET", "/readyz").attempt().await {
                Ok(answer) if answer.status == 200 => Ok(()),
                Ok(answer) => Err(format!("/readyz answers {}", answer.status)),
                Err(error) => Err(error.to_string()),
            }
        })
        .await;
    }

    /// Returns the installation on which it runs.
    pub fn installation(&self) -> &Installation {
        &self.setup.installation
    }

    /// Returns `http://` and its address.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Returns the address of the API.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }

    /// Returns a client without a token.
    pub fn anonymous(&self) -> Client {
        Client::new(self.base_url(), None)
    }

    /// Returns a client that presents this token.
    pub fn client(&self, token: &str) -> Client {
        Client::new(self.base_url(), Some(token))
    }

    /// Returns a client of the administrator's listener.
    pub fn admin(&self) -> Client {
        Client::new(format!("http://127.0.0.1:{}", self.admin_port.number()), None)
    }

    /// Waits until each background job has had its first round since the start.
    pub async fn until_background_rests(&self) {
        wait_for("the background rests", START, async || {
            let metrics = self.admin().get("/metrics").await;
            let jobs = |figure: &str| metrics.text().matches(&format!("\n{figure}{{task=")).count();
            let begun = jobs("forecourt_background_failures_total");
            begun > 0 && jobs("forecourt_background_last_round_timestamp_seconds") == begun
        })
        .await;
    }

    /// Returns its standard error so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// Returns its standard output so far.
    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap_or_default()
    }

    /// Kills it without a warning.
    pub async fn kill9(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.unwrap();
        }
    }

    /// Starts it again, on the same port; one that still runs is killed.
    pub async fn restart(&mut self) {
        self.kill9().await;
        self.spawn();
        self.until_ready().await;
    }

    /// Starts it again with a setting changed.
    pub async fn restart_with(&mut self, name: &str, value: impl Display) {
        self.setup.settings.insert(name.to_owned(), format!("{value}"));
        self.restart().await;
    }

    /// Returns the bytes of its memory that do not belong to files.
    pub fn memory(&self) -> u64 {
        let id = self.child.as_ref().and_then(Child::id).expect("the server runs");
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes.expect("the system gives it in kB") * 1024
    }

    /// Returns the maximum growth of its memory in bytes while `work` runs, with the result of `work`.
    pub async fn growth<T>(&self, work: impl Future<Output = T>) -> (u64, T) {
        let before = self.memory();
        let mut most = before;
        let mut work = std::pin::pin!(work);
        loop {
            match tokio::time::timeout(Duration::from_millis(2), &mut work).await {
                Ok(done) => return (most - before, done),
                Err(_) => most = most.max(self.memory()),
            }
        }
    }

    /// Limits the length of files that it can write, or removes the limit.
    pub async fn limit_files(&self, bytes: Option<u64>) {
        let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let mut limiting = Command::new("prlimit");
        limiting.args(["--pid", &self.id(), &format!("--fsize={limit}:")]);
        Outcome::of(&mut limiting).await.succeeded();
    }

    /// Stops it at any point, until it is [thawed](Self::thaw).
    pub async fn freeze(&self) {
        Outcome::of(Command::new("kill").args(["-STOP", &self.id()]))
            .await
            .succeeded();
    }

    /// Lets it continue.
    pub async fn thaw(&self) {
        Outcome::of(Command::new("kill").args(["-CONT", &self.id()]))
            .await
            .succeeded();
    }

    /// Tells it to end.
    pub async fn ask_to_end(&self) {
        let mut kill = Command::new("kill");
        Outcome::of(kill.args(["-TERM", &self.id()])).await.succeeded();
    }

    fn id(&self) -> String {
        let id = self.child.as_ref().and_then(Child::id);
        id.expect("the server runs").to_string()
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("the server was started");
        let waiting = tokio::time::timeout(END, child.wait()).await;
        waiting.expect("the server ends in time").unwrap()
    }

    /// Tells it to end, and waits until it has.
    pub async fn terminate(&mut self) -> ExitStatus {
        self.ask_to_end().await;
        self.ended().await
    }
}

impl Drop for Server {
    #[expect(clippy::print_stderr, reason = "the test runner shows it with the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "--- log of the server on {} ---\n{}--- end ---",
                self.address(),
                self.log()
            );
        }
    }
}
