//! `forecourt business`.

use std::{
    io::{self, BufRead, IsTerminal, Write},
    path::Path,
};

use forecourt_accounts::{Business, BusinessFile, InvalidBusinessFile};
use forecourt_dealership::{Database, DeletionKind, OpenDeletion};
use forecourt_kernel::{Clock, StoreError, Timestamp};
use forecourt_vehicles::{VehicleError, leave_channel};
use serde::Serialize;

use super::{
    CommandError,
    business_file::{self, BusinessDocument, FileError},
    business_of_tag,
};
use crate::{
    cli::{BusinessCommand, Format},
    mail_kinds::mail_kinds,
    output,
    progress::Progress,
    system::SystemClock,
    transaction::transact,
};

/// Runs a command on businesses.
///
/// # Errors
/// [`CommandError`].
pub(super) async fn run(database: &dyn Database, command: BusinessCommand) -> Result<(), CommandError> {
    match command {
        BusinessCommand::Apply { file, format } => apply_file(database, &file, format).await,
        BusinessCommand::List { format } => list(database, format).await,
        BusinessCommand::Delete { tag, yes, format } => {
            if !yes {
                confirm(&tag)?;
            }
            delete(database, &tag, format).await
        }
    }
}

/// The outcome of applying a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Applied {
    /// There was no business with that tag.
    Created,
    /// There was one with other data.
    Updated,
    /// There was one with the same data.
    Unchanged,
}

impl Applied {
    const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
        }
    }
}

/// A business with the outcome.
#[derive(Serialize)]
struct AppliedDocument<'a> {
    result: Applied,
    #[serde(flatten)]
    business: BusinessDocument<'a>,
}

async fn apply_file(database: &dyn Database, path: &Path, format: Format) -> Result<(), CommandError> {
    let file = business_file::read(path)?;
    let (business, result) = apply(database, &file, SystemClock.now(), path).await?;
    if format.json {
        let business = BusinessDocument::from(&business);
        return Ok(output::json(&AppliedDocument { result, business })?);
    }
    let Business { id, tag, name, .. } = &business;
    Ok(output::line(format_args!(
        "{}: {name} ({tag}), business {id}",
        result.name()
    ))?)
}

/// Creates the business that the file declares, or changes the stored one with its tag. `path` is the file's path.
///
/// # Errors
/// [`CommandError::File`] if the file is invalid; [`CommandError::Store`].
pub(crate) async fn apply(
    database: &dyn Database,
    file: &BusinessFile,
    now: Timestamp,
    path: &Path,
) -> Result<(Business, Applied), CommandError> {
    let invalid = |source: InvalidBusinessFile| FileError::Invalid {
        file: path.to_owned(),
        source,
    };
    // A channel that returns begins empty, even if the command that dropped it was interrupted.
    let stored = transact::<_, CommandError>(database, async |session| Ok(session.business_by_tag(&file.tag).await?));
    if let Some(stored) = stored.await? {
        leave_former_channels(database, &stored).await?;
    }
    let (business, result) = transact(database, async |session| {
        let stored = session.business_by_tag(&file.tag).await?;
        let mut business = file
            .clone()
            .apply(stored.as_ref(), &mail_kinds(), now)
            .map_err(invalid)?;
        let result = match stored {
            None => {
                business.id = session.insert_business(&business).await?;
                Applied::Created
            }
            Some(stored) if stored == business => Applied::Unchanged,
            Some(_) => {
                session.update_business(&business).await?;
                Applied::Updated
            }
        };
        Ok::<_, CommandError>((business, result))
    })
    .await?;
    leave_former_channels(database, &business).await?;
    Ok((business, result))
}

/// Takes the vehicles off the channels that the business no longer has, in small transactions between which other writers can
/// work.
async fn leave_former_channels(database: &dyn Database, business: &Business) -> Result<(), CommandError> {
    for channel in &business.catalogue.former_channels {
        while transact::<_, CommandError>(database, async |session| {
            let left = leave_channel(session, &SystemClock, business, channel).await;
            left.map_err(|error| match error {
                VehicleError::Store(error) => CommandError::Store(error),
                error => CommandError::Store(StoreError::Other(error.into())),
            })
        })
        .await?
        {}
    }
    Ok(())
}

async fn list(database: &dyn Database, format: Format) -> Result<(), CommandError> {
    let businesses = transact::<_, CommandError>(database, async |session| Ok(session.businesses().await?)).await?;
    if format.json {
        let documents: Vec<_> = businesses.iter().map(BusinessDocument::from).collect();
        return Ok(output::json(&documents)?);
    }
    let rows: Vec<_> = businesses
        .iter()
        .map(|business| {
            let document = BusinessDocument::from(business);
            let [state, plan] = document.state_and_plan();
            [
                business.id.to_string(),
                business.tag.clone(),
                business.name.clone(),
                state,
                plan,
            ]
        })
        .collect();
    Ok(output::table(["ID", "TAG", "NAME", "STATE", "PLAN"], &rows)?)
}

/// Asks the operator at the terminal to type the tag of the business to be deleted.
fn confirm(tag: &str) -> Result<(), CommandError> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Err(CommandError::Unconfirmed(tag.to_owned()));
    }
    // If the question cannot be shown, the answer will not be the tag.
    let _ = write!(
        io::stderr(),
        "This deletes the business {tag} and all that it owns. Type its tag to confirm: "
    );
    typed(tag, &mut stdin.lock())
}

/// Checks that the next line is the tag.
fn typed(tag: &str, lines: &mut impl BufRead) -> Result<(), CommandError> {
    let mut line = String::new();
    let read = lines.read_line(&mut line);
    if read.is_ok() && line.trim() == tag {
        Ok(())
    } else {
        Err(CommandError::Mistyped(tag.to_owned()))
    }
}

/// The deleted business.
#[derive(Serialize)]
struct Deleted<'a> {
    id: i64,
    tag: &'a str,
    deleted: bool,
}

async fn delete(database: &dyn Database, tag: &str, format: Format) -> Result<(), CommandError> {
    let (deleted, has_files) = transact(database, async |session| {
        let business = business_of_tag(session, tag).await?;
        let has_files = session.file_bytes(business.id).await? > 0;
        session.delete_business(business.id).await?;
        Ok::<_, CommandError>((business, has_files))
    })
    .await?;
    let Business { id, name, .. } = deleted;
    // It is gone already. If this process ends before all of its data is, a server continues.
    let rest = OpenDeletion {
        business: id,
        kind: DeletionKind::Business,
        record: id.get(),
    };
    let mut progress = Progress::count("parts deleted");
    let mut parts = 0;
    // A server, which knows the owner of the files, deletes their content first.
    while !has_files
        && transact::<_, CommandError>(database, async |session| Ok(session.continue_deletion(rest).await?)).await?
    {
        parts += 1;
        progress.reach(parts);
    }
    drop(progress);
    if format.json {
        return Ok(output::json(&Deleted {
            id: id.get(),
            tag,
            deleted: true,
        })?);
    }
    let owned = if has_files {
        "; a server deletes what it owned"
    } else {
        ", with all that it owned"
    };
    Ok(output::line(format_args!(
        "deleted: {name} ({tag}), business {id}{owned}"
    ))?)
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::StoreError;

    use super::*;
    use crate::{memory::MemoryDatabase, transaction::UnitError};

    const NOW: Timestamp = Timestamp::from_epoch_seconds(1_000);
    const LATER: Timestamp = Timestamp::from_epoch_seconds(2_000);

    fn file(json: &str) -> BusinessFile {
        serde_json::from_str(json).unwrap()
    }

    async fn applied(
        database: &MemoryDatabase,
        json: &str,
        now: Timestamp,
    ) -> Result<(Business, Applied), CommandError> {
        apply(database, &file(json), now, Path::new("acme.json")).await
    }

    #[tokio::test]
    async fn a_file_creates_once_and_then_changes_what_differs() {
        let database = MemoryDatabase::default();
        let first = r#"{"tag": "acme", "name": "Acme"}"#;
        let (created, result) = applied(&database, first, NOW).await.unwrap();
        assert_eq!(result, Applied::Created);
        assert!(created.id.get() > 0);
        let (same, result) = applied(&database, first, LATER).await.unwrap();
        assert_eq!((same, result), (created.clone(), Applied::Unchanged));
        let (changed, result) = applied(&database, r#"{"tag": "acme", "name": "Acme Cars"}"#, LATER)
            .await
            .unwrap();
        assert_eq!(
            (changed.id, changed.updated, result),
            (created.id, LATER, Applied::Updated)
        );
        assert_eq!(database.state().accounts.businesses().len(), 1);
    }

    #[tokio::test]
    async fn what_cannot_be_is_refused_with_every_path() {
        let database = MemoryDatabase::default();
        let error = applied(&database, r#"{"tag": "A B", "name": "A", "email": "x"}"#, NOW)
            .await
            .unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("acme.json: tag must have") && message.contains("; email must be"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn conflicts_are_run_again() {
        let database = MemoryDatabase::default();
        database.refuse_commits(1);
        assert!(
            applied(&database, r#"{"tag": "acme", "name": "Acme"}"#, NOW)
                .await
                .is_ok()
        );
        assert!(CommandError::from(StoreError::Duplicate("businesses_tag_key".into())).is_conflict());
    }

    #[test]
    fn a_deletion_is_confirmed_by_the_tag() {
        for (line, confirmed) in [
            ("acme\n", true),
            (" acme ", true),
            ("yes\n", false),
            ("ACME\n", false),
            ("", false),
        ] {
            assert_eq!(typed("acme", &mut line.as_bytes()).is_ok(), confirmed, "{line:?}");
        }
    }

    #[tokio::test]
    async fn deleting_what_is_not_there_says_so() {
        let error = delete(&MemoryDatabase::default(), "nobody", Format { json: false })
            .await
            .unwrap_err();
        assert!(
            error.to_string().starts_with(r#"no business has the tag "nobody""#),
            "{error}"
        );
    }
}
