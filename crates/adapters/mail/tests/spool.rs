//! Mails as files.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

mod support;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use forecourt_kernel::{Attachment, ContactId, Mail, MailError, Mailer, Person, PersonKeys};
use forecourt_mail::SpoolMailer;
use mailparse::{MailHeaderMap, parse_mail};
use support::{assert_names_no_person, mail, messages};
use tempfile::TempDir;

/// Returns the names of the files in `folder`, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns the one mail that a mailer writes for `mail`.
async fn spooled(mail: &Mail) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    SpoolMailer::new(folder.path(), messages()).send(mail).await.unwrap();
    let names = names(folder.path());
    assert_eq!(names.len(), 1, "{names:?}");
    fs::read(folder.path().join(&names[0])).unwrap()
}

#[tokio::test]
async fn a_mail_reads_back_as_it_was_meant() {
    let bytes = spooled(&mail()).await;
    assert!(bytes.is_ascii());
    let read = parse_mail(&bytes).unwrap();
    let header = |name| read.headers.get_first_value(name).unwrap();
    assert_eq!(header("From"), "Forecourt Büro <noreply@example.com>");
    assert_eq!(header("To"), "ann@dealer.example");
    assert_eq!(header("Subject"), "Neuer Kontakt: Jörg Müller 🚗");
    assert_eq!(header("Date"), "Thu, 01 Jan 2026 12:34:56 +0000");
    assert_eq!(header("Message-ID"), "<000102030405060708090a0b0c0d0e0f@example.com>");
    assert_eq!(header("MIME-Version"), "1.0");
    assert_eq!(read.ctype.mimetype, "text/plain");
    assert_eq!(read.ctype.charset, "utf-8");
    assert_eq!(read.get_body().unwrap().replace("\r\n", "\n"), mail().text);
}

#[tokio::test]
async fn attachments_read_back_as_they_were() {
    let content: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let with_file = mail()
        .attach(Attachment {
            name: "INV-12.pdf".into(),
            media_type: "application/pdf".into(),
            content: content.clone().into(),
        })
        .unwrap();
    let bytes = spooled(&with_file).await;
    assert!(bytes.is_ascii());
    let longest = bytes.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
    assert!(longest < Some(1000), "{longest:?}");
    let read = parse_mail(&bytes).unwrap();
    assert_eq!(read.ctype.mimetype, "multipart/mixed");
    assert_eq!(read.headers.get_first_value("Subject").unwrap(), mail().subject);
    let [text, file] = &read.subparts[..] else {
        panic!("{}", read.subparts.len())
    };
    assert_eq!(text.ctype.mimetype, "text/plain");
    assert_eq!(
        text.get_body().unwrap().replace("\r\n", "\n").trim_end(),
        mail().text.trim_end()
    );
    assert_eq!(file.ctype.mimetype, "application/pdf");
    let disposition = file.get_content_disposition();
    assert_eq!(disposition.params["filename"], "INV-12.pdf");
    assert!(file.get_body_raw().unwrap() == content);
    assert_eq!(spooled(&with_file).await, bytes, "no part of it is random");
}

#[tokio::test]
async fn attachments_that_no_server_takes_are_refused() {
    let file = |media_type: &str, bytes: usize| Attachment {
        name: "a.pdf".into(),
        media_type: media_type.into(),
        content: vec![b'a'; bytes].into(),
    };
    for attachment in [
        file("no type", 1),
        file("application/pdf", Mail::MAX_ATTACHED_BYTES + 1),
    ] {
        let folder = TempDir::new().unwrap();
        let mailer = SpoolMailer::new(folder.path(), messages());
        let with_file = Mail {
            attachments: vec![attachment],
            ..mail()
        };
        let refusal = mailer.send(&with_file).await.unwrap_err();
        assert!(matches!(refusal, MailError::Refused(_)), "{refusal:?}");
    }
}

#[tokio::test]
async fn nothing_that_a_mail_says_becomes_a_header() {
    let hostile = Mail {
        subject: "Hello\r\nBcc: bob@example.com\r\n\r\nbody".into(),
        text: "Subject: other\r\rBcc: bob@example.com".into(),
        ..mail()
    };
    let bytes = spooled(&hostile).await;
    let read = parse_mail(&bytes).unwrap();
    assert_eq!(
        read.headers.get_first_value("Subject").unwrap(),
        "Hello Bcc: bob@example.com body"
    );
    assert!(read.headers.get_first_value("Bcc").is_none());
    assert_eq!(read.headers.len(), 8, "{:?}", read.headers);
}

#[tokio::test]
async fn a_recipient_that_is_none_is_refused() {
    let folder = TempDir::new().unwrap();
    let mailer = SpoolMailer::new(folder.path().join("mail"), messages());
    for to in ["", "ann@", "ann@dealer.example\r\nBcc: bob@example.com"] {
        let refusal = mailer
            .send(&Mail {
                to: to.into(),
                ..mail()
            })
            .await
            .unwrap_err();
        assert!(matches!(refusal, MailError::Refused(_)), "{to:?}");
        assert_names_no_person(&refusal);
    }
    assert!(
        names(folder.path()).is_empty(),
        "the folder is made for the first mail only"
    );
}

#[tokio::test]
async fn files_sort_by_age_and_are_nobody_elses() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("data/mail");
    let mailer = SpoolMailer::new(&folder, messages());
    for subject in ["first", "second", "third"] {
        let mail = Mail {
            subject: subject.into(),
            ..mail()
        };
        mailer.send(&mail).await.unwrap();
    }
    let names = names(&folder);
    assert_eq!(
        names[0],
        "2026-01-01T123456Z-000000-000102030405060708090a0b0c0d0e0f.eml"
    );
    let subjects: Vec<_> = names
        .iter()
        .map(|name| {
            let bytes = fs::read(folder.join(name)).unwrap();
            parse_mail(&bytes).unwrap().headers.get_first_value("Subject").unwrap()
        })
        .collect();
    assert_eq!(subjects, ["first", "second", "third"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.join(&names[0])), 0o600);
    assert_eq!(mode(&folder), 0o700);
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_a_failure() {
    let parent = TempDir::new().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    let failure = SpoolMailer::new(file.join("mail"), messages())
        .send(&mail())
        .await
        .unwrap_err();
    assert!(matches!(failure, MailError::Failed(_)), "{failure:?}");
}

#[tokio::test]
async fn mails_that_name_an_erased_person_are_removed() {
    let folder = TempDir::new().unwrap();
    let mailer = SpoolMailer::new(folder.path(), messages());
    let to = |to: &str, subject: &str, text: &str| Mail {
        to: to.into(),
        subject: subject.into(),
        text: text.into(),
        ..Mail::default()
    };
    let long = "é".repeat(60);
    for mail in [
        to("zoe@quill.example", "Hello", "Thank you"),
        to("office@acme.example", "New lead from Zoë Quill", "It is one"),
        to(
            "office@acme.example",
            "New lead",
            &format!("{long} rang from +44 7700 900471, {long}"),
        ),
        to(
            "office@acme.example",
            "New lead",
            &format!("{long} NI QQ 80 51 70 C {long}"),
        ),
        to("office@acme.example", "New lead", "Zoe Plain rang from +44 7700 900472"),
    ] {
        mailer.send(&mail).await.unwrap();
    }
    let mut keys = PersonKeys::new(ContactId::new(1));
    keys.add_name("Zoë Quill");
    keys.add_email("zoe@quill.example");
    keys.add_number("+447700900471");
    keys.add_identifier("QQ805170C");
    let person = Arc::new(Person::new(&keys).unwrap());
    assert_eq!(mailer.forget_person(Arc::clone(&person)).await.unwrap(), 4);
    let left = names(folder.path());
    assert_eq!(left.len(), 1);
    assert!(
        String::from_utf8(fs::read(folder.path().join(&left[0])).unwrap())
            .unwrap()
            .contains("Zoe Plain")
    );
    assert_eq!(mailer.forget_person(Arc::clone(&person)).await.unwrap(), 0);
    // No text can be searched for in an attachment, so it belongs to its contact.
    for contact in [1, 11] {
        let about = Mail {
            contact: Some(ContactId::new(contact)),
            ..to("office@acme.example", "Invoice", "It is attached")
        };
        mailer.send(&about).await.unwrap();
    }
    assert_eq!(mailer.forget_person(person).await.unwrap(), 1);
    assert_eq!(names(folder.path()).len(), 2);
}
