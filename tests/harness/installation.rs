//! A place in which the program runs as an operator would run it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::database::{Database, Engine};
use crate::process::{Job, Outcome};
use crate::program::program;
use crate::server::Serve;
use crate::time::eventually;

/// 32 bytes in base64.
const SECRET_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// A folder, a database and a secret key. Clones are the same installation; the last one removes all of it.
#[derive(Clone, Debug)]
pub struct Installation(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    // Dropped in this order: the folder may hold the database.
    database: Database,
    folder: TempDir,
    files: AtomicU32,
    /// Settings of its own; `None` for one that is unset.
    own: Mutex<BTreeMap<String, Option<String>>>,
}

impl Installation {
    /// Makes one with an empty database.
    pub async fn new(engine: Engine) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::create(engine, folder.path()).await;
        Self::of(folder, database)
    }

    /// Makes one with the database at this address, which must be empty.
    pub fn at(database_url: &str) -> Self {
        Self::with(|_| Database::at(database_url))
    }

    /// Makes one with this database, which may be in its folder.
    pub(crate) fn with(database: impl FnOnce(&Path) -> Database) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = database(folder.path());
        Self::of(folder, database)
    }

    fn of(folder: TempDir, database: Database) -> Self {
        Self(Arc::new(Parts {
            database,
            folder,
            files: AtomicU32::new(0),
            own: Mutex::default(),
        }))
    }

    /// Makes its PostgreSQL database a template of that name, with a comment.
    pub(crate) async fn become_template(&self, template: &str, comment: &str) {
        self.0.database.become_template(template, comment).await;
    }

    /// Returns its folder, the program's working directory.
    pub fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    /// Returns the program's folder for files.
    pub fn data_dir(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// Returns its database's URL.
    pub fn database_url(&self) -> &str {
        self.0.database.url()
    }

    /// Returns the whole content of its database: SQLite's file after it was compacted, and the rows of PostgreSQL's tables. No
    /// server may run on it.
    pub async fn database_bytes(&self) -> Vec<u8> {
        self.0.database.bytes().await
    }

    /// Returns every byte that it stores: the files of its folder (database, logs, spool, content, output of the program), and
    /// the rows of a PostgreSQL database. No server may run on it.
    pub async fn every_byte(&self) -> Vec<u8> {
        let mut bytes = self.0.database.raw_rows().await;
        let mut folders = vec![self.folder().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    bytes.extend(fs::read(path).unwrap());
                }
            }
        }
        bytes
    }

    /// Returns the terms of SQLite's indexes of texts.
    pub fn search_terms(&self) -> Vec<String> {
        self.0.database.search_terms()
    }

    /// Has SQLite make a copy of its database; a server may run on it meanwhile.
    pub async fn copy_database(&self, to: &Path) {
        let (installation, to) = (self.clone(), to.to_owned());
        let copying = tokio::task::spawn_blocking(move || installation.0.database.copy(&to));
        copying.await.unwrap();
    }

    /// Returns the host and port of its database server.
    pub fn database_address(&self) -> String {
        self.0.database.address()
    }

    /// Returns its database's URL through a proxy on a local port.
    pub fn database_through(&self, port: u16) -> String {
        self.0.database.through(port)
    }

    /// Returns the settings that every command gets: none from the tests' own environment, no rate limit, no address blocking.
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        let data_dir = self.data_dir().display().to_string();
        let settings = [
            ("DATABASE_URL", self.database_url()),
            ("FORECOURT_DATA_DIR", &data_dir),
            ("FORECOURT_SECRET_KEY", SECRET_KEY),
            ("FORECOURT_RATE_LIMIT_PER_MINUTE", "0"),
            ("FORECOURT_RATE_LIMIT_PER_DAY", "0"),
            ("FORECOURT_AUTH_FAILURES_PER_MINUTE", "0"),
            // A lead only changes when the test changes it.
            ("FORECOURT_LEAD_AI", "off"),
            // The tests' PostgreSQL runs without protection from power cuts.
            ("FORECOURT_ALLOW_UNSAFE_DATABASE", "true"),
        ];
        let mut settings: BTreeMap<String, String> =
            settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        for (name, value) in &*self.0.own.lock().unwrap() {
            match value {
                Some(value) => settings.insert(name.clone(), value.clone()),
                None => settings.remove(name),
            };
        }
        settings
    }

    /// Sets an environment variable for every command and server from now on, or unsets it.
    pub fn configure(&self, name: &str, value: Option<&str>) {
        let mut own = self.0.own.lock().unwrap();
        own.insert(name.to_owned(), value.map(str::to_owned));
    }

    /// Runs statements on its PostgreSQL database.
    pub async fn execute(&self, statements: &str) {
        self.0.database.execute(statements).await;
    }

    /// Returns true if its PostgreSQL database answers a query with true.
    pub async fn is_true(&self, query: &str) -> bool {
        self.0.database.is_true(query).await
    }

    /// Runs `ALTER DATABASE` on its PostgreSQL database, by a connection to another one.
    pub async fn alter_database(&self, change: &str) {
        self.0.database.alter(change).await;
    }

    /// Ends the connections to its PostgreSQL database.
    pub async fn end_connections(&self) {
        self.0.database.end_connections().await;
    }

    /// Returns a command of the program with only these settings.
    pub(crate) fn command(&self, settings: &BTreeMap<String, String>) -> Command {
        self.command_of(program(), settings)
    }

    /// Returns a shell with the environment that the program would have.
    pub(crate) fn shell(&self, settings: &BTreeMap<String, String>) -> Command {
        self.command_of(Path::new("sh"), settings)
    }

    fn command_of(&self, program: &Path, settings: &BTreeMap<String, String>) -> Command {
        let mut command = Command::new(program);
        let ours = |name: &str| name.starts_with("FORECOURT_") || name == "DATABASE_URL";
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
            command.env_remove(name);
        }
        command.current_dir(self.folder()).envs(settings);
        command
    }

    /// Runs a command that ends by itself.
    pub async fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Outcome {
        Outcome::of(self.command(&self.settings()).args(arguments)).await
    }

    /// Runs a command that ends by itself, with these additional variables.
    pub async fn run_with<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        variables: &[(&str, &str)],
    ) -> Outcome {
        let mut command = self.command(&self.settings());
        Outcome::of(command.args(arguments).envs(variables.iter().copied())).await
    }

    /// Runs a command whose output goes into another one, by a shell; it succeeds if both do.
    pub async fn piped_into<'a>(&self, arguments: impl IntoIterator<Item = &'a str>, reader: &str) -> Outcome {
        let mut shell = self.command_of(Path::new("bash"), &self.settings());
        let script = format!("set -o pipefail; \"$@\" | {reader}");
        shell.args(["-c", &script, "bash"]).arg(program()).args(arguments);
        Outcome::of(&mut shell).await
    }

    /// Runs a command on a terminal of its own; standard output has everything that is shown there.
    pub async fn run_on_terminal<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Outcome {
        let mut line = program().display().to_string();
        for argument in arguments {
            line.push(' ');
            line.push_str(argument);
        }
        let mut terminal = self.command_of(Path::new("script"), &self.settings());
        terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        terminal.env("TERM", "xterm");
        Outcome::of(&mut terminal).await
    }

    /// Starts a command that runs until it is told to end, with these additional variables.
    pub fn start<'a>(&self, arguments: impl IntoIterator<Item = &'a str>, variables: &[(&str, &str)]) -> Job {
        let number = self.0.files.fetch_add(1, Ordering::Relaxed);
        let mut command = self.command(&self.settings());
        command.args(arguments).envs(variables.iter().copied());
        Job::start(command, &self.folder().join(format!("job-{number}")))
    }

    /// Begins a `forecourt serve`.
    pub fn serve(&self) -> Serve {
        Serve::new(self)
    }

    /// Writes a file into the folder; returns its path.
    pub fn write(&self, extension: &str, content: impl AsRef<[u8]>) -> String {
        let number = self.0.files.fetch_add(1, Ordering::Relaxed);
        let path = self.folder().join(format!("file-{number}.{extension}"));
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// Runs a command like [`run`](Self::run), again if it finds the database too busy to answer in time.
    async fn run_patiently(&self, arguments: &[&str]) -> Outcome {
        const TIMEOUT: Duration = Duration::from_secs(60);
        eventually("the database has time for a command", TIMEOUT, async || {
            let outcome = self.run(arguments.iter().copied()).await;
            let is_busy = !outcome.status.success() && outcome.stderr.contains("cannot be reached");
            if is_busy { Err(outcome) } else { Ok(outcome) }
        })
        .await
    }

    /// Runs `business apply` with a file of this content.
    pub async fn apply(&self, file: &Value) -> Outcome {
        let path = self.write("json", file.to_string());
        self.run_patiently(&["business", "apply", &path, "--json"]).await
    }

    /// Creates a business from this file.
    pub async fn business(&self, file: &Value) -> Business {
        self.apply(file).await.json();
        Business {
            installation: self.clone(),
            tag: file["tag"].as_str().expect("a business has a tag").to_owned(),
        }
    }

    /// Runs `key create` with these additional arguments.
    pub async fn key(&self, arguments: &[&str]) -> Key {
        let command = [&["key", "create", "--json"], arguments].concat();
        Key::read(self.run_patiently(&command).await.json())
    }

    /// Returns the mails sent so far, from the spool.
    pub fn mails(&self) -> Vec<String> {
        let entries = fs::read_dir(self.data_dir().join("mail")).into_iter().flatten();
        let mails = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "eml"));
        mails.map(|path| fs::read_to_string(path).unwrap()).collect()
    }
}

/// A business of an installation.
#[derive(Clone, Debug)]
pub struct Business {
    /// The installation that has it.
    pub installation: Installation,
    /// Its tag.
    pub tag: String,
}

impl Business {
    /// Applies a change of the given members to its file.
    pub async fn change(&self, mut members: Value) {
        members["tag"] = self.tag.clone().into();
        if members.get("name").is_none() {
            members["name"] = "Acme Cars".into();
        }
        self.installation.apply(&members).await.json();
    }

    /// Creates a key of this business with these scopes, comma-separated.
    pub async fn key(&self, scopes: &str) -> Key {
        self.installation
            .key(&["--business", &self.tag, "--scopes", scopes])
            .await
    }

    /// Deletes it.
    pub async fn delete(&self) {
        let delete = ["business", "delete", &self.tag, "--yes"];
        self.installation.run_patiently(&delete).await.succeeded();
    }
}

/// A key, as `key create` shows it.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its public name.
    pub id: String,
    /// The token that a client presents.
    pub token: String,
    /// The whole output of the command.
    pub json: Value,
}

impl Key {
    /// Reads the output of `key create`.
    pub(crate) fn read(json: Value) -> Self {
        let text = |member: &str| json[member].as_str().expect("a text").to_owned();
        Self {
            id: text("key_id"),
            token: text("token"),
            json,
        }
    }

    /// Returns the part of the token that must appear nowhere else.
    pub fn secret(&self) -> &str {
        self.token.split_once('.').expect("a token has two parts").1
    }
}
