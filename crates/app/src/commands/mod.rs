//! The commands of the command line, each in a module of its own.

mod backup;
mod business;
mod business_file;
mod completions;
mod doctor;
mod epoch;
mod error;
mod files;
mod health;
mod key;
mod lead;
mod listen;
mod listings;
mod manual;
mod outgoing;
mod relocate;
mod restore;
mod sample;
mod secret_key;
mod serve;
mod servers;
mod verify;

pub(crate) use error::CommandError;
pub(crate) use listen::{EventLog, LogReply};

use std::sync::Arc;

use forecourt_accounts::Business;
use forecourt_dealership::{Database, Session};
use tokio::{runtime::Runtime, task::LocalSet};

use crate::{
    cli::{Cli, Command, DoctorArgs, EpochCommand, KeyCommand},
    logging, output,
    settings::{Options, SettingError, Settings, Sources},
    system::SystemRandom,
    wiring,
};

/// The default log filter of a server: the HTTP library's own lines on its threads are left out.
const SERVER_LOG: &str = "info,actix_server=warn";
const COMMAND_LOG: &str = "warn";
const DOCTOR_LOG: &str = "off";

/// Runs the command.
///
/// # Errors
/// [`CommandError`], not reported yet.
pub(crate) fn run(cli: Cli, options: Options) -> Result<(), CommandError> {
    let Cli { config, mut command } = cli;
    match command {
        // A shell that starts has no settings to validate, nor has a machine on which the program is packaged.
        Command::Completions { shell } => return completions::run(shell),
        Command::Man { folder } => return manual::run(&folder),
        _ => {}
    }
    let settings = Settings::load(Sources {
        options,
        environment: std::env::vars_os().collect(),
        file: config,
    });
    let settings = match (settings, command) {
        (settings, Command::Doctor(args)) => return examine(settings, args),
        (settings, other) => {
            command = other;
            settings?
        }
    };
    // The operator of a server wants to see its log; with another command, its result.
    let serving = matches!(command, Command::Serve { .. });
    let _logging = logging::start(&settings, if serving { SERVER_LOG } else { COMMAND_LOG })?;
    LocalSet::new().block_on(&runtime()?, dispatch(command, settings))
}

fn runtime() -> Result<Runtime, CommandError> {
    tokio::runtime::Builder::new_multi_thread()
        // Requests are answered by threads of the HTTP server's own.
        .worker_threads(2)
        .thread_name("background")
        .enable_all()
        .build()
        .map_err(CommandError::Start)
}

/// Runs the one command that also says what is wrong with the settings.
fn examine(settings: Result<Settings, SettingError>, args: DoctorArgs) -> Result<(), CommandError> {
    let _logging = match &settings {
        // What the checks find is said by themselves.
        Ok(settings) => Some(logging::start(settings, DOCTOR_LOG)?),
        Err(_) => None,
    };
    let settings = settings.map_err(|error| output::chain(&error));
    LocalSet::new().block_on(&runtime()?, doctor::run(settings, args))
}

async fn dispatch(command: Command, settings: Settings) -> Result<(), CommandError> {
    match command {
        Command::Serve { demo } => serve::serve(&settings, demo).await,
        Command::Migrate => migrate(&settings).await,
        Command::Business(command) => business::run(&*open(&settings).await?, command).await,
        Command::Key(KeyCommand::Scopes { format }) => key::scopes(format),
        Command::Key(command) => key::run(&*open(&settings).await?, command).await,
        Command::Backup(args) => backup::run(&settings, args).await,
        Command::Verify(args) => verify::run(&settings, args).await,
        Command::Restore(args) => restore::run(&settings, args).await,
        Command::Move(args) => relocate::run(&settings, args).await,
        Command::Sample(args) => sample::run(&*open(&settings).await?, args).await,
        Command::Lead(command) => {
            let keys = settings.working_keys(&SystemRandom)?;
            lead::run(&*wiring::open_database(&settings, Some(keys)).await?, command).await
        }
        Command::Listings(command) => listings::run(&*open(&settings).await?, command).await,
        Command::Files(command) => {
            let files = wiring::files(&settings)?;
            files::run(&*open(&settings).await?, &*files, command).await
        }
        Command::Epoch(EpochCommand::Raise { format }) => epoch::raise(&settings, format).await,
        Command::Outgoing(command) => outgoing::run(&settings, command).await,
        Command::Doctor(args) => doctor::run(Ok(settings), args).await,
        Command::Health { url } => health::check(&settings, url).await,
        Command::SecretKey(command) => secret_key::run(&settings, command).await,
        Command::Servers { format } => servers::list(&settings, format).await,
        Command::Listen(args) => listen::run(args).await,
        Command::Completions { shell } => completions::run(shell),
        Command::Man { folder } => manual::run(&folder),
        Command::Openapi => Ok(output::text(&wiring::openapi(&settings)?)?),
    }
}

async fn migrate(settings: &Settings) -> Result<(), CommandError> {
    let storage = wiring::open_storage(settings).await?;
    let applied = wiring::migrate(settings, &storage).await?;
    let summary = match applied.as_slice() {
        [] => "the database is up to date".to_owned(),
        versions => format!("applied: {}", versions.join(", ")),
    };
    Ok(output::line(summary)?)
}

async fn open(settings: &Settings) -> Result<Arc<dyn Database>, CommandError> {
    Ok(wiring::open_database(settings, None).await?)
}

/// Returns the business with that tag.
///
/// # Errors
/// [`CommandError::NoBusiness`], [`CommandError::Store`].
async fn business_of_tag(session: &mut dyn Session, tag: &str) -> Result<Business, CommandError> {
    let business = session.business_by_tag(tag).await?;
    business.ok_or_else(|| CommandError::NoBusiness(tag.to_owned()))
}
