//! The promises of both engines.

use std::env;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::SimpleAsyncConnection as _;
use forecourt_kernel::{StoreError, StoreResult};
use forecourt_storage::RunQueryDsl;
use forecourt_storage::{Config, MigrateError, Storage};
use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::{Conn, Engine, FIRST_SCHEMA, UnitOfWork, engine_of, on_database};
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

/// The invoices that a database had before there were lists of them.
const FIRST_INVOICES: &str = r#"
    INSERT INTO businesses (id, tag, name, email, country, website, verified, state, plan, api_access, settings, catalogue,
        created, updated) VALUES (1, 'acme', 'Acme', '', 'GB', '', TRUE, 'active', 'full', TRUE, '{}', '{}', 0, 0);
    INSERT INTO counters (business_id, kind, records, writes, number, stamp, unordered)
        VALUES (1, 'events', 0, 0, 0, 0, FALSE), (1, 'invoices', 0, 0, 2, 0, FALSE), (1, 'credits', 0, 0, 1, 0, FALSE);
    INSERT INTO invoices (id, business_id, version, created, updated, number, customer, document) VALUES
        (1, 1, 3, 5, 6, 1, 501, '{"site":3,"status":"paid","type":"deposit","customer":501,"vehicle":901,"date":"2026-01-02",
            "due_date":"2026-01-16","currency":"GBP","lines":[{"id":1,"type":"deposit","description":"\"Ä\"","vehicle":901,
            "quantity":1,"net":"82.58","vat_rate":"20.00","vat":"16.52","gross":"99.10","credited":"0.00"}],"payments":[],
            "credit_notes":[],"notes":""}'),
        (2, 1, 4, 7, 8, 2, NULL, '{"site":0,"status":"credited","type":"deposit","customer":null,"vehicle":null,
            "date":"1969-12-31","due_date":"1969-12-31","currency":"GBP","lines":[{"id":1,"type":"deposit","description":"x",
            "vehicle":null,"quantity":1,"net":"0.29","vat_rate":"0.00","vat":"0.00","gross":"0.29","credited":"0.29"}],
            "payments":[],"credit_notes":[{"number":"CN-1","date":"1970-01-02","reason":"x","gross":"0.29"}],"notes":""}');"#;

#[tokio::test(flavor = "multi_thread")]
async fn invoices_from_before_their_lists_are_found() {
    on_database(async |url| {
        let storage = Storage::open(&impatient(&url)).await.unwrap();
        let mut session = engine_of(storage.clone()).begin().await.unwrap();
        let applied = "
            CREATE TABLE __diesel_schema_migrations
                (version VARCHAR(50) PRIMARY KEY NOT NULL, run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
            INSERT INTO __diesel_schema_migrations (version) VALUES ('20261128000000');";
        for statements in [FIRST_SCHEMA, applied, FIRST_INVOICES] {
            session.batch_execute(statements).await.unwrap();
        }
        session.commit().await.unwrap();
        assert!(!storage.migrate().await.unwrap().is_empty());
        let mut reader = engine_of(storage).read().await.unwrap();
        let mut found = async |query: &str| -> Vec<String> {
            sql::<Text>(&format!("SELECT CAST(x AS TEXT) FROM ({query}) AS found ORDER BY 1"))
                .load(&mut *reader)
                .await
                .unwrap()
        };
        let columns = "concat_ws('|', id, site, status, kind, gross, date, due_date, coalesce(retained, -1))";
        assert_eq!(
            found(&format!("SELECT {columns} AS x FROM invoices")).await,
            [
                "1|3|paid|deposit|9910|1767312000|1768521600|-1",
                "2|0|credited|deposit|29|-86400|-86400|-1",
            ]
        );
        for (query, expected) in [
            ("SELECT vehicle AS x FROM invoice_vehicles WHERE invoice = 1", "901"),
            ("SELECT count(*) AS x FROM invoice_vehicles", "1"),
            ("SELECT number AS x FROM invoice_credits WHERE invoice = 2", "1"),
            ("SELECT date AS x FROM invoice_credits", "86400"),
            ("SELECT records AS x FROM counters WHERE kind = 'invoices'", "2"),
            ("SELECT number AS x FROM counters WHERE kind = 'invoices'", "2"),
        ] {
            assert_eq!(found(query).await, [expected], "{query}");
        }
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
