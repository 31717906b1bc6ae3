//! `forecourt lead`.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use forecourt_accounts::Business;
use forecourt_dealership::Database;
use forecourt_kernel::bounds::MAX_MAIL_BYTES;
use forecourt_leads::{EnquiryMail, LeadError, create_lead_from_mail};
use forecourt_mail::{ReceivedMail, UnreadableMail, read_mail};
use serde::Serialize;

use super::{CommandError, business_of_tag};
use crate::{
    cli::{Format, LeadCommand},
    output::{self, chain},
    progress::Progress,
    system::SystemClock,
    transaction::transact,
};

/// Runs a command on leads.
///
/// # Errors
/// [`CommandError`].
pub(super) async fn run(database: &dyn Database, command: LeadCommand) -> Result<(), CommandError> {
    let LeadCommand::Import {
        files,
        business,
        format,
    } = command;
    import(database, &files, &business, format).await
}

/// The outcome of an import.
#[derive(Debug, Serialize)]
struct ImportReport {
    /// The business's tag.
    business: String,
    /// The mails, in the order of the command line.
    mails: Vec<ImportedMail>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct ImportedMail {
    file: String,
    #[serde(flatten)]
    outcome: Outcome,
}

/// The outcome of a mail.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum Outcome {
    /// A lead was made of it.
    Created {
        /// Lead id.
        lead: i64,
    },
    /// A lead was made of it before.
    Known,
    /// No lead can be made of it.
    Failed {
        /// The reason.
        error: String,
    },
}

/// The reason why the file of a mail was not read.
#[derive(Debug, thiserror::Error)]
enum MailFileError {
    #[error("the file cannot be read")]
    Unreadable(#[from] io::Error),
    #[error(transparent)]
    NoMail(#[from] UnreadableMail),
}

/// Makes leads of mails, each in a transaction of its own. A mail that cannot be read does not stop the others.
async fn import(database: &dyn Database, files: &[PathBuf], tag: &str, format: Format) -> Result<(), CommandError> {
    let business = transact::<_, CommandError>(database, async |session| business_of_tag(session, tag).await).await?;
    let mut mails = Vec::with_capacity(files.len());
    let mut progress = Progress::bar("mails", files.len() as u64);
    for file in files {
        let mail = ImportedMail {
            file: file.display().to_string(),
            outcome: import_file(database, &business, file).await?,
        };
        if !format.json {
            progress.print(|| print(&mail))?;
        }
        mails.push(mail);
        progress.reach(mails.len() as u64);
    }
    drop(progress);
    let is_failed = |mail: &&ImportedMail| matches!(mail.outcome, Outcome::Failed { .. });
    let failed = mails.iter().filter(is_failed).count();
    let report = ImportReport {
        business: business.tag,
        mails,
    };
    if format.json {
        output::json(&report)?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(CommandError::Import {
            failed,
            of: report.mails.len(),
        }),
    }
}

fn print(ImportedMail { file, outcome }: &ImportedMail) -> Result<(), CommandError> {
    match outcome {
        Outcome::Created { lead } => output::line(format_args!("{file}: lead {lead}"))?,
        Outcome::Known => output::line(format_args!("{file}: imported before"))?,
        Outcome::Failed { error } => output::line(format_args!("{file}: not imported: {error}"))?,
    }
    Ok(())
}

async fn import_file(database: &dyn Database, business: &Business, file: &Path) -> Result<Outcome, CommandError> {
    let mail = match read_file(file) {
        Ok(mail) => enquiry(mail),
        Err(error) => return Ok(Outcome::Failed { error: chain(&error) }),
    };
    let made = transact::<_, LeadError>(database, async |session| {
        create_lead_from_mail(session, &SystemClock, business, mail.clone()).await
    });
    match made.await {
        Ok(Some(lead)) => Ok(Outcome::Created { lead: lead.id.get() }),
        Ok(None) => Ok(Outcome::Known),
        Err(LeadError::Store(error)) => Err(error.into()),
        Err(error) => Ok(Outcome::Failed { error: chain(&error) }),
    }
}

fn read_file(file: &Path) -> Result<ReceivedMail, MailFileError> {
    let mut mail = Vec::new();
    // One byte beyond the maximum shows that the mail is too long.
    File::open(file)?
        .take(MAX_MAIL_BYTES as u64 + 1)
        .read_to_end(&mut mail)?;
    Ok(read_mail(&mail)?)
}

fn enquiry(mail: ReceivedMail) -> EnquiryMail {
    let ReceivedMail {
        message_id,
        name,
        address,
        subject,
        text,
        attachments,
    } = mail;
    EnquiryMail {
        message_id,
        name,
        address,
        subject,
        text,
        attachments,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{memory::MemoryDatabase, sample::testing::a_business};

    const MAIL: &str =
        "From: Ann Lee <ann@example.com>\r\nMessage-ID: <one@example.com>\r\nSubject: Golf\r\n\r\nIs it there?\r\n";

    #[tokio::test]
    async fn mails_become_leads_once_and_what_is_none_holds_up_no_other() {
        let database = MemoryDatabase::default();
        let mut session = database.begin().await.unwrap();
        session.insert_business(&a_business()).await.unwrap();
        session.commit().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("no.eml"), "hello").unwrap();
        fs::write(path("one.eml"), MAIL).unwrap();
        let files = [path("no.eml"), path("none.eml"), path("one.eml"), path("one.eml")];
        let format = Format { json: false };
        let outcome = import(&database, &files, "acme", format).await;
        assert!(
            matches!(outcome, Err(CommandError::Import { failed: 2, of: 4 })),
            "{outcome:?}"
        );
        let leads: Vec<_> = database.state().leads.all().cloned().collect();
        let [lead] = &*leads else { panic!("{leads:?}") };
        assert_eq!(
            (lead.content.name.as_str(), lead.content.email.as_str()),
            ("Ann Lee", "ann@example.com")
        );
        let again = import(&database, &[path("one.eml")], "acme", Format { json: false }).await;
        assert!(again.is_ok(), "{again:?}");
        assert_eq!(database.state().leads.all().count(), 1);
        let stranger = import(&database, &[], "other", Format { json: false }).await;
        assert!(matches!(stranger, Err(CommandError::NoBusiness(_))), "{stranger:?}");
    }
}
