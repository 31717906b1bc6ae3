//! The texts of mails: the program's, and those of a business.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use forecourt_accounts::{Business, BusinessFile, InvalidBusinessFile, MailContent, MailKind, Placeholder};
use forecourt_kernel::{BusinessId, Mail, Timestamp};
use serde_json::{Value, json};

/// A mail to somebody who has a key.
struct KeyMail<'a> {
    name: &'a str,
    key: &'a str,
}

const KEY_MAIL: MailKind = MailKind {
    name: "key",
    purpose: "Sent with a key.",
    placeholders: &[
        Placeholder::new("name", "Who gets it."),
        Placeholder::new("key", "The key.").required().secret(),
    ],
    files: &[
        ("de", "Subject: Ein Schlüssel\n\nHallo {{name}}: {{key}}\n"),
        (
            "en",
            "Subject: A key{{#name}} for {{name}}{{/name}}\n\nHello {{name}}: {{key}}\n",
        ),
    ],
};

impl MailContent for KeyMail<'_> {
    const KIND: &'static MailKind = &KEY_MAIL;

    fn value(&self, placeholder: &str) -> &str {
        match placeholder {
            "name" => self.name,
            "key" => self.key,
            _ => "",
        }
    }
}

const ANN: KeyMail<'_> = KeyMail { name: "Ann", key: "k7" };

/// Applies these settings, and returns the business or the paths of the faults.
fn with(settings: &Value) -> Result<Business, Vec<String>> {
    let file = json!({"tag": "acme", "name": "Acme", "settings": settings});
    let file: BusinessFile = serde_json::from_value(file).unwrap();
    let applied = file.apply(None, &[&KEY_MAIL], Timestamp::from_epoch_seconds(0));
    applied.map_err(|InvalidBusinessFile(errors)| {
        let paths = errors.as_slice().iter().map(|error| error.field.clone());
        paths.collect()
    })
}

/// Returns the subject and the text of the mail that the business sends.
fn sent(settings: &Value) -> [String; 2] {
    let Mail { subject, text, .. } = with(settings).unwrap().mail("ann@example.com", &ANN);
    [subject, text]
}

#[test]
fn a_business_without_settings_writes_in_english() {
    let mail = Business::new(BusinessId::new(1), "acme", "Acme").mail("ann@example.com", &ANN);
    assert_eq!(mail, Mail::new("ann@example.com", "A key for Ann", "Hello Ann: k7\n"));
}

#[test]
fn words_are_those_of_its_language_and_its_own_go_first() {
    assert_eq!(sent(&json!({"language": "de"})), ["Ein Schlüssel", "Hallo Ann: k7\n"]);
    let own = json!({"de": {"key": {"subject": "Ihr Schlüssel, {{name}}"}}});
    assert_eq!(
        sent(&json!({"language": "de", "mail_texts": own})),
        ["Ihr Schlüssel, Ann", "Hallo Ann: k7\n"]
    );
    assert_eq!(sent(&json!({"mail_texts": own})), ["A key for Ann", "Hello Ann: k7\n"]);
}

#[test]
fn what_a_language_has_no_words_for_is_said_in_english() {
    let own = json!({"it": {"key": {"text": "Ciao {{name}}: {{key}}"}}, "en": {"key": {"subject": "Yours"}}});
    assert_eq!(
        sent(&json!({"language": "it", "mail_texts": own})),
        ["Yours", "Ciao Ann: k7"]
    );
}

#[test]
fn a_subject_that_would_be_empty_is_that_of_the_program() {
    let own = json!({"en": {"key": {"subject": "{{^name}}Key{{/name}}"}}});
    assert_eq!(sent(&json!({"mail_texts": own}))[0], "A key for Ann");
}

#[test]
fn values_neither_add_headers_nor_are_read_as_templates() {
    let mail = Business::new(BusinessId::new(1), "acme", "Acme").mail(
        "ann@example.com",
        &KeyMail {
            name: "Ann\r\nBcc: eve@example.com {{key}}",
            key: "k7",
        },
    );
    assert_eq!(mail.subject, "A key for Ann Bcc: eve@example.com {{key}}");
}

#[test]
fn words_are_validated_when_they_are_set() {
    let refused = |settings: Value| with(&settings).unwrap_err();
    let texts = |texts: Value| refused(json!({"mail_texts": texts}));
    let key = |wording: Value| texts(json!({"en": {"key": wording}}));
    const SUBJECT: &str = "settings.mail_texts.en.key.subject";
    const TEXT: &str = "settings.mail_texts.en.key.text";

    assert_eq!(refused(json!({"language": "it"})), ["settings.language"]);
    assert_eq!(refused(json!({"language": "English"})), ["settings.language"]);
    assert_eq!(texts(json!({"en-GB": {}})), ["settings.mail_texts.en-GB"]);
    assert_eq!(
        texts(json!({"en": {"keys": {"subject": "A"}}})),
        ["settings.mail_texts.en.keys"]
    );
    assert_eq!(key(json!({})), ["settings.mail_texts.en.key"]);

    for subject in [
        "",
        "  ",
        "A\nBcc: b",
        "A\rB",
        "A\u{0}",
        "{{nmae}}",
        "{{name",
        "{{#name}}",
        "Key {{key}}",
        &"ä".repeat(256),
    ] {
        assert_eq!(key(json!({"subject": subject})), [SUBJECT], "{subject:?}");
    }
    for text in [
        "Hello {{name}}",
        "{{#name}}{{key}}{{/name}}",
        "{{^key}}{{key}}{{/key}}",
        "{{key}} {{other}}",
        "{{key}}{{{name}}}",
        "{{key}}\u{7}",
        &"{{key}}".repeat(6),
        &format!("{{{{key}}}}{}", "a".repeat(20_000)),
    ] {
        assert_eq!(key(json!({"text": text})), [TEXT], "{text:?}");
    }
    // All faults at once.
    assert_eq!(
        key(json!({"subject": "{{a}}{{b}}", "text": "no key"})),
        [SUBJECT, SUBJECT, TEXT]
    );
    assert!(with(&json!({"mail_texts": {"en": {"key": {"text": "{{#key}}\r\n\t{{key}}\r\n{{/key}}"}}}})).is_ok());
}

#[test]
fn null_takes_the_words_away_again() {
    let stored = with(&json!({"language": "de", "mail_texts": {"de": {"key": {"subject": "S"}}}})).unwrap();
    let apply = |settings: Value| {
        let file = json!({"tag": "acme", "name": "Acme", "settings": settings});
        let file: BusinessFile = serde_json::from_value(file).unwrap();
        file.apply(Some(&stored), &[&KEY_MAIL], Timestamp::from_epoch_seconds(9))
            .unwrap()
    };
    assert_eq!(apply(json!({})).settings, stored.settings);
    let without = apply(json!({"language": null, "mail_texts": null})).settings;
    assert_eq!((without.language.as_ref(), without.mail_texts.as_ref()), (None, None));
    // A server of the previous release can read settings that do not use them.
    let kept = serde_json::to_value(&without).unwrap();
    assert!(kept.get("language").is_none() && kept.get("mail_texts").is_none());
}

#[test]
fn words_that_this_version_cannot_read_are_passed_over() {
    let mut business = with(&json!({"mail_texts": {"en": {"key": {"subject": "S"}}}})).unwrap();
    let texts = business.settings.mail_texts.as_mut().unwrap();
    texts.get_mut("en").unwrap().get_mut("key").unwrap().subject = Some("{{>partial}}".into());
    assert_eq!(business.mail("ann@example.com", &ANN).subject, "A key for Ann");
}
