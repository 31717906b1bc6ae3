//! A database that is reachable but faulty: full, read-only, deleted, damaged, slow.
//!
//! Writes are refused with 503 and may be sent again, reads continue if they can, and readiness reports the fault.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::{Answer, Engine, Installation, Proxy, Shop, repeated, wait_for};
use serde_json::json;
use tokio::task::JoinSet;

/// The maximum time until the server notices.
const NOTICE: Duration = Duration::from_secs(60);

/// Asserts that the answer reports a database that cannot do its work.
#[track_caller]
fn unavailable(answer: &Answer) {
    answer.refused(503, "service_unavailable");
    assert!(answer.number("Retry-After") >= 1);
}

async fn write(shop: &Shop) -> Answer {
    shop.api.post("/2.0/leads", &json!({"name": "Bea"})).await
}

async fn readiness(shop: &Shop) -> Answer {
    shop.server.anonymous().get("/readyz").await
}

/// Asserts that writes and readiness are refused.
async fn refuses_writes(shop: &Shop) {
    unavailable(&write(shop).await);
    // An answer about readiness is valid for up to a second.
    wait_for("the server is not ready", NOTICE, async || {
        readiness(shop).await.status == 503
    })
    .await;
    unavailable(&readiness(shop).await);
    assert_eq!(shop.server.anonymous().get("/healthz").await.status, 200);
}

async fn takes_writes_again(shop: &Shop) {
    wait_for("writes work again", NOTICE, async || write(shop).await.status == 201).await;
    wait_for("the server is ready", NOTICE, async || {
        readiness(shop).await.status == 200
    })
    .await;
}

/// Returns how often the log reports that writes are refused for this reason.
fn reported(shop: &Shop, why: &str) -> usize {
    let log = shop.server.log();
    let is_report = |line: &&str| line.contains("ERROR") && line.contains("takes no more writes") && line.contains(why);
    log.lines().filter(is_report).count()
}

fn file(installation: &Installation) -> PathBuf {
    installation.folder().join("forecourt.db")
}

#[tokio::test]
async fn a_database_file_that_is_gone_takes_no_writes_until_it_is_back() {
    let shop = Shop::open(Engine::Sqlite).await;
    let lead = shop.lead_path("Ann").await;
    let path = file(shop.installation());
    let elsewhere = path.with_extension("moved");
    fs::rename(&path, &elsewhere).unwrap();
    for _ in 0..3 {
        refuses_writes(&shop).await;
    }
    assert_eq!(shop.api.get(&lead).await.ok()["name"], "Ann");
    assert_eq!(reported(&shop, "moved away"), 1, "it is said once");

    fs::copy(&elsewhere, &path).unwrap();
    refuses_writes(&shop).await;
    fs::rename(&elsewhere, &path).unwrap();
    takes_writes_again(&shop).await;
    assert_eq!(shop.api.get(&lead).await.ok()["name"], "Ann");
}

#[tokio::test]
async fn a_database_file_that_was_cut_off_is_refused_by_a_running_server_and_at_the_start() {
    let mut shop = Shop::open(Engine::Sqlite).await;
    let lead = shop.lead_path("Ann").await;
    let path = file(shop.installation());
    // After an orderly end everything is in the one file.
    shop.server.terminate().await;
    shop.server.restart().await;
    // The requests are reading at that time.
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let api = shop.api.clone();
            tokio::spawn(async move {
                for _ in 0..50 {
                    let answer = api.get("/2.0/leads?name=%25n%25").await;
                    assert!([200, 503].contains(&answer.status), "{}", answer.status);
                }
            })
        })
        .collect();
    let half = fs::metadata(&path).unwrap().len() / 2;
    File::options().write(true).open(&path).unwrap().set_len(half).unwrap();
    for caller in callers {
        caller.await.unwrap();
    }
    for _ in 0..3 {
        refuses_writes(&shop).await;
        unavailable(&shop.api.get(&lead).await);
    }
    assert_eq!(reported(&shop, "truncated"), 1, "it is said once");

    shop.server.kill9().await;
    for suffix in ["-wal", "-shm"] {
        let beside = path.with_file_name(format!("forecourt.db{suffix}"));
        assert!(fs::remove_file(&beside).is_ok(), "{}", beside.display());
    }
    let refused = shop.installation().serve().refused().await;
    refused.failed_naming("damaged");
    refused.failed_naming("complete copy");
}

#[tokio::test]
async fn other_users_cannot_read_the_database() {
    let shop = Shop::open(Engine::Sqlite).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in ["forecourt.db", "forecourt.db-wal", "forecourt.db-shm"] {
        assert_eq!(mode(&shop.installation().folder().join(name)), 0o600, "{name}");
    }
    // The key that the server makes for itself is in a folder of its own.
    let other = Installation::new(Engine::Sqlite).await;
    let server = other.serve().without("FORECOURT_SECRET_KEY").start().await;
    assert_eq!(mode(&other.data_dir()), 0o700);
    drop(server);
}

/// A limit on the length of files simulates a full disk: it needs no rights, and the system reports it in the same way.
#[tokio::test]
async fn a_full_disk_refuses_writes_and_nothing_else() {
    let shop = Shop::open_with(Engine::Sqlite, harness::Serve::surviving_file_limits).await;
    let lead = shop.lead_path("Ann").await;
    let log = fs::metadata(file(shop.installation()).with_file_name("forecourt.db-wal")).unwrap();
    shop.server.limit_files(Some(log.len())).await;
    // Existing files may still have a little room.
    wait_for("writes are refused", NOTICE, async || write(&shop).await.status == 503).await;
    for _ in 0..3 {
        refuses_writes(&shop).await;
        let request = shop.api.request("POST", "/2.0/leads").key("key");
        unavailable(&request.json(&json!({"name": "Cid"})).send().await);
        assert_eq!(shop.api.get(&lead).await.ok()["name"], "Ann");
        shop.api.get("/2.0/leads?name=Ann%25").await.ok();
    }
    shop.server.limit_files(None).await;
    takes_writes_again(&shop).await;
    let request = shop.api.request("POST", "/2.0/leads").key("key");
    let answer = request.json(&json!({"name": "Cid"})).send().await;
    answer.created();
    assert_eq!(answer.header("X-Idempotent-Replay"), None, "a 503 is not stored");
}

/// Some of the refusals are given while the changes that cause them share a commit that fails.
#[tokio::test]
async fn on_a_full_disk_no_refusal_tells_of_a_change_that_never_happened() {
    const CALLERS: usize = 16;
    let shop = Shop::open_with(Engine::Sqlite, harness::Serve::surviving_file_limits).await;
    let lead = shop.lead_path("Ann").await;
    let log = file(shop.installation()).with_file_name("forecourt.db-wal");
    let (mut refused, mut failed) = (0, 0);
    for round in 0..repeated(10) {
        if round % 2 == 0 {
            let length = fs::metadata(&log).unwrap().len();
            shop.server.limit_files(Some(length)).await;
            // Existing files may still have a little room.
            wait_for("writes are refused", NOTICE, async || write(&shop).await.status == 503).await;
        }
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let (api, lead) = (shop.api.clone(), lead.clone());
            callers.spawn(async move {
                let version = api.get(&lead).await.ok()["version"].as_i64().unwrap();
                let change = json!({"data": {"round": round, "caller": caller, "text": "x".repeat(2_000)}});
                let request = api
                    .request("PATCH", &lead)
                    .header("If-Match", &format!("\"{version}\""));
                let answer = request.json(&change).send().await;
                let seen = api.get(&lead).await.ok()["version"].as_i64().unwrap();
                (answer, seen)
            });
        }
        for (answer, seen) in callers.join_all().await {
            match answer.status {
                200 => assert!(answer.ok()["version"].as_i64().unwrap() <= seen),
                412 => {
                    let cited = answer.refused(412, "precondition_failed")["details"]["version"]
                        .as_i64()
                        .unwrap();
                    assert!(cited <= seen, "it is at version {seen}, and was said to be at {cited}");
                    refused += 1;
                }
                _ => {
                    unavailable(&answer);
                    failed += 1;
                }
            }
        }
        shop.server.limit_files(None).await;
        takes_writes_again(&shop).await;
    }
    assert!(refused > 0 && failed > 0, "{refused} refused, {failed} failed");
}

/// Ends the connections of the server, as a failover does.
const NEW_CONNECTIONS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

#[tokio::test]
async fn a_read_only_postgres_is_read_and_not_ready() {
    let shop = Shop::open(Engine::Postgres).await;
    let lead = shop.lead_path("Ann").await;
    let database = shop.installation();
    database.alter_database("SET default_transaction_read_only = on").await;
    database.execute(NEW_CONNECTIONS).await;
    wait_for("reads work", NOTICE, async || shop.api.get(&lead).await.status == 200).await;
    for _ in 0..3 {
        refuses_writes(&shop).await;
        assert_eq!(shop.api.get(&lead).await.ok()["name"], "Ann");
    }
    database.alter_database("RESET default_transaction_read_only").await;
    database.execute(NEW_CONNECTIONS).await;
    takes_writes_again(&shop).await;
}

#[tokio::test]
async fn a_postgres_that_accepts_no_connections_is_unavailable() {
    let shop = Shop::open(Engine::Postgres).await;
    let lead = shop.lead_path("Ann").await;
    let database = shop.installation();
    database.alter_database("WITH ALLOW_CONNECTIONS false").await;
    database.end_connections().await;
    for _ in 0..3 {
        refuses_writes(&shop).await;
        unavailable(&shop.api.get(&lead).await);
    }
    database.alter_database("WITH ALLOW_CONNECTIONS true").await;
    takes_writes_again(&shop).await;
}

#[tokio::test]
async fn a_statement_that_is_cancelled_may_be_sent_again() {
    let shop = Shop::open(Engine::Postgres).await;
    shop.lead_path("Ann").await;
    let database = shop.installation();
    let holding = database.execute("LOCK TABLE leads IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(4)");
    let cancelled = async {
        let cancelling = async {
            wait_for("a statement that waits is cancelled", NOTICE, async || {
                database
                    .is_true(
                        "SELECT coalesce(bool_or(pg_cancel_backend(pid)), false) FROM pg_stat_activity
                         WHERE datname = current_database() AND wait_event_type = 'Lock'",
                    )
                    .await
            })
            .await;
        };
        // Started once the lock is held.
        wait_for("the lock is held", NOTICE, async || {
            database
                .is_true("SELECT EXISTS (SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'leads'::regclass)")
                .await
        })
        .await;
        tokio::join!(write(&shop), cancelling).0
    };
    let ((), answer) = tokio::join!(holding, cancelled);
    unavailable(&answer);
    write(&shop).await.created();
}

#[tokio::test]
async fn readiness_is_answered_whatever_the_database_does() {
    let installation = Installation::new(Engine::Postgres).await;
    let proxy = Proxy::to(installation.database_address()).await;
    let url = installation.database_through(proxy.port());
    let shop = Shop::on(installation.serve().env("DATABASE_URL", url).start().await).await;
    shop.lead_path("Ann").await;
    proxy.silence();
    // Requests that wait for the database do not delay readiness.
    let requests: Vec<_> = (0..60)
        .map(|_| {
            let api = shop.api.clone();
            tokio::spawn(async move { api.get("/2.0/leads").await })
        })
        .collect();
    for _ in 0..3 {
        // A result from just before the silence is valid for a second.
        tokio::time::sleep(Duration::from_secs(1)).await;
        unavailable(&readiness(&shop).await);
    }
    proxy.mend();
    for request in requests {
        request.await.unwrap();
    }
    takes_writes_again(&shop).await;
}

/// The tests' own PostgreSQL is such a server.
#[tokio::test]
async fn a_postgres_that_may_lose_what_it_confirmed_is_refused() {
    let installation = Installation::new(Engine::Postgres).await;
    if !installation.is_true("SELECT current_setting('fsync') = 'off'").await {
        return;
    }
    let refused = installation
        .serve()
        .without("FORECOURT_ALLOW_UNSAFE_DATABASE")
        .refused()
        .await;
    refused.failed_naming("fsync = off");
    refused.failed_naming("FORECOURT_ALLOW_UNSAFE_DATABASE");
    let server = installation.serve().start().await;
    assert!(server.log().contains("fsync = off"), "{}", server.log());
}

#[tokio::test]
async fn a_postgres_over_the_network_that_is_not_verified_is_a_warning() {
    let installation = Installation::new(Engine::Postgres).await;
    let warnings = async |url: &str| {
        let server = installation.serve().env("DATABASE_URL", url).start().await;
        let log = server.log();
        log.lines()
            .filter(|line| line.contains("WARN") && line.contains("sslmode=verify-full"))
            .count()
    };
    let here = installation.database_url();
    assert_eq!(warnings(here).await, 0);
    // This machine, by an address that does not look local.
    let there = here
        .replacen("127.0.0.1", "0.0.0.0", 1)
        .replacen("localhost", "0.0.0.0", 1);
    if there != here {
        assert_eq!(warnings(&there).await, 1);
    }
}
