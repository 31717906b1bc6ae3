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

/// How long a start may take on a busy machine.
const START: Duration = Duration::from_secs(60);
/// How long an orderly end may take.
const END: Duration = Duration::from_secs(60);

/// A `forecourt serve` that is being set up.
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

    /// Lets webhooks deliver to this machine, try again after a second, and be disabled after so many failures in a row.
    #[must_use]
    pub fn webhooks_disabled_after(self, failures: u32) -> Self {
        self.env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "1")
            .env("FORECOURT_WEBHOOK_DISABLE_AFTER", failures)
    }

    /// Leaves an environment variable unset that otherwise would be set.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.settings.remove(name);
        self
    }

    /// Lets it see as an error what else would end it: writing beyond [`Server::limit_files`].
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

    /// Starts it where it must refuse to; yields what it left.
    pub async fn refused(mut self) -> Outcome {
        // A port that is free again at once, for the case that it does start.
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

/// A running `forecourt serve`. It is killed with this value.
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

    /// Where it runs.
    pub fn installation(&self) -> &Installation {
        &self.setup.installation
    }

    /// `http://` and its address.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The address of the API.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }

    /// A client without a token.
    pub fn anonymous(&self) -> Client {
        Client::new(self.base_url(), None)
    }

    /// A client that presents this token.
    pub fn client(&self, token: &str) -> Client {
        Client::new(self.base_url(), Some(token))
    }

    /// A client of the administrator's listener.
    pub fn admin(&self) -> Client {
        Client::new(format!("http://127.0.0.1:{}", self.admin_port.number()), None)
    }

    /// Waits until each job in the background has had its first round since the start.
    pub async fn until_background_rests(&self) {
        wait_for("the background rests", START, async || {
            let metrics = self.admin().get("/metrics").await;
            let jobs = |figure: &str| metrics.text().matches(&format!("\n{figure}{{task=")).count();
            let begun = jobs("forecourt_background_failures_total");
            begun > 0 && jobs("forecourt_background_last_round_timestamp_seconds") == begun
        })
        .await;
    }

    /// What it has written to standard error so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// What it has written to standard output so far.
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

    /// How many bytes of memory it has that are no file's.
    pub fn memory(&self) -> u64 {
        let id = self.child.as_ref().and_then(Child::id).expect("the server runs");
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes.expect("the system gives it in kB") * 1024
    }

    /// By how many bytes its memory grows at most while `work` lasts, with what came of that.
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

    /// Lets it make no file longer than this, or as long as it likes.
    pub async fn limit_files(&self, bytes: Option<u64>) {
        let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let mut limiting = Command::new("prlimit");
        limiting.args(["--pid", &self.id(), &format!("--fsize={limit}:")]);
        Outcome::of(&mut limiting).await.succeeded();
    }

    /// Stops it in the midst of whatever it does, until it is [thawed](Self::thaw).
    pub async fn freeze(&self) {
        Outcome::of(Command::new("kill").args(["-STOP", &self.id()]))
            .await
            .succeeded();
    }

    /// Lets it go on.
    pub async fn thaw(&self) {
        Outcome::of(Command::new("kill").args(["-CONT", &self.id()]))
            .await
            .succeeded();
    }

    /// Asks it to end.
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

    /// Asks it to end, and waits until it has.
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
