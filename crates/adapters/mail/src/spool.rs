//! Mails as files, for a server without SMTP.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::SystemTime,
};

use async_trait::async_trait;
use forecourt_durable::{create_file, sync_folder};
use forecourt_kernel::{Mail, MailError, Mailer, Person, Timestamp};
use mailparse::{MailHeaderMap as _, parse_mail};

use crate::{MessageBuilder, message::OutgoingMessage};

/// The suffix of the name of a file that is not complete yet.
const UNFINISHED: &str = ".unfinished";
/// The header of a file that names the contact whom its attachments are about, by id. It is in no mail that is really sent.
const CONTACT: &str = "X-Forecourt-Contact";

/// Writes each mail into a folder as an `.eml` file, which any mail program opens.
///
/// The files are named so that they sort by age. Only the account that the server runs under can read them, and they are never
/// visible half-written: a file is written under another name first, and is on disk when `send` returns.
pub struct SpoolMailer {
    folder: PathBuf,
    messages: MessageBuilder,
    /// The number of mails written, which distinguishes those of one second.
    written: AtomicU32,
}

impl SpoolMailer {
    /// Makes a mailer that writes into `folder`, which is created for the first mail.
    pub fn new(folder: impl Into<PathBuf>, messages: MessageBuilder) -> Self {
        Self {
            folder: folder.into(),
            messages,
            written: AtomicU32::new(0),
        }
    }
}

#[async_trait]
impl Mailer for SpoolMailer {
    async fn send(&self, mail: &Mail) -> Result<(), MailError> {
        let OutgoingMessage { message, at, id } = self.messages.write(mail)?;
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number:06}-{id}.eml", stamp(at));
        let folder = self.folder.clone();
        let contact = mail.contact.map(|contact| format!("{CONTACT}: {contact}\r\n"));
        let content = [contact.unwrap_or_default().into_bytes(), message.formatted()].concat();
        tokio::task::spawn_blocking(move || write(&folder, &name, &content))
            .await
            .map_err(io::Error::other)
            .flatten()
            .map_err(|error| MailError::Failed(Box::new(error)))
    }

    async fn check(&self, mail: &Mail) -> Result<(), MailError> {
        self.messages.write(mail).map(drop)
    }

    async fn forget_person(&self, person: Arc<Person>) -> Result<usize, MailError> {
        remove(self.folder.clone(), move |path| {
            Ok(names(&std::fs::read(path)?, &person))
        })
        .await
    }
}

/// Removes the mails of a folder that `is_gone` selects; returns their number.
async fn remove(
    folder: PathBuf,
    is_gone: impl Fn(&Path) -> io::Result<bool> + Send + 'static,
) -> Result<usize, MailError> {
    let removing = tokio::task::spawn_blocking(move || {
        let mut removed = 0;
        let entries = match std::fs::read_dir(&folder) {
            // No mail was written yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "eml") {
                continue;
            }
            let removal = is_gone(&path).and_then(|is_gone| {
                if is_gone {
                    std::fs::remove_file(&path)?;
                    removed += 1;
                }
                Ok(())
            });
            match removal {
                // Another process removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removal => removal?,
            }
        }
        if removed > 0 {
            sync_folder(&folder)?;
        }
        Ok(removed)
    });
    let removed: io::Result<usize> = removing.await.map_err(io::Error::other).flatten();
    removed.map_err(|error| MailError::Failed(Box::new(error)))
}

/// Returns true if a mail names the person, in its head or in its text, or if its attachments are about them.
fn names(mail: &[u8], person: &Person) -> bool {
    let Ok(mail) = parse_mail(mail) else {
        return person.is_certainly_in(&String::from_utf8_lossy(mail));
    };
    let contact = mail.headers.get_first_value(CONTACT);
    if contact.is_some_and(|contact| contact == person.contact().to_string()) {
        return true;
    }
    let head = mail.headers.iter().map(|header| header.get_value());
    let texts = head.chain(mail.parts().filter_map(|part| part.get_body().ok()));
    let mut texts = texts.map(|text| text.replace('\r', ""));
    texts.any(|text| person.is_certainly_in(&text) || person.is_in_mail(&text))
}

/// Removes the mails in the spool `folder` whose files were last written before `before`, and unfinished files of writers that
/// died; returns the number of files. Other files remain.
///
/// # Errors
/// If the folder, or a file in it, cannot be read or removed. A folder that does not exist has no mails.
pub fn remove_spooled(folder: &Path, before: SystemTime) -> io::Result<usize> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(is_spooled) {
            continue;
        }
        let gone = match entry.metadata() {
            // A mailer never writes links.
            Ok(file) if file.is_file() && file.modified()? < before => std::fs::remove_file(entry.path()),
            Ok(_) => continue,
            Err(error) => Err(error),
        };
        match gone {
            Ok(()) => removed += 1,
            // Another server was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
}

/// Returns true if a mailer gives a file this name, finished or not.
fn is_spooled(name: &str) -> bool {
    let unfinished = name.strip_prefix('.').and_then(|name| name.strip_suffix(UNFINISHED));
    unfinished.unwrap_or(name).ends_with(".eml")
}

/// Formats a moment for file names: `2026-01-31T235959Z`.
fn stamp(at: Timestamp) -> String {
    let second = at.epoch_seconds().rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{}T{hour:02}{minute:02}{second:02}Z", at.date())
}

/// Creates a file with that name in `folder`, complete and durable.
fn write(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    // Its name keeps programs that watch the folder from taking it for a mail.
    create_file(folder, name, &format!(".{name}{UNFINISHED}"), content)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs::File, time::Duration};

    use super::*;

    #[test]
    fn what_was_written_before_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let day = |day: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(day * 86_400);
        let names = ["old.eml", ".old.eml.unfinished", "new.eml", "old.txt"];
        for name in names {
            let file = File::create(home.path().join(name)).unwrap();
            file.set_modified(day(if name == "new.eml" { 10 } else { 9 })).unwrap();
        }
        std::os::unix::fs::symlink("old.txt", home.path().join("link.eml")).unwrap();
        std::fs::create_dir(home.path().join("folder.eml")).unwrap();
        assert_eq!(remove_spooled(home.path(), day(9)).unwrap(), 0);
        assert_eq!(remove_spooled(home.path(), day(10)).unwrap(), 2);
        let left: BTreeSet<_> = std::fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let expected = ["folder.eml", "link.eml", "new.eml", "old.txt"];
        assert_eq!(left, expected.map(str::to_owned).into());
        assert_eq!(remove_spooled(&home.path().join("none"), day(10)).unwrap(), 0);
    }

    #[test]
    fn a_stamp_shows_day_and_time() {
        assert_eq!(stamp(Timestamp::from_epoch_seconds(86_399)), "1970-01-01T235959Z");
        assert_eq!(stamp(Timestamp::from_epoch_seconds(86_400)), "1970-01-02T000000Z");
    }
}
