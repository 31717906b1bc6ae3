//! `forecourt files`.

use forecourt_dealership::Database;
use forecourt_files::{FileStore, MismatchError, find_mismatches};
use forecourt_kernel::{BusinessId, Clock};
use serde::Serialize;

use super::CommandError;
use crate::{
    cli::{FilesCommand, Format},
    output,
    progress::Progress,
    system::SystemClock,
    transaction::transact,
};

/// The number of files that are compared at once.
const AT_ONCE: u32 = 500;

/// Runs a command on files.
///
/// # Errors
/// [`CommandError`].
pub(super) async fn run(
    database: &dyn Database,
    files: &dyn FileStore,
    command: FilesCommand,
) -> Result<(), CommandError> {
    let FilesCommand::Check { format } = command;
    check(database, files, format).await
}

/// The findings of a comparison of records and content.
#[derive(Debug, Default, Serialize)]
struct CheckReport {
    /// The number of files.
    files: usize,
    /// Recorded files whose content is missing.
    missing: Vec<FoundFile>,
    /// Content that no record names and that is older than a day; a running server sets it aside, if there is little of it.
    orphans: Vec<FoundFile>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct FoundFile {
    /// Business id.
    business: i64,
    /// Its name in the store.
    name: String,
}

async fn check(database: &dyn Database, files: &dyn FileStore, format: Format) -> Result<(), CommandError> {
    let known = transact::<_, CommandError>(database, async |session| Ok(session.businesses().await?)).await?;
    let mut businesses: Vec<BusinessId> = known.iter().map(|business| business.id).collect();
    businesses.extend(files.businesses().await?);
    businesses.sort();
    businesses.dedup();
    let mut report = CheckReport::default();
    let mut progress = Progress::count("files");
    for business in businesses {
        check_business(database, files, business, &mut report, &mut progress).await?;
    }
    drop(progress);
    if format.json {
        return Ok(output::json(&report)?);
    }
    for FoundFile { business, name } in &report.missing {
        output::line(format_args!("business {business}: the content of {name} is missing"))?;
    }
    for FoundFile { business, name } in &report.orphans {
        output::line(format_args!("business {business}: no record names {name}"))?;
    }
    let CheckReport {
        files,
        missing,
        orphans,
    } = report;
    Ok(output::line(format_args!(
        "{files} files, {} without content, {} without a record",
        missing.len(),
        orphans.len()
    ))?)
}

async fn check_business(
    database: &dyn Database,
    files: &dyn FileStore,
    business: BusinessId,
    report: &mut CheckReport,
    progress: &mut Progress,
) -> Result<(), CommandError> {
    let mut after = None;
    loop {
        let mut records = database.read_for(Some(business)).await?;
        let now = SystemClock.now();
        let found = find_mismatches(files, records.as_mut(), business, after.as_ref(), AT_ONCE, now).await;
        let found = found.map_err(|error| match error {
            MismatchError::Records(error) => CommandError::from(error),
            MismatchError::Content(error) => CommandError::from(error),
        })?;
        let file = |name: &dyn ToString| FoundFile {
            business: business.get(),
            name: name.to_string(),
        };
        for name in &found.missing {
            // A file deleted meanwhile is not missing.
            if records.file(business, name).await?.is_some() {
                report.missing.push(file(name));
            }
        }
        report
            .orphans
            .extend(found.orphans.iter().map(|orphan| file(&orphan.name)));
        report.files += found.compared;
        progress.reach(report.files as u64);
        after = found.next;
        if after.is_none() {
            return Ok(());
        }
    }
}
