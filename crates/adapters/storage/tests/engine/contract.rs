//! The promises of both engines.

use std::env;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::SimpleAsyncConnection as _;
use forecourt_kernel::{StoreError, StoreResult};
use forecourt_storage::RunQueryDsl;
use forecourt_storage::{Config, MigrateError, Storage};
use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::{Conn, Engine, UnitOfWork, engine_of, on_database};
use crate::support::{TABLES, TIMEOUT, impatient, notes, until};

async fn write(conn: &mut Conn, id: i64, body: &str) -> StoreResult<()> {
    diesel::insert_into(notes::table)
        .values((notes::id.eq(id), notes::body.eq(body)))
        .execute(conn)
        .await
        .map(drop)
}

async fn ids(engine: &Engine) -> Vec<i64> {
    let mut conn = engine.read().await.unwrap();
    notes::table
        .select(notes::id)
        .order(notes::id)
        .load(&mut *conn)
        .await
        .unwrap()
}

async fn prepared(url: &str) -> Engine {
    let engine = engine_of(Storage::open(&impatient(url)).await.unwrap());
    let mut session = engine.begin().await.unwrap();
    session.batch_execute(TABLES).await.unwrap();
    session.commit().await.unwrap();
    engine
}

async fn begin_soon(engine: &Engine) -> UnitOfWork {
    timeout(TIMEOUT, engine.begin())
        .await
        .expect("the lock is still held")
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_what_is_committed_and_nothing_else() {
    on_database(async |url| {
        let engine = prepared(&url).await;
        let mut session = engine.begin().await.unwrap();
        write(&mut session, 1, "one").await.unwrap();
        assert!(ids(&engine).await.is_empty());
        session.commit().await.unwrap();
        assert_eq!(ids(&engine).await, [1]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_not_committed_leaves_no_trace_and_no_lock() {
    on_database(async |url| {
        let engine = prepared(&url).await;
        let mut session = engine.begin().await.unwrap();
        write(&mut session, 1, "dropped").await.unwrap();
        drop(session);
        let mut session = begin_soon(&engine).await;
        // The same key would wait for a transaction that still holds it.
        timeout(TIMEOUT, write(&mut session, 1, "rolled back"))
            .await
            .expect("the lock is still held")
            .unwrap();
        session.rollback().await.unwrap();
        let mut session = begin_soon(&engine).await;
        timeout(TIMEOUT, write(&mut session, 1, "kept"))
            .await
            .expect("the lock is still held")
            .unwrap();
        session.commit().await.unwrap();
        assert_eq!(ids(&engine).await, [1]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_leaves_no_trace_and_no_lock() {
    on_database(async |url| {
        let engine = prepared(&url).await;
        let (wrote, has_written) = oneshot::channel();
        let caller = tokio::spawn({
            let engine = engine.clone();
            async move {
                let mut session = engine.begin().await.unwrap();
                write(&mut session, 1, "gone").await.unwrap();
                wrote.send(()).unwrap();
                sleep(Duration::from_secs(60)).await;
                session.commit().await.unwrap();
            }
        });
        has_written.await.unwrap();
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        let mut session = begin_soon(&engine).await;
        timeout(TIMEOUT, write(&mut session, 1, "kept"))
            .await
            .expect("the lock is still held")
            .unwrap();
        session.commit().await.unwrap();
        assert_eq!(ids(&engine).await, [1]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn savepoints_nest() {
    on_database(async |url| {
        let engine = prepared(&url).await;
        let mut session = engine.begin().await.unwrap();
        write(&mut session, 1, "before").await.unwrap();
        session.savepoint().await.unwrap();
        write(&mut session, 2, "outer").await.unwrap();
        session.savepoint().await.unwrap();
        write(&mut session, 3, "inner").await.unwrap();
        session.rollback_to_savepoint().await.unwrap();
        write(&mut session, 4, "outer again").await.unwrap();
        session.rollback_to_savepoint().await.unwrap();
        assert!(session.rollback_to_savepoint().await.is_err(), "no savepoint is left");
        drop(session);
        assert!(ids(&engine).await.is_empty());

        let mut session = engine.begin().await.unwrap();
        session.savepoint().await.unwrap();
        write(&mut session, 1, "one").await.unwrap();
        session.savepoint().await.unwrap();
        write(&mut session, 2, "two").await.unwrap();
        session.rollback_to_savepoint().await.unwrap();
        session.commit().await.unwrap();
        assert_eq!(ids(&engine).await, [1]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_names_the_rule_and_can_be_survived() {
    on_database(async |url| {
        let engine = prepared(&url).await;
        let mut session = engine.begin().await.unwrap();
        write(&mut session, 1, "same").await.unwrap();
        session.savepoint().await.unwrap();
        let failure = write(&mut session, 2, "same").await.unwrap_err();
        assert!(
            matches!(&failure, StoreError::Duplicate(rule) if rule == "notes_body_key"),
            "{failure:?}"
        );
        session.rollback_to_savepoint().await.unwrap();
        write(&mut session, 2, "other").await.unwrap();
        session.commit().await.unwrap();
        assert_eq!(ids(&engine).await, [1, 2]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_at_once_all_commit() {
    on_database(async |url| {
        let engine = prepared(&url).await;
        join_all((0..50).map(|id| {
            let engine = engine.clone();
            tokio::spawn(async move {
                let mut session = engine.begin().await.unwrap();
                write(&mut session, id, &format!("note {id}")).await.unwrap();
                session.commit().await.unwrap();
            })
        }))
        .await
        .into_iter()
        .for_each(|task| task.unwrap());
        assert_eq!(ids(&engine).await, (0..50).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_start_together_migrate_once() {
    on_database(async |url| {
        let servers = (0..6).map(|_| {
            let url = url.clone();
            tokio::spawn(async move { Storage::open(&impatient(&url)).await.unwrap().migrate().await.unwrap() })
        });
        let ran: Vec<Vec<String>> = join_all(servers)
            .await
            .into_iter()
            .map(|server| server.unwrap())
            .collect();
        let ran: Vec<&Vec<String>> = ran.iter().filter(|versions| !versions.is_empty()).collect();
        assert_eq!(ran.len(), 1, "exactly one server ran the migrations: {ran:?}");

        let storage = Storage::open(&impatient(&url)).await.unwrap();
        assert!(storage.migrate().await.unwrap().is_empty());
        storage.ping().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_start_together_migrate_once() {
    on_database(async |url| {
        let (_, module) = module_path!().split_once("::").unwrap();
        let start = || {
            Command::new(env::current_exe().unwrap())
                .args([
                    "--exact",
                    &format!("{module}::as_one_of_many_processes"),
                    "--ignored",
                    "--nocapture",
                ])
                .env("FORECOURT_TEST_URL", &url)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let processes: Vec<Child> = (0..4).map(|_| start()).collect();
        let ran = processes.into_iter().map(|process| {
            let output = process.wait_with_output().unwrap();
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap().contains("ran the migrations")
        });
        assert_eq!(ran.filter(|ran| *ran).count(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the process of processes_that_start_together_migrate_once"]
async fn as_one_of_many_processes() {
    let url = env::var("FORECOURT_TEST_URL").expect("run by the test that needs it");
    let storage = Storage::open(&Config::new(url)).await.unwrap();
    if !storage.migrate().await.unwrap().is_empty() {
        println!("ran the migrations");
    }
}

#[tokio::test]
async fn a_runtime_with_one_thread_can_migrate() {
    on_database(async |url| {
        let storage = Storage::open(&impatient(&url)).await.unwrap();
        assert!(!storage.migrate().await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_of_another_program_is_left_alone() {
    on_database(async |url| {
        let storage = Storage::open(&impatient(&url)).await.unwrap();
        let mut session = engine_of(storage.clone()).begin().await.unwrap();
        let theirs = "
            CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL, run_on TIMESTAMP);
            INSERT INTO __diesel_schema_migrations (version) VALUES ('20200101000000');";
        session.batch_execute(theirs).await.unwrap();
        session.commit().await.unwrap();
        let refusal = storage.migrate().await.unwrap_err();
        assert!(
            matches!(&refusal, MigrateError::NotOurs(version) if version == "20200101000000"),
            "{refusal:?}"
        );
        let mut reader = engine_of(storage).read().await.unwrap();
        let look = reader.batch_execute("SELECT 1 FROM forecourt_meta").await;
        assert!(look.is_err(), "nothing was created");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_too_old_does_not_migrate() {
    on_database(async |url| {
        let storage = Storage::open(&impatient(&url)).await.unwrap();
        storage.migrate().await.unwrap();
        for (least, is_too_old) in [("999.0.0", true), ("0.0.1", false), (env!("CARGO_PKG_VERSION"), false)] {
            let mut session = engine_of(storage.clone()).begin().await.unwrap();
            let note = format!(
                "DELETE FROM forecourt_meta WHERE key = 'least_version';
                 INSERT INTO forecourt_meta (key, value) VALUES ('least_version', '{least}')"
            );
            session.batch_execute(&note).await.unwrap();
            session.commit().await.unwrap();
            match storage.migrate().await {
                Err(MigrateError::TooOld { least: named }) => assert!(is_too_old && named == least, "{named}"),
                outcome => assert!(!is_too_old && outcome.is_ok(), "{least}: {outcome:?}"),
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_is_exhausted_says_so_in_time() {
    on_database(async |url| {
        let engine = engine_of(Storage::open(&impatient(&url)).await.unwrap());
        let held = [engine.read().await.unwrap(), engine.read().await.unwrap()];
        let status = engine.pool_status();
        assert_eq!((status.size, status.in_use, status.waiting), (2, 2, 0));

        let third = tokio::spawn({
            let engine = engine.clone();
            async move { engine.read().await.map(drop) }
        });
        until(|| engine.pool_status().waiting == 1).await;
        let refusal = third.await.unwrap().unwrap_err();
        assert!(matches!(refusal, StoreError::Unavailable(_)), "{refusal:?}");

        drop(held);
        drop(engine.read().await.unwrap());
        let status = engine.pool_status();
        assert_eq!((status.size, status.in_use, status.waiting), (2, 0, 0));
    })
    .await;
}
