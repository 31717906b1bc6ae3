//! SQLite: group commit, and sharing a file.

use std::env;
use std::fs::{self, File};
use std::future::Future;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_async::SimpleAsyncConnection as _;
use forecourt_kernel::{BusinessId, StoreError, StoreResult};
use forecourt_storage::MayScan as _;
use forecourt_storage::RunQueryDsl;
use forecourt_storage::sqlite::{Conn, Engine, UnitOfWork};
use forecourt_storage::{Config, Storage};
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::support::{TABLES, TIMEOUT, notes, until};

#[expect(clippy::duplicate_mod, reason = "the contract is compiled once per engine")]
#[path = "contract.rs"]
mod contract;

/// The schema of the first migration.
const FIRST_SCHEMA: &str = include_str!("../../../../../migrations/sqlite/2026-11-28-000000_schema/up.sql");

fn engine_of(storage: Storage) -> Engine {
    let Storage::Sqlite(engine) = storage else {
        panic!("not SQLite")
    };
    engine
}

async fn on_database<T: Future<Output = ()>>(test: impl FnOnce(String) -> T) {
    let folder = TempDir::new().unwrap();
    test(url(&folder.path().join("below/test.db"))).await;
}

fn url(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

/// An engine with the tables, and the folder that goes with it.
struct Fixture {
    engine: Engine,
    folder: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let engine = engine_of(Storage::open(&config(folder.path())).await.unwrap());
        let mut session = engine.begin().await.unwrap();
        session.batch_execute(TABLES).await.unwrap();
        session.commit().await.unwrap();
        Self { engine, folder }
    }

    async fn another_handle(&self) -> Engine {
        engine_of(Storage::open(&config(self.folder.path())).await.unwrap())
    }

    fn plain_connection(&self) -> SqliteConnection {
        SqliteConnection::establish(self.folder.path().join("test.db").to_str().unwrap()).unwrap()
    }

    async fn ids(&self) -> Vec<i64> {
        let mut conn = self.engine.read().await.unwrap();
        notes::table
            .select(notes::id)
            .order(notes::id)
            .load(&mut *conn)
            .await
            .unwrap()
    }

    /// Begins once all sessions that wait for the writer now have had a turn.
    async fn begin_in_background(&self) -> JoinHandle<UnitOfWork> {
        let waiting = self.engine.pool_status().waiting;
        let engine = self.engine.clone();
        let session = tokio::spawn(async move { engine.begin().await.unwrap() });
        until(|| self.engine.pool_status().waiting > waiting).await;
        session
    }

    /// Returns one session that has begun, and two that wait for their turn, so that a commit will come after all three.
    async fn three_in_a_row(&self) -> (UnitOfWork, JoinHandle<UnitOfWork>, JoinHandle<UnitOfWork>) {
        let first = self.engine.begin().await.unwrap();
        (
            first,
            self.begin_in_background().await,
            self.begin_in_background().await,
        )
    }
}

fn config(folder: &Path) -> Config {
    Config {
        pool_size: 4,
        ..Config::new(url(&folder.join("test.db")))
    }
}

async fn write(conn: &mut Conn, id: i64) -> StoreResult<usize> {
    let note = (notes::id.eq(id), notes::body.eq(format!("note {id}")));
    diesel::insert_into(notes::table).values(note).execute(conn).await
}

async fn write_and_commit(engine: &Engine, id: i64) {
    let mut session = engine.begin().await.unwrap();
    write(&mut session, id).await.unwrap();
    session.commit().await.unwrap();
}

/// Runs a statement for about the given time, on any machine.
async fn busy_for(conn: &mut Conn, duration: Duration, may_scan: bool) -> StoreResult<i64> {
    // Calibrated by doubling: one step of the recursion is some 100 ns.
    let steps = i64::try_from(duration.as_nanos() / 100).unwrap();
    let count = format!(
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {steps}) SELECT count(*) FROM n)"
    );
    let count = diesel::select(sql::<BigInt>(&count)).may_scan(may_scan);
    count.get_result(conn).await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_commit_serves_many_sessions() {
    const SESSIONS: i64 = 200;
    let fixture = Fixture::new().await;
    let before = fixture.engine.write_stats();
    let all = (0..SESSIONS).map(|id| {
        let engine = fixture.engine.clone();
        tokio::spawn(async move { write_and_commit(&engine, id).await })
    });
    join_all(all).await.into_iter().for_each(|task| task.unwrap());

    // Another connection finds them all: they are committed, not only released.
    let other = fixture.another_handle().await;
    let mut reader = other.read().await.unwrap();
    let found: Vec<i64> = notes::table
        .select(notes::id)
        .order(notes::id)
        .load(&mut *reader)
        .await
        .unwrap();
    assert_eq!(found, (0..SESSIONS).collect::<Vec<_>>());
    let after = fixture.engine.write_stats();
    assert_eq!(after.sessions - before.sessions, 200);
    let commits = after.commits - before.commits;
    assert!((1..=50).contains(&commits), "{commits} commits for {SESSIONS} sessions");
}

#[tokio::test(flavor = "multi_thread")]
async fn neighbours_in_one_transaction_do_not_see_each_others_end() {
    let fixture = Fixture::new().await;
    let commits = fixture.engine.write_stats().commits;
    let (mut first, second, third) = fixture.three_in_a_row().await;
    write(&mut first, 1).await.unwrap();
    let first = tokio::spawn(first.commit());
    let mut second = second.await.unwrap();
    write(&mut second, 2).await.unwrap();
    drop(second);
    let mut third = third.await.unwrap();
    assert!(
        !first.is_finished(),
        "the first has to wait for the commit that it shares"
    );
    write(&mut third, 3).await.unwrap();
    third.commit().await.unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(fixture.ids().await, [1, 3]);
    assert_eq!(
        fixture.engine.write_stats().commits - commits,
        1,
        "they shared one transaction"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_wait_for_the_commit_is_committed_all_the_same() {
    let fixture = Fixture::new().await;
    let mut session = fixture.engine.begin().await.unwrap();
    let next = fixture.begin_in_background().await;
    write(&mut session, 1).await.unwrap();
    {
        let mut commit = Box::pin(session.commit());
        // Released, but the next one is before the commit.
        assert!((&mut commit).now_or_never().is_none());
    }
    let next = next.await.unwrap();
    assert!(fixture.ids().await.is_empty());
    drop(next);
    let deadline = Instant::now() + TIMEOUT;
    while fixture.ids().await.is_empty() {
        assert!(Instant::now() < deadline, "never committed");
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(fixture.ids().await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_commit_fails_every_session_that_shared_it() {
    let fixture = Fixture::new().await;
    let (mut first, second, third) = fixture.three_in_a_row().await;
    write(&mut first, 1).await.unwrap();
    let first = tokio::spawn(first.commit());
    let mut second = second.await.unwrap();
    // The one way to make COMMIT fail on purpose: a broken reference that is checked no earlier.
    second
        .batch_execute("PRAGMA defer_foreign_keys = ON; INSERT INTO replies (id, note_id) VALUES (1, 999)")
        .await
        .unwrap();
    let second = tokio::spawn(second.commit());
    let mut third = third.await.unwrap();
    write(&mut third, 3).await.unwrap();
    let third = tokio::spawn(third.commit());

    for session in [first, second, third] {
        let failure = session.await.unwrap().unwrap_err();
        assert!(matches!(failure, StoreError::Other(_)), "{failure:?}");
    }
    assert!(fixture.ids().await.is_empty());
    timeout(TIMEOUT, write_and_commit(&fixture.engine, 4)).await.unwrap();
    assert_eq!(fixture.ids().await, [4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_undoes_its_work_waits_for_what_it_has_read() {
    let fixture = Fixture::new().await;
    let (mut first, second, third) = fixture.three_in_a_row().await;
    write(&mut first, 1).await.unwrap();
    let first = tokio::spawn(first.commit());
    let mut second = second.await.unwrap();
    let seen: Vec<i64> = notes::table.select(notes::id).load(&mut *second).await.unwrap();
    assert_eq!(seen, [1], "what the first wrote, and has not committed");
    let mut undoing = Box::pin(second.rollback_durably());
    assert!((&mut undoing).now_or_never().is_none());
    let third = third.await.unwrap();
    assert!((&mut undoing).now_or_never().is_none());
    drop(third);
    timeout(TIMEOUT, undoing).await.unwrap().unwrap();
    assert_eq!(fixture.ids().await, [1]);
    first.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_undoes_its_work_fails_with_what_it_has_read() {
    let fixture = Fixture::new().await;
    let (mut first, second, third) = fixture.three_in_a_row().await;
    write(&mut first, 1).await.unwrap();
    let first = tokio::spawn(first.commit());
    let undoing = tokio::spawn(second.await.unwrap().rollback_durably());
    let mut third = third.await.unwrap();
    third
        .batch_execute("PRAGMA defer_foreign_keys = ON; INSERT INTO replies (id, note_id) VALUES (1, 999)")
        .await
        .unwrap();
    assert!(third.commit().await.is_err());
    assert!(first.await.unwrap().is_err());
    assert!(undoing.await.unwrap().is_err(), "what it has read is gone");
    assert!(fixture.ids().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_undoes_its_work_alone_waits_for_nothing() {
    let fixture = Fixture::new().await;
    let mut session = fixture.engine.begin().await.unwrap();
    write(&mut session, 1).await.unwrap();
    let commits = fixture.engine.write_stats().commits;
    session.rollback_durably().now_or_never().unwrap().unwrap();
    assert_eq!(fixture.engine.write_stats().commits, commits);
    assert!(fixture.ids().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_sqlite_rolls_back_by_itself_fails_for_every_session_concerned() {
    let fixture = Fixture::new().await;
    let mut first = fixture.engine.begin().await.unwrap();
    let second = fixture.begin_in_background().await;
    write(&mut first, 1).await.unwrap();
    let first = tokio::spawn(first.commit());
    let mut second = second.await.unwrap();
    // As a full or failing disk does during a statement.
    second.batch_execute("ROLLBACK").await.unwrap();
    assert!(second.rollback_durably().await.is_err());
    assert!(first.await.unwrap().is_err());
    timeout(TIMEOUT, write_and_commit(&fixture.engine, 2)).await.unwrap();
    assert_eq!(fixture.ids().await, [2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_file_is_no_reason_to_lie() {
    let fixture = Fixture::new().await;
    let mut session = fixture.engine.begin().await.unwrap();
    // Room for a few pages more, for this connection.
    session.batch_execute("PRAGMA max_page_count = 20").await.unwrap();
    session.commit().await.unwrap();
    let writers = (0..60).map(|id| {
        let engine = fixture.engine.clone();
        tokio::spawn(async move {
            let mut session = engine.begin().await?;
            let note = (notes::id.eq(id), notes::body.eq(format!("{id} {}", "x".repeat(2000))));
            diesel::insert_into(notes::table)
                .values(note)
                .execute(&mut *session)
                .await?;
            session.commit().await.map(|()| id)
        })
    });
    let mut kept: Vec<i64> = Vec::new();
    let mut refused = 0;
    for outcome in join_all(writers).await {
        match outcome.unwrap() {
            Ok(id) => kept.push(id),
            Err(StoreError::Unavailable(_)) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(
        refused > 0 && !kept.is_empty(),
        "{} kept, {refused} refused",
        kept.len()
    );
    kept.sort_unstable();
    assert_eq!(
        fixture.ids().await,
        kept,
        "what was acknowledged is there, and nothing else"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_handles_on_one_file_both_make_progress() {
    let fixture = Fixture::new().await;
    let other = fixture.another_handle().await;
    let write_some = |engine: Engine, first: i64| async move {
        join_all((first..first + 100).map(|id| {
            let engine = engine.clone();
            tokio::spawn(async move { write_and_commit(&engine, id).await })
        }))
        .await
        .into_iter()
        .for_each(|task| task.unwrap());
    };
    tokio::join!(write_some(fixture.engine.clone(), 0), write_some(other, 1000));
    assert_eq!(fixture.ids().await.len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_gets_its_turn_among_many_writers() {
    let fixture = Fixture::new().await;
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "sqlite::as_another_process", "--ignored", "--nocapture"])
        .env("FORECOURT_TEST_FOLDER", fixture.folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut child = scopeguard::guard(child, |mut child| {
        let _ = child.kill();
        let _ = child.wait();
    });
    // This process writes without a pause until the other one is through.
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let writers: Vec<_> = (0..8_i64)
        .map(|writer| {
            let (engine, stopping) = (fixture.engine.clone(), stopping.clone());
            tokio::spawn(async move {
                let mut id = writer * 1_000_000;
                while !*stopping.borrow() {
                    write_and_commit(&engine, id).await;
                    id += 1;
                }
                id - writer * 1_000_000
            })
        })
        .collect();
    let status = tokio::task::spawn_blocking(move || child.wait().unwrap())
        .await
        .unwrap();
    stop.send(true).unwrap();
    let own: i64 = join_all(writers).await.into_iter().map(|task| task.unwrap()).sum();
    assert!(status.success());
    assert!(own > 0);
    assert_eq!(i64::try_from(fixture.ids().await.len()).unwrap(), own + 20);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the other process of another_process_gets_its_turn_among_many_writers"]
async fn as_another_process() {
    let folder = env::var_os("FORECOURT_TEST_FOLDER").expect("run by the test that needs it");
    let engine = engine_of(Storage::open(&config(Path::new(&folder))).await.unwrap());
    for id in 0..20 {
        write_and_commit(&engine, 100_000_000 + id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_holds_the_file_makes_it_unavailable_not_stuck() {
    let fixture = Fixture::new().await;
    let mut other = fixture.plain_connection();
    other.batch_execute("BEGIN IMMEDIATE").unwrap();
    // One waits for the file, the next one for its turn.
    let (first, second) = tokio::join!(fixture.engine.begin(), fixture.engine.begin());
    for refusal in [first.err().unwrap(), second.err().unwrap()] {
        assert!(matches!(refusal, StoreError::Unavailable(_)), "{refusal:?}");
    }
    other.batch_execute("COMMIT").unwrap();
    timeout(TIMEOUT, write_and_commit(&fixture.engine, 1)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_given_back_is_taken_at_once() {
    let fixture = Fixture::new().await;
    let mut other = fixture.plain_connection();
    other.batch_execute("BEGIN IMMEDIATE").unwrap();
    let writers = [1, 2].map(|id| {
        let engine = fixture.engine.clone();
        tokio::spawn(async move { write_and_commit(&engine, id).await })
    });
    // One of them waits for its turn, so the other one has it, and waits for the lock.
    until(|| fixture.engine.pool_status().waiting == 1).await;
    other.batch_execute("COMMIT").unwrap();
    for writer in writers {
        timeout(TIMEOUT, writer).await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_reading_does_not_block_the_thread_that_asked() {
    let fixture = Fixture::new().await;
    let mut reader = fixture.engine.read().await.unwrap();
    let counted = {
        let mut counting = Box::pin(busy_for(&mut reader, Duration::from_millis(300), true));
        assert!((&mut counting).now_or_never().is_none(), "it ran on this thread");
        counting.await.unwrap()
    };
    assert!(counted > 0);
    drop(reader);
    // The same connection, light again.
    let mut reader = fixture.engine.read().await.unwrap();
    let counting = busy_for(&mut reader, Duration::from_micros(1), false);
    assert!(counting.now_or_never().is_some(), "it ran on another thread");
}

#[tokio::test(flavor = "current_thread")]
async fn heavy_reading_may_be_given_up_even_on_a_single_thread() {
    let fixture = Fixture::new().await;
    let mut reader = fixture.engine.read().await.unwrap();
    let started = busy_for(&mut reader, Duration::from_millis(100), true).now_or_never();
    assert!(started.is_none(), "it ran on this thread");
    drop(reader);
    assert_eq!(
        fixture.engine.pool_status().in_use,
        1,
        "dropping waited for the statement"
    );
    until(|| fixture.engine.pool_status().in_use == 0).await;
}

#[tokio::test(flavor = "current_thread")]
async fn heavy_writing_may_be_given_up_too() {
    let fixture = Fixture::new().await;
    let mut session = fixture.engine.begin().await.unwrap();
    write(&mut session, 1).await.unwrap();
    let started = busy_for(&mut session, Duration::from_millis(100), true).now_or_never();
    assert!(started.is_none(), "it ran on this thread");
    drop(session);
    assert!(
        fixture.engine.begin().now_or_never().is_none(),
        "dropping waited for the statement"
    );
    write_and_commit(&fixture.engine, 2).await;
    assert_eq!(fixture.ids().await, [2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_runtime_ends_is_undone_and_its_neighbours_are_kept() {
    let fixture = Fixture::new().await;
    let (mut first, second, third) = fixture.three_in_a_row().await;
    write(&mut first, 1).await.unwrap();
    let first = tokio::spawn(first.commit());
    let mut second = second.await.unwrap();
    write(&mut second, 2).await.unwrap();
    let started = busy_for(&mut second, Duration::from_millis(100), true).now_or_never();
    assert!(started.is_none(), "it ran on this thread");
    // A thread without a runtime cannot wait for the statement.
    std::thread::spawn(move || drop(second)).join().unwrap();
    let mut third = third.await.unwrap();
    write(&mut third, 3).await.unwrap();
    third.commit().await.unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(fixture.ids().await, [1, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_cannot_write() {
    let fixture = Fixture::new().await;
    let mut reader = fixture.engine.read().await.unwrap();
    assert!(write(&mut reader, 1).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn durability_is_full_unless_asked_otherwise() {
    async fn settings(config: &Config) -> (String, i64, i64) {
        let engine = engine_of(Storage::open(config).await.unwrap());
        let mut session = engine.begin().await.unwrap();
        let mode = diesel::select(sql::<Text>("(SELECT journal_mode FROM pragma_journal_mode)"));
        let synchronous = diesel::select(sql::<BigInt>("(SELECT synchronous FROM pragma_synchronous)"));
        let keys = diesel::select(sql::<BigInt>("(SELECT foreign_keys FROM pragma_foreign_keys)"));
        (
            mode.get_result(&mut *session).await.unwrap(),
            synchronous.get_result(&mut *session).await.unwrap(),
            keys.get_result(&mut *session).await.unwrap(),
        )
    }
    let folder = TempDir::new().unwrap();
    let config = config(folder.path());
    assert_eq!(settings(&config).await, ("wal".to_owned(), 2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_orderly_end_the_file_is_complete_by_itself() {
    let Fixture { engine, folder } = Fixture::new().await;
    write_and_commit(&engine, 1).await;
    assert!(folder.path().join("test.db-wal").exists());
    drop(engine);
    assert!(!folder.path().join("test.db-wal").exists());
}

/// Returns the refusal of a write while something is wrong with the files, and asserts that reading goes on, or not.
async fn refusal(fixture: &Fixture, reads: bool) -> String {
    assert_eq!(fixture.engine.read().await.is_ok(), reads);
    let refusal = fixture.engine.begin().await.err().unwrap();
    assert!(matches!(refusal, StoreError::Unavailable(_)), "{refusal:?}");
    assert!(fixture.engine.ping().await.is_err());
    format!("{refusal:?}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_moved_away_takes_writes_again_when_it_is_back() {
    let fixture = Fixture::new().await;
    write_and_commit(&fixture.engine, 1).await;
    for name in ["test.db", "test.db-wal", "test.db-shm"] {
        let (path, elsewhere) = (fixture.folder.path().join(name), fixture.folder.path().join("moved"));
        fs::rename(&path, &elsewhere).unwrap();
        let refused = refusal(&fixture, true).await;
        assert!(refused.contains(name) && refused.contains("moved away"), "{refused}");
        fs::write(&path, "another file").unwrap();
        let refused = refusal(&fixture, true).await;
        assert!(refused.contains("replaced"), "{refused}");
        fs::rename(&elsewhere, &path).unwrap();
        fixture.engine.begin().await.unwrap().commit().await.unwrap();
    }
    write_and_commit(&fixture.engine, 2).await;
    assert_eq!(fixture.ids().await, [1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_acknowledged_that_went_to_a_deleted_file() {
    let fixture = Fixture::new().await;
    let mut session = fixture.engine.begin().await.unwrap();
    write(&mut session, 1).await.unwrap();
    fs::remove_file(fixture.folder.path().join("test.db")).unwrap();
    let refused = session.commit().await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_file_is_neither_read_nor_written_until_the_next_start() {
    let Fixture { engine, folder } = Fixture::new().await;
    write_and_commit(&engine, 1).await;
    drop(engine);
    let path = folder.path().join("test.db");
    let whole = fs::read(&path).unwrap();
    let engine = engine_of(Storage::open(&config(folder.path())).await.unwrap());
    let fixture = Fixture { engine, folder };
    assert_eq!(fixture.ids().await, [1]);
    File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    assert!(refusal(&fixture, false).await.contains("truncated"));
    fs::write(&path, whole).unwrap();
    assert!(
        refusal(&fixture, true).await.contains("truncated"),
        "who knows what it is now"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_compacted_is_no_truncated_one() {
    let fixture = Fixture::new().await;
    let many = "INSERT INTO notes
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
            SELECT i, i || hex(randomblob(500)) FROM n;
        DELETE FROM notes WHERE id > 10";
    let mut session = fixture.engine.begin().await.unwrap();
    session.batch_execute(many).await.unwrap();
    session.commit().await.unwrap();
    let mut other = fixture.plain_connection();
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    other.batch_execute(checkpoint).unwrap();
    write_and_commit(&fixture.engine, 1000).await;
    let length = || fs::metadata(fixture.folder.path().join("test.db")).unwrap().len();
    let before = length();
    other.batch_execute("VACUUM").unwrap();
    other.batch_execute(checkpoint).unwrap();
    assert!(length() < before);
    write_and_commit(&fixture.engine, 1001).await;
    assert_eq!(fixture.ids().await.len(), 13);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_log_is_moved_to_the_file_while_others_write() {
    let fixture = Fixture::new().await;
    let length = || fs::metadata(fixture.folder.path().join("test.db")).unwrap().len();
    let before = length();
    let mut session = fixture.engine.begin().await.unwrap();
    let much = "INSERT INTO notes
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
        SELECT i, i || hex(randomblob(500)) FROM n";
    session.batch_execute(much).await.unwrap();
    session.commit().await.unwrap();
    let mut writer = fixture.engine.begin().await.unwrap();
    write(&mut writer, -1).await.unwrap();
    until(|| length() > before + 8 * 1024 * 1024).await;
    writer.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_emptied_is_noticed() {
    let fixture = Fixture::new().await;
    write_and_commit(&fixture.engine, 1).await;
    let log = fixture.folder.path().join("test.db-wal");
    File::options().write(true).open(log).unwrap().set_len(0).unwrap();
    let written = async {
        let mut session = fixture.engine.begin().await?;
        write(&mut session, 2).await?;
        session.commit().await
    };
    let refused = written.await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_torn_copy_is_refused_with_what_to_do() {
    let Fixture { engine, folder } = Fixture::new().await;
    for id in 0..200 {
        write_and_commit(&engine, id).await;
    }
    drop(engine);
    let path = folder.path().join("test.db");
    let whole = fs::read(&path).unwrap();
    let mut overwritten = whole.clone();
    overwritten[4096 * 2..4096 * 3].fill(0xa5);
    let copies = [&whole[..whole.len() / 2], &whole[..whole.len() - 1000], &overwritten];
    for copy in copies {
        fs::write(&path, copy).unwrap();
        let refused = Storage::open(&config(folder.path())).await.err().unwrap().to_string();
        assert!(
            refused.contains("damaged") && refused.contains("complete copy"),
            "{refused}"
        );
        assert!(!refused.contains('\n'));
    }
    fs::write(&path, &whole).unwrap();
    drop(Storage::open(&config(folder.path())).await.unwrap());

    // The file is missing, and the rest would be thrown away.
    fs::remove_file(&path).unwrap();
    fs::write(folder.path().join("test.db-wal"), [1; 5000]).unwrap();
    let refused = Storage::open(&config(folder.path())).await.err().unwrap().to_string();
    assert!(refused.contains("-wal"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_users_cannot_read_the_files() {
    let folder = TempDir::new().unwrap();
    let below = folder.path().join("below");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for loosened in [false, true] {
        let engine = engine_of(Storage::open(&config(&below)).await.unwrap());
        let mut session = engine.begin().await.unwrap();
        session
            .batch_execute("CREATE TABLE IF NOT EXISTS t (i); INSERT INTO t VALUES (1)")
            .await
            .unwrap();
        session.commit().await.unwrap();
        for name in ["test.db", "test.db-wal", "test.db-shm"] {
            assert_eq!(mode(&below.join(name)), 0o600, "{name}, {loosened}");
        }
        assert_eq!(mode(&below), 0o700);
        drop(engine);
        fs::set_permissions(below.join("test.db"), fs::Permissions::from_mode(0o644)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_of_the_heavy_readers_are_one_business_s_at_most() {
    let fixture = Fixture::new().await;
    // A statement that may scan takes a place, which its reader then holds.
    let heavy = |business| {
        let engine = fixture.engine.clone();
        tokio::spawn(async move {
            let mut reader = engine.read_for(Some(BusinessId::new(business))).await.unwrap();
            busy_for(&mut reader, Duration::from_micros(1), true).await.unwrap();
            reader
        })
    };
    let status = || fixture.engine.pool_status();
    let _held = [heavy(1).await.unwrap(), heavy(1).await.unwrap()];
    let third = heavy(1);
    until(|| status().waiting == 1).await;
    assert_eq!(status().in_use, 2, "it holds nothing meanwhile");
    third.abort();
    until(|| status().waiting == 0).await;
    let _others = [heavy(2).await.unwrap(), heavy(3).await.unwrap()];
    let fifth = heavy(4);
    until(|| status().waiting == 1).await;
    assert_eq!(status().in_use, 4, "there are four in all");
    fifth.abort();
}

/// The queue is that of `WriteQueue`, which has more tests.
#[tokio::test(flavor = "multi_thread")]
async fn one_session_of_another_business_passes_a_crowd() {
    let fixture = Fixture::new().await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let held = fixture.engine.begin().await.unwrap();
    let enter = |business: i64| {
        let (engine, order) = (fixture.engine.clone(), Arc::clone(&order));
        tokio::spawn(async move {
            let session = engine.begin_for(Some(BusinessId::new(business))).await.unwrap();
            order.lock().unwrap().push(business);
            session.commit().await.unwrap();
        })
    };
    let mut all: Vec<_> = (0..100).map(|_| enter(1)).collect();
    until(|| fixture.engine.pool_status().waiting == 100).await;
    all.push(enter(2));
    until(|| fixture.engine.pool_status().waiting == 101).await;
    drop(held);
    join_all(all).await.into_iter().for_each(|task| task.unwrap());
    let place = order
        .lock()
        .unwrap()
        .iter()
        .position(|business| *business == 2)
        .unwrap();
    assert!(place <= 1, "it came after {place}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    std::fs::write(
        folder.path().join("test.db"),
        "something else entirely, and long enough to be looked at",
    )
    .unwrap();
    let refusal = Storage::open(&config(folder.path())).await.err().unwrap().to_string();
    assert!(refusal.contains("test.db"), "{refusal}");
}

/// A deferred reference would fail the shared commit, and with it all sessions' writes.
#[test]
fn no_migration_defers_a_reference() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../migrations/sqlite");
    for migration in std::fs::read_dir(folder).unwrap() {
        let script = migration.unwrap().path().join("up.sql");
        let text = std::fs::read_to_string(&script).unwrap().to_uppercase();
        assert!(!text.contains("DEFERRED"), "{}", script.display());
    }
}
