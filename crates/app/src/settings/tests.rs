use std::{fs, num::NonZeroU32, path::Path};

use super::*;

/// Returns sources with these variables only.
fn environment(variables: &[(&str, &str)]) -> Sources {
    let pair = |&(name, value): &(&str, &str)| (name.into(), value.into());
    Sources {
        environment: variables.iter().map(pair).collect(),
        ..Sources::default()
    }
}

fn refusal(sources: Sources) -> String {
    Settings::load(sources).unwrap_err().to_string()
}

/// Returns the settings, or the error, with a settings file that has this text.
fn with_file(text: &str, sources: Sources) -> Result<Settings, SettingError> {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("forecourt.toml");
    fs::write(&file, text).unwrap();
    Settings::load(Sources {
        file: Some(file),
        ..sources
    })
}

#[test]
fn without_a_word_all_is_as_documented() {
    let settings = Settings::load(Sources::default()).unwrap();
    assert_eq!(settings.database_url.reveal(), "sqlite://data/forecourt.db");
    assert_eq!(settings.bind.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.admin_bind.unwrap().to_string(), "127.0.0.1:9090");
    assert_eq!(settings.base_url(settings.bind), "http://127.0.0.1:8080");
    assert_eq!(settings.mail_folder(), Path::new("data/mail"));
    assert_eq!(settings.rate_limits(), RateLimits::default());
    assert_eq!(settings.auth_failures_per_minute, Some(60));
    assert_eq!(
        settings.webhook_retry_offsets,
        [60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400]
    );
    assert_eq!(settings.webhook_timeout_seconds, NonZeroU32::new(10).unwrap());
    assert_eq!(settings.webhook_settle_seconds, 3);
    assert_eq!(settings.webhook_disable_after, NonZeroU32::new(10).unwrap());
    assert!(!settings.webhook_allow_insecure_targets);
    assert_eq!(settings.lead_ai, LeadAi::Rules);
    assert!(settings.blocked_addresses.is_empty() && settings.trusted_proxies.is_empty());
    assert!(settings.redis_url.is_none() && settings.smtp_url.is_none() && settings.blob_url.is_none());
    assert!(settings.secret_key.is_none() && settings.public_url.is_none() && settings.log.is_none());
}

#[test]
fn an_option_precedes_the_environment_and_that_the_file() {
    let file = "bind = '127.0.0.1:1'\nadmin_bind = '127.0.0.1:2'\nwebhook_settle_seconds = 1";
    let sources = Sources {
        options: [("bind".to_owned(), "127.0.0.1:21".to_owned())].into(),
        ..environment(&[
            ("FORECOURT_BIND", "127.0.0.1:11"),
            ("FORECOURT_ADMIN_BIND", "127.0.0.1:12"),
        ])
    };
    let settings = with_file(file, sources).unwrap();
    assert_eq!(settings.bind.port(), 21);
    assert_eq!(settings.admin_bind.unwrap().port(), 12);
    assert_eq!(settings.webhook_settle_seconds, 1);
}

#[test]
fn an_empty_variable_says_nothing() {
    let sources = environment(&[
        ("FORECOURT_BIND", ""),
        ("DATABASE_URL", ""),
        ("FORECOURT_REDIS_URL", ""),
    ]);
    let settings = with_file("bind = '127.0.0.1:1'", sources).unwrap();
    assert_eq!(settings.bind.port(), 1);
    assert!(settings.redis_url.is_none());
}

#[test]
fn a_file_may_spell_a_key_in_four_ways_and_hold_lists_and_numbers() {
    let file = "forecourt_bind = '127.0.0.1:1'\nadmin-bind = 'off'\nforecourt-rate-limit-per-day = 0\n\
                webhook_retry_offsets = [1, 2]\ntrusted_proxies = ['10.0.0.0/8', '::1']\n\
                webhook_allow_insecure_targets = true\ndatabase_url = 'postgres://h/d'";
    let settings = with_file(file, Sources::default()).unwrap();
    assert_eq!((settings.bind.port(), settings.admin_bind), (1, None));
    assert_eq!(settings.rate_limits().per_day, None);
    assert_eq!(settings.webhook_retry_offsets, [1, 2]);
    assert_eq!(settings.trusted_proxies.len(), 2);
    assert!(settings.webhook_allow_insecure_targets && settings.database_url.is_postgres());
}

#[test]
fn what_is_unknown_is_named() {
    let unknown = environment(&[("FORECOURT_BNID", "127.0.0.1:1")]);
    assert!(refusal(unknown).starts_with("FORECOURT_BNID is no setting"));
    let unknown = environment(&[("FORECOURT_DATABASE_URL", "sqlite://a.db")]);
    assert!(refusal(unknown).starts_with("FORECOURT_DATABASE_URL "));
    for file in ["bnid = 1", "[webhook]\ntimeout_seconds = 3"] {
        let refusal = with_file(file, Sources::default()).unwrap_err().to_string();
        assert!(refusal.contains("is no setting"), "{refusal}");
    }
    let others = environment(&[
        ("FORECOURT_TEST_DATABASE", "x"),
        ("FORECOURT_TOKEN", "x"),
        ("FORECOURT_LISTEN_SECRET", "x"),
        ("FORECOURTX", "x"),
        ("BIND", "x"),
    ]);
    assert!(Settings::load(others).is_ok());
}

#[test]
fn what_is_malformed_is_named_with_its_source() {
    let cases = [
        (
            "FORECOURT_BIND",
            "nowhere",
            "FORECOURT_BIND must be an address and a port",
        ),
        (
            "FORECOURT_RATE_LIMIT_PER_DAY",
            "-1",
            "FORECOURT_RATE_LIMIT_PER_DAY must be a whole number",
        ),
        ("FORECOURT_LOG", "inof", "FORECOURT_LOG must be a level"),
        ("DATABASE_URL", "mysql://h", "DATABASE_URL must be sqlite://PATH"),
    ];
    for (variable, value, expected) in cases {
        let refusal = refusal(environment(&[(variable, value)]));
        assert!(refusal.starts_with(expected), "{refusal}");
    }
    let option = Sources {
        options: [("webhook_timeout_seconds".to_owned(), "0".to_owned())].into(),
        ..Sources::default()
    };
    assert_eq!(
        refusal(option),
        r#"--webhook-timeout-seconds must be a whole number, 1 or above, not "0""#
    );
    let in_file = with_file("lead-ai = 'magic'", Sources::default())
        .unwrap_err()
        .to_string();
    assert!(
        in_file.starts_with("lead-ai in ") && in_file.contains("forecourt.toml must be rules"),
        "{in_file}"
    );
    let float = with_file("webhook_settle_seconds = 1.5", Sources::default()).unwrap_err();
    assert!(float.to_string().contains("must be text, a number"), "{float}");
}

#[test]
fn a_malformed_secret_is_not_repeated() {
    for (variable, value) in [
        ("DATABASE_URL", "mysql://u:hunter2@h"),
        ("FORECOURT_SECRET_KEY", "hunter2"),
        ("FORECOURT_SMTP_URL", "hunter2"),
        ("FORECOURT_REDIS_URL", "hunter2"),
        ("FORECOURT_LEAD_AI_URL", "ftp://u:hunter2@h"),
        ("FORECOURT_PUBLIC_URL", "https://u:hunter2@h"),
        ("FORECOURT_BLOB_URL", "s3://u:hunter2@bucket"),
    ] {
        let refusal = refusal(environment(&[(variable, value)]));
        assert!(
            refusal.starts_with(variable) && !refusal.contains("hunter2"),
            "{refusal}"
        );
    }
}

/// Makes a file with this content, in a folder that is removed with the first value.
fn secret_file(content: &[u8]) -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("secret");
    fs::write(&file, content).unwrap();
    let path = file.display().to_string();
    (home, path)
}

#[test]
fn what_may_hold_a_secret_can_stand_in_a_file_of_its_own() {
    for content in ["postgres://u:p@h/d", "postgres://u:p@h/d\n", "postgres://u:p@h/d\r\n"] {
        let (_home, file) = secret_file(content.as_bytes());
        let settings = Settings::load(environment(&[("DATABASE_URL_FILE", &file)])).unwrap();
        assert_eq!(settings.database_url.reveal(), "postgres://u:p@h/d");
        let settings = with_file(&format!("database_url_file = '{file}'"), Sources::default()).unwrap();
        assert_eq!(settings.database_url.reveal(), "postgres://u:p@h/d");
    }
    let cases = [
        (
            "FORECOURT_SECRET_KEY_FILE",
            "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n",
        ),
        ("FORECOURT_SMTP_URL_FILE", "smtp://u:p@h\n"),
        ("FORECOURT_REDIS_URL_FILE", "redis://:p@h\n"),
        ("FORECOURT_LEAD_AI_KEY_FILE", "sk-1\n"),
        ("FORECOURT_LEAD_AI_URL_FILE", "http://127.0.0.1:1/v1\n"),
    ];
    for (variable, content) in cases {
        let (_home, file) = secret_file(content.as_bytes());
        let settings = Settings::load(environment(&[(variable, &file)]));
        assert!(settings.is_ok(), "{variable}: {:?}", settings.err());
    }
    let (_home, file) = secret_file(b"127.0.0.1:1");
    assert!(refusal(environment(&[("FORECOURT_BIND_FILE", &file)])).contains("FORECOURT_BIND_FILE is no setting"));
}

#[test]
fn a_source_that_counts_more_may_give_the_other_form() {
    let (_home, file) = secret_file(b"postgres://u:p@h/d");
    let set = with_file(
        "database_url = 'sqlite://a.db'",
        environment(&[("DATABASE_URL_FILE", &file)]),
    );
    assert!(set.unwrap().database_url.is_postgres());
    // A file that does not apply is not read either.
    let set = with_file(
        "database_url_file = '/not/there'",
        environment(&[("DATABASE_URL", "sqlite://a.db")]),
    );
    assert_eq!(set.unwrap().database_url.reveal(), "sqlite://a.db");
    let set = environment(&[("DATABASE_URL_FILE", &file), ("DATABASE_URL", "")]);
    assert!(Settings::load(set).is_ok(), "an empty variable says nothing");
}

#[test]
fn both_forms_at_once_are_a_fault_that_names_them() {
    let (_home, file) = secret_file(b"smtp://h");
    for variable in [
        "DATABASE_URL",
        "FORECOURT_SECRET_KEY",
        "FORECOURT_SMTP_URL",
        "FORECOURT_REDIS_URL",
    ] {
        let of_file = format!("{variable}_FILE");
        for both in [
            [(variable, "hunter2"), (of_file.as_str(), file.as_str())],
            [(of_file.as_str(), file.as_str()), (variable, "hunter2")],
        ] {
            let refusal = refusal(environment(&both));
            let expected = format!("{variable} and {variable}_FILE are the same setting: give one of them");
            assert_eq!(refusal, expected);
        }
    }
    let refusal = with_file("smtp-url = 'smtp://h'\nsmtp_url_file = '/a'", Sources::default()).unwrap_err();
    assert!(matches!(refusal, SettingError::BothForms { .. }), "{refusal}");
}

#[test]
fn a_file_without_a_value_is_named_and_not_repeated() {
    for (content, expected) in [
        (b"".to_vec(), "is empty"),
        (b"\n".to_vec(), "is empty"),
        (vec![0xFF], "is no UTF-8 text"),
        (vec![b'x'; 70_000], "is longer than any value"),
        (b"hunter2".to_vec(), "must be smtp://HOST"),
    ] {
        let (_home, file) = secret_file(&content);
        let refusal = refusal(environment(&[("FORECOURT_SMTP_URL_FILE", &file)]));
        assert!(
            refusal.contains("FORECOURT_SMTP_URL_FILE") && refusal.contains(expected),
            "{refusal}"
        );
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
    let refusal = refusal(environment(&[("FORECOURT_SMTP_URL_FILE", "/not/there")]));
    assert_eq!(refusal, "FORECOURT_SMTP_URL_FILE: /not/there cannot be read");
}

#[test]
fn a_faulty_file_is_named_with_the_line() {
    let refusal = with_file("bind = '127.0.0.1:1'\nadmin_bind = \n", Sources::default()).unwrap_err();
    assert!(
        refusal.to_string().contains("forecourt.toml is not valid TOML: line 2"),
        "{refusal}"
    );
    let twice = with_file(
        "bind = '127.0.0.1:1'\nforecourt_bind = '127.0.0.1:2'",
        Sources::default(),
    )
    .unwrap_err();
    assert!(matches!(twice, SettingError::SaidTwice { .. }), "{twice}");
    let missing = Sources {
        file: Some("/not/there.toml".into()),
        ..Sources::default()
    };
    assert_eq!(
        self::refusal(missing),
        "the settings file /not/there.toml cannot be read"
    );
}

#[test]
fn a_chat_endpoint_needs_its_address_and_model() {
    let mut variables = vec![("FORECOURT_LEAD_AI", "openai")];
    assert_eq!(
        refusal(environment(&variables)),
        "FORECOURT_LEAD_AI_URL must be set when FORECOURT_LEAD_AI is openai"
    );
    variables.push(("FORECOURT_LEAD_AI_URL", "http://127.0.0.1:11434/v1"));
    assert!(refusal(environment(&variables)).starts_with("FORECOURT_LEAD_AI_MODEL "));
    variables.push(("FORECOURT_LEAD_AI_MODEL", "small"));
    assert!(Settings::load(environment(&variables)).is_ok());
}

#[test]
fn debug_shows_no_secret() {
    let settings = Settings::load(environment(&[
        ("DATABASE_URL", "postgres://u:hunter2@h/d"),
        ("FORECOURT_LEAD_AI_KEY", "hunter2"),
        ("FORECOURT_LEAD_AI_URL", "https://u:hunter2@h/v1?key=hunter2"),
        ("FORECOURT_SMTP_URL", "smtps://u:hunter2@h"),
        ("FORECOURT_REDIS_URL", "redis://:hunter2@h"),
    ]));
    assert!(!format!("{:?}", settings.unwrap()).contains("hunter2"));
}

#[test]
fn postgres_needs_a_key_of_its_own() {
    use crate::system::SystemRandom;
    let postgres = Settings::load(environment(&[("DATABASE_URL", "postgres://h/d")])).unwrap();
    let error = postgres.working_secret_key(&SystemRandom).unwrap_err();
    assert!(
        error.to_string().starts_with("FORECOURT_SECRET_KEY must be set"),
        "{error}"
    );
}
