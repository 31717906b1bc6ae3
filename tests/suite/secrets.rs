//! No token, secret or password is ever logged, or stored in readable form.

use std::fs;
use std::path::Path;
use std::time::Duration;

use harness::{Engine, Installation, Receiver, Shop, both_engines};
use serde_json::json;

both_engines! {
    no_token_is_logged
    no_webhook_s_secret_is_logged_or_kept_in_clear
    the_database_s_password_is_not_logged
    passwords_of_other_services_are_not_logged
}

async fn no_token_is_logged(engine: Engine) {
    for format in ["text", "json"] {
        let setup = |serve: harness::Serve| {
            let serve = serve.env("FORECOURT_LOG", "trace");
            if format == "json" {
                serve.env("FORECOURT_LOG_FORMAT", format)
            } else {
                serve
            }
        };
        let mut shop = Shop::open_with(engine, setup).await;
        let key = shop.business.key("all").await;
        let client = shop.server.client(&key.token);
        client.get("/2.0/leads").await.ok();
        client.get("/2.0/leads/1").await.refused(404, "lead_not_found");
        let request = client.request("POST", "/2.0/leads").key("key");
        request.json(&json!({"name": "Ann"})).send().await.created();
        let mistyped = format!("{}x", key.token);
        shop.server
            .client(&mistyped)
            .get("/2.0/leads")
            .await
            .refused(401, "authentication_invalid");
        client.get(&format!("/2.0/leads?token={}", key.secret())).await.ok();
        client
            .get(&format!("/2.0/nothing/{}", key.secret()))
            .await
            .refused(404, "route_not_found");

        shop.server.terminate().await;
        let log = shop.server.log();
        assert!(log.contains("/2.0/leads"), "{log}");
        // Text in a request's address is not known to be a secret, but the key of a request is.
        let told = log.lines().filter(|line| line.contains(key.secret()));
        let told: Vec<&str> = told
            .filter(|line| !line.contains("/2.0/leads?token=") && !line.contains("/2.0/nothing/"))
            .collect();
        assert!(told.is_empty(), "{told:?}");
        assert!(
            !log.contains("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"),
            "the secret key is logged"
        );
    }
}

async fn no_webhook_s_secret_is_logged_or_kept_in_clear(engine: Engine) {
    let setup = |serve: harness::Serve| {
        serve
            .env("FORECOURT_LOG", "trace")
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
    };
    let mut shop = Shop::open_with(engine, setup).await;
    let receiver = Receiver::start();
    // The requests have a key, so that the answers are stored as well.
    let request = shop.api.request("POST", "/2.0/webhooks").key("create");
    let body = json!({"url": receiver.url("/"), "events": "*"});
    let created = request.json(&body).send().await.created();
    let path = format!("/2.0/webhooks/{}", created["id"]);
    shop.api.post(&format!("{path}/ping"), &json!({})).await.ok();
    receiver.wait_for(1, Duration::from_secs(60));
    let request = shop.api.request("POST", &format!("{path}/secret/rotate")).key("rotate");
    let rotated = request.send().await.ok();
    shop.lead(&json!({"name": "Ann"})).await;
    receiver.wait_for(2, Duration::from_secs(60));
    shop.server.terminate().await;
    for shown in [created, rotated] {
        let secret = shown["secret"].as_str().unwrap();
        assert!(!shop.server.log().contains(secret), "a webhook's secret is logged");
        let mut found = Vec::new();
        search(shop.installation().folder(), secret.as_bytes(), &mut found);
        assert!(found.is_empty(), "{found:?}");
    }
}

async fn the_database_s_password_is_not_logged(engine: Engine) {
    let installation = Installation::new(engine).await;
    let url = "postgres://somebody:correct-horse@127.0.0.1:1/nothing";
    let outcome = installation
        .serve()
        .env("DATABASE_URL", url)
        .env("FORECOURT_LOG", "trace")
        .refused()
        .await;
    assert!(!outcome.status.success());
    assert!(!outcome.stderr.contains("correct-horse"), "{}", outcome.stderr);
}

/// Uses services that cannot be reached, refuse the password or have another protocol: no error repeats the password.
async fn passwords_of_other_services_are_not_logged(engine: Engine) {
    const PASSWORD: &str = "correct-horse";
    let receiver = Receiver::start();
    let elsewhere = receiver.url("").replace("http://", "");
    for host in ["127.0.0.1:1", elsewhere.trim_end_matches('/')] {
        let setup = |serve: harness::Serve| {
            serve
                .env("FORECOURT_LOG", "trace")
                .env("FORECOURT_RATE_LIMIT_PER_MINUTE", 10)
                .env("FORECOURT_SMTP_URL", format!("smtp://user:{PASSWORD}@{host}?tls=none"))
                .env("FORECOURT_REDIS_URL", format!("redis://user:{PASSWORD}@{host}"))
        };
        let mut shop = Shop::open_with(engine, setup).await;
        let lead = json!({"name": "Ann", "email": "ann@example.com", "channel": "email"});
        let lead = format!("/2.0/leads/{}", shop.lead(&lead).await["id"]);
        let reply = json!({"direction": "out", "channel": "email", "body": "Hello"});
        let refused = shop.api.post(&format!("{lead}/messages"), &reply).await;
        refused.refused(422, "lead_send_failed");
        shop.server.terminate().await;
        for seen in [shop.server.log(), shop.server.stdout(), refused.text().to_owned()] {
            assert!(!seen.contains(PASSWORD), "{seen}");
            // The form in which SMTP sends it.
            assert!(
                !seen.contains("Y29ycmVjdC1ob3JzZQ") && !seen.contains("AHVzZXIAY29ycmVjdC1ob3JzZQ"),
                "{seen}"
            );
        }
    }
    let installation = Installation::new(engine).await;
    for (name, urls) in [
        (
            "DATABASE_URL",
            &[
                "postgres://u:correct-horse@127.0.0.1:99999/d",
                "postgres://u:correct-horse@h:x/d",
                "postgres://u:correct-horse@[::1/d",
                "postgres://u:correct-horse@127.0.0.1:1/d?sslmode=no",
                "postgres://u:correct-horse%zz@127.0.0.1:1/d",
                "postgres://u:correct-horse/x@127.0.0.1:1/d",
                "postgres://u:correct-horse#@127.0.0.1:1/d",
                "postgres://127.0.0.1:1/d?password=correct-horse&user=u",
                "mysql://u:correct-horse@127.0.0.1/d",
            ][..],
        ),
        (
            "FORECOURT_SMTP_URL",
            &[
                "smtp://u:correct-horse@h:99999",
                "smtp://:correct-horse@h",
                "smtp://u:correct-horse@h/path",
                "smtp://u:correct-horse@h?tls=no",
                "imap://u:correct-horse@h",
            ],
        ),
        (
            "FORECOURT_REDIS_URL",
            &[
                "redis://u:correct-horse@h:99999",
                "redis://u:correct-horse@h/x",
                "redis://u:correct-horse@",
                "http://u:correct-horse@h",
            ],
        ),
    ] {
        for url in urls {
            let serve = installation.serve().env(name, url).env("FORECOURT_LOG", "trace");
            let outcome = serve.refused().await;
            assert!(!outcome.status.success(), "{url}");
            let seen = format!("{}{}", outcome.stderr, outcome.stdout);
            assert!(!seen.contains(PASSWORD), "{url}: {seen}");
        }
    }
}

#[tokio::test]
async fn no_token_is_stored_in_the_database() {
    let shop = Shop::open(Engine::Sqlite).await;
    let key = shop.business.key("all").await;
    shop.server.client(&key.token).get("/2.0/leads").await.ok();
    let mut found = Vec::new();
    search(shop.installation().folder(), key.secret().as_bytes(), &mut found);
    assert!(found.is_empty(), "{found:?}");
}

/// Collects the files under `folder` that contain `needle`.
fn search(folder: &Path, needle: &[u8], found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, needle, found);
        } else if fs::read(&path)
            .unwrap()
            .windows(needle.len())
            .any(|window| window == needle)
        {
            found.push(path.display().to_string());
        }
    }
}
