//! `forecourt restore`.

use super::{CommandError, verify::place};
use crate::{
    backup::{BackupError, RestoreReport, restore},
    cli::RestoreArgs,
    output,
    settings::Settings,
};

/// Restores a backup into the empty database and file store of the settings.
///
/// # Errors
/// [`CommandError`]; [`CommandError::NotInOrder`] if files are missing.
pub(super) async fn run(settings: &Settings, args: RestoreArgs) -> Result<(), CommandError> {
    let backup = place(args.source)?.open().await.map_err(BackupError::from)?;
    let report = restore(&backup, settings, args.as_copy, true).await?;
    if args.format.json {
        output::json(&report)?;
    } else {
        print(&report)?;
    }
    if let Some(owner) = &report.claimed {
        output::notice(&format!(
            "the store of files belongs to the installation {owner}: no stray file is removed there until .installation is deleted"
        ));
    }
    if report.lacks_key {
        output::notice("no secret key is set: servers need the one that the backup was made with");
    }
    for path in &report.missing {
        output::notice(&format!("the content of the file {path} is missing"));
    }
    if report.missing.is_empty() {
        Ok(())
    } else {
        Err(CommandError::NotInOrder)
    }
}

fn print(report: &RestoreReport) -> Result<(), CommandError> {
    let RestoreReport {
        backup,
        epoch,
        rows,
        files,
        businesses,
        disarmed,
        ..
    } = report;
    output::line(format_args!(
        "restored backup {backup}: {rows} rows and {files} files, epoch {epoch}"
    ))?;
    for business in businesses {
        output::line(business.line())?;
    }
    output::line("later numbers may have been given out since the backup, and are given out again")?;
    if let Some([keys, webhooks, mails]) = disarmed {
        output::line(format_args!(
            "made a copy: a new installation, {keys} keys revoked, {webhooks} webhooks disabled, {mails} waiting mails dropped"
        ))?;
    }
    Ok(output::line(
        "outgoing is held: no webhook, mail or request to a model leaves until `forecourt outgoing release`",
    )?)
}
