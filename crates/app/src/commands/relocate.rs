//! `forecourt move`.

use std::io::{IsTerminal as _, Write as _};

use forecourt_storage::Hindrance;
use url::Url;

use super::CommandError;
use crate::{
    backup::{BackupError, transfer},
    cli::MoveArgs,
    output,
    settings::Settings,
    wiring,
};

/// Moves the database, or lets a moved one be used again.
///
/// # Errors
/// [`CommandError`]; [`CommandError::NotInOrder`] if the two differ.
pub(super) async fn run(settings: &Settings, args: MoveArgs) -> Result<(), CommandError> {
    if args.undo {
        return undo(settings, args.yes, args.format.json).await;
    }
    let to = match (args.to, args.to_file) {
        (Some(url), None) if has_password(&url) => {
            return Err(BackupError::Usage(
                "--to has a password, which every user of this machine can read: write the URL into a file, and name that by --to-file"
                    .to_owned(),
            )
            .into());
        }
        (Some(url), None) => url,
        (None, Some(path)) => {
            let text = std::fs::read_to_string(&path).map_err(|error| BackupError::File(path, error))?;
            text.trim().to_owned()
        }
        _ => return Err(BackupError::Usage("name the target: --to or --to-file".to_owned()).into()),
    };
    if !["sqlite://", "postgres://", "postgresql://"]
        .iter()
        .any(|scheme| to.starts_with(scheme))
    {
        return Err(
            BackupError::Usage("the target must be sqlite://PATH or postgres://USER@HOST/DATABASE".to_owned()).into(),
        );
    }
    let shown_to = shown(&to);
    let report = transfer(settings, &to, &shown_to, args.files_to.as_ref(), true).await?;
    if !report.differing.is_empty() {
        let tables = report.differing.join(", ");
        output::notice(&format!(
            "nothing was moved: the tables {tables} were not the same in the target, which is empty again"
        ));
    }
    if args.format.json {
        output::json(&report)?;
    } else if report.differing.is_empty() {
        output::line(format_args!(
            "moved {} rows of {} tables to {shown_to} in {:.1} s, {} files copied; every table has the same digest",
            report.rows, report.tables, report.seconds, report.files
        ))?;
        output::line("set DATABASE_URL to the target; this database refuses to serve from now on")?;
        if let Some(files_to) = &args.files_to {
            output::line(format_args!("set FORECOURT_BLOB_URL to {files_to}"))?;
        }
    }
    if report.differing.is_empty() {
        Ok(())
    } else {
        Err(CommandError::NotInOrder)
    }
}

async fn undo(settings: &Settings, yes: bool, json: bool) -> Result<(), CommandError> {
    let storage = wiring::open_existing(settings).await?;
    let Some(Hindrance::Sealed(seal)) = storage.hindrance().await? else {
        return Err(BackupError::refused("the database was not moved: there is nothing to undo").into());
    };
    if !yes {
        if !std::io::stdin().is_terminal() {
            return Err(BackupError::Usage(format!(
                "the database {seal}: confirm with --yes that it may be used again"
            ))
            .into());
        }
        let mut stderr = std::io::stderr();
        let asked = write!(
            stderr,
            "The database {seal}. Let it be used again? The target must not serve. Type yes: "
        );
        asked.and_then(|()| stderr.flush()).map_err(CommandError::Start)?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).map_err(CommandError::Start)?;
        if answer.trim() != "yes" {
            return Err(BackupError::refused("nothing was changed").into());
        }
    }
    storage.seal(None).await?;
    if json {
        return Ok(output::json(&serde_json::json!({"undone": seal}))?);
    }
    Ok(output::line(format_args!(
        "the database can be used again; the target must not serve ({seal})"
    ))?)
}

fn has_password(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.password().is_some() || url.query_pairs().any(|(name, _)| name == "password"))
}

/// Returns an address without its password.
fn shown(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else {
        return url.split('?').next().unwrap_or_default().to_owned();
    };
    if url.starts_with("sqlite://") {
        return url.to_owned();
    }
    // A URL with a host may have no password.
    let _ = parsed.set_password(None);
    let kept: Vec<(String, String)> = parsed
        .query_pairs()
        .into_owned()
        .filter(|(name, _)| name != "password")
        .collect();
    parsed.set_query(None);
    if !kept.is_empty() {
        parsed.query_pairs_mut().extend_pairs(kept);
    }
    parsed.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (url, expected) in [
            ("postgres://app:secret@db/forecourt", "postgres://app@db/forecourt"),
            (
                "postgres://app@db/forecourt?password=secret",
                "postgres://app@db/forecourt",
            ),
            (
                "postgres://app:secret@db/x?sslmode=require&password=s",
                "postgres://app@db/x?sslmode=require",
            ),
            ("sqlite:///var/lib/forecourt.db", "sqlite:///var/lib/forecourt.db"),
            ("sqlite://data/forecourt.db", "sqlite://data/forecourt.db"),
        ] {
            assert_eq!(shown(url), expected);
            assert_eq!(has_password(url), url.contains("secret"), "{url}");
        }
    }
}
