//! Forecourt, set up as an operator would: a database with businesses, their keys, leads and vehicles.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::Engine;
use super::options::Options;
use crate::codegen;
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::scratch::Scratch;
use crate::server::{Server, tethered};
use crate::services::{DurablePostgres, free_port};
use crate::workspace::Workspace;

/// A business. It has no address for mails: a lead that is created is a lead and an event, as it is for the yardsticks.
const BUSINESS: &str = include_str!("business.json");
/// How many businesses there are. The first has the leads and vehicles, and is the one that the bare program serves.
const BUSINESSES: usize = 16;
/// 32 bytes in base64, for a database that is thrown away.
const SECRET_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// The programs as they are shipped.
pub(super) struct Programs {
    forecourt: PathBuf,
    bare: PathBuf,
}

impl Programs {
    pub(super) fn build(workspace: &Workspace) -> Result<Self> {
        let [forecourt, bare] = workspace.build_dist(["forecourt", "forecourt-bare"])?;
        Ok(Self { forecourt, bare })
    }

    /// How many megabytes the program has.
    pub(super) fn size(&self) -> Result<f64> {
        let file = fs::metadata(&self.forecourt).context(|| format!("{} is gone", self.forecourt.display()))?;
        Ok(file.len() as f64 / 1e6)
    }
}

/// A database on one engine, and the programs that run on it.
pub(super) struct Installation<'a> {
    programs: &'a Programs,
    folder: Scratch,
    postgres: Option<DurablePostgres>,
    /// The header by which a key of each business is presented.
    pub(super) authorizations: Vec<String>,
    /// By how much the database grew with each lead that it was filled with.
    pub(super) bytes_per_lead: f64,
}

impl<'a> Installation<'a> {
    pub(super) fn new(engine: Engine, programs: &'a Programs, parent: &Path, options: &Options) -> Result<Self> {
        let mut installation = Self {
            programs,
            folder: Scratch::new(parent, "installation")?,
            postgres: match engine {
                Engine::Sqlite => None,
                Engine::Postgres => Some(DurablePostgres::start()?),
            },
            authorizations: Vec::new(),
            bytes_per_lead: 0.0,
        };
        eprintln!("{}: preparing {} leads", engine.name(), options.leads);
        // The bare program has a file of its own with the same records.
        let bare = installation.file("bare.db");
        let bare_url = format!("sqlite://{}", bare.display());
        let file_size = || Ok(fs::metadata(&bare).map_or(0.0, |file| file.len() as f64));
        installation.bytes_per_lead = installation.fill(&bare_url, options, file_size)?;
        if installation.postgres.is_some() {
            let size = || installation.query("SELECT pg_database_size(current_database())");
            installation.bytes_per_lead = installation.fill(&installation.url(), options, size)?;
            installation.psql(include_str!("sql/tables.sql"))?;
            // What the server would otherwise do some time later, in the middle of a measurement.
            for statement in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
                installation.psql(statement)?;
            }
        } else {
            fs::copy(&bare, installation.file("forecourt.db"))
                .context(|| "the database cannot be copied".to_owned())?;
        }
        installation.authorizations = (0..BUSINESSES)
            .map(|business| installation.new_key(business))
            .collect::<Result<_>>()?;
        Ok(installation)
    }

    /// Fills an empty database; returns by how many bytes it grew with each lead.
    fn fill(&self, url: &str, options: &Options, size: impl Fn() -> Result<f64>) -> Result<f64> {
        for business in 0..BUSINESSES {
            let file = self.file("business.json");
            fs::write(&file, BUSINESS.replace(r#""bench""#, &format!("{:?}", tag(business))))
                .context(|| format!("{} cannot be written", file.display()))?;
            self.forecourt(url, &["business", "apply", &file.to_string_lossy()])?;
        }
        let sample =
            |kind: &str, count: u32| self.forecourt(url, &["sample", "--business", &tag(0), kind, &count.to_string()]);
        let before = size()?;
        sample("--leads", options.leads)?;
        let growth = size()? - before;
        // Apart from the leads, which are to be the same whatever vehicles there are.
        sample("--vehicles", options.vehicles)?;
        // What a server would do in its first minutes.
        self.forecourt(url, &["listings", "rebuild", "--business", &tag(0)])?;
        Ok(growth / f64::from(options.leads))
    }

    fn new_key(&self, business: usize) -> Result<String> {
        let arguments = [
            "key",
            "create",
            "--business",
            &tag(business),
            "--scopes",
            "all",
            "--json",
        ];
        let key = self.forecourt(&self.url(), &arguments)?;
        let key: Value = serde_json::from_str(&key).context(|| "the new key is not understood".to_owned())?;
        let token = key["token"]
            .as_str()
            .ok_or_else(|| Error::new("the new key has no token"))?;
        Ok(format!("Authorization: Bearer {token}"))
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn url(&self) -> String {
        match &self.postgres {
            None => format!("sqlite://{}", self.file("forecourt.db").display()),
            Some(server) => server.url(),
        }
    }

    /// Starts `program`, which is Forecourt's.
    fn start(&self, program: Command) -> Result<Server> {
        let (port, admin_port) = (free_port()?, free_port()?);
        let mut command = self.set_up(program, &self.url());
        command
            .arg("serve")
            .env("FORECOURT_BIND", format!("127.0.0.1:{port}"))
            .env("FORECOURT_ADMIN_BIND", format!("127.0.0.1:{admin_port}"));
        Server::start(command, port, "/readyz", &self.file("server.log"))
    }

    /// Starts the server to be driven.
    pub(super) fn serve(&self) -> Result<Server> {
        self.start(tethered(&self.programs.forecourt))
    }

    /// Starts the server and stops it in order, so that the next start finds nothing to repair; returns how many milliseconds
    /// the start took.
    pub(super) fn cold_start(&self) -> Result<f64> {
        let server = self.start(Command::new(&self.programs.forecourt))?;
        let took = server.ready_after().as_secs_f64() * 1e3;
        server.stop()?;
        Ok(took)
    }

    pub(super) fn serve_bare(&self) -> Result<Server> {
        let port = free_port()?;
        let mut command = tethered(&self.programs.bare);
        command.arg(self.file("bare.db")).arg(port.to_string());
        Server::start(command, port, "/", &self.file("bare.log"))
    }

    /// Runs a command of Forecourt's that ends by itself.
    fn forecourt(&self, url: &str, arguments: &[&str]) -> Result<String> {
        process::output(self.set_up(Command::new(&self.programs.forecourt), url).args(arguments))
    }

    /// Settings as they are by default, but for the rate limit, which would end every load at once, and for webhooks, whose
    /// endpoint is on this machine.
    fn set_up(&self, mut command: Command, url: &str) -> Command {
        codegen::without_settings(&mut command);
        command
            .current_dir(self.folder.path())
            .env("DATABASE_URL", url)
            .env("FORECOURT_DATA_DIR", self.file("data"))
            .env("FORECOURT_SECRET_KEY", SECRET_KEY)
            .env("FORECOURT_RATE_LIMIT_PER_MINUTE", "0")
            .env("FORECOURT_RATE_LIMIT_PER_DAY", "0")
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", "true");
        command
    }

    /// How many bytes the database's log holds. On SQLite the file is used again from its beginning now and then.
    pub(super) fn log_bytes(&self) -> Result<f64> {
        if self.postgres.is_some() {
            return self.query("SELECT pg_current_wal_lsn() - '0/0'");
        }
        // The number of its last page stands in the shared memory, and each page has a header.
        const PAGE: f64 = 4096.0 + 24.0;
        let index = fs::read(self.file("forecourt.db-shm")).context(|| "the log's index cannot be read".to_owned())?;
        let last_page = index.get(16..20).and_then(|bytes| bytes.try_into().ok());
        let last_page = last_page.ok_or_else(|| Error::new("the log's index is too short"))?;
        Ok(f64::from(u32::from_ne_bytes(last_page)) * PAGE)
    }

    /// The one number that a query of PostgreSQL has for an answer.
    fn query(&self, sql: &str) -> Result<f64> {
        let answer = self.psql(sql)?;
        answer
            .trim()
            .parse()
            .context(|| format!("the answer to {sql} is no number"))
    }

    /// The database server's first process, where the engine has one.
    pub(super) fn database_process(&self) -> Result<Option<u32>> {
        self.postgres.as_ref().map(DurablePostgres::process).transpose()
    }

    /// The database server.
    pub(super) fn postgres(&self) -> Result<&DurablePostgres> {
        self.postgres.as_ref().ok_or_else(|| Error::new("SQLite has no server"))
    }

    pub(super) fn psql(&self, sql: &str) -> Result<String> {
        let server = self.postgres()?;
        let mut psql = Command::new(server.program("psql")?);
        psql.args([
            "--no-psqlrc",
            "--quiet",
            "--tuples-only",
            "--no-align",
            "--set=ON_ERROR_STOP=1",
        ]);
        process::output(psql.args([format!("--command={sql}"), server.url()]))
    }
}

fn tag(business: usize) -> String {
    format!("bench-{business}")
}
