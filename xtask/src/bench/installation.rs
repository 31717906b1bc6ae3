//! Forecourt, set up as an operator would: a database with a business, a key, and leads.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::Engine;
use super::options::Options;
use super::pgbench;
use super::yardstick::Programs;
use crate::codegen;
use crate::error::{Context as _, Result};
use crate::process;
use crate::scratch::Scratch;
use crate::server::{Server, tethered};
use crate::services::{DurablePostgres, free_port};

/// The business. It has no address for mails: a lead that is created is a lead and an event, as it is for the yardsticks.
const BUSINESS: &str = include_str!("business.json");
const TAG: &str = "bench";
/// Another business on the same server.
const NEIGHBOUR: &str = "neighbour";
/// 32 bytes in base64, for a database that is thrown away.
const SECRET_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// Tables for pgbench to write to, with the indexes that the lists need and nothing else; and what the server would otherwise
/// do some time later, in the middle of a measurement.
const SETTLING: &str = "\
CREATE TABLE yardstick_leads (LIKE leads INCLUDING ALL);
INSERT INTO yardstick_leads SELECT * FROM leads;
SELECT setval(pg_get_serial_sequence('yardstick_leads', 'id'), (SELECT max(id) FROM leads));
CREATE SEQUENCE yardstick_reference START 100000000;
CREATE TABLE yardstick_events (LIKE events INCLUDING ALL);
CREATE SEQUENCE yardstick_sequence;
VACUUM (ANALYZE);
CHECKPOINT;
";

/// A database on one engine, and the program that it was made with.
pub(super) struct Installation<'a> {
    programs: &'a Programs,
    database: Database,
    /// What a client presents.
    token: String,
    neighbour_token: String,
    folder: Scratch,
}

/// Where the records are.
pub(super) enum Database {
    Sqlite {
        file: PathBuf,
        /// As it was when it had been filled, for the bare program.
        copy: PathBuf,
    },
    Postgres(DurablePostgres),
}

impl<'a> Installation<'a> {
    /// Sets one up with as many leads as the options say.
    pub(super) fn new(engine: Engine, programs: &'a Programs, parent: &Path, options: &Options) -> Result<Self> {
        let folder = Scratch::new(parent, "installation")?;
        let database = match engine {
            Engine::Sqlite => Database::Sqlite {
                file: folder.path().join("forecourt.db"),
                copy: folder.path().join("bare.db"),
            },
            Engine::Postgres => Database::Postgres(DurablePostgres::start()?),
        };
        let mut installation = Self {
            programs,
            database,
            token: String::new(),
            neighbour_token: String::new(),
            folder,
        };
        eprintln!("{}: preparing {} leads", engine.name(), options.leads);
        installation.fill(options)?;
        installation.token = installation.new_key(TAG)?;
        installation.neighbour_token = installation.new_key(NEIGHBOUR)?;
        installation.settle()?;
        Ok(installation)
    }

    fn fill(&self, options: &Options) -> Result<()> {
        let url = self.database.url();
        // The first one is the one that the bare program serves.
        self.apply_business(&url, TAG)?;
        self.apply_business(&url, NEIGHBOUR)?;
        self.sample(&url, "--leads", options.leads)?;
        // Apart from the leads, which are to be the same whatever vehicles there are.
        self.fill_listings(&url, options)
    }

    fn fill_listings(&self, url: &str, options: &Options) -> Result<()> {
        self.sample(url, "--vehicles", options.vehicles)?;
        // What a server would do in its first minutes.
        let mut rebuild = self.forecourt(url);
        process::output(rebuild.args(["listings", "rebuild", "--business", TAG])).map(drop)
    }

    fn apply_business(&self, url: &str, tag: &str) -> Result<()> {
        let file = self.folder().join("business.json");
        let business = BUSINESS.replace(&format!("{TAG:?}"), &format!("{tag:?}"));
        fs::write(&file, business).context(|| format!("{} cannot be written", file.display()))?;
        process::output(self.forecourt(url).args(["business", "apply"]).arg(&file)).map(drop)
    }

    fn sample(&self, url: &str, kind: &str, count: NonZeroU32) -> Result<()> {
        let mut sample = self.forecourt(url);
        process::output(sample.args(["sample", "--business", TAG, kind, &count.to_string()])).map(drop)
    }

    fn new_key(&self, business: &str) -> Result<String> {
        #[derive(Deserialize)]
        struct Key {
            token: String,
        }
        let key = ["key", "create", "--business", business, "--scopes", "all", "--json"];
        let key = process::output(self.forecourt(&self.database.url()).args(key))?;
        let key: Key = serde_json::from_str(&key).context(|| "the new key is not understood".to_owned())?;
        Ok(key.token)
    }

    /// Brings the database into the state that measurements begin with, while no process has it open.
    fn settle(&self) -> Result<()> {
        match &self.database {
            Database::Sqlite { file, copy } => {
                fs::copy(file, copy).context(|| format!("{} cannot be copied", file.display()))?;
                Ok(())
            }
            Database::Postgres(server) => pgbench::once(server, self.folder(), SETTLING),
        }
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The headers by which the business's key, and that of the other one, are presented.
    pub(super) fn authorization(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    pub(super) fn neighbour_authorization(&self) -> String {
        format!("Authorization: Bearer {}", self.neighbour_token)
    }

    /// Starts the server to be driven.
    pub(super) fn serve(&self) -> Result<Server> {
        self.start(tethered(&self.programs.forecourt))
    }

    /// Starts the server with nothing in between, for its start to be timed.
    pub(super) fn serve_at_once(&self) -> Result<Server> {
        self.start(Command::new(&self.programs.forecourt))
    }

    /// Starts the bare program on a SQLite file with the same listings: the copy, or where there is none, one made for that.
    pub(super) fn serve_bare_listings(&self, options: &Options) -> Result<Server> {
        if let Database::Sqlite { copy, .. } = &self.database {
            return self.serve_bare(copy);
        }
        let file = self.folder().join("listings.db");
        let url = format!("sqlite://{}", file.display());
        self.apply_business(&url, TAG)?;
        self.fill_listings(&url, options)?;
        self.serve_bare(&file)
    }

    /// Starts the bare program on its copy of the SQLite file.
    pub(super) fn serve_bare(&self, copy: &Path) -> Result<Server> {
        let port = free_port()?;
        let mut command = tethered(&self.programs.bare);
        command.arg(copy).arg(port.to_string());
        Server::start(command, port, "/", &self.folder().join("bare.log"))
    }

    /// A command of the program that ends by itself, on the database at `url`.
    fn forecourt(&self, url: &str) -> Command {
        self.set_up(Command::new(&self.programs.forecourt), url)
    }

    fn start(&self, program: Command) -> Result<Server> {
        let (port, admin_port) = (free_port()?, free_port()?);
        let mut command = self.set_up(program, &self.database.url());
        command
            .arg("serve")
            .env("FORECOURT_BIND", format!("127.0.0.1:{port}"))
            .env("FORECOURT_ADMIN_BIND", format!("127.0.0.1:{admin_port}"));
        Server::start(command, port, "/readyz", &self.folder().join("server.log"))
    }

    /// Settings as they are by default, but for the rate limit, which would end every load at once, and for webhooks, whose
    /// endpoint is on this machine.
    fn set_up(&self, mut command: Command, url: &str) -> Command {
        codegen::without_settings(&mut command);
        command
            .current_dir(self.folder())
            .env("DATABASE_URL", url)
            .env("FORECOURT_DATA_DIR", self.folder().join("data"))
            .env("FORECOURT_SECRET_KEY", SECRET_KEY)
            .env("FORECOURT_RATE_LIMIT_PER_MINUTE", "0")
            .env("FORECOURT_RATE_LIMIT_PER_DAY", "0")
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", "true");
        command
    }
}

impl Database {
    fn url(&self) -> String {
        match self {
            Self::Sqlite { file, .. } => format!("sqlite://{}", file.display()),
            Self::Postgres(server) => server.url(),
        }
    }

    /// The database server's own process, where there is one.
    pub(super) fn process(&self) -> Result<Option<u32>> {
        match self {
            Self::Sqlite { .. } => Ok(None),
            Self::Postgres(server) => server.process().map(Some),
        }
    }
}
