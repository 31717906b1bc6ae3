//! Forecourt, set up as an operator would: a database with businesses, their keys, leads and vehicles.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Engine;
use super::options::Options;
use crate::error::{Context as _, Error, Result};
use crate::forecourt::Forecourt;
use crate::process;
use crate::scratch::Scratch;
use crate::server::{Server, tethered};
use crate::services::{DurablePostgres, free_port};

/// A business. It has no address for mails: a lead that is created is a lead and an event, as it is for the yardsticks.
const BUSINESS: &str = include_str!("business.json");
/// How many businesses there are. The first has the leads and vehicles, and is the one that the bare program serves.
pub(super) const BUSINESSES: usize = 16;
/// 32 bytes in base64, for a database that is thrown away.
const SECRET_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
/// The database's file on SQLite.
const SQLITE: &str = "forecourt.db";

/// The programs as they are shipped.
pub(super) struct Programs {
    pub(super) forecourt: PathBuf,
    pub(super) bare: PathBuf,
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
    pub(super) fn new(engine: Engine, options: &Options, programs: &'a Programs, parent: &Path) -> Result<Self> {
        let mut installation = Self {
            programs,
            folder: Scratch::new(parent, engine.name())?,
            postgres: match engine {
                Engine::Sqlite => None,
                Engine::Postgres => Some(DurablePostgres::start()?),
            },
            authorizations: Vec::new(),
            bytes_per_lead: 0.0,
        };
        eprintln!("{}: preparing {} leads", engine.name(), options.leads);
        let forecourt = installation.forecourt();
        installation.bytes_per_lead = installation.fill(&forecourt, options)?;
        // The bare program has a file of its own with the same records.
        let bare = installation.file("bare.db");
        if engine == Engine::Sqlite {
            fs::copy(installation.file(SQLITE), bare).context(|| "the database cannot be copied".to_owned())?;
        } else {
            installation.fill(&installation.forecourt_on(&sqlite_url(&bare)), options)?;
            installation.psql(include_str!("sql/tables.sql"))?;
            // What the server would otherwise do some time later, in the middle of a measurement.
            installation.psql("VACUUM (ANALYZE)")?;
            installation.psql("CHECKPOINT")?;
        }
        for business in 0..BUSINESSES {
            let token = forecourt.new_key(&tag(business))?;
            installation
                .authorizations
                .push(format!("Authorization: Bearer {token}"));
        }
        Ok(installation)
    }

    /// Fills an empty database; returns by how many bytes it grew with each lead.
    fn fill(&self, forecourt: &Forecourt, options: &Options) -> Result<f64> {
        for business in 0..BUSINESSES {
            let file = self.file("business.json");
            let text = BUSINESS.replace(r#""bench""#, &format!("{:?}", tag(business)));
            fs::write(&file, text).context(|| format!("{} cannot be written", file.display()))?;
            forecourt.run(&["business", "apply", &file.to_string_lossy()])?;
        }
        let tag = tag(0);
        let sample = |kind, count: u32| forecourt.run(&["sample", "--business", &tag, kind, &count.to_string()]);
        let before = self.database_bytes()?;
        sample("--leads", options.leads)?;
        let growth = self.database_bytes()? - before;
        // Apart from the leads, which are to be the same whatever vehicles there are.
        sample("--vehicles", options.vehicles)?;
        // What a server would do in its first minutes.
        forecourt.run(&["listings", "rebuild", "--business", &tag])?;
        Ok(growth / f64::from(options.leads))
    }

    /// Forecourt on its database.
    pub(super) fn forecourt(&self) -> Forecourt {
        match &self.postgres {
            None => self.forecourt_on(&sqlite_url(&self.file(SQLITE))),
            Some(server) => self.forecourt_on(&server.url()),
        }
    }

    fn forecourt_on(&self, database: &str) -> Forecourt {
        let settings = [
            ("DATABASE_URL", database),
            ("FORECOURT_SECRET_KEY", SECRET_KEY),
            // A limit would end every load at once.
            ("FORECOURT_RATE_LIMIT_PER_MINUTE", "0"),
            ("FORECOURT_RATE_LIMIT_PER_DAY", "0"),
            // The endpoint of webhooks is on this machine.
            ("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", "true"),
        ];
        Forecourt {
            program: self.programs.forecourt.clone(),
            folder: self.folder.path().to_owned(),
            settings: settings.map(|(name, value)| (name, value.to_owned())).into(),
        }
    }

    pub(super) fn serve_bare(&self) -> Result<Server> {
        let port = free_port()?;
        let mut command = tethered(&self.programs.bare);
        command.arg(self.file("bare.db")).arg(port.to_string());
        Server::start(command, port, "/", &self.file("bare.log"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn database_bytes(&self) -> Result<f64> {
        match &self.postgres {
            None => Ok(fs::metadata(self.file(SQLITE)).map_or(0.0, |file| file.len() as f64)),
            Some(_) => self.query("SELECT pg_database_size(current_database())"),
        }
    }

    /// How many bytes the database's log holds. On SQLite the file is used again from its beginning now and then.
    pub(super) fn log_bytes(&self) -> Result<f64> {
        if self.postgres.is_some() {
            return self.query("SELECT pg_current_wal_lsn() - '0/0'");
        }
        // The number of its last page stands in the shared memory, and each page has a header.
        const PAGE: f64 = 4096.0 + 24.0;
        let index =
            fs::read(self.file(&format!("{SQLITE}-shm"))).context(|| "the log's index cannot be read".to_owned())?;
        let last_page = index.get(16..20).and_then(|bytes| bytes.try_into().ok());
        let last_page = last_page.ok_or_else(|| Error::new("the log's index is too short"))?;
        Ok(f64::from(u32::from_ne_bytes(last_page)) * PAGE)
    }

    /// The database server.
    pub(super) fn postgres(&self) -> Result<&DurablePostgres> {
        self.postgres.as_ref().ok_or_else(|| Error::new("SQLite has no server"))
    }

    /// The database server's first process, where the engine has one.
    pub(super) fn database_process(&self) -> Result<Option<u32>> {
        self.postgres.as_ref().map(DurablePostgres::process).transpose()
    }

    /// What the database server answers to a statement.
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
        process::output(psql.args(["--command", sql, &server.url()]))
    }

    /// The one number that a query has for an answer.
    fn query(&self, sql: &str) -> Result<f64> {
        let number = self.psql(sql)?.trim().parse();
        number.context(|| format!("the answer to {sql} is no number"))
    }
}

fn sqlite_url(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

fn tag(business: usize) -> String {
    format!("bench-{business}")
}
