//! PostgreSQL: connections that come and go.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text};
use diesel_async::SimpleAsyncConnection as _;
use diesel_migrations::FileBasedMigrations;
use forecourt_kernel::{BusinessId, StoreError, StoreResult};
use forecourt_storage::RunQueryDsl;
use forecourt_storage::postgres::{Conn, Engine, UnitOfWork};
use forecourt_storage::{Config, MigrateError, Storage, store_error};
use futures_util::FutureExt as _;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::support::{TABLES, TIMEOUT, impatient, notes, on_postgres as on_database, until, with_database};

#[expect(clippy::duplicate_mod, reason = "the contract is compiled once per engine")]
#[path = "contract.rs"]
mod contract;

/// The schema of the first migration.
const FIRST_SCHEMA: &str = include_str!("../../../../../migrations/postgres/2026-11-28-000000_schema/up.sql");

fn engine_of(storage: Storage) -> Engine {
    let Storage::Postgres(engine) = storage else {
        panic!("not PostgreSQL")
    };
    engine
}

async fn open(config: &Config) -> Engine {
    engine_of(Storage::open(config).await.unwrap())
}

async fn with_tables(url: &str) -> Engine {
    let engine = open(&impatient(url)).await;
    let mut session = engine.begin().await.unwrap();
    session.batch_execute(TABLES).await.unwrap();
    session
        .batch_execute("INSERT INTO notes VALUES (1, 'one'), (2, 'two')")
        .await
        .unwrap();
    session.commit().await.unwrap();
    engine
}

/// Makes the tables, and returns the URL.
async fn tables_at(url: &str) -> String {
    drop(with_tables(url).await);
    url.to_owned()
}

async fn backend(conn: &mut Conn) -> i32 {
    diesel::select(sql::<Integer>("pg_backend_pid()"))
        .get_result(conn)
        .await
        .unwrap()
}

async fn count(conn: &mut Conn, query: &str) -> i64 {
    diesel::select(sql::<BigInt>(&format!("({query})")))
        .get_result(conn)
        .await
        .unwrap()
}

/// Waits until the server has ended the session of a backend.
async fn ends(conn: &mut Conn, backend: i32) {
    let deadline = Instant::now() + TIMEOUT;
    let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {backend}");
    while count(conn, &sessions).await > 0 {
        assert!(Instant::now() < deadline, "the server still has it");
        sleep(Duration::from_millis(5)).await;
    }
}

async fn touch(conn: &mut Conn, id: i64) -> StoreResult<usize> {
    diesel::update(notes::table.find(id))
        .set(notes::body.eq(format!("touched {id}")))
        .execute(conn)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wide_is_stored_in_the_compression_that_is_read_fastest() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        let mut session = engine.begin().await.unwrap();
        let wide = "INSERT INTO notes VALUES (3, repeat('0123456789', 1000))";
        session.batch_execute(wide).await.unwrap();
        let unlike = "SELECT count(*) FROM notes, pg_settings WHERE notes.id = 3 AND pg_settings.name = 'default_toast_compression' \
            AND pg_column_compression(body) <> CASE WHEN 'lz4' = ANY (enumvals) THEN 'lz4' ELSE 'pglz' END";
        assert_eq!(count(&mut session, unlike).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_stay_prepared_and_changes_only_if_they_are_marked() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        let mut session = engine.begin().await.unwrap();
        for id in [1, 2] {
            touch(&mut session, id).await.unwrap();
            let found = notes::table.find(id).select(notes::id);
            let _: i64 = found.get_result(&mut *session).await.unwrap();
        }
        for first in [100, 200] {
            let row = |id| (notes::id.eq(id), notes::body.eq(format!("note {id}")));
            let rows: Vec<_> = (first..first + 100).map(row).collect();
            diesel::insert_into(notes::table)
                .values(rows)
                .execute(&mut *session)
                .await
                .unwrap();
        }
        let prepared = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE";
        assert_eq!(count(&mut session, &format!("{prepared} 'SELECT \"notes\"%'")).await, 1);
        for change in ["UPDATE", "INSERT INTO"] {
            let kept = count(&mut session, &format!("{prepared} '{change} \"notes\"%'")).await;
            assert_eq!(kept, 0, "{change}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_session_is_undone_on_a_connection_that_is_kept() {
    on_database(async |url| {
        let engine = open(&Config {
            pool_size: 1,
            ..impatient(&tables_at(&url).await)
        })
        .await;
        let mut session = engine.begin().await.unwrap();
        let kept = backend(&mut session).await;
        session.rollback().await.unwrap();
        let mut session = engine.begin().await.unwrap();
        assert_eq!(backend(&mut session).await, kept);
        session.commit().await.unwrap();
        let mut session = engine.begin().await.unwrap();
        touch(&mut session, 1).await.unwrap();
        drop(session);

        // The only connection there is.
        let mut session = engine.begin().await.unwrap();
        assert_eq!(backend(&mut session).await, kept);
        let touched = "SELECT count(*) FROM notes WHERE body LIKE 'touched%'";
        assert_eq!(count(&mut session, touched).await, 0);
        touch(&mut session, 1).await.unwrap();
        session.commit().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_who_go_away_cost_no_connections() {
    const POOL: usize = 3;
    on_database(async |url| {
        let engine = open(&Config {
            pool_size: POOL,
            wait: TIMEOUT,
            ..impatient(&tables_at(&url).await)
        })
        .await;
        let mut backends = BTreeSet::new();
        for caller in 0..200 {
            // Every other one has a statement under way.
            let work = async |conn: &mut Conn| {
                let _ = if caller % 2 == 0 {
                    conn.batch_execute("SELECT pg_sleep(0.01)").now_or_never()
                } else {
                    touch(conn, 1).now_or_never().map(|_| Ok(()))
                };
            };
            if caller % 3 == 0 {
                let mut reader = engine.read().await.unwrap();
                backends.insert(backend(&mut reader).await);
                work(&mut reader).await;
            } else {
                let mut session = engine.begin().await.unwrap();
                backends.insert(backend(&mut session).await);
                work(&mut session).await;
            }
        }
        // A busy machine may sometimes take longer than the wait.
        assert!(backends.len() <= 5 * POOL, "{} connections were made", backends.len());
        let mut session = engine.begin().await.unwrap();
        touch(&mut session, 1).await.unwrap();
        session.commit().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_was_passed_over_cannot_be_committed() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        let mut session = engine.begin().await.unwrap();
        touch(&mut session, 2).await.unwrap();
        assert!(
            session
                .batch_execute("INSERT INTO notes VALUES (1, 'again')")
                .await
                .is_err()
        );
        let failure = session.commit().await.unwrap_err();
        assert!(matches!(failure, StoreError::Other(_)), "{failure:?}");
        let mut reader = engine.read().await.unwrap();
        assert_eq!(
            count(&mut reader, "SELECT count(*) FROM notes WHERE body LIKE 'touched%'").await,
            0
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_ended_by_itself_cannot_be_committed() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        let mut session = engine.begin().await.unwrap();
        session.batch_execute("ROLLBACK").await.unwrap();
        let failure = session.commit().await.unwrap_err();
        assert!(matches!(failure, StoreError::Other(_)), "{failure:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_is_a_conflict() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        let (mut one, mut other) = (engine.begin().await.unwrap(), engine.begin().await.unwrap());
        touch(&mut one, 1).await.unwrap();
        touch(&mut other, 2).await.unwrap();
        // The server finds out after a second, and ends one of the two.
        let (first, second) = tokio::join!(
            async {
                let result = touch(&mut one, 2).await;
                drop(one);
                result
            },
            async {
                let result = touch(&mut other, 1).await;
                drop(other);
                result
            }
        );
        let failures: Vec<StoreError> = [first, second].into_iter().filter_map(Result::err).collect();
        assert!(matches!(failures[..], [StoreError::Conflict]), "{failures:?}");
    })
    .await;
}

/// A server may speak any language.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_known_by_its_code_and_not_by_its_words() {
    on_database(async |url| {
        let engine = open(&impatient(&url)).await;
        let raised = async |code: &str, words: &str| {
            let mut reader = engine.read().await.unwrap();
            let raise = format!("DO $$ BEGIN RAISE EXCEPTION '{words}' USING ERRCODE = '{code}'; END $$");
            store_error(reader.batch_execute(&raise).await.unwrap_err())
        };
        for code in ["40001", "40P01"] {
            let failure = raised(code, "Verklemmung (Deadlock) entdeckt").await;
            assert!(matches!(failure, StoreError::Conflict), "{code}: {failure:?}");
        }
        for code in [
            "08006", "25006", "53100", "53200", "53300", "55P03", "57014", "57P03", "58030", "XX000",
        ] {
            let failure = raised(code, "kein Speicherplatz mehr").await;
            assert!(matches!(failure, StoreError::Unavailable(_)), "{code}: {failure:?}");
        }
        for words in [
            "deadlock detected",
            "out of memory",
            "canceling statement due to user request",
        ] {
            let failure = raised("P0001", words).await;
            assert!(matches!(failure, StoreError::Other(_)), "{words}: {failure:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_waits_for_the_disk_wherever_that_was_turned_off() {
    on_database(async |url| {
        let name = url.rsplit('/').next().unwrap().trim_end_matches('?').to_owned();
        let setting = || diesel::select(sql::<Text>("current_setting('synchronous_commit')"));
        for stored in ["off", "local", "on"] {
            let engine = open(&impatient(&url)).await;
            let mut admin = engine.read().await.unwrap();
            let set = format!("ALTER DATABASE {name} SET synchronous_commit = {stored}");
            admin.batch_execute(&set).await.unwrap();
            drop((admin, engine));
            let wanted = if stored == "off" { "on" } else { stored };

            let engine = open(&Config {
                pool_size: 1,
                ..impatient(&url)
            })
            .await;
            let mut session = engine.begin().await.unwrap();
            let found: String = setting().get_result(&mut *session).await.unwrap();
            assert_eq!(found, wanted);
            // As with a pooler that forgets a session's settings.
            session.batch_execute("RESET ALL").await.unwrap();
            session.commit().await.unwrap();
            let mut session = engine.begin().await.unwrap();
            let found: String = setting().get_result(&mut *session).await.unwrap();
            assert_eq!(found, wanted);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prepared_statements_are_bounded() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        let mut session = engine.begin().await.unwrap();
        let one = notes::table.find(1_i64).select(notes::id);
        let _: i64 = one.get_result(&mut *session).await.unwrap();
        // Each has a text of its own.
        for conditions in 0..300_i64 {
            let mut found = notes::table.select(notes::id).into_boxed();
            for id in 0..conditions {
                found = found.or_filter(notes::id.eq(id));
            }
            let _: Vec<i64> = found.load(&mut *session).await.unwrap();
        }
        let prepared = count(&mut session, "SELECT count(*) FROM pg_prepared_statements").await;
        assert!((1..=260).contains(&prepared), "{prepared}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serialisation_failure_is_a_conflict() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        let mut slow = engine.begin().await.unwrap();
        slow.batch_execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            .await
            .unwrap();
        assert_eq!(count(&mut slow, "SELECT count(*) FROM notes").await, 2);
        let mut quick = engine.begin().await.unwrap();
        touch(&mut quick, 1).await.unwrap();
        quick.commit().await.unwrap();
        assert!(matches!(touch(&mut slow, 1).await, Err(StoreError::Conflict)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_the_server_ends_is_unavailable_and_replaced() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        let mut session = engine.begin().await.unwrap();
        let victim = backend(&mut session).await;
        let mut reader = engine.read().await.unwrap();
        reader
            .batch_execute(&format!("SELECT pg_terminate_backend({victim})"))
            .await
            .unwrap();
        let failure = touch(&mut session, 1).await.unwrap_err();
        assert!(matches!(failure, StoreError::Unavailable(_)), "{failure:?}");
        drop((session, reader));

        // An idle connection that died is distinguished from a living one when it is taken.
        let mut reader = engine.read().await.unwrap();
        let idle = backend(&mut reader).await;
        let mut other = engine.read().await.unwrap();
        drop(reader);
        other
            .batch_execute(&format!("SELECT pg_terminate_backend({idle})"))
            .await
            .unwrap();
        sleep(Duration::from_millis(100)).await;
        let mut fresh = engine.read().await.unwrap();
        assert_ne!(backend(&mut fresh).await, idle);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_transaction_is_ended_by_the_server() {
    on_database(async |url| {
        drop(with_tables(&url).await);
        let engine = open(&Config {
            idle_in_transaction: Duration::from_millis(100),
            ..impatient(&url)
        })
        .await;
        let mut session = engine.begin().await.unwrap();
        touch(&mut session, 1).await.unwrap();
        let idle = backend(&mut session).await;
        ends(&mut engine.read().await.unwrap(), idle).await;
        let failure = session.commit().await.unwrap_err();
        assert!(matches!(failure, StoreError::Unavailable(_)), "{failure:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_was_given_up_in_mid_query_is_not_lent_again() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        let a_moment = Duration::from_millis(100);
        for by_batch in [true, false] {
            let mut reader = engine.read().await.unwrap();
            let busy = backend(&mut reader).await;
            let given_up = if by_batch {
                timeout(a_moment, reader.batch_execute("SELECT pg_sleep(30)"))
                    .await
                    .is_err()
            } else {
                let sleeping = diesel::select(sql::<Text>("pg_sleep(30)::text"));
                timeout(a_moment, sleeping.get_result::<String>(&mut *reader))
                    .await
                    .is_err()
            };
            assert!(given_up);
            drop(reader);
            let mut reader = timeout(TIMEOUT, engine.read()).await.unwrap().unwrap();
            assert_ne!(backend(&mut reader).await, busy);
            drop(reader);
            until(|| engine.pool_status().size == 1).await;
        }
        // One that has its answer is lent again, whether one row was wanted, or all, or there were none.
        let mut reader = engine.read().await.unwrap();
        let kept = backend(&mut reader).await;
        drop(reader);
        for query in [
            "SELECT 1",
            "SELECT id FROM notes",
            "SELECT id FROM notes WHERE id < 0",
            "SELECT 1 / 0",
        ] {
            let mut reader = engine.read().await.unwrap();
            let _: StoreResult<Vec<i64>> = diesel::select(sql::<BigInt>(&format!("unnest(ARRAY({query}))::bigint")))
                .load(&mut *reader)
                .await;
            drop(reader);
            let mut reader = engine.read().await.unwrap();
            assert_eq!(backend(&mut reader).await, kept, "{query}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_and_waits_for_locks_are_bounded_in_time() {
    on_database(async |url| {
        drop(with_tables(&url).await);
        let bounded = Config {
            statement: Some(Duration::from_millis(500)),
            lock: Some(Duration::from_millis(100)),
            ..impatient(&url)
        };
        let engine = open(&bounded).await;
        let mut reader = engine.read().await.unwrap();
        let refusal = reader.batch_execute("SELECT pg_sleep(20)").await.map_err(store_error);
        assert!(matches!(refusal, Err(StoreError::Unavailable(_))), "{refusal:?}");
        drop(reader);

        let mut owner = engine.begin().await.unwrap();
        touch(&mut owner, 1).await.unwrap();
        let mut second = engine.begin().await.unwrap();
        let refusal = touch(&mut second, 1).await;
        assert!(matches!(refusal, Err(StoreError::Unavailable(_))), "{refusal:?}");
        assert!(format!("{refusal:?}").contains("lock timeout"), "{refusal:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_database_is_unavailable_for_writes_and_says_so() {
    on_database(async |url| {
        let name = url.rsplit('/').next().unwrap().trim_end_matches('?').to_owned();
        let engine = with_tables(&url).await;
        engine.ping().await.unwrap();
        let mut admin = engine.read().await.unwrap();
        admin
            .batch_execute(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on"))
            .await
            .unwrap();
        let engine = open(&impatient(&url)).await;
        let mut session = engine.begin().await.unwrap();
        let refusal = touch(&mut session, 1).await;
        assert!(matches!(refusal, Err(StoreError::Unavailable(_))), "{refusal:?}");
        assert!(engine.ping().await.is_err());
        let mut reader = engine.read().await.unwrap();
        assert_eq!(count(&mut reader, "SELECT count(*) FROM notes").await, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_business_leaves_connections_to_the_others() {
    on_database(async |url| {
        let engine = open(&Config {
            pool_size: 4,
            // Connections are opened meanwhile, on a machine that may be busy.
            wait: Duration::from_secs(3),
            ..impatient(&url)
        })
        .await;
        let business = |id| Some(BusinessId::new(id));
        // It writes as much as it may, reads as much, and then waits for itself.
        let written = [
            engine.begin_for(business(1)).await.unwrap(),
            engine.begin_for(business(1)).await.unwrap(),
        ];
        assert!(engine.begin_for(business(1)).await.is_err());
        let third = engine.begin_for(business(2)).await.unwrap();
        assert!(
            engine.begin_for(business(3)).await.is_err(),
            "one connection is for readers"
        );
        drop(engine.read_for(business(1)).await.unwrap());
        drop((written, third));
        let read = [
            engine.read_for(business(1)).await.unwrap(),
            engine.read_for(business(1)).await.unwrap(),
        ];
        assert!(engine.read_for(business(1)).await.is_err());
        drop(engine.read_for(business(2)).await.unwrap());
        drop(read);
        assert_eq!(engine.pool_status().waiting, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_neither_waits_for_the_pool_nor_for_a_silent_server() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        let _held = [engine.read().await.unwrap(), engine.read().await.unwrap()];
        engine.ping().await.unwrap();
    })
    .await;
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://app@{}/db", silent.local_addr().unwrap());
    let engine = open(&Config::new(url)).await;
    let (one, other) = tokio::join!(engine.ping(), engine.ping());
    assert!(one.is_err() && other.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_worker_has_connections_of_its_own() {
    on_database(async |url| {
        let engine = open(&Config {
            pool_size: 1,
            ..impatient(&url)
        })
        .await;
        let workers = [engine.for_worker(), engine.for_worker()];
        let mut held = Vec::new();
        for worker in &workers {
            held.push(timeout(TIMEOUT, worker.read()).await.unwrap().unwrap());
        }
        let status = engine.pool_status();
        assert_eq!((status.size, status.in_use), (2, 2), "the gauges are of all together");
        drop(held);
        drop(workers);
        assert_eq!(engine.pool_status().size, 0, "a worker's connections end with it");
    })
    .await;
}

/// Nothing listens at the first; the second takes the connection and then says nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_out_of_reach_is_unavailable_in_time() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for address in [closed, silent.local_addr().unwrap()] {
        let storage = Storage::open(&impatient(&format!("postgres://app:secret@{address}/db")))
            .await
            .unwrap();
        let engine = engine_of(storage.clone());
        let (read, begun, ping) = tokio::join!(engine.read(), engine.begin(), storage.ping());
        for refusal in [read.err().unwrap(), begun.err().unwrap(), ping.unwrap_err()] {
            assert!(matches!(refusal, StoreError::Unavailable(_)), "{refusal:?}");
            assert!(!format!("{refusal:?}").contains("secret"), "{refusal:?}");
        }
        assert!(storage.migrate().await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_address_is_no_reason_to_try_again() {
    on_database(async |url| {
        let engine = open(&impatient(&with_database(&url, "no_such_database"))).await;
        let refusal = engine.read().await.err().unwrap();
        assert!(matches!(refusal, StoreError::Other(_)), "{refusal:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_is_unavailable() {
    on_database(async |url| {
        let name = url.rsplit('/').next().unwrap().trim_end_matches('?').to_owned();
        let engine = open(&Config {
            pool_size: 1,
            ..impatient(&url)
        })
        .await;
        let mut admin = engine.read().await.unwrap();
        // The limit of a database answers as the limit of the server does; only superusers pass it.
        let role = format!("limited_{}", std::process::id());
        let set_up = format!("CREATE ROLE {role} LOGIN; ALTER DATABASE {name} CONNECTION LIMIT 0");
        admin.batch_execute(&set_up).await.unwrap();
        let server = env::var("FORECOURT_TEST_POSTGRES_URL").unwrap();
        let host = server
            .split_once('@')
            .map_or_else(|| server.trim_start_matches("postgres://"), |(_, host)| host);
        let limited = open(&impatient(&with_database(&format!("postgres://{role}@{host}"), &name))).await;
        let refusal = limited.read().await.err().unwrap();
        admin.batch_execute(&format!("DROP ROLE {role}")).await.unwrap();
        assert!(matches!(refusal, StoreError::Unavailable(_)), "{refusal:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_refused_where_tls_is_required() {
    // A server that answers "no" to the question for encryption.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.writable().await.unwrap();
            stream.try_write(b"N").unwrap();
        }
    });
    let engine = open(&impatient(&format!("postgres://app@{address}/db?sslmode=require"))).await;
    let refusal = engine.read().await.err().unwrap();
    assert!(format!("{refusal:?}").contains("does not support TLS"), "{refusal:?}");
}

/// Makes a folder of migrations: the first one, which is applied, and another version's.
fn migrations(next: &[(&str, &str, bool)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str, in_transaction: bool| {
        let migration = folder.path().join(name);
        fs::create_dir(&migration).unwrap();
        fs::write(migration.join("up.sql"), text).unwrap();
        if !in_transaction {
            fs::write(migration.join("metadata.toml"), "run_in_transaction = false").unwrap();
        }
    };
    write("2026-11-28-000000_schema", "SELECT 1", true);
    for (name, text, in_transaction) in next {
        write(name, text, *in_transaction);
    }
    folder
}

async fn migrate_from(engine: &Engine, folder: &TempDir) -> Result<Vec<String>, MigrateError> {
    let source = FileBasedMigrations::from_path(folder.path()).unwrap();
    engine.migrate_from(source).await
}

/// The version before writes, and a report reads for long, while the next version changes their table.
#[tokio::test(flavor = "multi_thread")]
async fn others_go_on_while_a_migration_waits_for_a_lock() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        engine.migrate().await.unwrap();
        let reporter = open(&Config {
            idle_in_transaction: Duration::from_secs(600),
            ..impatient(&url)
        })
        .await;
        let mut report = reporter.begin().await.unwrap();
        assert_eq!(count(&mut report, "SELECT count(*) FROM notes").await, 2);
        let folder = migrations(&[
            (
                "2099-01-01-000100_colours",
                "ALTER TABLE notes ADD COLUMN colour TEXT",
                true,
            ),
            (
                "2099-01-01-000200_notes_colour",
                "CREATE INDEX CONCURRENTLY IF NOT EXISTS notes_colour ON notes (colour)",
                false,
            ),
        ]);
        let migrating = tokio::spawn({
            let next = open(&impatient(&url)).await;
            async move { migrate_from(&next, &folder).await }
        });
        // Statements that come while it waits have their turn before it.
        let before = open(&Config {
            lock: Some(Duration::from_secs(60)),
            statement: Some(Duration::from_secs(60)),
            ..impatient(&url)
        })
        .await;
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'notes'::regclass";
        for _ in 0..2 {
            let deadline = Instant::now() + Duration::from_secs(30);
            while count(&mut before.read().await.unwrap(), waits).await == 0 {
                assert!(Instant::now() < deadline, "the migration does not wait");
                sleep(Duration::from_millis(5)).await;
            }
            let mut session = before.begin().await.unwrap();
            touch(&mut session, 1).await.unwrap();
            session.commit().await.unwrap();
        }
        assert!(!migrating.is_finished());
        report.commit().await.unwrap();
        let versions = migrating.await.unwrap().unwrap();
        assert_eq!(versions, ["20990101000100", "20990101000200"]);
        let valid = "SELECT count(*) FROM pg_index WHERE indexrelid = 'notes_colour'::regclass AND indisvalid";
        let mut reader = engine.read().await.unwrap();
        assert_eq!(count(&mut reader, valid).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_whose_building_was_broken_off_is_built_anew() {
    on_database(async |url| {
        let engine = with_tables(&url).await;
        engine.migrate().await.unwrap();
        let mut admin = engine.read().await.unwrap();
        // A server that is killed during it leaves it like this.
        admin
            .batch_execute(
                "CREATE INDEX notes_text ON notes (body);
                 UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'notes_text'::regclass",
            )
            .await
            .unwrap();
        let folder = migrations(&[(
            "2099-01-01-000100_notes_text",
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS notes_text ON notes (body)",
            false,
        )]);
        assert_eq!(migrate_from(&engine, &folder).await.unwrap().len(), 1);
        let valid = "SELECT count(*) FROM pg_index WHERE indexrelid = 'notes_text'::regclass AND indisvalid";
        assert_eq!(count(&mut admin, valid).await, 1);
        assert_eq!(migrate_from(&engine, &folder).await.unwrap().len(), 0);
    })
    .await;
}
