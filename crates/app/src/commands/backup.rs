//! `forecourt backup`.

use forecourt_archive::{FileMode, Listed, VerifyLevel};
use forecourt_file_store::{FileLocation, ObjectFileStore};
use forecourt_kernel::Clock;
use serde::Serialize;

use super::CommandError;
use crate::{
    backup::{BackupError, BackupUrl, TakeReport, Taking, Target, take},
    cli::{BackupArgs, BackupCommand, Format},
    output,
    settings::Settings,
    system::SystemClock,
    wiring,
};

/// The advice to a program without encryption.
pub(super) const NO_ENCRYPTION: &str = "this program has no encryption built in: pipe an archive through age(1), as in \
    `forecourt backup --output - | age -r age1… > backup.tar.age`";

/// Runs a command on backups.
///
/// # Errors
/// [`CommandError`].
pub(super) async fn run(settings: &Settings, args: BackupArgs) -> Result<(), CommandError> {
    match args.command {
        Some(BackupCommand::List { from, format }) => list(&from, format).await,
        Some(BackupCommand::Prune { from, keep, format }) => {
            let pruned = from
                .repository()
                .map_err(BackupError::from)?
                .prune(&keep, SystemClock.now())
                .await;
            let pruned = pruned.map_err(BackupError::from)?;
            let removed: Vec<String> = pruned.removed.iter().map(ToString::to_string).collect();
            let kept: Vec<String> = pruned.kept.iter().map(ToString::to_string).collect();
            if format.json {
                let (removed, kept, files) = (removed, kept, pruned.files);
                return Ok(output::json(&PruneDocument { removed, kept, files })?);
            }
            for stamp in &removed {
                output::line(format_args!("removed {stamp}"))?;
            }
            Ok(output::line(format_args!(
                "{} backups removed, {} kept, {} files removed",
                removed.len(),
                kept.len(),
                pruned.files
            ))?)
        }
        None => take_one(settings, args).await,
    }
}

#[derive(Serialize)]
struct PruneDocument {
    removed: Vec<String>,
    kept: Vec<String>,
    files: u64,
}

/// A backup of a list.
#[derive(Serialize)]
struct ListDocument {
    stamp: String,
    engine: Option<String>,
    schema: Option<String>,
    rows: Option<u64>,
    bytes: Option<u64>,
    verified: Option<forecourt_archive::Verification>,
}

impl From<Listed> for ListDocument {
    fn from(listed: Listed) -> Self {
        let Listed {
            stamp,
            manifest,
            verified,
        } = listed;
        Self {
            stamp: stamp.to_string(),
            engine: manifest.as_ref().map(|manifest| manifest.engine.clone()),
            schema: manifest.as_ref().map(|manifest| manifest.schema.clone()),
            rows: manifest.as_ref().map(forecourt_archive::Manifest::rows),
            bytes: manifest
                .as_ref()
                .map(|manifest| manifest.database.bytes + manifest.files.bytes),
            verified,
        }
    }
}

async fn list(from: &BackupUrl, format: Format) -> Result<(), CommandError> {
    let listed = from
        .repository()
        .map_err(BackupError::from)?
        .list()
        .await
        .map_err(BackupError::from)?;
    let listed: Vec<ListDocument> = listed.into_iter().map(ListDocument::from).collect();
    if format.json {
        return Ok(output::json(&listed)?);
    }
    let cell = |text: Option<String>| text.unwrap_or_else(|| "?".to_owned());
    let rows: Vec<[String; 6]> = listed
        .into_iter()
        .map(|backup| {
            let verified = backup.verified.map_or_else(
                || "no".to_owned(),
                |verified| {
                    let at =
                        forecourt_archive::Stamp::new(forecourt_kernel::Timestamp::from_epoch_seconds(verified.at));
                    let outcome = if verified.ok { "" } else { ", with faults" };
                    format!("{at} {}{outcome}", verified.how.name())
                },
            );
            [
                backup.stamp,
                cell(backup.engine),
                cell(backup.schema),
                cell(backup.rows.map(|rows| rows.to_string())),
                cell(backup.bytes.map(|bytes| bytes.to_string())),
                verified,
            ]
        })
        .collect();
    Ok(output::table(
        ["STAMP", "ENGINE", "SCHEMA", "ROWS", "BYTES", "VERIFIED"],
        &rows,
    )?)
}

async fn take_one(settings: &Settings, args: BackupArgs) -> Result<(), CommandError> {
    if args.include_key && args.recipient.is_empty() {
        return Err(
            BackupError::Usage("--include-key needs a --recipient: the key must not lie open".to_owned()).into(),
        );
    }
    if !args.recipient.is_empty() {
        return Err(BackupError::Usage(NO_ENCRYPTION.to_owned()).into());
    }
    let is_stdout = args.output.as_ref().is_some_and(|path| path.as_os_str() == "-");
    let target = match (args.to, args.output) {
        (Some(url), _) => Target::Repository(url.repository().map_err(BackupError::from)?),
        (None, Some(_)) if is_stdout => Target::Stdout,
        (None, Some(path)) => Target::File(path),
        (None, None) => return Err(BackupError::Usage("name the target: --to or --output".to_owned()).into()),
    };
    let storage = wiring::open_existing(settings).await?;
    let verify = Some(VerifyLevel::Quick).filter(|_| !is_stdout);
    let report = take(taking(settings, storage, args.files, verify, true)?, target).await?;
    print(&report, args.format, is_stdout)?;
    if report.missing.is_empty() {
        return Ok(());
    }
    for path in &report.missing {
        output::notice(&format!("the content of the file {path} is missing"));
    }
    Err(CommandError::NotInOrder)
}

/// Returns the parts that every backup of this installation needs.
///
/// # Errors
/// [`BackupError`].
fn taking(
    settings: &Settings,
    storage: forecourt_storage::Storage,
    mode: Option<FileMode>,
    verify: Option<VerifyLevel>,
    shown: bool,
) -> Result<Taking<'_>, BackupError> {
    let location = settings.files_location();
    let default = match location {
        FileLocation::Folder(_) => FileMode::All,
        FileLocation::Bucket { .. } => FileMode::Reference,
    };
    let is_postgres = settings.database_url.is_postgres();
    Ok(Taking {
        storage,
        engine: if is_postgres { "postgres" } else { "sqlite" },
        files: ObjectFileStore::blobs(&location)?,
        mode: mode.unwrap_or(default),
        key: settings.known_secret_key()?,
        data_dir: &settings.data_dir,
        verify,
        shown,
    })
}

/// Prints the report; beside an archive on standard output it goes to standard error.
fn print(report: &TakeReport, format: Format, is_stdout: bool) -> Result<(), CommandError> {
    let line = if format.json {
        serde_json::to_string(report).map_err(output::OutputError::Json)?
    } else {
        let verified = report
            .verified
            .map_or_else(String::new, |level| format!(", verified ({})", level.name()));
        format!(
            "backup {}: {} rows and {} files ({} of them new), {} bytes in {:.1} s{verified}",
            report.stamp, report.rows, report.files, report.new_files, report.bytes, report.seconds
        )
    };
    if is_stdout {
        output::notice(&line);
        return Ok(());
    }
    Ok(output::line(line)?)
}
