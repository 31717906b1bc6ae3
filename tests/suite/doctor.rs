//! `forecourt doctor` and `forecourt health`: each check says what is wrong, and its remedy makes it well.

use std::fs::{self, File};
use std::time::{Duration, UNIX_EPOCH};

use harness::{Engine, Installation, Outcome, Port, PostOffice, Shop, both_engines, eventually, now};
use serde_json::{Value, json};

both_engines! {
    a_sound_installation_has_no_failure
    faults_of_the_settings_are_found
    a_missing_or_outdated_database_is_found_and_not_made
    faults_around_a_running_server_are_found
    no_secret_is_printed
}

const IDS: [&str; 36] = [
    "settings.read",
    "settings.unused",
    "settings.insecure",
    "proxy.trusted",
    "secret-key",
    "database.reach",
    "database.version",
    "database.schema",
    "database.durability",
    "database.connections",
    "database.isolation",
    "database.collation",
    "database.extension",
    "database.statistics",
    "database.wraparound",
    "database.log",
    "database.integrity",
    "disk",
    "files.store",
    "files.sweep",
    "redis",
    "redis.version",
    "smtp",
    "smtp.auth",
    "mail.sender",
    "lead-ai",
    "clock",
    "public-url",
    "outbound",
    "webhooks.failing",
    "webhooks.disabled",
    "background",
    "mails",
    "backup",
    "outgoing",
    "limits",
];
const TIMEOUT: Duration = Duration::from_secs(60);

async fn doctor(installation: &Installation, words: &[&str], variables: &[(&str, &str)]) -> (Outcome, Value) {
    let words = ["doctor", "--json"].iter().chain(words).copied();
    let outcome = installation.run_with(words, variables).await;
    let report = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    (outcome, report)
}

/// Makes one check; returns its status, and what was found with the remedy.
async fn check(installation: &Installation, id: &str, variables: &[(&str, &str)]) -> (String, String) {
    let (_, report) = doctor(installation, &["--only", id], variables).await;
    let check = &report["checks"][0];
    assert_eq!(check["id"], id);
    let text = |member: &str| check[member].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        check["remedy"].is_null(),
        ["ok", "skip"].contains(&text("status").as_str()),
        "{check}"
    );
    (text("status"), format!("{} -> {}", text("found"), text("remedy")))
}

async fn is(installation: &Installation, id: &str, variables: &[(&str, &str)], status: &str, words: &str) {
    let (found, text) = check(installation, id, variables).await;
    assert_eq!(found, status, "{id}: {text}");
    assert!(text.contains(words), "{id}: {text}");
}

async fn a_sound_installation_has_no_failure(engine: Engine) {
    let shop = Shop::open(engine).await;
    let installation = shop.installation();
    // The tests' PostgreSQL is not protected from power cuts.
    let (outcome, report) = doctor(installation, &["--skip", "database.durability"], &[]).await;
    assert_eq!(outcome.status.code(), Some(0), "{report}");
    assert_eq!(report["ok"], true, "{report}");
    let ids: Vec<&str> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["id"].as_str().unwrap())
        .collect();
    let expected: Vec<&str> = IDS.into_iter().filter(|id| *id != "database.durability").collect();
    assert_eq!(ids, expected);
    for check in report["checks"].as_array().unwrap() {
        let members: Vec<&String> = check.as_object().unwrap().keys().collect();
        assert_eq!(members, ["id", "status", "found", "remedy", "help", "milliseconds"]);
        assert!(check["help"].as_str().unwrap().starts_with("https://"), "{check}");
        let well = [
            "secret-key",
            "database.reach",
            "database.schema",
            "files.store",
            "background",
            "outgoing",
        ];
        if well.contains(&check["id"].as_str().unwrap()) {
            assert_eq!(check["status"], "ok", "{check}");
        }
    }
    // Warnings count with --strict alone.
    let strict = ["--strict", "--only", "backup"];
    assert_eq!(doctor(installation, &strict, &[]).await.0.status.code(), Some(3));
    assert_eq!(doctor(installation, &strict[1..], &[]).await.0.status.code(), Some(0));
    let unknown = installation.run(["doctor", "--only", "disc"]).await;
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    let lines = installation
        .run(["doctor", "--only", "outgoing,backup"])
        .await
        .succeeded();
    assert!(
        lines.starts_with("warn  backup ") && lines.contains("\n      do: ") && lines.contains("\nok    outgoing "),
        "{lines}"
    );

    let url = shop.server.base_url();
    installation.run(["health", "--url", &url]).await.succeeded();
    let bind = [("FORECOURT_BIND", url.strip_prefix("http://").unwrap())];
    installation.run_with(["health"], &bind).await.succeeded();
    let unused = format!("127.0.0.1:{}", Port::reserve().number());
    let dead = installation.run_with(["health"], &[("FORECOURT_BIND", &unused)]).await;
    assert_eq!(dead.status.code(), Some(1));
    dead.failed_naming("not ready");
}

async fn faults_of_the_settings_are_found(engine: Engine) {
    let shop = Shop::open(engine).await;
    let installation = shop.installation();
    let unreadable = [("FORECOURT_WEBHOOK_TIMEOUT_SECONDS", "soon")];
    let (outcome, report) = doctor(installation, &[], &unreadable).await;
    assert_eq!(outcome.status.code(), Some(3));
    let first = &report["checks"][0];
    assert!(
        first["status"] == "fail" && first["found"].as_str().unwrap().contains("TIMEOUT_SECONDS"),
        "{first}"
    );
    assert!(
        report["checks"].as_array().unwrap()[1..]
            .iter()
            .all(|check| check["status"] == "skip"),
        "{report}"
    );
    is(installation, "settings.read", &[], "ok", "").await;

    is(
        installation,
        "settings.unused",
        &[("FORECOURT_PORT", "tcp://10.0.0.1")],
        "warn",
        "unset FORECOURT_PORT",
    )
    .await;
    is(installation, "settings.unused", &[], "ok", "").await;
    let wrong = [("FORECOURT_SECRET_KEY", "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=")];
    is(installation, "secret-key", &wrong, "fail", "secret-key forget").await;
    is(installation, "secret-key", &[], "ok", "").await;
    let blocked = format!("file://{}", installation.write("txt", "a file, not a folder"));
    is(
        installation,
        "files.store",
        &[("FORECOURT_BLOB_URL", &blocked)],
        "fail",
        "FORECOURT_BLOB_URL",
    )
    .await;
    is(installation, "files.store", &[], "ok", "").await;

    let unused = Port::reserve().number();
    let nowhere = format!("127.0.0.1:{unused}");
    let redis = format!("redis://:secret@{nowhere}");
    is(
        installation,
        "redis",
        &[("FORECOURT_REDIS_URL", &redis)],
        "fail",
        "FORECOURT_REDIS_URL",
    )
    .await;
    let redis = std::env::var("FORECOURT_TEST_REDIS_URL").unwrap();
    is(installation, "redis", &[("FORECOURT_REDIS_URL", &redis)], "ok", "").await;
    is(
        installation,
        "redis.version",
        &[("FORECOURT_REDIS_URL", &redis)],
        "ok",
        "",
    )
    .await;
    let smtp = format!("smtp://{nowhere}");
    is(
        installation,
        "smtp",
        &[("FORECOURT_SMTP_URL", &smtp)],
        "fail",
        "FORECOURT_SMTP_URL",
    )
    .await;
    let office = PostOffice::open().await;
    let smtp = office.url();
    is(installation, "smtp", &[("FORECOURT_SMTP_URL", &smtp)], "ok", "").await;
    is(installation, "smtp.auth", &[("FORECOURT_SMTP_URL", &smtp)], "ok", "").await;
    assert!(office.letters().is_empty(), "no mail is sent");
    let words = ["--only", "smtp.auth", "--mail-to", "me@host.example"];
    let (_, report) = doctor(installation, &words, &[("FORECOURT_SMTP_URL", &smtp)]).await;
    assert_eq!(report["checks"][0]["status"], "ok", "{report}");
    assert_eq!(office.letters().len(), 1);
    let model = format!("http://{nowhere}/v1");
    let model = [
        ("FORECOURT_LEAD_AI", "openai"),
        ("FORECOURT_LEAD_AI_URL", model.as_str()),
        ("FORECOURT_LEAD_AI_MODEL", "small"),
    ];
    is(installation, "lead-ai", &model, "warn", "FORECOURT_LEAD_AI=rules").await;
    is(installation, "lead-ai", &[("FORECOURT_LEAD_AI", "rules")], "ok", "").await;
    let elsewhere = format!("http://{nowhere}");
    is(
        installation,
        "public-url",
        &[("FORECOURT_PUBLIC_URL", &elsewhere)],
        "warn",
        "FORECOURT_PUBLIC_URL",
    )
    .await;
    let own = shop.server.base_url();
    is(installation, "public-url", &[("FORECOURT_PUBLIC_URL", &own)], "ok", "").await;
    let other = Shop::open(engine).await;
    let foreign = other.server.base_url();
    is(
        installation,
        "public-url",
        &[("FORECOURT_PUBLIC_URL", &foreign)],
        "warn",
        "another installation",
    )
    .await;
    let (_, report) = doctor(
        installation,
        &["--no-network", "--only", "public-url"],
        &[("FORECOURT_PUBLIC_URL", &own)],
    )
    .await;
    assert_eq!(report["checks"][0]["status"], "skip", "{report}");
}

async fn a_missing_or_outdated_database_is_found_and_not_made(engine: Engine) {
    let installation = Installation::new(engine).await;
    let (outcome, report) = doctor(&installation, &["--only", "database.reach,database.schema"], &[]).await;
    let status = |index: usize| report["checks"][index]["status"].clone();
    match engine {
        Engine::Sqlite => {
            assert_eq!(outcome.status.code(), Some(3));
            assert_eq!((status(0), status(1)), (json!("fail"), json!("skip")), "{report}");
            let file = installation.database_url().strip_prefix("sqlite://").unwrap();
            assert!(!fs::exists(file).unwrap(), "it is not made");
        }
        Engine::Postgres => {
            assert_eq!((status(0), status(1)), (json!("ok"), json!("warn")), "{report}");
            let remedy = &report["checks"][1]["remedy"];
            assert_eq!(remedy, "forecourt migrate");
        }
    }
    installation.run(["migrate"]).await.succeeded();
    is(&installation, "database.reach", &[], "ok", "").await;
    is(&installation, "database.schema", &[], "ok", "").await;
}

async fn faults_around_a_running_server_are_found(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| serve.webhooks_disabled_after(1)).await;
    let installation = shop.installation();
    installation.run(["outgoing", "hold"]).await.succeeded();
    is(installation, "outgoing", &[], "warn", "forecourt outgoing release").await;
    installation.run(["outgoing", "release"]).await.succeeded();
    is(installation, "outgoing", &[], "ok", "").await;

    is(installation, "proxy.trusted", &[], "ok", "").await;
    let request = shop
        .api
        .request("GET", "/2.0/meta")
        .header("X-Forwarded-For", "203.0.113.7");
    request.send().await.ok();
    eventually("the server has said so", TIMEOUT, async || {
        let (status, text) = check(installation, "proxy.trusted", &[]).await;
        if status == "warn" && text.contains("FORECOURT_TRUSTED_PROXIES=127.0.0.1") {
            Ok(())
        } else {
            Err(text)
        }
    })
    .await;

    let unused = Port::reserve().number();
    let webhook = json!({"url": format!("http://127.0.0.1:{unused}/hook?token=secret"), "events": ["lead.created"]});
    let webhook = shop.api.post("/2.0/webhooks", &webhook).await.created();
    is(installation, "outbound", &[], "warn", &unused.to_string()).await;
    shop.lead(&json!({"name": "Ann"})).await;
    let path = format!("/2.0/webhooks/{}", webhook["id"]);
    eventually("it is disabled", TIMEOUT, async || {
        let webhook = shop.api.get(&path).await.ok();
        if webhook["status"] == "disabled" {
            Ok(())
        } else {
            Err(webhook)
        }
    })
    .await;
    is(installation, "outbound", &[], "ok", "").await;
    is(installation, "webhooks.failing", &[], "ok", "").await;
    is(installation, "background", &[], "ok", "").await;
    is(installation, "mails", &[], "ok", "").await;

    // Files that no record names, two days old.
    let folder = installation.data_dir().join("files/1/00");
    fs::create_dir_all(&folder).unwrap();
    let two_days_ago = UNIX_EPOCH + Duration::from_secs(u64::try_from(now()).unwrap()) - Duration::from_hours(48);
    for number in 0..1_001 {
        let file = File::create(folder.join(format!("{number:032x}.pdf"))).unwrap();
        file.set_modified(two_days_ago).unwrap();
    }
    is(installation, "files.sweep", &[], "warn", "forecourt files check").await;
    fs::remove_dir_all(&folder).unwrap();
    is(installation, "files.sweep", &[], "ok", "").await;

    if matches!(engine, Engine::Postgres) {
        installation
            .alter_database("SET default_transaction_isolation = 'serializable'")
            .await;
        is(installation, "database.isolation", &[], "warn", "read committed").await;
        installation
            .alter_database("SET default_transaction_isolation = 'read committed'")
            .await;
        is(installation, "database.isolation", &[], "ok", "").await;
        is(
            installation,
            "database.durability",
            &[],
            "fail",
            "ALTER SYSTEM SET fsync = on",
        )
        .await;
    } else {
        is(installation, "database.durability", &[], "ok", "").await;
        is(installation, "database.integrity", &[], "ok", "").await;
        installation.configure("FORECOURT_SECRET_KEY", None);
        let file = installation.data_dir().join("secret.key");
        is(installation, "secret-key", &[], "fail", "there is no key").await;
        assert!(!file.exists(), "it is not made");
    }
}

async fn no_secret_is_printed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let nowhere = format!("127.0.0.1:{}", Port::reserve().number());
    let variables = [
        (
            "FORECOURT_SMTP_URL",
            format!("smtp://someone:hunter2@{nowhere}?tls=none"),
        ),
        ("FORECOURT_REDIS_URL", format!("redis://:hunter2@{nowhere}")),
        ("FORECOURT_LEAD_AI", "openai".to_owned()),
        ("FORECOURT_LEAD_AI_URL", format!("http://{nowhere}/v1?key=hunter2")),
        ("FORECOURT_LEAD_AI_MODEL", "small".to_owned()),
        ("FORECOURT_LEAD_AI_KEY", "hunter2".to_owned()),
        ("FORECOURT_PUBLIC_URL", format!("http://{nowhere}")),
        ("FORECOURT_LOG", "trace".to_owned()),
    ];
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    for words in [&["doctor"][..], &["doctor", "--json", "--strict"]] {
        let outcome = shop.installation().run_with(words.iter().copied(), &variables).await;
        let shown = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(shown.contains("smtp"), "{shown}");
        for secret in [
            "hunter2",
            "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY",
            "postgres:postgres",
        ] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}
