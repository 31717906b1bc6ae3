//! `forecourt verify`.

use forecourt_archive::{Verification, VerifyLevel};
use forecourt_file_store::ObjectFileStore;
use forecourt_kernel::Clock;

use super::{CommandError, backup::NO_ENCRYPTION};
use crate::{
    backup::{BackupError, Place, VerifyReport, Verifying, verify},
    cli::{SourceArgs, VerifyArgs},
    output,
    settings::Settings,
    system::SystemClock,
};

/// Returns the backup that a command line names.
///
/// # Errors
/// [`BackupError::Usage`].
pub(super) fn place(source: SourceArgs) -> Result<Place, BackupError> {
    if source.identity.is_some() {
        return Err(BackupError::Usage(format!(
            "{NO_ENCRYPTION}; and decrypt it with `age -d -i FILE backup.tar.age > backup.tar`"
        )));
    }
    match (source.file, source.from) {
        (Some(file), None) => Ok(Place::File(file)),
        (None, Some(url)) => Ok(Place::Repository(url, source.backup)),
        _ => Err(BackupError::Usage("name the backup: a FILE, or --from".to_owned())),
    }
}

/// Verifies a backup.
///
/// # Errors
/// [`CommandError`]; [`CommandError::NotInOrder`] if it has faults.
pub(super) async fn run(settings: &Settings, args: VerifyArgs) -> Result<(), CommandError> {
    let place = place(args.source)?;
    let backup = place.open().await.map_err(BackupError::from)?;
    let level = if args.quick {
        VerifyLevel::Quick
    } else {
        VerifyLevel::Full
    };
    let verifying = Verifying {
        backup: &backup,
        level,
        key: settings.known_secret_key().map_err(BackupError::from)?,
        files: ObjectFileStore::blobs(&settings.files_location())?,
        data_dir: &settings.data_dir,
        shown: true,
    };
    let report = verify(verifying).await?;
    if let Place::Repository(url, _) = &place {
        let verification = Verification {
            ok: report.ok,
            how: level,
            at: SystemClock.now().epoch_seconds(),
        };
        let repository = url.repository().map_err(BackupError::from)?;
        if let Err(error) = repository.note(backup.stamp(), verification).await {
            output::notice(&format!("the verification cannot be noted: {}", output::chain(&error)));
        }
    }
    print(&report, level, args.format.json)?;
    if report.ok {
        Ok(())
    } else {
        Err(CommandError::NotInOrder)
    }
}

fn print(report: &VerifyReport, level: VerifyLevel, json: bool) -> Result<(), CommandError> {
    if json {
        return Ok(output::json(report)?);
    }
    for fault in &report.faults {
        output::line(format_args!("{} ({}): {}", fault.what, fault.place, fault.found))?;
    }
    if !report.skipped.is_empty() {
        output::line(format_args!("not looked at: {}", report.skipped.join("; ")))?;
    }
    let outcome = match report.faults.len() {
        0 => "no faults".to_owned(),
        1 => "1 fault".to_owned(),
        faults => format!("{faults} faults"),
    };
    Ok(output::line(format_args!(
        "backup {}: {outcome} ({})",
        report.backup,
        level.name()
    ))?)
}
