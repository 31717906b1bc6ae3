//! An installation of Forecourt as an operator would make it: a database with businesses, their keys, leads and vehicles.

use std::fs;
use std::path::{Path, PathBuf};

use super::Engine;
use super::database::Database;
use super::options::Options;
use crate::error::{Context as _, Result};
use crate::forecourt::Forecourt;
use crate::scratch::Scratch;
use crate::server::{Server, tethered};
use crate::services::{DurablePostgres, free_port};

/// A business. It has no address for mails, so that creating a lead stores a lead and an event, as it does for the yardsticks.
const BUSINESS: &str = include_str!("business.json");
/// The number of businesses. The first has the leads and vehicles, and is the one that the bare program serves.
pub(super) const BUSINESSES: usize = 16;
/// 32 bytes in base64, for a database that is thrown away.
const SECRET_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// The programs as they are shipped.
pub(super) struct Programs {
    pub(super) forecourt: PathBuf,
    pub(super) bare: PathBuf,
}

/// A database on one engine, and Forecourt on it.
pub(super) struct Installation {
    pub(super) forecourt: Forecourt,
    pub(super) database: Database,
    /// The header that presents a key of each business.
    pub(super) authorizations: Vec<String>,
    /// The bytes by which the database grew for each lead that it was filled with.
    pub(super) bytes_per_lead: f64,
    /// The bare program's own file, with the same records.
    pub(super) bare: PathBuf,
    /// Removed at the end.
    _folder: Scratch,
}

impl Installation {
    pub(super) fn new(engine: Engine, options: &Options, programs: &Programs, parent: &Path) -> Result<Self> {
        eprintln!("{}: preparing {} leads", engine.name(), options.leads);
        let folder = Scratch::new(parent, "installation")?;
        let forecourt_on = |database: &Database| Forecourt {
            program: programs.forecourt.clone(),
            folder: folder.path().to_owned(),
            settings: settings(database),
        };
        let bare = folder.path().join("bare.db");
        let database = match engine {
            Engine::Sqlite => Database::Sqlite(folder.path().join("forecourt.db")),
            Engine::Postgres => Database::Postgres(DurablePostgres::start()?),
        };
        let bytes_per_lead = fill(&forecourt_on(&database), &database, options)?;
        match &database {
            Database::Sqlite(file) => {
                fs::copy(file, &bare).context(|| "the database cannot be copied".to_owned())?;
            }
            Database::Postgres(server) => {
                let bare = Database::Sqlite(bare.clone());
                fill(&forecourt_on(&bare), &bare, options)?;
                server.execute(include_str!("sql/tables.sql"))?;
                // The server would otherwise do this some time later, in the middle of a measurement.
                server.execute("VACUUM (ANALYZE)")?;
                server.execute("CHECKPOINT")?;
            }
        }
        let forecourt = forecourt_on(&database);
        let keys = (0..BUSINESSES).map(|business| forecourt.new_key(&tag(business)));
        let authorizations = keys.map(|key| Ok(format!("Authorization: Bearer {}", key?)));
        Ok(Self {
            authorizations: authorizations.collect::<Result<_>>()?,
            forecourt,
            database,
            bytes_per_lead,
            bare,
            _folder: folder,
        })
    }

    pub(super) fn serve_bare(&self, program: &Path) -> Result<Server> {
        let port = free_port()?;
        let mut command = tethered(program);
        command.arg(&self.bare).arg(port.to_string());
        Server::start(command, port, "/", &self.bare.with_extension("log"))
    }
}

/// Returns the settings that differ from the default.
fn settings(database: &Database) -> Vec<(&'static str, String)> {
    vec![
        ("DATABASE_URL", database.url()),
        ("FORECOURT_SECRET_KEY", SECRET_KEY.to_owned()),
        // The limit would end every load at once.
        ("FORECOURT_RATE_LIMIT_PER_MINUTE", "0".to_owned()),
        ("FORECOURT_RATE_LIMIT_PER_DAY", "0".to_owned()),
        // The endpoint of webhooks is on this machine.
        ("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", "true".to_owned()),
    ]
}

/// Fills an empty database; returns the bytes by which it grew for each lead.
fn fill(forecourt: &Forecourt, database: &Database, options: &Options) -> Result<f64> {
    for business in 0..BUSINESSES {
        let file = forecourt.folder.join("business.json");
        let text = BUSINESS.replace(r#""bench""#, &format!("{:?}", tag(business)));
        fs::write(&file, text).context(|| format!("{} cannot be written", file.display()))?;
        forecourt.run(&["business", "apply", "business.json"])?;
    }
    let tag = tag(0);
    let sample = |kind, count: u32| forecourt.run(&["sample", "--business", &tag, kind, &count.to_string()]);
    let before = database.bytes()?;
    sample("--leads", options.leads)?;
    let growth = database.bytes()? - before;
    // These are made apart from the leads, which must be the same whatever vehicles there are.
    sample("--vehicles", options.vehicles)?;
    // A server would do this in its first minutes.
    forecourt.run(&["listings", "rebuild", "--business", &tag])?;
    Ok(growth / f64::from(options.leads))
}

fn tag(business: usize) -> String {
    format!("bench-{business}")
}
