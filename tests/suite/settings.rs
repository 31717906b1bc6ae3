//! Settings: their sources, their precedence, and the refusal of bad ones.

use std::fs;
use std::net::TcpListener;

use harness::{Engine, Installation, Server, Shop, acme};
use serde_json::json;

/// The settings that can have malformed values, each with some of these.
const MALFORMED: &[(&str, &[&str])] = &[
    ("DATABASE_URL", &["mysql://root@localhost/x", "nonsense"]),
    ("FORECOURT_BIND", &["nonsense", "127.0.0.1", "127.0.0.1:99999"]),
    ("FORECOURT_ADMIN_BIND", &["nonsense", "on"]),
    ("FORECOURT_PUBLIC_URL", &["nonsense", "ftp://acme.example"]),
    ("FORECOURT_SECRET_KEY", &["nonsense", "c2hvcnQ="]),
    ("FORECOURT_RATE_LIMIT_PER_MINUTE", &["-1", "x", "1.5"]),
    ("FORECOURT_RATE_LIMIT_PER_DAY", &["-1", "many"]),
    ("FORECOURT_REDIS_URL", &["nonsense", "http://localhost"]),
    ("FORECOURT_AUTH_FAILURES_PER_MINUTE", &["-1", "x"]),
    (
        "FORECOURT_BLOCKED_ADDRESSES",
        &["nonsense", "10.0.0.0/33", "10.0.0.1,x"],
    ),
    ("FORECOURT_CORS_ORIGINS", &["shop.example", "https://shop.example/"]),
    ("FORECOURT_TRUSTED_PROXIES", &["nonsense", "300.0.0.0/8"]),
    ("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", &["maybe"]),
    ("FORECOURT_WEBHOOK_RETRY_OFFSETS", &["x", "60,x", "-60"]),
    ("FORECOURT_WEBHOOK_TIMEOUT_SECONDS", &["x", "-1"]),
    ("FORECOURT_WEBHOOK_SETTLE_SECONDS", &["x"]),
    ("FORECOURT_WEBHOOK_DISABLE_AFTER", &["x"]),
    ("FORECOURT_BLOB_URL", &["nonsense", "ftp://files"]),
    ("FORECOURT_SMTP_URL", &["nonsense", "http://mail"]),
    ("FORECOURT_MAILS_PER_BUSINESS_PER_DAY", &["-1", "many"]),
    ("FORECOURT_LEAD_AI", &["magic"]),
    ("FORECOURT_LOG_FORMAT", &["xml"]),
];

async fn installation() -> Installation {
    Installation::new(Engine::Sqlite).await
}

/// Returns the server's URL in its links.
async fn public_url(server: &Server) -> String {
    let document = server.anonymous().get("/2.0/openapi.json").await.json();
    document["servers"][0]["url"]
        .as_str()
        .unwrap()
        .trim_end_matches('/')
        .to_owned()
}

#[tokio::test]
async fn an_unknown_variable_stops_the_start() {
    let installation = installation().await;
    for name in ["FORECOURT_NONSENSE", "FORECOURT_BINDD", "FORECOURT_"] {
        installation.serve().env(name, "1").refused().await.failed_naming(name);
    }
}

/// Kubernetes sets these next to a service named `forecourt`.
#[tokio::test]
async fn what_a_container_platform_injects_is_passed_over() {
    let shop = Shop::open_with(Engine::Sqlite, |serve| {
        serve
            .env("FORECOURT_SERVICE_HOST", "10.0.0.1")
            .env("FORECOURT_SERVICE_PORT_HTTP", "80")
            .env("FORECOURT_PORT", "tcp://10.0.0.1:80")
            .env("FORECOURT_PORT_80_TCP_ADDR", "10.0.0.1")
    })
    .await;
    shop.api.get("/2.0/leads").await.ok();
}

#[tokio::test]
async fn a_malformed_variable_stops_the_start() {
    let installation = installation().await;
    for (name, values) in MALFORMED {
        for value in *values {
            installation
                .serve()
                .env(name, value)
                .refused()
                .await
                .failed_naming(name);
        }
    }
}

#[tokio::test]
async fn an_unknown_or_malformed_entry_of_the_file_stops_the_start() {
    let installation = installation().await;
    for (content, needle) in [
        ("nonsense = 1", "nonsense"),
        ("rate_limit_per_minute = \"many\"", "rate_limit_per_minute"),
        ("rate_limit_per_minute = -1", "rate_limit_per_minute"),
        ("log_format = 8", "log_format"),
        ("webhook_retry_offsets = [60, \"x\"]", "webhook_retry_offsets"),
        ("log_format = ", ""),
    ] {
        let file = installation.write("toml", content);
        let serve = installation.serve().without("FORECOURT_RATE_LIMIT_PER_MINUTE");
        serve.args(["--config", &file]).refused().await.failed_naming(needle);
    }
    let serve = installation.serve().args(["--config", "missing.toml"]);
    serve.refused().await.failed_naming("missing.toml");
}

#[tokio::test]
async fn a_malformed_option_stops_the_start() {
    let installation = installation().await;
    for (option, value) in [
        ("--bind", "nonsense"),
        ("--rate-limit-per-minute", "x"),
        ("--public-url", "nonsense"),
    ] {
        let outcome = installation.serve().args([option, value]).refused().await;
        assert!(!outcome.status.success(), "{option}");
        assert!(
            outcome.stderr.contains(option),
            "{option} is not named: {}",
            outcome.stderr
        );
    }
}

#[tokio::test]
async fn an_option_beats_the_environment_which_beats_the_file() {
    let installation = installation().await;
    let file = installation.write("toml", "public_url = \"https://file.example\"\n");
    let serve = || installation.serve().args(["--config", &file]);
    assert_eq!(public_url(&serve().start().await).await, "https://file.example");
    let environment = || serve().env("FORECOURT_PUBLIC_URL", "https://environment.example");
    assert_eq!(
        public_url(&environment().start().await).await,
        "https://environment.example"
    );
    let option = environment().args(["--public-url", "https://option.example"]);
    assert_eq!(public_url(&option.start().await).await, "https://option.example");
}

/// The settings that may hold a secret, each with a value.
const SECRETS: [(&str, &str); 6] = [
    ("DATABASE_URL", "sqlite://data/of-a-file.db"),
    ("FORECOURT_SECRET_KEY", "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU="),
    ("FORECOURT_SMTP_URL", "smtp://user:hunter2@127.0.0.1:1"),
    ("FORECOURT_REDIS_URL", "redis://:hunter2@127.0.0.1:1"),
    ("FORECOURT_LEAD_AI_KEY", "hunter2"),
    ("FORECOURT_LEAD_AI_URL", "http://127.0.0.1:1/v1?key=hunter2"),
];

#[tokio::test]
async fn secrets_can_be_given_by_files() {
    let installation = installation().await;
    for by_file in [false, true] {
        let mut serve = installation.serve();
        let mut config = String::new();
        for (name, value) in SECRETS {
            let path = installation.write("secret", format!("{value}\n"));
            serve = serve.without(name);
            if by_file {
                let key = name.to_lowercase();
                let key = key.strip_prefix("forecourt_").unwrap_or(&key);
                config.push_str(&format!("{key}_file = \"{path}\"\n"));
            } else {
                serve = serve.env(&format!("{name}_FILE"), path);
            }
        }
        let config = installation.write("toml", config);
        let mut server = serve.args(["--config", &config]).start().await;
        assert!(installation.data_dir().join("of-a-file.db").is_file());
        server.terminate().await;
        assert!(!server.log().contains("hunter2"), "{}", server.log());
    }
    // The database was used with the key from the file, and no other key opens it.
    let serve = installation.serve().env("DATABASE_URL", SECRETS[0].1);
    serve.refused().await.failed_naming("FORECOURT_SECRET_KEY");
}

#[tokio::test]
async fn a_secret_is_given_in_one_form() {
    let installation = installation().await;
    for (name, value) in SECRETS {
        let path = installation.write("secret", value);
        let of_file = format!("{name}_FILE");
        let outcome = installation
            .serve()
            .env(name, value)
            .env(&of_file, &path)
            .refused()
            .await;
        outcome.failed_naming(&of_file);
        outcome.failed_naming(name);
        assert!(!outcome.stderr.contains("hunter2"), "{}", outcome.stderr);
        let missing = installation
            .serve()
            .without(name)
            .env(&of_file, "not/there")
            .refused()
            .await;
        missing.failed_naming(&of_file);
        let empty = installation.write("secret", "\n");
        let empty = installation.serve().without(name).env(&of_file, empty).refused().await;
        empty.failed_naming(&of_file);
    }
    // Commands read the same settings.
    let path = installation.write("secret", "nonsense");
    let run = installation
        .run_with(["key", "list"], &[("FORECOURT_SMTP_URL_FILE", &path)])
        .await;
    run.failed_naming("FORECOURT_SMTP_URL_FILE");
}

#[tokio::test]
async fn what_may_hold_a_password_is_an_option_of_no_command() {
    let installation = installation().await;
    for option in [
        "--database-url",
        "--smtp-url",
        "--redis-url",
        "--secret-key",
        "--lead-ai-key",
        "--lead-ai-url",
    ] {
        for command in [&["serve"][..], &["migrate"], &["key", "list"], &["business", "list"]] {
            let joined = format!("{option}=hunter2");
            for value in [&[option, "hunter2"][..], &[joined.as_str()]] {
                let outcome = installation.run(command.iter().chain(value).copied()).await;
                outcome.failed_naming(option);
                assert!(!outcome.stderr.contains("hunter2"), "{}", outcome.stderr);
            }
        }
    }
    for option in ["--token", "--secret"] {
        let arguments = ["listen", "--forward-to", "http://127.0.0.1:1", option, "hunter2"];
        installation.run(arguments).await.failed_naming(option);
    }
}

#[tokio::test]
async fn the_rate_limit_is_300_a_minute_and_10000_a_day_by_default() {
    let installation = installation().await;
    let limit = async |server: Server| {
        let shop = Shop::on(server).await;
        shop.api.get("/2.0/leads").await.number("X-RateLimit-Limit")
    };
    let serve = || installation.serve();
    let (minute, day) = ("FORECOURT_RATE_LIMIT_PER_MINUTE", "FORECOURT_RATE_LIMIT_PER_DAY");
    assert_eq!(limit(serve().without(minute).start().await).await, 300);
    assert_eq!(limit(serve().without(day).start().await).await, 10_000);
    assert_eq!(limit(serve().without(minute).without(day).start().await).await, 300);
}

#[tokio::test]
async fn an_embedded_database_and_a_data_folder_are_made_where_none_is_named() {
    let installation = installation().await;
    let serve = installation
        .serve()
        .without("DATABASE_URL")
        .without("FORECOURT_DATA_DIR");
    let server = serve.start().await;
    assert!(installation.folder().join("data/forecourt.db").is_file());
    server
        .anonymous()
        .get("/2.0/leads")
        .await
        .refused(401, "authentication_required");
}

#[tokio::test]
async fn a_secret_key_is_made_once_where_none_is_given() {
    let installation = installation().await;
    let mut shop = Shop::on(installation.serve().without("FORECOURT_SECRET_KEY").start().await).await;
    let send = async |shop: &Shop| {
        let request = shop.api.request("POST", "/2.0/leads").key("key");
        request.json(&json!({"name": "Ann"})).send().await
    };
    let first = send(&shop).await;
    let files = || fs::read_dir(installation.data_dir()).unwrap().count();
    let before = files();
    assert!(before > 0, "the data folder holds the key");
    shop.server.restart().await;
    // Data that was encrypted with it can still be read.
    assert_eq!(send(&shop).await.text(), first.text());
}

#[tokio::test]
async fn postgres_needs_a_secret_key() {
    let installation = Installation::new(Engine::Postgres).await;
    let outcome = installation.serve().without("FORECOURT_SECRET_KEY").refused().await;
    outcome.failed_naming("FORECOURT_SECRET_KEY");
}

#[tokio::test]
async fn insecure_webhook_targets_are_warned_of() {
    let serve = installation().await.serve();
    let mut server = serve
        .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
        .start()
        .await;
    server.terminate().await;
    let warning = |line: &str| line.contains("WARN") && line.to_lowercase().contains("insecure");
    assert!(server.log().lines().any(warning), "{}", server.log());
}

#[tokio::test]
async fn an_address_in_use_stops_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for name in ["FORECOURT_BIND", "FORECOURT_ADMIN_BIND"] {
        let outcome = installation().await.serve().env(name, &address).refused().await;
        assert!(
            !outcome.status.success() && outcome.stderr.contains(&address),
            "{name}: {outcome:?}"
        );
    }
}

#[tokio::test]
async fn settings_of_areas_to_come_are_accepted() {
    let installation = installation().await;
    let mut serve = installation.serve();
    for (name, value) in [
        ("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", "false"),
        (
            "FORECOURT_WEBHOOK_RETRY_OFFSETS",
            "60,300,900,3600,10800,21600,43200,86400",
        ),
        ("FORECOURT_WEBHOOK_TIMEOUT_SECONDS", "10"),
        ("FORECOURT_WEBHOOK_SETTLE_SECONDS", "3"),
        ("FORECOURT_WEBHOOK_DISABLE_AFTER", "10"),
        ("FORECOURT_BLOB_URL", "s3://bucket/prefix"),
        ("FORECOURT_LEAD_AI", "rules"),
        ("FORECOURT_LOG", "info"),
    ] {
        serve = serve.env(name, value);
    }
    let server = serve.start().await;
    installation.business(&acme()).await;
    drop(server);
}
